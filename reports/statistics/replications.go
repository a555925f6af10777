package statistics

import (
	"apfsim/sim/metric"
)

// Named returns the name of a statistic of one group.
func Named(s metric.Name, tagName, value string) string {
	s.Tags = Tag(tagName, value)
	return s.String()
}

// IDOf takes the name of a statistic apart.
func IDOf(name string) metric.Name {
	id, err := metric.ParseName(name)
	if err != nil {
		panic("reports: " + err.Error()) // names are checked where they come from
	}
	return id
}

// IsShare says whether the statistic is read as a percentage.
func IsShare(id metric.Name) bool {
	return id.Stat == "rate" && id.Metric != "retries" || id.Metric == "utilisation" && id.Stat != "peak"
}
