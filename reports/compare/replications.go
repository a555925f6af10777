package compare

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"apfsim/reports/collect"
	"apfsim/reports/judge"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// Replications is the combined result of independent runs of one scenario. It is what
// replications.json contains.
type Replications struct {
	SchemaVersion string   `json:"schemaVersion"`
	Name          string   `json:"name"`
	Description   string   `json:"description"`
	Seeds         []uint64 `json:"seeds"`
	DurationNs    int64    `json:"durationNs"`
	WarmupNs      int64    `json:"warmupNs"`
	WarmupBy      string   `json:"warmupBy,omitempty"` // as in the summaries
	FlowControl   string   `json:"flowControl"`
	result.Releases
	CatchAll   []result.CaughtAll `json:"catchAll,omitempty"`   // of all runs together, as in the summaries
	MeasuredBy string             `json:"measuredBy,omitempty"` // as in the summaries
	// AdjustmentPhasesNs has one value for each run, in the order of the seeds. It is nil if all are 0.
	AdjustmentPhasesNs []int64 `json:"adjustmentPhasesNs,omitempty"`

	Passed     bool          `json:"passed"` // whether every threshold holds in every run
	Thresholds []RunsVerdict `json:"thresholds"`
	Warnings   []string      `json:"warnings"` // of the first run
	// Verdict is the verdict on all runs together, with the reasons of all runs to trust statistics less.
	Verdict   *result.Overall `json:"verdict,omitempty"`
	Precision *Precision      `json:"precision"`
	// Replay is the comparison with the log of the first run that disagrees with it, or else of the first run. It is
	// omitted if no trace has decided: Log.
	Replay *result.Replay `json:"replay,omitempty"`

	Confidence   float64    `json:"confidence"`   // of the intervals
	FlowsLeftOut bool       `json:"flowsLeftOut"` // whether the statistics of flows are omitted, as there are too many
	Statistics   []Estimate `json:"statistics"`

	// Limits are the limits of the priority levels, as far as they are known. replications.json does not
	// contain them; those of a run are in its summary.json.
	Limits []LevelLimits `json:"-"`
}

// Estimate is the mean of one statistic over several runs. Its numbers are in Unit.
type Estimate struct {
	Name       string        `json:"name"`
	Unit       string        `json:"unit"`
	Better     metric.Better `json:"better"`
	N          int           `json:"n"`      // number of runs in which it has samples
	Mean       float64       `json:"mean"`   // of the runs' values
	StdDev     *float64      `json:"stddev"` // of the runs' values; null for a single run
	Least      float64       `json:"least"`  // of the runs' values
	Most       float64       `json:"most"`
	Low        *float64      `json:"low"` // ends of the confidence interval of the mean, in the range of the statistic; null without one
	High       *float64      `json:"high"`
	Merged     *float64      `json:"merged"`     // percentile of the requests of all runs together; null for other statistics
	MergedHalf *float64      `json:"mergedHalf"` // the longer half of its confidence interval; null without one
	MergedLow  *float64      `json:"mergedLow"`  // ends of its confidence interval, in the range of the statistic; null without one
	MergedHigh *float64      `json:"mergedHigh"`
	// NoInterval says why there is no interval of what outputs show: of the merged percentile if there is one, otherwise of the mean.
	NoInterval NoInterval `json:"noInterval,omitempty"`
	// Deviations are by how many values above a merged percentile the runs differ from what their number of values lets
	// expect. A comparison of runs with the same seeds computes from them how much both sides have in common. There is one
	// for each run, or for several neighbours if there are many runs; none without an interval.
	Deviations []float64 `json:"deviations,omitempty"`
	Values     RunValues `json:"values"` // by run, in the order of the seeds

	ID metric.Name `json:"-"` // Name, parsed
	// Few is how many samples all runs together have of a percentile if they are too few for it, else 0.
	Few int64 `json:"-"`

	PriorityLevel string `json:"priorityLevel,omitempty"` // of a flow
	FlowSchema    string `json:"flowSchema,omitempty"`    // of a flow
}

