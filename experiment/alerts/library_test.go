package alerts

import (
	"context"
	"fmt"
	"testing"
	"time"

	"apfsim/experiment"
	"apfsim/scenarios"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
)

func TestSurvey(t *testing.T) {
	var groups []*Group
	for _, file := range []string{"rules", "published"} {
		some, err := ReadRules("../../integrations/prometheus/" + file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, some...)
	}
	for _, name := range scenarios.Names() {
		if name == "day-of-5000-nodes" {
			continue
		}
		all, err := experiment.Load([]string{name}, loader.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var loaded []*scenario.Scenario
		for _, sc := range all {
			if sc.Spec.Servers.FlowControl == server.PriorityAndFairness {
				loaded = append(loaded, sc)
			}
		}
		began := time.Now()
		runs := Begin(context.Background(), groups, loaded, usual, noProgress{})
		for _, g := range runs.Groups {
			of, err := runs.Next(context.Background(), g)
			if err != nil {
				fmt.Println("ERROR", name, err)
				break
			}
			var rules []*Rule
			for _, g := range groups {
				for _, r := range g.Rules {
					if r.Alert != "" {
						rules = append(rules, r)
					}
				}
			}
			text := ""
			for _, s := range of.Summaries(rules) {
				if s.FiresNs != nil {
					text += fmt.Sprintf(" %s@%s", s.Rule.Alert, seconds(*s.FiresNs))
				} else if s.PendingNs != nil {
					text += fmt.Sprintf(" (%s@%s)", s.Rule.Alert, seconds(*s.PendingNs))
				}
			}
			begin := "-"
			if of.BeginNs != nil {
				begin = seconds(*of.BeginNs)
			}
			fmt.Printf("%s|%s|%s|begin %s|%v|%s|%s|%.0fs\n", of.Scenario, seconds(of.DurationNs), of.Status, begin, of.Causes, of.Sentence, text, time.Since(began).Seconds())
		}
		runs.Stop()
	}
}
