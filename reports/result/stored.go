package result

import (
	"bytes"
	"encoding/json"
	"fmt"

	"apfsim/sim/metric"
)

// Clients are the statistics of scripted clients within the window.
type Clients struct {
	Notes []Noted    `json:"notes"`           // what has happened at least once
	Queue *WorkQueue `json:"queue,omitempty"` // of controllers
}

// WorkQueue describes the items that waited in the queues of a workload's controllers, read at the ends of the intervals of the
// series.
type WorkQueue struct {
	Depth    int64 `json:"depth"`    // at the end of the run
	OldestNs int64 `json:"oldestNs"` // how long the item had waited then that had waited longest
	MostDeep int64 `json:"mostDeep"` // the greatest depth in the window
	MostNs   int64 `json:"mostNs"`   // the longest such time in the window
	Grows    bool  `json:"grows"`    // the depth grew in the window
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

// Count returns how often something has happened, by the name of its metric.
func (c *Clients) Count(metric string) int64 {
	if n := c.Noted(metric); n != nil {
		return n.Count
	}
	return 0
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

// Stored are the statistics of a server with a store, or of all such servers, within the window.
type Stored struct {
	Values [metric.ServerValues]int64 // in the units of their statistics
	// SlowWatchersOf is how many of the watches that were closed as slow were of each resource; resources without one
	// are left out.
	SlowWatchersOf []ResourceCount
}

// slowWatchersOf is the name in JSON of Stored.SlowWatchersOf.
const slowWatchersOf = "slowWatchersOf"

// MarshalJSON implements json.Marshaler. The fields are those that the statistics of servers declare.
func (s *Stored) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	separator := '{'
	for _, statistic := range metric.ServerStatistics() {
		fmt.Fprintf(&b, "%c%q:%d", separator, statistic.Field, s.Values[statistic.Server])
		separator = ','
		if statistic.Server == metric.SlowWatchers && len(s.SlowWatchersOf) > 0 {
			text, err := json.Marshal(s.SlowWatchersOf)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, ",%q:%s", slowWatchersOf, text)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON implements json.Unmarshaler. A value without a field is 0.
func (s *Stored) UnmarshalJSON(text []byte) error {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	for _, statistic := range metric.ServerStatistics() {
		if value, ok := fields[statistic.Field]; ok {
			if err := json.Unmarshal(value, &s.Values[statistic.Server]); err != nil {
				return fmt.Errorf("%s: %w", statistic.Field, err)
			}
		}
	}
	if value, ok := fields[slowWatchersOf]; ok {
		return json.Unmarshal(value, &s.SlowWatchersOf)
	}
	return nil
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

// ClientSeries are the statistics of scripted clients over time, in intervals of equal length. They cover the
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
