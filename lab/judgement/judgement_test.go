// Package judgement compares what the program says with systems of which it is known before they are run what is harm, who is a
// victim and why.
package judgement

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"apfsim/experiment"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

var (
	seeds = flag.Int("seeds", 0, "with how many seeds to run each case; 0 for some cases with 2 seeds")
	only  = flag.String("case", "", "the part of their names by which cases are chosen")
)

// enough is the share of the judgements of a class that must be right.
const enough = 0.98

// A judgement can be wrong in these respects.
const (
	byStatus   = "status"
	byCause    = "first cause"
	byVictims  = "victims"
	byLimited  = "limited"
	byAdvice   = "advice"
	byUnstable = "unstable"
)

var respects = []string{byStatus, byCause, byVictims, byLimited, byAdvice, byUnstable}

// drawnOfClass is how many cases of each class are drawn.
const drawnOfClass = 12

// classes are those of scenario.Truth.
var classes = []string{"healthy", "overloaded", "clients", "borderline", "other"}

// cases returns the scenarios of the files, and those that are drawn.
func cases(t *testing.T) (all []*scenario.Scenario) {
	t.Helper()
	for _, class := range classes {
		scs, wrong := loader.Load(nil, filepath.Join("testdata", class+".yaml"), loader.Options{})
		if err := wrong.Err(); err != nil {
			t.Fatal(err)
		}
		for i := range drawnOfClass {
			scs = append(scs, drawSystem(t, class, i))
		}
		for _, sc := range scs {
			if truth := sc.Metadata.Truth; truth == nil || truth.Class != class {
				t.Fatalf("%s: %s is not of class %s", sc.File, sc.Metadata.Name, class)
			}
			all = append(all, sc)
		}
	}
	return all
}

// mistake is one respect in which a judgement is wrong.
type mistake struct{ respect, got, want string }

// flowControl are the changes of flow-control objects and of what they limit.
var flowControl = []result.RemedyID{result.MergeFlows, result.Move, result.OwnLevel, result.MoreQueueLength, result.MoreQueues, result.ChangeHandSize,
	result.MoreShares, result.Transfer, result.LendLess, result.BorrowMore, result.ListLevel, result.RaiseInFlightLimit}

// compare returns in which respects a verdict is wrong. Only the status is compared if it is wrong, because the rest follows it.
// Named says which workload of the truth a row is of.
func compare(truth *scenario.Truth, v *result.Overall, named func(*result.Harmed) string) (wrong []mistake) {
	add := func(respect, got string, want []string) {
		wrong = append(wrong, mistake{respect, got, strings.Join(want, ", ")})
	}
	lesser := result.Status(truth.Status[0]).Worse(v.Status) && (v.Decided == nil || !v.Decided.Near)
	if !slices.Contains(truth.Status, string(v.Status)) || truth.Class == "borderline" && lesser {
		add(byStatus, string(v.Status)+" ("+v.Sentence+")", truth.Status)
		return wrong
	}
	if truth.FirstCauses != nil && v.Status != result.OK {
		first := "none"
		if len(v.Causes) > 0 {
			first = string(v.Causes[0].Kind)
		}
		if !slices.Contains(truth.FirstCauses, first) && !(first == "none" && len(truth.FirstCauses) == 0) {
			add(byCause, first, truth.FirstCauses)
		}
	}
	if v.Status != result.OK {
		for _, list := range []struct {
			respect string
			role    result.Role
			want    []string
		}{{byVictims, result.Victim, truth.Victims}, {byLimited, result.WasLimited, truth.Limited}} {
			if list.want == nil {
				continue
			}
			missing, seen := slices.Clone(list.want), false
			var got []string
			for i := range v.Harmed {
				h := &v.Harmed[i]
				if h.Role != list.role {
					continue
				}
				name := named(h)
				if !slices.Contains(got, name) {
					got = append(got, name)
				}
				missing = slices.DeleteFunc(missing, func(n string) bool { return n == name })
				seen = seen || !slices.Contains(list.want, name) && !hardlyWaited(h)
			}
			if seen || len(missing) > 0 {
				add(list.respect, strings.Join(got, ", "), list.want)
			}
		}
	}
	return append(wrong, wrongAdvice(truth, v)...)
}

// wrongAdvice returns the first change that is suggested and must not be.
func wrongAdvice(truth *scenario.Truth, v *result.Overall) []mistake {
	for i := range v.Try {
		id := v.Try[i].Remedy
		if slices.Contains(truth.MustNotAdvise, string(id)) || slices.Contains(truth.MustNotAdvise, "flow-control") && slices.Contains(flowControl, id) {
			return []mistake{{byAdvice, string(id), ""}}
		}
	}
	return nil
}

// hardlyWaited says whether all requests of a row were served, and waited, but for less than is worth a warning.
func hardlyWaited(h *result.Harmed) bool {
	const worthAWarningNs = 100_000_000
	return h.NotServed.Total() == 0 && h.WaitP99Ns != nil && *h.WaitP99Ns > 0 && *h.WaitP99Ns < worthAWarningNs
}

