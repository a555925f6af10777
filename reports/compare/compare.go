// Package compare tests which statistics differ between two sets of runs.
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

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/replicate"
	"apfsim/reports/result"
	"apfsim/reports/statistics"
	"apfsim/reports/stats"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
)

// Comparison is what changes from one set of runs, the base, to another, the head.
type Comparison struct {
	SchemaVersion string   `json:"schemaVersion"`
	Base          Side     `json:"base"`
	Head          Side     `json:"head"`
	Paired        bool     `json:"paired"`      // run by run: both sides have the same seeds
	Confidence    float64  `json:"confidence"`  // of the intervals
	FalseAlarms   float64  `json:"falseAlarms"` // share of the changes told that may be none
	Warnings      []string `json:"warnings"`

	Passed bool           `json:"passed"` // whether no limit is exceeded; true when there is none
	Limits []LimitVerdict `json:"limits"`

	Only     []string `json:"only"`     // globs of the statistics that are compared; empty for all
	Distinct Distinct `json:"distinct"` // how many different numbers there are behind the names

	Changed   int      `json:"changed"` // how many names of statistics have this Outcome; so the next three
	Same      int      `json:"same"`
	Exact     int      `json:"exact"`
	Untested  int      `json:"untested"`
	Unmatched []string `json:"unmatched"` // statistics with samples on one side alone
	Changes   []Change `json:"changes"`   // what matters first; of each outcome, other names of a number last

	BaseRuns, HeadRuns *replicate.Replications `json:"-"`
	Outside            []Change                `json:"-"` // that Only leaves out
	UnmatchedIDs       []metric.Name           `json:"-"` // Unmatched, parsed
}

// Distinct counts numbers, each once, however many names it has. What is exactly the same counts by
// its names: that two statistics are 0 in all runs makes them no one number.
type Distinct struct {
	Tested   int `json:"tested"`  // the hypotheses of the procedure of Benjamini and Hochberg
	Changed  int `json:"changed"` // of those tested
	Untested int `json:"untested"`
}

const falseAlarms = 0.05

// Side is one of the two that are compared.
type Side struct {
	Label       string   `json:"label"` // what the user called it
	Scenario    string   `json:"scenario"`
	Seeds       []uint64 `json:"seeds"`
	DurationNs  int64    `json:"durationNs"`
	WarmupNs    int64    `json:"warmupNs"`
	FlowControl string   `json:"flowControl"`
}

// Change is what becomes of one statistic.
type Change struct {
	Name       string          `json:"name"`
	Unit       string          `json:"unit"`
	Better     metric.Better   `json:"better"`
	Base       float64         `json:"base"` // mean of the runs, and so is Head
	Head       float64         `json:"head"`
	Difference float64         `json:"difference"` // head − base
	Low        *float64        `json:"low"`        // the interval of confidence of the difference; null of too few runs
	High       *float64        `json:"high"`
	Relative   *float64        `json:"relative"` // difference / base; null when base is 0
	P          *float64        `json:"p"`        // of the test that nothing changes; null without an interval
	Outcome    Outcome         `json:"outcome"`
	Judgement  judge.Judgement `json:"mood"` // good or bad, when it has changed and that is known

	PriorityLevel string `json:"priorityLevel,omitempty"` // of a flow
	FlowSchema    string `json:"flowSchema,omitempty"`    // of a flow

	Also   []string `json:"also,omitempty"`   // other names of the same number, which tell of the same event
	SameAs string   `json:"sameAs,omitempty"` // the name by which it is told, of one of those other names

	ID      metric.Name   `json:"-"` // Name, parsed
	AlsoIDs []metric.Name `json:"-"` // Also, parsed

	BaseEstimate, HeadEstimate stats.Values `json:"-"`
}

// Outcome is what is known of a change.
type Outcome string

// The outcomes.
const (
	Changed  Outcome = "changed"
	Same     Outcome = "same"     // as far as these runs can tell
	Exact    Outcome = "exact"    // the same in every run, but for rounding
	Untested Outcome = "untested" // too few runs to tell
)

