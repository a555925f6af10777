package scenario

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// thresholdMistakes returns what loading the smallest scenario with one threshold says.
func thresholdMistakes(key, expression, more string) []string {
	text := withSpec(fmt.Sprintf("thresholds: {%q: [%q]}\n  %s", key, expression, more))
	_, mistakes := Load(files("s.yaml", text), "s.yaml", Options{})
	var messages []string
	for _, m := range mistakes {
		messages = append(messages, m.Message)
	}
	return messages
}

func TestThresholdsThatAreRight(t *testing.T) {
	for _, c := range []struct{ key, expression, want string }{
		{"wait", "p(99.9)<100ms", "wait [] p(99.9) < 1e+08"},
		{"wait{workload:mice}", "avg <= 1.5s", "wait [{workload mice}] mean(0) <= 1.5e+09"},
		{"wait{ workload : mice , priorityLevel:exempt }", "count != 0", "wait [{workload mice} {priorityLevel exempt}] count(0) != 0"},
		{`latency{flow:global-default/system:serviceaccount:a:b}`, "max > 0", "latency [{flow global-default/system:serviceaccount:a:b}] max(0) > 0"},
		{`service{flow:"x/CN=a,O=b}"}`, "seatSeconds >= 1e3", "service [{flow x/CN=a,O=b}}] seatSeconds(0) >= 1000"},
		{"rejected{reason:queue-full}", "rate == 0.01", "rejected [{reason queue-full}] rate(0) == 0.01"},
		{"arrived", "perSecond > 100", "arrived [] perSecond(0) > 100"},
		{"utilisation{priorityLevel:system}", "saturated < 0.1", "utilisation [{priorityLevel system}] saturated(0) < 0.1"},
		{"waiting{priorityLevel:system}", "mean < 0.5", "waiting [{priorityLevel system}] mean(0) < 0.5"},
		{"fairShare{flow:a/b}", "ratio > 1.1", "fairShare [{flow a/b}] ratio(0) > 1.1"},
		{"starvation{flowSchema:catch-all}", "max < 1m", "starvation [{flowSchema catch-all}] max(0) < 6e+10"},
	} {
		text := withSpec(fmt.Sprintf("thresholds: {%q: [%q]}", c.key, c.expression))
		th := mustLoad(t, text).Spec.Thresholds[0]
		got := fmt.Sprintf("%s %v %s(%v) %s %v", th.Metric, th.Tags, th.Stat, th.Percentile, th.Op, th.Limit)
		if got != c.want || th.Key != c.key || th.Text != c.expression {
			t.Errorf("%s: %s is %s, want %s", c.key, c.expression, got, c.want)
		}
	}
}

