package alerts

import (
	"os"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"apfsim/document"
	"apfsim/document/yaml"
)

// Group is a group of rules, which Prometheus evaluates one after the other.
type Group struct {
	Name        string            `json:"name" document:"required"`
	Interval    duration          `json:"interval"`     // 0 for that of the evaluation
	QueryOffset duration          `json:"query_offset"` // how far before the time of the evaluation the expressions are evaluated
	Rules       []*Rule           `json:"rules"`
	Labels      map[string]string `json:"labels"` // of all rules

	Limit   int    `json:"limit"` // of the alerts or series of a rule, which fails with more; 0 for none
	Partial string `json:"partial_response_strategy"`
}

// Rule is an alert, or a series that is recorded.
type Rule struct {
	Record        string            `json:"record"`
	Alert         string            `json:"alert"`
	Expr          text              `json:"expr" document:"required"`
	For           duration          `json:"for"`
	KeepFiringFor duration          `json:"keep_firing_for"`
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations"`

	group  *Group
	at     document.Position
	parsed parser.Expr
}

// Name returns the name of the alert, or of the series.
func (r *Rule) Name() string { return r.Alert + r.Record }

// duration is a time as Prometheus writes it, such as 1h30m.
type duration time.Duration

// UnmarshalDocument implements document.Unmarshaler.
func (t *duration) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	parsed, err := model.ParseDuration(n.Text)
	if err != nil {
		d.Fail(n, path, "%q is not a duration; want one such as 5m or 1h30m", document.Abridge(n.Text))
		return
	}
	*t = duration(parsed)
}

// String returns the time as Prometheus writes it.
func (t duration) String() string { return model.Duration(t).String() }

// text is an expression. One that is a number alone may be written without quotes.
type text string

// UnmarshalDocument implements document.Unmarshaler.
func (t *text) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	if n.Kind != document.String && n.Kind != document.Number {
		d.Fail(n, path, "is %s; want an expression", n.Kind)
		return
	}
	*t = text(n.Text)
}

// ReadRules reads a file of rules: one as Prometheus reads it, with groups, or objects PrometheusRule, also in a list. The
// error is document.Errors with all that is wrong, with positions.
func ReadRules(file string) ([]*Group, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return ParseRules(file, content)
}

// ParseRules is ReadRules of a text.
func ParseRules(file string, content []byte) ([]*Group, error) {
	docs, errs := yaml.Parse(file, content)
	var all []*Group
	for i := range docs {
		groups, wrong := decodeRules(file, docs[i].Root, "")
		all, errs = append(all, groups...), append(errs, wrong...)
	}
	if len(all) == 0 && len(errs) == 0 {
		errs.Add(document.Position{File: file}, "groups", "is empty; want groups of rules")
	}
	return all, errs.Err()
}

// decodeRules decodes a document, or an object in a list.
func decodeRules(file string, n *document.Node, path string) (all []*Group, errs document.Errors) {
	groups, at := n.Get("groups"), document.Join(path, "groups")
	if kind := n.Get("kind"); kind != nil {
		if items := n.Get("items"); items != nil {
			for i, item := range items.Items {
				more, wrong := decodeRules(file, item, document.Index(document.Join(path, "items"), i))
				all, errs = append(all, more...), append(errs, wrong...)
			}
			return all, errs
		}
		if kind.Text != "PrometheusRule" {
			errs.Add(document.Position{File: file, Line: kind.Line, Column: kind.Column}, document.Join(path, "kind"), "is %s; want PrometheusRule", document.Abridge(kind.Text))
			return nil, errs
		}
		groups, at = n.Get("spec").Get("groups"), document.Join(document.Join(path, "spec"), "groups")
	}
	if groups == nil {
		errs.Add(document.Position{File: file, Line: n.Line, Column: n.Column}, at, "is missing; want a file of rules of Prometheus, or an object PrometheusRule")
		return nil, errs
	}
	d := document.Decoder{File: file}
	d.Decode(groups, at, &all)
	for i, g := range all {
		if g == nil { // which is an error
			continue
		}
		if slices.ContainsFunc(all[:i], func(o *Group) bool { return o != nil && o.Name == g.Name }) {
			d.Fail(groups.Items[i], document.Index(at, i), "two groups are named %q; want different names", document.Abridge(g.Name))
		}
		for k, r := range g.Rules {
			if r == nil {
				continue
			}
			rule, ruleAt := groups.Items[i].Get("rules").Items[k], document.Index(document.Join(document.Index(at, i), "rules"), k)
			r.group, r.at = g, document.Position{File: file, Line: rule.Line, Column: rule.Column}
			switch {
			case r.Record == "" && r.Alert == "":
				d.Fail(rule, ruleAt, "has neither alert nor record; want one of them")
			case r.Record != "" && r.Alert != "":
				d.Fail(rule, ruleAt, "has both alert and record; want one of them")
			case r.Record != "" && !model.UTF8Validation.IsValidMetricName(r.Record):
				d.Fail(rule.Get("record"), document.Join(ruleAt, "record"), "%q is not the name of a series", document.Abridge(r.Record))
			case r.Record != "" && (r.For != 0 || r.KeepFiringFor != 0 || r.Annotations != nil):
				d.Fail(rule, ruleAt, "records a series; for, keep_firing_for and annotations are of alerts only")
			}
			expr := rule.Get("expr")
			if expr == nil || r.Expr == "" {
				continue
			}
			var err error
			if r.parsed, err = parser.ParseExpr(string(r.Expr)); err != nil {
				d.Fail(expr, document.Join(ruleAt, "expr"), "%v", err)
			}
		}
	}
	return all, append(errs, d.Errors...)
}
