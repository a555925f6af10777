package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"apfsim/core/queueset"
	"apfsim/reports/format"
	"apfsim/reports/result"
)

// LevelPlots returns the plots over time of one series of a run, which is about a priority level or about
// the requests that bypass flow control. There are none if no request arrived.
func LevelPlots(r *result.Result, series int) (plots []*Plot) {
	s := r.Series[series]
	if s.Quiet() {
		return nil
	}
	for _, plot := range []func(*result.Result, int) *Plot{seatsPlot, requestsPlot, waitingPlot, queuesPlot, fairnessPlot} {
		if p := plot(r, series); p != nil {
			plots = append(plots, p)
		}
	}
	return plots
}

// levelPlot returns a plot over time without lines for one series.
func levelPlot(r *result.Result, series int, name, title string, y Axis) *Plot {
	s, t := r.Series[series], timelineOf(r.Summary)
	p := t.plot(name+"-"+strconv.Itoa(series), title, y, t.places(len(s.Points), func(i int) (int64, int64) { return s.Points[i].StartNs, s.Points[i].EndNs }))
	p.Subject, p.Steps = result.LevelTitle(r.Summary, s.Level), true
	p.Marks = t.marks(result.TimelineMarks(r.Summary.Timeline))
	return p
}

func intervalText(s *result.Series) string {
	return format.Duration(float64(s.Points[0].EndNs - s.Points[0].StartNs))
}

// seatsPlot returns the seats in use, with the limits of a level that has them.
func seatsPlot(r *result.Result, series int) *Plot {
	s := r.Series[series]
	p := levelPlot(r, series, "seats", "Seats in use", Axis{Label: "seats"})
	p.Caption = "Mean of intervals of " + intervalText(s) + "."
	p.Lines = []Line{{Name: "seats in use", Kind: KindSeatsInUse, Values: stepValues(s.Points, func(p *result.Point) float64 { return p.SeatsInUse })}}
	switch {
	case s.Level == "":
		p.Title, p.Y.Label, p.Lines[0].Name = "Requests executing", "requests", "executing"
	case s.Limited:
		p.Title = "Seats in use and concurrency limits"
		p.Caption = "Means of intervals of " + intervalText(s) + ". The current limit changes when levels lend and borrow seats, the nominal limit when the configuration changes."
		p.Lines = append(p.Lines,
			Line{Name: "current limit", Kind: KindCurrentLimit, Values: stepValues(s.Points, func(p *result.Point) float64 { return p.CurrentLimit })},
			Line{Name: "nominal limit", Kind: KindNominalLimit, Values: stepValues(s.Points, func(p *result.Point) float64 { return p.NominalLimit })})
	}
	return p
}

func seatsPicture(r *result.Result) *Picture {
	p := &Picture{Name: "seats", Title: "Requests executing", Legend: []legendEntry{{Name: "requests executing", Kind: KindSeatsInUse}}}
	limited := false
	for i, s := range r.Series {
		if !s.Quiet() {
			p.Panels = append(p.Panels, seatsPlot(r, i))
			limited = limited || s.Limited
		}
	}
	if limited {
		p.Title = "Seats in use and concurrency limits"
		p.Legend = []legendEntry{{Name: "seats in use", Kind: KindSeatsInUse}, {Name: "current limit", Kind: KindCurrentLimit}, {Name: "nominal limit", Kind: KindNominalLimit}}
	}
	return p.unlessEmpty()
}

// plottedOutcomes are the lines of requests beside those that arrived. One that is 0 throughout is not drawn.
var plottedOutcomes = []struct {
	name  string
	kind  PlotKind
	index int
	count func(*result.Point) int64
}{
	{"dispatched", KindDispatched, 0, func(p *result.Point) int64 { return p.Dispatched }},
	{"rejected: queue full", KindRejected, 0, func(p *result.Point) int64 { return p.Rejected[queueset.QueueFull] }},
	{"rejected: concurrency limit", KindRejected, 1, func(p *result.Point) int64 { return p.Rejected[queueset.ConcurrencyLimit] }},
	{"rejected: time-out", KindRejected, 2, func(p *result.Point) int64 { return p.Rejected[queueset.TimedOut] }},
}

// requestsPlot returns the requests per second that arrived, were dispatched and were rejected.
func requestsPlot(r *result.Result, series int) *Plot {
	s := r.Series[series]
	perSecond := func(count func(*result.Point) int64) []float64 {
		return stepValues(s.Points, func(p *result.Point) float64 { return float64(count(p)) / p.Seconds() })
	}
	p := levelPlot(r, series, "requests", requestsTitle, Axis{Label: "per second", Unit: "/s"})
	p.Caption = "Per second, in intervals of " + intervalText(s) + "."
	p.Lines = []Line{{Name: "arrived", Kind: KindArrived, Values: perSecond(func(p *result.Point) int64 { return p.Arrived })}}
	for _, o := range plottedOutcomes {
		if values := perSecond(o.count); slices.Max(values) > 0 {
			p.Lines = append(p.Lines, Line{Name: o.name, Kind: o.kind, Index: o.index, Values: values})
		}
	}
	return p
}