func TestThresholdsThatAreWrong(t *testing.T) {
	const none = "servers: {flowControl: None}"
	for _, c := range []struct{ key, expression, more, want string }{
		{"wiat", "max < 1s", "", `unknown metric wiat (did you mean "wait"?)`},
		{"temperature", "max < 1s", "", "unknown metric temperature; want one of wait, execution, latency, rejectedWait, arrived, " +
			"executed, rejected, timedOut, retries, waiting, executing, stall, virtualWait, virtualRejected, fairness, utilisation, starvation, service, demand, fairShare"},
		{"wait{worklod:mice}", "max < 1s", "", `wait has no tag worklod (did you mean "workload"?)`},
		{"wait{workload:mouse}", "max < 1s", "", `there is no workload "mouse"; want one of mice`},
		{"wait{flowSchema:service-account}", "max < 1s", "", `there is no flowSchema "service-account" (did you mean "service-accounts"?)`},
		{"wait{priorityLevel:workload-lo}", "max < 1s", "", `there is no priorityLevel "workload-lo" (did you mean "workload-low"?)`},
		{"wait{reason:queue-full}", "max < 1s", "", "wait has no tag reason; want one of workload, flowSchema, priorityLevel, flow"},
		{"rejected{reason:queuefull}", "rate < 1", "", `there is no reason "queuefull" (did you mean "queue-full"?)`},
		{"fairness", "jain > 0.9", "", "fairness wants the tag priorityLevel, as fairness{priorityLevel:workload-low}"},
		{"fairness{workload:mice,priorityLevel:system}", "jain > 0.9", "", "fairness has no tag workload; want one of priorityLevel"},
		{"fairness{priorityLevel:system}", "jain > 95", "", "limit 95: jain of fairness is a fraction from 0 to 1"},
		{"fairness{priorityLevel:system}", "jain > 0.9", none, "there is no fairness with flowControl None"},
		{"waiting", "mean < 1", "", "mean of waiting wants the tag priorityLevel, as waiting{priorityLevel:workload-low}"},
		{"waiting{workload:mice,priorityLevel:system}", "mean < 1", "", "mean of waiting has no tag workload; want one of priorityLevel"},
		{"waiting{priorityLevel:exempt}", "mean < 1", none, "there is no mean of waiting with flowControl None"},
		{"demand{workload:mice}", "seatSeconds > 1", "", "demand has no tag workload; want one of flowSchema, priorityLevel, flow"},
		{"fairShare", "ratio > 1s", "", "limit 1s is a duration; ratio of fairShare is a number without a unit"},
		{"wait{flow:a}", "max < 1s", "servers: {flowControl: MaxInFlight}", "there is no flow with flowControl MaxInFlight"},
		{"wait{workload}", "max < 1s", "", `tag "workload" has no value; want tag:value`},
		{"wait{workload:}", "max < 1s", "", "tag workload has no value; want workload:value"},
		{"wait{workload:mice,}", "max < 1s", "", "a tag is missing after the last comma"},
		{"wait{workload:mice,workload:mice}", "max < 1s", "", "tag workload stands twice"},
		{"wait{}", "max < 1s", "", "the braces are empty; want tags as in wait{workload:mice}, or no braces"},
		{"wait{workload:mice", "max < 1s", "", "want a metric, with or without tags, as wait{workload:mice}"},
		{"wait", "max < 1", "", "limit 1 has no unit; want a duration such as 100ms"},
		{"wait", "max < soon", "", `limit "soon" is no duration; want one such as 100ms`},
		{"wait", "count < 1s", "", "limit 1s is a duration; count of wait is a number without a unit"},
		{"wait", "max = 1s", "", "operator =: want one of < <= > >= == !="},
		{"wait", "max => 1s", "", "operator =>: want one of < <= > >= == !="},
		{"wait", "p101 < 1s", "", "p(101): want a percentile from 0 to 100"},
		{"wait", "p99 < 1 k", "", `limit "1 k" is no duration; want one such as 100ms`},
		{"arrived", "count > 5 %", "", "limit 5 %: count of arrived is not a share; want a number without %"},
		{"arrived", "count > k", "", `limit "k" is no number`},
		{"rejected", "rate < 101 %", "", "limit 101 %: rate of rejected is a fraction from 0 to 1"},
		{"wait", "p < 1s", "", `"p < 1s": want a percentile, as p(99)`},
		{"wait", "p(101) < 1s", "", "p(101): want a percentile from 0 to 100"},
		{"wait", "p(NaN) < 1s", "", "p(NaN): want a percentile from 0 to 100"},
		{"wait", "max(3) < 1s", "", "max has no argument: only p has one"},
		{"wait", "maximum < 1s", "", "wait has no statistic maximum; want one of mean, avg, min, med, max, p(N), count"},
		{"rejected", "rat == 0", "", `rejected has no statistic rat (did you mean "rate"?)`},
		{"rejected", "rate == nan", "", `limit "nan" is no number`},
		{"rejected", "rate", "", `"rate": want a statistic, a comparison and a limit, as rate == 0`},
		{"arrived", "", "", `"": want a statistic, a comparison and a limit, as perSecond > 100`},
	} {
		if got := thresholdMistakes(c.key, c.expression, c.more); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %q: mistakes\n%s\nwant\n%s", c.key, c.expression, strings.Join(got, "\n"), c.want)
		}
	}
}

// What a table prints can be written down as a limit.
func TestThresholdsAsTablesPrintThem(t *testing.T) {
	for _, c := range []struct{ key, printed, same string }{
		{"wait", "p99 < 1s", "p(99) < 1s"},
		{"wait", " p99.9 < 3.2 ms", "p(99.9) < 3200us"},
		{"wait", "p(50) <= 850 µs", "p(50) <= 850us"},
		{"wait", "max < 4 min 10 s", "max < 4m10s"},
		{"wait", "max < 2 h 5 min", "max < 2h5m"},
		{"arrived", "count > 12.4 k", "count > 12400"},
		{"arrived", "perSecond > 1.2 M", "perSecond > 1200000"},
		{"rejected", "rate < 2.5 %", "rate < 0.025"},
		{"executed", "rate > 99.5%", "rate > 0.995"},
		{"utilisation{priorityLevel:system}", "mean < 5.5 %", "mean < 0.055"},
		{"utilisation{priorityLevel:system}", "saturated < 25 %", "saturated < 0.25"},
		{"fairShare", "ratio > 50 %", "ratio > 0.5"},
	} {
		var limits [2]Threshold
		for i, text := range []string{c.printed, c.same} {
			limits[i].Metric, _, _ = parseMetric(c.key)
			if err := limits[i].parseExpression(text); err != nil {
				t.Errorf("%s: %s: %v", c.key, text, err)
			}
		}
		if limits[0].Stat != limits[1].Stat || limits[0].Op != limits[1].Op || limits[0].Percentile != limits[1].Percentile ||
			math.Abs(limits[0].Limit-limits[1].Limit) > 1e-12 {
			t.Errorf("%s: %s is %+v, want %+v", c.key, c.printed, limits[0], limits[1])
		}
	}
}

