package alerts

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	prom "github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"apfsim/reports/record"
)

// Alert is an alert of a run, of one combination of labels, from when it became pending until it was resolved. Times are
// of the run, in nanoseconds; those of its lead are negative.
type Alert struct {
	Name   string            `json:"alert"`
	Group  string            `json:"group"`
	Rule   string            `json:"rule"` // its file and line
	Labels map[string]string `json:"labels"`

	PendingNs int64   `json:"pendingNs"` // when its expression first had a value
	FiresNs   *int64  `json:"firesNs"`   // when it began to fire; null if it did not
	EndNs     *int64  `json:"endNs"`     // when it was resolved; null if it was not before the end
	Value     float64 `json:"value"`     // of the expression, when it fired, or else when it became pending

	rule   *Rule
	of     labels.Labels
	keptNs *int64 // since when it only fires because of keep_firing_for
}

// mostSamples is how many samples an expression may read at once, as of a Prometheus without flags.
const mostSamples = 50_000_000

// mostSteps is how often the subqueries of an expression may be evaluated at once. Prometheus gives up after a time instead.
const mostSteps = 10_000_000

// Failure is a rule that could not be evaluated at some times. An alert keeps its state then, and a recorded series has no value.
type Failure struct {
	Name    string `json:"name"` // of the alert or of the recorded series
	Group   string `json:"group"`
	Rule    string `json:"rule"`    // its file and line
	FirstNs int64  `json:"firstNs"` // when it first failed, in nanoseconds of the run
	Times   int    `json:"times"`   // how often it failed
	Error   string `json:"error"`   // why it first failed

	rule *Rule
}

// lookback is for how long a sample is the value of its series, as of a Prometheus without flags.
const lookback = 5 * time.Minute

// evaluation evaluates rules over the series of a run.
type evaluation struct {
	engine  *prom.Engine
	data    *database
	startMs int64

	active   map[*Rule][]*Alert // in the order in which they became pending
	recorded map[*Rule][]labels.Labels
	all      []*Alert
	failures []*Failure // in the order in which they first failed
}

func newEvaluation(data *database, o Options) *evaluation {
	return &evaluation{
		engine: prom.NewEngine(prom.EngineOpts{MaxSamples: mostSamples, Timeout: math.MaxInt64, // the time does not decide
			LookbackDelta:            lookback,
			NoStepSubqueryIntervalFn: func(int64) int64 { return o.Evaluate.Milliseconds() },
			EnableAtModifier:         true, EnableNegativeOffset: true}),
		data: data, active: map[*Rule][]*Alert{}, recorded: map[*Rule][]labels.Labels{},
	}
}

// evaluate evaluates the rules of all groups, each at its interval, from the begin of the lead to the end of a run.
func evaluate(ctx context.Context, data *database, groups []*Group, startMs int64, length time.Duration, o Options) (*evaluation, error) {
	interval := o.Evaluate
	e := newEvaluation(data, o)
	e.startMs = startMs
	defer e.engine.Close()
	step := interval
	for _, g := range groups {
		if g.Interval > 0 {
			step = gcd(step, time.Duration(g.Interval))
		}
	}
	for at := o.delay - o.Lead.Truncate(step); at < length+step; at += step { // also at the end, or soon after it
		for _, g := range groups {
			every := interval
			if g.Interval > 0 {
				every = time.Duration(g.Interval)
			}
			if (at-o.delay)%every != 0 {
				continue
			}
			for _, r := range g.Rules {
				err := steps(r.parsed, interval)
				if err == nil {
					err = e.rule(ctx, r, at)
				}
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				if err != nil {
					e.fail(r, at, err)
				}
			}
		}
	}
	return e, nil
}

func (e *evaluation) fail(r *Rule, at time.Duration, err error) {
	for _, f := range e.failures {
		if f.rule == r {
			f.Times++
			return
		}
	}
	e.failures = append(e.failures, &Failure{r.Name(), r.group.Name, place(r), int64(at), 1, err.Error(), r})
}

// steps returns an error if an expression evaluates its subqueries too often at once.
func steps(expression parser.Expr, interval time.Duration) (err error) {
	parser.Inspect(expression, func(n parser.Node, parents []parser.Node) error {
		product := 1.0
		for _, p := range append(slices.Clone(parents), n) {
			if s, ok := p.(*parser.SubqueryExpr); ok {
				product *= max(1, float64(s.Range)/float64(cmp.Or(s.Step, interval)))
			}
		}
		if product > mostSteps && err == nil {
			err = fmt.Errorf("%s has %.0f steps at once; want at most %d", n, product, mostSteps)
		}
		return nil
	})
	return err
}

