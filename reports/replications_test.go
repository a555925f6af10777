package reports_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

// replicated simulates a scenario under so many seeds from a given one on.
func replicated(t testing.TB, sc *scenario.Scenario, seed uint64, n int) *compare.Replications {
	t.Helper()
	all := compare.NewReplicator(sc.Metadata.Name, 0, nil)
	for i := range n {
		own := *sc
		own.Spec.Seed = seed + uint64(i)
		run := sim.New(&own)
		interval := result.Interval(int64(own.Spec.Duration))
		collector := collect.New(&own, run.Server, interval)
		run.Observe(collector.Observer())
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		all.Add(collect.NewReplication(collector.Result()))
	}
	return all.Replications()
}

func load(t testing.TB, text string, set ...string) *scenario.Scenario {
	t.Helper()
	scenarios, mistakes := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", loader.Options{Set: assign.New("--set", set)})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	return scenarios[0]
}

func estimateOf(t testing.TB, r *compare.Replications, name string) *compare.Estimate {
	t.Helper()
	for i := range r.Statistics {
		if r.Statistics[i].Name == name {
			return &r.Statistics[i]
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

// arrivals is a run with so many requests of each workload, and nothing else.
func arrivals(seed uint64, counts map[string]int64) *collect.Replication {
	s := &result.Summary{Seed: seed, DurationNs: 10e9}
	for _, name := range []string{"a", "b", "c"} {
		if n, ok := counts[name]; ok {
			s.Workloads = append(s.Workloads, result.Group{Name: name, Counts: metric.Counts{Arrived: n}})
		}
	}
	return &collect.Replication{Summary: s}
}

// Of 1, 2, 3, 4, 5 the mean is 3 and the standard deviation √2.5; Student's t for 4 degrees of
// freedom is 2.7764 (Law and Kelton, table T.1), which makes 1.9632 to both sides, 0.6544 of the mean. The interval is
// from 3/e^0.6544 to 3·e^(1.3·0.6544).
func TestIntervalOfKnownNumbers(t *testing.T) {
	all := compare.NewReplicator("x", 0, nil)
	for i := range uint64(5) {
		all.Add(arrivals(i, map[string]int64{"a": 5 - int64(i), "b": 7}))
	}
	r := all.Replications()
	e := estimateOf(t, r, "arrived{workload:a}.count")
	if e.N != 5 || e.Mean != 3 || math.Abs(*e.StdDev-math.Sqrt(2.5)) > 1e-12 || math.Abs(*e.Low-1.5593) > 1e-3 || math.Abs(*e.High-7.024) > 1e-2 || !slices.Equal(e.Values, compare.RunValues{5, 4, 3, 2, 1}) {
		t.Errorf("%+v: half %v", e, e.Half())
	}
	thrice := compare.NewReplicator("x", 0, nil)
	for i := range uint64(3) { // the sum of three tenths is not quite 0.3
		thrice.Add(arrivals(i, map[string]int64{"a": 1}))
	}
	if e := estimateOf(t, thrice.Replications(), "arrived{workload:a}.perSecond"); e.Mean != 0.1 || *e.StdDev != 0 {
		t.Errorf("always a tenth: %+v", e)
	}
	if e := estimateOf(t, r, "arrived{workload:b}.perSecond"); e.Mean != 0.7 || *e.StdDev != 0 || *e.Low != 0.7 || *e.High != 0.7 {
		t.Errorf("always the same: %+v", e)
	}
}

// The last digits of sums in another order are no spread.
func TestRoundingIsNoSpread(t *testing.T) {
	all := compare.NewReplicator("x", 0, nil)
	for i, sum := range []float64{18.4e3, math.Nextafter(18.4e3, 1e9), math.Nextafter(18.4e3, 0)} {
		all.Add(&collect.Replication{Summary: &result.Summary{Seed: uint64(i), DurationNs: 1e9,
			Flows: []result.Flow{{Group: result.Group{Name: "s/f"}, PriorityLevel: "l", FlowSchema: "s", ServiceSeatSeconds: sum}}}})
	}
	if e := estimateOf(t, all.Replications(), "service{flow:s/f}.seatSeconds"); e.Mean != 18.4e3 || *e.StdDev != 0 || e.Half() != 0 || e.N != 3 {
		t.Errorf("%+v", e)
	}
}

// What some runs lack is missing among the values, and every statistic has its place.
func TestStatisticsThatSomeRunsLack(t *testing.T) {
	all := compare.NewReplicator("x", 0, nil)
	all.Add(arrivals(1, map[string]int64{"b": 1}))
	all.Add(arrivals(2, map[string]int64{"a": 2, "b": 2, "c": 2}))
	all.Add(arrivals(3, map[string]int64{"c": 4}))
	r := all.Replications()
	var names []string
	for _, e := range r.Statistics {
		if strings.HasPrefix(e.Name, "arrived") && strings.HasSuffix(e.Name, "}.count") {
			names = append(names, fmt.Sprint(e.Name, e.N, e.Mean, e.StdDev == nil))
		}
	}
	want := []string{"arrived{workload:a}.count1 2 true", "arrived{workload:b}.count2 1.5 false", "arrived{workload:c}.count2 3 false"}
	if !slices.Equal(names, want) {
		t.Errorf("%q\nwant %q", names, want)
	}
	var text []byte
	for name, want := range map[string]string{"a": "[null,2,null]", "c": "[null,2,4]", "b": "[1,2,null]"} {
		got, err := json.Marshal(estimateOf(t, r, "arrived{workload:"+name+"}.count").Values)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, want)
		}
		if name == "b" {
			text = got
		}
	}
	var again compare.RunValues
	if err := json.Unmarshal(text, &again); err != nil || len(again) != 3 || again[1] != 2 || !math.IsNaN(again[2]) {
		t.Errorf("%v, %v", again, err)
	}
}

// A percentile of all requests together lies between those of the runs, and is that of one
// run when the others are the same.
func TestMergedPercentiles(t *testing.T) {
	sc := load(t, crowded, "spec.duration=10s", "spec.warmup=1s")
	r := replicated(t, sc, 1, 3)
	merged, differ := 0, 0
	for _, e := range r.Statistics {
		isPercentile := strings.Contains(e.Name, ".p(") || strings.HasSuffix(e.Name, ".med")
		if flow := strings.Contains(e.Name, "flow:"); isPercentile == flow == (e.Merged != nil) && isPercentile {
			t.Errorf("%s: merged %v", e.Name, e.Merged)
		}
		if e.Merged == nil {
			continue
		}
		merged++
		present := slices.DeleteFunc(slices.Clone(e.Values), math.IsNaN)
		if *e.Merged < slices.Min(present) || *e.Merged > slices.Max(present) {
			t.Errorf("%s: %v is not between %v", e.Name, *e.Merged, e.Values)
		}
		if slices.Min(present) < slices.Max(present) {
			differ++
		}
		switch {
		case e.MergedLow == nil && e.NoInterval == "":
			t.Errorf("%s has no interval, and no reason", e.Name)
		case e.MergedLow != nil && (e.NoInterval != "" || *e.MergedLow > *e.Merged || *e.MergedHigh < *e.Merged):
			t.Errorf("%s: %v is from %v to %v, %q", e.Name, *e.Merged, *e.MergedLow, *e.MergedHigh, e.NoInterval)
		}
	}
	if merged < 100 || differ < 50 {
		t.Errorf("%d percentiles, %d of which differ between the runs", merged, differ)
	}
	one := collect.NewReplication(resultOf(t, crowded, "spec.duration=10s", "spec.warmup=1s"))
	twice := compare.NewReplicator("x", 0, nil)
	twice.Add(one)
	twice.Add(one)
	for _, e := range twice.Replications().Statistics {
		if e.Merged != nil && *e.Merged != e.Mean {
			t.Errorf("%s: merged %v, alone %v", e.Name, *e.Merged, e.Mean)
		}
	}
}

// Whose FlowSchema is moved is told apart by level in every run, also in one in which it asked for
// something at one of them alone.
func TestNamesOfFlowsDoNotDependOnTheRun(t *testing.T) {
	sc := load(t, `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: rare}
spec:
  duration: 20s
  events:
  - at: 10s
    apply:
      objects:
      - apiVersion: flowcontrol.apiserver.k8s.io/v1
        kind: FlowSchema
        metadata: {name: service-accounts}
        spec:
          matchingPrecedence: 9000
          priorityLevelConfiguration: {name: workload-high}
          distinguisherMethod: {type: ByUser}
          rules:
          - subjects: [{kind: Group, group: {name: "system:serviceaccounts"}}]
            resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"]}]
  workload:
  - name: rare
    clients: 4
    as: {serviceAccount: "t/a-{i}"}
    request: {verb: get, resource: configmaps, namespace: default, name: x}
    execution: 1ms
    arrivals: {poisson: {rate: 0.1/s}}
`)
	r := replicated(t, sc, 1, 10)
	counts, missing := make([]float64, 10), 0
	for _, e := range r.Statistics {
		if !strings.HasPrefix(e.Name, "arrived{") || !strings.Contains(e.Name, "flow:") || !strings.HasSuffix(e.Name, ".count") {
			continue
		}
		if !strings.Contains(e.Name, "{priorityLevel:"+e.PriorityLevel+",flow:") {
			t.Errorf("%s, at %s", e.Name, e.PriorityLevel)
		}
		for i, v := range e.Values {
			if math.IsNaN(v) {
				missing++
			} else {
				counts[i] += v
			}
		}
	}
	if total := estimateOf(t, r, "arrived.count"); missing == 0 || !slices.Equal(counts, total.Values) {
		t.Errorf("flows had %v requests of %v; %d without any", counts, total.Values, missing)
	}
}

func TestTooManyFlowsAreLeftOut(t *testing.T) {
	run := func(seed uint64, flows int) *collect.Replication {
		s := &result.Summary{Seed: seed, DurationNs: 1e9}
		for i := range flows {
			s.Flows = append(s.Flows, result.Flow{Group: result.Group{Name: fmt.Sprint("f/", i)}, PriorityLevel: "l", FlowSchema: "f"})
		}
		return &collect.Replication{Summary: s}
	}
	all := compare.NewReplicator("x", 0, nil)
	all.Add(run(1, 9_000))
	all.Add(run(2, 9_000))
	if r := all.Replications(); r.FlowsLeftOut || len(r.Statistics) < 4*9_000 {
		t.Errorf("left out already: %d statistics", len(r.Statistics))
	}
	all.Add(run(3, 9_000))
	all.Add(run(4, 1))
	if r := all.Replications(); !r.FlowsLeftOut || len(r.Statistics) > 20 || estimateOf(t, r, "service.seatSeconds").N != 4 {
		t.Errorf("not left out: %d statistics", len(r.Statistics))
	}
	// What is to be precise stays, and a flow may come late.
	precise := compare.NewReplicator("x", 0.5, []string{"service{flow:f/7}.seatSeconds", "service{flow:f/9500}.seatSeconds"})
	for i := range uint64(5) {
		precise.Add(run(i, 9_000+250*int(i)))
	}
	ok, err := precise.Precise()
	if r := precise.Replications(); ok || err != nil || !r.FlowsLeftOut || len(r.Statistics) > 20 ||
		estimateOf(t, r, "service{flow:f/7}.seatSeconds").N != 5 || estimateOf(t, r, "service{flow:f/9500}.seatSeconds").N != 2 {
		t.Errorf("%v %v: %d statistics", ok, err, len(r.Statistics))
	}
}

func TestPrecision(t *testing.T) {
	add := func(statistic string, values ...int64) (*compare.Replicator, []bool) {
		all := compare.NewReplicator("x", 0.1, []string{statistic})
		var precise []bool
		for i, v := range values {
			all.Add(arrivals(uint64(i), map[string]int64{"a": v}))
			ok, err := all.Precise()
			if err != nil {
				t.Fatal(err)
			}
			precise = append(precise, ok)
		}
		return all, precise
	}
	// The longer half of the interval over the mean is 11.5 % of eleven, 10.3 % of twelve and 9.4 % of thirteen.
	all, precise := add("arrived{ workload:a }", 80, 120, 100, 90, 110, 100, 100, 100, 100, 100, 100, 100, 100)
	if !slices.Equal(precise, append(make([]bool, 12), true)) {
		t.Errorf("%v", precise)
	}
	p := all.Replications().Precision
	if p.Statistics[0].Name != "arrived{workload:a}.count" || !p.Met || *p.Statistics[0].Reached > 0.1 {
		t.Errorf("%+v", p)
	}
	if _, precise := add("arrived{workload:a}", 5, 5, 5, 5, 5); !slices.Equal(precise, append(make([]bool, 4), true)) {
		t.Errorf("always the same: %v", precise)
	}
	if all, precise := add("rejected{workload:a}.rate", 0, 0, 0, 0, 0, 0); precise[5] || all.Replications().Precision.Statistics[0].Reached != nil {
		t.Errorf("without samples: %v", precise)
	}
	if _, precise := add("rejected{workload:a}.rate", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10); !precise[9] {
		t.Errorf("always 0: %v", precise)
	}
	both := compare.NewReplicator("x", 0.1, []string{"arrived{workload:a}", "arrived{workload:b}"})
	for i := range uint64(5) {
		both.Add(arrivals(i, map[string]int64{"a": 5 - int64(i), "b": 7}))
	}
	if ok, err := both.Precise(); ok || err != nil {
		t.Errorf("one is precise and the other not: %v, %v", ok, err)
	}
	wrong := compare.NewReplicator("x", 0.1, []string{"arrived{workload:d}"})
	wrong.Add(arrivals(1, map[string]int64{"a": 1}))
	if _, err := wrong.Precise(); err == nil || !strings.Contains(err.Error(), `no workload "d"`) {
		t.Errorf("a name that is nobody's: %v", err)
	}
}

func TestReplicationsAreWritten(t *testing.T) {
	sc := load(t, crowded+`
  - name: nobody
    as: {user: n}
    request: {verb: get, resource: pods}
    arrivals: {constant: {rate: 1/h}}
    start: 5999ms
    execution: 1ms
  thresholds:
    "rejected{workload:mice}": ["rate < 0.01"]
    "wait{workload:nobody}": ["max < 1s"]
`, "spec.duration=6s", "spec.warmup=1s")
	r := replicated(t, sc, 7, 3)
	if r.Passed || r.Thresholds[1].Passed || !slices.Equal(r.Thresholds[1].FailedSeeds, []uint64{7, 8, 9}) {
		t.Errorf("passed: %v; %+v", r.Passed, r.Thresholds)
	}
	var out, table, page bytes.Buffer
	if err := format.WriteJSON(&out, r); err != nil {
		t.Fatal(err)
	}
	var again compare.Replications
	if err := json.Unmarshal(out.Bytes(), &again); err != nil {
		t.Fatal(err)
	}
	var second bytes.Buffer
	if err := format.WriteJSON(&second, &again); err != nil || !bytes.Equal(second.Bytes(), out.Bytes()) {
		t.Errorf("read and written again it differs: %v", err)
	}
	if err := render.CSV(&table, report.ReplicationsDocument(r), format.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&table).ReadAll()
	if err != nil || len(rows) != len(r.Statistics)+1 || rows[1][0] != r.Statistics[0].Name {
		t.Errorf("%d rows for %d statistics, %v", len(rows), len(r.Statistics), err)
	}
	if err := render.Text(&page, report.ReplicationsDocument(r), format.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 runs of 6 s, the first 1 s left out, seeds 7 to 9", "Thresholds: 1 of 2 failed",
		"no samples; fails with seeds 7, 8, 9", "elephants", "workload-low", " ±"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("%q is missing in\n%s", want, page.String())
		}
	}
}

