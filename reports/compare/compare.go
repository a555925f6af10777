// Package compare combines independent runs of a scenario into means with confidence intervals, and tests which
// statistics differ significantly between two sets of runs, the base and the head. A [Replicator] takes the runs one by
// one; its result is [Replications], with an [Estimate] of each statistic. [Compare] takes those of two sides and returns a Comparison with a Change for each statistic; its method Judge adds a
// LimitVerdict for each Limit that a change must not exceed.
package compare

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"apfsim/core/config"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
)

// Comparison contains the changes from one set of runs, the base, to another, the head. It is what
// comparison.json contains.
type Comparison struct {
	SchemaVersion string   `json:"schemaVersion"`
	Base          Side     `json:"base"`
	Head          Side     `json:"head"`
	Paired        bool     `json:"paired"`      // whether both sides have the same seeds and are compared run by run
	Confidence    float64  `json:"confidence"`  // of the intervals
	FalseAlarms   float64  `json:"falseAlarms"` // greatest expected share of false alarms among the changes
	Warnings      []string `json:"warnings"`

	Verdict *SidesVerdict `json:"verdict,omitempty"` // omitted if it says nothing

	Passed bool           `json:"passed"` // whether no limit is exceeded; true if there are no limits
	Limits []LimitVerdict `json:"limits"`

	Only     []string `json:"only"`     // globs of the statistics that are compared; empty for all
	Distinct Distinct `json:"distinct"` // counts of numbers, each counted once

	Changed   int      `json:"changed"` // how many names of statistics have this Outcome; likewise the next three
	Same      int      `json:"same"`
	Exact     int      `json:"exact"`
	Untested  int      `json:"untested"`
	Unmatched []string `json:"unmatched"` // statistics with samples on only one side
	Changes   []Change `json:"changes"`   // ordered by outcome and size, see decide

	BaseRuns, HeadRuns *Replications `json:"-"`
	Outside            []Change      `json:"-"` // changes of the statistics that Only excludes
	UnmatchedIDs       []metric.Name `json:"-"` // Unmatched, parsed
}

// Distinct counts numbers, each once even if it has several names. Statistics that are exactly the
// same on both sides are not included: two statistics that are 0 in all runs are not the same number.
type Distinct struct {
	Tested   int `json:"tested"`  // number of hypotheses in the procedure of Benjamini and Hochberg
	Changed  int `json:"changed"` // of those tested
	Untested int `json:"untested"`
}

// falseAlarms is the false discovery rate of the procedure of Benjamini and Hochberg.
const falseAlarms = 0.05

// Side is one of the two sets of runs that are compared.
type Side struct {
	Label       string   `json:"label"` // the argument on the command line
	Scenario    string   `json:"scenario"`
	Seeds       []uint64 `json:"seeds"`
	DurationNs  int64    `json:"durationNs"`
	WarmupNs    int64    `json:"warmupNs"`
	WarmupBy    string   `json:"warmupBy,omitempty"` // as in the summaries
	FlowControl string   `json:"flowControl"`
	result.Releases
	MeasuredBy string `json:"measuredBy,omitempty"` // "client" for what a client of a real server has measured
}

// Change is the change of one statistic. Its numbers are in the statistic's unit.
type Change struct {
	Name       string        `json:"name"`
	Unit       string        `json:"unit"`
	Better     metric.Better `json:"better"`
	Base       float64       `json:"base"` // mean of the runs that are compared; of a percentile, that of all runs together
	Head       float64       `json:"head"`
	Difference float64       `json:"difference"` // head − base
	Low        *float64      `json:"low"`        // ends of the confidence interval of the difference; null unless both sides have intervals
	High       *float64      `json:"high"`
	Relative   *float64      `json:"relative"` // difference / base; null if base is 0
	P          *float64      `json:"p"`        // p value of the hypothesis that the mean of the runs' values does not change; null with too few runs
	Outcome    Outcome       `json:"outcome"`
	Judgement  Judgement     `json:"judgement"` // of a significant change, if one direction is better

	PriorityLevel string `json:"priorityLevel,omitempty"` // of a flow
	FlowSchema    string `json:"flowSchema,omitempty"`    // of a flow

	Also   []string `json:"also,omitempty"`   // other names of the same number
	SameAs string   `json:"sameAs,omitempty"` // of each of those other names: the name under which the number is reported

	ID      metric.Name   `json:"-"` // Name, parsed
	AlsoIDs []metric.Name `json:"-"` // Also, parsed

	BaseEstimate, HeadEstimate RunValues `json:"-"`
	base, head                 *Estimate
	BaseFew, HeadFew           int64 `json:"-"` // Few of both sides
}

