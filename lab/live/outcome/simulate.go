package outcome

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"apfsim/reports/record"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
	"apfsim/sim/workload"

	"go.yaml.in/yaml/v3"
)

// Load reads the scenario of a file, with assignments such as spec.seed=2.
func Load(file string, assignments ...string) (*scenario.Scenario, error) {
	all, wrong := loader.Load(nil, file, loader.Options{Set: assign.New("the live test", assignments)})
	if len(wrong) > 0 {
		return nil, wrong
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("%s: has %d scenarios; want one", file, len(all))
	}
	return all[0], nil
}

// Simulate runs a scenario, writes its request log to a file and returns what is in it.
func Simulate(ctx context.Context, sc *scenario.Scenario, file string) (*Run, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, err
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	run, result := sim.New(sc), &Run{}
	log := record.NewRequestLog(f, sc)
	run.Observe(log.Observer())
	run.Observe(server.Observer{Adjusted: func(nowNs int64, s *server.Server) {
		if nowNs <= int64(AfterStart) {
			return
		}
		a := Adjustment{AtNs: nowNs, Limits: map[string]int{}}
		for _, level := range s.Levels() {
			a.Limits[level.Name()] = level.CurrentLimit()
		}
		result.Adjustments = append(result.Adjustments, a)
	}})
	run.OnNote(func(nowNs int64, of, client int, n workload.Note) {
		result.Notes = append(result.Notes, Note{AtNs: nowNs, Workload: of, Client: client, Note: n})
	})
	if err := run.Execute(ctx, nil); err != nil {
		log.Discard()
		return nil, err
	}
	if err := log.Close(); err != nil {
		return nil, err
	}
	result.Requests, err = ReadLog(file)
	return result, err
}

// Replay simulates a trace under the configuration of a scenario file, with the adjustments where the server
// had them and its own counts of objects. It writes the scenario of the replay, its trace and its request log to
// a folder. The workloads of the outcomes are those of the trace.
func Replay(ctx context.Context, file, dir string, requests []Outcome, phaseNs int64, resources []Resource) (*Run, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var document map[string]any
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	spec := document["spec"].(map[string]any) // the file has been loaded before
	spec["servers"].(map[string]any)["adjustmentPhase"] = fmt.Sprintf("%dns", phaseNs)
	spec["workload"] = []any{map[string]any{"name": "live", "arrivals": map[string]any{"trace": map[string]any{"file": "trace.jsonl"}}}}
	if len(resources) > 0 {
		spec["resources"] = resources
	}
	if text, err = yaml.Marshal(document); err != nil {
		return nil, err
	}
	copied := filepath.Join(dir, "replay.yaml")
	if err := os.WriteFile(copied, text, 0o644); err != nil {
		return nil, err
	}
	if err := WriteTrace(filepath.Join(dir, "trace.jsonl"), requests); err != nil {
		return nil, err
	}
	sc, err := Load(copied)
	if err != nil {
		return nil, err
	}
	run, err := Simulate(ctx, sc, filepath.Join(dir, "replay.jsonl"))
	if err != nil {
		return nil, err
	}
	workloads := map[int64]string{}
	for i := range requests {
		workloads[requests[i].ID] = requests[i].Workload
	}
	for i := range run.Requests {
		run.Requests[i].Workload = workloads[run.Requests[i].ID]
	}
	return run, nil
}

// Resource is how many objects of a resource a server stores, as a scenario says it.
type Resource struct {
	Group        string `yaml:"group,omitempty"`
	Resource     string `yaml:"resource"`
	Objects      int64  `yaml:"objects"`
	AverageBytes int64  `yaml:"averageBytes,omitempty"`
}
