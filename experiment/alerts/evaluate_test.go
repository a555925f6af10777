package alerts

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"apfsim/reports/record"
)

// A gauge that is sampled and evaluated each minute, from 0:00 on; – is no sample, and s the end of the series. Alerts fire as the
// comment of Prometheus' documentation of for and keep_firing_for says.
func TestForAndKeepFiringFor(t *testing.T) {
	for _, test := range []struct{ rule, values, want string }{
		{"for: 0s", "0 2 2 0 0", "pending 1m fires 1m ends 3m"},
		{"for: 2m", "0 2 2 2 2 0", "pending 1m fires 3m ends 5m"},
		{"for: 2m", "0 2 2 0 2 2 2", "pending 1m never fires ends 3m; pending 4m fires 6m"}, // a gap begins anew
		{"for: 1m, keep_firing_for: 2m", "2 2 0 0 0 0 0", "pending 0s fires 1m ends 4m"},
		{"for: 1m, keep_firing_for: 2m", "2 2 0 2 0 0 0", "pending 0s fires 1m ends 6m"}, // the time is counted anew
		{"for: 1m, keep_firing_for: 2m", "2 0 0 0 0 0 0", "pending 0s never fires ends 1m"},
		{"for: 1m", "2 s – – – –", "pending 0s never fires ends 1m"}, // a stale series has no value
		{"for: 1m", "2 – – – – – –", "pending 0s fires 1m ends 5m"},  // without an end, the value is kept for 5 minutes
		{"for: 1m", "2 2 2", "pending 0s fires 1m"},                  // and is not resolved
		{"for: 1m, labels: {a: b}", "0 0 0 0", ""},
	} {
		groups, err := ParseRules("rules.yaml", []byte("groups: [{name: g, rules: [{alert: A, expr: x > 1, "+test.rule+"}]}]"))
		if err != nil {
			t.Fatal(err)
		}
		data, n := newDatabase(), 0
		for i, text := range strings.Fields(test.values) {
			n = i
			value := 0.0
			switch text {
			case "–":
				continue
			case "s":
				value = record.Stale
			default:
				fmt.Sscan(text, &value)
			}
			data.add(labels.FromStrings("__name__", "x", "instance", "i"), int64(i)*60_000, value)
		}
		e, err := evaluate(context.Background(), data, groups, 0, time.Duration(n)*time.Minute, Options{Scrape: time.Minute, Evaluate: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range e.all {
			text := "pending " + seconds(a.PendingNs) + " never fires"
			if a.FiresNs != nil {
				text = "pending " + seconds(a.PendingNs) + " fires " + seconds(*a.FiresNs)
			}
			if a.EndNs != nil {
				text += " ends " + seconds(*a.EndNs)
			}
			got = append(got, text)
		}
		if strings.Join(got, "; ") != test.want {
			t.Errorf("%s: %s: got %s, want %s", test.rule, test.values, strings.Join(got, "; "), test.want)
		}
	}
}

// A recorded series has the labels of its group and rule, ends with its expression, and is there for the rules after it. A group has an
// interval of its own.
func TestRecordedSeries(t *testing.T) {
	groups, err := ParseRules("rules.yaml", []byte(`
groups:
- name: g
  interval: 2m
  labels: {from: group, team: a}
  rules:
  - {record: "y:double", expr: 2 * x > 2, labels: {team: b}}
  - {alert: A, expr: "y:double{from=\"group\", team=\"b\"} == 4"}
`))
	if err != nil {
		t.Fatal(err)
	}
	data := newDatabase()
	for i, value := range []float64{2, 2, 1, 2, 2} {
		data.add(labels.FromStrings("__name__", "x"), int64(i)*60_000, value)
	}
	e, err := evaluate(context.Background(), data, groups, 0, 4*time.Minute, Options{Scrape: time.Minute, Evaluate: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	y := data.byName["y:double"][0]
	if got := fmt.Sprint(y.labels, y.atMs, y.values); got != `{__name__="y:double", from="group", team="b"} [0 120000 240000] [4 NaN 4]` || math.Float64bits(y.values[1]) != math.Float64bits(record.Stale) {
		t.Errorf("recorded %s", got)
	}
	if all := e.all; len(all) != 2 || *all[0].EndNs != int64(2*time.Minute) || all[1].EndNs != nil || all[1].Labels["team"] != "a" {
		t.Errorf("alerts %+v", e.all)
	}
}

// A rule that fails leaves the other rules as they are. Prometheus forgets the alerts of a rule with more of them than the limit.
func TestFailures(t *testing.T) {
	groups, err := ParseRules("r.yaml", []byte(`
groups:
- name: g
  limit: 1
  rules:
  - {alert: One, expr: x > 1}
  - {alert: Many, expr: sum by (i) (x) > 2}
  - {alert: Twice, expr: 'label_replace(x, "i", "same", "", "") > 0'}
  - {record: "many:x", expr: x}
  - {alert: Long, expr: "sum_over_time(vector(1)[1y:1ms]) > 0"}
  - {alert: Nested, expr: "max_over_time(sum_over_time(x[1d:1m])[30d:1m]) > 0"}
  - {alert: Kind, expr: '"text"'}
`))
	if err != nil {
		t.Fatal(err)
	}
	data := newDatabase()
	for minute, values := range [][]float64{{3, 0}, {3, 3}, {3, 0}} {
		for i, x := range values {
			data.add(labels.FromStrings("__name__", "x", "i", fmt.Sprint(i)), int64(minute)*60_000, x)
		}
	}
	e, err := evaluate(context.Background(), data, groups, 0, 2*time.Minute, Options{Scrape: time.Minute, Evaluate: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range e.failures {
		got = append(got, fmt.Sprintf("%s %s %d %s", f.Name, seconds(f.FirstNs), f.Times, f.Error))
	}
	for _, a := range e.all {
		text := a.Name + " " + seconds(a.PendingNs)
		if a.EndNs != nil {
			text += " to " + seconds(*a.EndNs)
		}
		got = append(got, text)
	}
	want := strings.Join([]string{
		"Twice 0s 3 vector cannot contain metrics with the same labelset",
		"many:x 0s 3 exceeded limit of 1 with 2 series",
		"Long 0s 3 vector(1)[1y:1ms] has 31536000000 steps at once; want at most 10000000",
		"Nested 0s 3 x[1d:1m] has 62208000 steps at once; want at most 10000000",
		"Kind 0s 3 the expression yields a string; want a vector or a scalar",
		"One 1m 1 exceeded limit of 1 with 2 alerts",
		"Many 1m 1 exceeded limit of 1 with 2 alerts",
		"One 0s to 1m", "Many 0s to 1m", "One 2m", "Many 2m",
	}, "\n")
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// What is wrong with a file of rules is said with its place.
func TestWrongRules(t *testing.T) {
	for text, want := range map[string]string{
		"":              "r.yaml: is empty",
		"groups: []":    "r.yaml: groups: is empty; want groups of rules",
		"a: 1":          "r.yaml:1:1: groups: is missing; want a file of rules of Prometheus, or an object PrometheusRule",
		"kind: Service": "r.yaml:1:7: kind: is Service; want PrometheusRule",
		"groups: [{name: g, rules: [{alert: A, expr: 'sum(x'}]}]":      "r.yaml:1:45: groups[0].rules[0].expr: 1:6: parse error: unclosed left parenthesis",
		"groups: [{name: g, rules: [{alert: A, exp: x}]}]":             `r.yaml:1:39: groups[0].rules[0].exp: unknown field (did you mean "expr"?)`,
		"groups: [{name: g, rules: [{expr: x}]}]":                      "groups[0].rules[0]: has neither alert nor record",
		"groups: [{name: g, rules: [{record: a, alert: b, expr: x}]}]": "groups[0].rules[0]: has both alert and record",
		"groups: [{name: g, rules: [{alert: A, expr: x, for: 5}]}]":    `groups[0].rules[0].for: "5" is not a duration; want one such as 5m or 1h30m`,
		"groups: [{name: g, rules: [{record: a, expr: x, for: 5m}]}]":  "records a series; for, keep_firing_for and annotations are of alerts only",
		"groups: [{name: g, rules: [{record: a, expr: [x]}]}]":         "is a list; want an expression",
		"groups: [{name: g}, {name: g}]":                               `r.yaml:1:21: groups[1]: two groups are named "g"; want different names`,
		"kind: List\nitems: [{kind: PrometheusRule, spec: {}}]":        "items[0].spec.groups: is missing",
	} {
		if _, err := ParseRules("r.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "list.yaml")
	if err := os.WriteFile(file, []byte("kind: List\nitems:\n"+
		"- {kind: PrometheusRule, spec: {groups: [{name: g, rules: [{alert: A, expr: 1}]}]}}\n"+
		"- {kind: PrometheusRule, spec: {groups: [{name: g, rules: [{alert: B, expr: 1}]}]}}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if groups, err := ReadRules(file); err != nil || len(groups) != 2 || groups[0].Rules[0].Alert != "A" || groups[1].Rules[0].Alert != "B" {
		t.Errorf("got %v, %v", groups, err)
	}
}

// FuzzParseRules: whatever the file is, there are rules or errors.
func FuzzParseRules(f *testing.F) {
	f.Add([]byte("groups: [{name: g, rules: [{alert: A, expr: sum(x) > 1, for: 5m}]}]"))
	f.Add([]byte("kind: List\nitems: [{kind: PrometheusRule, spec: {groups: [{name: a, rules: [null]}]}}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		groups, err := ParseRules("r.yaml", text)
		if err == nil && len(groups) == 0 {
			t.Error("neither rules nor an error")
		}
	})
}
