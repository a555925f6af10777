package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A set has the numbers that were added to it, and shares with another one those that both have.
func TestBitset(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		var sets [2]Bitset
		var has [2]map[int]bool
		for i := range sets {
			has[i] = map[int]bool{}
			for range r.IntN(20) {
				n := r.IntN(1 + r.IntN(300))
				sets[i].Set(n)
				has[i][n] = true
			}
		}
		shared := 0
		for n := range has[0] {
			if has[1][n] {
				shared++
			}
		}
		if sets[0].Count() != len(has[0]) || sets[0].Shared(sets[1]) != shared || sets[1].Shared(sets[0]) != shared {
			t.Errorf("%v and %v: %d numbers, want %d; %d are shared, want %d", has[0], has[1], sets[0].Count(), len(has[0]), sets[0].Shared(sets[1]), shared)
		}
	}
}

// Responses are counted by status, in ascending order.
func TestResponses(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var all Responses
	want := map[int]int64{}
	for range 200 {
		status, n := []int{0, 200, 201, 404, 429, 504}[r.IntN(6)], r.Int64N(5)
		all.Add(status, n)
		want[status] += n
	}
	if len(all) != len(want) || !slices.IsSortedFunc(all, func(a, b Response) int { return a.Status - b.Status }) {
		t.Errorf("%+v", all)
	}
	for _, one := range all {
		if one.Count != want[one.Status] {
			t.Errorf("status %d: %d, want %d", one.Status, one.Count, want[one.Status])
		}
	}
}

// The metrics that are about a duration are these.
func TestTimingOf(t *testing.T) {
	for name, want := range map[string]Timing{"wait": Wait, "execution": Execution, "latency": Latency, "rejectedWait": RejectedWait} {
		if got, is := TimingOf(name); !is || got != want {
			t.Errorf("%s: %d, %v", name, got, is)
		}
	}
	if _, is := TimingOf("rejected"); is {
		t.Error("rejected is no duration")
	}
}

// Percentiles are within 0.1 % for groups of requests and within 3.2 % for flows, the least and the greatest value are
// exact, also if histograms were merged into an empty one.
func TestPrecisionOfPercentiles(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for precision, within := range map[uint8]float64{FinePrecision: 0.001, CoarsePrecision: 0.032} {
		var values []int64
		parts := []Histogram{{Precision: precision}, {Precision: precision}}
		for i := range 2000 {
			ns := 1000 + r.Int64N(1<<(20+r.IntN(20)))
			values = append(values, ns)
			parts[i%2].Record(ns)
		}
		slices.Sort(values)
		all := Histogram{Precision: precision}
		for i := range parts {
			all.Merge(&parts[i])
		}
		if all.LeastNs != values[0] || all.MostNs != values[1999] || all.N != 2000 {
			t.Errorf("%d values of %d to %d, want %d to %d", all.N, all.LeastNs, all.MostNs, values[0], values[1999])
		}
		for _, percent := range []float64{0.01, 0.05, 1, 50, 90, 99, 99.9, 100} {
			got, want := all.PercentileNs(percent), values[int(Rank(percent, 2000))-1]
			if got < want || float64(got-want) > within*float64(want) || percent < 0.06 && got != want {
				t.Errorf("precision %d: p%v is %d, want %d", precision, percent, got, want)
			}
		}
	}
}

// No values change nothing, wherever they come from.
func TestNoValues(t *testing.T) {
	h := Histogram{Precision: FinePrecision}
	h.RecordN(5, 0)
	if h.N != 0 || h.MostNs != 0 {
		t.Errorf("%d values of at most %d", h.N, h.MostNs)
	}
	h.Record(7)
	h.Merge(&Histogram{Precision: FinePrecision})
	h.Merge(&Histogram{})
	if h.N != 1 || h.LeastNs != 7 || h.PercentileNs(50) != 7 {
		t.Errorf("%d values of at least %d", h.N, h.LeastNs)
	}
	if got := Rank(0, 10); got != 1 {
		t.Errorf("the rank of the least value is %v", got)
	}
}

// A negative duration counts as none, and one of a number of durations as one.
func TestSingleValues(t *testing.T) {
	var h Histogram
	h.Precision = FinePrecision
	h.Record(-3)
	if h.N != 1 || h.LeastNs != 0 || h.MostNs != 0 || h.MeanNs() != 0 {
		t.Errorf("%d values of %d to %d", h.N, h.LeastNs, h.MostNs)
	}
	h.RecordN(8, 1)
	h.RecordN(-1, 2)
	if h.N != 4 || h.LeastNs != 0 || h.MostNs != 8 || h.MeanNs() != 2 {
		t.Errorf("%d values of %d to %d, mean %v; want 4 of 0 to 8, mean 2", h.N, h.LeastNs, h.MostNs, h.MeanNs())
	}
}

// Measures that were reset are like new ones.
func TestReset(t *testing.T) {
	m := New(CoarsePrecision)
	for range 70_000 { // more than a bucket counts by itself
		m.Timed[Wait].Record(5)
	}
	m.Queued.Record(9)
	m.Arrived = 3
	m.Responses.Add(200, 1)
	m.Reset()
	if m.Counted != New(CoarsePrecision).Counted || len(m.Responses) != 0 || m.Queued.N != 0 {
		t.Errorf("%+v, %+v, %d queued", m.Counted, m.Responses, m.Queued.N)
	}
	m.Timed[Wait].Record(6)
	if h := &m.Timed[Wait]; h.N != 1 || h.LeastNs != 6 || h.MostNs != 6 || h.MeanNs() != 6 || h.PercentileNs(50) != 6 {
		t.Errorf("%d values of %d to %d, mean %v", h.N, h.LeastNs, h.MostNs, h.MeanNs())
	}
	m.Timed[Wait].Each(func(leastNs, mostNs, n int64) {
		if n != 1 || leastNs != 6 {
			t.Errorf("%d values of %d to %d", n, leastNs, mostNs)
		}
	})
}

// All histograms of measures have the precision.
func TestPrecisionOfMeasures(t *testing.T) {
	m := New(FinePrecision)
	for _, h := range []*Histogram{&m.Timed[Wait], &m.Timed[Execution], &m.Timed[Latency], &m.Timed[RejectedWait], &m.Queued} {
		for _, ns := range []int64{10_010, 1_000_000} {
			h.Record(ns)
		}
		if got := h.PercentileNs(50); got != 10_010 {
			t.Errorf("the least of two values is %d", got)
		}
		h.Record(20_000_000)
		if got := h.PercentileNs(60); float64(got)/1_000_000 > 1.001 {
			t.Errorf("the second of three values is %d, want 1 000 000 within 0.1 %%", got)
		}
	}
}

// Without a service, or without shares, there is no fairness.
func TestNoFairness(t *testing.T) {
	for _, c := range [][2][]float64{{{0, 0}, {1, 1}}, {{1, 1}, {0, 0}}, {nil, nil}} {
		if index, ok := Jain(c[0], c[1]); ok || index != 0 {
			t.Errorf("services %v, shares %v: %v", c[0], c[1], index)
		}
	}
	if index, ok := Jain([]float64{3, 0, 5}, []float64{1, 1, 0}); !ok || math.Abs(index-0.5) > 1e-12 { // 9/(2·9); a share of 0 does not count
		t.Errorf("one of two has all: %v", index)
	}
}