// CountSamples sets Few of all percentiles. The numbers of their samples are statistics as well.
func (r *Replications) CountSamples() {
	byName := r.ByName()
	for i := range r.Statistics {
		e := &r.Statistics[i]
		if _, is := e.ID.Percent(); !is {
			continue
		}
		if counts := byName[e.ID.Samples().String()]; counts != nil {
			n := 0.0
			for _, x := range counts.Values.Present() {
				n += x
			}
			e.Few = result.FewOf(&e.ID, int64(n))
		}
	}
}

// Half returns half the width of the interval, 0 if there is none. Of an interval that ends at a bound of the statistic's
// range, it is the width of the longer side.
func (e *Estimate) Half() float64 {
	if e.High == nil {
		return 0
	}
	return max(*e.High-e.Mean, e.Mean-*e.Low)
}

// HasInterval says whether what outputs show has an interval.
func (e *Estimate) HasInterval() bool {
	if e.Merged != nil {
		return e.MergedLow != nil
	}
	return e.Low != nil && e.NoInterval == ""
}

// Printed returns what outputs show: of a percentile, that of the requests of all runs together, otherwise the mean of the
// runs; and the ends of its interval, which are equal to the value if there is no interval.
func (e *Estimate) Printed() (value, low, high float64) {
	value, from, to := e.Mean, e.Low, e.High
	if e.Merged != nil {
		value, from, to = *e.Merged, e.MergedLow, e.MergedHigh
	}
	if !e.HasInterval() {
		return value, value, value
	}
	return value, *from, *to
}

// RunsVerdict says in which runs a threshold holds.
type RunsVerdict struct {
	Metric      string               `json:"metric"`
	Expression  string               `json:"expression"`
	Limit       float64              `json:"limit"`
	Unit        string               `json:"unit"`
	Kind        metric.ThresholdKind `json:"kind"`   // as in the summaries
	Passed      bool                 `json:"passed"` // in every run
	FailedSeeds []uint64             `json:"failedSeeds"`
	Values      RunValues            `json:"values"` // by run
	// Merged is the percentile of all runs together. It is omitted for other statistics and for windows. A threshold
	// is about each run, so that it decides nothing.
	Merged *float64 `json:"merged,omitempty"`

	id metric.Name // empty for windows
}

// Precision is the precision that --precision asked for, and the result.
type Precision struct {
	Wanted     float64           `json:"wanted"` // greatest allowed half-width divided by the mean
	Met        bool              `json:"met"`
	Statistics []PrecisionResult `json:"statistics"`
}

// PrecisionResult is the precision of one statistic after the last run.
type PrecisionResult struct {
	Name    string   `json:"name"`
	Reached *float64 `json:"reached"` // half-width divided by the mean; null without an interval or if the mean is 0
}

// Replicator combines the runs of one scenario, which are added in the order of their seeds. It keeps
// 8 bytes for each statistic and run, and omits the statistics of flows if there are too many of them.
type Replicator struct {
	r              Replications
	statistics     []*statisticValues // in the order of the summary
	byName         map[string]*statisticValues
	parts          []measure.Part                       // durations of all runs, for merged percentiles
	batches        [][][measure.Timings]measure.Batches // by run and part
	sections       []section
	runsPerSection int
	precision      float64
	preciseNames   []string      // the statistics that must be precise
	preciseFlows   []metric.Name // those of them that belong to a flow
	withFlows      bool          // whether the statistics of all flows are kept

	arrived  map[string]int64 // requests of all runs, by workload
	verdicts judge.Runs
	trust    runsTrust
}

// values are the values of one statistic by run.
type statisticValues struct {
	result.Statistic
	Values RunValues
}

