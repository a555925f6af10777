package conformance

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"apfsim/core/rules"
	"apfsim/lab/conformance/generate"
	"apfsim/lab/conformance/ours"
	"apfsim/lab/conformance/releases"
	"apfsim/lab/conformance/trial"
)

var rewrite = flag.String("rewrite", "", "releases whose golden results to write by their drivers, separated by commas, or all; trials draws new trials")

// The golden data are a few hundred decisions of each release: the same trials for all of them in
// one file, and the results of each release in a file of its own.
const golden = "testdata/releases"

func goldenTrials(t *testing.T) (trials []*trial.Trial) {
	readGolden(t, "trials", &trials)
	return trials
}

func goldenResults(t *testing.T, name string) (results []trial.Result) {
	readGolden(t, name, &results)
	return results
}

func goldenFile(name string) string { return filepath.Join(golden, name+".json.gz") }

func readGolden(t *testing.T, name string, into any) {
	f, err := os.Open(goldenFile(name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err == nil {
		err = json.NewDecoder(unzipped).Decode(into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func writeGolden(t *testing.T, name string, value any) {
	f, err := os.Create(goldenFile(name))
	if err != nil {
		t.Fatal(err)
	}
	zipped, _ := gzip.NewWriterLevel(f, gzip.BestCompression)
	err = json.NewEncoder(zipped).Encode(value)
	for _, close := range []func() error{zipped.Close, f.Close} {
		if e := close(); err == nil {
			err = e
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Every release decided the golden trials as apfsim does under its rules.
func TestGolden(t *testing.T) {
	for _, name := range releases.Versions() {
		count, r := newTally(), rulesOf(t, name)
		trials, results := goldenTrials(t), goldenResults(t, name)
		for i, tr := range trials {
			differences := compareWith(r, tr, &results[i])
			count.add(tr, &results[i])
			count.differ(differences)
			if len(differences) > 0 {
				t.Errorf("%s: %s: %d differences, the first: %v", name, tr.Name, len(differences), differences[0])
			}
		}
		t.Logf("%s: %d decisions, %d different", name, count.decisions, count.different)
	}
}

// mutant is the rules of a release with one switch of the release before or after it.
type mutant struct {
	name    string // of the switch and the two releases; alike for both directions
	release string
	rules   *rules.Rules
}

// withoutEffect is a switch that decides nothing in the releases before and after it changed. There
// every request takes one seat, so that requests wait only while all seats are in use, and the
// progress of R is limited by the seats either way. core/queueset/testdata/waiting_progress.txt has the
// only case, a level that begins to queue while it is busy; the trials have no such change.
const withoutEffect = "WaitingProgress"

// mutants are those of all switches in which two releases that follow each other differ. A switch
// can be without effect in one of the two releases: how many seats a list takes at most means nothing
// where every list takes one. So there are two mutants for each, and one of them must be caught.
func mutants(t *testing.T, names []string) (all []mutant) {
	for i := range len(names) - 1 {
		a, b := rulesOf(t, names[i]), rulesOf(t, names[i+1])
		x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
		for _, f := range reflect.VisibleFields(x.Type()) {
			before, after := x.FieldByIndex(f.Index), y.FieldByIndex(f.Index)
			// The trials bring their own objects, and have only flow control. The fields of an embedded struct
			// are visited one by one.
			if slices.Contains([]string{"Version", "Objects", "Server", "Storage", "Node", withoutEffect}, f.Name) || f.Anonymous || before.Interface() == after.Interface() {
				continue
			}
			name := fmt.Sprintf("%s of %s and %s", f.Name, names[i], names[i+1])
			older, newer := *a, *b
			reflect.ValueOf(&older).Elem().FieldByIndex(f.Index).Set(after)
			reflect.ValueOf(&newer).Elem().FieldByIndex(f.Index).Set(before)
			all = append(all, mutant{name, names[i], &older}, mutant{name, names[i+1], &newer})
		}
	}
	return all
}

// The golden data tell the releases apart: where one switch is that of the release before or after,
// there are differences.
func TestGoldenCatchesMutations(t *testing.T) {
	caught := map[string]bool{}
	trials := goldenTrials(t)
	for _, m := range mutants(t, releases.Versions()) {
		results := goldenResults(t, m.release)
		for i := 0; i < len(trials) && !caught[m.name]; i++ {
			caught[m.name] = len(compareWith(m.rules, trials[i], &results[i])) > 0
		}
	}
	for name, is := range caught {
		if !is {
			t.Errorf("the golden data do not show the change of %s", name)
		}
	}
}

// With -rewrite, the golden data are written anew. The drivers decide; apfsim only chooses the trials.
func TestRewriteGolden(t *testing.T) {
	if *rewrite == "" {
		t.Skip("needs -rewrite")
	}
	if *rewrite == "trials" {
		writeGolden(t, "trials", drawGolden(t))
		return
	}
	names := strings.Split(*rewrite, ",")
	if *rewrite == "all" {
		names = releases.Versions()
	}
	for _, name := range names {
		writeGolden(t, name, drive(t, build(t, name), goldenTrials(t)))
	}
}

// triesLimit is how many trials are drawn at most.
const triesLimit = 2000

// drawGolden draws trials until every mutant is caught, and keeps those that catch another one.
func drawGolden(t *testing.T) (kept []*trial.Trial) {
	names := releases.Versions()
	all := mutants(t, names)
	caught := map[string]bool{}
	random := rand.New(rand.NewPCG(*seed, 1))
	for tries := 0; slices.ContainsFunc(all, func(m mutant) bool { return !caught[m.name] }); tries++ {
		if tries == triesLimit {
			break
		}
		tr := generate.ForReleases(random.Uint64(), 60)
		if slices.ContainsFunc(names, func(name string) bool { return !settle(tr, rulesOf(t, name)) }) ||
			slices.ContainsFunc(names, func(name string) bool { _, clashes := ours.RunAs(rulesOf(t, name), tr); return len(clashes) > 0 }) {
			continue
		}
		results := map[string]trial.Result{}
		for _, name := range names {
			results[name], _ = ours.RunAs(rulesOf(t, name), tr)
		}
		catches := 0
		for _, m := range all {
			if theirs := results[m.release]; !caught[m.name] && len(compareWith(m.rules, tr, &theirs)) > 0 {
				caught[m.name] = true
				catches++
			}
		}
		if catches > 0 {
			t.Logf("%s catches %d", tr.Name, catches)
			kept = append(kept, tr)
		}
	}
	for _, m := range all {
		if !caught[m.name] {
			t.Logf("not caught: %s", m.name)
		}
	}
	return kept
}
