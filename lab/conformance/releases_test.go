package conformance

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"apfsim/core/rules"
	"apfsim/lab/conformance/generate"
	"apfsim/lab/conformance/ours"
	"apfsim/lab/conformance/releases"
	"apfsim/lab/conformance/trial"
)

var (
	version = flag.String("version", "", "releases to compare with their drivers, separated by commas, or all")
	drivers = flag.String("drivers", "../../bin", "folder to build the drivers in")
)

// batch is how many trials a driver runs in one process.
const batch = 10

// Each release decides generated trials as apfsim does under its rules.
func TestReleases(t *testing.T) {
	if *version == "" {
		t.Skip("needs -version")
	}
	names := strings.Split(*version, ",")
	if *version == "all" {
		names = releases.Versions()
	}
	t.Logf("seed %d", *seed)
	for _, name := range names {
		t.Run(name, func(t *testing.T) { compareRelease(t, name) })
	}
}

func compareRelease(t *testing.T, name string) {
	r := rulesOf(t, name)
	driver := build(t, name)
	if *only != "" {
		tr := read(t, *only)
		for _, d := range checkRelease(t, driver, r, []*trial.Trial{tr}, newTally())[0] {
			t.Errorf("%s: %v", *only, d)
		}
		return
	}
	count := newTally()
	random := rand.New(rand.NewPCG(*seed, 1))
	for count.decisions < *decisions {
		var trials []*trial.Trial
		for len(trials) < batch {
			tr := generate.ForReleases(random.Uint64(), *perTrial)
			if !settle(tr, r) {
				count.clashing++
				continue
			}
			trials = append(trials, tr)
		}
		for i, differences := range checkRelease(t, driver, r, trials, count) {
			if len(differences) == 0 {
				continue
			}
			reportRelease(t, driver, r, trials[i], differences)
			if !*keepGoing {
				t.Log(count)
				return
			}
		}
	}
	t.Log(count)
}

func rulesOf(t *testing.T, name string) *rules.Rules {
	r, err := rules.For(name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func build(t *testing.T, name string) string {
	driver, err := releases.Build("releases", *drivers, name)
	if err != nil {
		t.Fatal(err)
	}
	return driver
}

func drive(t *testing.T, driver string, trials []*trial.Trial) []trial.Result {
	results, err := releases.Drive(driver, trials)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// checkRelease returns the differences in each trial, without those of trials in which the release
// differs from itself.
func checkRelease(t *testing.T, driver string, r *rules.Rules, trials []*trial.Trial, count *tally) [][]trial.Difference {
	all := make([][]trial.Difference, len(trials))
	for i, theirs := range drive(t, driver, trials) {
		tr := trials[i]
		count.add(tr, &theirs)
		all[i] = compareWith(r, tr, &theirs)
		if len(all[i]) > 0 && slices.ContainsFunc(drive(t, driver, slices.Repeat([]*trial.Trial{tr}, 5)),
			func(again trial.Result) bool { return len(trial.Compare(tr, &theirs, &again)) > 0 }) {
			count.hesitant, all[i] = count.hesitant+1, nil
		}
		count.differ(all[i])
	}
	return all
}

// compareWith returns the differences of a release's result from ours under some rules.
func compareWith(r *rules.Rules, tr *trial.Trial, theirs *trial.Result) []trial.Difference {
	mine, _ := ours.RunAs(r, tr)
	// A release that does not name the FlowSchema of exempt requests cannot differ in it.
	named := *theirs
	named.Decisions = slices.Clone(theirs.Decisions)
	for i := range named.Decisions {
		if d := &named.Decisions[i]; d.FlowSchema == "" && d.PriorityLevel != "" {
			d.FlowSchema = mine.Decisions[i].FlowSchema
		}
	}
	return trial.Compare(tr, &mine, &named)
}

// reportRelease shrinks a trial and writes it to a file beside the drivers.
func reportRelease(t *testing.T, driver string, r *rules.Rules, tr *trial.Trial, differences []trial.Difference) {
	t.Errorf("%s: %d differences, the first: %v", tr.Name, len(differences), differences[0])
	small := shrink(tr, func(candidate *trial.Trial) bool {
		return len(checkRelease(t, driver, r, []*trial.Trial{candidate}, newTally())[0]) > 0
	})
	text, err := json.MarshalIndent(small, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(*drivers, r.Version+"-"+small.Name+".json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("shrunk to %d requests, written to %s", len(small.Requests), file)
	for _, d := range checkRelease(t, driver, r, []*trial.Trial{small}, newTally())[0] {
		t.Log(d)
	}
}
