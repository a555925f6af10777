package main

import (
	"bytes"
	"flag"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

var long = flag.Bool("long", false, "repeat the measurement more often")

// At least 93 of a hundred intervals contain the truth. Of so few repetitions, all but one in a thousand rows have that share
// within 3.3 standard errors. The program measures more of them, and more loads and windows; the runs here have fixed seeds.
func TestIntervalsContainTheTruth(t *testing.T) {
	p := plan{repetitions: 25, loads: []float64{0.8}, windows: []time.Duration{10 * time.Second}, sizes: []int{5, 10}, precisions: []float64{0.3}}
	if *long {
		p.repetitions = 60
	}
	if testing.Short() {
		p.repetitions = 10
	}
	rows, err := p.measure(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	always := 0
	for i := range rows {
		r := &rows[i]
		n, within, _ := r.shown()
		if n == 0 {
			continue
		}
		least := 0.93 - 3.3*math.Sqrt(0.93*0.07/float64(n))
		if share := float64(within) / float64(n); share < least {
			t.Errorf("%s, %s, %s: %d of %d intervals contain the truth", r.kind, r.statistic, r.size, within, n)
		}
		if n >= len(r.found)*9/10 {
			always++
		}
		if r.kind == ofNoChange && float64(r.changed) > 0.05*float64(len(r.found))+3.3*math.Sqrt(0.05*0.95*float64(len(r.found))) {
			t.Errorf("%s, %s: %d of %d comparisons find a change where there is none", r.statistic, r.size, r.changed, len(r.found))
		}
	}
	// All kinds, of means, medians, p90, p99, rates, utilisation and Jain's index.
	if want := 4*2*9 + 2; always < want {
		t.Errorf("%d rows have intervals, want %d", always, want)
	}
}

// The head executes in nine tenths of the time, which comparisons find.
func TestTruthIsThatOfAllRuns(t *testing.T) {
	p := plan{repetitions: 6, loads: []float64{0.5}, windows: []time.Duration{time.Second}, sizes: []int{5}}
	rows, err := p.measure(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		r := &rows[i]
		if r.statistic != "utilisation{priorityLevel:sole}.mean" {
			continue
		}
		// The load is 0.5, and 0.45 with the head.
		want := map[string]float64{ofRuns: 0.5, ofPaired: -0.05, ofUnpaired: -0.05, ofNoChange: 0}[r.kind]
		if math.Abs(r.truth-want) > 0.02 || len(r.found) < 5 {
			t.Errorf("%s: the truth is %v, want %v; %d repetitions", r.kind, r.truth, want, len(r.found))
		}
		if r.kind == ofPaired && r.changed < 5 {
			t.Errorf("%d of 6 comparisons find the change", r.changed)
		}
	}
}

func TestTableOfCoverage(t *testing.T) {
	var out, errs bytes.Buffer
	if status := run(&out, &errs, []string{"-repetitions", "2", "-loads", "0.5", "-windows", "1s", "-runs", "3", "-precisions", ""}); status != 0 {
		t.Fatal(status, errs.String())
	}
	for _, want := range []string{"| Kind", "| 3 runs", "| runs ", "| `wait{workload:w}.p(90)` ", "| paired comparison ", "changed "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	for _, args := range [][]string{{"-loads", "high"}, {"-windows", "10"}, {"-x"}} {
		if status := run(io.Discard, io.Discard, args); status != 2 {
			t.Errorf("%v: status %d, want 2", args, status)
		}
	}
}
