package measure

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var durations = rapid.SliceOfN(rapid.OneOf(
	rapid.Int64Range(0, 100), rapid.Int64Range(0, 1_000_000), rapid.Int64Range(0, 60_000_000_000), rapid.Int64Range(0, math.MaxInt64),
), 1, 200)

// exact is the percentile by nearest rank of sorted values.
func exact(sorted []int64, p float64) int64 {
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

func testPercentiles(t *rapid.T, precision uint8) {
	values := durations.Draw(t, "durations")
	h := Histogram{Precision: precision}
	sum := new(big.Float)
	for _, v := range values {
		h.Record(v)
		sum.Add(sum, new(big.Float).SetInt64(v))
	}
	slices.Sort(values)
	for _, p := range []float64{0, 25, 50, 75, 100, rapid.Float64Range(0, 99.99).Draw(t, "p")} {
		got, want := h.PercentileNs(p), exact(values, p)
		if got < want || float64(got-want) > float64(want)/float64(int64(1)<<precision) {
			t.Fatalf("p%v = %d, want %d and at most 2^-%d of it more", p, got, want, precision)
		}
	}
	if h.N != int64(len(values)) || h.LeastNs != values[0] || h.MostNs != values[len(values)-1] {
		t.Fatalf("count %d, least %d, most %d", h.N, h.LeastNs, h.MostNs)
	}
	mean, _ := sum.Quo(sum, big.NewFloat(float64(len(values)))).Float64()
	if d := math.Abs(h.MeanNs() - mean); d > mean*1e-12 {
		t.Fatalf("mean %v, want %v", h.MeanNs(), mean)
	}
	last := int64(-1)
	h.Each(func(leastNs, mostNs, n int64) {
		if leastNs <= last || mostNs < leastNs || n <= 0 {
			t.Fatalf("bucket [%d, %d] of %d follows %d", leastNs, mostNs, n, last)
		}
		last = mostNs
	})
}

func TestPercentilesAreWithinTheirBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { testPercentiles(t, FinePrecision) })
	rapid.Check(t, func(t *rapid.T) { testPercentiles(t, CoarsePrecision) })
}

func TestMergingIsRecordingBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, both := Histogram{Precision: 5}, Histogram{Precision: 5}, Histogram{Precision: 5}
		for _, v := range durations.Draw(t, "a") {
			a.Record(v)
			both.Record(v)
		}
		for _, v := range durations.Draw(t, "b") {
			b.Record(v)
			both.Record(v)
		}
		a.Merge(&b)
		if a.N != both.N || a.LeastNs != both.LeastNs || a.MostNs != both.MostNs || a.sumHigh != both.sumHigh || a.sumLow != both.sumLow {
			t.Fatalf("merged %+v, want %+v", a, both)
		}
		for p := 0.0; p <= 100; p += 2.5 {
			if a.PercentileNs(p) != both.PercentileNs(p) {
				t.Fatalf("p%v = %d, want %d", p, a.PercentileNs(p), both.PercentileNs(p))
			}
		}
	})
}

// Three of the longest durations sum to more than 64 bits hold, and so do three and two merged.
func TestSumsOfMoreThan64Bits(t *testing.T) {
	var parts [2]Histogram
	for i := range parts {
		parts[i].Precision = CoarsePrecision
		for range 3 - i {
			parts[i].Record(math.MaxInt64)
		}
		if got := parts[i].MeanNs(); got != math.MaxInt64 {
			t.Errorf("mean %v, want %v", got, float64(math.MaxInt64))
		}
	}
	parts[0].Merge(&parts[1])
	if got := parts[0].MeanNs(); got != math.MaxInt64 {
		t.Errorf("merged: mean %v, want %v", got, float64(math.MaxInt64))
	}
}

// Floating point makes 99.9 % of 1000 a little more than 999.
func TestRankOfARoundPercentile(t *testing.T) {
	h := Histogram{Precision: FinePrecision}
	for v := range int64(1000) {
		h.Record(v + 1)
	}
	for p, want := range map[float64]int64{50: 500, 99.9: 999, 90: 900, 99.95: 1000} {
		if got := h.PercentileNs(p); got != want {
			t.Errorf("p%v of 1 to 1000 = %d, want %d", p, got, want)
		}
	}
}

// Buckets have 16 bits. Some get more values than that, one by one, at once, and when histograms are merged.
func TestBucketsWithManyValues(t *testing.T) {
	values := map[int64]int64{7: 3 << 16, 90_000: 5<<16 - 1, 100_000: 1 << 16, 100_001: 70_000, 5_000_000_000: 1}
	one, once := Histogram{Precision: CoarsePrecision}, Histogram{Precision: CoarsePrecision}
	for ns, n := range values {
		for range n {
			one.Record(ns)
		}
		once.RecordN(ns, n)
	}
	merged := one
	merged.buckets, merged.carries = slices.Clone(one.buckets), slices.Clone(one.carries)
	merged.Merge(&once)
	for i, h := range []*Histogram{&one, &once, &merged} {
		times := int64(1 + i/2)
		want := []int64{3 << 16, 5<<16 - 1, 1<<16 + 70_000, 1} // 100 000 and 100 001 have one bucket
		var got []int64
		h.Each(func(_, _, n int64) { got = append(got, n/times) })
		if !slices.Equal(got, want) || h.N != times*(9<<16+70_000) {
			t.Errorf("histogram %d: %d values in buckets of %d; want %d", i, h.N, got, want)
		}
	}
	one.Reset()
	one.Record(7)
	one.Each(func(_, _, n int64) {
		if n != 1 {
			t.Errorf("after Reset, a bucket of one value counts %d", n)
		}
	})
}
