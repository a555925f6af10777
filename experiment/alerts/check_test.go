package alerts

import (
	"fmt"
	"strings"
	"testing"

	"apfsim/core/rules"
)

// What can never have a value is found, and nothing else is called dead. A case is a release, an expression, and a part of the reason;
// "" for an expression that can have a value.
func TestCheckExpressions(t *testing.T) {
	const f = "apiserver_flowcontrol_"
	for _, c := range []struct{ version, expression, dead string }{
		{"1.37", f + "request_concurrency_limit > 1", "is not in 1.37, only in 1.18 to 1.36, where it is hidden from 1.31 on unless --show-hidden-metrics-for-version; use " + f + "nominal_limit_seats"},
		{"1.36", f + "request_concurrency_limit > 1", "is hidden from 1.31 on unless --show-hidden-metrics-for-version; use " + f + "nominal_limit_seats"},
		{"1.31.0", f + "request_concurrency_limit > 1", "is hidden from 1.31 on"},
		{"1.30", f + "request_concurrency_limit > 1", ""},
		{"1.31", f + "request_concurrency_in_use > 1", ""},
		{"1.32", f + "request_concurrency_in_use > 1", "is hidden from 1.32 on"},
		{"1.27", "apiserver_request_slo_duration_seconds_count", ""},
		{"1.28", "apiserver_request_slo_duration_seconds_count", "hidden from 1.28 on unless --show-hidden-metrics-for-version; use apiserver_request_sli"},
		{"1.25", f + "nominal_limit_seats > 1", "is not in 1.25, only in 1.26 to"},
		{"1.37", f + "rejected_request_total > 1", `no release has ` + f + `rejected_request_total (did you mean "` + f + `rejected_requests_total"?)`},
		{"1.37", f + "request_wait_duration_seconds > 1", "is a histogram: its series are"},
		{"1.37", f + "request_wait_duration_seconds_bucket > 1", ""},
		{"1.37", `{__name__="` + f + `request_concurrency_in_use"} > 1`, "use " + f + "current_executing_seats"},
		{"1.37", f + `rejected_requests_total{priorityLevel="a"} > 1`, "has no label priorityLevel, but priority_level; it has priority_level, flow_schema, reason"},
		{"1.19", f + `rejected_requests_total{priorityLevel="a"} > 1`, ""},
		{"1.37", f + `rejected_requests_total{priorityLevel=""} > 1`, ""},
		{"1.37", f + `nominal_limit_seats{flow_schema="a"} > 1`, "has no label flow_schema"},
		{"1.37", f + `nominal_limit_seats{cluster="a"} > 1`, ""}, // Prometheus may add it
		{"1.37", f + `rejected_requests_total{reason="timeout"} > 1`, "is queue-full, concurrency-limit, time-out"},
		{"1.37", f + `rejected_requests_total{reason=~"time.*"} > 1`, ""},
		{"1.28", f + `rejected_requests_total{reason="cancelled"} > 1`, ""},
		{"1.29", f + `rejected_requests_total{reason="cancelled"} > 1`, "no server of 1.29"},
		{"1.37", f + `request_wait_duration_seconds_bucket{le="1"} > 1`, ""},
		{"1.37", f + `request_wait_duration_seconds_bucket{le="3"} > 1`, `has le="3"`},
		{"1.37", f + `priority_level_seat_utilization_sum{phase="waiting"} > 1`, "is executing"},
		{"1.37", "sum by (flow_schema) (" + f + "dispatched_requests_total) > min by (flow_schema, priority_level) (" + f + "nominal_limit_seats)", "joined by the label"},
		{"1.37", "sum by (priority_level) (" + f + "dispatched_requests_total) > on (priority_level) " + f + "nominal_limit_seats", ""},
		{"1.37", "sum(" + f + "dispatched_requests_total) / " + f + "nominal_limit_seats", "joined by the label instance"},
		{"1.37", f + "dispatched_requests_total / ignoring (flow_schema) group_left " + f + "nominal_limit_seats", ""},
		{"1.37", "histogram_quantile(0.9, sum by (priority_level) (rate(" + f + "request_wait_duration_seconds_bucket[5m]))) > 1", "have no label le"},
		{"1.37", f + "request_concurrency_limit > 1 or " + f + "nominal_limit_seats > 1", ""},
		{"1.37", f + "request_concurrency_limit and " + f + "nominal_limit_seats", "use " + f + "nominal_limit_seats"},
		{"1.37", f + "nominal_limit_seats unless " + f + "request_concurrency_limit", ""},
		{"1.37", "absent(" + f + "request_concurrency_limit)", ""}, // but it always fires: a note
		{"1.37", "max_over_time((sum(" + f + "request_concurrency_limit))[5m:]) > 3", "use "},
		{"1.37", "apiserver_request_slo_duration_seconds_count", "use apiserver_request_sli_duration_seconds"},
		{"1.37", `apiserver_current_inflight_requests{requestKind="mutating"}`, "has no label requestKind, but request_kind"},
		{"1.37", `apiserver_request_total{resource="pods"}`, ""},
		{"1.37", `up == 0 or some_other_program == 1 or vector(1) > 2`, ""},
		{"1.23", f + `priority_level_request_count_samples_bucket{phase="waiting"}`, ""},
		{"1.25", f + "priority_level_request_count_watermarks_sum", "only in 1.19 to 1.24"},
		{"1.23", f + `priority_level_seat_count_watermarks_sum{mark="low"}`, ""},
		{"1.23", f + `priority_level_seat_count_watermarks_sum{phase="waiting"}`, "is executing"},
		{"1.23", f + "priority_level_samples_sum", "no release has"},
		{"1.37", `label_replace(` + f + `nominal_limit_seats, "flow_schema", "$1", "priority_level", "(.*)") * on (flow_schema) group_right ` + f + `dispatched_requests_total`, ""},
	} {
		groups, err := ParseRules("r.yaml", fmt.Appendf(nil, "groups: [{name: g, rules: [{alert: A, expr: %q}]}]", c.expression))
		if err != nil {
			t.Fatal(err)
		}
		r, err := rules.For(c.version)
		if err != nil {
			t.Fatal(err)
		}
		var dead []string
		for _, finding := range Check(groups, r).Findings {
			if finding.Dead {
				dead = append(dead, finding.Why)
			}
		}
		if text := strings.Join(dead, "; "); (text == "") != (c.dead == "") || !strings.Contains(text, c.dead) {
			t.Errorf("%s: %s: got %q, want %q", c.version, c.expression, text, c.dead)
		}
	}
}

// A dead recorded series makes those dead that use it, in the order of the file.
func TestCheckFollowsRecordedSeries(t *testing.T) {
	groups, err := ParseRules("r.yaml", []byte(`
groups:
- name: g
  rules:
  - {record: limit, expr: sum by (priority_level) (apiserver_flowcontrol_request_concurrency_limit)}
  - {alert: A, expr: limit < 5}
  - {alert: B, expr: absent(limit)}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range Check(groups, rules.Default()).Findings {
		got = append(got, fmt.Sprintf("%s %s %v", f.At, f.Name, f.Dead))
	}
	if text := strings.Join(got, ", "); text != "r.yaml:5:5 limit true, r.yaml:6:5 A true, r.yaml:7:5 B false" {
		t.Errorf("got %s", text)
	}
}
