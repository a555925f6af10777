package reports_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"apfsim/reports"
	"apfsim/sim"
	"apfsim/sim/scenario"
)

// resultOf simulates the one scenario of a text.
func resultOf(t testing.TB, text string, set ...string) *reports.Result {
	t.Helper()
	scenarios, mistakes := scenario.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", scenario.Options{Set: scenario.Assignments("--set", set)})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	run := sim.New(scenarios[0])
	interval := reports.Interval(int64(scenarios[0].Spec.Duration))
	collector := reports.NewCollector(scenarios[0], run.Server, interval)
	run.Server.Observe(collector)
	if err := run.Execute(context.Background(), interval, nil); err != nil {
		t.Fatal(err)
	}
	return collector.Result()
}

// A statistic has the value that a threshold of its name is given.
func TestStatisticsAreThoseOfThresholds(t *testing.T) {
	all := reports.Statistics(resultOf(t, crowded).Summary)
	if len(all) < 1000 {
		t.Fatalf("only %d statistics", len(all))
	}
	var metrics []string
	expressions := map[string][]string{}
	for _, s := range all {
		dot := strings.LastIndex(s.Name, "}.") + 1
		if dot == 0 {
			dot = strings.Index(s.Name, ".")
		}
		limit := "0"
		if s.Unit == "ns" {
			limit = "0s"
		}
		metric := s.Name[:dot]
		if expressions[metric] == nil {
			metrics = append(metrics, metric)
		}
		expressions[metric] = append(expressions[metric], fmt.Sprintf("%q", s.Name[dot+1:]+" >= "+limit))
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
		i, err := reports.FindStatistic(all, v.Metric+"."+stat)
		if err != nil || v.Value == nil {
			t.Errorf("%s.%s: %v, verdict %+v", v.Metric, stat, err, v)
			continue
		}
		// The summary's means are rounded to a nanosecond.
		if d := all[i].Value - *v.Value; d > 0.5 || d < -0.5 || all[i].Unit != "ns" && (d > 1e-9 || d < -1e-9) {
			t.Errorf("%s is %v, and of the threshold %v", all[i].Name, all[i].Value, *v.Value)
		}
	}
}

func TestFindStatistic(t *testing.T) {
	s := &reports.Summary{
		DurationNs: 10e9,
		Workloads: []reports.Group{{Name: "mice", Counts: reports.Counts{Arrived: 5, Executed: 5},
			Wait: &reports.Distribution{P50Ns: 7, P99Ns: 9}}, {Name: "none"}},
		Flows: []reports.Flow{
			{Group: reports.Group{Name: "a/b,c", Counts: reports.Counts{Arrived: 3}}, PriorityLevel: "low", FlowSchema: "a"},
			{Group: reports.Group{Name: "twice", Counts: reports.Counts{Arrived: 1}}, PriorityLevel: "low", FlowSchema: "a"},
			{Group: reports.Group{Name: "twice", Counts: reports.Counts{Arrived: 2}}, PriorityLevel: "high", FlowSchema: "a"},
		},
	}
	all := reports.Statistics(s)
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
		i, err := reports.FindStatistic(all, text)
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
		"wait{workload:mice,flow:twice}.mean":             "do not tell requests apart",
		"arrived{flow:twice}.count":                       "arrived{priorityLevel:low,flow:twice}.count, arrived{priorityLevel:high,flow:twice}.count",
		"arrived{flow:twice,priorityLevel:middle}.count":  `there is no priorityLevel "middle"`,
		"wait{workload:mice,flowSchema:a,reason:x}.count": "no tag reason",
	} {
		if _, err := reports.FindStatistic(all, text); err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, reports.ErrNoSamples) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
	if _, err := reports.FindStatistic(all, "wait{workload:none}.p(99)"); !errors.Is(err, reports.ErrNoSamples) {
		t.Errorf("a workload without requests: %v", err)
	}
}
