package metric

import (
	"math"
	"strings"
	"testing"
)

func TestQuotients(t *testing.T) {
	for text, want := range map[string]string{
		"wait{workload:mice}.p99":                              "wait{workload:mice}.p(99)",
		" rejected.rate ":                                      "rejected.rate",
		"other-one:rejected.rate":                              "other-one:rejected.rate",
		"wait.p99/other:wait.p99":                              "wait.p(99) / other:wait.p(99)",
		"bytesSent.count / executed.count":                     "bytesSent.count / executed.count",
		"wait{flow:a/b}.max / x:wait{flow:\"a/}b\"}.max":       "wait{flow:a/b}.max / x:wait{flow:a/}b}.max",
		"a:latency{workload:w}.p(50) / b:latency.mean":         "a:latency{workload:w}.med / b:latency.mean",
		"listTime{workload:a}.mean / old:listTime{workload:a}": "",
		"wait.p99 / ":                                          "",
		"/ wait.p99":                                           "",
		"Other:wait.p99":                                       "",
		"nonsense.count":                                       "",
	} {
		q, err := ParseQuotient(text)
		switch {
		case want == "":
			if err == nil {
				t.Errorf("%q is %v, and there is no error", text, q)
			}
		case err != nil || q.String() != want:
			t.Errorf("%q is %v (%v), want %s", text, q, err, want)
		}
	}
}

func TestUnitsOfQuotients(t *testing.T) {
	for _, c := range []struct {
		text, unit        string
		dividend, divisor float64
		want              float64 // NaN: none
		problem           string
	}{
		{"wait.max", "ms", 2e6, 0, 2, ""},
		{"wait.max", "min", 9e10, 0, 1.5, ""},
		{"wait.max", "%", 0, 0, 0, "is a duration"},
		{"wait.max / x:wait.max", "", 30, 3, 10, ""},
		{"wait.max / x:wait.max", "s", 0, 0, 0, "is a unit of time"},
		{"wait.max / x:wait.max", "ratio", 1, 0, math.NaN(), ""},
		{"rejected.rate", "%", 0.25, 0, 25, ""},
		{"rejected.rate", "kB", 0, 0, 0, "is not a number of bytes"},
		{"bytesSent.count", "GB", 2.5e9, 0, 2.5, ""},
		{"bytesSent.count", "lists", 0, 0, 0, "is a number of bytes"},
		{"bytesSent.count / executed.count", "MiB", 3 << 20, 2, 1.5, ""},
		{"cpu{server:0}.seconds / executed.count", "ms", 2, 4, 500, ""},
		{"executed.count / wait.max", "", 0, 0, 0, "different kinds"},
	} {
		q, err := ParseQuotient(c.text)
		if err != nil {
			t.Fatal(err)
		}
		factor, err := q.InUnit(c.unit)
		if c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s in %q: error %v, want one with %q", c.text, c.unit, err, c.problem)
			}
			continue
		}
		if got := q.Value(factor, c.dividend, c.divisor); err != nil || got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s in %q is %v (%v), want %v", c.text, c.unit, got, err, c.want)
		}
	}
}
