// Package alerts says which alerts of Prometheus fire during a run, and when: it evaluates the rules with the engine of
// Prometheus over the series that a Prometheus would have scraped. Only this package imports the modules of Prometheus'
// server.
package alerts

import (
	"context"
	"math"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"apfsim/experiment"
	"apfsim/experiment/output"
	"apfsim/reports/record"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Options are how a Prometheus is set up.
type Options struct {
	Scrape   time.Duration     // between two scrapes of a server
	Evaluate time.Duration     // between two evaluations of a group without an interval of its own
	Labels   map[string]string // of all series, beside job and instance

	// Lead is for how long Prometheus has scraped the servers before the run, during which they were idle.
	Lead time.Duration

	delay time.Duration // from a scrape to the next evaluation
}

// Result is which alerts were pending or fired in a run. Times are of the run, in nanoseconds.
type Result struct {
	Scenario   string        `json:"scenario"`
	DurationNs int64         `json:"durationNs"`
	Status     result.Status `json:"status"`   // of the run
	Sentence   string        `json:"sentence"` // what happened
	BeginNs    *int64        `json:"beginNs"`  // since when requests were harmed; null if none were
	// FlowControl is whether a priority level rejected as many requests, or let them wait for as long, as is harm.
	FlowControl bool          `json:"flowControl"`
	Causes      []result.Kind `json:"causes"`   // of the harm, the most important first
	Alerts      []*Alert      `json:"alerts"`   // in the order in which they became pending
	Failures    []*Failure    `json:"failures"` // of rules, in the order in which they first failed

	data    *database
	startMs int64 // of the run, since 1970
}

// Runs are the runs of scenarios whose series are recorded.
type Runs struct {
	*experiment.Runs
	options Options
	groups  []*Group
	metrics map[*scenario.Scenario]chan *record.OpenMetrics
}

// Begin starts a run of each scenario. Stop must be called at the end.
func Begin(ctx context.Context, groups []*Group, all []*scenario.Scenario, options Options, progress experiment.Progress) *Runs {
	r := &Runs{options: options, groups: groups, metrics: map[*scenario.Scenario]chan *record.OpenMetrics{}}
	byName := map[string]chan *record.OpenMetrics{}
	for _, sc := range all {
		sc.Spec.Replications, sc.Spec.Warmup = 1, scenario.Warmup{} // Prometheus sees all of the run
		r.metrics[sc] = make(chan *record.OpenMetrics, 1)
		byName[sc.Metadata.Name] = r.metrics[sc]
	}
	outputs := experiment.Outputs{Recorder: func(sc *scenario.Scenario, servers []*server.Server) record.Recorder {
		m := record.NewOpenMetrics(nil, sc, servers, output.Epoch, int64(options.Scrape))
		byName[sc.Metadata.Name] <- m
		return unwritten{m}
	}}
	r.Runs = experiment.Begin(ctx, all, outputs, experiment.Precision{}, progress)
	return r
}

// unwritten are metrics that are not written to a file.
type unwritten struct{ *record.OpenMetrics }

// Close implements record.Recorder.
func (unwritten) Close() error { return nil }

// Next waits for the run of a scenario, in the order of Begin, and evaluates the rules.
func (r *Runs) Next(ctx context.Context, group *experiment.Group) (*Result, error) {
	run, err := group.Next()
	if err != nil {
		return nil, err
	}
	sc, v := group.Scenario, run.Summary.Verdict
	of := &Result{Scenario: sc.Metadata.Name, DurationNs: run.Summary.DurationNs, Status: v.Status, Sentence: v.Sentence, BeginNs: begin(v), Causes: []result.Kind{}, Alerts: []*Alert{}, Failures: []*Failure{}}
	for i := range run.Summary.PriorityLevels {
		l := &run.Summary.PriorityLevels[i]
		rejected := l.Rejected >= 3 && float64(l.Rejected) >= harmfulShare*float64(l.Arrived)
		of.FlowControl = of.FlowControl || rejected || l.Wait != nil && l.Wait.P99Ns >= int64(harmfulWait)
	}
	for i := range v.Causes {
		of.Causes = append(of.Causes, v.Causes[i].Kind)
	}
	data, startMs := newDatabase(), output.Epoch.UnixMilli()
	for _, s := range (<-r.metrics[sc]).Stored() {
		b := labels.NewBuilder(labels.EmptyLabels())
		for _, l := range s.Labels {
			b.Set(l[0], l[1])
		}
		for name, value := range r.options.Labels { // in any order, because they are independent
			b.Set(name, value)
		}
		stored := data.series(b.Labels())
		if s.AtMs[0] == startMs {
			for at := startMs - r.options.Lead.Milliseconds(); at < startMs; at += r.options.Scrape.Milliseconds() {
				stored.atMs, stored.values = append(stored.atMs, at), append(stored.values, s.Values[0])
			}
		}
		stored.atMs, stored.values = append(stored.atMs, s.AtMs...), append(stored.values, s.Values...)
	}
	e, err := evaluate(ctx, data, r.groups, startMs, time.Duration(of.DurationNs), r.options)
	if err != nil {
		return nil, err
	}
	of.Alerts, of.Failures = append(of.Alerts, e.all...), append(of.Failures, e.failures...)
	of.data, of.startMs = data, startMs
	return of, nil
}

// From which share of requests that are rejected, and from which p99 of waits on, a run is harm.
const (
	harmfulShare = 0.001
	harmfulWait  = time.Second
)

// begin returns since when requests were harmed, nil if none were.
func begin(v *result.Overall) *int64 {
	first := int64(math.MaxInt64)
	for i := range v.Harmed {
		first = min(first, v.Harmed[i].FromNs)
	}
	if first == math.MaxInt64 {
		return nil
	}
	return &first
}
