package sharing

import (
	"math"
	"slices"
)

// stretches is how many sizes of demands have a factor in a stretch.
const stretches = 50

// stretch maps the demands of a kind that contain the effect of collections to those without, by their size.
type stretch struct {
	from, to []float64 // sorted
}

func newStretch(demands []float64, kind []int) *stretch {
	sorted := make([]float64, len(kind))
	for k, i := range kind {
		sorted[k] = demands[i]
	}
	slices.Sort(sorted)
	s := &stretch{}
	for k := range stretches {
		s.from = append(s.from, quantileOf(sorted, (float64(k)+0.5)/stretches))
	}
	s.to = slices.Clone(s.from)
	return s
}

// of returns the demand without the effect of collections.
func (s *stretch) of(ns float64) float64 {
	i, _ := slices.BinarySearch(s.from, ns)
	switch last := len(s.from) - 1; {
	case i == 0:
		return ns * s.to[0] / s.from[0]
	case i > last:
		return ns * s.to[last] / s.from[last]
	default:
		return s.to[i-1] + (s.to[i]-s.to[i-1])*(ns-s.from[i-1])/(s.from[i]-s.from[i-1])
	}
}

// match makes the demands of a kind smaller or greater so that its requests execute for as long in runs as in the log.
func (s *stretch) match(m *model, kind []int, times [][]float64) {
	var log, run []float64
	for _, i := range kind {
		log = append(log, float64(max(1, m.executions[i].EndNs-m.executions[i].BeginNs)))
		run = append(run, times[i]...)
	}
	slices.Sort(log)
	slices.Sort(run)
	least := 0.0
	for k := range s.to {
		part := (float64(k) + 0.5) / stretches
		s.to[k] = max(least, s.to[k]*math.Sqrt(quantileOf(log, part)/quantileOf(run, part)))
		least = s.to[k]
	}
}

func quantileOf(sorted []float64, part float64) float64 {
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
}
