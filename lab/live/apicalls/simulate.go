package apicalls

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"apfsim/lab/live/outcome"
)

// The files of a replay in its folder.
const (
	traceFile    = "trace.jsonl"
	scenarioFile = "scenario.yaml"
	requestsFile = "requests.jsonl"
	answersFile  = "live.jsonl"
)

// The latencies of etcd.
const (
	readLatency  = 500 * time.Microsecond
	writeLatency = time.Millisecond
)

// scenarioText is the scenario of a replay. Reads and writes of etcd always take the same time, so that calls that are
// not sent at once are executed one after the other.
const scenarioText = `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata:
  name: calls
  description: Calls that were sent to a live server.
spec:
  seed: 1
  duration: %dns
  servers:
    kubernetesVersion: "1.37"
  store:
    read: %v
    write: %v
    compactionInterval: %v
    countInterval: 0s
  workload:
  - name: calls
    arrivals: {trace: {file: %s}}
`

// Simulate replays calls in a simulation with a store and returns the answers, in the order of the calls. It writes
// trace, scenario and request log to a folder.
func Simulate(ctx context.Context, calls []Call, dir string) ([]Answer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := writeFile(filepath.Join(dir, traceFile), calls); err != nil {
		return nil, err
	}
	durationNs := calls[len(calls)-1].ArrivalNs + 10e9
	file := filepath.Join(dir, scenarioFile)
	if err := os.WriteFile(file, fmt.Appendf(nil, scenarioText, durationNs, readLatency, writeLatency, compactionInterval(calls), traceFile), 0o644); err != nil {
		return nil, err
	}
	sc, err := outcome.Load(file)
	if err != nil {
		return nil, err
	}
	log := filepath.Join(dir, requestsFile)
	if _, err := outcome.Simulate(ctx, sc, log); err != nil {
		return nil, err
	}
	answers, err := ReadAnswers(log)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(answers, func(a, b Answer) int { return int(a.ID - b.ID) })
	return answers, nil
}

// shortCompaction is the interval of compactions for calls with long gaps.
const shortCompaction = 3 * time.Second

// compactionInterval returns the interval for calls: none, unless they have a gap in which they expect compactions.
func compactionInterval(calls []Call) time.Duration {
	for i := range calls {
		if i > 0 && calls[i].ArrivalNs-calls[i-1].ArrivalNs >= int64(LongGap) {
			return shortCompaction
		}
	}
	return 0
}

// ServerArguments returns the further arguments of the server for calls.
func ServerArguments(calls []Call) []string {
	if interval := compactionInterval(calls); interval > 0 {
		return []string{fmt.Sprintf("--etcd-compaction-interval=%v", interval)}
	}
	return nil
}
