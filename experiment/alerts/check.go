package alerts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/reports/record"
)

// Finding is what is wrong with a rule for a release.
type Finding struct {
	Name  string `json:"rule"`  // of the alert or of the recorded series
	At    string `json:"at"`    // file, line and column of the rule
	Dead  bool   `json:"dead"`  // the expression never has a value
	Why   string `json:"why"`   // of the expression, what never has one or is not as it seems
	Part  string `json:"part"`  // of the expression
	Alert bool   `json:"alert"` // or else a recorded series
}

// Checked is the result of Check.
type Checked struct {
	Version  string    `json:"kubernetesVersion"`
	Rules    int       `json:"rules"`
	Unknown  []string  `json:"unknown"` // series that are not checked: neither of flow control and requests nor recorded
	Findings []Finding `json:"findings"`
}

// Check finds the rules that can never fire, or record anything, with servers of a release.
func Check(groups []*Group, r *rules.Rules) *Checked {
	c := &checker{version: r.Version, series: map[string]*record.KnownSeries{}, own: map[string]bool{}, hidden: map[string]string{}, recorded: map[string]shape{}, elsewhere: map[string]string{}, unknown: map[string]bool{}}
	for _, version := range rules.Versions() {
		other, err := rules.For(version)
		if err != nil {
			panic(err)
		}
		for _, s := range record.KnownSeriesOf(other) {
			for _, l := range s.Labels {
				c.own[l] = true
			}
			if s.Hidden != "" {
				c.hidden[s.Name] = s.Hidden
			}
			if c.elsewhere[s.Name] == "" {
				c.elsewhere[s.Name] = version + " to "
			}
			first, _, _ := strings.Cut(c.elsewhere[s.Name], " to ")
			c.elsewhere[s.Name] = first + " to " + version
		}
	}
	for _, s := range record.KnownSeriesOf(r) {
		c.series[s.Name] = &s
	}
	result := &Checked{Version: r.Version, Findings: []Finding{}, Unknown: []string{}}
	for _, g := range groups {
		for _, rule := range g.Rules {
			result.Rules++
			c.notes = nil
			of := c.expr(rule.parsed)
			if rule.Record != "" {
				for _, set := range []map[string]string{g.Labels, rule.Labels} {
					for label := range set {
						of = of.with(label, yes)
					}
				}
				if before, twice := c.recorded[rule.Record]; twice && before.dead == nil { // by several rules
					of = shape{maybe: true}
				}
				c.recorded[rule.Record] = of
			}
			find := Finding{Name: rule.Name(), At: rule.at.String(), Alert: rule.Alert != ""}
			if of.dead != nil {
				find.Dead, find.Why, find.Part = true, of.dead.why, of.dead.part
				result.Findings = append(result.Findings, find)
			}
			for _, n := range c.notes {
				if of.dead == nil || n != *of.dead {
					find.Dead, find.Why, find.Part = false, n.why, n.part
					result.Findings = append(result.Findings, find)
				}
			}
		}
	}
	for name, of := range c.unknown {
		if _, recorded := c.recorded[name]; of && !recorded {
			result.Unknown = append(result.Unknown, name)
		}
	}
	slices.Sort(result.Unknown)
	return result
}

// checker checks rules. What it does not know it takes to be right.
type checker struct {
	version   string
	series    map[string]*record.KnownSeries // of the release, by name
	own       map[string]bool                // labels that the servers of some release give to their series
	hidden    map[string]string              // since when a series of some release is hidden by default
	elsewhere map[string]string              // the releases that have a series
	recorded  map[string]shape               // by the rules before
	unknown   map[string]bool
	notes     []problem
}

// problem is a reason, and the part of the expression that it is about.
type problem struct{ why, part string }

// has is whether all series of a vector have a label that is not empty.
type has uint8

const (
	maybe has = iota
	yes
	no
)

// shape is what is known of the series of a vector.
type shape struct {
	dead   *problem       // why there is never one
	labels map[string]has // of those that are known
	maybe  bool           // nothing is known of the other labels; else they do not exist
	scalar bool
}

func (s *shape) label(name string) has {
	if h, known := s.labels[name]; known {
		return h
	}
	if s.maybe {
		return maybe
	}
	return no
}

func (s shape) with(name string, h has) shape {
	s.labels = maps.Clone(s.labels)
	if s.labels == nil {
		s.labels = map[string]has{}
	}
	s.labels[name] = h
	return s
}

// empty are the labels that a server leaves empty in some series.
var empty = []string{"dry_run", "group", "version", "resource", "subresource", "scope", "component"}

func (c *checker) expr(e parser.Expr) shape {
	switch e := e.(type) {
	case *parser.ParenExpr:
		return c.expr(e.Expr)
	case *parser.StepInvariantExpr:
		return c.expr(e.Expr)
	case *parser.UnaryExpr:
		return c.expr(e.Expr)
	case *parser.SubqueryExpr:
		return c.expr(e.Expr)
	case *parser.MatrixSelector:
		return c.expr(e.VectorSelector)
	case *parser.VectorSelector:
		return c.selector(e)
	case *parser.AggregateExpr:
		return c.aggregate(e)
	case *parser.BinaryExpr:
		return c.binary(e)
	case *parser.Call:
		return c.call(e)
	}
	return shape{scalar: true}
}

