package scenario

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"apfsim/document"
	"apfsim/sim/quantity"

	"github.com/invopop/jsonschema"
)

// Thresholds are what must hold when a run ends, in the order of the file.
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
	Over       Duration          // the windows that it must hold in, one after the other; 0: the run as a whole
	Key, Text  string            // the metric with its tags, and the expression, as written
	Position   document.Position // of the expression

	path         string            // of the expression
	keyPlace     document.Position // of the metric with its tags
	keyPath      string
	overPosition document.Position
	overPath     string // "" without over
}

// Tag narrows a metric down.
type Tag struct{ Name, Value string }

// Unit is what a statistic is measured in.
type Unit uint8

// The units.
const (
	PlainNumber Unit = iota
	Fraction         // a number from 0 to 1
	Nanoseconds
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
	panic("scenario: no operator " + t.Op)
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
				Position: e.place, path: e.path, keyPlace: at, keyPath: keyPath,
				overPosition: e.overPosition, overPath: e.overPath}
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
	place        document.Position
	path         string
	over         Duration
	overPosition document.Position
	overPath     string // "" without over
	given        bool
}

// UnmarshalDocument implements document.Unmarshaler.
func (e *expression) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	before := len(d.Errors)
	if n.Kind == document.Object {
		var with struct {
			Threshold string   `json:"threshold" document:"required"`
			Over      Duration `json:"over,omitempty"`
		}
		d.Decode(n, path, &with)
		e.text, e.over = with.Threshold, with.Over
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
	e.place, e.path = document.Position{File: d.File, Line: n.Line, Column: n.Column}, path
	e.given = len(d.Errors) == before
}

var metricText = regexp.MustCompile(`^\s*([^{\s]+)\s*(?:\{(.*)\})?\s*$`)

// parseMetric parses metric{tag:value,tag:value}. A value may be quoted.
func parseMetric(key string) (metric string, tags []Tag, err error) {
	m := metricText.FindStringSubmatch(key)
	if m == nil {
		return "", nil, fmt.Errorf("want a metric, with or without tags, as wait{workload:mice}")
	}
	if strings.Contains(key, "{") && strings.TrimSpace(m[2]) == "" {
		return "", nil, fmt.Errorf("the braces are empty; want tags as in wait{workload:mice}, or no braces")
	}
	for rest := strings.TrimSpace(m[2]); rest != ""; {
		name, after, found := strings.Cut(rest, ":")
		if !found {
			return "", nil, fmt.Errorf("tag %q has no value; want tag:value", document.Abridge(rest))
		}
		name = strings.TrimSpace(name)
		if name == "" {
			return "", nil, fmt.Errorf("a tag has no name; want tag:value")
		}
		for _, t := range tags {
			if t.Name == name {
				return "", nil, fmt.Errorf("tag %s stands twice", name)
			}
		}
		after = strings.TrimSpace(after)
		value, next := "", ""
		if quoted, err := strconv.QuotedPrefix(after); err == nil && after[0] == '"' {
			value, _ = strconv.Unquote(quoted)
			next = strings.TrimSpace(after[len(quoted):])
			if next != "" && next[0] != ',' {
				return "", nil, fmt.Errorf("tag %s: %q follows the quoted value; want a comma", name, document.Abridge(next))
			}
			next, found = strings.CutPrefix(next, ",")
		} else {
			value, next, found = strings.Cut(after, ",")
			value = strings.TrimSpace(value)
		}
		if value == "" {
			return "", nil, fmt.Errorf("tag %s has no value; want %s:value", name, name)
		}
		tags = append(tags, Tag{name, value})
		rest = strings.TrimSpace(next)
		if found && rest == "" {
			return "", nil, fmt.Errorf("a tag is missing after the last comma")
		}
	}
	return m[1], tags, nil
}

