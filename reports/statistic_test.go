package reports_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"apfsim/reports/collect"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/metric"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

// resultOf simulates the one scenario of a text.
func resultOf(t testing.TB, text string, set ...string) *result.Result {
	t.Helper()
	scenarios, mistakes := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", loader.Options{Set: assign.New("--set", set)})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	run := sim.New(scenarios[0])
	measurement := collect.Measure(run, result.Interval(int64(scenarios[0].Spec.Duration)))
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return measurement.Result()
}

// A statistic has the value that a threshold of its name is given.
func TestStatisticsAreThoseOfThresholds(t *testing.T) {
	all := result.Statistics(resultOf(t, crowded).Summary)
	if len(all) < 1000 {
		t.Fatalf("only %d statistics", len(all))
	}
	var metrics []string
	expressions := map[string][]string{}
	for _, s := range all {
		stat := s.Name.Stat
		if stat == "p" {
			stat = fmt.Sprintf("p(%v)", s.Name.Percentile)
		}
		limit := "0"
		if s.Name.Unit == metric.Nanoseconds {
			limit = "0s"
		}
		key := strings.TrimSuffix(s.Name.String(), "."+stat)
		if expressions[key] == nil {
			metrics = append(metrics, key)
		}
		expressions[key] = append(expressions[key], fmt.Sprintf("%q", stat+" >= "+limit))
	}
	text := crowded + "  thresholds:\n"
	for _, metric := range metrics {
		text += fmt.Sprintf("    %q: [%s]\n", metric, strings.Join(expressions[metric], ", "))
	}
	verdicts := resultOf(t, text).Summary.Thresholds
	if len(verdicts) != len(all) {
		t.Fatalf("%d verdicts for %d statistics", len(verdicts), len(all))
	}
	for _, v := range verdicts {
		stat, _, _ := strings.Cut(v.Expression, " >")
		i, err := result.FindStatistic(all, v.Metric+"."+stat)
		if err != nil || v.Value == nil {
			t.Errorf("%s.%s: %v, verdict %+v", v.Metric, stat, err, v)
			continue
		}
		if all[i].Value != *v.Value {
			t.Errorf("%s is %v, and of the threshold %v", all[i].Name, all[i].Value, *v.Value)
		}
	}
}

// noStatistics are the numbers of a summary, and what holds some, that are no statistics.
var noStatistics = map[string]string{
	"seed":                              "what was run",
	"durationNs":                        "what was run",
	"startNs":                           "what was run",
	"warmupNs":                          "what was run",
	"adjustmentPhaseNs":                 "what was run",
	"catchAll":                          "of the workloads' requests, for the warning",
	"thresholds":                        "what statistics are compared with",
	"replay":                            "a comparison with a log, of one run",
	"verdict":                           "what follows from the statistics",
	"priorityLevels[].queues":           "the configuration's",
	"priorityLevels[].handSize":         "the configuration's",
	"priorityLevels[].queueLengthLimit": "the configuration's",
	"priorityLevels[].limits":           "what follows from the configuration, and where the last adjustment left it",
	"total.tooLate":                     "read by name only, as no comparison is about it",
	"workloads[].tooLate":               "read by name only",
	"flowSchemas[].tooLate":             "read by name only",
	"priorityLevels[].tooLate":          "read by name only",
	"flows[].tooLate":                   "read by name only",
	"otherFlows[].tooLate":              "read by name only",
	"total.freeze":                      "never there",
	"flowSchemas[].freeze":              "never there",
	"flows[].freeze":                    "never there",
	"otherFlows[].freeze":               "never there",
	"flows[].hand":                      "numbers of queues",
	"priorityLevels[].noSeats":          "what the limits were",
	"total.stall":                       "never there",
	"total.virtualWait":                 "never there",
	"priorityLevels[].stall":            "never there: starvation is that of its flows",
	"priorityLevels[].virtualWait":      "never there",
	"flowSchemas[].stall":               "never there",
	"flowSchemas[].virtualWait":         "never there",
	"flows[].stall":                     "never there: starvation is a flow's",
	"flows[].virtualWait":               "never there",
	"otherFlows[].flows":                "how many flows the sums are of",
	"otherFlows[].underserved":          "how many of them are underserved",
	"otherFlows[].hand":                 "never there",
	"otherFlows[].stall":                "never there",
	"otherFlows[].virtualWait":          "never there",
	"servers":                           "those of TestStatisticsOfServers",
	"timeline":                          "when something happened",
	"failures":                          "when something happened",
	"aggregatedServers":                 "those of a server that is called",
	"requestKinds":                      "a table of what requests took",
	"capacityBounds":                    "of other runs, with the ends of the interval of the capacity",
}

