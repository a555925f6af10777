package main

import (
	"context"
	"errors"
	"os"
	"time"

	"apfsim/experiment/output"
	"apfsim/internal/atomicfile"
	"apfsim/reports/collect"
	"apfsim/reports/record"
	"apfsim/reports/result"
	"apfsim/sim"
)

// runApfsim measures a run of the scenario, from reading its text to computing its statistics. It
// writes no files.
func runApfsim(r *regime, l load, requests int) (measurement, error) {
	return simulate(r, l, requests, "")
}

// runApfsimLogging measures the same run with a request log.
func runApfsimLogging(r *regime, l load, requests int) (measurement, error) {
	dir, err := os.MkdirTemp("", "bench-peers-")
	if err != nil {
		return measurement{}, err
	}
	defer os.RemoveAll(dir)
	return simulate(r, l, requests, dir)
}

// simulate runs a regime for the time in which the given number of requests arrives on average.
// It writes a request log below logDir unless logDir is empty.
func simulate(r *regime, l load, requests int, logDir string) (m measurement, err error) {
	sc, err := r.scenario(time.Duration(float64(requests) / l.rate() * 1e9))
	if err != nil {
		return m, err
	}
	run := sim.New(sc)
	interval := result.Interval(int64(sc.Spec.Duration))
	collector := collect.New(sc, run.Server, interval)
	run.Observe(collector.Observer())
	fingerprint := record.NewFingerprint()
	run.Observe(fingerprint.Observer())
	var files atomicfile.Set
	defer files.Discard()
	var log record.Recorder
	if logDir != "" {
		if log, err = output.CreateRequestLog(&files, logDir, sc); err != nil {
			return m, err
		}
		defer log.Discard()
		run.Observe(log.Observer())
	}
	if err := run.Execute(context.Background(), nil); err != nil {
		return m, err
	}
	result := collector.Result()
	result.Summary.Fingerprint = fingerprint.String()
	total := result.Summary.Total
	if log != nil {
		if err := errors.Join(log.Close(), files.Commit()); err != nil {
			return m, err
		}
	}
	m = measurement{
		Arrived: int(total.Arrived), Completed: int(total.Executed), Rejected: int(total.Rejected),
		Waiting: int(total.Waiting), Executing: int(total.Executing), SimulatedNs: int64(sc.Spec.Duration),
	}
	if total.Wait != nil {
		m.MeanWaitNs = float64(total.Wait.MeanNs)
	}
	return m, nil
}
