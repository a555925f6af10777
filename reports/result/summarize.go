package result

import (
	"math"

	"apfsim/reports/histogram"
	"apfsim/reports/measure"
)

// Result is all that a run has left behind.
type Result struct {
	Summary *Summary
	Series  []*Series                     // by level; those of levels where nothing happened too
	Courses []*WorkloadSeries             // by workload
	Waits   []histogram.Histogram[uint64] // by workload
	Parts   []measure.Part
}

func NewDistribution[C histogram.Count](h *histogram.Histogram[C]) *Distribution {
	if h.N == 0 {
		return nil
	}
	var p [5]int64
	h.PercentilesNs([]float64{50, 90, 95, 99, 99.9}, p[:])
	return &Distribution{
		Count: h.N, MeanNs: int64(math.Round(h.MeanNs())), MinNs: h.LeastNs,
		P50Ns: p[0], P90Ns: p[1], P95Ns: p[2], P99Ns: p[3], P999Ns: p[4], MaxNs: h.MostNs,
	}
}