// Judgement says whether a significant change makes a result better or worse.
type Judgement string

// The judgements of a change. The empty Judgement is that of a change that is not significant or of
// which no direction is better.
const (
	Improvement Judgement = "improvement"
	Regression  Judgement = "regression"
)

// Mark returns the judgement that a finding or a cell is marked with.
func (j Judgement) Mark() judge.Judgement {
	switch j {
	case Improvement:
		return judge.Good
	case Regression:
		return judge.Bad
	}
	return judge.Neutral
}

// Outcome says whether a change is significant.
type Outcome string

// The outcomes.
const (
	Changed  Outcome = "changed"  // significant
	Same     Outcome = "same"     // not significant
	Exact    Outcome = "exact"    // equal in every run, except for rounding
	Untested Outcome = "untested" // too few runs for a test, or a percentile of too few samples
)

// Compare compares two sets of runs, statistic by statistic. Runs with the same seeds share their
// random numbers and are compared in pairs (Student's t), other runs as two samples (Welch's t). Each
// number is tested once, even if it has several names. The significant changes are those that pass
// the procedure of Benjamini and Hochberg (Controlling the False Discovery Rate, J. R. Statist. Soc. B
// 57, 1995), so that at most one in twenty of them is expected to be a false alarm. This holds for tests
// that are independent or positively dependent (Benjamini and Yekutieli, The Control of the False
// Discovery Rate in Multiple Testing under Dependency, Ann. Statist. 29, 2001). If there are globs, only
// statistics that match one of them are tested.
func Compare(baseLabel string, base *Replications, headLabel string, head *Replications, only ...Glob) *Comparison {
	c := &Comparison{
		SchemaVersion: result.SchemaVersion, Confidence: Confidence, FalseAlarms: falseAlarms, Passed: true,
		Base: sideOf(baseLabel, base), Head: sideOf(headLabel, head),
		Paired: slices.Equal(base.Seeds, head.Seeds), Verdict: sidesVerdict(base, head), BaseRuns: base, HeadRuns: head,
		Warnings: []string{}, Limits: []LimitVerdict{}, Unmatched: []string{}, Changes: []Change{}, Only: []string{},
	}
	for _, g := range only {
		c.Only = append(c.Only, g.text)
	}
	c.warn(base, head)
	c.warnOfWindow()
	others := map[string]*Estimate{}
	for i := range head.Statistics {
		if h := &head.Statistics[i]; c.compares(h) {
			others[h.Name] = h
		}
	}
	for i := range base.Statistics {
		b := &base.Statistics[i]
		if !c.compares(b) {
			continue
		}
		h := others[b.Name]
		delete(others, b.Name)
		switch {
		case h == nil && matchesOne(only, b.Name):
			c.leaveUnmatched(b)
		case h == nil:
		case matchesOne(only, b.Name):
			c.Changes = append(c.Changes, changeOf(b, h, c.Paired))
		default:
			c.Outside = append(c.Outside, changeOf(b, h, c.Paired))
		}
	}
	for i := range head.Statistics {
		if h := &head.Statistics[i]; others[h.Name] != nil && matchesOne(only, h.Name) {
			c.leaveUnmatched(h)
		}
	}
	c.warnOfUnknown()
	c.decide()
	return c
}

