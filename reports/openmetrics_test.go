package reports_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"apfsim/experiment/output"
	"apfsim/reports/record"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
)

// motley has what crowded has and, besides, watches, and writes that their watchers make
// last.
const motley = crowded + `
  - name: watchers
    clients: 15
    as: {serviceAccount: "team-{i}/default"}
    request: {verb: watch, resource: leases, group: coordination.k8s.io, query: "resourceVersion=7", watch: {duration: 20s}}
    execution: 30ms
    arrivals: {burst: {at: 100ms, requests: 1, every: 25s}}
  - name: writers
    clients: 5
    as: {serviceAccount: "team-{i}/default"}
    request: {verb: update, group: coordination.k8s.io, resource: leases, namespace: default, name: "l-{i}"}
    execution: {exponential: {mean: 5ms}}
    arrivals: {poisson: {rate: 20/s}}
`

func loadOne(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	scenarios, mistakes := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	return scenarios[0]
}

// limits notes how the levels' current limits change.
type limits struct {
	server   *server.Server
	changeNs []int64
	levels   []map[string]int // since then
}

func (l *limits) adjusted(nowNs int64, s *server.Server) {
	l.server = s
	now := map[string]int{}
	for _, level := range s.Levels() {
		now[level.Name()] = level.CurrentLimit()
	}
	l.changeNs, l.levels = append(l.changeNs, nowNs), append(l.levels, now)
}

// A line is what the request log says of a request.
type line struct {
	Verb, FlowSchema, PriorityLevel, Outcome, Reason string
	ArrivalNs, DispatchNs, FinishNs, WaitNs          int64
	Queue, Seats, FinalSeats                         int
	AdditionalLatencyNs                              int64
}

// runMotley runs the motley scenario and returns its metrics and its request log.
func runMotley(t *testing.T, intervalNs int64) (metrics string, log []line, course *limits) {
	t.Helper()
	sc := loadOne(t, motley)
	run := sim.New(sc)
	var lines, text bytes.Buffer
	m := record.NewOpenMetrics(&text, sc, run.Servers(), output.Epoch, intervalNs)
	course = &limits{}
	run.Observe(m.Observer())
	run.Observe(server.Observer{Adjusted: course.adjusted})
	requests := record.NewRequestLog(&lines, sc)
	run.Observe(requests.Observer())
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if err := requests.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for one := range bytes.Lines(lines.Bytes()) {
		l := line{DispatchNs: -1, FinishNs: -1}
		if err := json.Unmarshal(one, &l); err != nil {
			t.Fatal(err)
		}
		l.Seats = max(l.Seats, l.FinalSeats) // which is what it holds
		log = append(log, l)
	}
	return text.String(), log, course
}

// last returns the value of each series in its last sample.
func last(t *testing.T, metrics string) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	for s := range strings.Lines(metrics) {
		if strings.HasPrefix(s, "#") {
			continue
		}
		fields := strings.Fields(s)
		if len(fields) != 3 {
			t.Fatalf("no sample: %s", s)
		}
		value, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		series := strings.NewReplacer(`instance="crowded",`, "", `job="apiserver",`, "", "apiserver_flowcontrol_", "").Replace(fields[0])
		values[series] = value
	}
	return values
}

// model computes from a request log what the metrics are to be.
type model map[string]float64

func (m model) observe(name, labels string, buckets []float64, value, times float64) {
	for _, b := range append(slices.Clone(buckets), math.Inf(1)) {
		key := fmt.Sprintf("%s_bucket{%s,le=%q}", name, labels, leText(b))
		if m[key] += 0; value <= b {
			m[key] += times
		}
	}
	m[name+"_sum{"+labels+"}"] += value * times
	m[name+"_count{"+labels+"}"] += times
}

func leText(b float64) string {
	if math.IsInf(b, 1) {
		return "+Inf"
	}
	if text := strconv.FormatFloat(b, 'g', -1, 64); strings.Contains(text, ".") {
		return text
	}
	return strconv.FormatFloat(b, 'f', 1, 64)
}

var (
	durations      = []float64{0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30}
	utilizations   = []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1}
	demands        = []float64{0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6}
	readsAndWrites = []float64{0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1}
	widths         = []float64{1, 2, 4, 8, 16, 32, 64, 100}
)

