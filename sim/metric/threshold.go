package metric

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"apfsim/document"
	"apfsim/sim/quantity"
)

// Thresholds are the conditions that must hold when a run ends, in the order of the file.
type Thresholds []Threshold

// Threshold is one expression over one metric: Stat Op Limit.
type Threshold struct {
	Metric     string            // wait, rejected, fairness, ...
	Tags       []Tag             // what the metric is narrowed down to, in the order written
	Stat       string            // mean, min, med, max, p, count, rate, ...
	Percentile float64           // of the statistic p, from 0 to 100
	Op         string            // < <= > >= == !=
	Limit      float64           // in nanoseconds when Unit is Nanoseconds
	Unit       Unit              // of Stat and Limit
	Over       quantity.Duration // the windows that it must hold in, one after the other; 0: the run as a whole
	Kind       ThresholdKind     // what it says of a run in which it does not hold
	Key, Text  string            // the metric with its tags, and the expression, as written
	Position   document.Position // of the expression

	path         string            // of the expression
	keyPosition  document.Position // of the metric with its tags
	keyPath      string
	overPosition document.Position
	overPath     string // "" without over
}

// ThresholdKind is what a threshold is for. A threshold of any kind that does not hold makes the run fail.
type ThresholdKind string

// The kinds.
const (
	Goal   ThresholdKind = "goal"   // what is wanted of the server: where it does not hold, requests were harmed
	Expect ThresholdKind = "expect" // what the scenario shows, which may be harm
)

// Holds reports whether value, in the threshold's unit, satisfies it.
func (t *Threshold) Holds(value float64) bool {
	switch t.Op {
	case "<":
		return value < t.Limit
	case "<=":
		return value <= t.Limit
	case ">":
		return value > t.Limit
	case ">=":
		return value >= t.Limit
	case "==":
		return value == t.Limit
	case "!=":
		return value != t.Limit
	}
	panic("metric: no operator " + t.Op)
}

// Tag returns the value of the named tag, "" when the threshold has none.
func (t *Threshold) Tag(name string) string {
	for _, tag := range t.Tags {
		if tag.Name == name {
			return tag.Value
		}
	}
	return ""
}

// UnmarshalDocument implements document.Unmarshaler.
func (ts *Thresholds) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	var keys map[string][]expression
	d.Decode(n, path, &keys) // reports what is no list of strings, and repeated metrics
	*ts = nil
	done := map[string]bool{}
	for i := range n.Fields {
		f := &n.Fields[i]
		expressions := keys[f.Name]
		if done[f.Name] || n.Kind != document.Object {
			continue
		}
		done[f.Name] = true
		at := document.Position{File: d.File, Line: f.Line, Column: f.Column}
		keyPath := document.Join(path, f.Name)
		metric, tags, err := parseMetric(f.Name)
		if err != nil {
			d.Errors.Add(at, keyPath, "%v", err)
			continue
		}
		if f.Value.Kind == document.Null || f.Value.Kind == document.List && len(expressions) == 0 {
			d.Errors.Add(at, keyPath, "has no expression; want a list such as [\"%s\"]", example(metric))
		}
		for _, e := range expressions {
			t := Threshold{Metric: metric, Tags: tags, Over: e.over, Key: f.Name, Text: e.text,
				Position: e.position, path: e.path, keyPosition: at, keyPath: keyPath,
				Kind: e.kind, overPosition: e.overPosition, overPath: e.overPath}
			if !e.given { // the decoder has said why
				continue
			}
			if err := t.parseExpression(e.text); err != nil {
				d.Errors.Add(t.Position, t.path, "%v", err)
			}
			*ts = append(*ts, t) // a wrong one as well: its tags are still to be checked
		}
	}
}

// expression is one as written: a text, or an object of it and what goes with it.
type expression struct {
	text         string
	position     document.Position
	path         string
	over         quantity.Duration
	kind         ThresholdKind
	overPosition document.Position
	overPath     string // "" without over
	given        bool
}

// UnmarshalDocument implements document.Unmarshaler.
func (e *expression) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	before := len(d.Errors)
	e.kind = Goal
	if n.Kind == document.Object {
		var with struct {
			Threshold string            `json:"threshold" document:"required"`
			Over      quantity.Duration `json:"over,omitempty"`
			Kind      ThresholdKind     `json:"kind,omitempty" jsonschema:"enum=goal,enum=expect,default=goal"`
		}
		d.Decode(n, path, &with)
		e.text, e.over, e.kind = with.Threshold, with.Over, with.Kind
		if over := n.Get("over"); over != nil && over.Kind != document.Null {
			e.overPosition = document.Position{File: d.File, Line: over.Line, Column: over.Column}
			e.overPath = document.Join(path, "over")
		}
		if text := n.Get("threshold"); text != nil {
			n, path = text, document.Join(path, "threshold")
		}
	} else {
		d.Decode(n, path, &e.text)
	}
	e.position, e.path = document.Position{File: d.File, Line: n.Line, Column: n.Column}, path
	e.given = len(d.Errors) == before
}

