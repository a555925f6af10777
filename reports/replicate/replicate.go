// Package replicate joins independent runs of one scenario into means with confidence intervals.
package replicate

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"apfsim/reports/collect"
	"apfsim/reports/histogram"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/reports/statistics"
	"apfsim/reports/stats"
	"apfsim/sim/metric"
)

// Replications is what independent runs of one scenario have in common: what
// replications.json holds.
type Replications struct {
	SchemaVersion string   `json:"schemaVersion"`
	Name          string   `json:"name"`
	Description   string   `json:"description"`
	Seeds         []uint64 `json:"seeds"`
	DurationNs    int64    `json:"durationNs"`
	WarmupNs      int64    `json:"warmupNs"`
	FlowControl   string   `json:"flowControl"`
	// AdjustmentPhasesNs are those of the runs, in the order of the seeds; left out if all are 0.
	AdjustmentPhasesNs []int64 `json:"adjustmentPhasesNs,omitempty"`

	Passed     bool       `json:"passed"` // whether every threshold holds in every run
	Thresholds []Verdict  `json:"thresholds"`
	Warnings   []string   `json:"warnings"` // of the first run
	Precision  *Precision `json:"precision"`

	Confidence   float64    `json:"confidence"`   // of the intervals
	FlowsLeftOut bool       `json:"flowsLeftOut"` // for there are too many of them
	Statistics   []Estimate `json:"statistics"`
}

// Estimate is what several runs say of one statistic.
type Estimate struct {
	Name       string        `json:"name"`
	Unit       string        `json:"unit"`
	Better     metric.Better `json:"better"`
	N          int           `json:"n"`      // runs in which it has samples
	Mean       float64       `json:"mean"`   // of the runs' values
	StdDev     *float64      `json:"stddev"` // of the runs' values; null of a single one
	Low        *float64      `json:"low"`    // the interval of confidence of the mean; null with StdDev
	High       *float64      `json:"high"`
	Merged     *float64      `json:"merged"`     // a percentile of all runs' requests together; else null
	MergedHalf *float64      `json:"mergedHalf"` // half of its interval of confidence; null of a single run
	Values     stats.Values  `json:"values"`     // by run, in the order of the seeds

	ID metric.Name `json:"-"` // Name, parsed

	PriorityLevel string `json:"priorityLevel,omitempty"` // of a flow
	FlowSchema    string `json:"flowSchema,omitempty"`    // of a flow
}

// Half returns the half-width of the interval, 0 when there is none.
func (e *Estimate) Half() float64 {
	if e.High == nil {
		return 0
	}
	return *e.High - e.Mean
}

// Verdict says in which runs a threshold holds.
type Verdict struct {
	Metric      string       `json:"metric"`
	Expression  string       `json:"expression"`
	Limit       float64      `json:"limit"`
	Unit        string       `json:"unit"`
	Passed      bool         `json:"passed"` // in every run
	FailedSeeds []uint64     `json:"failedSeeds"`
	Values      stats.Values `json:"values"` // by run
}

// Precision is what was asked of the intervals, and what came of it.
type Precision struct {
	Wanted     float64           `json:"wanted"` // half-width over mean, at most
	Met        bool              `json:"met"`
	Statistics []PrecisionResult `json:"statistics"`
}

// PrecisionResult is the half-width over mean of one statistic in the end.
type PrecisionResult struct {
	Name    string   `json:"name"`
	Reached *float64 `json:"reached"` // null without an interval, or when the mean is 0
}

// Replicator takes the runs of one scenario together, in the order of their seeds. Memory
// grows with the number of statistics times that of runs, by 8 bytes each; of flows there
// may be so many that their statistics are left out.
type Replicator struct {
	r         Replications
	Order     []*estimated
	byName    map[string]*estimated
	parts     []measure.Part
	precision float64
	of        []string
	ofFlows   []metric.Name // those of them that are of a flow
	withFlows bool
}

type estimated struct {
	statistics.Statistic
	Values stats.Values
}

// mostFlowRuns is how many flows times runs there are statistics of at most: their values
// take some 400 bytes for each.
const mostFlowRuns = 20_000

// MinPrecisionRuns is how many runs there are before the width of an interval is trusted.
const MinPrecisionRuns = 5

// New returns a replicator of so far no runs. With a precision above 0, Precise
// says when the intervals of the statistics named in of are narrow enough.
func New(name string, precision float64, of []string) *Replicator {
	a := &Replicator{
		r:         Replications{SchemaVersion: result.SchemaVersion, Name: name, Passed: true, Confidence: stats.Confidence},
		byName:    map[string]*estimated{},
		precision: precision, of: of, withFlows: true,
	}
	for _, name := range of {
		if id, err := metric.ParseName(name); err == nil && id.Tag("flow") != "" {
			a.ofFlows = append(a.ofFlows, id)
		}
	}
	return a
}

