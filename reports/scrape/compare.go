package scrape

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"apfsim/core/queueset"
	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// Comparison compares runs of a scenario with the statistics of a server between two scrapes. It is
// what comparison.json contains.
type Comparison struct {
	SchemaVersion string       `json:"schemaVersion"`
	Run           compare.Side `json:"run"`
	Server        Server       `json:"server"`
	Confidence    float64      `json:"confidence"` // with which one more run is expected in the intervals of the runs
	Warnings      []string     `json:"warnings"`

	Equal    int `json:"equal"` // how many of the statistics that are listed have this Outcome; likewise the next three
	Within   int `json:"within"`
	Outside  int `json:"outside"` // above and below
	Untested int `json:"untested"`

	Statistics []Statistic `json:"statistics"` // of the priority levels by name, then of the FlowSchemas by name
}

// Server is where the numbers of the server are from.
type Server struct {
	Before   string `json:"before"` // name of the file; empty for the time since the start of the server
	After    string `json:"after"`
	LengthNs *int64 `json:"lengthNs"` // between the scrapes; null if unknown
}

// Statistic is one number of the server beside that of the runs. Its numbers are in Unit, and null if
// there is none.
type Statistic struct {
	PriorityLevel string      `json:"priorityLevel,omitempty"` // either this or FlowSchema
	FlowSchema    string      `json:"flowSchema,omitempty"`
	Name          string      `json:"statistic"`
	Unit          metric.Unit `json:"unit"`

	Server       *float64 `json:"server"`       // of a gauge, at the second scrape
	ServerBefore *float64 `json:"serverBefore"` // of a gauge, at the first scrape
	ServerLow    *float64 `json:"serverLow"`    // bounds of the bucket that has a percentile
	ServerHigh   *float64 `json:"serverHigh"`   // null in the last bucket, which has no bound

	Runs    int      `json:"runs"`    // in which the statistic has samples
	Run     *float64 `json:"run"`     // mean of the runs
	RunLow  *float64 `json:"runLow"`  // ends of the interval in which one more run is expected; null for a single run
	RunHigh *float64 `json:"runHigh"` //

	Difference *float64 `json:"difference"` // run − server; of a percentile, to the nearest bound of the bucket
	Relative   *float64 `json:"relative"`   // difference / server
	Outcome    Outcome  `json:"outcome"`
}

// Outcome says where the value of the server lies.
type Outcome string

// The outcomes. The empty Outcome is that of a number that a side does not have, or that depends on the
// moment of the scrape.
const (
	Equal    Outcome = "equal"    // the same as that of every run, to six digits
	Within   Outcome = "within"   // in the interval of the runs; or its bucket has the percentile of the single run
	Above    Outcome = "above"    // above the interval of the runs, or its bucket is above the percentile of the single run
	Below    Outcome = "below"    // likewise below
	Untested Outcome = "untested" // another number than that of the single run, whose variation is unknown
)

// The names of statistics that tables treat in their own way.
const (
	Dispatched   = "dispatched"
	NominalLimit = "nominal limit"
)

// comparer compares what a server did with runs.
type comparer struct {
	*Comparison
	runs   int
	values map[string]compare.RunValues // of the runs, by name
	limits map[string]*compare.LevelLimits

	oldTimeOuts bool // see Interval
}