// noStatisticFields are those of any group.
var noStatisticFields = map[string]string{
	"stall.fromNs": "when", "stall.limit": "why", "stall.nominalLimit": "why", "stall.raised.atNs": "why", "stall.raised.limit": "why",
	"stall.othersDispatched": "why", "virtualWait.probes": "how it was measured", "virtualWait.rejected": "its rate is one", "virtualWait.censored": "how it was measured",
	"notServed.rejected": "a part of notServed", "notServed.refused": "a part of notServed", "notServed.lost": "a part of notServed",
	"notServed.deadline": "a part of notServed", "notServed.error": "a part of notServed", "notServed.unfinished": "a part of notServed",
	"freeze.maxNs": "freeze.max, where executions follow from what servers do", "freeze.fromNs": "when", "freeze.count": "those of 1 s", "open": "the rest", "stillQueued.waitP99Ns": "what is known of wait.p(99)",
	"virtualWait.refused": "a part of the rejected", "lostExecuted": "a part of the lost", "responses[].status": "a tag", "responses[].count": "by status",
}

// statisticOf returns the name of each number that all of a kind of group have, without the
// group's tag.
func statisticOf() map[string]string {
	names := map[string]string{
		"arrived": "arrived.count", "executed": "executed.count", "rejected": "rejected.count",
		"queueFull": "rejected{reason:queue-full}.count", "concurrencyLimit": "rejected{reason:concurrency-limit}.count",
		"timedOut": "timedOut.count", "retries": "retries.count", "waiting": "waiting.count", "executing": "executing.count",
		"refused": "refused.count", "connectionRefused": "refused{reason:connection-refused}.count", "connectionReset": "refused{reason:connection-reset}.count",
		"shuttingDown": "refused{reason:shutting-down}.count", "notReady": "refused{reason:not-ready}.count", "lost": "lost.count", "stillQueued.maxNs": "waiting.max",
		// of priority levels
		"utilisation.mean": "utilisation.mean", "utilisation.saturated": "utilisation.saturated", "peakSeats": "utilisation.peak",
		"meanWaiting": "waiting.mean", "fairness.flows": "fairness.flows", "fairness.jain": "fairness.jain",
		"fairness.maxMinError": "fairness.maxMinError", "fairness.leastRatio": "fairness.leastRatio", "starvation.maxNs": "starvation.max",
		// of flows
		"serviceSeatSeconds": "service.seatSeconds", "demandSeatSeconds": "demand.seatSeconds",
		// of workloads
		"stall.maxNs": "stall.max", "stall.count": "stall.count", "stall.share": "stall.share",
		"fairShareSeatSeconds": "fairShare.seatSeconds", "ratio": "fairShare.ratio", "starvationNs": "starvation.max",
	}
	for _, metric := range []string{"wait", "execution", "latency", "rejectedWait"} {
		for field, stat := range map[string]string{"count": "count", "meanNs": "mean", "minNs": "min", "p50Ns": "med", "p90Ns": "p(90)",
			"p95Ns": "p(95)", "p99Ns": "p(99)", "p99_9Ns": "p(99.9)", "maxNs": "max"} {
			names[metric+"."+field] = metric + "." + stat
			names["virtualWait.wait."+field] = "virtualWait." + stat
		}
	}
	return names
}

// numbers calls visit with every number in v, by the path that it has in JSON.
func numbers(v reflect.Value, path string, visit func(path string, x float64)) {
	switch {
	case v.CanInt():
		visit(path, float64(v.Int()))
	case v.CanUint():
		visit(path, float64(v.Uint()))
	case v.CanFloat():
		visit(path, v.Float())
	case v.Kind() == reflect.Pointer && !v.IsNil():
		numbers(v.Elem(), path, visit)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			numbers(v.Index(i), path+"[]", visit)
		}
	case v.Kind() == reflect.Struct:
		for field, value := range v.Fields() {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name == "-" {
				continue
			} else if name != "" {
				numbers(value, strings.TrimPrefix(path+"."+name, "."), visit)
			} else { // an embedded one
				numbers(value, path, visit)
			}
		}
	}
}

// fill lets no exported pointer in v be nil and no exported list be empty.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	}
}

