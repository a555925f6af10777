// Package scrape compares a run with two scrapes of a server's /metrics. Between computes what the server
// did between the scrapes, an Interval; Compare puts a run, or several, beside it, which is a Comparison.
//
// A server is observed once, so there is no test of whether it differs from the runs. What several runs
// give is the interval in which one more of them is expected, and the value of the server lies within it
// or not.
package scrape

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"apfsim/lint/metrics"
	"apfsim/reports/format"
)

// Scrape is the metrics of flow control that a server reported at one time.
type Scrape struct {
	Name    string // of its file
	samples *metrics.Samples
}

// Read reads a scrape, see [metrics.Read]. Its name is that of the file.
func Read(name string, r io.Reader) (*Scrape, error) {
	samples, err := metrics.Read(r, metrics.FlowControl, metrics.ProcessStart)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(samples.ByName[metrics.DispatchedTotal]) == 0 {
		return nil, fmt.Errorf("%s: has no value of %s; want what a kube-apiserver with API Priority and Fairness serves under /metrics", name, metrics.DispatchedTotal)
	}
	return &Scrape{Name: name, samples: samples}, nil
}

// older are the names that a metric had in earlier releases.
var older = map[string]string{
	metrics.NominalLimit:   metrics.ConcurrencyLimit,
	metrics.ExecutingSeats: metrics.ConcurrencyInUse,
}

// since is the release from which on servers have a metric that may be missing.
var since = []struct{ metric, release string }{
	{metrics.SeatUtilization, "1.25"}, {metrics.NominalLimit, "1.18"}, {metrics.CurrentLimit, "1.26"}, {metrics.ExecutingSeats, "1.22"}, {metrics.DemandHigh, "1.26"},
}

// Interval holds the statistics of a server between two scrapes, or since its start.
type Interval struct {
	Before   string // names of the files; Before is empty for the time since the start of the server
	After    string
	LengthNs *int64  // between the scrapes; nil if the server does not report it, as before 1.25
	Levels   []Group // by name
	Schemas  []Group // by name
	Warnings []string

	// oldTimeOuts is whether the server may be older than 1.28.5, so that it counts requests that time out
	// as cancelled. Later ones report the seats of queues as soon as a request has waited.
	oldTimeOuts bool
}

// Group is the requests of a priority level or of a FlowSchema.
type Group struct {
	Name       string
	Dispatched float64
	Rejected   map[string]float64 // by reason
	Waits      Histogram          // of dispatched requests, and of those that timed out; empty for an exempt level
	Execution  Sum                // seconds

	// Of a priority level. An absent gauge is NaN.
	Utilisation                             Sum // seats in use / current limit, at each nanosecond
	Nominal, Current, Executing, DemandHigh Gauge
}

// Sum is a sum and how many values it has.
type Sum struct{ Sum, Count float64 }

// Mean returns the mean of the values, NaN if there are none.
func (s Sum) Mean() float64 {
	if s.Count <= 0 {
		return math.NaN()
	}
	return s.Sum / s.Count
}

// Gauge is the value of a gauge at both scrapes, NaN if there is none.
type Gauge struct{ Before, After float64 }

// Between returns what happened between two scrapes of one server. Without a scrape before, which is nil,
// it is what happened since the start of the server. The error says that the scrapes are not of one
// process.
func Between(before, after *Scrape) (*Interval, error) {
	d := &difference{Interval: Interval{After: after.Name}, after: after.samples, levels: map[string]*Group{}, schemas: map[string]*Group{}}
	for _, s := range []*Scrape{before, after} {
		if s != nil && s.samples.Repeated {
			d.warn("%s has several samples of a series; the last one of each is used", s.Name)
		}
	}
	d.before = &metrics.Samples{}
	if before != nil {
		d.Before, d.before = before.Name, before.samples
	} else {
		d.warn("there is one scrape: the numbers of the server are those since its start")
	}
	d.checkStart()
	d.subtract()
	if len(d.wrong) > 0 {
		return nil, d.refuse()
	}
	d.gauges()
	d.warnOfQueued()
	d.oldTimeOuts = len(after.samples.ByName[metrics.InQueueSeats]) == 0
	sorted := func(m map[string]*Group) (all []Group) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			g := m[name]
			g.Waits.Sort()
			all = append(all, *g)
		}
		return all
	}
	d.Levels, d.Schemas = sorted(d.levels), sorted(d.schemas)
	return &d.Interval, nil
}