// Compare puts runs beside what a server did. The label is the argument on the command line.
func Compare(label string, runs *compare.Replications, server *Interval) *Comparison {
	c := &comparer{
		Comparison: &Comparison{SchemaVersion: result.SchemaVersion, Confidence: compare.Confidence,
			Run:    compare.Side{Label: label, Scenario: runs.Name, Seeds: runs.Seeds, DurationNs: runs.DurationNs, WarmupNs: runs.WarmupNs, WarmupBy: runs.WarmupBy, FlowControl: runs.FlowControl, Releases: runs.Releases},
			Server: Server{Before: server.Before, After: server.After, LengthNs: server.LengthNs}, Statistics: []Statistic{}},
		runs: len(runs.Seeds), values: map[string]compare.RunValues{}, limits: map[string]*compare.LevelLimits{},
		oldTimeOuts: server.oldTimeOuts,
	}
	for i := range runs.Statistics {
		if s := &runs.Statistics[i]; s.PriorityLevel == "" {
			c.values[s.Name] = s.Values
		}
	}
	for i := range runs.Limits {
		c.limits[runs.Limits[i].Level] = &runs.Limits[i]
	}
	c.Warnings = append([]string{}, server.Warnings...)
	c.warnOfLength()
	var levels, schemas []string
	for i := range runs.Statistics {
		if id := &runs.Statistics[i].ID; id.Metric == "arrived" && id.Stat == "count" && len(id.Tags) == 1 {
			switch t := id.Tags[0]; t.Name {
			case metric.TagPriorityLevel:
				levels = append(levels, t.Value)
			case metric.TagFlowSchema:
				schemas = append(schemas, t.Value)
			}
		}
	}
	c.warnOfUnknown(levels, server.Levels)
	c.warnOfTimeOuts(server.Levels)
	for _, g := range merge(server.Levels, levels) {
		c.compare(&g, metric.TagPriorityLevel)
	}
	for _, g := range merge(server.Schemas, schemas) {
		c.compare(&g, metric.TagFlowSchema)
	}
	c.count()
	return c.Comparison
}

// count counts the outcomes of the listed statistics. The many numbers that are 0 on both sides would say
// nothing.
func (c *Comparison) count() {
	listed, _ := c.Listed(false)
	for _, s := range listed {
		for i := range s.Statistics {
			switch s.Statistics[i].Outcome {
			case Equal:
				c.Equal++
			case Within:
				c.Within++
			case Above, Below:
				c.Outside++
			case Untested:
				c.Untested++
			}
		}
	}
}

