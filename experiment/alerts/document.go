package alerts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"apfsim/core/rules"
	"apfsim/reports/format"
	"apfsim/reports/record"
	"apfsim/reports/report"
)

// IsLabel reports whether a name is one of a label that rules can name.
func IsLabel(name string) bool {
	return model.LegacyValidation.IsValidLabelName(name) && name != model.MetricNameLabel
}

// IsOwnLabel reports whether servers of some release give a label to their series, or Prometheus one that tells servers apart.
func IsOwnLabel(name string) bool {
	for _, version := range rules.Versions() {
		r, err := rules.For(version)
		if err != nil {
			panic(err)
		}
		for _, s := range record.KnownSeriesOf(r) {
			if slices.Contains(s.Labels, name) {
				return true
			}
		}
	}
	return name == model.InstanceLabel
}

// answer is what the command prints as JSON.
type answer struct {
	Rules     []ruleJSON `json:"rules"`
	Scenarios []*Result  `json:"scenarios"`
}

type ruleJSON struct {
	Alert string `json:"alert"`
	Group string `json:"group"`
	Rule  string `json:"rule"` // its file and line
	ForNs int64  `json:"forNs"`
}

// Document returns the results as tables, one for each scenario.
func Document(groups []*Group, all []*Result) *report.Document {
	data := &answer{Rules: []ruleJSON{}, Scenarios: all}
	var rules []*Rule
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Alert != "" {
				rules = append(rules, r)
				data.Rules = append(data.Rules, ruleJSON{r.Alert, g.Name, place(r), int64(r.For)})
			}
		}
	}
	d := &report.Document{Title: "Alerts", Data: data}
	for _, of := range all {
		t := report.TextTable(of.Scenario, "alert", "state", "pending at", "fires at", "after", "fires for", "series")
		t.Caption = "Which alerts fire"
		for _, s := range of.Summaries(rules) {
			t.AddTexts(s.row()...)
		}
		title := fmt.Sprintf("%s (%s)", of.Scenario, format.Duration(float64(of.DurationNs)))
		t.Title = title
		parts := []report.Part{{Table: t, Note: of.note()}}
		d.Sections = append(d.Sections, report.Section{Name: of.Scenario, Title: title, Parts: parts})
	}
	return d
}

func place(r *Rule) string { return fmt.Sprintf("%s:%d", r.at.File, r.at.Line) }

// note says what happened, and since when.
func (of *Result) note() string {
	text := fmt.Sprintf("Status of the run: %s. %s", of.Status, of.Sentence)
	if of.BeginNs != nil {
		text += fmt.Sprintf(" Requests are harmed from %s on; the column after is since then.", seconds(*of.BeginNs))
	}
	for _, f := range of.Failures {
		text += fmt.Sprintf(" %s (%s) failed at %s, first at %s: %s.", f.Name, f.Rule, format.Counted(f.Times, "evaluation"), seconds(f.FirstNs), f.Error)
	}
	return text
}

// Summary is what an alert did in a run, over all its labels. Times are of the run, in nanoseconds.
type Summary struct {
	Rule      *Rule
	PendingNs *int64 // when it first became pending; null if it did not
	FiresNs   *int64 // when it first fired; null if it did not
	AfterNs   *int64 // from the beginning of the harm until it fired; null if one of them is not known
	LengthNs  int64  // how long at least one of its series fired
	Fired     int    // how many of its series fired
	Pending   int    // how many of its series were pending or fired
	Open      bool   // whether it fires at the end
	Failed    bool   // whether it could not be evaluated at some time
}

