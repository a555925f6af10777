package metric

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"apfsim/document"
)

// Name names one number that a run yields, in the words of thresholds: wait{workload:mice}.p(99).
type Name struct {
	Metric     string  // wait, rejected, fairness, ...
	Tags       []Tag   // what the metric is narrowed down to, in the order of the metric's tags
	Stat       string  // mean, min, max, p, count, rate, ...
	Percentile float64 // of the statistic p, from 0 to 100
	Unit       Unit
}

var (
	nameText = regexp.MustCompile(`^\s*([^{.\s]+\s*(?:\{.*\})?)\s*(?:\.\s*(.*?)\s*)?$`)
	statText = regexp.MustCompile(`^([A-Za-z]+)\s*(?:\(([^()]*)\))?$`)
)

// ParseName parses METRIC{TAG:VALUE,...}.STATISTIC. The statistic of a count may be left out, and
// so may that of a metric that has a single one. Spellings that mean the same number give the
// same name: avg is mean, p99 is p(99), p(50) is med, and rejections whose reason is time-out are
// timedOut. Whether a run has such a workload, level or flow is not checked.
func ParseName(text string) (Name, error) {
	parts := nameText.FindStringSubmatch(text)
	if parts == nil {
		return Name{}, fmt.Errorf("%q: want a statistic, as wait{workload:mice}.p(99)", document.Abridge(text))
	}
	metric, tags, err := parseMetric(parts[1])
	if err != nil {
		return Name{}, fmt.Errorf("%q: %w", document.Abridge(text), err)
	}
	n := Name{Metric: metric, Tags: tags}
	if Named(metric) == nil {
		return n, fmt.Errorf("%q: unknown metric %s%s", document.Abridge(text), metric, document.Hint(metric, names()))
	}
	if err := n.parseStatistic(parts[2]); err != nil {
		return n, fmt.Errorf("%q: %w", document.Abridge(text), err)
	}
	m, called := entryOf(metric, n.Stat)
	for _, t := range tags {
		if !slices.Contains(m.Tags, t.Name) {
			return n, fmt.Errorf("%q: %s has no tag %s%s", document.Abridge(text), called, t.Name, document.Hint(t.Name, m.Tags))
		}
	}
	if m.Required != "" && n.Tag(m.Required) == "" {
		return n, fmt.Errorf("%q: %s requires the tag %s, as in %s", document.Abridge(text), called, m.Required, m.requiredExample())
	}
	n.normalise(m)
	return n, nil
}

// Name returns the canonical name of the number that the threshold is about.
func (t *Threshold) Name() Name {
	n := Name{Metric: t.Metric, Tags: slices.Clone(t.Tags), Stat: t.Stat, Unit: t.Unit}
	if t.Stat == "p" {
		n.Percentile = t.Percentile
	}
	m, _ := entryOf(t.Metric, t.Stat)
	n.normalise(m)
	return n
}

// Equal says whether both are the same name. Names are canonical where they come from ParseName.
func (n *Name) Equal(other *Name) bool {
	return n.Metric == other.Metric && n.Stat == other.Stat && n.Percentile == other.Percentile && slices.Equal(n.Tags, other.Tags)
}

// Percent returns which percentile the number is, from 0 to 100, if it is one.
func (n *Name) Percent() (percent float64, ok bool) {
	switch n.Stat {
	case "med":
		return 50, true
	case "p":
		return n.Percentile, true
	}
	return 0, false
}

// Samples returns the name of the number of values that the number, a percentile, is computed from.
func (n *Name) Samples() Name {
	of := Name{Metric: n.Metric, Tags: slices.Clone(n.Tags), Stat: "count"}
	m, _ := entryOf(of.Metric, of.Stat)
	of.normalise(m)
	return of
}

// With returns the name with a tag in place of its tags.
func (n Name) With(tag, value string) Name {
	n.Tags = []Tag{{tag, value}}
	return n
}

// PrintPercent says whether tables print the number in percent.
func (n *Name) PrintPercent() bool {
	_, s := Find(n.Metric, n.Stat)
	return s != nil && s.PrintPercent
}

// Better is the direction in which a change of the number is an improvement.
func (n *Name) Better() Better {
	_, s := Find(n.Metric, n.Stat)
	if s == nil {
		return Neither
	}
	return s.Better
}

