package conformance

import (
	"slices"

	"apfsim/lab/conformance/trial"
)

// shrink returns the smallest trial it finds for which differs still holds: with fewer
// changes, samples and requests, by delta debugging (Zeller 1999).
func shrink(tr *trial.Trial, differs func(*trial.Trial) bool) *trial.Trial {
	best := *tr
	best.Changes = minimize(best.Changes, func(c []trial.Change) bool {
		candidate := best
		candidate.Changes = c
		return differs(&candidate)
	})
	best.SamplesNs = minimize(best.SamplesNs, func(s []int64) bool {
		candidate := best
		candidate.SamplesNs = s
		return differs(&candidate)
	})
	best.Requests = minimize(best.Requests, func(r []record) bool {
		candidate := best
		candidate.Requests = r
		return differs(&candidate)
	})
	return &best
}

// minimize returns a part of items, in their order, for which bad still holds, and of
// which no single item can be left out.
func minimize[T any](items []T, bad func([]T) bool) []T {
	parts := 2
	for len(items) > 0 {
		size := max(1, (len(items)+parts-1)/parts)
		smaller := false
		for at := 0; at < len(items); {
			remaining := slices.Concat(items[:at], items[min(at+size, len(items)):])
			if bad(remaining) {
				items, smaller = remaining, true
				continue
			}
			at += size
		}
		switch {
		case size > 1:
			parts = min(2*parts, len(items))
		case !smaller:
			return items
		}
	}
	return items
}
