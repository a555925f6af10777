package metric

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/document"
	"apfsim/document/yaml"
	"apfsim/sim/quantity"
)

// runOfMice is the run that the tests check thresholds for.
func runOfMice() *Run {
	return &Run{Judged: quantity.Duration(time.Minute), Values: map[string][]string{
		TagWorkload:      {"mice"},
		TagFlowSchema:    {"exempt", "service-accounts", "catch-all"},
		TagPriorityLevel: {"exempt", "system", "workload-low", "catch-all"},
	}}
}

// parse decodes thresholds and checks them for a run.
func parse(t *testing.T, text string, run *Run) (Thresholds, document.Errors) {
	t.Helper()
	var thresholds Thresholds
	wrong := yaml.Decode("thresholds", []byte(text), &thresholds)
	more, _ := thresholds.Check(run)
	return thresholds, append(wrong, more...)
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
		all, wrong := parse(t, fmt.Sprintf("{%q: [%q]}", c.key, c.expression), runOfMice())
		if len(all) != 1 || len(wrong) > 0 {
			t.Errorf("%s: %s: %v", c.key, c.expression, wrong)
			continue
		}
		th := all[0]
		got := fmt.Sprintf("%s %v %s(%v) %s %v", th.Metric, th.Tags, th.Stat, th.Percentile, th.Op, th.Limit)
		if got != c.want || th.Key != c.key || th.Text != c.expression {
			t.Errorf("%s: %s is %s, want %s", c.key, c.expression, got, c.want)
		}
	}
}

