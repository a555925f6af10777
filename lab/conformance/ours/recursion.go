package ours

import (
	"context"
	"encoding/json"
	"fmt"
	"testing/fstest"
	"time"

	"apfsim/core/queueset"
	"apfsim/lab/conformance/trial"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
	simulated "apfsim/sim/server"
	"apfsim/sim/workload"
)

// Recursion returns what becomes of creations and of the callbacks that they wait for, as apfsim simulates it,
// in the order of time.
func Recursion(rec *trial.Recursion) (seen []trial.Seen, err error) {
	outer, webhook := map[string]any{"user": "u{i}"}, map[string]any{"user": "webhook"}
	switch rec.Exempt {
	case trial.Outer:
		outer["groups"] = []string{"system:masters"}
	case trial.Callback:
		webhook["groups"] = []string{"system:masters"}
	}
	back := map[string]any{
		"as": webhook, "execution": rec.Callback.String(), "whenGivenUp": workload.Cancel,
		"request": map[string]any{"verb": "get", "resource": "namespaces", "name": "n"},
	}
	if rec.Continue {
		back["whenGivenUp"] = workload.Continue
	}
	call := map[string]any{"name": "policy", "kind": "ValidatingWebhook", "timeout": rec.Timeout.String(), "failurePolicy": workload.Fail, "callback": back}
	if rec.Ignore {
		call["failurePolicy"] = workload.Ignore
	}
	document, err := json.Marshal(map[string]any{
		"apiVersion": scenario.APIVersion, "kind": scenario.Kind, "metadata": map[string]any{"name": "recursion"},
		"spec": map[string]any{
			"duration": "60s",
			"servers":  map[string]any{"maxRequestsInflight": rec.Seats, "maxMutatingRequestsInflight": 0},
			"config":   map[string]any{"base": scenario.BaseMandatory, "files": []string{"config.yaml"}},
			"workload": []any{map[string]any{
				"name": "outers", "clients": rec.Outers, "as": outer,
				"request":   map[string]any{"verb": "create", "resource": "pods", "namespace": "n", "calls": []any{call}},
				"execution": rec.Execution.String(), "arrivals": map[string]any{"burst": map[string]any{"requests": 1}},
			}},
		},
	})
	if err != nil {
		return nil, err
	}
	objects, err := json.Marshal(rec.Objects)
	if err != nil {
		return nil, err
	}
	files := fstest.MapFS{"recursion.yaml": {Data: document}, "config.yaml": {Data: objects}}
	scenarios, mistakes := loader.Load(files, "recursion.yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		return nil, err
	}
	run := sim.New(scenarios[0])
	note := func(nowNs int64, r *simulated.Request, what string) {
		who := trial.Outer
		if r.Details.Parent != 0 {
			who = trial.Callback
		}
		seen = append(seen, trial.Seen{At: time.Duration(nowNs), Who: who, What: what})
	}
	run.Observe(simulated.Observer{
		Dispatched: func(nowNs int64, r *simulated.Request) { note(nowNs, r, trial.Dispatched) },
		Rejected:   func(nowNs int64, r *simulated.Request) { note(nowNs, r, trial.Left) },
		Answered: func(nowNs int64, r *simulated.Request) {
			if r.Status != 0 && (r.Details.Parent == 0 || r.Rejection == queueset.NotRejected) {
				note(nowNs, r, fmt.Sprint(r.Status))
			}
		},
	})
	return seen, run.Execute(context.Background(), nil)
}