// Add takes in the next run.
func (a *Replicator) Add(next *collect.Replication) {
	s, r := next.Summary, &a.r
	n := len(r.Seeds)
	if n == 0 {
		r.Description, r.DurationNs, r.WarmupNs, r.FlowControl = s.Description, s.DurationNs, s.WarmupNs, s.FlowControl
		r.Warnings = s.Warnings
		r.Thresholds = []Verdict{}
		for _, v := range s.Thresholds {
			r.Thresholds = append(r.Thresholds, Verdict{Metric: v.Metric, Expression: v.Expression,
				Limit: v.Limit, Unit: v.Unit, Passed: true, FailedSeeds: []uint64{}})
		}
	}
	r.Seeds = append(r.Seeds, s.Seed)
	if s.AdjustmentPhaseNs > 0 && r.AdjustmentPhasesNs == nil {
		r.AdjustmentPhasesNs = make([]int64, n)
	}
	if r.AdjustmentPhasesNs != nil {
		r.AdjustmentPhasesNs = append(r.AdjustmentPhasesNs, s.AdjustmentPhaseNs)
	}
	for i, v := range s.Thresholds {
		t := &r.Thresholds[i]
		value := math.NaN()
		if v.Value != nil {
			value = *v.Value
		}
		t.Values = append(t.Values, value)
		if !v.Passed {
			t.Passed, r.Passed = false, false
			t.FailedSeeds = append(t.FailedSeeds, s.Seed)
		}
	}
	if a.withFlows && len(s.Flows)*(n+1) > mostFlowRuns {
		a.leaveFlowsOut()
	}
	all := statistics.List(s, a.withFlows || len(a.ofFlows) > 0)
	a.AddValues(slices.DeleteFunc(all, func(s statistics.Statistic) bool { return !a.keeps(&s) }), n)
	a.addParts(next.Parts)
}

func (a *Replicator) leaveFlowsOut() {
	a.withFlows, a.r.FlowsLeftOut = false, true
	a.Order = slices.DeleteFunc(a.Order, func(e *estimated) bool {
		if a.keeps(&e.Statistic) {
			return false
		}
		delete(a.byName, e.Name.String())
		return true
	})
}

// keeps says whether the values of a statistic are kept: once there are too many flows, of theirs
// only those are that the precision is about.
func (a *Replicator) keeps(s *statistics.Statistic) bool {
	return a.withFlows || !s.OfFlow() ||
		slices.ContainsFunc(a.ofFlows, func(want metric.Name) bool { return s.IsThatOf(&want) })
}

// AddValues takes in the statistics of a run after n others. One that has not been there
// before finds its place behind the one that it follows in this run.
func (a *Replicator) AddValues(all []statistics.Statistic, n int) {
	var added map[*estimated][]*estimated // behind which; nil is the beginning
	var last *estimated                   // of those that have a place
	for _, s := range all {
		name := s.Name.String()
		e := a.byName[name]
		if e == nil {
			e = &estimated{Statistic: s}
			a.byName[name] = e
			if added == nil {
				added = map[*estimated][]*estimated{}
			}
			added[last] = append(added[last], e)
		} else {
			last = e
		}
		e.fill(n)
		e.Values = append(e.Values, s.Value)
	}
	if added == nil {
		return
	}
	order := slices.Clone(added[nil])
	for _, e := range a.Order {
		order = append(append(order, e), added[e]...)
	}
	a.Order = order
}

// fill brings the values up to n.
func (e *estimated) fill(n int) {
	for len(e.Values) < n {
		e.Values = append(e.Values, math.NaN())
	}
}

func (a *Replicator) addParts(parts []measure.Part) {
	for i := range parts {
		p := &parts[i]
		at := slices.IndexFunc(a.parts, func(q measure.Part) bool {
			return q.Workload == p.Workload && q.Schema == p.Schema && q.Level == p.Level
		})
		if at < 0 {
			at = len(a.parts)
			a.parts = append(a.parts, measure.Part{Workload: p.Workload, Schema: p.Schema, Level: p.Level, Timed: measure.New[uint64](histogram.FinePrecision).Timed})
		}
		for t := range p.Timed {
			a.parts[at].Timed[t].Merge(&p.Timed[t])
		}
	}
}

// N returns how many runs there are.
func (a *Replicator) N() int { return len(a.r.Seeds) }

// Precise says whether every interval that matters is narrow enough. The error tells of a
// name that is none of the statistics'; one without samples so far is not narrow, nor is that
// of a flow that the first few runs do not have.
func (a *Replicator) Precise() (bool, error) {
	met, results, err := a.reached()
	a.r.Precision = &Precision{Wanted: a.precision, Met: met, Statistics: results}
	return met, err
}

