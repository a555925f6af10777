package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing/fstest"
	"time"

	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

// plan is what is measured.
type plan struct {
	repetitions int
	loads       []float64
	windows     []time.Duration
	sizes       []int // numbers of runs
	precisions  []float64
}

// statistics are those whose intervals are measured. Each has its definition in docs/reference/statistics.md.
var statistics = []string{
	"wait{workload:w}.mean", "wait{workload:w}.med", "wait{workload:w}.p(90)", "wait{workload:w}.p(99)", "wait{workload:w}.p(99.9)",
	"latency{workload:w}.mean", "latency{workload:w}.p(99)", "execution{workload:w}.p(99)",
	"arrived{workload:w}.perSecond", "rejected{workload:w}.rate", "executed{workload:w}.rate",
	"utilisation{priorityLevel:sole}.mean", "fairness{priorityLevel:sole}.jain",
	"stall{workload:w}.max", "virtualWait{workload:w}.mean", "virtualWait{workload:w}.p(99)",
}

// precise are the statistics of which sequences of runs reach a precision.
var precise = []string{"wait{workload:w}.mean", "wait{workload:w}.p(99)"}

// model is the scenario: three seats, a queue of 200 requests, and executions of 10 ms in the mean.
const model = `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: coverage}
spec:
  duration: %s
  warmup: 5s
  servers: {maxRequestsInflight: 3, maxMutatingRequestsInflight: 0, requestTimeout: 240s}
  config:
    base: Mandatory
    objects:
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: PriorityLevelConfiguration
      metadata: {name: sole}
      spec:
        type: Limited
        limited:
          nominalConcurrencyShares: 995
          lendablePercent: 0
          borrowingLimitPercent: 0
          limitResponse: {type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 200}}
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: all}
      spec:
        priorityLevelConfiguration: {name: sole}
        matchingPrecedence: 100
        distinguisherMethod: {type: ByUser}
        rules:
        - subjects: [{kind: Group, group: {name: "*"}}]
          resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
  workload:
  - name: w
    clients: 4
    as: {user: "u-{i}"}
    request: {verb: get, resource: pods, name: x}
    execution: {exponential: {mean: %s}}
    arrivals: {poisson: {rate: %g/s}}
`

// load returns the scenario at a load of the base, with executions of another mean.
func load(load float64, window, execution time.Duration) (*scenario.Scenario, error) {
	text := fmt.Sprintf(model, window+5*time.Second, execution, 300*load/4)
	all, wrong := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", loader.Options{})
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	return all[0], nil
}

// simulate returns the result of one run.
func simulate(sc *scenario.Scenario, seed uint64) *collect.Replication {
	own := *sc
	own.Spec.Seed = seed
	run := sim.New(&own)
	m := collect.Measure(run, result.Interval(int64(own.Spec.Duration)))
	if err := run.Execute(context.Background(), nil); err != nil {
		panic(err) // the context is never cancelled
	}
	return collect.NewReplication(m.Result())
}

// truth collects what all runs together say.
type truth struct {
	runs  float64
	sums  map[string]float64
	timed [measure.Timings]measure.Histogram
}

func newTruth() *truth {
	return &truth{sums: map[string]float64{}, timed: measure.New(measure.FinePrecision).Timed}
}

func (t *truth) add(r *collect.Replication) {
	t.runs++
	for _, s := range result.ListStatistics(r.Summary, false) {
		if name := s.Name.String(); slices.Contains(statistics, name) {
			t.sums[name] += s.Value
		}
	}
	for i := range r.Parts {
		for k := range t.timed {
			t.timed[k].Merge(&r.Parts[i].Timed[k])
		}
	}
}

func (t *truth) value(name string) float64 {
	id := metric.MustParseName(name)
	if percent, is := id.Percent(); is {
		if timing, timed := measure.TimingOf(id.Metric); timed {
			return float64(t.timed[timing].PercentileNs(percent))
		}
	}
	return t.sums[name] / t.runs
}

// interval is what one repetition found; NaN where there is no interval.
type interval struct{ value, low, high float64 }

// row is the intervals of one kind.
type row struct {
	kind, statistic, load, window, size string
	found                               []interval
	truth                               float64
	changed                             int // comparisons in which the statistic changed significantly
	compared                            bool
}

