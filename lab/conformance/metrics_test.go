package conformance

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/lab/conformance/generate"
	"apfsim/lab/conformance/ours"
	"apfsim/lab/conformance/trial"
	"apfsim/lab/conformance/upstream"
	"apfsim/sim/scenario"
)

const prefix = "apiserver_flowcontrol_"

// target is the series in which upstream shows the target of another level, whichever its
// map of levels brings first.
const target = prefix + `target_seats{priority_level="exempt"}`

func family(series string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(series, prefix), "{")
	return name
}

// overTime says that a series is part of a histogram over time. At upstream it begins with the
// level, before the server does.
func overTime(series string) bool {
	switch family(series) {
	case "demand_seats_bucket", "demand_seats_sum", "demand_seats_count":
		return true
	}
	return strings.HasPrefix(family(series), "priority_level_")
}

// compared returns the series of a sample that can be compared. Upstream makes the gauges of
// read_vs_write_current_requests once for a process, and the first trial has used them up.
func compared(all upstream.Series) upstream.Series {
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(series string, _ float64) bool {
		return !strings.HasPrefix(series, prefix) || series == target || strings.HasPrefix(family(series), "read_vs_write_")
	})
	return some
}

// sample sets the moments to look at a trial: about so many until its last request arrives, a
// whole number of milliseconds apart. It returns how far.
func sample(tr *trial.Trial, moments int64) (intervalNs int64) {
	endNs := tr.Requests[len(tr.Requests)-1].ArrivalNs
	ms := max(1, endNs/millisecond/moments)
	for ms%2 == 0 || ms%5 == 0 { // lest one be that of an adjustment
		ms++
	}
	tr.SamplesNs = nil
	for at := ms; at <= endNs/millisecond; at += ms {
		tr.SamplesNs = append(tr.SamplesNs, at*millisecond)
	}
	return ms * millisecond
}

// compareMetrics compares all metrics at all samples of a trial, and counts by family the
// values other than 0. It returns false if upstream does now this and now that.
func compareMetrics(t *testing.T, tr *trial.Trial, intervalNs int64, count map[string]int) bool {
	t.Helper()
	mine, err := ours.Metrics(tr, intervalNs)
	if err != nil {
		t.Fatal(err)
	}
	theirs := upstream.Metrics(t, tr)
	for i, atNs := range tr.SamplesNs {
		if !maps.Equal(limits(mine[atNs/millisecond]), limits(theirs[i])) && hesitates(t, tr, limits(theirs[i]), i) {
			return false
		}
	}
	first := [2]upstream.Series{mine[tr.SamplesNs[0]/millisecond], theirs[0]}
	for i, atNs := range tr.SamplesNs {
		got, want := compared(mine[atNs/millisecond]), compared(theirs[i])
		if len(want) == 0 {
			t.Fatalf("%s, at %d ns: nothing to compare", tr.Name, atNs)
		}
		for series := range got {
			if _, ok := want[series]; !ok {
				t.Errorf("%s, at %d ns: only ours has %s", tr.Name, atNs, series)
			}
		}
		for series, value := range want {
			have, ok := got[series]
			if len(tr.Changes) > 0 && atNs > tr.Changes[0].AtNs && !afterChanges(series) {
				continue
			}
			if overTime(series) {
				have, value = have-first[0][series], value-first[1][series]
			}
			if !ok || !(math.Abs(have-value) <= 1e-9*max(1, math.Abs(value))) { // as is so of NaN
				t.Errorf("%s, at %d ns: %s: ours %v (is there: %v), upstream's %v", tr.Name, atNs, series, have, ok, value)
			}
			if value != 0 {
				count[family(series)]++
			}
		}
		isOthers := func(sample upstream.Series) bool {
			for series, value := range sample {
				if family(series) == "target_seats" && series != target && value == sample[target] {
					return true
				}
			}
			return false
		}
		if !isOthers(mine[atNs/millisecond]) || !isOthers(theirs[i]) {
			t.Errorf("%s, at %d ns: the target of the exempt level is %v, upstream's %v: no other level's",
				tr.Name, atNs, mine[atNs/millisecond][target], theirs[i][target])
		}
		if t.Failed() {
			break
		}
	}
	return true
}