// unstable returns the runs of a case that have another status than most, and neither are the lesser one nor say that they are
// near the limit of the worse. One of ten may.
func unstable(verdicts []*result.Overall) (runs []int) {
	count := map[result.Status]int{}
	for _, v := range verdicts {
		count[v.Status]++
	}
	most := verdicts[0].Status
	for _, v := range verdicts { // in the order of the runs
		if count[v.Status] > count[most] {
			most = v.Status
		}
	}
	if 10*count[most] >= 9*len(verdicts) {
		return nil
	}
	worst := most
	for _, v := range verdicts {
		if v.Status.Worse(worst) {
			worst = v.Status
		}
	}
	for i, v := range verdicts {
		if worst.Worse(v.Status) && (v.Decided == nil || !v.Decided.Near) {
			runs = append(runs, i)
		}
	}
	return runs
}

// tally counts the judgements of a class.
type tally struct {
	cases, judged, right int
	wrong                map[string]int // by respect
}

// report collects how the cases were judged.
type report struct {
	classes map[string]*tally
	lines   []string // of the cases that were judged wrongly
}

func newReport() *report {
	r := &report{classes: map[string]*tally{}}
	for _, class := range classes {
		r.classes[class] = &tally{wrong: map[string]int{}}
	}
	return r
}

// add adds the judgements of a case, each with its mistakes.
func (r *report) add(class, name string, judged [][]mistake) {
	c := r.classes[class]
	c.cases++
	type kind struct{ respect, got, want string }
	count := map[kind]int{}
	var kinds []kind
	for _, wrong := range judged {
		c.judged++
		if len(wrong) == 0 {
			c.right++
		}
		for _, m := range wrong {
			c.wrong[m.respect]++
			if k := kind(m); count[k] == 0 && len(kinds) < 4 {
				kinds = append(kinds, k)
			}
			count[kind(m)]++
		}
	}
	for _, k := range kinds {
		r.lines = append(r.lines, fmt.Sprintf("%s/%s: %s in %d of %d: %s; want %s", class, name, k.respect, count[k], len(judged), k.got, k.want))
	}
}

// check prints the table, and fails if too few judgements of a class are right.
func (r *report) check(t *testing.T) {
	t.Helper()
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "class\tcases\tjudged\tright\t%s\t\n", strings.Join(respects, "\t"))
	for _, class := range classes {
		c := r.classes[class]
		if c.judged == 0 {
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d (%.1f %%)\t", class, c.cases, c.judged, c.right, 100*float64(c.right)/float64(c.judged))
		for _, respect := range respects {
			fmt.Fprintf(w, "%d\t", c.wrong[respect])
		}
		fmt.Fprintln(w)
		if float64(c.right) < enough*float64(c.judged) {
			t.Errorf("%s: %d of %d judgements are right; want %.0f %%", class, c.right, c.judged, 100*enough)
		}
	}
	w.Flush()
	t.Logf("\n%s%s", b.String(), strings.Join(r.lines, "\n"))
}

// chosen returns which cases are run, and with how many seeds: all that the flags want, or some of each class.
func chosen(t *testing.T) (some []*scenario.Scenario, n int) {
	all := cases(t)
	if *only != "" {
		all = slices.DeleteFunc(all, func(sc *scenario.Scenario) bool { return !strings.Contains(sc.Metadata.Name, *only) })
	}
	if *seeds > 0 {
		return all, *seeds
	}
	of := map[string]int{}
	for _, sc := range all {
		if class := sc.Metadata.Truth.Class; of[class] < 3 {
			of[class]++
			some = append(some, sc)
		}
	}
	return some, 2
}

// The verdict on each case says what is true of it, with each seed.
func TestJudgement(t *testing.T) {
	all, n := chosen(t)
	runs := experiment.BeginTrials(context.Background(), experiment.Plan{N: len(all) * n, Run: func(i int) *scenario.Scenario {
		own := *all[i/n]
		own.Spec.Seed = uint64(1 + i%n)
		return &own
	}})
	defer runs.Stop()
	r := newReport()
	for _, sc := range all {
		judged := make([][]mistake, n)
		verdicts := make([]*result.Overall, n)
		for i := range n {
			run, err := runs.Next()
			if err != nil {
				t.Fatal(err)
			}
			verdicts[i] = run.Summary.Verdict
			judged[i] = compare(sc.Metadata.Truth, verdicts[i], func(h *result.Harmed) string { return h.Workload })
		}
		for _, i := range unstable(verdicts) {
			judged[i] = append(judged[i], mistake{byUnstable, string(verdicts[i].Status), "the status of nine of ten runs, or that it is near a limit"})
		}
		r.add(sc.Metadata.Truth.Class, sc.Metadata.Name, judged)
	}
	r.check(t)
}