// Compare compares two sets of runs, statistic by statistic. Runs with the same seeds are
// compared pair by pair (Student's t), as they share their random numbers; others as two
// samples (Welch's t). Of the many numbers, each tested once whatever its names, those have
// changed whose tests pass the procedure of Benjamini and Hochberg (Controlling the False Discovery
// Rate, J. R. Statist. Soc. B 57, 1995), so that of the changes told one in twenty may be none. That
// holds for tests that are independent or positively dependent (Benjamini and Yekutieli, The Control of
// the False Discovery Rate in Multiple Testing under Dependency, Ann. Statist. 29, 2001). Statistics
// that match none of the globs, if there are any, are left out.
func Compare(baseLabel string, base *replicate.Replications, headLabel string, head *replicate.Replications, only ...Glob) *Comparison {
	c := &Comparison{
		SchemaVersion: result.SchemaVersion, Confidence: stats.Confidence, FalseAlarms: falseAlarms, Passed: true,
		Base: sideOf(baseLabel, base), Head: sideOf(headLabel, head),
		Paired: slices.Equal(base.Seeds, head.Seeds), BaseRuns: base, HeadRuns: head,
		Warnings: []string{}, Limits: []LimitVerdict{}, Unmatched: []string{}, Changes: []Change{}, Only: []string{},
	}
	for _, g := range only {
		c.Only = append(c.Only, g.text)
	}
	c.warn(base, head)
	others := map[string]*replicate.Estimate{}
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
	c.decide()
	return c
}

func (c *Comparison) leaveUnmatched(e *replicate.Estimate) {
	c.Unmatched, c.UnmatchedIDs = append(c.Unmatched, e.Name), append(c.UnmatchedIDs, e.ID)
}

// compares says whether a statistic is compared; those of flows are not where a side has
// left them out.
func (c *Comparison) compares(e *replicate.Estimate) bool {
	return e.PriorityLevel == "" || !c.flowsLeftOut()
}

func (c *Comparison) flowsLeftOut() bool { return c.BaseRuns.FlowsLeftOut || c.HeadRuns.FlowsLeftOut }

func sideOf(label string, r *replicate.Replications) Side {
	return Side{Label: label, Scenario: r.Name, Seeds: r.Seeds, DurationNs: r.DurationNs, WarmupNs: r.WarmupNs, FlowControl: r.FlowControl}
}

func (c *Comparison) warn(base, head *replicate.Replications) {
	warn := func(format string, args ...any) { c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...)) }
	if base.DurationNs != head.DurationNs || base.WarmupNs != head.WarmupNs {
		warn("the runs differ in length: %s of the base, %s of the head; counts compare with that",
			format.Window(base.DurationNs, base.WarmupNs, ""), format.Window(head.DurationNs, head.WarmupNs, ""))
	}
	if least := min(len(base.Seeds), len(head.Seeds)); least < 2 {
		warn("a single run on a side says nothing of chance: want --replications")
	}
	if c.flowsLeftOut() {
		warn("there are too many flows to compare each")
	}
}

// changeOf compares one statistic, so far without regard to the others.
func changeOf(b, h *replicate.Estimate, paired bool) Change {
	c := Change{ID: b.ID, Name: b.Name, Unit: b.Unit, Better: b.Better, Base: b.Mean, Head: h.Mean,
		PriorityLevel: b.PriorityLevel, FlowSchema: b.FlowSchema, BaseEstimate: b.Values, HeadEstimate: h.Values}
	d := stats.DifferenceOf(b.Values, h.Values, 1, paired)
	c.Difference, c.Low, c.High, c.P = d.Mean, d.Low, d.High, d.P
	if paired {
		switch x, y := stats.CommonRuns(b.Values, h.Values); {
		case len(x) == 0:
			c.Difference = c.Head - c.Base
		case len(x) < len(b.Values): // the means have to be of the runs that the difference is of
			c.Base, c.Head = replicate.EstimateOf(x).Mean, replicate.EstimateOf(y).Mean
		}
	}
	switch {
	case d.Exact:
		c.Outcome = Exact
	case d.P == nil:
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

// decide says which changes are certain, by the procedure of Benjamini and Hochberg: of m
// tests in order of their p, those up to the last k with p(k) ≤ k/m·α. A number that several
// statistics have is one test. What is exactly the same needs none.
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
			ch.Judgement = judge.Good
		default:
			ch.Judgement = judge.Bad
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
			cmp.Compare(judge.Boolean(a.SameAs != ""), judge.Boolean(b.SameAs != "")),               // an event once, before it has other names
			cmp.Compare(judge.Boolean(a.PriorityLevel != ""), judge.Boolean(b.PriorityLevel != "")), // flows, of which there are many, last
			// What the luckiest request got is next to nothing, and any change of it great beside that.
			cmp.Compare(judge.Boolean(a.ID.Stat == "min"), judge.Boolean(b.ID.Stat == "min")),
			-cmp.Compare(a.RelativeSize(), b.RelativeSize()),
			cmp.Compare(a.probability(), b.probability())) // of changes from 0, which are all beyond measure
	})
}