// mostFlowRuns is the greatest number of flows times runs for which the statistics of flows are kept:
// each flow takes approximately 400 bytes for a run.
const mostFlowRuns = 20_000

// MinPrecisionRuns is the number of runs from which on the width of the interval of a mean is reliable, and
// minPercentileRuns that of a percentile.
const (
	MinPrecisionRuns  = 5
	minPercentileRuns = 10
)

// NewReplicator returns a replicator without runs. If precision is above 0, Precise says when the intervals of the
// named statistics are narrow enough.
func NewReplicator(name string, precision float64, statistics []string) *Replicator {
	a := &Replicator{
		r:      Replications{SchemaVersion: result.SchemaVersion, Name: name, Passed: true, Confidence: Confidence},
		byName: map[string]*statisticValues{}, arrived: map[string]int64{},
		precision: precision, preciseNames: statistics, withFlows: true, runsPerSection: 1,
	}
	for _, name := range statistics {
		if id, err := metric.ParseName(name); err == nil && id.Tag("flow") != "" {
			a.preciseFlows = append(a.preciseFlows, id)
		}
	}
	return a
}

// Add adds the next run.
func (a *Replicator) Add(next *collect.Replication) {
	s, r := next.Summary, &a.r
	n := len(r.Seeds)
	if n == 0 {
		r.Description, r.DurationNs, r.WarmupNs, r.FlowControl = s.Description, s.DurationNs, s.WarmupNs, s.FlowControl
		r.Releases, r.WarmupBy = s.Releases, s.WarmupBy
		r.Warnings, r.MeasuredBy, r.Replay = s.Warnings, s.MeasuredBy, s.Replay
		r.Thresholds = []RunsVerdict{}
		for _, v := range s.Thresholds {
			t := RunsVerdict{Metric: v.Metric, Expression: v.Expression, Limit: v.Limit, Unit: v.Unit, Kind: v.Kind, Passed: true, FailedSeeds: []uint64{}}
			if v.Windows == nil {
				t.id = v.ID
			}
			r.Thresholds = append(r.Thresholds, t)
		}
	}
	if s.Replay.Disagrees() && !r.Replay.Disagrees() {
		r.Replay = s.Replay
	}
	a.AddVerdict(s)
	r.Seeds = append(r.Seeds, s.Seed)
	a.addCatchAll(s)
	if s.MeasuredBy == "" { // a client does not know the limits
		r.SetLimits(n, s.PriorityLevels)
	}
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
	if a.withFlows && (len(s.OtherFlows) > 0 || len(s.Flows)*(n+1) > mostFlowRuns) {
		a.omitFlows()
	}
	all := result.ListStatistics(s, a.withFlows || len(a.preciseFlows) > 0)
	a.AddValues(slices.DeleteFunc(all, func(s result.Statistic) bool { return !a.keeps(&s) }), n)
	a.AddParts(next.Parts)
}

// addCatchAll adds the requests of a run that matched catch-all.
func (a *Replicator) addCatchAll(s *result.Summary) {
	for _, w := range s.Workloads {
		at := slices.IndexFunc(a.r.CatchAll, func(c result.CaughtAll) bool { return c.Workload == w.Name })
		source := slices.IndexFunc(s.CatchAll, func(c result.CaughtAll) bool { return c.Workload == w.Name })
		a.arrived[w.Name] += w.Arrived
		if at < 0 && source >= 0 {
			at = len(a.r.CatchAll)
			a.r.CatchAll = append(a.r.CatchAll, result.CaughtAll{Workload: w.Name})
		}
		if at < 0 {
			continue
		}
		a.r.CatchAll[at].Arrived = a.arrived[w.Name]
		if source >= 0 {
			a.r.CatchAll[at].Requests += s.CatchAll[source].Requests
		}
	}
}

