package ours

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing/fstest"
	"time"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/lab/conformance/trial"
	"apfsim/reports/record"
	"apfsim/sim"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

// Replay returns what apfsim makes of a trial as its users run it: a scenario whose
// workload is a trace, and the request log of its run. There are no snapshots, and final
// seats are those after dispatch.
func Replay(t *trial.Trial) (trial.Result, error) { return ReplayInPhase(t, 0) }

// ReplayInPhase is Replay with the periodic adjustments at phaseNs and every period after it.
func ReplayInPhase(t *trial.Trial, phaseNs int64) (trial.Result, error) {
	sc, err := toScenario(t)
	if err != nil {
		return trial.Result{}, err
	}
	sc.Spec.Servers.AdjustmentPhase.After = quantity.Duration(phaseNs)
	run := sim.New(sc, sim.IgnoreDeadlines) // upstream's flow control is run without the filter for timeouts
	var log bytes.Buffer
	lines := record.NewRequestLog(&log, sc)
	run.Observe(lines.Observer())
	if err := run.Execute(context.Background(), nil); err != nil {
		return trial.Result{}, err
	}
	if err := lines.Close(); err != nil {
		return trial.Result{}, err
	}
	var result trial.Result
	for decoder := json.NewDecoder(&log); decoder.More(); {
		var l logLine
		if err := decoder.Decode(&l); err != nil {
			return trial.Result{}, err
		}
		result.Decisions = append(result.Decisions, l.decision())
	}
	return result, nil
}

func toScenario(t *trial.Trial) (*scenario.Scenario, error) {
	files, err := scenarioFiles(t)
	if err != nil {
		return nil, err
	}
	scenarios, mistakes := loader.Load(files, "scenario.yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		return nil, err
	}
	return scenarios[0], nil
}

// scenarioFiles writes a trial down as a scenario. JSON is YAML.
func scenarioFiles(t *trial.Trial) (fstest.MapFS, error) {
	last := int64(0)
	var trace bytes.Buffer
	encoder := json.NewEncoder(&trace)
	for i := range t.Requests {
		r := &t.Requests[i]
		last = max(last, r.ArrivalNs+r.ExecutionNs+int64(time.Minute))
		if err := encoder.Encode(r); err != nil {
			return nil, err
		}
	}
	for _, c := range t.Changes {
		last = max(last, c.AtNs)
	}
	resources := []map[string]any{}
	for _, r := range t.Resources {
		resources = append(resources, map[string]any{
			"group": r.Group, "resource": r.Resource, "objects": r.Objects, "averageBytes": r.AverageBytes})
	}
	document, err := json.Marshal(map[string]any{
		"apiVersion": scenario.APIVersion, "kind": scenario.Kind, "metadata": map[string]any{"name": "trial"},
		"spec": map[string]any{
			"duration": fmt.Sprint(time.Duration(last + 1)),
			"servers": map[string]any{
				"maxRequestsInflight":         t.MaxRequestsInflight,
				"maxMutatingRequestsInflight": t.MaxMutatingRequestsInflight,
				"requestTimeout":              fmt.Sprint(time.Duration(t.RequestTimeoutNs)),
			},
			"config":    map[string]any{"base": scenario.BaseMandatory, "files": []string{"config.yaml"}},
			"events":    scenarioEvents(t),
			"resources": resources,
			"workload":  []any{map[string]any{"name": "trace", "arrivals": map[string]any{"trace": map[string]any{"file": "trace.jsonl"}}}},
		},
	})
	if err != nil {
		return nil, err
	}
	objects, err := json.Marshal(t.Objects)
	if err != nil {
		return nil, err
	}
	return fstest.MapFS{
		"scenario.yaml": {Data: document},
		"config.yaml":   {Data: objects},
		"trace.jsonl":   {Data: trace.Bytes()},
	}, nil
}

// scenarioEvents writes the changes of a trial down as a scenario's events, each of which
// is one reading of the configuration: the second reading after a write changes nothing.
func scenarioEvents(t *trial.Trial) []any {
	events := []any{}
	from := t.Objects.Objects
	for _, c := range t.Changes {
		at := fmt.Sprint(time.Duration(c.AtNs))
		for _, step := range trial.Steps(from, c.Objects.Objects) {
			apply := map[string]any{}
			switch {
			case step.PriorityLevel != nil:
				apply["objects"] = config.Objects{PriorityLevels: []*config.PriorityLevel{step.PriorityLevel}}.Manifest(rules.Default())
			case step.FlowSchema != nil:
				apply["objects"] = config.Objects{FlowSchemas: []*config.FlowSchema{step.FlowSchema}}.Manifest(rules.Default())
			case step.Schema:
				apply["remove"] = []any{map[string]any{"kind": "FlowSchema", "name": step.Delete}}
			default:
				apply["remove"] = []any{map[string]any{"kind": "PriorityLevelConfiguration", "name": step.Delete}}
			}
			events = append(events, map[string]any{"at": at, "apply": apply}, map[string]any{"at": at, "apply": map[string]any{}})
		}
		from = c.Objects.Objects
	}
	return events
}

// logLine is what a line of the request log says of the decision.
type logLine struct {
	ArrivalNs           int64  `json:"arrivalNs"`
	FlowSchema          string `json:"flowSchema"`
	PriorityLevel       string `json:"priorityLevel"`
	Outcome             string `json:"outcome"`
	DispatchNs          int64  `json:"dispatchNs"`
	FinishNs            int64  `json:"finishNs"`
	WaitNs              int64  `json:"waitNs"`
	Seats               int    `json:"seats"`
	FinalSeats          int    `json:"finalSeats"`
	AdditionalLatencyNs int64  `json:"additionalLatencyNs"`
	RetryAfterSeconds   int    `json:"retryAfterSeconds"`
}

func (l *logLine) decision() trial.Decision {
	d := trial.Decision{
		FlowSchema: l.FlowSchema, PriorityLevel: l.PriorityLevel,
		DispatchNs: l.DispatchNs, EndNs: l.FinishNs,
		Seats: l.Seats, FinalSeats: l.FinalSeats, AdditionalNs: l.AdditionalLatencyNs, RetryAfterSeconds: l.RetryAfterSeconds,
	}
	if l.Outcome == "rejected" {
		d.Rejected, d.DispatchNs, d.EndNs = true, -1, l.ArrivalNs+l.WaitNs
	}
	return d
}
