package compare

import (
	"fmt"
	"regexp"
	"strings"

	"apfsim/document"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// Glob is a pattern of names of statistics: * matches any text, also the empty text, ? matches one
// character, and every other character matches itself.
type Glob struct {
	text    string
	pattern *regexp.Regexp
}

// ParseGlob parses a pattern such as wait{workload:*}.*. A pattern without * and ? is the name of a
// statistic, and is normalized.
func ParseGlob(text string) (Glob, error) {
	text = strings.TrimSpace(text)
	name := text
	switch {
	case text == "":
		return Glob{}, fmt.Errorf("is empty; use a name or a pattern of names, as 'wait{workload:*}.*'")
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

// matchesOne says whether one of the globs matches the name. Without globs it is true.
func matchesOne(only []Glob, name string) bool {
	for _, g := range only {
		if g.pattern.MatchString(name) {
			return true
		}
	}
	return len(only) == 0
}

// CheckGlobs returns an error that names the globs that match no statistic of the sides.
func CheckGlobs(only []Glob, sides ...*Replications) error {
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

func (g *Glob) matchesAny(sides []*Replications) bool {
	for _, r := range sides {
		for i := range r.Statistics {
			if g.pattern.MatchString(r.Statistics[i].Name) {
				return true
			}
		}
	}
	return false
}

// suggest returns a hint with the metric or, if the metric exists, the name that is spelt most similarly.
func (g *Glob) suggest(sides []*Replications) string {
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
		return result.Nearest(metricName, metrics)
	}
	if s := document.Suggest(g.text, names); s != "" {
		return s
	}
	return "; use a pattern such as 'wait{workload:*}.*', where * matches any text"
}
