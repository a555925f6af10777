package plots

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/histogram"
	"apfsim/reports/result"
)

// points is how the values of a series come to be those of a line: one for each interval,
// and the last once more where it ends.
func points(s *result.Series, value func(*result.Point) float64) Figures {
	var values Figures
	for i := range s.Points {
		values = append(values, value(&s.Points[i]))
	}
	return append(values, values[len(values)-1])
}

// OfSeries returns the plots of the course of a run at a level, none where nothing happened.
func OfSeries(r *result.Result, s *result.Series, id string) []*Plot {
	if s.Quiet() {
		return nil
	}
	a := TimeAxisOf(r.Summary)
	var at Figures
	for i := range s.Points {
		at = append(at, float64(s.Points[i].StartNs)/a.UnitNs)
	}
	at = append(at, float64(s.Points[len(s.Points)-1].EndNs)/a.UnitNs)
	interval := format.Duration(float64(s.Points[0].EndNs - s.Points[0].StartNs))
	var plots []*Plot
	add := func(name, title, caption string, y Axis, lines ...Line) {
		plots = append(plots, &Plot{Name: name + "-" + id, Title: title, Caption: caption, X: a.Axis(), Y: y,
			Linked: true, Steps: true, Shaded: a.Warmup, At: at, Lines: lines})
	}
	use := Line{Name: "seats in use", Style: LineStyle{Colour: 1, Filled: true}, Values: points(s, func(p *result.Point) float64 { return p.SeatsInUse })}
	switch {
	case s.Level == "":
		use.Name = "executing"
		add("seats", "Requests executing", "Mean of intervals of "+interval+".", Axis{Label: "requests"}, use)
	case s.Limited:
		add("seats", "Seats in use and concurrency limits",
			"Means of intervals of "+interval+". The current limit moves as levels lend and borrow seats, the nominal one when the configuration changes.", Axis{Label: "seats"}, use,
			Line{Name: "current limit", Values: points(s, func(p *result.Point) float64 { return p.CurrentLimit })},
			Line{Name: "nominal limit", Style: LineStyle{Dashed: true}, Values: points(s, func(p *result.Point) float64 { return p.NominalLimit })})
	default:
		add("seats", "Seats in use", "Mean of intervals of "+interval+".", Axis{Label: "seats"}, use)
	}

	lines := []Line{{Name: "arrived", Style: LineStyle{Filled: true}, Values: points(s, func(p *result.Point) float64 { return float64(p.Arrived) / p.Seconds() })}}
	for i, of := range Rates {
		values := points(s, func(p *result.Point) float64 { return float64(of.Count(p)) / p.Seconds() })
		if slices.Max(values) > 0 {
			lines = append(lines, Line{Name: of.Name, Style: lineStyleOf(i), Values: values})
		}
	}
	add("requests", "Requests arriving, dispatched and rejected", "Per second, in intervals of "+interval+".", Axis{Label: "per second", Unit: "/s"}, lines...)

	waiting := points(s, func(p *result.Point) float64 { return p.WaitingRequests })
	if slices.Max(waiting) > 0 {
		add("waiting", "Requests waiting", "Mean of intervals of "+interval+".", Axis{Label: "requests"},
			Line{Name: "waiting", Style: LineStyle{Colour: 4, Filled: true}, Values: waiting})
	}
	if s.Queued() {
		plots = append(plots, &Plot{Name: "queues-" + id, Title: "Requests waiting in each queue",
			Caption: "Each row is a queue, and its colour how many requests wait in it at the beginning of the interval. A flow that sends more than its share fills the queues of its hand.",
			X:       a.Axis(), Y: Axis{Label: "queue"}, Linked: true, Shaded: a.Warmup, At: at, Queues: queueMap(r.Summary, s)})
	}
	if jain := points(s, jainOf); slices.ContainsFunc(jain, func(x float64) bool { return !math.IsNaN(x) && x < 1 }) {
		add("fairness", "Fairness", "Jain’s index of intervals of "+interval+", over the flows that had requests in them: 1 is even.", Axis{Label: "Jain’s index"},
			Line{Name: "Jain’s index", Style: LineStyle{Colour: 3}, Values: jain})
	}
	return plots
}

func jainOf(p *result.Point) float64 {
	if p.Jain == nil {
		return math.NaN()
	}
	return *p.Jain
}

// Axis is the time axis as an axis of a plot.
func (a TimeAxis) Axis() Axis {
	unit := strings.TrimSuffix(strings.TrimPrefix(a.Label, "time ("), ")")
	return Axis{Label: "time", Unit: unit}
}

// queueMap is the queues' lengths over time, and whose hands the queues are in.
func queueMap(s *result.Summary, of *result.Series) *QueueMap {
	m := &QueueMap{Lengths: of.QueueLengths}
	for _, lengths := range of.QueueLengths {
		m.Queues = max(m.Queues, len(lengths))
	}
	holders := make([][]*result.Flow, m.Queues)
	for i := range s.Flows {
		f := &s.Flows[i]
		if f.PriorityLevel != of.Level {
			continue
		}
		for _, q := range f.Hand {
			if q < m.Queues {
				holders[q] = append(holders[q], f)
			}
		}
	}
	for _, flows := range holders {
		slices.SortStableFunc(flows, func(a, b *result.Flow) int { return -cmp.Compare(a.DemandSeatSeconds, b.DemandSeatSeconds) })
		m.DealtTo = append(m.DealtTo, result.Names(flows, 2, ""))
	}
	return m
}

// OfWaits draws for each workload the share of its dispatched requests that waited longer
// than a time, nil when none waited. Both axes are logarithmic, so that the tail is as
// legible as the bulk.
func OfWaits(r *result.Result) *Plot {
	scale, ok := WaitScaleOf(r)
	if !ok {
		return nil
	}
	p := &Plot{Name: "wait", Title: "How long requests waited",
		Caption: "For each workload the share of its dispatched requests that waited longer than a time: lower and further left is better.",
		X:       Axis{Label: "longer than", Unit: "ns", Log: true}, Y: Axis{Label: "share of requests", Unit: "share", Log: true},
		At: scale.places()}
	for i := range r.Waits {
		h := &r.Waits[i]
		if h.N == 0 {
			continue
		}
		p.Lines = append(p.Lines, Line{Name: format.Printable(r.Summary.Workloads[i].Name), Style: lineStyleOf(i), Values: exceeding(h, p.At, scale.Bottom)})
	}
	return p
}

// exceeding returns the share of values above each place, NaN from where it is below bottom.
func exceeding[C histogram.Count](h *histogram.Histogram[C], at []float64, bottom float64) Figures {
	values := make(Figures, len(at))
	above, i := h.N, 0
	note := func(before float64) {
		for ; i < len(at) && at[i] < before; i++ {
			if values[i] = float64(above) / float64(h.N); values[i] < bottom {
				values[i] = math.NaN()
			}
		}
	}
	h.Each(func(_, mostNs, n int64) {
		note(float64(min(mostNs, h.MostNs)))
		above -= n
	})
	note(math.Inf(1))
	return values
}
