package reports_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/judge"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/metric"
	"apfsim/sim/scenario/loader"
)

// runsWith returns runs of which statistics have values: the share of the requests of workloads that were not served.
func runsWith(notServed map[string][]float64) *compare.Replications {
	r := &compare.Replications{SchemaVersion: result.SchemaVersion, Name: "x", DurationNs: 10e9}
	for _, workload := range []string{"elephants", "mice"} {
		values := notServed[workload]
		if values == nil {
			continue
		}
		for len(r.Seeds) < len(values) {
			r.Seeds = append(r.Seeds, uint64(1+len(r.Seeds)))
		}
		r.Statistics = append(r.Statistics, compare.EstimateOfRuns(metric.MustParseName("arrived{workload:"+workload+"}.count"), make([]float64, len(values))),
			compare.EstimateOfRuns(metric.MustParseName("notServed{workload:"+workload+"}.rate"), values))
	}
	return r
}

// The headline of a comparison says for whom the head is better and for whom worse.
func TestComparisonsSayForWhom(t *testing.T) {
	low, high := []float64{0.1, 0.11, 0.12, 0.11, 0.1}, []float64{0.5, 0.52, 0.51, 0.53, 0.5}
	for _, c := range []struct {
		name             string
		base, head       map[string][]float64
		status, sentence string
	}{
		{"worse", map[string][]float64{"mice": low}, map[string][]float64{"mice": high}, "WORSE", "For mice (not served 10.8 % → 51.2 %)."},
		{"better", map[string][]float64{"mice": high}, map[string][]float64{"mice": low}, "BETTER", "For mice (not served 51.2 % → 10.8 %)."},
		{"one pays for the other", map[string][]float64{"elephants": low, "mice": high}, map[string][]float64{"elephants": high, "mice": low}, "MIXED",
			"Worse for elephants (not served 10.8 % → 51.2 %); better for mice (not served 51.2 % → 10.8 %)."},
		{"the same", map[string][]float64{"mice": low}, map[string][]float64{"mice": low}, "NO CHANGE",
			"No workload has significantly more or fewer requests that were not served, or longer or shorter waits."},
		{"one run", map[string][]float64{"mice": {0.1}}, map[string][]float64{"mice": {0.5}}, "UNKNOWN",
			"Too few runs or samples tell whether these differences are by chance: mice (not served 10 % → 50 %)."},
	} {
		got := report.ComparisonDocument(compare.Compare("b", runsWith(c.base), "h", runsWith(c.head)), false).Answer
		if got == nil || got.Status != c.status || got.Sentence != c.sentence {
			t.Errorf("%s: %+v, want %s %s", c.name, got, c.status, c.sentence)
		}
	}
}

const oneUser = `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: one-user}
spec:
  duration: 10s
  config:
    base: Suggested
    objects: [%s]
  workload:
  - name: w
    as: {user: u, groups: ["system:authenticated"]}
    request: {verb: get, resource: pods, namespace: a, name: x}
    execution: {exponential: {mean: 5ms}}
    arrivals: {poisson: {rate: 50/s}}
`

const ownSchema = `{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema, metadata: {name: own}, spec: {
      priorityLevelConfiguration: {name: workload-high}, matchingPrecedence: 300, distinguisherMethod: {type: ByUser},
      rules: [{subjects: [{kind: User, user: {name: u}}], resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]}]}}`

// A FlowSchema that has fewer requests because they match another one is said to have moved them. One whose client sends less
// is not.
func TestMovedRequestsAreToldAsMoved(t *testing.T) {
	runs := func(objects, rate string) *compare.Replications {
		text := strings.Replace(fmt.Sprintf(oneUser, objects), "rate: 50/s", "rate: "+rate, 1)
		all, mistakes := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", loader.Options{})
		if err := mistakes.Err(); err != nil {
			t.Fatal(err)
		}
		several := compare.NewReplicator("one-user", 0, nil)
		for seed := range uint64(3) {
			sc := *all[0]
			sc.Spec.Seed = seed
			run := sim.New(&sc)
			m := collect.Measure(run, result.Interval(int64(sc.Spec.Duration)))
			if err := run.Execute(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			r := m.Result()
			judge.Verdict(r)
			several.Add(collect.NewReplication(r))
		}
		return several.Replications()
	}
	notes := func(base, head *compare.Replications) string {
		var all []string
		for _, s := range report.ComparisonDocument(compare.Compare("b", base, "h", head), false).Sections {
			for _, p := range s.Parts {
				all = append(all, p.Note)
			}
		}
		return strings.Join(all, "\n")
	}
	before := runs("", "50/s")
	if got := notes(before, runs(ownSchema, "50/s")); !strings.Contains(got, "FlowSchema global-default had 0 requests per second instead of ") ||
		!strings.Contains(got, ": they moved to own, and its rejections with them.") {
		t.Errorf("moved requests: %q", got)
	}
	if got := notes(before, runs("", "5/s")); strings.Contains(got, "moved") {
		t.Errorf("fewer requests: %q", got)
	}
}

// Who filled the seats of a level stands in rows of at most six: workloads if there are several, else flows.
func TestWhoFilledTheSeats(t *testing.T) {
	s := &result.Summary{DurationNs: 10e9, Verdict: result.NewOverall()}
	s.Verdict.Harmed = []result.Harmed{{Level: "low"}}
	mean := 0.5
	level := result.Level{Utilisation: &result.Utilisation{Mean: &mean}}
	level.Name, level.Arrived = "low", 1
	s.PriorityLevels = []result.Level{level}
	flow := func(name, workload string, used, share float64) {
		f := result.Flow{PriorityLevel: "low", Workload: workload, ServiceSeatSeconds: used, DemandSeatSeconds: 2 * used, FairShareSeatSeconds: share}
		f.Name = name
		s.Flows = append(s.Flows, f)
	}
	rows := func() (texts []string) {
		s.NameFlows()
		for _, part := range report.RunDocument(&result.Result{Summary: s}).Sections[0].Parts {
			if part.Table == nil || part.Table.Name != "filled" {
				continue
			}
			for _, row := range part.Table.Rows {
				texts = append(texts, fmt.Sprint(row[0].Text, " ", row[1].Text, " ", row[2].Text, " ", row[3].Text))
			}
		}
		return texts
	}
	s.Verdict.Status = result.Harm
	for i := range 8 {
		flow(fmt.Sprintf("s/f-%d", i), "w", float64(8-i), 4)
	}
	if got, want := strings.Join(rows(), "; "), "f-0 1 22.2 % 400 %; f-1 1 19.4 % 350 %; f-2 1 16.7 % 300 %; f-3 1 13.9 % 250 %; f-4 1 11.1 % 200 %; others 3 16.7 % 100 %"; got != want {
		t.Errorf("flows of one workload: %s, want %s", got, want)
	}
	flow("s/g", "v", 36, 36)
	if got, want := strings.Join(rows(), "; "), "w 8 50 % 225 %; v 1 50 % 200 %"; got != want {
		t.Errorf("two workloads: %s, want %s", got, want)
	}
}
