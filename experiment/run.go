package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"apfsim/document"
	"apfsim/experiment/output"
	"apfsim/internal/atomicfile"
	"apfsim/reports/collect"
	"apfsim/reports/judge"
	"apfsim/reports/record"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Outputs are the files that a run writes. The zero value writes none.
type Outputs struct {
	Dir      string    // the results are written to the folder DIR/NAME of the run; "": not written
	Requests bool      // the request log, in Dir
	Flows    bool      // the statistics of all flows, in Dir
	DumpsNs  []int64   // the times of debug dumps, in Dir
	Start    time.Time // time of day at which the run begins, for dumps and metrics

	OpenMetrics  string // file of metrics; "": none
	Events       string // file of the events between FromNs and ToNs; "": none
	FromNs, ToNs int64

	// EveryFlow says that the summary must list all flows, for those who read the statistics of flows from it. It is not
	// for summaries that are written to a file.
	EveryFlow bool

	// Observer returns an additional observer of a run, or nil. Several runs may call it at once, each with its own
	// seed in the scenario.
	Observer func(*scenario.Scenario) server.Observer

	// Recorder returns an additional recorder of a run on its servers. Several runs may call it at once.
	Recorder func(*scenario.Scenario, []*server.Server) record.Recorder

	// Bounds repeats a run with both ends of the interval of the capacity of its servers, for result.CapacityBounds.
	Bounds bool

	// Engine decides about the requests instead of core/filter; nil: none does. There are no dumps, metrics and events then.
	Engine *Engine

	// Inputs are the files that the runs read. They are not removed from a folder of results.
	Inputs []string
}

// Engine is another flow control than that of core/filter.
type Engine struct {
	Name string // with its revision, such as "k8s.io/apiserver v0.37.2"
	// Simulate calls run, with the option for it, where the engine can decide.
	Simulate func(run func(sim.Option))
}

// Names returns the names of the files that are written to the folder of a run, and to that of several runs
// together. A name that ends with a slash stands for all files in that folder.
func (f *Outputs) Names() []string {
	names := slices.Clone(output.Written.Run)
	if f.Requests {
		names = append(names, output.RequestsFile)
	}
	if f.Flows {
		names = append(names, output.Written.Flows...)
	}
	if len(f.DumpsNs) > 0 {
		names = append(names, output.Written.Dumps...)
	}
	return names
}

// Progress displays the progress of runs, of which several may be made at once.
type Progress interface {
	// Begin is called when a run of this duration starts.
	Begin(total time.Duration) RunProgress
}

// RunProgress displays the progress of one run.
type RunProgress interface {
	Update(nowNs int64, events uint64) // a sim.Progress
	Finish()
}

// completed is a run that was completed.
type completed struct {
	*collect.Replication
	document *report.Document // nil unless the run wrote files
	warnings document.Errors  // of the traces that were replayed
}

// nameRun adds the name of the run to its error. Errors in a file already have a position.
func nameRun(err *error, sc *scenario.Scenario) {
	var wrong document.Errors
	var defect *Panic
	switch {
	case *err == nil, errors.As(*err, &wrong):
	case errors.As(*err, &defect):
		defect.Run, defect.Seed = sc.Metadata.Name, sc.Spec.Seed
	default:
		*err = fmt.Errorf("%s: %w", sc.Metadata.Name, *err)
	}
}

// simulate runs one scenario: it drives clients and servers until the duration has elapsed. It writes either
// all files of the run or, if anything fails, none. The error names the run, except the errors of a trace, which
// are document.Errors and have their positions.
func simulate(ctx context.Context, sc *scenario.Scenario, files Outputs, all Progress) (run completed, err error) {
	if files.Engine == nil {
		return simulateWith(ctx, sc, files, all)
	}
	ctx.Done() // which makes the channel here: there, it may be one that nobody else can close
	files.Engine.Simulate(func(engine sim.Option) { run, err = simulateWith(ctx, sc, files, all, engine) })
	return run, err
}