func (c *Change) probability() float64 {
	if c.P == nil {
		return 1
	}
	return *c.P
}

// sameNumbers takes together the statistics that are one number: those with the same values and
// unit in every run of both sides, and a count with its rates (per request that arrived, per second)
// where these are in proportion in every run. Equal values of different metrics count only where
// there is more than a single run of a side to be equal in. Each group begins with the
// statistic by whose name the number is told, and the others note that. What is exactly the same
// on both sides is in no group.
func (c *Comparison) sameNumbers() (groups [][]*Change) {
	first := map[string]int{} // the group that a key belongs to
	of := make([]int, 0, len(c.Changes))
	parent := []int{} // of groups that turned out to be one
	root := func(g int) int {
		for parent[g] != g {
			g = parent[g]
		}
		return g
	}
	for i := range c.Changes {
		ch := &c.Changes[i]
		if ch.Outcome == Exact {
			of = append(of, -1)
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
			if g, ok := first[key]; ok {
				a, b := root(g), root(group)
				parent[max(a, b)] = min(a, b)
			} else {
				first[key] = group
			}
		}
		of = append(of, group)
	}
	at := map[int]int{}
	for i, g := range of {
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
		// The first in the order of the statistics is of the most requests: all of them, else a
		// workload, then FlowSchema, level and flow. It says more than that of a part which is all
		// there is. But one that is known to be good or bad says more still.
		if i := slices.IndexFunc(group, func(ch *Change) bool { return ch.Better != metric.Neither }); i > 0 {
			told := group[i]
			copy(group[1:i+1], group[:i])
			group[0] = told
		}
		for _, other := range group[1:] {
			other.SameAs = group[0].Name
			group[0].Also = append(group[0].Also, other.Name)
			group[0].AlsoIDs = append(group[0].AlsoIDs, other.ID)
		}
	}
	return groups
}

// valuesKey returns a text of all values over a scale, which differ if they do by more than
// rounding.
func (c *Change) valuesKey(scale float64) string {
	var b []byte
	for _, side := range []stats.Values{c.BaseEstimate, c.HeadEstimate} {
		for _, v := range side {
			b = strconv.AppendFloat(append(b, ' '), v/scale+0, 'e', 10, 64) // + 0: no −0
		}
		b = append(b, '|')
	}
	return string(b)
}

// greatest returns the greatest size of a value.
func (c *Change) greatest() float64 {
	return stats.MaxAbs(slices.Concat(c.BaseEstimate.Present(), c.HeadEstimate.Present(), stats.Values{0}))
}

func (c *Change) RelativeSize() float64 {
	switch {
	case c.Relative != nil:
		return math.Abs(*c.Relative)
	case c.Difference == 0:
		return 0
	}
	return math.Inf(1)
}

// Limit is how far a statistic may change: STATISTIC > +LIMIT fails when it grows by more,
// STATISTIC < -LIMIT when it falls by more.
type Limit struct {
	Text     string
	Name     string
	Above    bool    // it fails above Change, not below
	Change   float64 // in the statistic's unit, or of the base if Relative
	Relative bool
}