func TestThresholdsAreListsOfExpressions(t *testing.T) {
	_, mistakes := Load(files("s.yaml", withSpec(`thresholds: {wait: [], latency: null, rejected: "rate == 0", retries: [null, 1], executed: [rate > 0.5]}`)),
		"s.yaml", Options{})
	wantMistakes(t, mistakes,
		`s.yaml:6:16: spec.thresholds.wait: has no expression; want a list such as ["p(99) < 100ms"]`,
		`s.yaml:6:26: spec.thresholds.latency: has no expression; want a list such as ["p(99) < 1s"]`,
		`s.yaml:6:51: spec.thresholds.rejected: "rate == 0" is a string; want a list`,
		"s.yaml:6:74: spec.thresholds.retries[0]: is empty",
		"s.yaml:6:80: spec.thresholds.retries[1]: 1 is a number; want a string: put it in quotes")
}

func TestThresholdsOverWindows(t *testing.T) {
	s := mustLoad(t, withSpec(`thresholds: {wait: ["max < 1s", {threshold: "p(99) < 100ms", over: 10s}, {threshold: "min > 0"}]}`))
	for i, want := range []Duration{0, Duration(10 * time.Second), 0} {
		if got := s.Spec.Thresholds[i].Over; got != want {
			t.Errorf("threshold %d is over %v, want %v", i, got, want)
		}
	}
	if th := s.Spec.Thresholds[1]; th.Text != "p(99) < 100ms" || th.Percentile != 99 || th.Position.String() != "s.yaml:6:47" {
		t.Errorf("%+v", th)
	}
	if len(s.Warnings) > 0 {
		t.Error(s.Warnings)
	}
}

func TestThresholdsOverWindowsThatAreWrong(t *testing.T) {
	_, mistakes := Load(files("s.yaml", withSpec(`warmup: 10s
  thresholds:
    wait:
    - {threshold: max < 1s, over: 10}
    - {threshold: max < 1s, over: soon}
    - {threshold: max < 1s, over: 0s}
    - {threshold: max < 1s, over: 51s}
    - {threshold: max < 1s, over: 1us}
    - {threshold: max < 1s, ovr: 10s}
    - {over: 10s}
    - {threshold: max < 1, over: 10s}
    - {threshold: [max < 1s], over: 10s}
    wiat: [{threshold: max < 1s, over: 10s}]
    fairness{priorityLevel:system}: [{threshold: jain > 0.5, over: 10s}]
    starvation: [{threshold: max < 1s, over: 100s}]
    waiting{priorityLevel:system}: [{threshold: count < 1, over: 10s}, {threshold: mean < 1, over: 10s}]`)), "s.yaml", Options{})
	wantMistakes(t, mistakes,
		"s.yaml:9:35: spec.thresholds.wait[0].over: 10 has no unit; want a duration such as 60s or 1h30m",
		`s.yaml:10:35: spec.thresholds.wait[1].over: "soon" is no duration; want one such as 60s or 1h30m`,
		"s.yaml:11:35: spec.thresholds.wait[2].over: want more than 0s; without over, a threshold is for the run as a whole",
		"s.yaml:12:35: spec.thresholds.wait[3].over: 51s is more than the 50s between warm-up and end; want at most that",
		"s.yaml:13:35: spec.thresholds.wait[4].over: 1µs divides the 50s between warm-up and end into 50000000 windows; want at most 100000: 500µs or more",
		`s.yaml:14:29: spec.thresholds.wait[5].ovr: unknown field (did you mean "over"?)`,
		"s.yaml:15:7: spec.thresholds.wait[6].threshold: is missing",
		"s.yaml:16:19: spec.thresholds.wait[7].threshold: limit 1 has no unit; want a duration such as 100ms",
		"s.yaml:17:19: spec.thresholds.wait[8].threshold: is a list; want a string",
		`s.yaml:18:5: spec.thresholds.wiat: unknown metric wiat (did you mean "wait"?)`,
		"s.yaml:19:68: spec.thresholds[\"fairness{priorityLevel:system}\"][0].over: fairness is measured over the whole run alone; "+
			"want it without over, or one of wait, execution, latency, rejectedWait, arrived, executed, rejected, timedOut, retries, waiting, executing",
		"s.yaml:20:46: spec.thresholds.starvation[0].over: starvation is measured over the whole run alone; "+
			"want it without over, or one of wait, execution, latency, rejectedWait, arrived, executed, rejected, timedOut, retries, waiting, executing",
		"s.yaml:21:100: spec.thresholds[\"waiting{priorityLevel:system}\"][1].over: mean of waiting is measured over the whole run alone; "+
			"want it without over, or one of wait, execution, latency, rejectedWait, arrived, executed, rejected, timedOut, retries, waiting, executing")
}