// count enters what each request adds to.
func (m model) count(log []line) {
	for _, l := range log {
		if l.PriorityLevel == "" {
			continue
		}
		labels := fmt.Sprintf("flow_schema=%q,priority_level=%q", l.FlowSchema, l.PriorityLevel)
		m.observe("work_estimated_seats", labels, widths, float64(l.Seats), 1)
		if l.Outcome == "rejected" {
			m[fmt.Sprintf("rejected_requests_total{%s,reason=%q}", labels, l.Reason)]++
		}
		if l.DispatchNs >= 0 {
			m["dispatched_requests_total{"+labels+"}"]++
			m["current_executing_requests{"+labels+"}"] += 0
			m["current_executing_seats{"+labels+"}"] += 0
		}
		if l.Queue >= 0 {
			m["current_inqueue_requests{"+labels+"}"] += 0
			m["current_inqueue_seats{"+labels+"}"] += 0
		}
		switch l.Outcome {
		case "waiting":
			m["current_inqueue_requests{"+labels+"}"]++
			m["current_inqueue_seats{"+labels+"}"] += float64(l.Seats)
		case "executing":
			m["current_executing_requests{"+labels+"}"]++
		case "executed":
			kind := "regular"
			if l.Verb == "watch" {
				kind = "watch"
			}
			seconds := time.Duration(l.FinishNs - l.DispatchNs).Seconds()
			m.observe("request_execution_seconds", labels+fmt.Sprintf(",type=%q", kind), durations, seconds, 1)
		}
		if l.DispatchNs >= 0 && (l.FinishNs < 0 || l.FinishNs+l.AdditionalLatencyNs >= 40e9) {
			m["current_executing_seats{"+labels+"}"] += float64(l.Seats)
		}
		if l.PriorityLevel != "exempt" && (l.DispatchNs >= 0 || l.Outcome == "rejected") {
			execute := l.DispatchNs >= 0 || l.Reason == "time-out"
			m.observe("request_wait_duration_seconds", fmt.Sprintf("execute=\"%t\",%s", execute, labels), durations, time.Duration(l.WaitNs).Seconds(), 1)
		}
	}
}

// step is a change of how many seats are in use and how many are waited for.
type step struct{ inUse, waiting int }

// sweepLog goes through the course of a level and tells how long there was what.
func sweepLog(log []line, level string, endNs int64, changeNs []int64, tell func(fromNs, toNs int64, inUse, waiting int)) {
	steps := map[int64]step{0: {}, endNs: {}}
	at := func(ns int64, inUse, waiting int) {
		if ns <= endNs {
			s := steps[ns]
			steps[ns] = step{s.inUse + inUse, s.waiting + waiting}
		}
	}
	for _, ns := range changeNs {
		at(ns, 0, 0)
	}
	for _, l := range log {
		if l.PriorityLevel != level {
			continue
		}
		switch {
		case l.DispatchNs >= 0:
			at(l.ArrivalNs, 0, l.Seats)
			at(l.DispatchNs, l.Seats, -l.Seats)
			if l.FinishNs >= 0 {
				at(l.FinishNs+l.AdditionalLatencyNs, -l.Seats, 0)
			}
		case l.Reason == "time-out":
			at(l.ArrivalNs, 0, l.Seats)
			at(l.ArrivalNs+l.WaitNs, 0, -l.Seats)
		case l.Outcome == "waiting":
			at(l.ArrivalNs, 0, l.Seats)
		}
	}
	times := slices.Sorted(maps.Keys(steps))
	var now step
	for i, ns := range times[:len(times)-1] {
		now.inUse += steps[ns].inUse
		now.waiting += steps[ns].waiting
		tell(ns, times[i+1], now.inUse, now.waiting)
	}
}

// suggestedRoom is how many requests have room in the queues of the suggested levels.
const suggestedRoom = (64 + 64 + 16 + 3*128) * 50

// ofKind returns the requests under flow control that only read, or those that do not, with
// the kind for a level and as if each took a seat while it executes.
func ofKind(log []line, kind string) []line {
	var alike []line
	for _, l := range log {
		reads := l.Verb == "get" || l.Verb == "list" || l.Verb == "watch"
		if l.PriorityLevel != "" && reads == (kind == "readOnly") {
			l.PriorityLevel, l.Seats, l.AdditionalLatencyNs = kind, 1, 0
			alike = append(alike, l)
		}
	}
	return alike
}

