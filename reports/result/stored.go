package result

// Clients is what has happened to clients that behave, within the window.
type Clients struct {
	Notes []Noted `json:"notes"` // what has happened at least once
}

// Noted is one kind of what happens to clients.
type Noted struct {
	Metric  string        `json:"metric"` // by which statistics call it
	Count   int64         `json:"count"`
	Sum     int64         `json:"sum,omitempty"`  // of the numbers that were noted, such as the tries of writes
	Time    *Distribution `json:"time,omitempty"` // of the times that were noted
	Reasons []ReasonCount `json:"reasons,omitempty"`
	Most    *Busiest      `json:"most,omitempty"` // where it happened most; of metrics without times
}

// Busiest is the interval of BusiestNs, from a multiple of it on, in which something happened most often.
type Busiest struct {
	FromNs int64 `json:"fromNs"`
	Count  int64 `json:"count"`
}

// BusiestNs is the length of a Busiest.
const BusiestNs = 10_000_000_000

// ReasonCount is how often something has happened for a reason.
type ReasonCount struct {
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

// ResourceCount is how often something has happened to a resource.
type ResourceCount struct {
	Resource string `json:"resource"` // with its group, such as deployments.apps
	Count    int64  `json:"count"`
}

// Noted returns what is noted of a metric, nil if it has not happened.
func (c *Clients) Noted(metric string) *Noted {
	for i := range c.Notes {
		if c.Notes[i].Metric == metric {
			return &c.Notes[i]
		}
	}
	return nil
}

// Because returns how often it has happened for a reason.
func (c *Clients) Because(metric, reason string) float64 {
	if n := c.Noted(metric); n != nil {
		for _, r := range n.Reasons {
			if r.Reason == reason {
				return float64(r.Count)
			}
		}
	}
	return 0
}

// Stored is what a server, or all, have done for the store's clients, within the window.
type Stored struct {
	StalenessMeanNs int64 `json:"stalenessMeanNs"` // delay of events at the watch caches
	StalenessMaxNs  int64 `json:"stalenessMaxNs"`
	SlowWatchers    int64 `json:"slowWatchers"`
	// SlowWatchersOf is how many of them watched each resource; resources without one are left out.
	SlowWatchersOf []ResourceCount `json:"slowWatchersOf,omitempty"`
	WatchEvents    int64           `json:"watchEvents"` // without the initial ones
	InitialEvents  int64           `json:"initialEvents"`
	BytesSent      int64           `json:"bytesSent"`
	EtcdCalls      int64           `json:"etcdCalls"`
	FreshnessWaits int64           `json:"freshnessWaits"`
}

// RequestKind is the requests for one resource with one verb and options of one kind: what flow control
// reserved for them beside what they took.
type RequestKind struct {
	Verb     string `json:"verb"`
	Resource string `json:"resource"` // with its group, such as deployments.apps
	Options  string `json:"options"`  // in words

	Requests         int64   `json:"requests"`
	SeatSeconds      float64 `json:"seatSeconds"` // held, the additional latency included
	MaxSeats         int     `json:"maxSeats"`    // of one request
	ProcessorSeconds float64 `json:"processorSeconds"`
	EtcdCalls        int64   `json:"etcdCalls"`
	ObjectsWalked    int64   `json:"objectsWalked"`
	ObjectsReturned  int64   `json:"objectsReturned"`
	Bytes            int64   `json:"bytes"`
}

// ClientSeries is what happened to the clients that behave over time, in intervals of equal length. It covers the
// whole run, including the warm-up.
type ClientSeries struct {
	Metric string // by which statistics call it
	Timed  bool   // the points have times
	Points []ClientPoint
}

// ClientPoint is one interval of a ClientSeries: how often it happened, and how long it took on average and at most.
type ClientPoint struct {
	StartNs, EndNs int64
	Count          int64
	MeanNs, MaxNs  int64
}

// Seconds returns the length of the interval.
func (p *ClientPoint) Seconds() float64 { return float64(p.EndNs-p.StartNs) / 1e9 }