// What is left at the end and makes no window is told of.
func TestWindowsThatDoNotDivideTheRunAreWarnedOf(t *testing.T) {
	const text = `s.yaml:6:51: spec.thresholds.wait[0].over: 25s does not divide the 1m0s between warm-up and end; the last 10s are in no window, and not judged`
	s := mustLoad(t, withSpec(`thresholds: {wait: [{threshold: max < 1s, over: 25s}]}`))
	wantMistakes(t, s.Warnings, text)
	set := mustLoad(t, withSpec(""), `spec.thresholds={wait: [{threshold: max < 1s, over: 25s}]}`)
	if len(set.Warnings) != 1 || !strings.HasPrefix(set.Warnings[0].Error(), "--set spec.thresholds=") {
		t.Error(set.Warnings)
	}
}

func TestThresholdsHold(t *testing.T) {
	for text, want := range map[string][3]bool{ // for 0.4, 0.5 and 0.6
		"rate < 0.5":  {true, false, false},
		"rate <= 0.5": {true, true, false},
		"rate > 0.5":  {false, false, true},
		"rate >= 0.5": {false, true, true},
		"rate == 0.5": {false, true, false},
		"rate != 0.5": {true, false, true},
	} {
		th := Threshold{Metric: "rejected"}
		if err := th.parseExpression(text); err != nil {
			t.Fatal(err)
		}
		for i, value := range []float64{0.4, 0.5, 0.6} {
			if th.Holds(value) != want[i] {
				t.Errorf("%s holds for %v: %v", text, value, th.Holds(value))
			}
		}
	}
}

// Every metric takes every one of its statistics.
func TestEveryStatisticOfEveryMetricParses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(metricNames).Draw(t, "metric")
		stats := metrics[name].stats
		if of := metrics[name].ofLevel; of != nil {
			stats = slices.Concat(stats, of.stats)
		}
		s := rapid.SampledFrom(stats).Draw(t, "statistic")
		text := s.name
		if text == "p" {
			text = "p(50)"
		}
		text += rapid.SampledFrom(operators).Draw(t, "operator")
		if s.unit == Nanoseconds {
			text += "1s"
		} else {
			text += "1"
		}
		th := Threshold{Metric: name}
		if err := th.parseExpression(text); err != nil || th.Unit != s.unit {
			t.Fatalf("%s: %s: %v", name, text, err)
		}
	})
	if len(metrics) != len(metricNames) {
		t.Errorf("%d metrics have %d names", len(metrics), len(metricNames))
	}
}

func FuzzThreshold(f *testing.F) {
	f.Add("wait{workload:mice}", "p(99) < 100ms")
	f.Add(`rejected{reason:"queue-full",flow:a/b}`, "rate==0")
	f.Add("a{:", "(")
	f.Fuzz(func(t *testing.T, key, text string) {
		metric, tags, err := parseMetric(key)
		if err != nil {
			return
		}
		for _, tag := range tags {
			if tag.Name == "" || tag.Value == "" {
				t.Fatalf("%q has an empty tag: %v", key, tags)
			}
		}
		th := Threshold{Metric: metric}
		if metrics[metric] != nil && th.parseExpression(text) == nil {
			th.Holds(0)
			if th.Percentile < 0 || th.Percentile > 100 || th.Limit-th.Limit != 0 {
				t.Fatalf("%q is %+v", text, th)
			}
		}
	})
}