// difference is an Interval under construction.
type difference struct {
	Interval
	before, after   *metrics.Samples
	levels, schemas map[string]*Group
	wrong           []string // what shows that the scrapes are not of one process
}

func (d *difference) warn(format string, args ...any) {
	d.Warnings = append(d.Warnings, fmt.Sprintf(format, args...))
}

// refuse returns the error of scrapes that cannot be subtracted, with the first few reasons.
func (d *difference) refuse() error {
	const most = 3
	text := d.After + ": "
	if d.Before == "" {
		text += "cannot be read as one server's metrics: "
	} else {
		text += fmt.Sprintf("is not a later scrape of the process of %s; the server may have restarted, or the files may be in the wrong order: ", d.Before)
	}
	shown := d.wrong[:min(most, len(d.wrong))]
	text += strings.Join(shown, "; ")
	if more := len(d.wrong) - len(shown); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return errors.New(text)
}

// checkStart compares the times at which the processes of both scrapes started.
func (d *difference) checkStart() {
	before, after := d.before.ByName[metrics.ProcessStart], d.after.ByName[metrics.ProcessStart]
	if len(before) == 1 && len(after) == 1 && math.Abs(before[0].Value-after[0].Value) > 1 {
		d.wrong = append(d.wrong, fmt.Sprintf("%s is %s and was %s", metrics.ProcessStart, number(after[0].Value), number(before[0].Value)))
	}
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// flowControlLabels are the labels that flow control gives to its metrics. Others are from whoever has
// saved the scrape, as job and instance, and are the same for all series of one server.
var flowControlLabels = []string{"priority_level", "priorityLevel", "flow_schema", "flowSchema", "reason", "execute", "type", "phase", "le"}

// subtract adds up the differences of all counters.
func (d *difference) subtract() {
	length := 0.0
	d.each(metrics.DispatchedTotal, func(s *metrics.Sample, x float64) {
		d.groups(s, func(g *Group) { g.Dispatched += x })
	})
	d.each(metrics.RejectedTotal, func(s *metrics.Sample, x float64) {
		d.groups(s, func(g *Group) { g.Rejected[s.Label("reason")] += x })
	})
	d.each(metrics.WaitSeconds+"_bucket", func(s *metrics.Sample, x float64) {
		bound, err := strconv.ParseFloat(s.Label("le"), 64)
		if err != nil || math.IsNaN(bound) {
			d.wrong = append(d.wrong, fmt.Sprintf("%s_bucket has the bound le=%q; want a number", metrics.WaitSeconds, s.Label("le")))
			return
		}
		if s.Label("execute") == "true" { // a request that times out is counted as one that executes
			d.groups(s, func(g *Group) { g.Waits.Add(bound, x) })
		}
	})
	d.each(metrics.WaitSeconds+"_sum", func(s *metrics.Sample, x float64) {
		if s.Label("execute") == "true" {
			d.groups(s, func(g *Group) { g.Waits.Sum += x })
		}
	})
	for _, part := range []struct {
		name  string
		field func(*Sum) *float64
	}{{"_sum", func(s *Sum) *float64 { return &s.Sum }}, {"_count", func(s *Sum) *float64 { return &s.Count }}} {
		d.each(metrics.ExecutionSeconds+part.name, func(s *metrics.Sample, x float64) {
			d.groups(s, func(g *Group) { *part.field(&g.Execution) += x })
		})
		d.each(metrics.SeatUtilization+part.name, func(s *metrics.Sample, x float64) {
			if s.Label("phase") == "executing" {
				g := d.level(s)
				*part.field(&g.Utilisation) += x
				length = max(length, g.Utilisation.Count) // a level may have been added between the scrapes
			}
		})
	}
	if length > 0 && length < math.MaxInt64 {
		ns := int64(length)
		d.LengthNs = &ns
	}
}

// each calls add with the difference of each series of a counter. A counter that is not in the scrape
// before has counted nothing until then.
func (d *difference) each(name string, add func(s *metrics.Sample, x float64)) {
	refuse := func(key, format string, args ...any) {
		d.wrong = append(d.wrong, fmt.Sprintf("%s{%s} "+format, append([]any{name, key}, args...)...))
	}
	from := map[string]float64{}
	for _, s := range d.before.ByName[name] {
		from[s.Key()] = s.Value
	}
	others := map[string]string{} // the labels of others by those of flow control
	for i := range d.after.ByName[name] {
		s := &d.after.ByName[name][i]
		key := s.Key()
		was := from[key]
		delete(from, key)
		own, other := s.Only(flowControlLabels), s.Without(flowControlLabels)
		first, twice := others[own]
		others[own] = other
		switch x := s.Value - was; {
		case twice && first != other:
			refuse(own, "is there for several servers, {%s} and {%s}; want one server's metrics", first, other)
		case levelOf(s) == "":
			refuse(key, "has no label priority_level")
		case !(s.Value >= 0) || math.IsInf(s.Value, 0):
			refuse(key, "is %g; want 0 or more", s.Value)
		case x < 0:
			refuse(key, "is %s and was %s", number(s.Value), number(was))
		default:
			add(s, x)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(from)) {
		refuse(key, "is missing and was %s", number(from[key]))
	}
}

// groups calls add with the priority level and the FlowSchema of a sample.
func (d *difference) groups(s *metrics.Sample, add func(*Group)) {
	add(d.level(s))
	add(group(d.schemas, cmp.Or(s.Label("flow_schema"), s.Label("flowSchema"))))
}

func (d *difference) level(s *metrics.Sample) *Group { return group(d.levels, levelOf(s)) }

// levelOf returns the priority level of a sample. The label had another name before 1.20.
func levelOf(s *metrics.Sample) string {
	return cmp.Or(s.Label("priority_level"), s.Label("priorityLevel"))
}

func group(all map[string]*Group, name string) *Group {
	g := all[name]
	if g == nil {
		none := Gauge{math.NaN(), math.NaN()}
		g = &Group{Name: name, Rejected: map[string]float64{}, Nominal: none, Current: none, Executing: none, DemandHigh: none}
		all[name] = g
	}
	return g
}

// warnOfQueued warns of requests that were in queues at the first scrape.
func (d *difference) warnOfQueued() {
	queued := 0.0
	for _, s := range d.before.ByName[metrics.InQueue] {
		queued += s.Value
	}
	if queued > 0 {
		d.warn("%s queued at the first scrape: the server counts them when they are dispatched or time out, and the run does not have them",
			format.Counted(int(min(queued, math.MaxInt32)), "request"))
	}
}

// gauges sets the gauges of the priority levels. The seats in use are the sum of those of its
// FlowSchemas.
func (d *difference) gauges() {
	var missing []string
	for _, m := range since {
		name := m.metric
		if d.after.ByName[name] == nil && d.after.ByName[name+"_count"] == nil {
			if name = older[name]; d.after.ByName[name] == nil {
				missing = append(missing, fmt.Sprintf("%s (from %s on)", strings.TrimPrefix(m.metric, metrics.FlowControl), m.release))
				continue
			}
		}
		gaugeOf := map[string]func(*Group) *Gauge{
			metrics.NominalLimit: func(g *Group) *Gauge { return &g.Nominal }, metrics.CurrentLimit: func(g *Group) *Gauge { return &g.Current },
			metrics.ExecutingSeats: func(g *Group) *Gauge { return &g.Executing }, metrics.DemandHigh: func(g *Group) *Gauge { return &g.DemandHigh },
		}[m.metric]
		if gaugeOf == nil {
			continue
		}
		for i, samples := range [][]metrics.Sample{d.before.ByName[name], d.after.ByName[name]} {
			for k := range samples {
				gauge := gaugeOf(d.level(&samples[k]))
				x := []*float64{&gauge.Before, &gauge.After}[i]
				if math.IsNaN(*x) {
					*x = 0
				}
				*x += samples[k].Value
			}
		}
	}
	if len(missing) > 0 {
		d.warn("%s has no %s", d.After, format.Listed(missing, len(missing), ""))
	}
}
