package metric

import (
	"strings"
	"testing"
)

func TestParseName(t *testing.T) {
	for text, want := range map[string]string{
		"wait.p(99)": "wait.p(99)",
		" wait { workload : mice } . p( 99.90 ) ":     "wait{workload:mice}.p(99.9)",
		"wait{workload:mice}.avg":                     "wait{workload:mice}.mean",
		"latency.p(50)":                               "latency.med",
		"latency.p(0)":                                "latency.min",
		"latency.p(100)":                              "latency.max",
		"latency.count":                               "executed.count",
		"rejectedWait{workload:mice}.count":           "rejected{workload:mice}.count",
		"wait.count":                                  "wait.count",
		"arrived":                                     "arrived.count",
		"starvation":                                  "starvation.max",
		"wait{workload:a}.p99":                        "wait{workload:a}.p(99)",
		"latency.p99.9":                               "latency.p(99.9)",
		"rejected{reason:time-out}.rate":              "timedOut.rate",
		"rejected{reason:queue-full,workload:a}.rate": "rejected{workload:a,reason:queue-full}.rate",
		`wait{flow:"a/b,c"}.mean`:                     `wait{flow:"a/b,c"}.mean`,
		`wait{flow:"a/b.c"}.mean`:                     `wait{flow:a/b.c}.mean`,
		`wait{flow:a}b.c}.mean`:                       `wait{flow:a}b.c}.mean`,
		"fairness{priorityLevel:low}.jain":            "fairness{priorityLevel:low}.jain",
		"waiting{priorityLevel:low}":                  "waiting{priorityLevel:low}.count",
		"waiting{priorityLevel:low}.mean":             "waiting{priorityLevel:low}.mean",
		"demand{flow:a/b}":                            "demand{flow:a/b}.seatSeconds",
		"fairShare{flowSchema:a}.ratio":               "fairShare{flowSchema:a}.ratio",
	} {
		s, err := ParseName(text)
		if err != nil || s.String() != want {
			t.Errorf("%s: %v, %v; want %s", text, s, err, want)
			continue
		}
		if again, err := ParseName(s.String()); err != nil || again.String() != want {
			t.Errorf("%s: read again: %v, %v", s, again, err)
		}
	}
	for text, want := range map[string]string{
		"":                             "want a statistic",
		"wiat.p(99)":                   `unknown metric wiat (did you mean "wait"?)`,
		"wait":                         "want a dot and one of its statistics: mean, avg, min, med, max, p(N), count",
		"wait.p101":                    "want a percentile from 0 to 100",
		"wait.p":                       "want a percentile",
		"wait.p(101)":                  "want a percentile from 0 to 100",
		"wait.max(3)":                  "max has no argument",
		"wait.maximum":                 "wait has no statistic maximum",
		"wait.p(99) < 3":               "is not a statistic",
		"wait{workloads:mice}.p(99)":   `has no tag workloads (did you mean "workload"?)`,
		"wait{}.p(99)":                 "braces are empty",
		"fairness.jain":                "requires the tag priorityLevel",
		"utilisation{workload:a}.peak": "has no tag workload",
		"waiting.mean":                 "mean of waiting requires the tag priorityLevel, as in waiting{priorityLevel:workload-low}",
		"waiting{workload:a,priorityLevel:low}.mean": "mean of waiting has no tag workload; want one of priorityLevel",
		"waiting.min": "waiting has no statistic min; want one of count, rate, mean, max",
		"fairShare":   "want a dot and one of its statistics: seatSeconds, ratio",
	} {
		if s, err := ParseName(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %s", text, s, err, want)
		}
	}
}

func FuzzParseName(f *testing.F) {
	f.Add("wait{workload:mice}.p(99)")
	f.Add(`rejected{reason:time-out,flow:"a,b"}.rate`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseName(text)
		if err != nil {
			return
		}
		again, err := ParseName(s.String())
		if err != nil || again.String() != s.String() {
			t.Fatalf("%q is %q, and that %q, %v", text, s, again, err)
		}
	})
}
