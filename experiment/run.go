package experiment

import (
	"context"
	"fmt"
	"time"

	"apfsim/reports"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Outputs are the files that a run makes. None has results alone.
type Outputs struct {
	Dir      string    // below which the results go, in a folder named after the run; "": nowhere
	Requests bool      // the request log, in Dir
	DumpsNs  []int64   // the times of debug dumps, in Dir
	Start    time.Time // time of day at which the run begins, for dumps and metrics

	OpenMetrics  string // file of metrics; "": none
	Events       string // file of what happens between two times; "": none
	FromNs, ToNs int64
}

// Progress is told how far runs are. Several may go at once.
type Progress interface {
	// Begin is told of a run that is to simulate so much time.
	Begin(total time.Duration) RunProgress
}

// RunProgress is told how far one run is.
type RunProgress interface {
	Update(nowNs int64, events uint64) // a sim.Progress
	Finish()
}

// simulate runs one scenario and writes its files.
func simulate(ctx context.Context, sc *scenario.Scenario, files Outputs, all Progress) (_ *reports.Replication, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", sc.Metadata.Name, err)
		}
	}()
	run := sim.New(sc)
	durationNs := int64(sc.Spec.Duration)
	measurement := reports.Measure(sc, run.Server, reports.Interval(durationNs))
	outputs, err := files.create(sc, run.Server)
	if err != nil {
		return nil, err
	}
	defer abandon(outputs)
	for _, o := range outputs {
		run.Server.Observe(o)
	}
	var dumps *reports.Dumps
	if len(files.DumpsNs) > 0 {
		dumps = reports.NewDumps(run.Server, files.Start, files.DumpsNs)
		run.Server.Observe(dumps)
	}
	progress := all.Begin(time.Duration(durationNs))
	running, giveUp := context.WithCancel(ctx)
	defer giveUp()
	reached := time.Duration(0)
	err = run.Execute(running, func(nowNs int64, events uint64) {
		reached = time.Duration(nowNs)
		progress.Update(nowNs, events)
		if failed(outputs) != nil {
			giveUp()
		}
	})
	if o := failed(outputs); o != nil {
		return nil, o.Commit() // which says what went wrong
	}
	if ctx.Err() != nil { // a short run does not notice
		return nil, fmt.Errorf("interrupted after %s of %s; nothing of it is written",
			reached.Round(time.Millisecond), time.Duration(durationNs))
	}
	if err != nil {
		return nil, err
	}
	result := measurement.Result()
	for _, o := range outputs {
		if err := o.Commit(); err != nil {
			return nil, err
		}
	}
	if files.Dir != "" {
		if err := reports.WriteDir(files.Dir, result, dumps); err != nil {
			return nil, err
		}
	}
	progress.Finish()
	return result.Replication(), nil
}

// create begins the files that are written while the run goes on. If it fails, none is left.
func (f *Outputs) create(sc *scenario.Scenario, of *server.Server) (outputs []reports.Output, err error) {
	add := func(o reports.Output, failure error) {
		if failure == nil {
			outputs = append(outputs, o)
		} else if err == nil {
			err = failure
		}
	}
	if f.Requests {
		add(reports.CreateRequestLog(f.Dir, sc))
	}
	if f.OpenMetrics != "" {
		add(reports.CreateOpenMetrics(f.OpenMetrics, sc, of, f.Start, reports.ScrapeInterval(int64(sc.Spec.Duration))))
	}
	if f.Events != "" {
		add(reports.CreateEvents(f.Events, sc, of, f.FromNs, f.ToNs))
	}
	if err != nil {
		abandon(outputs)
	}
	return outputs, err
}

func abandon(outputs []reports.Output) {
	for _, o := range outputs {
		o.Abandon()
	}
}

// failed returns the first output that cannot be written, nil if all can.
func failed(outputs []reports.Output) reports.Output {
	for _, o := range outputs {
		if o.Err() != nil {
			return o
		}
	}
	return nil
}
