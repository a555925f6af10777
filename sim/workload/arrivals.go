package workload

import (
	"iter"
	"math"

	"apfsim/document"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// Arrivals says when a client sends its requests: exactly one of the fields is set.
// Rates are per client.
type Arrivals struct {
	Constant *SteadyArrivals  `json:"constant,omitempty"`
	Poisson  *SteadyArrivals  `json:"poisson,omitempty"`
	Ramping  *RampingArrivals `json:"ramping,omitempty"`
	OnOff    *OnOffArrivals   `json:"onOff,omitempty"`
	Burst    *BurstArrivals   `json:"burst,omitempty"`
	Closed   *ClosedArrivals  `json:"closed,omitempty"`
	Trace    *TraceArrivals   `json:"trace,omitempty"`
}

var arrivalKinds = document.FieldNames[Arrivals]()

// UnmarshalDocument implements document.Unmarshaler.
func (a *Arrivals) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Arrivals
	d.DecodeOneOf(n, path, arrivalKinds, (*plain)(a))
}

// arrivals checks the arrival process of a workload.
func (c *checker) arrivals(path string, w *Workload) {
	a := &w.Arrivals
	switch {
	case a.Constant != nil, a.Poisson != nil: // any rate is valid
	case a.Ramping != nil:
		c.ramping(path+".ramping", a.Ramping)
	case a.OnOff != nil:
		if a.OnOff.On.IsSet() && a.OnOff.On.MeanNs() == 0 {
			c.Fail(path+".onOff.on", "is always 0s; want more than 0s, as the client would never send")
		}
	case a.Burst != nil:
		c.burst(path+".burst", a.Burst, w)
	case a.Closed != nil:
		c.closed(path+".closed", a.Closed, w)
	default:
		c.Fail(path, "is missing")
	}
}

// ExpectedArrivals returns how many first attempts a valid workload makes on average, or
// more, in a run of the given duration: a closed workload is counted as if no request ever
// waited, and one that is on and off with its changes. A trace counts as none.
func (w *Workload) ExpectedArrivals(duration quantity.Duration) float64 {
	seconds := float64(w.EndNs(duration)-int64(w.Start)) / 1e9
	a, n := &w.Arrivals, 0.0
	switch {
	case a.Constant != nil:
		n = float64(a.Constant.Rate) * seconds
	case a.Poisson != nil:
		n = float64(a.Poisson.Rate) * seconds
	case a.Ramping != nil:
		n = a.Ramping.expected(seconds)
	case a.OnOff != nil:
		on, off := a.OnOff.On.MeanNs(), a.OnOff.Off.MeanNs()
		n = float64(a.OnOff.Rate)*seconds*on/(on+off) + 2*seconds*1e9/(on+off)
	case a.Burst != nil:
		bursts := 1.0
		if a.Burst.Every > 0 {
			bursts = math.Ceil((seconds*1e9 - float64(a.Burst.At)) / float64(a.Burst.Every))
		}
		return w.bounded(a.Burst.InOne(w.Clients) * bursts)
	case a.Closed != nil:
		n = float64(a.Closed.Concurrency) * (1 + seconds*1e9/max(a.Closed.Think.MeanNs()+w.meanExecutionNs(), leastCycleNs(w)))
	}
	return w.bounded(n * float64(w.Clients))
}

// bounded limits the number n of requests of all clients by the length of their lists, if each client sends its list
// only once.
func (w *Workload) bounded(n float64) float64 {
	if w.Order == Once {
		return min(n, float64(len(w.Requests))*float64(w.Clients))
	}
	return n
}

// AskedSeats returns how many seats the requests of an open loop need on average if none waits and each takes one. It is 0
// for other workloads, and where the workload does not say how long executions take.
func (w *Workload) AskedSeats(duration quantity.Duration) float64 {
	if len(w.Arrivals.rates()) == 0 {
		return 0
	}
	return w.ExpectedArrivals(duration) * w.meanExecutionNs() / float64(max(1, w.EndNs(duration)-int64(w.Start)))
}

// Process yields the times at which one client sends a request by itself, in
// nanoseconds since its workload's start and never decreasing. After the last, and after
// the workload's end if it likes, it yields infinity. If it has searched for long, it yields a time at
// which nothing is sent, and from which it goes on: a search must not keep the event loop busy.
type Process interface {
	Next() (ns float64, sends bool)
}

var never = math.Inf(1)

// newProcess returns the open-loop arrival process of one client, nil for other kinds of arrivals. Arrivals after endNs
// are not needed. The process calls open for the stream from which it draws. A Poisson process is stored in room. index
// is the index of the client among the clients of the workload.
func newProcess(a *Arrivals, index, clients int, open func(*random.Stream), endNs int64, room *poissonProcess) Process {
	switch {
	case a.Constant != nil:
		// One unit of expected arrivals apart, beginning anywhere within the first.
		p := &ramping{rate: float64(a.Constant.Rate) / second}
		open(&p.random)
		p.level = p.random.Float64()
		return p
	case a.Poisson != nil:
		room.meanNs = second / float64(a.Poisson.Rate)
		open(&room.random)
		return room
	case a.Ramping != nil:
		p := &ramping{rate: float64(a.Ramping.StartRate) / second, stages: a.Ramping.Stages}
		open(&p.random)
		if a.Ramping.Process == ProcessPoisson {
			p.poisson, p.level = true, p.random.ExpFloat64()
		} else {
			p.level = p.random.Float64()
		}
		return p
	case a.OnOff != nil:
		p := &onOff{meanNs: second / float64(a.OnOff.Rate), arrivals: a.OnOff, end: float64(endNs)}
		open(&p.random)
		p.onUntil = float64(a.OnOff.On.Sample(&p.random.Rand))
		return p
	case a.Burst != nil:
		return &burst{arrivals: a.Burst, requests: a.Burst.requestsOf(index, clients)}
	}
	return nil
}

// Times yields the times at which a client of an open-loop workload sends requests by itself, in nanoseconds since the
// start of the workload and before an end: those of the client with this index of a workload of this name, in a run with
// this seed, without a load. It yields nothing for arrivals that depend on responses, or on a trace.
func ArrivalTimes(a *Arrivals, seed uint64, workload string, index int, endNs int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		p := newProcess(a, 0, 1, func(s *random.Stream) { s.Open(seed, workload, index, "arrivals") }, endNs, &poissonProcess{})
		for p != nil {
			at, sends := p.Next()
			if at >= float64(endNs) || sends && !yield(int64(at)) {
				return
			}
		}
	}
}
