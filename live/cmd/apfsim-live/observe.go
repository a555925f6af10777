package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"apfsim/live/cluster"
	"apfsim/live/measured"
	"apfsim/live/phase"
)

// observer reads the metrics of the server during a run.
type observer struct {
	cluster *cluster.Cluster
	warmup  time.Duration
	begun   time.Time
	context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	before     []byte
	beforeNs   int64
	beforeErr  error
	after      []byte
	afterNs    int64
	afterErr   error
	found      phase.Range
	phaseError error
}

func observe(c *cluster.Cluster, warmup time.Duration) *observer {
	o := &observer{cluster: c, warmup: warmup}
	o.Context, o.cancel = context.WithCancel(context.Background())
	return o
}

// begin is called when the load begins.
func (o *observer) begin(at time.Time) {
	o.begun = at
	o.running.Go(func() {
		if o.beforeErr = o.sleep(o.warmup); o.beforeErr == nil {
			o.beforeNs = int64(time.Since(o.begun))
			o.before, o.beforeErr = o.cluster.Metrics(o)
		}
	})
	o.running.Go(func() {
		o.found, o.phaseError = phase.Find(o, func() (l phase.Look, err error) {
			l.Began = time.Since(o.begun)
			text, err := o.cluster.Metrics(o)
			if err != nil {
				return l, err
			}
			l.Ended = time.Since(o.begun)
			l.State, err = phase.StateOf(text)
			return l, err
		}, o.sleep)
	})
}

// sleep returns at a time since the load began, or with an error when the run ends.
func (o *observer) sleep(until time.Duration) error {
	timer := time.NewTimer(until - time.Since(o.begun))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-o.Done():
	}
	return o.Err()
}

// end is called when nothing more is sent.
func (o *observer) end() {
	o.cancel()
	o.running.Go(func() {
		o.afterNs = int64(time.Since(o.begun))
		o.after, o.afterErr = o.cluster.Metrics(context.Background())
	})
}

// result waits for the last metrics and adds what was read to a run.
func (o *observer) result(r *measured.Run) {
	o.running.Wait()
	m := &r.Measurement
	m.StartedAt = o.begun.UTC()
	before, beforeErr := phase.StateOf(o.before)
	after, afterErr := phase.StateOf(o.after)
	switch {
	case cluster.HasStatus(o.afterErr, http.StatusForbidden):
		m.Metrics.Note = fmt.Sprintf("the user may not read /metrics, which needs a ClusterRole with nonResourceURLs [/metrics] and the verb get: %v", o.afterErr)
	case o.afterErr != nil:
		m.Metrics.Note = fmt.Sprintf("/metrics could not be read: %v", o.afterErr)
	case o.beforeErr != nil:
		m.Metrics.Note = "/metrics could not be read at the end of the warm-up"
	case beforeErr == nil && afterErr == nil && before.Server != after.Server:
		m.Metrics.Note = "two servers have answered, or one has restarted: the difference of their metrics says nothing"
	}
	if o.beforeErr == nil {
		r.Before, m.Metrics.BeforeNs = o.before, &o.beforeNs
	}
	if o.afterErr == nil {
		r.After, m.Metrics.AfterNs = o.after, &o.afterNs
	}
	m.Servers.HandoverNote = measured.HandoverNote
	if o.phaseError != nil {
		m.Servers.AdjustmentPhaseNote = o.phaseError.Error()
		return
	}
	m.Servers.AdjustmentPhase, m.Servers.AdjustmentPhaseRange = o.found.Middle().String(), &o.found
}
