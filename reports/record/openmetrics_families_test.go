package record

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/core/rules"
)

// What each release added (+), removed (-) and changed (~), with labels and buckets, as in its
// util/flowcontrol/metrics, and as it hides them by default. The samples and watermarks of 1.19 to 1.24 are missing on purpose.
const metricHistory = `
1.18 + rejected_requests_total priorityLevel,flowSchema,reason
1.18 + dispatched_requests_total priorityLevel,flowSchema
1.18 + current_inqueue_requests priorityLevel,flowSchema
1.18 + current_executing_requests priorityLevel,flowSchema
1.18 + request_concurrency_limit priorityLevel
1.18 + request_wait_duration_seconds priorityLevel,flowSchema,execute [0 0.005 0.02 0.05 0.1 0.2 0.5 1 2 5 10 30]
1.18 + request_execution_seconds priorityLevel,flowSchema [0 0.005 0.02 0.05 0.1 0.2 0.5 1 2 5 10 30]
1.18 + request_queue_length_after_enqueue priorityLevel,flowSchema [0 10 25 50 100 250 500 1000]
1.20 ~ rejected_requests_total priority_level,flow_schema,reason
1.20 ~ dispatched_requests_total priority_level,flow_schema
1.20 ~ current_inqueue_requests priority_level,flow_schema
1.20 ~ current_executing_requests priority_level,flow_schema
1.20 ~ request_concurrency_limit priority_level
1.20 ~ request_wait_duration_seconds priority_level,flow_schema,execute [0 0.005 0.02 0.05 0.1 0.2 0.5 1 2 5 10 30]
1.20 ~ request_execution_seconds priority_level,flow_schema [0 0.005 0.02 0.05 0.1 0.2 0.5 1 2 5 10 30]
1.20 ~ request_queue_length_after_enqueue priority_level,flow_schema [0 10 25 50 100 250 500 1000]
1.22 + request_concurrency_in_use priority_level,flow_schema
1.22 + current_r priority_level
1.22 + dispatch_r priority_level
1.22 + latest_s priority_level
1.22 + next_s_bounds priority_level,bound
1.22 + next_discounted_s_bounds priority_level,bound
1.23 + epoch_advance_total priority_level,success
1.23 + watch_count_samples priority_level,flow_schema [0 1 10 100 1000 10000]
1.24 + request_dispatch_no_accommodation_total priority_level,flow_schema
1.24 ~ request_execution_seconds priority_level,flow_schema,type [0 0.005 0.02 0.05 0.1 0.2 0.5 1 2 5 10 30]
1.24 + work_estimated_seats priority_level,flow_schema [1 2 4 10]
1.25 + priority_level_seat_utilization priority_level,phase [0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 0.95 0.99 1]
1.25 + priority_level_request_utilization phase,priority_level [0 0.001 0.003 0.01 0.03 0.1 0.25 0.5 0.75 1]
1.25 + read_vs_write_current_requests phase,request_kind [0 0.001 0.01 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 0.95 0.99 1]
1.26 + nominal_limit_seats priority_level
1.26 + lower_limit_seats priority_level
1.26 + upper_limit_seats priority_level
1.26 + current_limit_seats priority_level
1.26 + demand_seats_high_watermark priority_level
1.26 + demand_seats_average priority_level
1.26 + demand_seats_stdev priority_level
1.26 + demand_seats_smoothed priority_level
1.26 + target_seats priority_level
1.26 + seat_fair_frac
1.26 + demand_seats priority_level [0.2 0.4 0.6 0.8 1 1.2 1.4 1.7 2 2.8 4 6]
1.28 + current_inqueue_seats priority_level,flow_schema
1.28 + current_executing_seats priority_level,flow_schema
1.28 ~ request_wait_duration_seconds priority_level,flow_schema,execute [0 0.005 0.02 0.05 0.1 0.2 0.5 1 2 5 10 15 30]
1.28 ~ request_execution_seconds priority_level,flow_schema,type [0 0.005 0.02 0.05 0.1 0.2 0.5 1 2 5 10 15 30]
1.34 ~ work_estimated_seats priority_level,flow_schema [1 2 4 8 16 32 64 100]
1.31 - request_concurrency_limit
1.32 - request_concurrency_in_use`

func TestMetricsOfEachRelease(t *testing.T) {
	var got []string
	var before []string
	describe := map[string]string{}
	for _, version := range rules.Versions() {
		r, err := rules.For(version)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range newFamilies(r).all {
			name, isFlowControl := strings.CutPrefix(f.name, "apiserver_flowcontrol_")
			if !isFlowControl {
				continue
			}
			names = append(names, name)
			text := strings.TrimSpace(name + " " + strings.Join(f.labels, ","))
			if f.buckets != nil {
				text += " " + fmt.Sprint(f.buckets)
			}
			switch was, known := describe[name]; {
			case !known:
				got = append(got, version+" + "+text)
			case was != text:
				got = append(got, version+" ~ "+text)
			}
			describe[name] = text
		}
		for _, name := range before {
			if !slices.Contains(names, name) {
				got = append(got, version+" - "+name)
			}
		}
		before = names
	}
	want := strings.Split(strings.TrimSpace(metricHistory), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the metrics differ:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The seats of waiting requests came with a patch release.
func TestMetricsOfPatchReleases(t *testing.T) {
	for version, want := range map[string]bool{"1.28.4": false, "1.28.5": true} {
		r, err := rules.For(version)
		if err != nil {
			t.Fatal(err)
		}
		f := newFamilies(r)
		if got := slices.Contains(f.all, f.inQueueSeats); got != want {
			t.Errorf("%s has current_inqueue_seats: %v", version, got)
		}
	}
}
