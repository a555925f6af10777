package scenario

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"apfsim/document"
)

// Statistic names one number that a run yields, in the words of thresholds:
// wait{workload:mice}.p(99).
type Statistic struct {
	Metric     string  // wait, rejected, fairness, ...
	Tags       []Tag   // what the metric is narrowed down to, in the order of the metric's tags
	Stat       string  // mean, min, max, p, count, rate, ...
	Percentile float64 // of the statistic p
	Unit       Unit
}

var (
	statisticText = regexp.MustCompile(`^\s*([^{.\s]+\s*(?:\{.*\})?)\s*(?:\.\s*(.*?)\s*)?$`)
	statText      = regexp.MustCompile(`^([A-Za-z]+)\s*(?:\(([^()]*)\))?$`)
)

// ParseStatistic parses METRIC{TAG:VALUE,...}.STATISTIC. The statistic of a count may be
// left out, and so may that of a metric that has a single one. Spellings that mean the same
// number give the same value: avg is mean, p99 is p(99), p(50) is med, the time-outs among the
// rejections are timedOut. Whether a run has such a workload, level or flow is another matter.
func ParseStatistic(text string) (Statistic, error) {
	parts := statisticText.FindStringSubmatch(text)
	if parts == nil {
		return Statistic{}, fmt.Errorf("%q: want a statistic, as wait{workload:mice}.p(99)", document.Abridge(text))
	}
	name, tags, err := parseMetric(parts[1])
	if err != nil {
		return Statistic{}, fmt.Errorf("%q: %w", document.Abridge(text), err)
	}
	s := Statistic{Metric: name, Tags: tags}
	m := metrics[name]
	if m == nil {
		return s, fmt.Errorf("%q: unknown metric %s%s", document.Abridge(text), name, document.Hint(name, metricNames))
	}
	if err := s.parseStat(m, parts[2]); err != nil {
		return s, fmt.Errorf("%q: %w", document.Abridge(text), err)
	}
	m, called := metricOf(name, s.Stat)
	for _, t := range tags {
		if !slices.Contains(m.tags, t.Name) {
			return s, fmt.Errorf("%q: %s has no tag %s%s", document.Abridge(text), called, t.Name, document.Hint(t.Name, m.tags))
		}
	}
	if m.required != "" && s.Tag(m.required) == "" {
		return s, fmt.Errorf("%q: %s wants the tag %s, as %s{%s}", document.Abridge(text), called, m.required, name, m.requiredExample())
	}
	s.normalise(m)
	return s, nil
}

// parseStat parses the part behind the dot.
func (s *Statistic) parseStat(m *metric, text string) error {
	if text == "" {
		if _, counts := m.stat("count"); counts && m.stats[0].name == "count" || len(m.stats) == 1 {
			text = m.stats[0].name
		} else {
			return fmt.Errorf("want one of its statistics behind a dot: %s", strings.Join(m.statNames(), ", "))
		}
	}
	text = shortPercent.ReplaceAllString(text, "${1}p($2)")
	parts := statText.FindStringSubmatch(text)
	if parts == nil {
		return fmt.Errorf("%q is no statistic; want one of %s", document.Abridge(text), strings.Join(m.statNames(), ", "))
	}
	unit, ok := m.stat(parts[1])
	if !ok {
		return fmt.Errorf("%s has no statistic %s%s", s.Metric, parts[1], document.Hint(parts[1], m.statNames()))
	}
	s.Stat, s.Unit = parts[1], unit
	var err error
	s.Percentile, err = percentileOf(s.Stat, strings.Contains(text, "("), parts[2], text)
	return err
}

// normalise chooses one of the spellings of the same number.
func (s *Statistic) normalise(m *metric) {
	switch {
	case s.Stat == "avg":
		s.Stat = "mean"
	case s.Stat == "p" && s.Percentile == 0:
		s.Stat = "min"
	case s.Stat == "p" && s.Percentile == 50:
		s.Stat, s.Percentile = "med", 0
	case s.Stat == "p" && s.Percentile == 100:
		s.Stat, s.Percentile = "max", 0
	// Whatever was executed has an execution and a latency, whatever was rejected a wait until then.
	case s.Stat == "count" && (s.Metric == "execution" || s.Metric == "latency"):
		s.Metric = "executed"
	case s.Stat == "count" && s.Metric == "rejectedWait":
		s.Metric = "rejected"
	case s.Metric == "rejected" && s.Tag(tagReason) == "time-out":
		s.Metric = "timedOut"
		s.Tags = slices.DeleteFunc(s.Tags, func(t Tag) bool { return t.Name == tagReason })
	}
	slices.SortFunc(s.Tags, func(a, b Tag) int {
		return cmp.Compare(slices.Index(m.tags, a.Name), slices.Index(m.tags, b.Name))
	})
}

// Tag returns the value of the named tag, "" when there is none.
func (s *Statistic) Tag(name string) string {
	for _, t := range s.Tags {
		if t.Name == name {
			return t.Value
		}
	}
	return ""
}

// String returns the name as ParseStatistic reads it.
func (s Statistic) String() string {
	var b strings.Builder
	b.WriteString(s.Metric)
	for i, t := range s.Tags {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(t.Name + ":")
		if plain := strings.TrimSpace(t.Value); plain != t.Value || strings.ContainsAny(plain, ",\"") || !printable(plain) {
			b.WriteString(strconv.Quote(t.Value))
		} else {
			b.WriteString(t.Value)
		}
	}
	if len(s.Tags) > 0 {
		b.WriteByte('}')
	}
	b.WriteString("." + s.Stat)
	if s.Stat == "p" {
		b.WriteString("(" + strconv.FormatFloat(s.Percentile, 'f', -1, 64) + ")")
	}
	return b.String()
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) })
}
