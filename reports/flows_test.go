package reports_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/scenario/loader"
)

// crowdOfFlows has a flow for each client: many of one workload that send two requests each, and few of another that
// send more than the level can execute.
const crowdOfFlows = `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: many-flows}
spec:
  duration: 20s
  warmup: 1s
  servers: {maxRequestsInflight: 50, maxMutatingRequestsInflight: 50}
  thresholds:
    "arrived{flow:global-default/quiet-0}": ["count == 1"]
  workload:
  - name: crowd
    clients: %d
    as: {user: "crowd-{i}"}
    request: {verb: get, resource: pods, namespace: default, name: x}
    execution: {exponential: {mean: 4ms}}
    arrivals: {poisson: {rate: 0.1/s}}
  - name: greedy
    clients: 5
    as: {user: "greedy-{i}"}
    request: {verb: get, resource: pods, namespace: default, name: x}
    execution: {exponential: {mean: 40ms}}
    arrivals: {poisson: {rate: 400/s}}
  - name: quiet
    as: {user: "quiet-{i}"}
    start: 2s
    request: {verb: get, resource: pods, namespace: default, name: x}
    execution: 1ns
    arrivals: {burst: {at: 0s, requests: 1}}
`

func measureFlows(t *testing.T, clients int, list func(*collect.Measurement)) (*result.Result, *collect.Measurement) {
	t.Helper()
	text := fmt.Sprintf(crowdOfFlows, clients)
	scenarios, mistakes := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", loader.Options{})
	if mistakes != nil {
		t.Fatal(mistakes)
	}
	run := sim.New(scenarios[0])
	m := collect.Measure(run, second)
	if list != nil {
		list(m)
	}
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	r := m.Result()
	judge.Verdict(r)
	return r, m
}

// A summary of more than MostFlows flows lists those that matter, and the sums of the others, which are exact: a
// summary of all flows of the same run says so.
func TestManyFlowsAreListedAndSummed(t *testing.T) {
	got, _ := measureFlows(t, 13_000, nil)
	all, _ := measureFlows(t, 13_000, (*collect.Measurement).ListEveryFlow)
	s, every := got.Summary, all.Summary
	if len(s.Flows) != result.MostFlows || len(every.Flows) <= result.MostFlows || every.OtherFlows != nil {
		t.Fatalf("%d flows are listed, and %d with all", len(s.Flows), len(every.Flows))
	}
	byName := map[string]*result.Flow{}
	for i := range every.Flows {
		byName[every.Flows[i].Name] = &every.Flows[i]
	}
	var sum result.Flow // of all that are not listed
	var waits, waitNs float64
	number, underserved := len(every.Flows), 0
	for i := range s.Flows {
		f := &s.Flows[i]
		flow := byName[f.Name]
		if a, b := fmt.Sprint(f.Counts, f.Hand, f.ServiceSeatSeconds, f.FairShareSeatSeconds, f.Wait, f.StarvationNs),
			fmt.Sprint(flow.Counts, flow.Hand, flow.ServiceSeatSeconds, flow.FairShareSeatSeconds, flow.Wait, flow.StarvationNs); a != b {
			t.Fatalf("%s: %s, want %s", f.Name, a, b)
		}
		if f.Wait != nil && *f.Wait != *flow.Wait || f.Latency != nil && *f.Latency != *flow.Latency {
			t.Fatalf("%s: other distributions", f.Name)
		}
		delete(byName, f.Name)
		number--
	}
	for i := range every.Flows { // in order, as a sum depends on it
		f := byName[every.Flows[i].Name]
		if f == nil {
			continue
		}
		sum.Arrived, sum.Executed, sum.Rejected = sum.Arrived+f.Arrived, sum.Executed+f.Executed, sum.Rejected+f.Rejected
		sum.Waiting, sum.Executing = sum.Waiting+f.Waiting, sum.Executing+f.Executing
		sum.ServiceSeatSeconds += f.ServiceSeatSeconds
		sum.DemandSeatSeconds += f.DemandSeatSeconds
		sum.StarvationNs = max(sum.StarvationNs, f.StarvationNs)
		if judge.Underserved(f) {
			underserved++
		}
		if f.Wait != nil {
			waits += float64(f.Wait.Count)
			waitNs += float64(f.Wait.Count) * float64(f.Wait.MeanNs)
		}
	}
	if len(s.OtherFlows) != 1 {
		t.Fatalf("other flows: %+v", s.OtherFlows)
	}
	o := s.OtherFlows[0]
	if o.Number != number || o.Underserved != underserved || o.Name != "" || o.FlowSchema != "global-default" || o.Hand != nil {
		t.Errorf("%d others, %d underserved; want %d, %d", o.Number, o.Underserved, number, underserved)
	}
	if o.Counts != sum.Counts || o.StarvationNs != sum.StarvationNs {
		t.Errorf("%+v, want %+v", o.Counts, sum.Counts)
	}
	nearNumber(t, "service", o.ServiceSeatSeconds, sum.ServiceSeatSeconds)
	nearNumber(t, "demand", o.DemandSeatSeconds, sum.DemandSeatSeconds)
	if o.Wait == nil || float64(o.Wait.Count) != waits || math.Abs(float64(o.Wait.MeanNs)-waitNs/waits) > 1 {
		t.Errorf("waits %+v, want %v with mean %v", o.Wait, waits, waitNs/waits)
	}

	// The listed flows and the others are all requests of the level.
	arrived, level := o.Arrived, slices.IndexFunc(s.PriorityLevels, func(l result.Level) bool { return l.Name == "global-default" })
	for i := range s.Flows {
		arrived += s.Flows[i].Arrived
	}
	if want := s.PriorityLevels[level].Arrived; arrived != want {
		t.Errorf("flows have %d requests, the level %d", arrived, want)
	}

	// All flows of the small workload matter, and the one that a threshold names, which is in the top of no list.
	for _, name := range []string{"greedy-0", "greedy-1", "greedy-2", "greedy-3", "greedy-4", "quiet-0"} {
		if byName["global-default/"+name] != nil {
			t.Errorf("%s is not listed", name)
		}
	}
	if v := s.Thresholds[0]; !v.Passed {
		t.Errorf("threshold on a flow: %+v", v)
	}

	// The worst flows are those of the whole run.
	names := func(summary *result.Summary) (all []string) {
		for _, f := range judge.WorstFlows(summary, 500) {
			all = append(all, f.Name)
		}
		slices.Sort(all) // flows of the same standing are in another order
		return all
	}
	if worst := names(every); len(worst) == 0 || !slices.Equal(names(s)[:5], worst[:5]) {
		t.Errorf("worst flows %v, want %v", names(s)[:5], worst[:5])
	}

	var text bytes.Buffer
	if err := format.WriteJSON(&text, s); err != nil || text.Len() > 20_000_000 {
		t.Errorf("%d bytes, %v", text.Len(), err)
	}
	text.Reset()
	if err := render.HTML(&text, report.RunDocument(got)); err != nil || text.Len() > 4_000_000 {
		t.Errorf("a report of %d bytes, %v", text.Len(), err)
	}
	total := format.Counted(len(every.Flows)-5000, "flow")
	if want := "Left out: " + total; !strings.Contains(text.String(), want) || !strings.Contains(text.String(), "apfsim run --flows writes all to flows.csv") {
		t.Errorf("the report does not say %q", want)
	}
}

