package metric

import "strings"

// Reference returns the tables of metrics and of tags for the reference documentation, in Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString("| Metric | What it measures | Statistics | Tags |\n|---|---|---|---|\n")
	for i := range registry {
		m := &registry[i]
		row(&b, "`"+m.Name+"`", m.Help, m.statistics(), m.tags())
	}
	b.WriteString("\n| Tag | Meaning | Values |\n|---|---|---|\n")
	for i := range keys {
		k := &keys[i]
		values := "such as `" + k.Example + "`"
		if k.Values != nil {
			values = "`" + strings.Join(k.Values, "`, `") + "`"
		}
		row(&b, "`"+k.Name+"`", k.Help, values)
	}
	return b.String()
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
