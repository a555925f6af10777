package result

import (
	"math"

	"apfsim/core/queueset"
	"apfsim/reports/histogram"
	"apfsim/reports/measure"
)

// Result is all that a run has left behind.
type Result struct {
	Summary        *Summary
	Series         []*Series                     // by level; those of levels where nothing happened too
	WorkloadSeries []*WorkloadSeries             // by workload
	Waits          []histogram.Histogram[uint64] // by workload
	Parts          []measure.Part
}

// NewGroup returns the statistics of the requests that were measured.
func NewGroup[C histogram.Count](name string, m *measure.Measures[C]) Group {
	g := Group{Name: name, Counts: NewCounts(&m.Tally)}
	for t := range m.Timed {
		*g.Distribution(measure.Timing(t)) = NewDistribution(&m.Timed[t])
	}
	return g
}

// Distribution returns the place of the distribution of a duration.
func (g *Group) Distribution(t measure.Timing) **Distribution {
	return [measure.Timings]**Distribution{
		measure.Wait: &g.Wait, measure.Execution: &g.Execution,
		measure.Latency: &g.Latency, measure.RejectedWait: &g.RejectedWait,
	}[t]
}

// NewCounts returns the counts of the requests of a tally.
func NewCounts(t *measure.Tally) Counts {
	return Counts{
		Arrived: t.Arrived, Executed: t.Executed, Rejected: t.RejectedTotal(),
		QueueFull:        t.Rejected[queueset.QueueFull],
		ConcurrencyLimit: t.Rejected[queueset.ConcurrencyLimit],
		TimedOut:         t.Rejected[queueset.TimedOut],
		Retries:          t.Retries, Waiting: t.Waiting(), Executing: t.Executing(),
	}
}

// NewDistribution describes the durations in a histogram; nil if there are none.
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
