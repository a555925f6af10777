package fit

import (
	"math"

	"apfsim/core/estimate"
)

// resources returns numbers and sizes of stored objects with which the lists take the seats that they took:
// the least number of objects, and the first of some sizes, for which the sum of the differences is least.
func (f *fitter) resources() (all []any) {
	var order []estimate.Resource
	lists := map[estimate.Resource][]*stream{}
	wide := map[estimate.Resource]bool{}
	for _, s := range f.inOrder {
		if s.seats == 0 || s.attributes.Verb != "list" && s.attributes.Verb != "watch" || s.attributes.Resource == "" {
			continue
		}
		r := estimate.Resource{Group: s.attributes.APIGroup, Name: s.attributes.Resource}
		if lists[r] == nil {
			order = append(order, r)
		}
		lists[r] = append(lists[r], s)
		wide[r] = wide[r] || s.seats > 1
	}
	for _, r := range order {
		if !wide[r] {
			continue // as without objects
		}
		best, stats := math.MaxInt, estimate.Stats{}
		for _, bytes := range []int64{2000, 500, 5000, 10_000, 50_000, 200_000, 1_500_000} {
			for k := range 121 {
				objects := int64(math.Round(math.Pow(10, float64(k)/20)))
				tried := estimate.Stats{Objects: objects, AverageBytes: bytes}
				if d := f.difference(lists[r], r, tried); d < best {
					best, stats = d, tried
				}
			}
		}
		item := map[string]any{"resource": r.Name, "objects": stats.Objects, "averageBytes": stats.AverageBytes}
		if r.Group != "" {
			item["group"] = r.Group
		}
		all = append(all, item)
		text := "all lists take"
		if best > 0 {
			text = "most lists take"
		}
		f.note("%s: %d objects of %d bytes are assumed, with which %s the seats that they took", r.Name, stats.Objects, stats.AverageBytes, text)
	}
	return all
}

// difference returns how many seats the estimates of lists differ from what they took.
func (f *fitter) difference(lists []*stream, r estimate.Resource, stats estimate.Stats) (sum int) {
	e := estimate.NewEstimator(f.base.Release, estimate.Known(estimate.Store{r: stats}))
	for _, s := range lists[:min(len(lists), 20)] {
		request, err := e.NewRequest(&s.attributes, s.query)
		if err != nil {
			continue
		}
		if d := request.Estimate(0).InitialSeats - s.seats; d < 0 {
			sum -= d
		} else {
			sum += d
		}
	}
	return sum
}