// shown counts the intervals, and those that contain the truth, and returns the mean of their widths relative to the truth.
func (r *row) shown() (n, within int, width float64) {
	for _, i := range r.found {
		if math.IsNaN(i.low) || i.low == i.high { // the latter is a statistic that is the same in all runs
			continue
		}
		n++
		if i.low <= r.truth && r.truth <= i.high {
			within++
		}
		width += i.high - i.low
	}
	return n, within, width / float64(max(n, 1)) / math.Abs(r.truth)
}

// text writes the share of the intervals that contain the truth, their mean half relative to the truth, how often there is an
// interval if not always, and how often a comparison finds a change.
func (r *row) text() string {
	n, within, width := r.shown()
	text := "–"
	if n > 0 {
		text = fmt.Sprintf("%.1f %%", 100*float64(within)/float64(n))
		if r.truth != 0 {
			text += fmt.Sprintf(" ±%.2g %%", 50*width)
		}
		if n < len(r.found) {
			text += fmt.Sprintf(" (%.0f %% shown)", 100*float64(n)/float64(len(r.found)))
		}
	}
	if r.compared {
		text += fmt.Sprintf(", changed %.1f %%", 100*float64(r.changed)/float64(len(r.found)))
	}
	return text
}

// measure simulates the runs and returns all rows.
func (p *plan) measure(progress io.Writer) (rows []row, err error) {
	for _, window := range p.windows {
		for _, l := range p.loads {
			fmt.Fprintf(progress, "load %g, window %s\n", l, window)
			some, err := p.measureAt(l, window)
			if err != nil {
				return nil, err
			}
			rows = append(rows, some...)
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return slices.Index(kinds, a.kind) - slices.Index(kinds, b.kind) })
	return rows, nil
}

// The kinds of intervals.
const (
	ofRuns      = "runs"
	ofPaired    = "paired comparison"
	ofUnpaired  = "comparison"
	ofNoChange  = "comparison without a change"
	ofPrecision = "--precision"
)

var kinds = []string{ofRuns, ofPaired, ofUnpaired, ofNoChange, ofPrecision}

// pool is one of the sets of independent runs.
type pool struct {
	scenario *scenario.Scenario
	truth    *truth
	groups   []*compare.Replicator // by number of runs
}

func (p *plan) newPool(sc *scenario.Scenario) *pool {
	l := &pool{scenario: sc, truth: newTruth()}
	for range p.sizes {
		l.groups = append(l.groups, nil)
	}
	return l
}

// add adds a run, and returns the combined results of those numbers of runs that are complete.
func (l *pool) add(r *collect.Replication, sizes []int) (complete []*compare.Replications) {
	l.truth.add(r)
	complete = make([]*compare.Replications, len(sizes))
	for i, size := range sizes {
		if l.groups[i] == nil {
			l.groups[i] = compare.NewReplicator("coverage", 0, nil)
		}
		g := l.groups[i]
		g.Add(r)
		if g.N() == size {
			complete[i] = g.Replications()
			l.groups[i] = nil
		}
	}
	return complete
}

func (p *plan) measureAt(l float64, window time.Duration) ([]row, error) {
	const execution = 10 * time.Millisecond
	base, err := load(l, window, execution)
	if err != nil {
		return nil, err
	}
	faster, err := load(l, window, execution*9/10)
	if err != nil {
		return nil, err
	}
	pools := []*pool{p.newPool(base), p.newPool(faster)}     // with the same seeds
	before := make([][2]*compare.Replications, len(p.sizes)) // the runs before, which have other seeds
	t := &table{plan: p, load: fmt.Sprintf("%g", l), window: window.String(), at: map[string]*row{}}
	sequences := map[string]*compare.Replicator{}
	runs := p.repetitions * slices.Max(p.sizes)
	chunk := 16 * runtime.GOMAXPROCS(0)
	simulated := make(chan [][]*collect.Replication) // chunks of runs, the next of which are made while intervals are computed
	go func() {
		for from := 0; from < runs; from += chunk {
			simulated <- inParallel(pools, from, min(chunk, runs-from))
		}
		close(simulated)
	}()
	from := 0
	for made := range simulated {
		for at, all := range made {
			var complete [2][]*compare.Replications
			for k, r := range all {
				complete[k] = pools[k].add(r, p.sizes)
			}
			for i, size := range p.sizes {
				if complete[0][i] == nil {
					continue
				}
				name := fmt.Sprintf("%d runs", size)
				t.addRuns(ofRuns, name, complete[0][i])
				t.addChanges(ofPaired, name, complete[0][i], complete[1][i])
				if before[i][0] != nil {
					t.addChanges(ofUnpaired, name, complete[0][i], before[i][1])
					t.addChanges(ofNoChange, name, complete[0][i], before[i][0])
				}
				before[i] = [2]*compare.Replications{complete[0][i], complete[1][i]}
			}
			if err := t.addSequences(sequences, all[0], from+at); err != nil {
				return nil, err
			}
		}
		from += len(made)
	}
	return t.finish(pools), nil
}

