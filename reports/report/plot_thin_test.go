package report

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"apfsim/reports/measure"
)

func TestThinningKeepsEveryPeak(t *testing.T) {
	for _, n := range []int{1001, 1002, 1500, 2000, 9973} {
		p := &Plot{At: make([]float64, n+1), Lines: []Line{{Values: make([]float64, n+1), Low: make([]float64, n+1), High: make([]float64, n+1)}}}
		l := &p.Lines[0]
		for i := range p.At {
			p.At[i] = float64(i)
			l.Values[i] = float64(i * 7919 % 1009)
			if i%10 == 3 {
				l.Values[i] = math.NaN()
			}
			l.Low[i], l.High[i] = l.Values[i]-1, l.Values[i]+1
		}
		l.Values[n/3], l.Values[n/2] = 5000, -5000
		l.Low[n/2], l.High[n/3] = -6000, 6000
		thin := p.Thinned(1000)
		got := thin.Lines[0]
		if len(thin.At) > 1000 || len(thin.At) < 500 || len(got.Values) != len(thin.At) || len(got.Low) != len(thin.At) || len(got.High) != len(thin.At) {
			t.Fatalf("%d places become %d places, %d values", n, len(thin.At), len(got.Values))
		}
		if !slices.IsSorted(thin.At) || thin.At[0] != 0 || thin.At[len(thin.At)-1] != float64(n) {
			t.Errorf("%d points: the places are not those from 0 to %d, in order", n, n)
		}
		if !slices.Contains(got.Values, 5000) || !slices.Contains(got.Values, -5000) || !slices.Contains(got.High, 6000) || !slices.Contains(got.Low, -6000) {
			t.Errorf("%d points: a peak is lost", n)
		}
		// Each value is near its own place.
		for i, x := range got.Values {
			if from := int(thin.At[i]); !math.IsNaN(x) && !slices.Contains(l.Values[max(0, from-25):min(n+1, from+25)], x) {
				t.Fatalf("%d points: %v at %v belongs to another place", n, x, from)
			}
		}
		if thin.Caption == "" || p.Caption != "" || len(p.At) != n+1 {
			t.Error("the caption does not mention the thinning, or the original has changed")
		}
	}
	small := &Plot{At: make([]float64, 1000)}
	if small.Thinned(1000) != small {
		t.Error("a small plot was thinned")
	}
}

func TestMergedIntervalsKeepTheLongestQueue(t *testing.T) {
	p := &Plot{At: []float64{0, 1, 2, 3, 4, 5}, Queues: &QueueMap{Queues: 2, Lengths: [][]int32{{1, 9}, nil, {4, 2}, nil, nil}}}
	got := p.MergedIntervals(6)
	want := "[0 2 4 5] [[1 9] [4 2] []]"
	if text := fmt.Sprint(got.At, got.Queues.Lengths); text != want {
		t.Errorf("%s, want %s", text, want)
	}
	if p.MergedIntervals(10) != p {
		t.Error("a small map was merged")
	}
}

func TestExceedanceAgreesWithCounting(t *testing.T) {
	h := &measure.Histogram{Precision: measure.FinePrecision}
	var waits []int64
	for i := range int64(5000) {
		ns := i * i % 7001 * 1000
		waits = append(waits, ns)
		h.Record(ns)
	}
	at := []float64{1, 999, 1e5, 1e6, 3.3e6, 6e6, 7e6, 1e9}
	places, shares := exceedance(h, at[0])
	for k, got := range valuesAt(&Line{At: places, Values: shares}, at) {
		// A bucket is within 0.1 % of its values.
		more, fewer := 0, 0
		for _, ns := range waits {
			if float64(ns) > at[k]*0.999 {
				more++
			}
			if float64(ns) > at[k]*1.001 {
				fewer++
			}
		}
		if got > float64(more)/5000 || got < float64(fewer)/5000 {
			t.Errorf("%v waited longer than %v, want %d to %d of 5000", got, at[k], fewer, more)
		}
	}
}

// The steps that are left out differ from those that are kept by less than 0.5 % along x or 1 % along y.
func TestVisibleStepsAreCloseToAllSteps(t *testing.T) {
	h := &measure.Histogram{Precision: measure.FinePrecision}
	for i := range int64(200_000) {
		h.Record(1000 + i*i*i%7_000_001)
	}
	p := &Plot{X: Axis{Min: 1000, Max: 1e7}, Y: Axis{Min: 1e-3, Max: 1}}
	l := &Line{}
	l.At, l.Values = exceedance(h, p.X.Min)
	at, values := p.VisibleSteps(l)
	if len(at) >= len(l.At)/2 || at[0] != p.X.Min || values[len(values)-1] != p.Y.Min {
		t.Fatalf("%d of %d steps from %v, down to %v; want less than half, from %v down to %v", len(at), len(l.At), at[0], values[len(values)-1], p.X.Min, p.Y.Min)
	}
	kept := &Line{At: at, Values: values}
	for i, x := range l.At {
		y := max(l.Values[i], p.Y.Min)
		near := valuesAt(kept, []float64{x, x * 1.006})
		if math.Abs(near[0]-y) > 0.011*y && !(near[0] >= y && y >= near[1]*0.99) {
			t.Errorf("at %v: %v, want %v", x, near[0], y)
		}
	}
}

func TestSampledLinesHaveCommonPlaces(t *testing.T) {
	p := &Plot{X: Axis{Log: true, Min: 1, Max: 100}, Y: Axis{Log: true, Min: 0.01, Max: 1}, Steps: true, Lines: []Line{
		{At: []float64{1, 5, 50}, Values: []float64{1, 0.5, 0.001}},
		{At: []float64{1, 20}, Values: []float64{0.25, 0}},
	}}
	got := p.Thinned(1000)
	if len(got.At) != 121 || got.At[0] != 1 || got.At[60] != 10 || got.At[120] != 100 || got.Steps {
		t.Fatalf("%d places from %v, steps %v", len(got.At), got.At[0], got.Steps)
	}
	for _, want := range []struct {
		line, place int
		value       float64
	}{{0, 0, 1}, {0, 60, 0.5}, {0, 120, math.NaN()}, {1, 60, 0.25}, {1, 90, math.NaN()}} {
		if value := got.Lines[want.line].Values[want.place]; value != want.value && !(math.IsNaN(value) && math.IsNaN(want.value)) {
			t.Errorf("line %d at %v: %v, want %v", want.line, got.At[want.place], value, want.value)
		}
	}
	if p.Lines[0].At == nil || len(p.At) > 0 {
		t.Error("the original has changed")
	}
}