// ParseLimit parses 'wait{workload:mice}.p(99) > +5%', or > +10ms.
func ParseLimit(text string) (Limit, error) {
	fail := func(format string, args ...any) (Limit, error) {
		return Limit{}, fmt.Errorf("%q: %s", text, fmt.Sprintf(format, args...))
	}
	at := strings.LastIndexAny(text, "<>")
	if at < 0 {
		return fail("want a change that must not be, as 'wait{workload:mice}.p(99) > +5%%'")
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
		return fail("want > or <")
	case limit == "0":
	case !strings.HasPrefix(limit, "+") && !strings.HasPrefix(limit, "-"):
		return fail("%q has no sign; the limit is one of the change: want +5%% or -5%%, say", limit)
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
		return fail("%q: want a change such as +5%% or +10ms", limit)
	case err != nil || math.IsNaN(l.Change) || math.IsInf(l.Change, 0):
		return fail("%q: want a change such as +5%% or +0.1", limit)
	}
	return l, nil
}

// LimitVerdict says whether a limit is exceeded with confidence. Its numbers are in the
// statistic's unit, or shares of the base if Relative.
type LimitVerdict struct {
	Expression string   `json:"expression"`
	Name       string   `json:"name"`
	Relative   bool     `json:"relative"`
	Unit       string   `json:"unit"`
	Limit      float64  `json:"limit"`
	Change     *float64 `json:"change"` // null without samples: the limit counts as exceeded
	Low        *float64 `json:"low"`
	High       *float64 `json:"high"`
	Passed     bool     `json:"passed"`
	Note       string   `json:"note"`

	ID metric.Name `json:"-"` // Name, parsed; empty if there is no change
}

// ErrTooFewRuns is why there is no confidence in anything.
var ErrTooFewRuns = errors.New("each side has to have two runs at least, for its spread to be known")

// Judge decides which limits are exceeded: those whose whole interval of confidence lies
// beyond. The interval is that of head − (1+limit)·base for a relative limit, so that the
// base's own uncertainty counts, too.
func (c *Comparison) Judge(limits []Limit) error {
	all := make([]statistics.Statistic, 0, len(c.Changes)+len(c.Unmatched))
	// Limits are tests of their own, and so are not narrowed down with what is shown.
	changes := slices.Concat(c.Changes, c.Outside)
	for i := range changes {
		ch := &changes[i]
		all = append(all, statistics.Statistic{Name: ch.ID, Level: ch.PriorityLevel, Schema: ch.FlowSchema})
	}
	for _, name := range c.UnmatchedIDs {
		all = append(all, statistics.Statistic{Name: name})
	}
	for _, l := range limits {
		i, err := statistics.Find(all, l.Name)
		if replicate.NamesFlow(l.Name) && c.flowsLeftOut() {
			return fmt.Errorf("%s: there are too many flows to compare each over so many runs; want fewer replications, or a statistic of a group of them", l.Name)
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
			v.Note = result.NoSamples
		case i >= len(changes):
			v.Name, v.Note = all[i].Name.String(), "one of the sides has no samples"
		case changes[i].P == nil:
			v.Name, v.Note = all[i].Name.String(), "too few runs have samples on both sides"
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
	if l.Relative {
		factor, beyond, scale = 1+l.Change, 0, ch.Base // which is not negative
	}
	d := stats.DifferenceOf(ch.BaseEstimate, ch.HeadEstimate, factor, paired)
	v.ID, v.Name, v.Unit = ch.ID, ch.Name, ch.Unit
	if l.Above {
		v.Passed = *d.Low <= beyond
	} else {
		v.Passed = *d.High >= beyond
	}
	change, low, high := ch.Difference, *ch.Low, *ch.High
	if scale == 0 {
		v.Note = "the base is 0, and so is any part of it"
		v.Relative, v.Limit = false, 0
	} else if l.Relative { // the interval that decides, as shares of the base
		change, low, high = change/scale, l.Change+*d.Low/scale, l.Change+*d.High/scale
	}
	v.Change, v.Low, v.High = &change, &low, &high
}
