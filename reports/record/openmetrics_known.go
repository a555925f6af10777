package record

import (
	"slices"
	"strings"

	"apfsim/core/rules"

	dto "github.com/prometheus/client_model/go"
)

// KnownSeries is a metric that the servers of a release report, whether a run records it or not.
type KnownSeries struct {
	Name      string // without _bucket, _sum and _count
	Histogram bool
	Labels    []string
	Values    map[string][]string // of the labels whose values are all known

	// Hidden is since which release servers report it only with --show-hidden-metrics-for-version; "" if this one does without.
	Hidden string
}

// KnownSeriesOf returns the metrics of flow control of a release, and those of requests.
func KnownSeriesOf(r *rules.Rules) (all []KnownSeries) {
	add := func(f *family, hidden string) {
		known := KnownSeries{Hidden: hidden, Name: f.name, Histogram: f.kind == dto.MetricType_HISTOGRAM, Labels: slices.Clone(f.labels), Values: map[string][]string{}}
		for _, label := range f.labels {
			if values := labelValues(r, f, label); values != nil {
				known.Values[label] = values
			}
		}
		if known.Histogram {
			known.Labels, known.Values["le"] = append(known.Labels, "le"), []string{"+Inf"}
			for _, b := range f.buckets {
				known.Values["le"] = append(known.Values["le"], bound(b), strings.TrimSuffix(bound(b), ".0")) // the latter up to Prometheus 2
			}
			if f.buckets == nil { // not recorded, and not known
				delete(known.Values, "le")
			}
		}
		all = append(all, known)
	}
	families := newFamilies(r)
	for _, f := range families.all {
		add(f, "")
	}
	for _, f := range families.deprecated {
		add(f, metricLifetimes[strings.TrimPrefix(f.name, "apiserver_flowcontrol_")].hidden)
	}
	kind := "request_kind"
	if r.Within("", "1.19") {
		kind = "requestKind"
	}
	add(&family{name: "apiserver_current_inflight_requests", kind: dto.MetricType_GAUGE, labels: []string{kind}}, "")
	const sampled = "apiserver_flowcontrol_"
	level := families.nominalLimit.labels[0]
	request := []string{"verb", "group", "version", "resource", "subresource", "scope", "component"}
	for _, unrecorded := range []struct {
		name, since, until, hidden string
		labels                     []string
	}{
		{"apiserver_request_duration_seconds", "", "", "", append([]string{"dry_run"}, request...)},
		{"apiserver_request_slo_duration_seconds", "1.23", "1.37", "1.28", request},
		{"apiserver_request_sli_duration_seconds", "1.26", "", "", request},
		{sampled + "priority_level_seat_count_samples", "1.23", "1.25", "", []string{"phase", level}},
		{sampled + "priority_level_seat_count_watermarks", "1.23", "1.25", "", []string{"mark", "phase", level}},
		{sampled + "priority_level_request_count_samples", "1.19", "1.25", "", []string{"phase", level}},
		{sampled + "priority_level_request_count_watermarks", "1.19", "1.25", "", []string{"mark", "phase", level}},
		{sampled + "read_vs_write_request_count_samples", "1.19", "1.25", "", []string{"phase", "request_kind"}},
		{sampled + "read_vs_write_request_count_watermarks", "1.19", "1.25", "", []string{"mark", "phase", "request_kind"}},
	} {
		if r.Within(unrecorded.since, unrecorded.until) {
			hidden := unrecorded.hidden
			if hidden != "" && !r.Within(hidden, "") {
				hidden = ""
			}
			add(&family{name: unrecorded.name, kind: dto.MetricType_HISTOGRAM, labels: unrecorded.labels}, hidden)
		}
	}
	return all
}

// labelValues returns all values that a label of a metric can have, nil if they are not known.
func labelValues(r *rules.Rules, f *family, label string) []string {
	switch label {
	case "reason":
		reasons := []string{"queue-full", "concurrency-limit", "time-out"}
		if r.Within("1.23", "1.29") {
			reasons = append(reasons, "cancelled")
		}
		return reasons
	case "execute", "success":
		return []string{"true", "false"}
	case "type":
		return []string{"regular", "watch"}
	case "phase":
		if strings.HasPrefix(f.name, "apiserver_flowcontrol_priority_level_seat_") {
			return []string{"executing"}
		}
		return []string{"waiting", "executing"}
	case "mark":
		return []string{"low", "high"}
	case "bound":
		return []string{"min", "max"}
	case "request_kind", "requestKind":
		return []string{"mutating", "readOnly"}
	}
	return nil
}

// Successors are what has taken the place of series and labels that some release no longer has, or had before.
var Successors = map[string]string{
	"apiserver_flowcontrol_request_concurrency_limit":  "apiserver_flowcontrol_nominal_limit_seats",
	"apiserver_flowcontrol_request_concurrency_in_use": "apiserver_flowcontrol_current_executing_seats",
	"apiserver_request_slo_duration_seconds":           "apiserver_request_sli_duration_seconds",
	"priorityLevel":                                    "priority_level",
	"flowSchema":                                       "flow_schema",
	"requestKind":                                      "request_kind",
}
