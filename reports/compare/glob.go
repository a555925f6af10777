package compare

import (
	"fmt"
	"regexp"
	"strings"

	"apfsim/document"
	"apfsim/reports/replicate"
	"apfsim/reports/statistics"
	"apfsim/sim/metric"
)

// Glob is a pattern of names of statistics: * stands for any text, also none, ? for one character,
// and all else for itself.
type Glob struct {
	text    string
	pattern *regexp.Regexp
}

// ParseGlob reads a pattern such as wait{workload:*}.*. One without * and ? is the name of a
// statistic, however it is spelt.
func ParseGlob(text string) (Glob, error) {
	text = strings.TrimSpace(text)
	name := text
	switch {
	case text == "":
		return Glob{}, fmt.Errorf("is empty; want a name or a pattern of names, as 'wait{workload:*}.*'")
	case !strings.ContainsAny(text, "*?"):
		id, err := metric.ParseName(text)
		if err != nil {
			return Glob{}, err
		}
		name = id.String()
	}
	quoted := regexp.QuoteMeta(name)
	quoted = strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(quoted)
	return Glob{text, regexp.MustCompile("(?s)^" + quoted + "$")}, nil
}

// matchesOne says whether one of the globs matches the name, or whether there are none.
func matchesOne(only []Glob, name string) bool {
	for _, g := range only {
		if g.pattern.MatchString(name) {
			return true
		}
	}
	return len(only) == 0
}

// CheckGlobs says which of the globs match no statistic of either side.
func CheckGlobs(only []Glob, sides ...*replicate.Replications) error {
	var wrong []string
	for _, g := range only {
		if !g.matchesAny(sides) {
			wrong = append(wrong, fmt.Sprintf("%q matches no statistic of the runs%s", g.text, g.suggest(sides)))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(wrong, "\n"))
	}
	return nil
}

func (g *Glob) matchesAny(sides []*replicate.Replications) bool {
	for _, r := range sides {
		for i := range r.Statistics {
			if g.pattern.MatchString(r.Statistics[i].Name) {
				return true
			}
		}
	}
	return false
}

// suggest proposes the metric, or else the name, that is nearest.
func (g *Glob) suggest(sides []*replicate.Replications) string {
	metricName, _, _ := strings.Cut(g.text, "{")
	metricName, _, _ = strings.Cut(metricName, ".")
	var metrics, names []string
	known := map[string]bool{}
	for _, r := range sides {
		for i := range r.Statistics {
			name := r.Statistics[i].Name
			names = append(names, name)
			if m := r.Statistics[i].ID.Metric; !known[m] {
				known[m] = true
				metrics = append(metrics, m)
			}
		}
	}
	if !known[metricName] && !strings.ContainsAny(metricName, "*?") {
		return statistics.Nearest(metricName, metrics)
	}
	if s := document.Suggest(g.text, names); s != "" {
		return s
	}
	return "; want a pattern such as 'wait{workload:*}.*', where * stands for any text"
}
