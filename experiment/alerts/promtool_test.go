package alerts

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"apfsim/reports/record"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// Unit tests of promtool, in the fields that are needed.
type (
	unitTests struct {
		RuleFiles []string   `json:"rule_files"`
		Interval  string     `json:"evaluation_interval"`
		Order     []string   `json:"group_eval_order"` // else it is random
		Tests     []unitTest `json:"tests"`
	}
	unitTest struct {
		Interval string       `json:"interval"`
		Series   []unitSeries `json:"input_series"`
		Alerts   []unitAlerts `json:"alert_rule_test"`
	}
	unitSeries struct {
		Series string `json:"series"`
		Values string `json:"values"`
	}
	unitAlerts struct {
		At     string      `json:"eval_time"`
		Name   string      `json:"alertname"`
		Alerts []unitAlert `json:"exp_alerts"`
	}
	unitAlert struct {
		Labels map[string]string `json:"exp_labels"`
	}
)

// promtool fires the same alerts, at each evaluation of the same series: of ours and of the published, in a run with rejections, and
// in one whose servers restart.
func TestPromtoolFiresTheSameAlerts(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed; Debian has it in the package prometheus")
	}
	// Each evaluation is later than a scrape: whether a range has a sample at its very beginning differs between Prometheus 2 and 3.
	const step, delay = 30 * time.Second, 10 * time.Second
	for _, name := range []string{"palark-node-lists-own-level", "crash-and-reconnect"} {
		for _, file := range []string{"rules.yaml", "published.yaml"} {
			groups, alerts := readRules(t, integrations+file)
			options := usual
			options.Lead, options.delay = 3*time.Minute, delay
			of, data := run(t, groups, name, options)
			rules := map[string]any{}
			var list []any
			var order []string
			for _, g := range groups {
				var all []any
				for _, r := range g.Rules { // without annotations, which the tests would have to repeat
					rule := map[string]any{"expr": string(r.Expr), "labels": r.Labels, "record": r.Record}
					if r.Alert != "" {
						rule = map[string]any{"expr": string(r.Expr), "labels": r.Labels, "alert": r.Alert, "for": r.For.String()}
					}
					all = append(all, rule)
				}
				list, order = append(list, map[string]any{"name": g.Name, "rules": all}), append(order, g.Name)
			}
			rules["groups"] = list
			one := unitTest{Interval: delay.String(), Series: unitSeriesOf(data, of.startMs-options.Lead.Milliseconds()-(step-delay).Milliseconds(), delay)}
			fired := 0
			for at := delay - options.Lead; at <= time.Duration(of.DurationNs); at += step {
				for _, r := range alerts {
					want := unitAlerts{At: (at + options.Lead + step - delay).String(), Name: r.Alert, Alerts: []unitAlert{}}
					for _, a := range of.Alerts {
						if a.rule == r && a.FiresNs != nil && *a.FiresNs <= int64(at) && (a.EndNs == nil || int64(at) < *a.EndNs) {
							want.Alerts = append(want.Alerts, unitAlert{a.Labels})
							fired++
						}
					}
					one.Alerts = append(one.Alerts, want)
				}
			}
			if fired == 0 && name == "palark-node-lists-own-level" {
				t.Errorf("%s: no alert fires", file)
			}
			dir := t.TempDir()
			for to, content := range map[string]any{"rules.yaml": rules, "test.yaml": unitTests{[]string{"rules.yaml"}, step.String(), order, []unitTest{one}}} {
				text, err := json.Marshal(content)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, to), text, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("promtool", "test", "rules", "test.yaml")
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s, %s: %v\n%.3000s", name, file, err, out)
			}
		}
	}
}

// unitSeriesOf writes the series that were scraped, which rules have not recorded.
func unitSeriesOf(data *database, fromMs int64, step time.Duration) (all []unitSeries) {
	for _, name := range slices.Sorted(maps.Keys(data.byName)) {
		for _, s := range data.byName[name] {
			if name == "ALERTS" || strings.Contains(name, ":") {
				continue
			}
			var b labels.Builder
			b.Reset(s.labels)
			b.Del(model.MetricNameLabel)
			values := slices.Repeat([]string{"_"}, int((s.atMs[len(s.atMs)-1]-fromMs)/step.Milliseconds())+1)
			for i, at := range s.atMs {
				text := strconv.FormatFloat(s.values[i], 'g', -1, 64)
				if math.Float64bits(s.values[i]) == math.Float64bits(record.Stale) {
					text = "stale"
				}
				values[(at-fromMs)/step.Milliseconds()] = text
			}
			all = append(all, unitSeries{fmt.Sprintf("%s%s", name, b.Labels()), strings.Join(values, " ")})
		}
	}
	return all
}
