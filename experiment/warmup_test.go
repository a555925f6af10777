package experiment

import (
	"context"
	"strings"
	"testing"
	"time"

	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

// Chosen warm-ups become the longest of both sides; given ones, and those of results, stay.
func TestWarmupsOfSidesAreAligned(t *testing.T) {
	chosen := func(w time.Duration) *scenario.Scenario {
		sc := &scenario.Scenario{}
		sc.Spec.Duration = quantity.Duration(time.Minute)
		sc.Spec.Warmup = scenario.Warmup{Duration: quantity.Duration(w), Auto: true, By: byMSER5}
		return sc
	}
	given := func(w time.Duration) *scenario.Scenario {
		sc := chosen(w)
		sc.Spec.Warmup.Auto, sc.Spec.Warmup.By = false, ""
		return sc
	}
	results := &compare.Replications{WarmupNs: int64(20 * time.Second)}
	for _, c := range []struct {
		name    string
		all     []*scenario.Scenario
		results *compare.Replications
		want    string
	}{
		{"both chosen", []*scenario.Scenario{chosen(5 * time.Second), chosen(9 * time.Second)}, nil, "9s MSER-5, 9s MSER-5"},
		{"the other is given, and longer", []*scenario.Scenario{chosen(5 * time.Second), given(9 * time.Second)}, nil, "9s other side, 9s "},
		{"the other is given, and shorter", []*scenario.Scenario{chosen(5 * time.Second), given(3 * time.Second)}, nil, "5s MSER-5, 3s "},
		{"the other is given, and 0", []*scenario.Scenario{given(0), chosen(0)}, nil, "0s , 0s MSER-5"},
		{"longer results", []*scenario.Scenario{chosen(5 * time.Second)}, results, "20s other side"},
		{"shorter results", []*scenario.Scenario{chosen(25 * time.Second)}, results, "25s MSER-5"},
		{"a warm-up that the run is not longer than", []*scenario.Scenario{chosen(5 * time.Second), given(time.Minute)}, nil, "5s MSER-5, 1m0s "},
	} {
		AlignWarmups(c.all, c.results)
		var got []string
		for _, sc := range c.all {
			got = append(got, sc.Spec.Warmup.String()+" "+sc.Spec.Warmup.By)
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
	}
}

// The longest warm-up of the levels with enough requests is chosen: of the pilots' sums, the first level rises for 50
// intervals and the second for 100, and the third has too few requests.
func TestLongestWarmupOfLevelsIsChosen(t *testing.T) {
	rising := func(level string, arrived int64, intervals int) collect.Occupancy {
		o := collect.Occupancy{Level: level, Arrived: arrived}
		for i := range 300 {
			x := 1000.0
			if i/5%2 == 0 {
				x++
			}
			o.Mean = append(o.Mean, x*float64(min(i+1, intervals))/float64(intervals))
		}
		return o
	}
	for _, c := range []struct {
		levels []collect.Occupancy
		want   string
		doubt  string
	}{
		{[]collect.Occupancy{rising("a", 1000, 50), rising("b", 1000, 100), rising("c", 999, 200)}, "20s", ""},
		{[]collect.Occupancy{rising("a", 1000, 50), rising("b", 1000, 200)}, "30s", "of b outside the first half"},
		{[]collect.Occupancy{rising("c", 999, 50)}, "0s", "fewer than 200 requests arrive at each priority level"},
		{nil, "0s", "fewer than 200 requests arrive at each priority level"},
	} {
		sc := &scenario.Scenario{}
		sc.Spec.Duration = quantity.Duration(time.Minute) // intervals of 200 ms
		sc.Spec.Warmup.Auto = true
		chooseWarmup(sc, c.levels)
		w := sc.Spec.Warmup
		if w.String() != c.want || w.By != byMSER5 || !strings.Contains(w.Doubt, c.doubt) || (w.Doubt == "") != (c.doubt == "") {
			t.Errorf("got %+v, want %s, %q", w, c.want, c.doubt)
		}
	}
}

// A given warm-up costs no runs and stays; nothing is chosen in an interrupted run.
func TestWarmupIsChosenOnlyIfAskedFor(t *testing.T) {
	sc, err := LoadOne("elephants-and-mice", loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := sc.Spec.Warmup
	if err := ChooseWarmups(context.Background(), []*scenario.Scenario{sc}, nil); err != nil || sc.Spec.Warmup != want { // without progress, a run would panic
		t.Errorf("%v, %+v, want %+v", err, sc.Spec.Warmup, want)
	}
	sc.Spec.Warmup = scenario.Warmup{Auto: true}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := ChooseWarmups(ctx, []*scenario.Scenario{sc}, noProgress{}); err == nil || sc.Spec.Warmup.By != "" {
		t.Errorf("interrupted: %v, %+v", err, sc.Spec.Warmup)
	}
}