// mostWaiting returns the most requests that wait after any change within a time, those
// among them that leave their queue as soon as they are in it.
func mostWaiting(log []line, fromNs, toNs int64) int {
	leave := func(l line) int64 {
		if l.Outcome == "waiting" {
			return math.MaxInt64
		}
		return l.ArrivalNs + l.WaitNs
	}
	var queued []line
	for _, l := range log {
		if l.Queue >= 0 && leave(l) >= fromNs {
			queued = append(queued, l)
		}
	}
	most := 0
	for i, change := range queued {
		arrival, departure := 1, 0
		for j, l := range queued {
			if j < i && leave(l) > change.ArrivalNs {
				arrival++
			}
			if l.ArrivalNs <= leave(change) && leave(l) > leave(change) {
				departure++
			}
		}
		if change.ArrivalNs >= fromNs && change.ArrivalNs < toNs {
			most = max(most, arrival)
		}
		if at := leave(change); at >= fromNs && at < toNs {
			most = max(most, departure)
		}
	}
	return most
}

// The metrics at the end are what the request log says, computed anew and without regard
// to cost.
func TestMetricsAreWhatTheRequestLogSays(t *testing.T) {
	metrics, log, course := runMotley(t, record.ScrapeInterval(40e9))
	got, want := last(t, metrics), model{}
	want.count(log)
	end := int64(40e9)
	for level := range course.levels[0] {
		seats := fmt.Sprintf("phase=\"executing\",priority_level=%q", level)
		demanded := fmt.Sprintf("priority_level=%q", level)
		integral, square, most := 0.0, 0.0, 0 // from 20 s to 30 s: the last period
		sweepLog(log, level, end, course.changeNs, func(fromNs, toNs int64, inUse, waiting int) {
			i, found := slices.BinarySearch(course.changeNs, fromNs)
			if !found {
				i--
			}
			limit := float64(course.levels[i][level])
			if limit == 0 {
				limit = 6 // a tenth of the server's seats
			}
			lasted := float64(toNs - fromNs)
			want.observe("priority_level_seat_utilization", seats, utilizations, float64(inUse)/limit, lasted)
			want.observe("demand_seats", demanded, demands, float64(inUse+waiting)/limit, lasted)
			if fromNs >= 20e9 && toNs <= 30e9 {
				integral += float64(inUse+waiting) * lasted / 10e9
				square += float64((inUse+waiting)*(inUse+waiting)) * lasted / 10e9
				most = max(most, inUse+waiting)
			}
		})
		want["demand_seats_average{"+demanded+"}"] = integral
		want["demand_seats_stdev{"+demanded+"}"] = math.Sqrt(max(0, square-integral*integral))
		want["demand_seats_high_watermark{"+demanded+"}"] = float64(most)
		want["current_limit_seats{"+demanded+"}"] = float64(course.levels[len(course.levels)-1][level])
	}
	nominal := 0
	for _, l := range course.server.Levels() {
		nominal += l.Limits().Nominal
		labels := fmt.Sprintf("{priority_level=%q}", l.Name())
		want["nominal_limit_seats"+labels], want["lower_limit_seats"+labels], want["upper_limit_seats"+labels] =
			float64(l.Limits().Nominal), float64(l.Limits().Min), float64(l.Limits().Max)
	}
	for _, kind := range []string{"readOnly", "mutating"} {
		alike := ofKind(log, kind)
		sweepLog(alike, kind, end, nil, func(fromNs, toNs int64, executing, waiting int) {
			labels := fmt.Sprintf("request_kind=%q", kind)
			want.observe("read_vs_write_current_requests", "phase=\"executing\","+labels, readsAndWrites, float64(executing)/float64(nominal), float64(toNs-fromNs))
			want.observe("read_vs_write_current_requests", "phase=\"waiting\","+labels, readsAndWrites, float64(waiting)/suggestedRoom, float64(toNs-fromNs))
		})
		want[fmt.Sprintf("apiserver_current_inqueue_requests{request_kind=%q}", kind)] = float64(mostWaiting(alike, 39e9, 40e9))
	}
	for series, value := range want {
		if have, ok := got[series]; !ok || math.Abs(have-value) > 1e-6*max(1, math.Abs(value)) {
			t.Errorf("%s is %v, want %v", series, have, value)
		}
	}
	for _, some := range []string{
		`rejected_requests_total{flow_schema="service-accounts",priority_level="workload-low",reason="queue-full"}`,
		`rejected_requests_total{flow_schema="service-accounts",priority_level="workload-low",reason="time-out"}`,
		`request_execution_seconds_count{flow_schema="service-accounts",priority_level="workload-low",type="watch"}`,
		`request_execution_seconds_count{flow_schema="exempt",priority_level="exempt",type="regular"}`,
		`current_inqueue_requests{flow_schema="service-accounts",priority_level="workload-low"}`,
	} {
		if want[some] == 0 {
			t.Errorf("the run has no %s", some)
		}
	}
	// Whatever else there is of these families is there by mistake.
	for series := range got {
		name, _, _ := strings.Cut(series, "{")
		if _, ok := want[series]; !ok && slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(s string) bool { return strings.HasPrefix(s, name+"{") }) {
			t.Errorf("%s is %v, and should not be there", series, got[series])
		}
	}
}

