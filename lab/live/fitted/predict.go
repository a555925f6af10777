package fitted

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"apfsim/experiment/fit/check"
	"apfsim/lab/live/outcome"
	"apfsim/sim/machine"
)

// Model is a scenario that is fitted to the log of one load of a server, to predict another load.
type Model struct {
	// Capacity says what the log shows of the capacity of the server.
	Capacity string
	Known    bool // whether the scenario has the capacity
	// Disagrees says how the scenario is so far from the log of the load that it predicts nothing; "" if it is not.
	Disagrees string
	file, dir string
	servers   Servers
	verbs     []string            // of the requests of the workloads
	ends      []*machine.Capacity // of the interval of the capacity
}

// Servers are what a log does not say, and how long the load lasts.
type Servers struct {
	MaxRequestsInflight         int
	MaxMutatingRequestsInflight int
	Stop                        time.Duration // of the load
	Duration                    time.Duration // of the run, so that what waits at the end of the load is answered
}

// Fit fits a model to logs, and compares it with them, as 'apfsim import --fit' does. The files are written to a folder of theirs. With a capacity, which is
// YAML, that is the one of the model, and otherwise it is fitted. The logs of models in other folders inform it, too.
func Fit(ctx context.Context, l Logs, s Servers, folder, capacity string, others ...string) (*Model, error) {
	known := map[string]string{
		"maxRequestsInflight":         fmt.Sprint(s.MaxRequestsInflight),
		"maxMutatingRequestsInflight": fmt.Sprint(s.MaxMutatingRequestsInflight),
	}
	if capacity != "" {
		known["capacity"] = capacity
	}
	f, file, err := l.fit(ctx, folder, known, others)
	if err != nil {
		return nil, err
	}
	f, sc, checked, err := check.Settle(ctx, f, file, check.DefaultRuns, noProgress)
	if err != nil {
		return nil, err
	}
	m := &Model{Disagrees: checked.Disagrees, file: file, dir: filepath.Dir(file), servers: s}
	if c := f.Report.Capacity; c != nil {
		m.Capacity, m.Known = c.String(), c.Identifiable
	}
	if c := sc.Spec.Servers.Capacity; c != nil {
		least, greatest := c.Bounds()
		for _, end := range []*machine.Capacity{least, greatest} {
			if end != nil {
				m.ends = append(m.ends, end)
			}
		}
	}
	for i := range sc.Spec.Workload {
		w, verb := &sc.Spec.Workload[i], ""
		if len(w.Requests) > 0 {
			verb = w.Requests[0].Request.Verb
		}
		m.verbs = append(m.verbs, verb)
	}
	return m, nil
}

// Run runs the model with a seed: with its capacity, and with the ends of the interval of that, if there is one. Requests with a verb arrive so many
// times as often as in the log.
func (m *Model) Run(ctx context.Context, seed int, verb string, load float64) (estimate []outcome.Outcome, ends [][]outcome.Outcome, err error) {
	set := []string{fmt.Sprintf("spec.seed=%d", seed), fmt.Sprintf("spec.duration=%v", m.servers.Duration), "spec.warmup=0s"}
	scaled := false
	for i, v := range m.verbs {
		set = append(set, fmt.Sprintf("spec.workload[%d].stop=%v", i, m.servers.Stop))
		if v == verb {
			set = append(set, fmt.Sprintf("spec.workload[%d].load=%v", i, load))
			scaled = true
		}
	}
	if !scaled {
		return nil, nil, fmt.Errorf("%s: no workload has requests with the verb %s", m.file, verb)
	}
	for _, capacity := range append([]*machine.Capacity{nil}, m.ends...) {
		sc, err := outcome.Load(m.file, set...)
		if err != nil {
			return nil, nil, err
		}
		if capacity != nil {
			sc.Spec.Servers.Capacity = capacity
		}
		run, err := outcome.Simulate(ctx, sc, filepath.Join(m.dir, "predicted.jsonl"))
		if err != nil {
			return nil, nil, err
		}
		if capacity == nil {
			estimate = run.Requests
		} else {
			ends = append(ends, run.Requests)
		}
	}
	return estimate, ends, nil
}