func (c *checker) selector(e *parser.VectorSelector) shape {
	name := e.Name
	for _, m := range e.LabelMatchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
			name = m.Value
		}
	}
	if of, recorded := c.recorded[name]; recorded {
		if of.dead != nil {
			of.dead = &problem{"the rule that records it never has a value", name}
		}
		return of
	}
	known := c.series[name]
	if known == nil || known.Histogram {
		known = nil
		for _, end := range []string{"_bucket", "_sum", "_count"} {
			if base, found := strings.CutSuffix(name, end); found && c.series[base] != nil && c.series[base].Histogram {
				known = c.series[base]
			}
		}
	}
	if known == nil {
		if why := c.missing(name); why != "" {
			return shape{dead: &problem{why, e.String()}}
		}
		c.unknown[name] = !slices.Contains([]string{"", "up", "ALERTS", "ALERTS_FOR_STATE"}, name) // no name, or those that Prometheus itself has
		return shape{maybe: true}
	}
	if known.Hidden != "" {
		return shape{dead: &problem{fmt.Sprintf("%s is %s%s", name, c.hiding(known.Name), c.instead(known.Name)), e.String()}}
	}
	of := shape{labels: map[string]has{"job": yes, "instance": yes}, maybe: true}
	for l := range c.own {
		of.labels[l] = no
	}
	for _, l := range known.Labels {
		if of.labels[l] = yes; slices.Contains(empty, l) {
			of.labels[l] = maybe
		}
	}
	if !strings.HasSuffix(name, "_bucket") {
		of.labels["le"] = no
	}
	for _, m := range e.LabelMatchers {
		if m.Name == model.MetricNameLabel {
			continue
		}
		values := known.Values[m.Name]
		switch {
		case of.label(m.Name) == no && !m.Matches(""):
			of.dead = &problem{fmt.Sprintf("%s has no label %s%s; it has %s", name, m.Name, of.successor(m.Name), strings.Join(own(known, name), ", ")), e.String()}
		case values != nil && of.label(m.Name) != no && !slices.ContainsFunc(values, m.Matches):
			of.dead = &problem{fmt.Sprintf("no server of %s has %s; the label %s of %s is %s", c.version, m, m.Name, name, listed(values)), e.String()}
		}
	}
	return of
}

// own returns the labels of a series that the server gives to it.
func own(s *record.KnownSeries, name string) (all []string) {
	for _, l := range s.Labels {
		if l != "le" || strings.HasSuffix(name, "_bucket") {
			all = append(all, l)
		}
	}
	return all
}

func listed(values []string) string {
	values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !strings.Contains(v, ".") && slices.Contains(values, v+".0") })
	return strings.Join(values, ", ")
}

// successor names a label that the series have in the place of another one.
func (s *shape) successor(name string) string {
	for before, after := range record.Successors { // each has one name before it
		if before == name && s.label(after) == yes {
			return ", but " + after
		}
		if after == name && s.label(before) == yes {
			return ", but " + before
		}
	}
	return ""
}

// missing says why a release does not have a series; "" if that is not known.
func (c *checker) missing(name string) string {
	base := name
	for _, end := range []string{"_bucket", "_sum", "_count"} {
		if cut, found := strings.CutSuffix(name, end); found {
			base = cut
		}
	}
	if known := c.series[base]; known != nil && known.Histogram {
		return fmt.Sprintf("%s is a histogram: its series are %s_bucket, %s_sum and %s_count", base, base, base, base)
	}
	if between, some := c.elsewhere[base]; some {
		if hiding := c.hiding(base); hiding != "" {
			between += ", where it is " + hiding
		}
		return fmt.Sprintf("%s is not in %s, only in %s%s", name, c.version, between, c.instead(base))
	}
	if !strings.HasPrefix(name, "apiserver_flowcontrol_") {
		return ""
	}
	return fmt.Sprintf("no release has %s%s", name, document.Suggest(base, slices.Sorted(maps.Keys(c.elsewhere))))
}

// hiding says since when servers report a series only if they are told to; "" if they always do.
func (c *checker) hiding(name string) string {
	if since := c.hidden[name]; since != "" {
		return "hidden from " + since + " on unless --show-hidden-metrics-for-version"
	}
	return ""
}

// instead names the series that has taken the place of another one; "" if the release has none.
func (c *checker) instead(name string) string {
	for before, after := range record.Successors { // each has one name before it
		if before == name && c.series[after] != nil {
			return "; use " + after
		} else if after == name && c.series[before] != nil {
			return "; use " + before
		}
	}
	return ""
}