const requestsTitle = "Requests arriving, dispatched and rejected"

func requestsPicture(r *result.Result) *Picture {
	p := &Picture{Name: "requests", Title: requestsTitle, Legend: []legendEntry{{Name: "arrived", Kind: KindArrived}}}
	drawn := map[string]bool{}
	for i, s := range r.Series {
		if !s.Quiet() {
			plot := requestsPlot(r, i)
			p.Panels = append(p.Panels, plot)
			for _, l := range plot.Lines {
				drawn[l.Name] = true
			}
		}
	}
	for _, o := range plottedOutcomes {
		if drawn[o.name] {
			p.Legend = append(p.Legend, legendEntry{Name: o.name, Kind: o.kind, Index: o.index})
		}
	}
	return p.unlessEmpty()
}

// waitingPlot returns the requests that wait, nil if none ever did.
func waitingPlot(r *result.Result, series int) *Plot {
	s := r.Series[series]
	values := stepValues(s.Points, func(p *result.Point) float64 { return p.WaitingRequests })
	if !(slices.Max(values) > 0) {
		return nil
	}
	p := levelPlot(r, series, "waiting", "Requests waiting", Axis{Label: "requests"})
	p.Caption = "Mean of intervals of " + intervalText(s) + "."
	p.Lines = []Line{{Name: "waiting", Kind: KindWaiting, Values: values}}
	return p
}

// fairnessPlot returns Jain's index over time, nil if it is never below 1.
func fairnessPlot(r *result.Result, series int) *Plot {
	s := r.Series[series]
	values := stepValues(s.Points, func(p *result.Point) float64 {
		if p.Jain == nil {
			return math.NaN()
		}
		return *p.Jain
	})
	if !slices.ContainsFunc(values, func(x float64) bool { return !math.IsNaN(x) && x < 1 }) {
		return nil
	}
	p := levelPlot(r, series, "fairness", "Fairness", Axis{Label: "Jain’s index"})
	p.Caption = "Jain’s index of intervals of " + intervalText(s) + ", over the flows that had requests in the interval. 1 is fair."
	p.Lines = []Line{{Name: "Jain’s index", Kind: KindJainIndex, Values: values}}
	return p
}

// queuesPlot returns the lengths of the queues of a level over time, nil if no request was waiting at the
// beginning of any interval.
func queuesPlot(r *result.Result, series int) *Plot {
	s := r.Series[series]
	if !s.Queued() {
		return nil
	}
	p := levelPlot(r, series, "queues", "Requests waiting in each queue", Axis{Label: "queue"})
	p.Caption = "Each row is a queue; its colour is the number of requests that wait in it at the beginning of the interval. A flow that sends more than its share fills the queues of its hand."
	p.Steps, p.Marks = false, nil
	p.Queues = queueMap(r.Summary, s)
	p.Y.Max = float64(p.Queues.Queues)
	return p
}

func queueMap(s *result.Summary, series *result.Series) *QueueMap {
	m := &QueueMap{Lengths: series.QueueLengths}
	for _, lengths := range series.QueueLengths {
		m.Queues = max(m.Queues, len(lengths))
	}
	holders := make([]holders, m.Queues)
	for i := range s.Flows {
		f := &s.Flows[i]
		if f.PriorityLevel != series.Level {
			continue
		}
		for _, q := range f.Hand {
			if q < m.Queues {
				holders[q].add(f)
			}
		}
	}
	others, _ := s.Others(series.Level)
	for i := range holders {
		m.DealtTo = append(m.DealtTo, holders[i].text(others > 0))
	}
	return m
}

// holders are the flows that have a queue in their hands.
type holders struct {
	first []*result.Flow // those with the greatest demands, at most one more than are named
	n     int
}

const mostHolders = 2 // that are named, if there are more than one more

func (h *holders) add(f *result.Flow) {
	h.n++
	at := len(h.first)
	for at > 0 && h.first[at-1].DemandSeatSeconds < f.DemandSeatSeconds {
		at--
	}
	if h.first = slices.Insert(h.first, at, f); len(h.first) > mostHolders+1 {
		h.first = h.first[:mostHolders+1]
	}
}

// text names the first flows. If there are more that are not listed, it is not known how many of them have the queue.
func (h *holders) text(more bool) string {
	var names []string
	for _, f := range h.first {
		names = append(names, f.ShortName())
	}
	switch named := min(len(names), mostHolders); {
	case more:
		return strings.Join(append(names[:named], "others"), ", ")
	case h.n > mostHolders+1:
		return strings.Join(names[:named], ", ") + " and " + format.Counted(h.n-mostHolders, "other")
	}
	return format.Listed(names, mostHolders, "")
}