// A request finds in its queue those that arrived before it and wait.
func TestQueueLengthsAreThoseOfTheRequestLog(t *testing.T) {
	metrics, log, _ := runMotley(t, record.ScrapeInterval(40e9))
	got, want := last(t, metrics), model{}
	type present struct {
		queue   int
		leaveNs int64
	}
	inside := map[string][]present{}
	for _, l := range log {
		if l.PriorityLevel == "" || l.Queue < 0 {
			continue
		}
		length, still := 1, inside[l.PriorityLevel][:0]
		for _, p := range inside[l.PriorityLevel] {
			if p.leaveNs > l.ArrivalNs {
				still = append(still, p)
				if p.queue == l.Queue {
					length++
				}
			}
		}
		leave := int64(math.MaxInt64)
		if l.Outcome != "waiting" {
			leave = l.ArrivalNs + l.WaitNs
		}
		inside[l.PriorityLevel] = append(still, present{l.Queue, leave})
		want.observe("request_queue_length_after_enqueue", fmt.Sprintf("flow_schema=%q,priority_level=%q", l.FlowSchema, l.PriorityLevel),
			[]float64{0, 10, 25, 50, 100, 250, 500, 1000}, float64(length), 1)
	}
	if many := `request_queue_length_after_enqueue_bucket{flow_schema="service-accounts",priority_level="workload-low",le="50.0"}`; want[many] < 1000 {
		t.Errorf("only %v requests found a queue", want[many])
	}
	for series, value := range want {
		if got[series] != value {
			t.Errorf("%s is %v, want %v", series, got[series], value)
		}
	}
}

// Long runs are sampled as often as rates over a minute or so want it.
func TestScrapeInterval(t *testing.T) {
	for durationNs, want := range map[int64]int64{40e9: 100e6, 3600e9: 10e9, 86400e9: 10e9} {
		if got := record.ScrapeInterval(durationNs); got != want {
			t.Errorf("of %v every %v, want %v", time.Duration(durationNs), time.Duration(got), time.Duration(want))
		}
	}
}

// Samples are in order, a family's are together, and one that is taken at the end of a run
// is not taken twice.
func TestSamplesAreInOrder(t *testing.T) {
	const interval = int64(300e6)
	metrics, _, _ := runMotley(t, interval)
	var family, series string
	var at float64
	samples := 0
	families, seen := map[string]bool{}, map[string]bool{}
	scanner := bufio.NewScanner(strings.NewReader(metrics))
	for scanner.Scan() {
		text := scanner.Text()
		if name, ok := strings.CutPrefix(text, "# HELP "); ok {
			family, _, _ = strings.Cut(name, " ")
			if families[family] {
				t.Fatalf("%s comes again", family)
			}
			families[family] = true
			continue
		}
		if strings.HasPrefix(text, "#") {
			continue
		}
		fields := strings.Fields(text)
		now, err := strconv.ParseFloat(fields[2], 64)
		if err != nil || !strings.HasPrefix(fields[0], family) {
			t.Fatalf("%s: %s (%v)", family, text, err)
		}
		key := fields[0] + fields[2]
		if seen[key] {
			t.Fatalf("twice: %s", text)
		}
		seen[key] = true
		if strings.HasPrefix(fields[0], "apiserver_flowcontrol_current_limit_seats{") {
			if fields[0] == series && now <= at {
				t.Fatalf("%s: after %v", text, at)
			}
			series, at = fields[0], now
			samples++
		}
	}
	if !strings.HasSuffix(metrics, "# EOF\n") {
		t.Error("there is no end")
	}
	// At 0, 300 ms ... 39.9 s, and at 40 s.
	if levels := 8; samples != levels*135 || at != float64(output.Epoch.Unix())+40 {
		t.Errorf("%d samples, the last one at %v", samples, at)
	}
}
