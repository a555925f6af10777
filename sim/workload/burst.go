package workload

import (
	"math"

	"apfsim/sim/quantity"
)

// BurstArrivals are many at one time, or evenly spread over some time, once or periodically.
type BurstArrivals struct {
	At       quantity.Duration `json:"at,omitempty" jsonschema_description:"When the first burst begins, from the workload's start."`
	Requests int               `json:"requests" document:"required,maximum=100000000" jsonschema:"minimum=1" jsonschema_description:"Number of requests that a client sends in one burst."`
	Over     quantity.Duration `json:"over,omitempty" jsonschema_description:"The time over which they are spread evenly; 0 for all at once."`
	Every    quantity.Duration `json:"every,omitempty" jsonschema_description:"From the beginning of one burst to that of the next; 0 for a single burst."`

	load float64 // by which the requests of all clients together are multiplied; 0 for 1
}

// InOne returns how many requests so many clients send together in one burst.
func (b *BurstArrivals) InOne(clients int) float64 {
	n := float64(b.Requests) * float64(clients)
	if b.load > 0 && n > 0 {
		return max(1, math.Round(b.load*n))
	}
	return n
}

// requestsOf returns how many requests a client sends in one burst. A load is divided evenly: two clients differ by one at most.
func (b *BurstArrivals) requestsOf(index, clients int) int {
	all, n := int64(b.InOne(clients)), int64(clients)
	return int(all*int64(index+1)/n - all*int64(index)/n)
}

func (c *checker) burst(path string, b *BurstArrivals, w *Workload) {
	if all := b.InOne(w.Clients); all > mostAtOnce && b.load > 0 {
		c.Fail(path+".requests", "%v times %d times %d clients: want at most %d requests at once", b.load, b.Requests, w.Clients, mostAtOnce)
	} else if all > mostAtOnce {
		c.Fail(path+".requests", "%d times %d clients: want at most %d requests at once", b.Requests, w.Clients, mostAtOnce)
	}
	if b.Requests == 1 && b.Over > 0 {
		c.Warn(path+".over", "%v: has no effect, as each client sends one request, and all clients send at the same time; want constant with a stop for clients that send one after another", b.Over)
	}
	if b.Every != 0 && b.Over > b.Every {
		c.Fail(path+".over", "%v: want at most every, %v: a burst ends before the next begins", b.Over, b.Every)
	}
	if end := quantity.Duration(w.EndNs(c.duration)); end > w.Start && b.At >= end-w.Start {
		c.Fail(path+".at", "%v: want less than the length of the workload, %v", b.At, end-w.Start)
	}
}

// burst sends a number of requests evenly over a while, again and again.
type burst struct {
	arrivals *BurstArrivals
	requests int // of the client in one burst
	sent     int // in the present burst
	bursts   int // complete
}

func (p *burst) Next() (float64, bool) {
	a := p.arrivals
	if p.sent == p.requests {
		if a.Every == 0 || p.requests == 0 {
			return never, false
		}
		p.sent = 0
		p.bursts++
	}
	at := float64(a.At) + float64(p.bursts)*float64(a.Every) + float64(a.Over)*float64(p.sent)/float64(p.requests)
	p.sent++
	return at, true
}
