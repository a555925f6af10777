package metric

import (
	"slices"
	"strings"
)

// StatisticsReference returns the table of statistics for the reference documentation, in
// Markdown. The statistics of a duration, which differ in what they take of it, have one row.
func StatisticsReference() string {
	var b strings.Builder
	b.WriteString("| Statistic | Unit | Improves when it gets | Meaning |\n|---|---|---|---|\n")
	for i := range registry {
		m := &registry[i]
		row := func(name string, s *Statistic, text string) {
			row(&b, "`"+m.Name+"."+name+"`", string(s.Unit), string(s.Better), text)
		}
		isDuration := slices.ContainsFunc(m.Statistics, func(s Statistic) bool { return s.Name == "med" })
		for j := range m.Statistics {
			s := &m.Statistics[j]
			switch {
			case s.Alias != "":
			case !isDuration || s.Name == "count":
				row(s.printed(), s, s.Text())
			case s.Name == "mean":
				measured := strings.TrimSuffix(strings.TrimPrefix(s.Text(), "Mean "), ".")
				row("mean`, `min`, `med`, `max`, `p(N)", s, strings.ToUpper(measured[:1])+measured[1:]+": mean, shortest, median, longest, N-th percentile.")
			}
		}
	}
	return b.String()
}

// restrictions says where thresholds may not use the metric.
func (m *Metric) restrictions() string {
	var limits []string
	if m.WholeRun {
		limits = append(limits, "not with `over`")
	}
	if m.FlowControl {
		limits = append(limits, "only with PriorityAndFairness")
	}
	return strings.Join(limits, ", ")
}

// Reference returns the tables of metrics and of tags for the reference documentation, in Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString("| Metric | What it measures | Statistics | Tags | Restrictions |\n|---|---|---|---|---|\n")
	for i := range registry {
		m := &registry[i]
		row(&b, "`"+m.Name+"`", m.Help, m.statistics(), m.tags(), m.restrictions())
	}
	b.WriteString("\n| Tag | Meaning | Values |\n|---|---|---|\n")
	for i := range keys {
		k := &keys[i]
		values := "such as `" + k.Example + "`"
		if k.Name == TagReason {
			values = reasonsReference()
		}
		row(&b, "`"+k.Name+"`", k.Help, values)
	}
	return b.String()
}

// reasonsReference lists the values of the tag reason.
func reasonsReference() string {
	var all []string
	for i := range registry {
		if m := &registry[i]; m.Reasons != nil {
			names := "`" + strings.Join(m.reasonNames(), "`, `") + "`"
			if len(all) > 0 { // the first are those of rejected
				names = "of `" + m.Name + "`: " + names
			}
			all = append(all, names)
		}
	}
	return strings.Join(all, "; ")
}

func row(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// statistics lists the statistics of the metric, those of the same unit together.
func (m *Metric) statistics() string {
	var groups []string
	for from := 0; from < len(m.Statistics); {
		var names []string
		to := from
		for ; to < len(m.Statistics) && m.Statistics[to].measure() == m.Statistics[from].measure(); to++ {
			names = append(names, "`"+m.Statistics[to].printed()+"`")
		}
		groups = append(groups, strings.Join(names, ", ")+": "+m.Statistics[from].measure())
		from = to
	}
	return strings.Join(groups, "; ")
}

// measure says what kind of value the statistic has.
func (s *Statistic) measure() string {
	switch {
	case s.Unit == Nanoseconds:
		return "duration"
	case s.Fraction:
		return "fraction from 0 to 1"
	case s.Unit == NoUnit:
		return "number"
	}
	if s.Unit == RequestsPerSecond {
		return "requests per second"
	}
	return "number of " + string(s.Unit)
}

// tags lists the tags that the metric takes.
func (m *Metric) tags() string {
	text := strings.Join(m.Tags, ", ")
	if m.Required != "" {
		text += " (required)"
	}
	return text
}