// warnOfUnknown warns of the metrics that a client could not measure.
func (c *Comparison) warnOfUnknown() {
	if c.Base.MeasuredBy == c.Head.MeasuredBy {
		return
	}
	var unknown []string
	for i := range c.UnmatchedIDs {
		id := &c.UnmatchedIDs[i]
		name := id.Metric
		if id.Tag(metric.TagReason) != "" {
			name += " by reason"
		}
		if !result.MeasuredByClient(id) && !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		c.Warnings = append(c.Warnings, fmt.Sprintf("a client cannot measure %s: not compared", strings.Join(unknown, ", ")))
	}
}

func (c *Comparison) leaveUnmatched(e *Estimate) {
	c.Unmatched, c.UnmatchedIDs = append(c.Unmatched, e.Name), append(c.UnmatchedIDs, e.ID)
}

// compares says whether a statistic is compared. Statistics of flows are not if a side has omitted
// them.
func (c *Comparison) compares(e *Estimate) bool {
	return e.PriorityLevel == "" || !c.flowsLeftOut()
}

func (c *Comparison) flowsLeftOut() bool { return c.BaseRuns.FlowsLeftOut || c.HeadRuns.FlowsLeftOut }

func sideOf(label string, r *Replications) Side {
	return Side{Label: label, Scenario: r.Name, Seeds: r.Seeds, DurationNs: r.DurationNs, WarmupNs: r.WarmupNs, WarmupBy: r.WarmupBy, FlowControl: r.FlowControl, Releases: r.Releases, MeasuredBy: r.MeasuredBy}
}

func (c *Comparison) warn(base, head *Replications) {
	warn := func(format string, args ...any) { c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...)) }
	if base.DurationNs != head.DurationNs || base.WarmupNs != head.WarmupNs {
		warn("the runs differ in length: base %s, head %s; counts depend on the length",
			format.Window(base.DurationNs, base.WarmupNs, base.WarmupBy, ""), format.Window(head.DurationNs, head.WarmupNs, head.WarmupBy, ""))
	}
	if least := min(len(base.Seeds), len(head.Seeds)); least < 2 {
		advice := "; use --replications"
		if c.Base.MeasuredBy != "" || c.Head.MeasuredBy != "" {
			advice = "" // a measurement is one run
		}
		warn("one run on a side: significance cannot be tested%s", advice)
	}
	for _, s := range []*Side{&c.Base, &c.Head} {
		if s.MeasuredBy == result.Client {
			warn("%s was measured by a client of a server: its latencies include the way to the server and back, and rejectedWait is the latency of rejected requests", s.Label)
		}
	}
	if caught := newlyCaught(base, head); caught != "" {
		warn("catch-all: more requests of the head than of the base match no other FlowSchema: %s", caught)
	}
	if c.flowsLeftOut() {
		warn("flows are not compared: there are too many of them")
	}
}

// newlyCaught returns a text that names the workloads of which more requests match catch-all in the head than in the
// base, with both shares. Sides written by older programs lack the shares, and are not compared.
func newlyCaught(base, head *Replications) string {
	shareOf := func(r *Replications, workload string) (share float64) {
		for i := range r.CatchAll {
			if c := &r.CatchAll[i]; c.Workload == workload {
				share = c.Share()
			}
		}
		return share
	}
	if len(base.CatchAll) == 0 && slices.Contains(base.Names("flowSchema"), config.CatchAll) {
		return ""
	}
	const least = 0.005 // less than this may be chance
	var all []string
	for i := range head.CatchAll {
		name := head.CatchAll[i].Workload
		before, after := shareOf(base, name), shareOf(head, name)
		if slices.Contains(base.Names("workload"), name) && (before == 0 || after-before > least) {
			all = append(all, fmt.Sprintf("%s (%s → %s)", name, format.Percent(before), format.Percent(after)))
		}
	}
	return strings.Join(all, ", ")
}

