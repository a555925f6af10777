package evidence

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"apfsim/experiment/incident"
	"apfsim/experiment/output"
	"apfsim/reports/collect"
	"apfsim/reports/judge"
	"apfsim/reports/record"
	"apfsim/reports/result"
	"apfsim/scenarios"
	"apfsim/sim"
	"apfsim/sim/scenario/loader"
)

// dumpTime is a time in a scenario of the library at which many requests wait, and whom a dump then shows: the flow that stands out, or
// the namespace. "" is nobody: the dump cannot tell the mechanism.
type dumpTime struct {
	scenario string
	second   int64
	who      string
	cheap    bool
}

var dumpTimes = []dumpTime{
	{"kubelet-list-loop", 7, "node-13", true},
	{"controller-write-loop", 7, "controller", true},
	{"lent-seats", 24, "", true},
	{"idle-capacity-penalty", 40, "", true},
	{"zero-shares", 20, "", true},
	{"wide-lists-at-catch-all", 20, "", true},
	{"elephants-and-mice", 30, "tenant-", false},
	{"noisy-namespace", 57, "noisy", true},
	{"wide-lists", 95, "", true},
	{"borrowing-stops", 127, "", false},
	{"congestion-collapse", 73, "", false},
	{"collapse-with-priorities", 105, "", false},
	{"list-storm", 22, "operators", true},
	{"policy-engine-behind-operators", 7, "", true},
	{"autoscaler-lease-behind-lists", 26, "", true},
	{"anonymous-health-checks", 28, "", true},
	{"isolate-list-events", 28, "", true},
}

// What a dump says of a level is true of the run: the level was harmed, and one of the mechanisms that the dump allows for is among those
// that the verdict with all requests names, by the same clients; or none is named.
func TestDumpsOfTheLibrary(t *testing.T) {
	for _, c := range dumpTimes {
		if !c.cheap && !*long {
			continue
		}
		t.Run(c.scenario, func(t *testing.T) {
			files, truth := c.run(t)
			d, err := Diagnose(context.Background(), files)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(d.Verdict.Sentence, worstLevel(truth)) {
				t.Errorf("%s; of %s most were not served or waited", d.Verdict.Sentence, worstLevel(truth))
			}
			for i := range d.Verdict.Causes {
				if cause := &d.Verdict.Causes[i]; !holds(truth, cause) {
					t.Errorf("%s of %s: %s\nthe run has %+v", cause.Kind, cause.Level, cause.Sentence, truth.Verdict.Causes)
				}
			}
			named := slices.ContainsFunc(d.Verdict.Causes, func(cause result.Cause) bool { return strings.Contains(cause.Sentence, c.who) })
			if told := len(d.Verdict.Causes) > 0; told != (c.who != "") || told && !named {
				t.Errorf("causes %+v; want %q", d.Verdict.Causes, c.who)
			}
			if len(d.Verdict.Causes) == 0 && slices.ContainsFunc(d.Remedies, func(r incident.Remedy) bool { return r.ID != result.NoChange }) {
				t.Errorf("remedies without a cause: %+v", d.Remedies)
			}
		})
	}
}

// run runs a scenario, and returns the dumps of the first server, and what is true.
func (c dumpTime) run(t *testing.T) ([]File, *result.Summary) {
	t.Helper()
	all, mistakes := loader.Load(scenarios.Files, c.scenario+".yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	sc := all[0]
	atNs := c.second * 1e9
	run := sim.New(sc)
	truth := collect.Measure(run, result.Interval(int64(sc.Spec.Duration)))
	dumps, err := record.NewDumps(sc, run.Servers(), output.Epoch, []int64{atNs})
	if err != nil {
		t.Fatal(err)
	}
	run.Observe(dumps.Observer())
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	r := truth.Result()
	judge.Verdict(r)
	var files []File
	list := dumps.Files()
	for i := range list.Files[:3] {
		f := &list.Files[i]
		files = append(files, File{Name: f.Name, Kind: Recognize(f.Data), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(f.Data)), nil }})
	}
	return files, r.Summary
}

// worstLevel is the level of which most requests were not served or, without any, waited.
func worstLevel(s *result.Summary) string {
	worst := &s.PriorityLevels[0]
	for i := range s.PriorityLevels {
		if l := &s.PriorityLevels[i]; l.Rejected > worst.Rejected || l.Rejected == worst.Rejected && judge.Waited(&l.Group) && (!judge.Waited(&worst.Group) || l.Wait.P99Ns > worst.Wait.P99Ns) {
			worst = l
		}
	}
	return worst.Name
}

// holds reports whether a cause is among those of a run, with the workloads of the flows that it names.
func holds(s *result.Summary, c *result.Cause) bool {
	return slices.ContainsFunc(s.Verdict.Causes, func(truth result.Cause) bool {
		if truth.Kind != c.Kind && !slices.Contains(c.Or, truth.Kind) || truth.Level != c.Level {
			return false
		}
		return !slices.ContainsFunc(c.Flows, func(f result.CauseFlow) bool {
			return !slices.ContainsFunc(s.Flows, func(flow result.Flow) bool {
				return flow.Name == f.Flow && flow.PriorityLevel == c.Level && slices.Contains(truth.Workloads, flow.Workload)
			})
		})
	})
}
