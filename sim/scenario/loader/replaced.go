package loader

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/document"
	"apfsim/sim/scenario"
	"apfsim/sim/workload"
)

// replaced returns the objects of the scenario's own configuration without the base, which a replacement leaves
// out. What is wrong with them has no effect, and is not reported.
func (r *reading) replaced() *config.Objects {
	s := r.scenario
	quiet := reading{fsys: r.fsys, path: r.path, cache: r.cache, scenario: &scenario.Scenario{File: s.File}, rules: r.rules,
		check: document.Checker{Document: r.check.Document}}
	own := quiet.overlayAll(config.Objects{}, "spec.config", s.Spec.Config.Files, s.Spec.Config.Objects)
	return &own
}

// warnReplaced warns of the scenario's own objects that a replacement of its configuration does not have, and of the
// requests that match catch-all without them.
func (r *reading) warnReplaced(own config.Objects) {
	s := r.scenario
	var schemas, levels []string
	for _, f := range own.FlowSchemas {
		if now := s.Objects.FlowSchema(f.Name); now == nil || len(config.Differences(f.Spec, now.Spec)) > 0 && now.Origin == nil {
			schemas = append(schemas, f.Name)
		}
	}
	for _, l := range own.PriorityLevels {
		if now := s.Objects.PriorityLevel(l.Name); now == nil || len(config.Differences(l.Spec, now.Spec)) > 0 && now.Origin == nil {
			levels = append(levels, l.Name)
		}
	}
	var dropped []string
	for _, objects := range []struct {
		kind  string
		names []string
	}{{"FlowSchema", schemas}, {"PriorityLevelConfiguration", levels}} {
		if len(objects.names) > 0 {
			dropped = append(dropped, objects.kind+" "+listed(objects.names))
		}
	}
	if len(dropped) == 0 {
		return
	}
	r.check.Warn("spec.config", "--config replaces the whole configuration, and drops the scenario's %s; --add-config adds to it instead",
		strings.Join(dropped, "; "))

	base := config.Suggested(r.rules)
	if s.Spec.Config.Base == scenario.BaseMandatory {
		base = config.Mandatory(r.rules)
	}
	before, after := classifier(config.Complete(r.rules, config.Merge(base, own))), classifier(s.Objects)
	var moved []string
	for i := range s.Spec.Workload {
		w := &s.Spec.Workload[i]
		if share := newlyCaughtAll(w, before, after); share > 0 {
			moved = append(moved, fmt.Sprintf("%s (%.3g %% of its requests)", w.Name, 100*share))
		}
	}
	if len(moved) > 0 {
		r.check.Warn("spec.config", "without these objects, requests match no FlowSchema but catch-all that match another one with them: those of %s", listed(moved))
	}
}

// listed returns names separated by commas, at most ten.
func listed(names []string) string {
	const most = 10
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// classifier returns the classifier of a configuration. A FlowSchema whose level is missing is left out, as by a server.
func classifier(o config.Objects) *classify.Classifier {
	return classify.New(slices.DeleteFunc(slices.Clone(o.FlowSchemas), func(f *config.FlowSchema) bool {
		return o.PriorityLevel(f.Spec.PriorityLevelConfiguration.Name) == nil
	}))
}

// newlyCaughtAll returns the share of the requests of a workload that match catch-all by one classifier and not by
// another, by the weights of the requests and over its first clients. It is 0 for behaviours and traces, whose requests
// are not known before the run.
func newlyCaughtAll(w *workload.Workload, before, after *classify.Classifier) float64 {
	const mostClients = 1000
	var all, moved float64
	for i := range w.Requests {
		q := &w.Requests[i]
		for client := range min(w.Clients, mostClients) {
			a, _ := q.Attributes(&w.As, client)
			all += q.Weight
			if b, n := before.Match(&a), after.Match(&a); n != nil && n.Name == config.CatchAll && b != nil && b.Name != config.CatchAll {
				moved += q.Weight
			}
		}
	}
	if all == 0 {
		return 0
	}
	return moved / all
}
