package plots

import (
	"apfsim/core/queueset"
	"apfsim/reports/result"
)

// TimeAxis measures a run in a unit that suits its length.
type TimeAxis struct {
	UnitNs float64
	Label  string
	Most   float64
	Warmup float64
}

func TimeAxisOf(s *result.Summary) TimeAxis {
	a := TimeAxis{UnitNs: 1e9, Label: "time (s)"}
	switch d := float64(s.DurationNs); {
	case d < 2e9:
		a = TimeAxis{UnitNs: 1e6, Label: "time (ms)"}
	case d > 5*3600e9:
		a = TimeAxis{UnitNs: 3600e9, Label: "time (h)"}
	case d > 600e9:
		a = TimeAxis{UnitNs: 60e9, Label: "time (min)"}
	}
	a.Most = float64(s.DurationNs) / a.UnitNs
	a.Warmup = float64(s.WarmupNs) / a.UnitNs
	return a
}

// rate is one of the lines of the chart of requests.
type rate struct {
	Name  string
	Count func(*result.Point) int64
}

var Rates = []rate{
	{"dispatched", func(p *result.Point) int64 { return p.Dispatched }},
	{"rejected: queue full", func(p *result.Point) int64 { return p.Rejected[queueset.QueueFull] }},
	{"rejected: concurrency limit", func(p *result.Point) int64 { return p.Rejected[queueset.ConcurrencyLimit] }},
	{"rejected: time-out", func(p *result.Point) int64 { return p.Rejected[queueset.TimedOut] }},
}