// Range returns the least and the greatest value that the number can have. No statistic is negative, and one that is a
// fraction is at most 1.
func (n *Name) Range() (least, most float64) {
	if _, s := Find(n.Metric, n.Stat); s != nil && s.Fraction {
		return 0, 1
	}
	return 0, math.Inf(1)
}

// Extreme says whether the number is a maximum or a minimum of single requests, which the length of a run decides. The
// longest stall is not one: it is a property of the window.
func (n *Name) Extreme() bool {
	return (n.Stat == "max" || n.Stat == "min") && n.Metric != "stall"
}

// MustParseName is ParseName for names in source code. It panics if the name is wrong.
func MustParseName(text string) Name {
	n, err := ParseName(text)
	if err != nil {
		panic(err)
	}
	return n
}

// parseStatistic parses the part after the dot.
func (n *Name) parseStatistic(text string) error {
	all := statisticNames(n.Metric)
	if text == "" {
		alone := Named(n.Metric).Statistics
		if alone[0].Name != "count" && len(alone) > 1 {
			return fmt.Errorf("want a dot and one of its statistics: %s", strings.Join(all, ", "))
		}
		text = alone[0].Name
	}
	text = shortPercent.ReplaceAllString(text, "${1}p($2)")
	parts := statText.FindStringSubmatch(text)
	if parts == nil {
		return fmt.Errorf("%q is not a statistic; want one of %s", document.Abridge(text), strings.Join(all, ", "))
	}
	_, s := Find(n.Metric, parts[1])
	if s == nil {
		return fmt.Errorf("%s has no statistic %s%s", n.Metric, parts[1], document.Hint(parts[1], all))
	}
	n.Stat, n.Unit = parts[1], s.Unit
	var err error
	n.Percentile, err = percentileOf(n.Stat, strings.Contains(text, "("), parts[2], text)
	return err
}

// normalise replaces the name by the canonical one of the same number.
func (n *Name) normalise(m *Metric) {
	switch {
	case n.alias() != "":
		n.Stat = n.alias()
	case n.Stat == "p" && n.Percentile == 0:
		n.Stat = "min"
	case n.Stat == "p" && n.Percentile == 50:
		n.Stat, n.Percentile = "med", 0
	case n.Stat == "p" && n.Percentile == 100:
		n.Stat, n.Percentile = "max", 0
	// Every executed request has an execution and a latency, every rejected one a wait until then.
	case n.Stat == "count" && (n.Metric == "execution" || n.Metric == "latency"):
		n.Metric = "executed"
	case n.Stat == "count" && n.Metric == "rejectedWait":
		n.Metric = "rejected"
	case n.Metric == "rejected" && n.Tag(TagReason) == TimedOutReason:
		n.Metric = "timedOut"
		n.Tags = slices.DeleteFunc(n.Tags, func(t Tag) bool { return t.Name == TagReason })
	}
	slices.SortFunc(n.Tags, func(a, b Tag) int {
		return cmp.Compare(slices.Index(m.Tags, a.Name), slices.Index(m.Tags, b.Name))
	})
}

// alias returns the statistic that the name's is another name of, "" if it is none.
func (n *Name) alias() string {
	_, s := Find(n.Metric, n.Stat)
	return s.Alias
}

// Tag returns the value of the named tag, "" when there is none.
func (n *Name) Tag(name string) string {
	for _, t := range n.Tags {
		if t.Name == name {
			return t.Value
		}
	}
	return ""
}

// String returns the name as ParseName reads it.
func (n Name) String() string {
	var b strings.Builder
	b.WriteString(n.Metric)
	for i, t := range n.Tags {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(t.Name + ":")
		if plain := strings.TrimSpace(t.Value); plain != t.Value || strings.ContainsAny(plain, ",\"") || !printable(plain) {
			b.WriteString(strconv.Quote(t.Value))
		} else {
			b.WriteString(t.Value)
		}
	}
	if len(n.Tags) > 0 {
		b.WriteByte('}')
	}
	b.WriteString("." + n.Stat)
	if n.Stat == "p" {
		b.WriteString("(" + strconv.FormatFloat(n.Percentile, 'f', -1, 64) + ")")
	}
	return b.String()
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) })
}