var (
	expressionText = regexp.MustCompile(`^\s*([A-Za-z]+)\s*(?:\(([^()]*)\))?\s*([<>=!]+)\s*(\S.*?)\s*$`)
	shortPercent   = regexp.MustCompile(`^(\s*)p([0-9]+(?:\.[0-9]+)?)\b`) // p99, as tables print it
	operators      = []string{"<", "<=", ">", ">=", "==", "!="}
)

// parseExpression parses STAT OP LIMIT, for the metric of t when that is known.
func (t *Threshold) parseExpression(text string) error {
	def := metrics[t.Metric]
	text = shortPercent.ReplaceAllString(text, "${1}p($2)")
	m := expressionText.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%q: want a statistic, a comparison and a limit, as %s", document.Abridge(text), example(t.Metric))
	}
	t.Stat, t.Op = m[1], m[3]
	if t.Stat == "avg" {
		t.Stat = "mean" // k6's word for it
	}
	hasArgument := strings.Contains(text[:strings.Index(text, t.Op)], "(")
	var err error
	if t.Percentile, err = percentileOf(t.Stat, hasArgument, m[2], text); err != nil {
		return err
	}
	known := false
	for _, op := range operators {
		known = known || t.Op == op
	}
	if !known {
		return fmt.Errorf("operator %s: want one of %s", t.Op, strings.Join(operators, " "))
	}
	if def == nil {
		return nil // an unknown metric is a mistake of its own
	}
	unit, ok := def.stat(t.Stat)
	if !ok {
		return fmt.Errorf("%s has no statistic %s%s", t.Metric, m[1], document.Hint(m[1], def.statNames()))
	}
	t.Unit = unit
	return t.parseLimit(m[4])
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

func (t *Threshold) parseLimit(text string) error {
	if t.Unit == Nanoseconds {
		limit, err := quantity.ParsePrintedDuration(text)
		if _, notNumber := strconv.ParseFloat(text, 64); err != nil && notNumber == nil {
			return fmt.Errorf("limit %s has no unit; want a duration such as 100ms", text)
		}
		if err != nil {
			return fmt.Errorf("limit %q is no duration; want one such as 100ms", document.Abridge(text))
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
		return fmt.Errorf("limit %q is no number", document.Abridge(text))
	}
	if percent && !isShare(t.Metric, t.Stat, t.Unit) {
		return fmt.Errorf("limit %s: %s of %s is not a share; want a number without %%", text, t.Stat, t.Metric)
	}
	if percent {
		limit /= 100
	}
	if t.Unit == Fraction && (limit < 0 || limit > 1) {
		return fmt.Errorf("limit %s: %s of %s is a fraction from 0 to 1", text, t.Stat, t.Metric)
	}
	t.Limit = limit
	return nil
}

// JSONSchema describes the type.
func (Thresholds) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type:          "object",
		PropertyNames: &jsonschema.Schema{Pattern: `^\s*(` + strings.Join(metricNames, "|") + `)\s*(\{.*\})?\s*$`},
		AdditionalProperties: &jsonschema.Schema{
			Type:     "array",
			MinItems: one,
			Items:    &jsonschema.Schema{OneOf: []*jsonschema.Schema{expressionSchema, windowedSchema()}},
		},
		Description: "What must hold when the run ends: metric{tag:value}: [expressions], such as \"wait{workload:mice}\": [\"p(99) < 100ms\"]. " +
			"An object {threshold: expression, over: 10s} must hold in every window of that length.",
	}
}

var expressionSchema = &jsonschema.Schema{Type: "string", Pattern: `(<|<=|>|>=|==|!=)`}

// windowedSchema describes an expression that must hold in every window.
func windowedSchema() *jsonschema.Schema {
	fields := jsonschema.NewProperties()
	fields.Set("threshold", expressionSchema)
	fields.Set("over", Duration(0).JSONSchema())
	return &jsonschema.Schema{Type: "object", Properties: fields, Required: []string{"threshold"},
		AdditionalProperties: jsonschema.FalseSchema}
}
