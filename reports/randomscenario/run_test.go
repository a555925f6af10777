package randomscenario

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"apfsim/reports/collect"
	"apfsim/reports/judge"
	"apfsim/reports/record"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/trace"
)

// Ran is the run of a scenario.
type Ran struct {
	Scenario *scenario.Scenario
	Result   *result.Result
	Flows    []result.Flow // all of them
	Log      []byte        // the request log
	Seen     *Seen
	lines    []Line // of the log, once they have been decoded
}

// mostEvents is how many events a run may have: many times as many as it should.
const mostEvents = 50_000_000

// errTooLong says that a run has more than mostEvents.
var errTooLong = fmt.Errorf("the run has more than %d events", mostEvents)

// Load returns the scenario as it is run. The error is that of the files, which are valid unless there is a bug.
func (s *Scenario) Load() (*scenario.Scenario, error) {
	loaded, mistakes := loader.Load(s.Files(), FileName, loader.Options{})
	if err := mistakes.Err(); err != nil {
		return nil, err
	}
	return loaded[0], nil
}

// Run runs the scenario. The error also says that the run has panicked, or that it does not end.
func (s *Scenario) Run() (ran *Ran, err error) {
	sc, err := s.Load()
	if err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	var log bytes.Buffer
	run := sim.New(sc)
	lines := record.NewRequestLog(&log, sc)
	defer lines.Discard()
	run.Observe(lines.Observer())
	seen := &Seen{}
	seen.observe(run)
	measurement := collect.Measure(run, result.Interval(int64(sc.Spec.Duration)))
	ctx, giveUp := context.WithCancelCause(context.Background())
	defer giveUp(nil)
	err = run.Execute(ctx, func(_ int64, events uint64) {
		if events > mostEvents {
			giveUp(errTooLong)
		}
	})
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return nil, err
	}
	ran = &Ran{Scenario: sc, Result: measurement.Result(), Seen: seen}
	judge.Verdict(ran.Result)
	if h := run.Handlers(); h != nil {
		for i := range run.Servers() {
			slow := int64(0)
			for _, n := range h.SlowWatchers(i) {
				slow += n
			}
			seen.SlowWatches = append(seen.SlowWatches, slow)
		}
	}
	for f := range measurement.Flows() {
		ran.Flows = append(ran.Flows, *f)
	}
	err = lines.Close()
	ran.Log = log.Bytes()
	return ran, err
}

// Line is a line of the request log. Times are in nanoseconds since the begin of the run; those of what has not happened
// are nil.
type Line struct {
	ID          int64  `json:"id"`
	ArrivalNs   int64  `json:"arrivalNs"`
	User        string `json:"user"`
	Verb        string `json:"verb"`
	APIGroup    string `json:"apiGroup"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	ExecutionNs int64  `json:"executionNs"` // 0 if it follows from the request

	Workload            string `json:"workload"`
	Client              int    `json:"client"`
	FlowSchema          string `json:"flowSchema"`
	PriorityLevel       string `json:"priorityLevel"`
	Flow                string `json:"flow"`
	Queue               int    `json:"queue"`
	Outcome             string `json:"outcome"`
	Reason              string `json:"reason"`
	Attempt             int    `json:"attempt"`
	DispatchNs          *int64 `json:"dispatchNs"`
	FinishNs            *int64 `json:"finishNs"`
	WaitNs              *int64 `json:"waitNs"`
	Seats               int    `json:"seats"`
	FinalSeats          int    `json:"finalSeats"`
	AdditionalLatencyNs int64  `json:"additionalLatencyNs"`
	Server              int    `json:"server"`
	AnsweredNs          int64  `json:"answeredNs"` // 0 unless it was before the end of the execution
	Status              int    `json:"status"`
	Parent              int64  `json:"parent"`
}

// Lines decodes the request log, once.
func (r *Ran) Lines() ([]Line, error) {
	if r.lines != nil {
		return r.lines, nil
	}
	for text := range bytes.Lines(r.Log) {
		var l Line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("%w in the line %s", err, text)
		}
		r.lines = append(r.lines, l)
	}
	return r.lines, nil
}

// replayable returns an error if the request log cannot be read as a trace.
func (r *Ran) replayable() error {
	reader := trace.NewReader(bytes.NewReader(r.Log), "requests.jsonl")
	reader.Stored = r.Scenario.Spec.Store != nil
	for {
		if _, ok, err := reader.Next(); err != nil || !ok {
			return err
		}
	}
}
