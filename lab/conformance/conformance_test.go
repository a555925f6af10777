// Package conformance compares apfsim with kube-apiserver's own flow control: whole trials,
// which package generate makes and packages ours and upstream run, and the parts one by one.
// What is compared and what is not stands in docs/background/fidelity.md.
package conformance

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"apfsim/core/rules"
	"apfsim/lab/conformance/generate"
	"apfsim/lab/conformance/ours"
	"apfsim/lab/conformance/trial"
	"apfsim/lab/conformance/upstream"
)

var (
	seed      = flag.Uint64("seed", 1, "of the generated trials; 0 draws one")
	decisions = flag.Int("decisions", 60_000, "how many to compare at least")
	perTrial  = flag.Int("requests", 4000, "in a generated trial, about")
	only      = flag.String("trial", "", "a file with the only trial to compare, and to show")
	keepGoing = flag.Bool("keep-going", false, "after a difference")
)

func TestMain(m *testing.M) {
	flag.Parse()
	for *seed == 0 {
		*seed = rand.Uint64()
	}
	os.Exit(m.Run())
}

// Generated trials are decided alike.
func TestTrials(t *testing.T) {
	if *only != "" {
		t.Skip("another trial is asked for")
	}
	t.Logf("seed %d", *seed)
	count := newTally()
	random := rand.New(rand.NewPCG(*seed, 1))
	for count.decisions < *decisions {
		tr := generate.Trial(random.Uint64(), *perTrial)
		if !settle(tr, rules.Default()) {
			count.clashing++
			continue
		}
		differences := check(t, tr, count)
		if len(differences) == 0 {
			continue
		}
		report(t, tr, differences)
		if !*keepGoing {
			break
		}
	}
	t.Log(count)
}

// What once differed is decided alike.
func TestRegressions(t *testing.T) {
	files, err := filepath.Glob("testdata/regressions/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if *only != "" {
		files = []string{*only}
	}
	for _, file := range files {
		tr := read(t, file)
		differences := check(t, tr, newTally())
		for _, d := range differences {
			t.Errorf("%s: %v", file, d)
		}
		if len(differences) > 0 && *only != "" {
			show(t, tr, differences[0])
		}
	}
}

// check runs a trial on both sides and returns in what they differ.
func check(t *testing.T, tr *trial.Trial, count *tally) []trial.Difference {
	mine, _ := ours.Run(tr)
	theirs := upstream.Run(t, tr)
	count.add(tr, &theirs)
	differences := trial.Compare(tr, &mine, &theirs)
	if len(differences) > 0 && slices.ContainsFunc(repeated(func() trial.Result { return upstream.Run(t, tr) }, 10),
		func(again trial.Result) bool { return len(trial.Compare(tr, &theirs, &again)) > 0 }) {
		count.hesitant, differences = count.hesitant+1, nil
	}
	differences = append(differences, replay(t, tr, &mine)...)
	count.differ(differences)
	return differences
}

// replay compares with the same decisions in a simulation of the trace.
func replay(t *testing.T, tr *trial.Trial, mine *trial.Result) []trial.Difference {
	if len(tr.HangUps) > 0 {
		return nil // a trace has none
	}
	simulated, err := ours.Replay(tr)
	if err != nil {
		t.Errorf("%s: %v", tr.Name, err)
		return nil
	}
	var differences []trial.Difference
	for i := range tr.Requests {
		d, s := mine.Decisions[i], simulated.Decisions[i]
		if s.FinalSeats < d.FinalSeats && !s.Rejected {
			s.FinalSeats, s.AdditionalNs = d.FinalSeats, d.AdditionalNs // made narrower at dispatch
		}
		if d != s {
			differences = append(differences, trial.Difference{AtNs: tr.Requests[i].ArrivalNs, Request: i,
				What: fmt.Sprintf("request %d in the simulation", tr.Requests[i].ID),
				Ours: fmt.Sprintf("%+v", s), Theirs: fmt.Sprintf("%+v", d)})
		}
	}
	return differences
}

// settle moves the requests of a trial by nanoseconds until no two events coincide by
// chance: their order at kube-apiserver would be left to the scheduler of the Go runtime.
func settle(tr *trial.Trial, r *rules.Rules) bool {
	for range 50 {
		_, clashes := ours.RunAs(r, tr)
		if len(clashes) == 0 {
			return true
		}
		for _, c := range clashes {
			if c.Request < 0 {
				return false
			}
			record := &tr.Requests[c.Request]
			record.ExecutionNs++
			for i := range tr.HangUps {
				if tr.HangUps[i].ID == record.ID {
					tr.HangUps[i].AfterNs++
				}
			}
			if c.Request+1 == len(tr.Requests) || record.ArrivalNs+1 < tr.Requests[c.Request+1].ArrivalNs {
				record.ArrivalNs++
			}
		}
	}
	return false
}

func read(t *testing.T, file string) *trial.Trial {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tr := &trial.Trial{}
	if err := json.Unmarshal(text, tr); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return tr
}

// report shrinks a trial, shows its first difference, and keeps it as a regression.
func report(t *testing.T, tr *trial.Trial, differences []trial.Difference) {
	t.Errorf("%s: %d differences, the first: %v", tr.Name, len(differences), differences[0])
	small := shrink(tr, func(candidate *trial.Trial) bool { return len(check(t, candidate, newTally())) > 0 })
	text, err := json.MarshalIndent(small, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata/regressions", small.Name+".json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("shrunk to %d requests, kept as %s", len(small.Requests), file)
	if again := check(t, small, newTally()); len(again) > 0 {
		show(t, small, again[0])
	}
}

// show prints both sides' queues just before and after a difference.
func show(t *testing.T, tr *trial.Trial, d trial.Difference) {
	t.Log(d)
	looked := *tr
	looked.SamplesNs = []int64{max(1, d.AtNs-1)}
	if d.AtNs > 1 {
		looked.SamplesNs = append(looked.SamplesNs, d.AtNs+1)
	}
	mine, _ := ours.Run(&looked)
	theirs := upstream.Run(t, &looked)
	for i := range looked.SamplesNs {
		t.Logf("\n%s", trial.SideBySide(&mine.Snapshots[i], &theirs.Snapshots[i]))
	}
}