func (c *checker) aggregate(e *parser.AggregateExpr) shape {
	in := c.expr(e.Expr)
	switch e.Op {
	case parser.TOPK, parser.BOTTOMK, parser.LIMITK, parser.LIMIT_RATIO:
		return in
	}
	out := shape{dead: in.dead, labels: map[string]has{}}
	if e.Without {
		out.labels, out.maybe = maps.Clone(in.labels), in.maybe
		for _, l := range e.Grouping {
			out = out.with(l, no)
		}
	} else {
		for _, l := range e.Grouping {
			out.labels[l] = in.label(l)
			if in.dead == nil && in.label(l) == no && c.own[l] {
				c.note(fmt.Sprintf("its series have no label %s%s, so that it groups nothing", l, in.successor(l)), e.String())
			}
		}
	}
	return out
}

func (c *checker) note(why, part string) {
	if p := (problem{why, part}); !slices.Contains(c.notes, p) {
		c.notes = append(c.notes, p)
	}
}

func (c *checker) binary(e *parser.BinaryExpr) shape {
	a, b := c.expr(e.LHS), c.expr(e.RHS)
	switch {
	case a.scalar && b.scalar:
		return shape{scalar: true, dead: either(a.dead, b.dead)}
	case a.scalar:
		b.dead = either(b.dead, a.dead)
		return b
	case b.scalar:
		a.dead = either(a.dead, b.dead)
		return a
	case e.Op == parser.LOR:
		if a.dead != nil {
			return b
		}
		if b.dead != nil {
			c.note(b.dead.why, b.dead.part)
			return a
		}
		both := shape{maybe: a.maybe || b.maybe, labels: map[string]has{}}
		for _, side := range []map[string]has{a.labels, b.labels} {
			for l := range side {
				if both.labels[l] = maybe; a.label(l) == b.label(l) {
					both.labels[l] = a.label(l)
				}
			}
		}
		return both
	case e.Op == parser.LUNLESS:
		if b.dead != nil && a.dead == nil {
			c.note(b.dead.why, b.dead.part)
		}
		return a
	}
	dead := either(a.dead, b.dead)
	m := e.VectorMatching
	if dead == nil {
		for _, l := range matched(m, &a, &b) {
			x, y := a.label(l), b.label(l)
			if x == yes && y == no || x == no && y == yes {
				side, other := "right", "left"
				if x == no {
					side, other = other, side
				}
				dead = &problem{fmt.Sprintf("both sides are joined by the label %s, which the series on the %s have and those on the %s have not", l, other, side), e.String()}
				break
			}
		}
	}
	if e.Op == parser.LAND {
		a.dead = dead
		return a
	}
	out := a
	switch m.Card {
	case parser.CardOneToMany:
		out = b
	case parser.CardOneToOne:
		out = shape{labels: map[string]has{}, maybe: a.maybe}
		if m.On {
			out.maybe = false
			for _, l := range m.MatchingLabels {
				out.labels[l] = a.label(l)
			}
		} else {
			out.labels = maps.Clone(a.labels)
			for _, l := range m.MatchingLabels {
				out = out.with(l, no)
			}
		}
	}
	for _, l := range m.Include {
		out = out.with(l, maybe)
	}
	out.dead = dead
	return out
}

// matched returns the labels by which a binary operation joins, as far as they are known.
func matched(m *parser.VectorMatching, a, b *shape) []string {
	if m.On {
		return m.MatchingLabels
	}
	known := map[string]bool{}
	for _, side := range []map[string]has{a.labels, b.labels} {
		for l := range side {
			known[l] = !slices.Contains(m.MatchingLabels, l)
		}
	}
	var all []string
	for _, l := range slices.Sorted(maps.Keys(known)) {
		if known[l] {
			all = append(all, l)
		}
	}
	return all
}

func either(a, b *problem) *problem {
	if a != nil {
		return a
	}
	return b
}

func (c *checker) call(e *parser.Call) shape {
	var vector *shape
	out := shape{scalar: true}
	for _, arg := range e.Args {
		of := c.expr(arg)
		if arg.Type() == parser.ValueTypeVector || arg.Type() == parser.ValueTypeMatrix {
			vector = &of
		}
	}
	if e.Func.ReturnType == parser.ValueTypeVector {
		out = shape{maybe: true}
	}
	if vector == nil {
		return out
	}
	switch e.Func.Name {
	case "absent", "absent_over_time":
		if vector.dead != nil {
			c.note("it always has a value, because "+vector.dead.why, e.String())
		}
		return shape{maybe: true}
	case "label_replace", "label_join":
		if label, ok := e.Args[1].(*parser.StringLiteral); ok {
			return vector.with(label.Val, maybe)
		}
		return shape{dead: vector.dead, maybe: true}
	case "histogram_quantile":
		if vector.dead == nil && vector.label("le") == no {
			vector.dead = &problem{"the series have no label le: keep it when they are grouped", e.String()}
		}
		return vector.with("le", no)
	case "scalar":
		return shape{scalar: true, dead: vector.dead}
	}
	return *vector
}