func gcd(a, b time.Duration) time.Duration {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// query returns the value of an expression at a time of the run.
func (e *evaluation) query(ctx context.Context, expression string, at time.Duration) (prom.Vector, error) {
	ms := e.startMs + at.Milliseconds()
	q, err := e.engine.NewInstantQuery(ctx, e.data, nil, expression, time.UnixMilli(ms))
	if err != nil {
		return nil, err
	}
	defer q.Close()
	result := q.Exec(ctx)
	if result.Err != nil {
		return nil, result.Err
	}
	switch v := result.Value.(type) {
	case prom.Vector:
		return append(prom.Vector(nil), v...), nil // the engine uses the memory of the result again
	case prom.Scalar:
		return prom.Vector{{T: v.T, F: v.V}}, nil
	}
	return nil, fmt.Errorf("the expression yields a %s; want a vector or a scalar", result.Value.Type())
}

// rule evaluates a rule as Prometheus does (its rules/alerting.go and rules/recording.go).
func (e *evaluation) rule(ctx context.Context, r *Rule, at time.Duration) error {
	vector, err := e.query(ctx, string(r.Expr), at-time.Duration(r.group.QueryOffset))
	if err != nil {
		return err
	}
	ms := e.startMs + at.Milliseconds()
	if r.Record != "" {
		return e.record(r, vector, ms)
	}
	now, active := map[uint64]float64{}, 0
	for i := range vector {
		s := &vector[i]
		s.Metric = r.labelled(s.Metric, "", labels.AlertName, r.Alert)
		if _, twice := now[s.Metric.Hash()]; twice {
			return fmt.Errorf("two of its series have the same labels %s", s.Metric)
		}
		now[s.Metric.Hash()] = s.F
	}
	for _, a := range e.active[r] {
		if _, there := now[a.of.Hash()]; !there && e.keeps(a, at) {
			active++
		}
	}
	if active += len(now); r.group.Limit > 0 && active > r.group.Limit {
		for _, a := range e.active[r] { // which Prometheus forgets
			ns := int64(at)
			a.EndNs = &ns
		}
		e.active[r] = nil
		return fmt.Errorf("exceeded limit of %d with %d alerts", r.group.Limit, active)
	}
	for i := range vector {
		s := &vector[i]
		if of := s.Metric; !e.isActive(r, of) {
			a := &Alert{Name: r.Alert, Group: r.group.Name, Rule: place(r), Labels: of.Map(), PendingNs: int64(at), Value: s.F, rule: r, of: of}
			delete(a.Labels, labels.AlertName)
			e.active[r], e.all = append(e.active[r], a), append(e.all, a)
		}
	}
	var left []*Alert
	for _, a := range e.active[r] {
		x, there := now[a.of.Hash()]
		state := "pending"
		if a.FiresNs != nil {
			state = "firing"
		}
		switch {
		case there:
			a.keptNs = nil
			if a.FiresNs == nil && int64(at)-a.PendingNs >= int64(r.For) {
				ns := int64(at)
				a.FiresNs, a.Value = &ns, x
				e.show(a, state, ms, record.Stale)
				state = "firing"
			}
		case e.keeps(a, at):
		default:
			ns := int64(at)
			a.EndNs = &ns
			e.show(a, state, ms, record.Stale)
			continue
		}
		e.show(a, state, ms, 1)
		left = append(left, a)
	}
	e.active[r] = left
	return nil
}

// keeps reports whether an alert without a value fires on because of keep_firing_for.
func (e *evaluation) keeps(a *Alert, at time.Duration) bool {
	if a.FiresNs == nil || a.rule.KeepFiringFor == 0 {
		return false
	}
	if a.keptNs == nil {
		ns := int64(at)
		a.keptNs = &ns
	}
	return int64(at)-*a.keptNs < int64(a.rule.KeepFiringFor)
}

func (e *evaluation) isActive(r *Rule, of labels.Labels) bool {
	for _, a := range e.active[r] {
		if labels.Equal(a.of, of) {
			return true
		}
	}
	return false
}

// show adds a sample of the series ALERTS.
func (e *evaluation) show(a *Alert, state string, ms int64, x float64) {
	b := labels.NewBuilder(a.of)
	b.Set(model.MetricNameLabel, "ALERTS").Set("alertstate", state)
	e.data.add(b.Labels(), ms, x)
}

// record adds the values of a recorded series, and ends those that have none any more.
func (e *evaluation) record(r *Rule, vector prom.Vector, ms int64) error {
	var now []labels.Labels
	seen := map[uint64]bool{}
	for i := range vector {
		of := r.labelled(vector[i].Metric, r.Record)
		if seen[of.Hash()] {
			return fmt.Errorf("two of its series have the same labels %s", of)
		}
		seen[of.Hash()] = true
		now = append(now, of)
	}
	if r.group.Limit > 0 && len(now) > r.group.Limit {
		return fmt.Errorf("exceeded limit of %d with %d series", r.group.Limit, len(now))
	}
	for i, of := range now {
		e.data.add(of, ms, vector[i].F)
	}
	for _, of := range e.recorded[r] {
		if !seen[of.Hash()] {
			e.data.add(of, ms, record.Stale)
		}
	}
	e.recorded[r] = now
	return nil
}

// labelled returns the labels of a value of the expression with those of the rule, and with a name, which may be "".
func (r *Rule) labelled(of labels.Labels, name string, more ...string) labels.Labels {
	b := labels.NewBuilder(of)
	b.Del(model.MetricNameLabel)
	if name != "" {
		b.Set(model.MetricNameLabel, name)
	}
	for _, all := range []map[string]string{r.group.Labels, r.Labels} {
		for k, v := range all { // in any order, because they are independent
			b.Set(k, v)
		}
	}
	for i := 0; i+1 < len(more); i += 2 {
		b.Set(more[i], more[i+1])
	}
	return b.Labels()
}