// simulateWith is simulate with the option of an engine.
func simulateWith(ctx context.Context, sc *scenario.Scenario, files Outputs, all Progress, engine ...sim.Option) (_ completed, err error) {
	defer nameRun(&err, sc)
	defer Recover(&err) // before the files of the run are discarded
	boundHeap(sc)
	run := sim.New(sc, engine...)
	durationNs := int64(sc.Spec.Duration)
	measurement := collect.Measure(run, result.Interval(durationNs))
	if files.EveryFlow {
		measurement.ListEveryFlow()
	}
	var set atomicfile.Set
	defer set.Discard()
	outputs, err := files.create(&set, sc, run.Servers())
	defer discard(outputs) // before the set
	if err != nil {
		return completed{}, err
	}
	for _, o := range outputs {
		run.Observe(o.Observer())
	}
	if files.Observer != nil {
		run.Observe(files.Observer(sc))
	}
	var recorders record.Dumps
	if len(files.DumpsNs) > 0 {
		if recorders, err = record.NewDumps(sc, run.Servers(), files.Start, files.DumpsNs); err != nil {
			return completed{}, err
		}
		run.Observe(recorders.Observer())
	}
	progress := all.Begin(time.Duration(durationNs))
	running, giveUp := context.WithCancel(ctx)
	defer giveUp()
	reached := time.Duration(0)
	err = run.Execute(running, func(nowNs int64, events uint64) {
		reached = time.Duration(nowNs)
		progress.Update(nowNs, events)
		if failed(outputs) {
			giveUp()
		}
	})
	if failed(outputs) {
		return completed{}, complete(outputs) // its error names the file
	}
	if ctx.Err() != nil { // a short run may end without noticing the interruption
		return completed{}, fmt.Errorf("interrupted after %s of %s; its results are not written",
			reached.Round(time.Millisecond), time.Duration(durationNs))
	}
	if err != nil {
		return completed{}, err
	}
	result, warnings := measurement.Result(), run.Warnings()
	if files.Engine != nil {
		result.Summary.Engine = files.Engine.Name
	}
	if err := complete(outputs); err != nil {
		return completed{}, err
	}
	if files.Bounds {
		if err := bound(ctx, sc, result); err != nil {
			return completed{}, err
		}
	}
	judge.Verdict(result)
	if files.Flows { // before the charts, which can then use the memory of the run
		if err := output.WriteFlows(&set, files.Dir, sc, measurement.Flows()); err != nil {
			return completed{}, err
		}
	}
	var document *report.Document
	if files.Dir != "" {
		document, err = output.WriteRun(&set, files.Dir, result, recorders, files.Inputs)
	} else {
		err = set.Commit()
	}
	if err != nil {
		return completed{}, err
	}
	progress.Finish()
	return completed{collect.NewReplication(result), document, warnings}, nil
}

// create creates the files that are written during the run. The error names those that cannot be written; the
// others are returned.
func (f *Outputs) create(set *atomicfile.Set, sc *scenario.Scenario, servers []*server.Server) (outputs []record.Recorder, err error) {
	add := func(o record.Recorder, failure error) {
		if failure == nil {
			outputs = append(outputs, o)
		}
		err = errors.Join(err, failure)
	}
	if f.Requests {
		add(output.CreateRequestLog(set, f.Dir, sc))
	}
	if f.OpenMetrics != "" {
		add(output.CreateOpenMetrics(set, f.OpenMetrics, sc, servers, f.Start, record.ScrapeInterval(int64(sc.Spec.Duration))))
	}
	if f.Events != "" {
		add(output.CreateEvents(set, f.Events, sc, servers, f.FromNs, f.ToNs))
	}
	if f.Recorder != nil {
		add(f.Recorder(sc, servers), nil)
	}
	return outputs, err
}

// discard discards the outputs.
func discard(outputs []record.Recorder) {
	for _, o := range outputs {
		o.Discard()
	}
}

// failed says whether one of the outputs cannot be written.
func failed(outputs []record.Recorder) bool {
	return slices.ContainsFunc(outputs, func(o record.Recorder) bool { return o.Err() != nil })
}

// complete writes the rest of the outputs. The error names those that cannot be written.
func complete(outputs []record.Recorder) (err error) {
	for _, o := range outputs {
		err = errors.Join(err, o.Close())
	}
	return err
}
