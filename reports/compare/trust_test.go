package compare

import (
	"slices"
	"strings"
	"testing"

	"apfsim/reports/collect"
	"apfsim/reports/result"
)

func runsWith(notes ...[]result.Trust) *Replications {
	a := NewReplicator("s", 0, nil)
	for i, trust := range notes {
		s := &result.Summary{Name: "s", Seed: uint64(i + 5), DurationNs: 60e9, WarmupNs: 10e9}
		if trust != nil {
			s.Verdict = &result.Overall{Trust: trust}
		}
		a.Add(&collect.Replication{Summary: s})
	}
	return a.Replications()
}

// A reason counts once for each level. Those of most runs are first, and of as many those that were seen first.
func TestReasonsOfRunsAreCombined(t *testing.T) {
	few := result.Trust{ID: result.FewSamples, Sentence: "few"}
	a, b := result.Trust{ID: result.Load1, Sentence: "a is full", Level: "a"}, result.Trust{ID: result.Load1, Sentence: "b is full", Level: "b"}
	later := result.Trust{ID: result.Load1, Sentence: "b is very full", Level: "b"}
	r := runsWith(nil, []result.Trust{few, a, b}, []result.Trust{later}, nil)
	want := []result.Trust{
		{ID: result.Load1, Sentence: "in 2 of 4 runs, first with seed 6: b is full", Level: "b", Runs: 2},
		{ID: result.FewSamples, Sentence: "in 1 of 4 runs, first with seed 6: few", Runs: 1},
		{ID: result.Load1, Sentence: "in 1 of 4 runs, first with seed 6: a is full", Level: "a", Runs: 1},
	}
	if !slices.Equal(r.Verdict.Trust, want) {
		t.Errorf("got %+v", r.Verdict.Trust)
	}
	if r := runsWith([]result.Trust{a}); !slices.Equal(r.Verdict.Trust, []result.Trust{a}) {
		t.Errorf("of a single run %+v", r.Verdict.Trust)
	}
	if r := runsWith(nil, nil); r.Verdict != nil {
		t.Errorf("without reasons %+v", r.Verdict)
	}
}

// Reasons that say that statistics hold only for the window are one warning of the comparison, few samples are not.
func TestComparisonSaysForWhichWindowItHolds(t *testing.T) {
	full := result.Trust{ID: result.Load1, Sentence: "a is full", Level: "a"}
	short := result.Trust{ID: result.ShortWarmupID, Sentence: "too short"}
	few := result.Trust{ID: result.FewSamples, Sentence: "few"}
	base, head := runsWith(nil, []result.Trust{full, few}), runsWith([]result.Trust{short}, []result.Trust{full})
	c := Compare("b", base, "h", head)
	want := "not in steady state (base: overload of a in 1 of 2 runs; head: short warm-up in 1 of 2 runs, overload of a in 1 of 2 runs): " +
		"the changes hold for the window from 10 s to 60 s, and may be others in longer runs"
	if !slices.Contains(c.Warnings, want) {
		t.Errorf("got %q, want %s", c.Warnings, want)
	}
	if c.Verdict.Base != base.Verdict || c.Verdict.Head != head.Verdict {
		t.Errorf("the verdict is %+v", c.Verdict)
	}
	head.DurationNs = 70e9
	if c := Compare("b", base, "h", head); !strings.HasSuffix(c.Warnings[1], "from 10 s to 60 s of the base and the window from 10 s to 70 s of the head, and may be others in longer runs") {
		t.Errorf("of different windows: %q", c.Warnings)
	}
	for _, quiet := range []*Replications{runsWith(nil, nil), runsWith([]result.Trust{few}, nil)} {
		if c := Compare("b", quiet, "h", quiet); len(c.Warnings) > 0 {
			t.Errorf("got %q, want no warning", c.Warnings)
		}
	}
}
