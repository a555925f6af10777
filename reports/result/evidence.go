package result

import "apfsim/reports/measure"

// Evidence is what the verdict needs to find causes besides a Summary and the series, and what no file has.
type Evidence struct {
	Workloads []WorkloadEvidence // as Summary.Workloads
	Levels    []LevelEvidence    // as Summary.PriorityLevels

	// The time of calls to etcd, and what they would have taken if no others had been in progress; 0 without a capacity. They
	// are transactions, and with EtcdReads reads, too.
	EtcdTookNs, EtcdAloneNs int64
	EtcdReads               bool
	// Requests in service, weighted with the logarithm by which they were slow: because of the speed of their machines
	// itself, and because they shared it.
	SlowBySpeed, SlowBySharing float64
}

// Asked tells those requests of a workload or of a level apart that are of flows that were limited.
type Asked struct {
	Limited        int               // how many flows were limited
	LimitedSeconds float64           // the seat-seconds that these asked for
	Victims        *measure.Measures // the requests of all other flows; nil of none, and if no flow was limited, as these are then all
}

// Limit counts a flow that was limited.
func (a *Asked) Limit(seatSeconds float64) {
	a.Limited++
	a.LimitedSeconds += seatSeconds
}

// WorkloadEvidence is that of a workload.
type WorkloadEvidence struct {
	Asked
	Recorded  bool   // it replays a log, so that its flows are of different clients
	Callbacks string // the workload during whose requests it was called; "" for others
	Levels    []WorkloadLevel

	// Of the requests that were answered too late or with an error, and how many there were of these.
	Failed         Spent // in nanoseconds
	FailedRequests int64
	FailedByCall   int64 // while the server waited for what it had called, or because that had failed
	NotReady       int64 // were answered 429, as the watch caches of the server were not ready

	Limit   *ClientLimit // of its clients; nil without one
	Workers int          // of controllers, those of all clients; 0 of others
}

// ClientLimit is the rate limit of clients, and what they wanted to send: requests and further attempts, in the window.
type ClientLimit struct {
	QPS     float64
	Burst   int
	Shared  string // the name of the bucket that they share with others, or ""
	Buckets int    // of the clients

	Wishes int64 // how many there were
	Most   int64 // in the busiest second
	// Loops is how many requests the clients have at most on their way or in their limiters; 0 if there is no bound.
	Loops int
	// Needs is how many requests per second the clients send by their settings, as a leader that renews its lease; 0 if that is not
	// known.
	Needs float64
}

// WorkloadLevel is the requests of a workload at a priority level.
type WorkloadLevel struct {
	Level     string
	NotServed int64
	WaitedNs  float64 // summed
	Arrived   int64
	Seats     int64 // that these wanted, summed
	Retries   int64
	Spent     Spent // by executed requests, in seat-nanoseconds
}

// Width returns the mean number of seats of a request.
func (l *WorkloadLevel) Width() float64 { return float64(l.Seats) / float64(max(l.Arrived, 1)) }

// LevelEvidence is that of a priority level.
type LevelEvidence struct {
	Asked
	Grows      bool  // its waits or its backlog grow
	HeldBackNs int64 // a request waited for more seats than were free, though some were; in the window
	Spent      Spent // by executed requests, in seat-nanoseconds
	Executed   int64 // these requests
	// By interval of the series, as far as there is anything: see LevelStep.
	Steps []LevelStep
	// Requests that a level without queues rejected while fewer requests executed than it has seats: because some took several.
	RejectedByWidth int64
	// The nominal limits, in seats, that configurations have given it, of those in the window: the most and the least.
	MostConfigured, LeastConfigured int
	// When it was given the least after it had had more, in nanoseconds; 0 if it had the least at first.
	ReducedNs int64
}

// LevelStep is what happened at a priority level in an interval of the series.
type LevelStep struct {
	Spent   Spent // by requests that executed in it, in seat-nanoseconds
	Retries int64 // that arrived
}

// Spent is how executions used their time.
type Spent struct {
	TotalNs    float64 // from dispatch to the end
	CallsNs    float64 // they waited for what the server had called
	ServedNs   float64 // the machine worked for them
	SlowNs     float64 // of ServedNs: what they took longer than alone on an idle machine of speed 1
	StoredNs   float64 // they waited for the store, or for a version in a watch cache
	SlowSentNs float64 // answers were sent for longer than with the network alone
}

// Add adds the same of other executions, times a weight.
func (s *Spent) Add(o *Spent, weight float64) {
	s.TotalNs += weight * o.TotalNs
	s.CallsNs += weight * o.CallsNs
	s.ServedNs += weight * o.ServedNs
	s.SlowNs += weight * o.SlowNs
	s.StoredNs += weight * o.StoredNs
	s.SlowSentNs += weight * o.SlowSentNs
}

// Add adds what the workload has at a level, or at another server there.
func (w *WorkloadEvidence) Add(at WorkloadLevel) {
	for i := range w.Levels {
		if l := &w.Levels[i]; l.Level == at.Level {
			l.Arrived, l.NotServed, l.WaitedNs, l.Seats = l.Arrived+at.Arrived, l.NotServed+at.NotServed, l.WaitedNs+at.WaitedNs, l.Seats+at.Seats
			l.Retries += at.Retries
			l.Spent.Add(&at.Spent, 1)
			return
		}
	}
	w.Levels = append(w.Levels, at)
}

// LevelNamed returns the evidence of a level, nil without.
func (e *Evidence) LevelNamed(s *Summary, name string) *LevelEvidence {
	if e == nil {
		return nil
	}
	for i := range e.Levels {
		if s.PriorityLevels[i].Name == name {
			return &e.Levels[i]
		}
	}
	return nil
}