var (
	expressionText = regexp.MustCompile(`^\s*([A-Za-z]+)\s*(?:\(([^()]*)\))?\s*([<>=!]+)\s*(\S.*?)\s*$`)
	shortPercent   = regexp.MustCompile(`^(\s*)p([0-9]+(?:\.[0-9]+)?)\b`) // p99, as tables print it
	operators      = []string{"<", "<=", ">", ">=", "==", "!="}
)

// parseExpression parses STATISTIC OPERATOR LIMIT, for the metric of t. The statistic and the
// limit of an unknown metric are not checked: that the metric is unknown is the error.
func (t *Threshold) parseExpression(text string) error {
	text = shortPercent.ReplaceAllString(text, "${1}p($2)")
	m := expressionText.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%q: want a statistic, a comparison and a limit, as %s", document.Abridge(text), example(t.Metric))
	}
	t.Stat, t.Op = m[1], m[3]
	if t.Stat == "avg" {
		t.Stat = "mean" // k6's word for it, of any metric that has a mean
	}
	hasArgument := strings.Contains(text[:strings.Index(text, t.Op)], "(")
	var err error
	if t.Percentile, err = percentileOf(t.Stat, hasArgument, m[2], text); err != nil {
		return err
	}
	if !slices.Contains(operators, t.Op) {
		return fmt.Errorf("operator %s: want one of %s", t.Op, strings.Join(operators, " "))
	}
	if Named(t.Metric) == nil {
		return nil
	}
	_, s := Find(t.Metric, t.Stat)
	if s == nil {
		return fmt.Errorf("%s has no statistic %s%s", t.Metric, m[1], document.Hint(m[1], statisticNames(t.Metric)))
	}
	t.Unit = s.Unit
	return t.parseLimit(s, m[4])
}

// percentileOf returns the percentile that the statistic p is of, its argument; others
// have none. Messages quote the text.
func percentileOf(stat string, hasArgument bool, argument, text string) (float64, error) {
	switch {
	case stat == "p" && !hasArgument:
		return 0, fmt.Errorf("%q: want a percentile, as p(99)", document.Abridge(text))
	case stat == "p":
		p, err := strconv.ParseFloat(strings.TrimSpace(argument), 64)
		if err != nil || !(p >= 0 && p <= 100) {
			return 0, fmt.Errorf("p(%s): want a percentile from 0 to 100", document.Abridge(argument))
		}
		return p, nil
	case hasArgument:
		return 0, fmt.Errorf("%s has no argument: only p has one", stat)
	}
	return 0, nil
}

// parseLimit parses what is compared with statistic s, the one of t.
func (t *Threshold) parseLimit(s *Statistic, text string) error {
	if s.Unit == Nanoseconds {
		limit, err := quantity.ParsePrintedDuration(text)
		if _, notNumber := strconv.ParseFloat(text, 64); err != nil && notNumber == nil {
			return fmt.Errorf("limit %s has no unit; want a duration such as 100ms", text)
		}
		if err != nil {
			return fmt.Errorf("limit %q is not a duration; want one such as 100ms", document.Abridge(text))
		}
		t.Limit = float64(limit)
		return nil
	}
	if s.Unit == Bytes {
		limit, err := quantity.ParseBytes(text)
		if err != nil {
			return fmt.Errorf("limit %w", err)
		}
		t.Limit = float64(limit)
		return nil
	}
	number, percent := strings.CutSuffix(text, "%")
	limit, err := quantity.ParsePrintedNumber(strings.TrimSpace(number))
	if _, notDuration := quantity.ParsePrintedDuration(text); err != nil && notDuration == nil {
		return fmt.Errorf("limit %s is a duration; %s of %s is a number without a unit", text, t.Stat, t.Metric)
	}
	if err != nil || math.IsNaN(limit) || math.IsInf(limit, 0) {
		return fmt.Errorf("limit %q is not a number", document.Abridge(text))
	}
	if percent && !s.Percent {
		return fmt.Errorf("limit %s: %s of %s is not a share; want a number without %%", text, t.Stat, t.Metric)
	}
	if percent {
		limit /= 100
	}
	if s.Fraction && (limit < 0 || limit > 1) {
		return fmt.Errorf("limit %s: %s of %s is a fraction from 0 to 1", text, t.Stat, t.Metric)
	}
	t.Limit = limit
	return nil
}
