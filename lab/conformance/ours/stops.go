package ours

import (
	"context"
	"encoding/json"
	"fmt"
	"testing/fstest"
	"time"

	"apfsim/lab/conformance/trial"
	"apfsim/sim"
	"apfsim/sim/metric"
	"apfsim/sim/network"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
	simulated "apfsim/sim/server"
)

// Stop returns what is seen of a stop that apfsim simulates, in the order of time.
func Stop(st *trial.Stop) (seen []trial.Seen, err error) {
	workloads := []any{}
	for i := range st.Clients {
		workloads = append(workloads, workloadOf(&st.Clients[i]))
	}
	document := map[string]any{
		"apiVersion": scenario.APIVersion, "kind": scenario.Kind, "metadata": map[string]any{"name": "stop"},
		"spec": map[string]any{
			"duration": "300s",
			"servers": map[string]any{
				"requestTimeout":              st.RequestTimeout.String(),
				"maxRequestsInflight":         st.Seats,
				"maxMutatingRequestsInflight": 0,
				"shutdown": map[string]any{
					"delay":                       st.Shutdown.Delay.String(),
					"sendRetryAfter":              st.Shutdown.SendRetryAfter,
					"watchTerminationGracePeriod": st.Shutdown.WatchTerminationGracePeriod.String(),
					"watchLeak":                   st.Shutdown.WatchLeak,
					"hooks":                       st.Shutdown.Hooks.String(),
					"hookError":                   st.Shutdown.HookError,
				},
			},
			"config":   map[string]any{"base": scenario.BaseMandatory, "files": []string{"config.yaml"}},
			"events":   []any{map[string]any{"at": trial.Before.String(), "stop": map[string]any{"server": 0}}},
			"workload": workloads,
		},
	}
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	objects, err := json.Marshal(st.Objects)
	if err != nil {
		return nil, err
	}
	scenarios, mistakes := loader.Load(fstest.MapFS{"stop.yaml": {Data: text}, "config.yaml": {Data: objects}}, "stop.yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		return nil, err
	}
	run := sim.New(scenarios[0])
	note := func(nowNs int64, who, what string) {
		seen = append(seen, trial.Seen{At: time.Duration(nowNs) - trial.Before, Who: who, What: what})
	}
	name := func(r *simulated.Request) string { return scenarios[0].Spec.Workload[r.Workload].Name }
	run.Observe(simulated.Observer{
		Executed: func(nowNs int64, r *simulated.Request) {
			if r.IsWatch() {
				note(nowNs, name(r), "200")
			}
		},
		Answered: func(nowNs int64, r *simulated.Request) { note(nowNs, name(r), answerTo(r)) },
		Changed: func(nowNs int64, s *simulated.Server) {
			switch s.Stage() {
			case simulated.Draining:
				note(nowNs, trial.Process, trial.Drained)
			case simulated.Off:
				note(nowNs, trial.Process, trial.Gone)
			}
		},
	})
	return seen, run.Execute(context.Background(), nil)
}

// workloadOf returns the workload of a scenario that sends what a client sends.
func workloadOf(c *trial.Client) map[string]any {
	request := map[string]any{"verb": "get", "resource": "pods", "namespace": "n", "name": "x"}
	switch {
	case c.Path != "":
		request = map[string]any{"verb": "get", "path": c.Path}
	case c.Watch:
		request = map[string]any{"verb": "watch", "resource": "pods", "namespace": "n"}
	}
	if c.Log {
		request["subresource"] = "log"
	}
	as := map[string]any{"user": "u"}
	if c.Own {
		as = map[string]any{"user": "system:apiserver", "groups": []string{"system:masters"}}
	}
	connection := network.HTTP2
	if c.PerRequest {
		connection = network.PerRequest
	}
	burst := map[string]any{"at": (trial.Before + c.At).String(), "requests": 1}
	w := map[string]any{
		"name": c.Name, "as": as, "request": request, "connection": connection,
		"execution": c.Execution.String(), "arrivals": map[string]any{"burst": burst},
	}
	if c.Every > 0 {
		burst["every"] = c.Every.String()
		w["stop"] = (trial.Before + c.Until + time.Nanosecond).String()
	}
	return w
}

// answerTo says what the client of a request has received.
func answerTo(r *simulated.Request) string {
	switch {
	case r.Refusal == metric.ConnectionRefused:
		return trial.Refused
	case r.Status == 0:
		return trial.Broken
	case r.IsWatch() && r.Status == simulated.StatusOK:
		return trial.Ends
	case r.RetryAfterSeconds > 0:
		return fmt.Sprintf("%d Retry-After %d", r.Status, r.RetryAfterSeconds)
	}
	return fmt.Sprint(r.Status)
}