// Three runs told by hand. Percentiles are those of all requests together, and a flow at the level is no level.
func TestTextOfReplications(t *testing.T) {
	value := func(x float64) *float64 { return &x }
	r := &compare.Replications{Name: "told", Seeds: []uint64{1, 2, 3}, DurationNs: 10e9, FlowControl: "PriorityAndFairness",
		Statistics: []compare.Estimate{
			{Name: "arrived{workload:a}.count", Unit: "requests", Mean: 30_000, N: 3},
			{Name: "arrived{workload:a}.perSecond", Unit: "requests/s", Mean: 3000, N: 3},
			{Name: "executed{workload:a}.rate", Mean: 1, N: 3},
			{Name: "rejected{workload:a}.rate", N: 3},
			{Name: "wait{workload:a}.med", Unit: "ns", Mean: 1e6, Merged: value(3e6), N: 3},
			{Name: "wait{workload:a}.p(99)", Unit: "ns", Mean: 200e3, StdDev: value(0), Low: value(200e3), High: value(200e3), Merged: value(300e3), MergedHalf: value(0), MergedLow: value(300e3), MergedHigh: value(300e3), N: 3},
			{Name: "latency{workload:a}.med", Unit: "ns", Mean: 4e6, StdDev: value(1e6), Low: value(3.5e6), High: value(4.5e6), Merged: value(5e6), MergedHalf: value(0.75e6), MergedLow: value(4.25e6), MergedHigh: value(5.75e6), N: 3},
			{Name: "latency{workload:a}.p(90)", Unit: "ns", Mean: 6e6, N: 3},
			{Name: "latency{workload:a}.p(99)", Unit: "ns", Mean: 7e6, N: 3},
			{Name: "arrived{priorityLevel:l}.count", Unit: "requests", Mean: 30_000, N: 3},
			{Name: "arrived{priorityLevel:l,flow:f}.count", Unit: "requests", Mean: 30_000, N: 3},
			{Name: "arrived{priorityLevel:idle}.count", Unit: "requests", N: 3},
			{Name: "utilisation{priorityLevel:l}.mean", Mean: 0.25, N: 3},
			{Name: "utilisation{priorityLevel:l}.saturated", Mean: 0.125, N: 3},
			{Name: "utilisation{priorityLevel:l}.peak", Unit: "seats", Mean: 7, StdDev: value(1), Low: value(5), High: value(9), N: 2, Values: compare.RunValues{6, math.NaN(), 8}},
			{Name: "fairness{priorityLevel:l}.jain", Mean: 0.75, StdDev: value(1e-9), Low: value(0.75 - 1e-9), High: value(0.75 + 1e-9), N: 3},
		},
		Thresholds: []compare.RunsVerdict{
			{Metric: "arrived{workload:a}", Expression: "count > 9", Limit: 9, Passed: true, Values: compare.RunValues{10, 10, 10}},
			{Metric: "arrived{workload:a}", Expression: "count > 10", Limit: 10, FailedSeeds: []uint64{1}, Values: compare.RunValues{10, 11, 12}},
		},
		Precision: &compare.Precision{Wanted: 0.02, Statistics: []compare.PrecisionResult{
			{Name: "latency{workload:a}.med", Reached: value(0.125)}, {Name: "utilisation{priorityLevel:l}.peak", Reached: value(2. / 7)}, {Name: "wait{workload:b}.med"}}},
	}
	for i := range r.Statistics {
		r.Statistics[i].ID = metric.MustParseName(r.Statistics[i].Name)
	}
	var out, table bytes.Buffer
	if err := render.Text(&out, report.ReplicationsDocument(r), format.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if fields := strings.Fields(line); len(fields) > 0 {
			got = append(got, strings.Join(fields, " "))
		}
	}
	want := []string{
		"told 3 runs of 10 s, seeds 1 to 3",
		"Workloads",
		"workload arrived/s executed rejected wait p50 wait p99 latency p50 latency p99",
		"a 3000 100 % 0 % 3 ms 300 µs 5.00 ±0.75 ms 7 ms",
		"Priority levels",
		"priority level in use saturated rejected wait p99 fairness starved",
		"l 25 % 12.5 % – – 0.75 ±1e-09 –",
		"Means of the runs, and percentiles of all runs' requests together, ± half of their 95 % intervals, or (their",
		"ends). [a to b]: the range of the runs, where an interval would be unreliable.",
		"Thresholds: 1 of 2 failed",
		"✗ arrived{workload:a} count > 10 10 to 12; fails with seed 1",
		"✓ arrived{workload:a} count > 9 10",
		"Precision of 2 % not reached with 3 runs, the maximum",
		"latency{workload:a}.med 5.00 ±0.75 ms 12.5 %",
		"utilisation{priorityLevel:l}.peak 7.0 ±2.0 28.6 %",
		"wait{workload:b}.med no samples –",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	out.Reset()
	if err := render.Text(&out, report.ReplicationsDocument(r), format.TextOptions{Colour: true}); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)\x1b\[31m *✗.*\n\x1b\[32m *✓`).MatchString(out.String()) {
		t.Errorf("want green what holds, and red what does not:\n%q", out.String())
	}
	if err := render.CSV(&table, report.ReplicationsDocument(r), format.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if row := "utilisation{priorityLevel:l}.peak,seats,,2,7,1,5,9,,,,\n"; !strings.Contains(table.String(), row) {
		t.Errorf("%q is missing in\n%s", row, table.String())
	}
}