// Every number of a summary is a statistic, or known to be none.
func TestEveryNumberIsAStatistic(t *testing.T) {
	names, known := statisticOf(), map[string]bool{}
	var whole result.Summary
	fill(reflect.ValueOf(&whole).Elem())
	numbers(reflect.ValueOf(whole), "", func(path string, _ float64) {
		for none := range noStatistics {
			if path == none || strings.HasPrefix(path, none+".") || strings.HasPrefix(path, none+"[]") {
				known[none] = true
				return
			}
		}
		_, field, _ := strings.Cut(path, ".")
		if strings.HasPrefix(field, "clients.") || strings.HasPrefix(field, "stored") {
			return // those of TestStatisticsOfClientsAndCaches
		}
		if names[field] == "" && noStatisticFields[field] == "" {
			t.Errorf("%s: name its statistic, or say in noStatistics why it is none", path)
		}
		known[field] = true
	})
	for none := range noStatistics {
		if !known[none] {
			t.Errorf("%s: there is no such number", none)
		}
	}

	s := resultOf(t, crowded).Summary
	all, seen := result.Statistics(s), map[string]bool{}
	check := func(group any, tag string) {
		numbers(reflect.ValueOf(group), "", func(field string, x float64) {
			name := names[field]
			if name == "" {
				return
			}
			if strings.HasPrefix(name, "refused") && tag != "" && !strings.HasPrefix(tag, "workload:") {
				return // such requests have reached no flow control
			}
			seen[field] = true
			metric, stat, _ := strings.Cut(name, ".")
			metric, reason, _ := strings.Cut(strings.TrimSuffix(metric, "}"), "{")
			if tags := strings.Trim(tag+","+reason, ","); tags != "" {
				metric += "{" + tags + "}"
			}
			i, err := result.FindStatistic(all, metric+"."+stat)
			switch {
			case errors.Is(err, result.ErrNoSamples) && x == 0: // as of a level without flows
			case err != nil:
				t.Error(err)
			case math.Abs(all[i].Value-x) > 1e-9*math.Abs(x):
				t.Errorf("%s is %v, and in the summary %v", all[i].Name, all[i].Value, x)
			}
		})
	}
	check(s.Total, "")
	for _, g := range s.Workloads {
		check(g, "workload:"+g.Name)
	}
	for _, g := range s.FlowSchemas {
		check(g, "flowSchema:"+g.Name)
	}
	for _, l := range s.PriorityLevels {
		check(l, "priorityLevel:"+l.Name)
	}
	for _, f := range s.Flows {
		check(f, "flow:"+f.Name)
	}
	for field := range names {
		if !known[field] || !seen[field] {
			t.Errorf("%s: there is no such number, or none in the run", field)
		}
	}
}

// What flows have adds up for their FlowSchema and priority level.
func TestServiceOfAGroupIsThatOfItsFlows(t *testing.T) {
	s := resultOf(t, crowded, "spec.duration=10s", "spec.warmup=2s").Summary
	all, sums := result.Statistics(s), map[string]float64{}
	for _, f := range s.Flows {
		sums["service{flowSchema:"+f.FlowSchema+"}.seatSeconds"] += f.ServiceSeatSeconds
		sums["service{priorityLevel:"+f.PriorityLevel+"}.seatSeconds"] += f.ServiceSeatSeconds
	}
	if len(sums) < 4 {
		t.Fatalf("want two FlowSchemas and two levels: %v", sums)
	}
	for name, want := range sums {
		if i, err := result.FindStatistic(all, name); err != nil || math.Abs(all[i].Value-want) > 1e-9*want {
			t.Errorf("%s: %v; want %v", name, err, want)
		}
	}
}

// Who sends requests wants them executed, soon, and not less than others; how many there are
// is neither good nor bad.
func TestWhichChangeIsForTheBetter(t *testing.T) {
	betterOf := func(full string) metric.Better {
		name, stat, _ := strings.Cut(full, ".")
		name, _, _ = strings.Cut(name, "{")
		switch {
		case name == "executed", name == "fairness" && (stat == "jain" || stat == "leastRatio"):
			return metric.Higher
		case (name == "wait" || name == "virtualWait") && stat == "count", name == "fairness" && stat == "flows":
			return metric.Neither
		case slices.Contains([]string{"rejected", "notServed", "timedOut", "retries", "waiting", "wait", "latency", "rejectedWait", "starvation", "stall", "freeze", "virtualWait", "virtualRejected", "fairness"}, name):
			return metric.Lower
		}
		return metric.Neither
	}
	for _, s := range result.Statistics(resultOf(t, crowded, "spec.duration=10s", "spec.warmup=2s").Summary) {
		if want := betterOf(s.Name.String()); !s.OfFlow() && s.Name.Better() != want { // a flow's name may have dots
			t.Errorf("%s: %q is better, want %q", s.Name, s.Name.Better(), want)
		}
	}
}