func TestThresholdsThatAreWrong(t *testing.T) {
	const none = "None"
	for _, c := range []struct{ key, expression, flowControl, want string }{
		{"wiat", "max < 1s", "", `unknown metric wiat (did you mean "wait"?)`},
		{"temperature", "max < 1s", "", "unknown metric temperature; want one of " + strings.Join(names(), ", ")},
		{"wait{worklod:mice}", "max < 1s", "", `wait has no tag worklod (did you mean "workload"?)`},
		{"wait{workload:mouse}", "max < 1s", "", `there is no workload "mouse"; want one of mice`},
		{"wait{flowSchema:service-account}", "max < 1s", "", `there is no flowSchema "service-account" (did you mean "service-accounts"?)`},
		{"wait{priorityLevel:workload-lo}", "max < 1s", "", `there is no priorityLevel "workload-lo" (did you mean "workload-low"?)`},
		{"wait{reason:queue-full}", "max < 1s", "", "wait has no tag reason; want one of workload, flowSchema, priorityLevel, flow, server"},
		{"rejected{reason:queuefull}", "rate < 1", "", `there is no reason "queuefull" (did you mean "queue-full"?)`},
		{"fairness", "jain > 0.9", "", "fairness requires the tag priorityLevel, as in fairness{priorityLevel:workload-low}"},
		{"fairness{workload:mice,priorityLevel:system}", "jain > 0.9", "", "fairness has no tag workload; want one of priorityLevel"},
		{"fairness{priorityLevel:system}", "jain > 95", "", "limit 95: jain of fairness is a fraction from 0 to 1"},
		{"fairness{priorityLevel:system}", "jain > 0.9", none, "there is no fairness with flowControl None"},
		{"waiting", "mean < 1", "", "mean of waiting requires the tag priorityLevel, as in waiting{priorityLevel:workload-low}"},
		{"waiting{workload:mice,priorityLevel:system}", "mean < 1", "", "mean of waiting has no tag workload; want one of priorityLevel, server"},
		{"waiting{priorityLevel:exempt}", "mean < 1", none, "there is no mean of waiting with flowControl None"},
		{"demand{workload:mice}", "seatSeconds > 1", "", "demand has no tag workload; want one of flowSchema, priorityLevel, flow"},
		{"fairShare", "ratio > 1s", "", "limit 1s is a duration; ratio of fairShare is a number without a unit"},
		{"wait{flow:a}", "max < 1s", "MaxInFlight", "there is no flow with flowControl MaxInFlight"},
		{"wait{workload}", "max < 1s", "", `tag "workload" has no value; want tag:value`},
		{"wait{workload:}", "max < 1s", "", "tag workload has no value; want workload:value"},
		{"wait{workload:mice,}", "max < 1s", "", "a tag is missing after the last comma"},
		{"wait{workload:mice,workload:mice}", "max < 1s", "", "duplicate tag workload"},
		{"wait{}", "max < 1s", "", "the braces are empty; want tags as in wait{workload:mice}, or no braces"},
		{"wait{workload:mice", "max < 1s", "", "want a metric, with or without tags, as wait{workload:mice}"},
		{"wait", "max < 1", "", "limit 1 has no unit; want a duration such as 100ms"},
		{"wait", "max < soon", "", `limit "soon" is not a duration; want one such as 100ms`},
		{"wait", "count < 1s", "", "limit 1s is a duration; count of wait is a number without a unit"},
		{"wait", "max = 1s", "", "operator =: want one of < <= > >= == !="},
		{"wait", "max => 1s", "", "operator =>: want one of < <= > >= == !="},
		{"wait", "p101 < 1s", "", "p(101): want a percentile from 0 to 100"},
		{"wait", "p99 < 1 k", "", `limit "1 k" is not a duration; want one such as 100ms`},
		{"arrived", "count > 5 %", "", "limit 5 %: count of arrived is not a share; want a number without %"},
		{"arrived", "count > k", "", `limit "k" is not a number`},
		{"rejected", "rate < 101 %", "", "limit 101 %: rate of rejected is a fraction from 0 to 1"},
		{"wait", "p < 1s", "", `"p < 1s": want a percentile, as p(99)`},
		{"wait", "p(101) < 1s", "", "p(101): want a percentile from 0 to 100"},
		{"wait", "p(NaN) < 1s", "", "p(NaN): want a percentile from 0 to 100"},
		{"wait", "max(3) < 1s", "", "max has no argument: only p has one"},
		{"wait", "maximum < 1s", "", "wait has no statistic maximum; want one of mean, avg, min, med, max, p(N), count"},
		{"rejected", "rat == 0", "", `rejected has no statistic rat (did you mean "rate"?)`},
		{"rejected", "rate == nan", "", `limit "nan" is not a number`},
		{"rejected", "rate", "", `"rate": want a statistic, a comparison and a limit, as rate == 0`},
		{"arrived", "", "", `"": want a statistic, a comparison and a limit, as perSecond > 100`},
	} {
		run := runOfMice()
		run.FlowControl = c.flowControl
		if _, got := parse(t, fmt.Sprintf("{%q: [%q]}", c.key, c.expression), run); len(got) != 1 || got[0].Message != c.want {
			t.Errorf("%s: %q: errors\n%v\nwant\n%s", c.key, c.expression, got, c.want)
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
	for _, m := range registry {
		for _, s := range m.Statistics {
			text := strings.Replace(s.printed(), "N", "50", 1) + " > 1"
			if s.Unit == Nanoseconds {
				text += "s"
			}
			th := Threshold{Metric: m.Name}
			if err := th.parseExpression(text); err != nil || th.Unit != s.Unit {
				t.Errorf("%s: %s: unit %q, error %v", m.Name, text, th.Unit, err)
			}
			if found, _ := Find(m.Name, s.Name); found == nil || found.Required != m.Required {
				t.Errorf("%s of %s is found in another entry", s.Name, m.Name)
			}
		}
		// The example is a valid threshold.
		th := Threshold{Metric: m.Name}
		if err := th.parseExpression(m.Example); err != nil {
			t.Errorf("%s: %s: %v", m.Name, m.Example, err)
		}
	}
}

// Entries are complete, and what they refer to exists.
func TestRegistryIsComplete(t *testing.T) {
	sentence := func(name, help string) {
		if len(help) < 8 || !strings.HasSuffix(help, ".") || strings.ToUpper(help[:1]) != help[:1] {
			t.Errorf("%s: %q is not a sentence", name, help)
		}
	}
	seen := map[string]bool{}
	for i, m := range registry {
		sentence(m.Name, m.Help)
		if seen[m.Name] && registry[i-1].Name != m.Name {
			t.Errorf("the entries of %s do not follow each other", m.Name)
		}
		seen[m.Name] = true
		for _, tag := range m.Tags {
			if keyOf(tag) == nil {
				t.Errorf("%s has the unknown tag %s", m.Name, tag)
			}
		}
		if m.Required != "" && !slices.Contains(m.Tags, m.Required) {
			t.Errorf("%s does not take the tag %s that it requires", m.Name, m.Required)
		}
		for _, s := range m.Statistics {
			sentence(m.Name+"."+s.Name, s.Help)
			if s.Alias != "" {
				if _, found := Find(m.Name, s.Alias); found == nil || found.Unit != s.Unit || found.Better != s.Better {
					t.Errorf("%s.%s is no alias of %s", m.Name, s.Name, s.Alias)
				}
			}
			if s.Fraction && (!s.Percent || s.Unit != NoUnit) {
				t.Errorf("%s.%s: a fraction has no unit and is printed in percent", m.Name, s.Name)
			}
		}
	}
	for _, k := range keys {
		sentence(k.Name, k.Help)
		if m := Named("rejected"); k.Name == TagReason && m.ReasonIndex(k.Example) < 0 {
			t.Errorf("%s: the example %s is not a reason of %s", k.Name, k.Example, m.Name)
		}
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
		if Named(metric) != nil && th.parseExpression(text) == nil {
			th.Holds(0)
			if th.Percentile < 0 || th.Percentile > 100 || th.Limit-th.Limit != 0 {
				t.Fatalf("%q is %+v", text, th)
			}
		}
	})
}
