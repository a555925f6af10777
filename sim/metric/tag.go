package metric

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"apfsim/document"
)

// Tag narrows a metric down to a part of the run.
type Tag struct{ Name, Value string }

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
	for remaining := strings.TrimSpace(m[2]); remaining != ""; {
		name, after, found := strings.Cut(remaining, ":")
		if !found {
			return "", nil, fmt.Errorf("tag %q has no value; want tag:value", document.Abridge(remaining))
		}
		name = strings.TrimSpace(name)
		if name == "" {
			return "", nil, fmt.Errorf("a tag has no name; want tag:value")
		}
		for _, t := range tags {
			if t.Name == name {
				return "", nil, fmt.Errorf("duplicate tag %s", name)
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
		remaining = strings.TrimSpace(next)
		if found && remaining == "" {
			return "", nil, fmt.Errorf("a tag is missing after the last comma")
		}
	}
	return m[1], tags, nil
}