// Where flow control is off there are neither levels nor FlowSchemas, whatever the
// configuration says; what an event brings is there.
func TestStatisticsThatAScenarioMayHave(t *testing.T) {
	const event = `
  events:
  - at: 1s
    apply:
      objects:
        apiVersion: flowcontrol.apiserver.k8s.io/v1
        kind: PriorityLevelConfiguration
        metadata: {name: late}
        spec: {type: Limited, limited: {nominalConcurrencyShares: 5, limitResponse: {type: Reject}}}
`
	with, without := load(t, crowded+event), load(t, crowded, "spec.servers.flowControl=MaxInFlight")
	for _, name := range []string{"rejected{priorityLevel:late}.rate", "rejected{priorityLevel:workload-low}.rate", "rejected{flowSchema:service-accounts}.rate"} {
		if err := result.CheckName(name, with); err != nil {
			t.Error(err)
		}
		if err := result.CheckName(name, without); err == nil {
			t.Errorf("%s: is found without flow control", name)
		}
	}
}

func TestFindStatistic(t *testing.T) {
	s := &result.Summary{
		DurationNs: 10e9,
		Workloads: []result.Group{{Name: "mice", Counts: metric.Counts{Arrived: 5, Executed: 5},
			Wait: &result.Distribution{P50Ns: 7, P99Ns: 9}}, {Name: "none"}},
		Flows: []result.Flow{
			{Group: result.Group{Name: "a/b,c", Counts: metric.Counts{Arrived: 3}}, PriorityLevel: "low", FlowSchema: "a"},
			{Group: result.Group{Name: "twice", Counts: metric.Counts{Arrived: 1}}, PriorityLevel: "low", FlowSchema: "b", SeveralLevels: true},
			{Group: result.Group{Name: "twice", Counts: metric.Counts{Arrived: 2}}, PriorityLevel: "high", FlowSchema: "b", SeveralLevels: true},
		},
	}
	all := result.Statistics(s)
	for text, want := range map[string]float64{
		"wait{workload:mice}.p(99)":                             9,
		"wait{ workload: mice }.p(50)":                          7,
		"executed{workload:mice}":                               5,
		`arrived{flow:"a/b,c"}`:                                 3,
		`arrived{flow:"a/b,c",flowSchema:a,priorityLevel:low}`:  3,
		"arrived{flow:twice,priorityLevel:high}":                2,
		`rejected{flow:"a/b,c",reason:queue-full}.rate`:         0,
		`rejected{reason:time-out,workload:mice,reason2:x}.err`: -1,
	} {
		i, err := result.FindStatistic(all, text)
		if want < 0 {
			if err == nil {
				t.Errorf("%s is found", text)
			}
			continue
		}
		if err != nil || all[i].Value != want {
			t.Errorf("%s: %v; want %v", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"wait{workload:mise}.p(99)":                       `there is no workload "mise" (did you mean "mice"?)`,
		"wait{workload:elephants}.p(99)":                  `there is no workload "elephants"; there are mice, none`,
		"wait{workload:mice}.p(98)":                       "summaries have no such percentile",
		"wait{workload:mice,flow:twice}.mean":             "do not divide requests",
		"arrived{flow:twice}.count":                       "arrived{priorityLevel:low,flow:twice}.count, arrived{priorityLevel:high,flow:twice}.count",
		"arrived{flow:twice,priorityLevel:middle}.count":  `there is no priorityLevel "middle"`,
		"wait{workload:mice,flowSchema:a,reason:x}.count": "no tag reason",
	} {
		if _, err := result.FindStatistic(all, text); err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, result.ErrNoSamples) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
	for _, name := range strings.Fields("c d e f g h i") { // nine in all
		s.Workloads = append(s.Workloads, result.Group{Name: name})
	}
	if _, err := result.FindStatistic(result.Statistics(s), "arrived{workload:elephants}"); err == nil || !strings.HasSuffix(err.Error(), "; there are mice, none, c, d, e, f, g, h, ...") {
		t.Errorf("of many a few are proposed: %v", err)
	}
	if _, err := result.FindStatistic(all, "wait{workload:none}.p(99)"); !errors.Is(err, result.ErrNoSamples) {
		t.Errorf("a workload without requests: %v", err)
	}
}
