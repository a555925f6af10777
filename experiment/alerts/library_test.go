package alerts

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/core/rules"
	"apfsim/experiment"
	"apfsim/reports/result"
	"apfsim/scenarios"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
)

var long = flag.Bool("long", false, "evaluate the rules in all scenarios of the library")

const integrations = "../../integrations/prometheus/"

// soonest is how soon after the beginning of an incident one of our alerts must fire.
const soonest = 5 * time.Minute

func readRules(t *testing.T, file string) (groups []*Group, alerts []*Rule) {
	t.Helper()
	groups, err := ReadRules(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Alert != "" {
				alerts = append(alerts, r)
			}
		}
	}
	return groups, alerts
}

// One of our alerts fires soon in each scenario in which flow control rejects requests or lets them wait, and none fires in a healthy
// one. With -long, the scenarios are all of the library, and the tables also say what the published alerts do.
func TestLibrary(t *testing.T) {
	own, ownAlerts := readRules(t, integrations+"rules.yaml")
	published, publishedAlerts := readRules(t, integrations+"published.yaml")
	names := []string{"webhook-deadlock", "lent-seats", "zero-shares", "goaway-chance", "sandbox-claims-insulated-4000"}
	if *long {
		names = scenarios.Names()
	}
	loaded, err := experiment.Load(names, loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	loaded = slices.DeleteFunc(loaded, func(sc *scenario.Scenario) bool { return sc.Spec.Servers.FlowControl != server.PriorityAndFairness })
	runs := Begin(context.Background(), append(own, published...), loaded, usual, noProgress{})
	defer runs.Stop()

	print := func(format string, args ...any) {
		if testing.Verbose() {
			fmt.Printf(format, args...)
		}
	}
	print("| Scenario | Duration | Status | What | Begins | Ours, at | Published, at |\n|---|---|---|---|---|---|---|\n")
	incidents, healthy := 0, 0
	fires, pending, inHealthy := map[*Rule]int{}, map[*Rule]int{}, map[*Rule]int{}
	for _, group := range runs.Groups {
		of, err := runs.Next(context.Background(), group)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range of.Failures {
			t.Errorf("%s: %s: %s: %s", of.Scenario, f.Rule, f.Name, f.Error)
		}
		kind, isHealthy := "another", of.Status == result.OK && !of.FlowControl
		if of.FlowControl {
			kind = "flow control"
			incidents++
		} else if isHealthy {
			kind = "healthy"
			healthy++
		}
		var texts [2][]string
		var first *Summary
		for i, alerts := range [][]*Rule{ownAlerts, publishedAlerts} {
			for _, s := range of.Summaries(alerts) {
				switch {
				case s.FiresNs != nil:
					texts[i] = append(texts[i], s.Rule.Alert+" "+seconds(*s.FiresNs))
					if i == 0 && (first == nil || *s.FiresNs < *first.FiresNs) {
						first = s
					}
					if isHealthy {
						inHealthy[s.Rule]++
					} else if of.FlowControl {
						fires[s.Rule]++
					}
				case s.PendingNs != nil && of.FlowControl:
					pending[s.Rule]++
				}
			}
		}
		begin := "–"
		if of.BeginNs != nil {
			begin = seconds(*of.BeginNs)
		}
		print("| %s | %s | %s | %s | %s | %s | %s |\n", of.Scenario, seconds(of.DurationNs), of.Status, kind, begin, strings.Join(texts[0], ", "), strings.Join(texts[1], ", "))
		switch {
		case of.FlowControl && first == nil:
			t.Errorf("%s: none of our alerts fires: %s", of.Scenario, of.Sentence)
		case of.FlowControl && of.BeginNs != nil && *first.FiresNs > *of.BeginNs+int64(soonest):
			t.Errorf("%s: %s fires at %s, and the incident begins at %s", of.Scenario, first.Rule.Alert, seconds(*first.FiresNs), begin)
		case isHealthy && first != nil:
			t.Errorf("%s: %s fires at %s, and nothing is wrong: %s", of.Scenario, first.Rule.Alert, seconds(*first.FiresNs), of.Sentence)
		}
	}
	if incidents == 0 || healthy == 0 {
		t.Error("there is nothing to tell apart")
	}
	checked := Check(append(own, published...), rules.Default())
	print("\n| Alert | for | Fires in | Pending when the scenario ended | Fires in healthy ones | Never fires on %s, because |\n|---|---|---|---|---|---|\n", checked.Version)
	for _, r := range slices.Concat(ownAlerts, publishedAlerts) {
		dead := ""
		for _, f := range checked.Findings {
			if f.Dead && f.At == r.at.String() {
				dead = f.Why
			}
		}
		print("| %s | %s | %d of %d | %d | %d of %d | %s |\n", r.Alert, r.For, fires[r], incidents, pending[r], inHealthy[r], healthy, dead)
	}
}

// The rules that the project brings can all fire on each release from 1.26 on.
func TestOwnRulesCanFire(t *testing.T) {
	groups, _ := readRules(t, integrations+"rules.yaml")
	tried := 0
	for _, version := range rules.Versions() {
		r, err := rules.For(version)
		if err != nil {
			t.Fatal(err)
		}
		if r.Within("", "1.26") {
			continue
		}
		tried++
		for _, f := range Check(groups, r).Findings {
			t.Errorf("%s: %s: %s", version, f.Name, f.Why)
		}
	}
	if tried == 0 {
		t.Error("no release was tried")
	}
}