// omitFlows discards the statistics of flows.
func (a *Replicator) omitFlows() {
	a.withFlows, a.r.FlowsLeftOut = false, true
	a.statistics = slices.DeleteFunc(a.statistics, func(e *statisticValues) bool {
		if a.keeps(&e.Statistic) {
			return false
		}
		delete(a.byName, e.Name.String())
		return true
	})
}

// keeps says whether the values of a statistic are kept. If the statistics of flows are omitted, only
// those that must be precise are kept.
func (a *Replicator) keeps(s *result.Statistic) bool {
	return a.withFlows || !s.OfFlow() ||
		slices.ContainsFunc(a.preciseFlows, func(want metric.Name) bool { return s.IsThatOf(&want) })
}

// AddVerdict adds the verdict on a run.
func (a *Replicator) AddVerdict(s *result.Summary) {
	a.verdicts.Add(s)
	a.trust.add(s)
}

// AddValues adds the statistics of a run after n others. A statistic that none of the earlier runs has is
// inserted after the statistic that precedes it in this run.
func (a *Replicator) AddValues(all []result.Statistic, n int) {
	var added map[*statisticValues][]*statisticValues // new statistics by their predecessor; nil is the beginning
	var last *statisticValues                         // the last one that is not new
	for _, s := range all {
		name := s.Name.String()
		e := a.byName[name]
		if e == nil {
			e = &statisticValues{Statistic: s}
			a.byName[name] = e
			if added == nil {
				added = map[*statisticValues][]*statisticValues{}
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
	for _, e := range a.statistics {
		order = append(append(order, e), added[e]...)
	}
	a.statistics = order
}

// fill adds NaN for the runs up to n that have no samples.
func (e *statisticValues) fill(n int) {
	for len(e.Values) < n {
		e.Values = append(e.Values, math.NaN())
	}
}

// AddParts adds the durations of a run, from which the percentiles of all runs together are computed. A part may come in
// several pieces, with some of its durations each.
func (a *Replicator) AddParts(parts []measure.Part) {
	at := make([]int, len(parts))
	var batches [][measure.Timings]measure.Batches
	for i := range parts {
		p := &parts[i]
		at[i] = slices.IndexFunc(a.parts, func(q measure.Part) bool {
			return q.Workload == p.Workload && q.Schema == p.Schema && q.Level == p.Level && q.Server == p.Server
		})
		if at[i] < 0 {
			at[i] = len(a.parts)
			a.parts = append(a.parts, measure.Part{Workload: p.Workload, Schema: p.Schema, Level: p.Level, Server: p.Server, Timed: measure.New(measure.FinePrecision).Timed})
		}
		for len(batches) <= at[i] {
			batches = append(batches, [measure.Timings]measure.Batches{})
		}
		for t := range p.Timed {
			a.parts[at[i]].Timed[t].Merge(&p.Timed[t])
			if p.Timed[t].N > 0 {
				batches[at[i]][t] = p.Batches[t]
			}
		}
	}
	a.batches = append(a.batches, batches)
	a.addSection(parts, at)
}

// EstimateOfRuns returns the estimate of the mean of a statistic's values in independent runs.
func EstimateOfRuns(id metric.Name, values RunValues) Estimate { return estimateOfRuns(id, values, 1) }

// estimateOfRuns is EstimateOfRuns with an interval that is wider by a factor.
func estimateOfRuns(id metric.Name, values RunValues, widen float64) Estimate {
	e := EstimateOf(values)
	e.ID, e.Name, e.Unit, e.Better = id, id.String(), string(id.Unit), id.Better()
	e.Low, e.High = nil, nil
	if e.N == 0 {
		return e
	}
	low, high, why := interval(&id, values.Present(), widen)
	if e.NoInterval = why; why == "" {
		e.Low, e.High = &low, &high
	}
	return e
}

// Estimates returns the estimates of the statistics of the runs so far: of percentiles, those of all runs together, as far
// as they are known.
func (a *Replicator) Estimates() []Estimate {
	all := make([]Estimate, len(a.statistics))
	known := &mergedParts{}
	for i, e := range a.statistics {
		e.fill(len(a.r.Seeds))
		all[i] = a.merge(e, known)
	}
	return all
}

// merge returns the estimate of a statistic.
func (a *Replicator) merge(s *statisticValues, known *mergedParts) Estimate {
	widen := 1.0
	if a.precision > 0 {
		widen = sequentialMean
	}
	e := estimateOfRuns(s.Name, s.Values, widen)
	e.PriorityLevel, e.FlowSchema = s.Level, s.Schema
	percent, is := s.Name.Percent()
	if !is || s.Name.Extreme() {
		return e
	}
	t, timed := measure.TimingOf(s.Name.Metric)
	if !timed || s.OfFlow() {
		e.NoInterval = ByRun
		return e
	}
	m := a.merged(known, s.Name.Tags)
	h := &m.timed[t]
	if h.N == 0 { // results read from summary.json have no histograms
		if e.N == 1 {
			e.Merged, e.NoInterval = &e.Mean, FewRuns
		} else {
			e.NoInterval = ByRun
		}
		return e
	}
	p := float64(h.PercentileNs(percent))
	e.Merged, e.NoInterval = &p, ""
	a.percentileInterval(&e, percent, m, t)
	return e
}

// N returns the number of runs so far.
func (a *Replicator) N() int { return len(a.r.Seeds) }

// Precise says whether the intervals of all named statistics are narrow enough. A statistic without
// samples is not precise, and neither is that of a flow that none of the first few runs has. The error is
// that of a name that does not exist.
func (a *Replicator) Precise() (bool, error) {
	met, results, err := a.reached()
	a.r.Precision = &Precision{Wanted: a.precision, Met: met, Statistics: results}
	return met, err
}

func (a *Replicator) reached() (met bool, results []PrecisionResult, err error) {
	met = true
	known := &mergedParts{}
	for _, name := range a.preciseNames {
		e, err := a.find(name)
		if err != nil {
			return false, nil, err
		}
		result := PrecisionResult{Name: name}
		narrow := false
		if e != nil {
			result.Name = e.Name.String()
			got := a.merge(e, known)
			value, low, high := got.Printed()
			half := max(high-value, value-low)
			enough := MinPrecisionRuns
			if got.Merged != nil {
				enough = minPercentileRuns
			}
			if got.HasInterval() && value != 0 {
				relative := half / value
				result.Reached = &relative
			}
			// With a value of 0, only an interval of width 0 is narrow enough. No value is negative.
			narrow = got.HasInterval() && got.N >= enough && half <= a.precision*value
		}
		met = met && narrow
		results = append(results, result)
	}
	return met, results, nil
}

// find returns the statistic with this name, nil if it has no samples so far.
func (a *Replicator) find(text string) (*statisticValues, error) {
	all := make([]result.Statistic, len(a.statistics))
	for i, e := range a.statistics {
		all[i] = e.Statistic
	}
	i, err := result.FindStatistic(all, text)
	switch {
	case err == nil:
		return a.statistics[i], nil
	case errors.Is(err, result.ErrNoSamples):
		return nil, nil
	case NamesFlow(text) && a.N() < MinPrecisionRuns: // the flow may send requests in a later run
		return nil, nil
	}
	return nil, err
}

// NamesFlow says whether text is the name of a statistic of a single flow.
func NamesFlow(text string) bool {
	id, err := metric.ParseName(text)
	return err == nil && id.Tag("flow") != ""
}

// Replications returns the combined result of the runs so far.
func (a *Replicator) Replications() *Replications {
	r := a.r
	if r.Verdict = a.verdicts.Verdict(); r.Verdict != nil {
		r.Verdict.Trust = a.trust.all(max(len(r.Seeds), a.verdicts.N()))
	}
	r.Statistics = a.Estimates()
	r.CountSamples()
	byName := r.ByName()
	a.mergeWaits(r.Verdict, byName)
	r.Thresholds = slices.Clone(r.Thresholds)
	for i := range r.Thresholds {
		if e := byName[r.Thresholds[i].id.String()]; e != nil && e.N > 1 {
			r.Thresholds[i].Merged = e.Merged
		}
	}
	return &r
}

// mergeWaits gives the workloads of a verdict the wait p99 of the requests of all runs. That of a flow is not known.
func (a *Replicator) mergeWaits(v *result.Overall, byName map[string]*Estimate) {
	if v == nil || a.verdicts.N() < 2 {
		return
	}
	for i := range v.Harmed {
		h := &v.Harmed[i]
		h.WaitP99Ns = nil
		id := judge.WaitP99.With("workload", h.Workload)
		if e := byName[id.String()]; e != nil && h.Name == h.Workload {
			ns := int64(e.Mean)
			if e.Merged != nil {
				ns = int64(*e.Merged)
			}
			h.WaitP99Ns = &ns
		}
	}
}

// merged is the durations of the requests of all runs that have a tag, and what follows from them.
type merged struct {
	parts     []int // the places of their parts
	timed     [measure.Timings]measure.Histogram
	clusters  [measure.Timings]*clustered // nil until an interval needs it
	effective [measure.Timings]float64
}

// mergedParts caches merged durations by tag. Several tags may have the same requests.
type mergedParts struct {
	byTag map[metric.Tag]*merged
	all   []*merged
}

// merged returns the durations of the requests of all runs that have the tag; without tags, of all requests.
func (a *Replicator) merged(known *mergedParts, tags []metric.Tag) *merged {
	var tag metric.Tag
	if len(tags) > 0 {
		tag = tags[0]
	}
	if m := known.byTag[tag]; m != nil {
		return m
	}
	var parts []int
	for i := range a.parts {
		p := &a.parts[i]
		if tag.Name == "" || tag.Name == "workload" && tag.Value == p.Workload ||
			tag.Name == "flowSchema" && tag.Value == p.Schema || tag.Name == "priorityLevel" && tag.Value == p.Level ||
			tag.Name == "server" && tag.Value == strconv.Itoa(p.Server) {
			parts = append(parts, i)
		}
	}
	if known.byTag == nil {
		known.byTag = map[metric.Tag]*merged{}
	}
	at := slices.IndexFunc(known.all, func(m *merged) bool { return slices.Equal(m.parts, parts) })
	if at < 0 {
		at = len(known.all)
		m := &merged{parts: parts, timed: measure.New(measure.FinePrecision).Timed}
		for _, i := range parts {
			for t := range m.timed {
				m.timed[t].Merge(&a.parts[i].Timed[t])
			}
		}
		known.all = append(known.all, m)
	}
	known.byTag[tag] = known.all[at]
	return known.all[at]
}

// EstimateOf returns the mean of the values that are not NaN, and its confidence interval by Student's t
// distribution,
//
//	mean ± t(1−α/2, n−1) · s/√n
//
// (Law and Kelton, Simulation Modeling and Analysis, section 4.5). The interval is not bounded, as the values may also be
// differences.
func EstimateOf(values RunValues) Estimate {
	present := values.Present()
	e := Estimate{N: len(present), Values: values}
	if e.N == 0 {
		return e
	}
	var sd float64
	if e.Mean = present[0]; !Negligible(slices.Max(present)-slices.Min(present), MaxAbs(present)) { // otherwise the mean would only add rounding errors
		e.Mean, sd = stat.MeanStdDev(present, nil)
	}
	e.Least, e.Most = slices.Min(present), slices.Max(present)
	if e.N > 1 {
		half := StudentT(float64(e.N-1)) * sd / math.Sqrt(float64(e.N))
		low, high := e.Mean-half, e.Mean+half
		e.StdDev, e.Low, e.High = &sd, &low, &high
	}
	return e
}
