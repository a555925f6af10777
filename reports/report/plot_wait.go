package report

import (
	"math"

	"apfsim/reports/format"
	"apfsim/reports/measure"
	"apfsim/reports/result"
)

// waitPlot returns for each workload the share of its dispatched requests that waited longer than a time;
// nil if no request waited. Both axes are logarithmic, so that rare long waits are as legible as the
// others. Each line has places of its own: every step of the histogram.
func waitPlot(r *result.Result) *Plot {
	p := &Plot{Name: "wait", Title: plottedDurations["wait"].title,
		Caption: "For each workload, the share of its dispatched requests that waited longer than a given time. Lower and further left is better.",
		X:       Axis{Label: plottedDurations["wait"].axis, Unit: "ns", Log: true}, Y: Axis{Label: "share of requests", Unit: "share", Log: true, Max: 1}, Steps: true}
	if !setWaitRange(p, r) {
		return nil
	}
	for i := range r.Waits {
		if h := &r.Waits[i]; h.N > 0 {
			at, shares := exceedance(h, p.X.Min)
			p.Lines = append(p.Lines, Line{Name: format.Printable(r.Summary.Workloads[i].Name), Kind: KindCategory, Index: i, At: at, Values: shares})
		}
	}
	return p
}

// waitPicture is Wait with the share of requests that did not wait, which a logarithmic axis cannot
// show, in the legend.
func waitPicture(r *result.Result) *Picture {
	p := waitPlot(r)
	if p == nil {
		return nil
	}
	out := &Picture{Name: p.Name, Title: p.Title, Panels: []*Plot{p}}
	for i := range p.Lines {
		l := &p.Lines[i]
		out.Legend = append(out.Legend, legendEntry{Kind: l.Kind, Index: l.Index,
			Name: format.Shorten(l.Name, 40) + " (" + format.Percent(shareOfZeros(&r.Waits[l.Index])) + " did not wait)"})
	}
	return out
}

// setWaitRange sets the ranges of the axes to powers of ten around the waits, in nanoseconds, and
// around the least share. It returns false if no request waited.
func setWaitRange(p *Plot, r *result.Result) bool {
	shortest, longest, requests := int64(math.MaxInt64), int64(0), int64(0)
	for i := range r.Waits {
		h := &r.Waits[i]
		requests = max(requests, h.N)
		h.Each(func(_, ns, n int64) {
			if ns > 0 {
				shortest = min(shortest, ns)
			}
		})
		longest = max(longest, h.MostNs)
	}
	if longest == 0 {
		return false
	}
	from := math.Pow(10, math.Floor(math.Log10(float64(min(max(shortest, 1_000), longest)))))
	to := math.Pow(10, math.Ceil(math.Log10(float64(longest))))
	if to <= from {
		to = from * 10
	}
	p.X.Min, p.X.Max = max(from, to/1e7), to // shorter waits than these are of no interest beside the longest
	p.Y.Min = max(1e-6, math.Pow(10, math.Floor(math.Log10(1/float64(max(requests, 10))))))
	return true
}

// exceedance returns the share of values above each place: from the given place on, the upper ends of
// the histogram's buckets.
func exceedance(h *measure.Histogram, from float64) (at, shares []float64) {
	add := func(x float64, above int64) {
		at, shares = append(at, x), append(shares, float64(above)/float64(h.N))
	}
	above := h.N
	h.Each(func(_, mostNs, n int64) {
		x := float64(min(mostNs, h.MostNs))
		if x > from {
			if len(at) == 0 {
				add(from, above)
			}
			add(x, above-n)
		}
		above -= n
	})
	if len(at) == 0 {
		add(from, above)
	}
	return at, shares
}

func shareOfZeros(h *measure.Histogram) (share float64) {
	h.Each(func(_, mostNs, n int64) {
		if mostNs == 0 {
			share = float64(n) / float64(h.N)
		}
	})
	return share
}
