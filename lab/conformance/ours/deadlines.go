package ours

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"apfsim/core/queueset"
	"apfsim/lab/conformance/trial"
	"apfsim/sim"
	"apfsim/sim/scenario/loader"
	simulated "apfsim/sim/server"
)

// Deadlines returns what becomes of a trial without changes, and what is answered, as apfsim simulates it:
// also to the clients that hang up.
func Deadlines(t *trial.Trial) ([]trial.Decision, []trial.Answer, error) {
	files, err := scenarioFiles(t)
	if err != nil {
		return nil, nil, err
	}
	var document map[string]any
	if err := json.Unmarshal(files["scenario.yaml"].Data, &document); err != nil {
		return nil, nil, err
	}
	// Each request has a workload of its own, so that its client can have its own time.
	hangUps := t.HangUpsNs()
	workloads := []any{}
	lines := bytes.SplitAfter(files["trace.jsonl"].Data, []byte("\n"))
	for i := range t.Requests {
		file := fmt.Sprintf("%d.jsonl", i)
		one := *files["trace.jsonl"]
		one.Data = lines[i]
		files[file] = &one
		w := map[string]any{"name": file, "arrivals": map[string]any{"trace": map[string]any{"file": file}}}
		if hangUps[i] > 0 {
			w["clientTimeout"] = fmt.Sprint(time.Duration(hangUps[i]))
		}
		workloads = append(workloads, w)
	}
	document["spec"].(map[string]any)["workload"] = workloads
	if files["scenario.yaml"].Data, err = json.Marshal(document); err != nil {
		return nil, nil, err
	}
	scenarios, mistakes := loader.Load(files, "scenario.yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		return nil, nil, err
	}
	run := sim.New(scenarios[0])
	decisions, answers := make([]trial.Decision, len(t.Requests)), make([]trial.Answer, len(t.Requests))
	run.Observe(simulated.Observer{
		Dispatched: func(nowNs int64, r *simulated.Request) { decisions[r.ID-1].DispatchNs = nowNs },
		Executed:   func(nowNs int64, r *simulated.Request) { decisions[r.ID-1].EndNs = nowNs },
		Answered: func(nowNs int64, r *simulated.Request) {
			decisions[r.ID-1].Rejected = r.Rejection != queueset.NotRejected
			answers[r.ID-1] = trial.Answer{AtNs: nowNs, Status: int(r.Status)}
		},
	})
	return decisions, answers, run.Execute(context.Background(), nil)
}