// changeOf compares one statistic. Its outcome is Same if it can be tested; decide makes it Changed if
// it is significant among all tests. A percentile is tested by those of the runs, and its change is that of the percentiles of
// all runs together: if they have different signs, there is no change.
func changeOf(b, h *Estimate, paired bool) Change {
	c := Change{ID: b.ID, Name: b.Name, Unit: b.Unit, Better: b.Better,
		PriorityLevel: b.PriorityLevel, FlowSchema: b.FlowSchema, BaseEstimate: b.Values, HeadEstimate: h.Values,
		BaseFew: b.Few, HeadFew: h.Few, base: b, head: h}
	d := DifferenceOf(b.Values, h.Values, 1, paired)
	c.P = d.P
	c.Base, _, _ = b.Printed()
	c.Head, _, _ = h.Printed()
	c.Difference, c.Low, c.High = change(b, h, paired)
	if paired && b.Merged == nil {
		if x, y := CommonRuns(b.Values, h.Values); len(x) > 0 && len(x) < len(b.Values) { // the means have to be those of the runs that are compared
			c.Base, c.Head = EstimateOf(x).Mean, EstimateOf(y).Mean
		}
	}
	switch {
	case d.Exact:
		c.Difference, c.Low, c.High = 0, d.Low, d.High
	case c.P == nil:
	case d.Mean*c.Difference < 0:
		certain := 1.0
		c.P = &certain
	case *c.P < 1-Confidence && c.Low != nil:
		// The test knows that there is a change, if not how small it may be.
		low, high := *c.Low, *c.High
		if c.Difference > 0 {
			low = max(low, 0)
		} else {
			high = min(high, 0)
		}
		c.Low, c.High = &low, &high
	}
	switch {
	case d.Exact:
		c.Outcome = Exact
	case d.P == nil || c.BaseFew > 0 || c.HeadFew > 0:
		c.Outcome = Untested
	default:
		c.Outcome = Same
	}
	if c.Base != 0 {
		relative := c.Difference / c.Base
		c.Relative = &relative
	}
	return c
}

// decide finds the significant changes by the procedure of Benjamini and Hochberg: of m tests, ordered
// by p, all up to the last k with p(k) ≤ k/m·α are significant. A number that several statistics have
// is one test; statistics that are exactly the same are not tested. It then orders the changes.
func (c *Comparison) decide() {
	var tested [][]*Change
	for _, group := range c.sameNumbers() {
		if group[0].Outcome == Same {
			tested = append(tested, group)
		} else {
			c.Distinct.Untested++
		}
	}
	slices.SortStableFunc(tested, func(a, b []*Change) int { return cmp.Compare(*a[0].P, *b[0].P) })
	last := -1
	for i, group := range tested {
		if *group[0].P <= float64(i+1)/float64(len(tested))*falseAlarms {
			last = i
		}
	}
	c.Distinct.Tested, c.Distinct.Changed = len(tested), last+1
	for _, ch := range slices.Concat(tested[:last+1]...) {
		ch.Outcome = Changed
		switch {
		case ch.Better == metric.Neither:
		case (ch.Difference < 0) == (ch.Better == metric.Lower):
			ch.Judgement = Improvement
		default:
			ch.Judgement = Regression
		}
	}
	counts := map[Outcome]int{}
	for i := range c.Changes {
		counts[c.Changes[i].Outcome]++
	}
	c.Changed, c.Same, c.Exact, c.Untested = counts[Changed], counts[Same], counts[Exact], counts[Untested]
	order := []Outcome{Changed, Untested, Same, Exact}
	slices.SortStableFunc(c.Changes, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Outcome), slices.Index(order, b.Outcome)),
			compareBool(a.SameAs != "", b.SameAs != ""), // each number before the other names of numbers
			compareListed(&a, &b))
	})
}

// SeenByClients are the statistics that only clients can see, without the tag of their workload.
var SeenByClients = []metric.Name{
	{Metric: "leaderLost", Stat: "count"},
	{Metric: "neverSent", Stat: "count"},
	{Metric: "clientLatency", Stat: "p", Percentile: 99},
	{Metric: "limiterWait", Stat: "mean"},
}