// afterChanges says whether a series can be compared when the configuration has changed. Of
// attempts to dispatch there is one more whenever upstream digests it, which it does as often
// as it likes.
func afterChanges(series string) bool {
	return family(series) != "request_dispatch_no_accommodation_total"
}

func limits(all upstream.Series) upstream.Series {
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(series string, _ float64) bool { return family(series) != "current_limit_seats" })
	return some
}

// hesitates says whether upstream comes to other limits at a sample when it runs again: it
// adds up in the order of a map, and rounds the sum.
func hesitates(t *testing.T, tr *trial.Trial, once upstream.Series, sample int) bool {
	for range 30 {
		if again := limits(upstream.Metrics(t, tr)[sample]); !maps.Equal(once, again) {
			return true
		}
	}
	return false
}

// The metrics of generated trials are those of upstream.
func TestMetrics(t *testing.T) {
	random := rand.New(rand.NewPCG(*seed, 7))
	count := map[string]int{}
	const rare = "request_dispatch_no_accommodation_total"
	for trials := 0; trials < 12 || trials < 60 && count[rare] == 0; {
		tr := generate.Trial(random.Uint64(), 1000)
		tr.HangUps = nil // the metrics are those of a replayed trace, which has none
		intervalNs := sample(tr, 60)
		if !settle(tr, rules.Default()) {
			continue
		}
		if compareMetrics(t, tr, intervalNs, count) {
			trials++
		} else {
			t.Logf("%s is left out: upstream comes to various limits", tr.Name)
		}
		if t.Failed() {
			return
		}
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%8d values of %s", count[name], name)
	}
	for _, name := range []string{
		"rejected_requests_total", "dispatched_requests_total", rare,
		"current_inqueue_requests", "current_inqueue_seats", "current_executing_requests", "current_executing_seats",
		"nominal_limit_seats", "lower_limit_seats", "upper_limit_seats", "current_limit_seats",
		"demand_seats_high_watermark", "demand_seats_average", "demand_seats_stdev", "demand_seats_smoothed", "target_seats",
		"seat_fair_frac", "current_r", "dispatch_r", "latest_s", "next_s_bounds", "next_discounted_s_bounds",
		"request_wait_duration_seconds_bucket", "request_execution_seconds_bucket", "request_queue_length_after_enqueue_bucket",
		"work_estimated_seats_bucket", "watch_count_samples_bucket", "watch_count_samples_sum",
		"priority_level_seat_utilization_bucket", "priority_level_request_utilization_bucket", "demand_seats_bucket",
	} {
		if count[name] == 0 {
			t.Errorf("there was nothing to compare of %s", name)
		}
	}
}

// Lists that take a million seats for 42 hours bring R past its high mark, and it is wound back.
func TestMetricsOfAnEpoch(t *testing.T) {
	tr := server(level(config.LimitedSpec{NominalConcurrencyShares: number(95), BorrowingLimitPercent: number(0),
		LimitResponse: config.LimitResponse{Type: config.ResponseQueue, Queuing: &config.Queuing{Queues: 1, HandSize: 1, QueueLengthLimit: 50}}}))
	tr.Name = "epoch"
	tr.MaxRequestsInflight = 1_100_000
	tr.Resources = []scenario.Resource{{Resource: "pods", Objects: 150_000, AverageBytes: 2000}}
	for i := range int64(10_000) {
		send(tr, record{ArrivalNs: 1 + i, User: "lister", Verb: "list", Resource: "pods", Query: "resourceVersion=17&resourceVersionMatch=Exact", ExecutionNs: 150_000*second + i})
	}
	const intervalNs = 20_001 * second
	for i := range int64(7) {
		tr.SamplesNs = append(tr.SamplesNs, (i+1)*intervalNs)
	}
	count := map[string]int{}
	compareMetrics(t, tr, intervalNs, count)
	if count["epoch_advance_total"] != 1 {
		t.Errorf("an epoch has begun before %d samples, want 1", count["epoch_advance_total"])
	}
}
