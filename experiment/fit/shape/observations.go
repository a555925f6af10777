package shape

import "math"

const (
	bins         = 256       // of the duration, in which arrivals are counted
	fineBins     = 64 * bins // of the duration, in which they are counted to look for changes of the rate
	mostArrivals = 1 << 14   // whose times are kept to look for bursts
)

// Observations are the observed values of the requests of a workload, which are added in the order of their
// arrival.
type Observations struct {
	Clients   []Client
	Rejected  int64  // attempts
	Again     int64  // attempts that are not the first
	First     int64  // first attempts
	Execution Sample // of what was executed
	Delay     Sample // in addition: the part that does not depend on how busy the server was, of a kind that has one
	Lifetimes Sample // of watches; negative if they lasted at least so long

	durationNs     int64
	bins           []int64   // first attempts
	fine           []uint32  // first attempts
	counts         *Counts   // of first attempts
	arrivals       []float64 // of first attempts; not all if there are too many
	senders        []int32   // their clients
	fitted         *Arrivals // nil until they are
	firstNs, endNs int64     // of the first and after the last first attempt
	gaps           Sample    // times between the first attempts of a client
	think          Sample    // from the end of a client's only request to the next one
	follow         Sample    // from the ends of a client's requests, in their order, to its next ones
	stay           Sample    // from a first attempt to its end
	loop           loop      // by the number of a client's requests in progress
}

// Client is one client of a workload.
type Client struct {
	First  int64 // first attempts
	lastNs int64
	ends   ends    // of its requests in progress
	overNs int64   // the last end so far
	seenNs int64   // up to when its time is counted
	free   []int64 // ends that no first attempt followed yet
}

// NewObservations returns the observations of so many clients during a time from 0.
func NewObservations(clients int, durationNs int64) *Observations {
	return &Observations{Clients: make([]Client, clients), durationNs: durationNs,
		bins: make([]int64, bins), fine: make([]uint32, fineBins), counts: NewCounts(0, durationNs)}
}

// Never is the end of a request that has none in the log.
const Never = math.MaxInt64

// AddRetry adds an attempt of a client that is not the first and ends at a time.
func (o *Observations) AddRetry(client int, nowNs, endNs int64) {
	c := &o.Clients[client]
	o.advance(c, nowNs)
	o.Again++
	c.ends.push(endNs)
}

// AddFirst adds a first attempt of a client, which ends at a time.
func (o *Observations) AddFirst(client int, nowNs, endNs int64) {
	c := &o.Clients[client]
	o.advance(c, nowNs)
	o.loop.countArrival(len(c.ends))
	if len(c.free) > 0 {
		o.follow.Add(float64(nowNs - c.free[0]))
		c.free = c.free[1:]
	}
	if c.First > 0 {
		o.gaps.Add(float64(nowNs - c.lastNs))
		if len(c.ends) == 0 {
			o.think.Add(float64(nowNs - c.overNs))
		}
	}
	if endNs < Never {
		o.stay.Add(float64(endNs - nowNs))
	}
	c.ends.push(endNs)
	c.First++
	c.lastNs = nowNs
	if o.First == 0 {
		o.firstNs = nowNs
	}
	o.First++
	o.endNs = nowNs + 1
	fine := min(fineBins-1, int(float64(nowNs)/float64(o.durationNs)*fineBins))
	o.fine[fine]++
	o.bins[fine*bins/fineBins]++
	o.counts.Add(nowNs)
	if len(o.arrivals) < mostArrivals {
		o.arrivals = append(o.arrivals, float64(nowNs))
		o.senders = append(o.senders, int32(client))
	}
}

// advance counts the time of a client up to now.
func (o *Observations) advance(c *Client, nowNs int64) {
	for len(c.ends) > 0 && c.ends[0] <= nowNs {
		o.loop.addTime(len(c.ends), c.ends[0]-c.seenNs)
		c.overNs = c.ends.pop()
		c.free = append(c.free, c.overNs)
		c.seenNs = max(c.seenNs, c.overNs)
	}
	o.loop.addTime(len(c.ends), nowNs-c.seenNs)
	c.seenNs = nowNs
}

// GapVariation returns the squared coefficient of variation of the times between a client's first attempts; it is
// not ok if there are none.
func (o *Observations) GapVariation() (v float64, ok bool) { return o.gaps.variation2(), o.gaps.N > 1 }

// ends is a heap of times, the least first.
type ends []int64

func (h *ends) push(ns int64) {
	a := append(*h, ns)
	i := len(a) - 1
	for i > 0 && a[(i-1)/2] > a[i] {
		a[i], a[(i-1)/2] = a[(i-1)/2], a[i]
		i = (i - 1) / 2
	}
	*h = a
}

func (h *ends) pop() int64 {
	a := *h
	top, n := a[0], len(a)-1
	a[0] = a[n]
	a = a[:n]
	for i := 0; ; {
		least := i
		for _, child := range [...]int{2*i + 1, 2*i + 2} {
			if child < n && a[child] < a[least] {
				least = child
			}
		}
		if least == i {
			break
		}
		a[i], a[least] = a[least], a[i]
		i = least
	}
	*h = a
	return top
}

// Whole returns the executions with their delays: the delay of a kind is constant, or all of the execution.
func (o *Observations) Whole() *Sample {
	if o.Execution.Mean() == 0 {
		return &o.Delay
	}
	var whole Sample
	for _, x := range o.Execution.Values {
		whole.Add(x + o.Delay.Mean())
	}
	return &whole
}