// inParallel makes n runs of each pool, and returns them by run and pool.
func inParallel(pools []*pool, from, n int) [][]*collect.Replication {
	all := make([][]*collect.Replication, n)
	var workers sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				for _, l := range pools {
					all[i] = append(all[i], simulate(l.scenario, uint64(1+from+i)))
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
	return all
}

// table collects the rows of one load and window.
type table struct {
	*plan
	load, window string
	rows         []*row
	at           map[string]*row
}

// row returns the row of this kind, unless it is complete.
func (t *table) row(kind, statistic, size string) *row {
	key := kind + " " + statistic + " " + size
	r := t.at[key]
	if r == nil {
		r = &row{kind: kind, statistic: statistic, load: t.load, window: t.window, size: size, compared: kind != ofRuns && kind != ofPrecision}
		t.at[key] = r
		t.rows = append(t.rows, r)
	}
	if len(r.found) == t.repetitions {
		return nil
	}
	return r
}

func intervalOf(e *compare.Estimate) interval {
	value, low, high := e.Printed()
	if !e.HasInterval() {
		low, high = math.NaN(), math.NaN()
	}
	return interval{value, low, high}
}

func (t *table) addRuns(kind, size string, r *compare.Replications) {
	byName := r.ByName()
	for _, name := range statistics {
		if e := byName[name]; e != nil {
			if to := t.row(kind, name, size); to != nil {
				to.found = append(to.found, intervalOf(e))
			}
		}
	}
}

func (t *table) addChanges(kind, size string, base, head *compare.Replications) {
	var only []compare.Glob
	for _, name := range statistics {
		g, err := compare.ParseGlob(name)
		if err != nil {
			panic(err)
		}
		only = append(only, g)
	}
	c := compare.Compare("base", base, "head", head, only...)
	for i := range c.Changes {
		ch := &c.Changes[i]
		to := t.row(kind, ch.Name, size)
		if to == nil {
			continue
		}
		found := interval{ch.Difference, math.NaN(), math.NaN()}
		if ch.Low != nil {
			found.low, found.high = *ch.Low, *ch.High
		}
		to.found = append(to.found, found)
		if ch.Outcome == compare.Changed {
			to.changed++
		}
	}
}

// addSequences adds a run to the sequences of runs that end when a statistic is precise.
func (t *table) addSequences(running map[string]*compare.Replicator, r *collect.Replication, run int) error {
	const most = 1000 // as --precision does
	for _, precision := range t.precisions {
		for _, name := range precise {
			size := fmt.Sprintf("%g %%", 100*precision)
			key := size + name
			s := running[key]
			if s == nil {
				s = compare.NewReplicator("coverage", precision, []string{name})
				running[key] = s
			}
			s.Add(r)
			enough, err := s.Precise()
			if err != nil {
				return err
			}
			if !enough && s.N() < most {
				continue
			}
			delete(running, key)
			if to := t.row(ofPrecision, name, size); to != nil {
				to.found = append(to.found, intervalOf(s.Replications().ByName()[name]))
			}
		}
	}
	return nil
}

// finish sets the truths.
func (t *table) finish(pools []*pool) (rows []row) {
	for _, r := range t.rows {
		base, head := pools[0].truth.value(r.statistic), pools[1].truth.value(r.statistic)
		switch r.kind {
		case ofPaired, ofUnpaired:
			r.truth = head - base
		case ofNoChange:
			r.truth = 0
		default:
			r.truth = base
		}
		rows = append(rows, *r)
	}
	return rows
}