// Summaries returns what each of the alerts did.
func (of *Result) Summaries(rules []*Rule) (all []*Summary) {
	for _, r := range rules {
		s := &Summary{Rule: r, Failed: slices.ContainsFunc(of.Failures, func(f *Failure) bool { return f.rule == r })}
		var fired [][2]int64
		seen, firing := map[string]bool{}, map[string]bool{}
		for _, a := range of.Alerts {
			if a.rule != r {
				continue
			}
			key := a.of.String()
			if s.PendingNs == nil || a.PendingNs < *s.PendingNs {
				s.PendingNs = &a.PendingNs
			}
			seen[key] = true
			if a.FiresNs == nil {
				continue
			}
			firing[key] = true
			if s.FiresNs == nil || *a.FiresNs < *s.FiresNs {
				s.FiresNs = a.FiresNs
			}
			end := of.DurationNs
			if a.EndNs != nil {
				end = *a.EndNs
			} else {
				s.Open = true
			}
			fired = append(fired, [2]int64{*a.FiresNs, end})
		}
		s.Pending, s.Fired, s.LengthNs = len(seen), len(firing), union(fired)
		if s.FiresNs != nil && of.BeginNs != nil && *s.FiresNs >= *of.BeginNs {
			after := *s.FiresNs - *of.BeginNs
			s.AfterNs = &after
		}
		all = append(all, s)
	}
	return all
}

// union returns how long at least one of some intervals is.
func union(all [][2]int64) (length int64) {
	slices.SortFunc(all, func(a, b [2]int64) int { return int(min(max(a[0]-b[0], -1), 1)) })
	reached := int64(0)
	for _, one := range all {
		if from := max(one[0], reached); one[1] > from {
			length, reached = length+one[1]-from, one[1]
		}
	}
	return length
}

func (s *Summary) row() (row []string) {
	row = []string{s.Rule.Alert, "–", "–", "–", "–", "–", "–"}
	defer func() {
		if s.Failed {
			row[1] = "error"
		}
	}()
	if s.PendingNs == nil {
		return row
	}
	row[1], row[2], row[6] = "pending", seconds(*s.PendingNs), fmt.Sprint(s.Pending)
	if s.FiresNs == nil {
		return row
	}
	row[1], row[3], row[5], row[6] = "fires", seconds(*s.FiresNs), seconds(s.LengthNs), fmt.Sprint(s.Fired)
	if s.Open {
		row[5] += ", until the end"
	}
	if s.AfterNs != nil {
		row[4] = seconds(*s.AfterNs)
	}
	return row
}

// seconds writes a time of the run such as 6m30s.
func seconds(ns int64) string {
	text := time.Duration(ns).Round(time.Millisecond).String()
	text = strings.TrimSuffix(text, "m0s")
	if text != time.Duration(ns).Round(time.Millisecond).String() {
		text += "m"
	}
	if hours, found := strings.CutSuffix(text, "h0m"); found {
		text = hours + "h"
	}
	return text
}

// Dead reports whether a rule can never fire, or record anything.
func (c *Checked) Dead() bool {
	return slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Dead })
}

// Document returns the findings as a list.
func (c *Checked) Document() *report.Document {
	d := &report.Document{Title: "Alerts", Data: c}
	part := report.Part{Paragraph: fmt.Sprintf("%s, Kubernetes %s: all can have a value.", format.Counted(c.Rules, "rule"), c.Version)}
	if len(c.Findings) > 0 {
		part = report.Part{Heading: fmt.Sprintf("%s, Kubernetes %s", format.Counted(c.Rules, "rule"), c.Version)}
		for _, f := range c.Findings {
			what := "note"
			switch {
			case f.Dead && f.Alert:
				what = "never fires"
			case f.Dead:
				what = "never records"
			}
			part.List = append(part.List, fmt.Sprintf("%s: %s: %s: %s (in %s)", f.At, f.Name, what, f.Why, f.Part))
		}
	}
	parts := []report.Part{part}
	var server, others []string
	for _, name := range c.Unknown {
		if strings.HasPrefix(name, "apiserver_") {
			server = append(server, name)
		} else {
			others = append(others, name)
		}
	}
	for _, unchecked := range []struct {
		why   string
		names []string
	}{{"they are not known here", server}, {"other programs report them", others}} {
		if len(unchecked.names) > 0 {
			parts = append(parts, report.Part{Paragraph: "Not checked, because " + unchecked.why + ": " + strings.Join(unchecked.names, ", ") + "."})
		}
	}
	d.Sections = append(d.Sections, report.Section{Name: "findings", Title: "Findings", Parts: parts})
	return d
}
