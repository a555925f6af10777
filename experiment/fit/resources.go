package fit

import (
	"fmt"
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
		if s.seats == nil {
			continue
		}
		r := estimate.Resource{Group: s.attributes.APIGroup, Name: s.attributes.Resource}
		if lists[r] == nil {
			order = append(order, r)
		}
		lists[r] = append(lists[r], s)
		for seats := range s.seats {
			wide[r] = wide[r] || seats > 1
		}
	}
	for _, r := range order {
		if !wide[r] {
			continue // as without objects
		}
		e := f.estimates(lists[r])
		best, stats := int64(math.MaxInt64), estimate.Stats{}
		for _, bytes := range []int64{2000, 500, 5000, 10_000, 50_000, 200_000, 1_500_000} {
			for k := range 121 {
				objects := int64(math.Round(math.Pow(10, float64(k)/20)))
				tried := estimate.Stats{Objects: objects, AverageBytes: bytes}
				e.store(r, tried)
				if d := e.difference(); d < best {
					best, stats = d, tried
				}
			}
		}
		item := map[string]any{"resource": r.Name, "objects": stats.Objects, "averageBytes": stats.AverageBytes}
		if r.Group != "" {
			item["group"] = r.Group
		}
		all = append(all, item)
		f.note("%s: %d objects of %d bytes are assumed, with which %s take the seats that they took", r.Name, stats.Objects, stats.AverageBytes, e.agreement(r, stats))
	}
	return all
}

// estimates compares, for the lists of one resource, the seats that they took in the log with the seats that they would
// take with other numbers of stored objects.
type estimates struct {
	estimator *estimate.Estimator
	lists     []listed
}

// listed is the lists of one stream.
type listed struct {
	request *estimate.Request
	took    map[int]int64 // how many requests took as many seats
}

func (f *fitter) estimates(streams []*stream) *estimates {
	e := &estimates{estimator: estimate.NewEstimator(f.base.Release, nil)}
	for _, s := range streams {
		if request, err := e.estimator.NewRequest(&s.attributes, s.query); err == nil { // the query has been checked, see wrong
			e.lists = append(e.lists, listed{request, s.seats})
		}
	}
	return e
}

// store recomputes the seats of the lists for other stored objects.
func (e *estimates) store(r estimate.Resource, stats estimate.Stats) {
	for r, known := range estimate.Known(estimate.Store{r: stats}) {
		e.estimator.Update(r, known)
	}
}

// difference returns how many seats the estimates of all lists differ from what they took.
func (e *estimates) difference() (sum int64) {
	for _, l := range e.lists {
		estimated := l.request.Estimate(0).InitialSeats
		for seats, n := range l.took {
			sum += n * int64(max(estimated-seats, seats-estimated))
		}
	}
	return sum
}

// agreement says how many lists take the seats of the log with these stored objects.
func (e *estimates) agreement(r estimate.Resource, stats estimate.Stats) string {
	e.store(r, stats)
	same, all := int64(0), int64(0)
	for _, l := range e.lists {
		estimated := l.request.Estimate(0).InitialSeats
		for seats, n := range l.took {
			all += n
			if seats == estimated {
				same += n
			}
		}
	}
	if same == all {
		return "all lists"
	}
	return fmt.Sprintf("%d of %d lists", same, all)
}