// A comparison says that it leaves out flows that the summaries do not list.
func TestManyFlowsAreNotCompared(t *testing.T) {
	s := storyResult().Summary
	s.OtherFlows = []result.OtherFlows{{Number: 3}}
	replications := func() *compare.Replications {
		r := compare.NewReplicator(s.Name, 0, nil)
		r.Add(&collect.Replication{Summary: s})
		return r.Replications()
	}
	c := compare.Compare("base", replications(), "head", replications())
	if !slices.Contains(c.Warnings, "flows are not compared: there are too many of them") {
		t.Errorf("warnings %q", c.Warnings)
	}
	for i := range c.Changes {
		if c.Changes[i].PriorityLevel != "" {
			t.Errorf("%s is compared", c.Changes[i].Name)
		}
	}
}

// flows.csv has all flows, with the numbers of the summary.
func TestAllFlowsAsTable(t *testing.T) {
	r, m := measureFlows(t, 12_000, nil)
	var text bytes.Buffer
	if err := render.CSVRecords(&text, report.FlowRecords(m.Flows())); err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(text.String(), "\n")
	if head != report.FlowHead {
		t.Errorf("head %s", head)
	}
	rows, err := csv.NewReader(&text).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := func(name string) int { return slices.Index(rows[0], name) }
	arrived, byName := 0, map[string][]string{}
	for i, row := range rows[1:] {
		n, _ := strconv.Atoi(row[column("arrived")])
		arrived += n
		byName[row[column("flow")]] = row
		if i > 0 && row[0] == rows[i][0] && row[2] <= rows[i][2] {
			t.Errorf("%s after %s", row[2], rows[i][2])
		}
	}
	if int64(arrived) != r.Summary.Total.Arrived || len(byName) != len(r.Summary.Flows)+r.Summary.OtherFlows[0].Number {
		t.Errorf("%d requests of %d flows, want %d", arrived, len(byName), r.Summary.Total.Arrived)
	}
	for i := range r.Summary.Flows {
		f := &r.Summary.Flows[i]
		row := byName[f.Name]
		want := []string{strconv.FormatInt(f.Executed, 10), format.Decimal(f.ServiceSeatSeconds), "", ""}
		if f.Wait != nil {
			want[2], want[3] = format.Decimal(float64(f.Wait.P99Ns)/1e9), format.Decimal(float64(f.Wait.MaxNs)/1e9)
		}
		if got := []string{row[column("executed")], row[column("serviceSeatSeconds")], row[column("waitP99Seconds")], row[column("waitMaxSeconds")]}; !slices.Equal(got, want) {
			t.Fatalf("%s: %q, want %q", f.Name, got, want)
		}
	}
}

// A client that is a flow takes at most so many bytes until the end of a run, with a few requests: those of the
// client, its template and what the server knows of it, and of the flow and its statistics.
func TestBytesOfAFlow(t *testing.T) {
	const most = 1400
	live := func(clients int) (bytes uint64, flows int) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		text := strings.ReplaceAll(fmt.Sprintf(crowdOfFlows, clients), "rate: 400/s", "rate: 1/s")
		scenarios, mistakes := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", loader.Options{})
		if mistakes != nil {
			t.Fatal(mistakes)
		}
		run := sim.New(scenarios[0])
		m := collect.Measure(run, second)
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		s := m.Result().Summary
		runtime.KeepAlive(run)
		return after.HeapAlloc - before.HeapAlloc, len(s.Flows)
	}
	each := math.Inf(1)
	for try := 0; try < 3 && each > most; try++ { // other goroutines of the process may allocate meanwhile
		fewBytes, few := live(1000)
		manyBytes, many := live(9000)
		each = (float64(manyBytes) - float64(fewBytes)) / float64(many-few)
		t.Logf("%.0f bytes for each flow", each)
	}
	if each > most {
		t.Errorf("%.0f bytes for each flow, want at most %d", each, most)
	}
}