func (a *Replicator) reached() (met bool, results []PrecisionResult, err error) {
	met = true
	for _, name := range a.of {
		e, err := a.find(name)
		if err != nil {
			return false, nil, err
		}
		result := PrecisionResult{Name: name}
		narrow := false
		if e != nil {
			result.Name = e.Name.String()
			got := EstimateOf(e.Values)
			if got.High != nil && got.Mean != 0 {
				relative := got.Half() / got.Mean
				result.Reached = &relative
			}
			// A mean of 0 has an interval without width, or none that any precision suits.
			narrow = got.N >= MinPrecisionRuns && got.Half() <= a.precision*got.Mean // which is not negative
		}
		met = met && narrow
		results = append(results, result)
	}
	return met, results, nil
}

// find returns the statistic that text names, nil if it has no samples yet.
func (a *Replicator) find(text string) (*estimated, error) {
	all := make([]statistics.Statistic, len(a.Order))
	for i, e := range a.Order {
		all[i] = e.Statistic
	}
	i, err := statistics.Find(all, text)
	switch {
	case err == nil:
		return a.Order[i], nil
	case errors.Is(err, result.ErrNoSamples):
		return nil, nil
	case NamesFlow(text) && a.N() < MinPrecisionRuns: // it may send something yet
		return nil, nil
	}
	return nil, err
}

// NamesFlow says whether text names a statistic of a single flow.
func NamesFlow(text string) bool {
	id, err := metric.ParseName(text)
	return err == nil && id.Tag("flow") != ""
}

// Replications returns what the runs so far say together.
func (a *Replicator) Replications() *Replications {
	r := a.r
	r.Statistics = make([]Estimate, len(a.Order))
	merged := map[metric.Tag]*[measure.Timings]histogram.Histogram[uint64]{}
	for i, e := range a.Order {
		e.fill(len(r.Seeds))
		out := EstimateOf(e.Values)
		out.ID, out.Name, out.Unit, out.Better = e.Name, e.Name.String(), string(e.Name.Unit), e.Name.Better()
		out.PriorityLevel, out.FlowSchema = e.Level, e.Schema
		p, isPercentile := percentile(&e.Statistic)
		if of, timed := measure.TimingOf(e.Name.Metric); isPercentile && timed && !e.OfFlow() {
			if h := &a.merged(merged, e.Name.Tags)[of]; h.N > 0 { // a summary alone has none
				together := float64(h.PercentileNs(p))
				out.Merged = &together
				out.MergedHalf = stats.SectioningHalfWidth(together, e.Values.Present())
			}
		}
		r.Statistics[i] = out
	}
	return &r
}

// percentile returns which percentile of durations the statistic is, if it is one.
func percentile(s *statistics.Statistic) (p float64, ok bool) {
	switch {
	case s.Name.Stat == "med":
		return 50, true
	case s.Name.Stat == "p":
		return s.Name.Percentile, true
	}
	return 0, false
}

// merged returns the durations of the requests that have the tag, if any.
func (a *Replicator) merged(done map[metric.Tag]*[measure.Timings]histogram.Histogram[uint64], tags []metric.Tag) *[measure.Timings]histogram.Histogram[uint64] {
	var of metric.Tag
	if len(tags) > 0 {
		of = tags[0]
	}
	if all := done[of]; all != nil {
		return all
	}
	all := measure.New[uint64](histogram.FinePrecision).Timed
	for i := range a.parts {
		p := &a.parts[i]
		if of.Name == "" || of.Name == "workload" && of.Value == p.Workload ||
			of.Name == "flowSchema" && of.Value == p.Schema || of.Name == "priorityLevel" && of.Value == p.Level {
			for t := range all {
				all[t].Merge(&p.Timed[t])
			}
		}
	}
	done[of] = &all
	return &all
}

// EstimateOf returns the mean of those values that there are, and its interval of confidence by
// Student's t distribution,
//
//	mean ± t(1−α/2, n−1) · s/√n
//
// (Law and Kelton, Simulation Modeling and Analysis, section 4.5).
func EstimateOf(values stats.Values) Estimate {
	present := values.Present()
	e := Estimate{N: len(present), Values: values}
	if e.N == 0 {
		return e
	}
	var sd float64
	if e.Mean = present[0]; !stats.Negligible(slices.Max(present)-slices.Min(present), stats.MaxAbs(present)) { // else the mean would but add rounding
		e.Mean, sd = stat.MeanStdDev(present, nil)
	}
	if e.N > 1 {
		half := stats.StudentT(float64(e.N-1)) * sd / math.Sqrt(float64(e.N))
		low, high := e.Mean-half, e.Mean+half
		e.StdDev, e.Low, e.High = &sd, &low, &high
	}
	return e
}