// SeenByClient says whether a statistic is one of SeenByClients.
func SeenByClient(id *metric.Name) bool { return seenByClients(id) < len(SeenByClients) }

// seenByClients returns the place of a statistic in SeenByClients, which are listed first.
func seenByClients(id *metric.Name) int {
	at := slices.IndexFunc(SeenByClients, func(n metric.Name) bool {
		return n.Metric == id.Metric && n.Stat == id.Stat && n.Percentile == id.Percentile
	})
	if at < 0 {
		return len(SeenByClients)
	}
	return at
}

// compareListed orders the changes of one outcome as they are listed.
func compareListed(a, b *Change) int {
	return cmp.Or(
		cmp.Compare(seenByClients(&a.ID), seenByClients(&b.ID)),
		compareBool(a.PriorityLevel != "", b.PriorityLevel != ""), // flows last, as there are many
		// The minimum of a duration is usually close to 0, so that a negligible difference is a
		// large relative change.
		compareBool(a.ID.Stat == "min", b.ID.Stat == "min"),
		-cmp.Compare(a.RelativeSize(), b.RelativeSize()),
		cmp.Compare(a.probability(), b.probability())) // among the changes from 0, whose relative size is infinite
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// probability returns the p value, 1 if there is none.
func (c *Change) probability() float64 {
	if c.P == nil {
		return 1
	}
	return *c.P
}

// sameNumbers returns the groups of changes that are the same number. Two statistics are if they have the
// same unit and the same values in every run of both sides, or if they are a count and its rate
// (per request that arrived, or per second) and are proportional in all runs. With a single run on a
// side, equal values of different metrics may be a coincidence, so that only those of the same metric
// count. Each group begins with the change under whose name the number is reported; the others refer to
// it. Changes that are exactly the same on both sides are in no group.
func (c *Comparison) sameNumbers() (groups [][]*Change) {
	groupOfKey := map[string]int{}
	groupOf := make([]int, 0, len(c.Changes)) // by change; −1 for none
	parent := []int{}                         // union-find: groups that share a key are joined
	root := func(g int) int {
		for parent[g] != g {
			g = parent[g]
		}
		return g
	}
	for i := range c.Changes {
		ch := &c.Changes[i]
		if ch.Outcome == Exact {
			groupOf = append(groupOf, -1)
			continue
		}
		id := &ch.ID
		kind := ""
		if ch.Outcome == Untested {
			kind = fmt.Sprint(id.Metric, id.Stat, id.Percentile)
		}
		keys := []string{fmt.Sprint("value ", kind, ch.Unit, ch.valuesKey(1))}
		if scale := ch.greatest(); scale > 0 && (id.Stat == "count" || id.Stat == "rate" || id.Stat == "perSecond") {
			keys = append(keys, fmt.Sprint("share ", id.Metric, id.Tags, ch.valuesKey(scale)))
		}
		group := len(parent)
		parent = append(parent, group)
		for _, key := range keys {
			if g, ok := groupOfKey[key]; ok {
				a, b := root(g), root(group)
				parent[max(a, b)] = min(a, b)
			} else {
				groupOfKey[key] = group
			}
		}
		groupOf = append(groupOf, group)
	}
	at := map[int]int{}
	for i, g := range groupOf {
		if g < 0 {
			continue
		}
		g = root(g)
		if _, ok := at[g]; !ok {
			at[g] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[g]] = append(groups[at[g]], &c.Changes[i])
	}
	for _, group := range groups {
		// The first in the order of the statistics covers the most requests: all of them, otherwise a
		// workload, a FlowSchema, a level or a flow. A statistic of which one direction is better takes
		// precedence, so that the number has a judgement.
		if i := slices.IndexFunc(group, func(ch *Change) bool { return ch.Better != metric.Neither }); i > 0 {
			judged := group[i]
			copy(group[1:i+1], group[:i])
			group[0] = judged
		}
		for _, other := range group[1:] {
			other.SameAs = group[0].Name
			group[0].Also = append(group[0].Also, other.Name)
			group[0].AlsoIDs = append(group[0].AlsoIDs, other.ID)
		}
	}
	return groups
}

// valuesKey returns a text of all values divided by scale, to eleven digits. Values that differ only
// by rounding have the same text.
func (c *Change) valuesKey(scale float64) string {
	var b []byte
	for _, side := range []RunValues{c.BaseEstimate, c.HeadEstimate} {
		for _, v := range side {
			b = strconv.AppendFloat(append(b, ' '), v/scale+0, 'e', 10, 64) // + 0 turns −0 into 0
		}
		b = append(b, '|')
	}
	return string(b)
}

// greatest returns the greatest absolute value of all runs of both sides.
func (c *Change) greatest() float64 {
	return MaxAbs(slices.Concat(c.BaseEstimate.Present(), c.HeadEstimate.Present(), RunValues{0}))
}

// RelativeSize returns the size of the change divided by the base: +Inf for a change from 0.
func (c *Change) RelativeSize() float64 {
	switch {
	case c.Relative != nil:
		return math.Abs(*c.Relative)
	case c.Difference == 0:
		return 0
	}
	return math.Inf(1)
}

// Limit is how far a statistic may change: STATISTIC > +CHANGE fails if it increases by more,
// STATISTIC < -CHANGE if it decreases by more.
type Limit struct {
	Text     string  // as on the command line, with single spaces
	Name     string  // of the statistic
	Above    bool    // whether it fails above Change; otherwise it fails below
	Change   float64 // in the statistic's unit, or as a share of the base if Relative
	Relative bool
}

// ParseLimit parses a limit such as 'wait{workload:mice}.p(99) > +5%' or '... > +10ms'.
func ParseLimit(text string) (Limit, error) {
	fail := func(format string, args ...any) (Limit, error) {
		return Limit{}, fmt.Errorf("%q: %s", text, fmt.Sprintf(format, args...))
	}
	at := strings.LastIndexAny(text, "<>")
	if at < 0 {
		return fail("has no > or <; use STATISTIC > +CHANGE or STATISTIC < -CHANGE, as 'wait{workload:mice}.p(99) > +5%%'")
	}
	s, err := metric.ParseName(text[:at])
	if err != nil {
		return Limit{}, err
	}
	l := Limit{Text: strings.Join(strings.Fields(text), " "), Name: strings.TrimSpace(text[:at]), Above: text[at] == '>'}
	limit := strings.TrimSpace(text[at+1:])
	number, relative := strings.CutSuffix(limit, "%")
	switch {
	case strings.HasPrefix(limit, "="):
		return fail("%c= is not supported; use > or <", text[at])
	case limit == "0":
	case !strings.HasPrefix(limit, "+") && !strings.HasPrefix(limit, "-"):
		return fail("%q has no sign; use a change, as +5%% or -5%%", limit)
	case relative:
		l.Relative = true
		l.Change, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
		l.Change /= 100
	case s.Unit == metric.Nanoseconds:
		var d time.Duration
		d, err = quantity.ParsePrintedDuration(limit)
		l.Change = float64(d)
	default:
		l.Change, err = quantity.ParsePrintedNumber(limit)
	}
	switch {
	case err != nil && s.Unit == metric.Nanoseconds:
		return fail("%q is not a change; use a share or a duration, as +5%% or +10ms", limit)
	case err != nil || math.IsNaN(l.Change) || math.IsInf(l.Change, 0):
		return fail("%q is not a change; use a share or a number, as +5%% or +0.1", limit)
	}
	return l, nil
}

// LimitVerdict says whether a limit is significantly exceeded. Its numbers are in the statistic's
// unit, or shares of the base if Relative.
type LimitVerdict struct {
	Expression string   `json:"expression"`
	Name       string   `json:"name"`
	Relative   bool     `json:"relative"`
	Unit       string   `json:"unit"`
	Limit      float64  `json:"limit"`
	Change     *float64 `json:"change"` // null without samples; the limit then counts as exceeded
	Low        *float64 `json:"low"`
	High       *float64 `json:"high"`
	Passed     bool     `json:"passed"`
	Note       string   `json:"note"`

	ID metric.Name `json:"-"` // Name, parsed; empty if there is no change
}

// ErrTooFewRuns is the error of a limit on a comparison with a single run on a side.
var ErrTooFewRuns = errors.New("a limit needs at least two runs on each side; the variance of a single run is unknown")

// Judge adds a verdict for each limit. A limit is exceeded if the whole confidence interval is beyond
// it, and of a percentile that of all runs together is, too. For a relative limit this is the interval of
// head − (1+limit)·base, which includes the variance of the base. The interval that decides is that of Student's or Welch's t of
// the runs' values; the one that is shown is that of the change. A limit without samples counts as exceeded. The error is that of a name that does not exist
// in the runs, or wraps ErrTooFewRuns.
func (c *Comparison) Judge(limits []Limit) error {
	all := make([]result.Statistic, 0, len(c.Changes)+len(c.Unmatched))
	// Each limit is a separate test, so that globs do not matter to it.
	changes := slices.Concat(c.Changes, c.Outside)
	for i := range changes {
		ch := &changes[i]
		all = append(all, result.Statistic{Name: ch.ID, Level: ch.PriorityLevel, Schema: ch.FlowSchema})
	}
	for _, name := range c.UnmatchedIDs {
		all = append(all, result.Statistic{Name: name})
	}
	for _, l := range limits {
		i, err := result.FindStatistic(all, l.Name)
		if NamesFlow(l.Name) && c.flowsLeftOut() {
			return fmt.Errorf("%s: flows are not compared, as there are too many of them for so many runs; use fewer replications, or a statistic of a workload, FlowSchema or priority level", l.Name)
		}
		if err != nil && !errors.Is(err, result.ErrNoSamples) {
			return err
		}
		if min(len(c.BaseRuns.Seeds), len(c.HeadRuns.Seeds)) < 2 {
			return fmt.Errorf("%s: %w", l.Name, ErrTooFewRuns)
		}
		v := LimitVerdict{Expression: l.Text, Name: l.Name, Relative: l.Relative, Limit: l.Change}
		switch {
		case err != nil:
			v.Note = metric.NoSamples
		case i >= len(changes):
			v.Name, v.Note = all[i].Name.String(), "no samples on one side"
		case changes[i].P == nil:
			v.Name, v.Note = all[i].Name.String(), "samples on both sides in too few runs"
		default:
			v.judge(&changes[i], l, c.Paired)
		}
		c.Passed = c.Passed && v.Passed
		c.Limits = append(c.Limits, v)
	}
	return nil
}

func (v *LimitVerdict) judge(ch *Change, l Limit, paired bool) {
	factor, beyond, scale := 1.0, l.Change, 1.0
	base := ch.base
	if l.Relative {
		factor, beyond, scale = 1+l.Change, 0, ch.Base // the base is never negative
		base = base.scaled(factor)
	}
	d := DifferenceOf(ch.BaseEstimate, ch.HeadEstimate, factor, paired)
	difference, low, high := change(base, ch.head, paired)
	v.ID, v.Name, v.Unit = ch.ID, ch.Name, ch.Unit
	if l.Above {
		v.Passed = *d.Low <= beyond || difference <= beyond
	} else {
		v.Passed = *d.High >= beyond || difference >= beyond
	}
	if scale == 0 {
		v.Note = "the base is 0, so the limit is 0"
		v.Relative, v.Limit = false, 0
		difference, low, high = ch.Difference, ch.Low, ch.High
	} else if l.Relative { // the interval that decides, in shares of the base
		share := func(x *float64) *float64 {
			if x == nil {
				return nil
			}
			y := l.Change + *x/scale
			return &y
		}
		difference, low, high = ch.Difference/scale, share(low), share(high)
	}
	v.Change, v.Low, v.High = &difference, low, high
}