// merge returns the groups of the server and those that only the runs have, by name.
func merge(server []Group, names []string) []Group {
	all := slices.Clone(server)
	for _, name := range names {
		if !slices.ContainsFunc(server, func(g Group) bool { return g.Name == name }) {
			none := map[string]*Group{}
			all = append(all, *group(none, name))
		}
	}
	slices.SortFunc(all, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// warnOfLength warns if the server was observed for another time than the runs lasted.
func (c *comparer) warnOfLength() {
	window := c.Run.DurationNs - c.Run.WarmupNs
	if ns := c.Server.LengthNs; ns != nil && math.Abs(float64(*ns-window)) > 0.01*float64(window) {
		c.warn("the server was observed for %s, and the statistics of the run are of %s; counts depend on the length",
			format.Duration(float64(*ns)), format.Duration(float64(window)))
	}
}

// warnOfUnknown warns of priority levels of the server that the scenario does not have. Those without
// requests do not matter.
func (c *comparer) warnOfUnknown(known []string, levels []Group) {
	var unknown []string
	for _, g := range levels {
		if !slices.Contains(known, g.Name) && (g.Dispatched > 0 || len(g.Rejected) > 0) {
			unknown = append(unknown, g.Name)
		}
	}
	if len(unknown) > 0 {
		c.warn("the scenario does not have the priority %s %s, where the server had requests; use the server's configuration with --config",
			map[bool]string{true: "level", false: "levels"}[len(unknown) == 1], format.Listed(unknown, 5, ""))
	}
}

// warnOfTimeOuts warns that the server counted waits of requests that were not dispatched.
func (c *comparer) warnOfTimeOuts(levels []Group) {
	var names []string
	for _, g := range levels {
		if g.Waits.Count() > g.Dispatched {
			names = append(names, g.Name)
		}
	}
	if len(names) > 0 {
		c.warn("servers count the waits of requests that time out: of %s, wait mean includes them on both sides, and the server's percentiles are those of the dispatched requests if these waited the least",
			format.Listed(names, 5, ""))
	}
}

func (c *comparer) warn(format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
}

// compare adds the statistics of a priority level or a FlowSchema.
func (c *comparer) compare(g *Group, tag string) {
	add := func(s Statistic) {
		if s.Server == nil && s.ServerLow == nil && s.ServerBefore == nil && s.Run == nil {
			return
		}
		if tag == metric.TagPriorityLevel {
			s.PriorityLevel = g.Name
		} else {
			s.FlowSchema = g.Name
		}
		c.Statistics = append(c.Statistics, s)
	}
	valuesOf := func(metricName, statistic string) compare.RunValues {
		return c.valuesOf(metric.Name{Metric: metricName, Stat: statistic}, tag, g.Name)
	}

	dispatched := c.counts(valuesOf("wait", "count"))
	timedOut := c.counts(valuesOf("timedOut", "count"))
	add(c.point(Dispatched, metric.Requests, g.Dispatched, dispatched))
	reasons := map[string]float64{}
	total := 0.0
	for reason, n := range g.Rejected {
		if reason == queueset.Cancelled.String() && c.oldTimeOuts {
			reason = queueset.TimedOut.String()
		}
		reasons[reason] += n
		total += n
	}
	add(c.point("rejected", metric.Requests, total, c.counts(valuesOf("rejected", "count"))))
	var knownReasons []string
	for _, r := range []struct {
		reason queueset.Rejection
		run    compare.RunValues
	}{
		{queueset.QueueFull, c.counts(c.ofReason(queueset.QueueFull, tag, g.Name))},
		{queueset.ConcurrencyLimit, c.counts(c.ofReason(queueset.ConcurrencyLimit, tag, g.Name))},
		{queueset.TimedOut, timedOut},
		{queueset.Cancelled, make(compare.RunValues, c.runs)}, // no client of a run goes away
	} {
		knownReasons = append(knownReasons, r.reason.String())
		if n := reasons[r.reason.String()]; n > 0 || slices.Max(r.run) > 0 {
			add(c.point("rejected: "+r.reason.String(), metric.Requests, n, r.run))
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		if !slices.Contains(knownReasons, reason) && reasons[reason] > 0 {
			add(c.point("rejected: "+reason, metric.Requests, reasons[reason], make(compare.RunValues, c.runs)))
		}
	}
	if g.Waits.Count() > 0 || g.Dispatched == 0 { // servers do not report waits of exempt levels
		for _, p := range []metric.Name{{Stat: "med", Percentile: 50}, {Stat: "p", Percentile: 90}, {Stat: "p", Percentile: 99}} {
			low, high := g.Waits.Percentile(p.Percentile, g.Dispatched)
			p.Metric = "wait"
			add(c.percentile(fmt.Sprintf("wait p%g", p.Percentile), low*1e9, high*1e9, c.valuesOf(p, tag, g.Name)))
		}
		waits := Sum{Sum: g.Waits.Sum, Count: g.Waits.Count()}
		add(c.point("wait mean", metric.Nanoseconds, waits.Mean()*1e9,
			meanOfAll(valuesOf("wait", "mean"), dispatched, valuesOf("rejectedWait", "mean"), c.counts(valuesOf("rejected", "count")), timedOut)))
	}
	add(c.point("execution mean", metric.Nanoseconds, g.Execution.Mean()*1e9, valuesOf("execution", "mean")))
	if tag != metric.TagPriorityLevel {
		return
	}
	if used := valuesOf("utilisation", "mean"); len(used.Present()) > 0 { // an exempt level has no limit to be used
		add(c.point("utilisation mean", metric.NoUnit, g.Utilisation.Mean(), used))
	}
	limits := c.limits[g.Name]
	if limits == nil {
		limits = &compare.LevelLimits{}
	}
	nominal := c.point(NominalLimit, metric.Seats, g.Nominal.After, limits.Nominal)
	nominal.ServerBefore = value(g.Nominal.Before)
	add(nominal)
	for _, s := range []struct {
		name  string
		gauge Gauge
		run   compare.RunValues
	}{{"current limit", g.Current, limits.Current}, {"seats in use", g.Executing, nil}, {"demand high watermark", g.DemandHigh, nil}} {
		at := c.point(s.name, metric.Seats, s.gauge.After, s.run)
		at.ServerBefore = value(s.gauge.Before)
		at.Difference, at.Relative, at.Outcome = nil, nil, "" // it is a value of a moment
		add(at)
	}
}

// valuesOf returns the values of a statistic of the runs.
func (c *comparer) valuesOf(name metric.Name, tag, value string) compare.RunValues {
	return c.values[name.With(tag, value).String()]
}

// ofReason returns the numbers of requests that were rejected for a reason.
func (c *comparer) ofReason(reason queueset.Rejection, tag, value string) compare.RunValues {
	name := metric.Name{Metric: "rejected", Stat: "count"}
	name.Tags = []metric.Tag{{Name: tag, Value: value}, {Name: metric.TagReason, Value: reason.String()}}
	return c.values[name.String()]
}

// counts returns counts of the runs. Where a statistic has no samples, no request has arrived.
func (c *comparer) counts(values compare.RunValues) compare.RunValues {
	all := make(compare.RunValues, c.runs)
	for i, x := range values {
		if !math.IsNaN(x) {
			all[i] = x
		}
	}
	return all
}

// meanOfAll returns the mean wait of the requests that were dispatched or timed out, as servers count
// both. Requests that were rejected for another reason have not waited.
func meanOfAll(wait, dispatched, rejectedWait, rejected, timedOut compare.RunValues) compare.RunValues {
	all := make(compare.RunValues, len(dispatched))
	sum := func(mean compare.RunValues, run int, n float64) float64 {
		if run >= len(mean) || math.IsNaN(mean[run]) {
			return 0
		}
		return mean[run] * n
	}
	for i := range all {
		all[i] = (sum(wait, i, dispatched[i]) + sum(rejectedWait, i, rejected[i])) / (dispatched[i] + timedOut[i]) // NaN without requests
	}
	return all
}

// value returns a number, nil if there is none.
func value(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// sameDigits is the relative difference up to which numbers are equal. Means are sums in another order
// and of other units.
const sameDigits = 1e-6

func same(a, b float64) bool { return math.Abs(a-b) <= sameDigits*max(math.Abs(a), math.Abs(b)) }

// withRuns returns a statistic with the values of the runs.
func withRuns(name string, unit metric.Unit, runs compare.RunValues) (s Statistic, present []float64) {
	s = Statistic{Name: name, Unit: unit}
	present = runs.Present()
	if s.Runs = len(present); s.Runs == 0 {
		return s, nil
	}
	mean, half := compare.Prediction(present)
	s.Run = &mean
	if half != nil {
		s.RunLow, s.RunHigh = value(max(0, mean-*half)), value(mean+*half) // no statistic is negative
	}
	return s, present
}

// point compares a number of the server with that of the runs.
func (c *comparer) point(name string, unit metric.Unit, server float64, runs compare.RunValues) Statistic {
	s, present := withRuns(name, unit, runs)
	s.Server = value(server)
	if s.Server == nil || s.Run == nil {
		return s
	}
	s.differ(server, server)
	switch {
	case !slices.ContainsFunc(present, func(x float64) bool { return !same(x, server) }):
		s.Outcome = Equal
	case s.RunLow == nil:
		s.Outcome = Untested
	default:
		s.Outcome = position(server, server, *s.RunLow, *s.RunHigh)
	}
	return s
}

// runPrecision is by how much a percentile of a run may exceed the true value, see result.Distribution.
const runPrecision = 1.001

// percentile compares the bucket of the server that has a percentile with the percentile of the runs.
func (c *comparer) percentile(name string, low, high float64, runs compare.RunValues) Statistic {
	s, _ := withRuns(name, metric.Nanoseconds, runs)
	s.ServerLow, s.ServerHigh = value(low), value(high)
	if s.ServerLow == nil || s.Run == nil {
		return s
	}
	from, to := *s.Run, *s.Run
	if s.RunLow != nil {
		from, to = *s.RunLow, *s.RunHigh
	}
	s.Outcome = position(low, high, from/runPrecision, to)
	s.differ(low, high)
	return s
}

// position returns where the range of the server lies, which is one number or a bucket, beside that of
// the runs. Numbers that are equal to six digits are within.
func position(low, high, from, to float64) Outcome {
	switch {
	case low > to && !same(low, to):
		return Above
	case high < from && !same(high, from):
		return Below
	}
	return Within
}

// differ sets the difference between the runs and the range of the server, from its nearest bound.
func (s *Statistic) differ(low, high float64) {
	nearest := min(max(*s.Run, low), high)
	if *s.Run/runPrecision <= high && *s.Run > high && low < high {
		nearest = *s.Run
	}
	s.Difference = value(*s.Run - nearest)
	if nearest != 0 {
		s.Relative = value(*s.Difference / nearest)
	}
}
