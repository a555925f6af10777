package reports_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"apfsim/core/classify"
	"apfsim/core/estimate"
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/core/rules"
	"apfsim/experiment/output"
	"apfsim/reports/record"
	"apfsim/sim"
	"apfsim/sim/scenario/loader"
)

// narrowAndWide is a scenario of one level with 20 seats and four queues, which lends and
// borrows nothing: ⌈21·95/100⌉ = 20. Wide are its lists, of three seats, as the cap of
// ⌈0.15·20⌉ lets them be. The requests are in a trace.
const narrowAndWide = `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: story}
spec:
  duration: 200ms
  servers: {maxRequestsInflight: 11, maxMutatingRequestsInflight: 10}
  config:
    base: Mandatory
    objects:
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: PriorityLevelConfiguration
      metadata: {name: level}
      spec:
        type: Limited
        limited:
          nominalConcurrencyShares: 95
          lendablePercent: 0
          borrowingLimitPercent: 0
          limitResponse: {type: Queue, queuing: {queues: 4, handSize: 1, queueLengthLimit: 50}}
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: narrow}
      spec:
        matchingPrecedence: 600
        priorityLevelConfiguration: {name: level}
        distinguisherMethod: {type: ByUser}
        rules:
        - subjects: [{kind: Group, group: {name: "system:authenticated"}}]
          resourceRules: [{verbs: ["get"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: wide}
      spec:
        matchingPrecedence: 500
        priorityLevelConfiguration: {name: level}
        distinguisherMethod: {type: ByUser}
        rules:
        - subjects: [{kind: Group, group: {name: "system:authenticated"}}]
          resourceRules: [{verbs: ["list"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
  resources:
  - {resource: pods, objects: 300, averageBytes: 1000}
  workload:
  - name: trace
    arrivals: {trace: {file: trace.jsonl}}
`

// sampled runs a scenario with a trace and returns its samples by the milliseconds since the
// beginning, and the series in them without the labels job and instance.
func sampled(t *testing.T, text string, trace []string, intervalNs int64) map[int64]map[string]float64 {
	t.Helper()
	files := fstest.MapFS{"s.yaml": {Data: []byte(text)}, "trace.jsonl": {Data: []byte(strings.Join(trace, "\n"))}}
	scenarios, mistakes := loader.Load(files, "s.yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	run := sim.New(scenarios[0])
	var samples bytes.Buffer
	m := record.NewOpenMetrics(&samples, scenarios[0], run.Servers(), output.Epoch, intervalNs)
	run.Observe(m.Observer())
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return samplesOf(t, m, &samples)
}

var ownLabels = regexp.MustCompile(`(job|instance)="[^"]*",?`)

func samplesOf(t *testing.T, m *record.OpenMetrics, text *bytes.Buffer) map[int64]map[string]float64 {
	t.Helper()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	all := map[int64]map[string]float64{}
	for line := range strings.Lines(text.String()) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		value, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		at, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		ms := int64(math.Round((at - float64(output.Epoch.Unix())) * 1000))
		if all[ms] == nil {
			all[ms] = map[string]float64{}
		}
		name := strings.TrimPrefix(ownLabels.ReplaceAllString(fields[0], ""), "apiserver_flowcontrol_")
		all[ms][strings.NewReplacer(",}", "}", "{}", "").Replace(name)] = value
	}
	return all
}

// users returns a user for each of four queues.
func users(schema string) [4]string {
	var found [4]string
	for i := 0; slices.Contains(found[:], ""); i++ {
		name := fmt.Sprint("user-", i)
		found[classify.FlowHash(schema, name)%4] = name
	}
	return found
}

// A list of three seats waits for the third, and holds back others; then it starts, and they
// do. All numbers can be worked out by hand: work is 0.003 seat-seconds a seat, and R grows by
// the seats wanted, 20 at most, over the queues with requests.
func TestMetricsOfADispatch(t *testing.T) {
	narrow, wide := users("narrow"), users("wide")
	get := func(arrivalMs, executionMs int, user string) string {
		return fmt.Sprintf(`{"arrivalNs":%d000000,"executionNs":%d000000,"user":%q,"groups":["system:authenticated"],"verb":"get","resource":"configmaps","namespace":"a","name":"x"}`,
			arrivalMs, executionMs, user)
	}
	var trace []string
	for i := range 18 { // queue 0
		trace = append(trace, get(1, 100+10*i, narrow[0]))
	}
	trace = append(trace, // queues 1, 2 and 0
		fmt.Sprintf(`{"arrivalNs":11000000,"executionNs":30000000,"user":%q,"groups":["system:authenticated"],"verb":"list","resource":"pods","query":"limit=300&resourceVersion=1"}`, wide[1]),
		get(21, 9, narrow[2]), get(31, 50, narrow[0]))
	samples := sampled(t, narrowAndWide, trace, 5_000_000)

	type dispatch struct{ r, s, least, most, discountedLeast, discountedMost float64 }
	for _, c := range []struct {
		story    string
		ms       int64
		dispatch dispatch
		heldBack float64 // -1: there is no such series yet
		currentR float64
	}{
		{"The 18 have started at R = 0, the last one after 17 others: at S = 17·0.003, less 17·0.003 for those.",
			5, dispatch{0, 0.051, 0.051, 0.051, 0, 0}, -1, 0},
		{"18 seats for 10 ms, one queue. Two seats are free; the list wants three.",
			15, dispatch{0, 0.051, 0.051, 0.051, 0, 0}, 1, 0.18},
		{"20 seats for 10 ms, two queues. A get arrives, but the list is due before it.",
			25, dispatch{0, 0.051, 0.051, 0.051, 0, 0}, 2, 0.28},
		{"20 seats, three queues. A get joins the 18, and its queue is due when it arrives.",
			100, dispatch{0, 0.051, 0.051, 0.051, 0, 0}, 3, 0.34666667},
		{`After 70 ms more of that, the first of the 18 ends, and its queue has had 0.097 more than it seemed: it is due at
0.44366667, with 17·0.003 in progress. The other queues are due when their requests arrived. The list starts.`,
			105, dispatch{0.81333334, 0.18, 0.18, 0.44366667, 0.18, 0.39266667}, 3, 0.81333334},
		{"The second of the 18 has taken 0.107 longer, and ends; the get of the third queue starts.",
			115, dispatch{0.88000001, 0.28, 0.28, 0.55066667, 0.28, 0.50266667}, 3, 0.88000001},
		{"It ends after 9 ms; the last get starts, from the only queue in which something waits. 1 ms later, with two queues left, the third of the 18 ends.",
			125, dispatch{0.94000001, 0.55066667, 0.55066667, 0.55066667, 0.50266667, 0.50266667}, 3, 0.95000001},
	} {
		want := map[string]float64{
			`dispatch_r{priority_level="level"}`:                                                 c.dispatch.r,
			`latest_s{priority_level="level"}`:                                                   c.dispatch.s,
			`next_s_bounds{bound="min",priority_level="level"}`:                                  c.dispatch.least,
			`next_s_bounds{bound="max",priority_level="level"}`:                                  c.dispatch.most,
			`next_discounted_s_bounds{bound="min",priority_level="level"}`:                       c.dispatch.discountedLeast,
			`next_discounted_s_bounds{bound="max",priority_level="level"}`:                       c.dispatch.discountedMost,
			`current_r{priority_level="level"}`:                                                  c.currentR,
			`request_dispatch_no_accommodation_total{flow_schema="wide",priority_level="level"}`: c.heldBack,
			// Nothing is lent, so nothing is divided by targets; and the target of the exempt
			// level is that of catch-all.
			`seat_fair_frac`:                           0,
			`target_seats{priority_level="level"}`:     20,
			`target_seats{priority_level="catch-all"}`: 2,
			`target_seats{priority_level="exempt"}`:    2,
		}
		if c.heldBack < 0 {
			delete(want, `request_dispatch_no_accommodation_total{flow_schema="wide",priority_level="level"}`)
		}
		for series, value := range want {
			if got, ok := samples[c.ms][series]; !ok || math.Abs(got-value) > 1e-12 {
				t.Errorf("%s\nAt %d ms %s is %v (is there: %v), want %v", c.story, c.ms, series, got, ok, value)
			}
		}
		for series := range samples[c.ms] {
			name, _, _ := strings.Cut(series, "{")
			if _, ok := want[series]; !ok && slices.Contains([]string{
				"latest_s", "next_s_bounds", "next_discounted_s_bounds", "request_dispatch_no_accommodation_total",
				"seat_fair_frac", "target_seats", "epoch_advance_total", "watch_count_samples_count"}, name) {
				t.Errorf("%s\nAt %d ms there is %s", c.story, c.ms, series)
			}
		}
	}
	if _, ok := samples[0][`latest_s{priority_level="level"}`]; ok {
		t.Error("there is a latest_s before the first dispatch")
	}
}

// Twenty requests take all seats from 1 ms on, and one waits: it is 1 of 4·50 until 100 ms, when
// the level ceases to queue, and then 1 of 50, as the server goes on to measure it. A level that
// comes then is measured from then on.
func TestMetricsOfALevelThatCeasesToQueue(t *testing.T) {
	const change = `
  events:
  - at: 100ms
    apply:
      objects:
        apiVersion: flowcontrol.apiserver.k8s.io/v1
        kind: PriorityLevelConfiguration
        metadata: {name: level}
        spec:
          type: Limited
          limited: {nominalConcurrencyShares: 95, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Reject}}
  - at: 100ms
    apply:
      objects:
        apiVersion: flowcontrol.apiserver.k8s.io/v1
        kind: PriorityLevelConfiguration
        metadata: {name: late}
        spec:
          type: Limited
          limited: {nominalConcurrencyShares: 0, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Reject}}
`
	user := users("narrow")[0]
	var trace []string
	for range 21 {
		trace = append(trace, fmt.Sprintf(`{"arrivalNs":1000000,"executionNs":1000000000,"user":%q,"groups":["system:authenticated"],"verb":"get","resource":"configmaps","namespace":"a","name":"x"}`, user))
	}
	last := sampled(t, narrowAndWide+change, trace, 50_000_000)[200]
	for bound, want := range map[string]float64{"0.003": 1e6, "0.01": 100e6, "0.03": 200e6} {
		series := fmt.Sprintf(`priority_level_request_utilization_bucket{phase="waiting",priority_level="level",le=%q}`, bound)
		if last[series] != want {
			t.Errorf("%s is %v, want %v", series, last[series], want)
		}
	}
	for _, series := range []string{`priority_level_seat_utilization_count{phase="executing",priority_level="late"}`, `demand_seats_count{priority_level="late"}`,
		`priority_level_request_utilization_count{phase="waiting",priority_level="late"}`} {
		if last[series] != 100e6 {
			t.Errorf("%s is %v, want the 100 ms since it is there", series, last[series])
		}
	}
	if sum := last[`priority_level_request_utilization_sum{phase="waiting",priority_level="late"}`]; sum != 0 {
		t.Errorf("of the level without queues %v is used, want 0", sum)
	}
}

// When a list that waits for its third seat gives up, nothing is dispatched for it. The get behind
// it starts when the next one arrives in their queue, which still finds it there.
func TestMetricsOfAQueueThatAnArrivalSetsGoing(t *testing.T) {
	narrow, wide := users("narrow"), users("wide")
	var trace []string
	send := func(ms int, user, fields string) {
		trace = append(trace, fmt.Sprintf(`{"arrivalNs":%d000000,"executionNs":100000000,"user":%q,"groups":["system:authenticated"],%s}`, ms, user, fields))
	}
	const get = `"verb":"get","resource":"configmaps","namespace":"a","name":"x"`
	for range 18 {
		send(1, narrow[0], get)
	}
	send(11, wide[1], `"verb":"list","resource":"pods","query":"limit=300&resourceVersion=1&timeout=80ms"`) // waits for a quarter of it
	send(21, narrow[1], get)
	send(41, narrow[1], get)
	samples := sampled(t, narrowAndWide, trace, 10_000_000)
	for _, c := range []struct {
		ms            int64
		waiting, sums float64
	}{{30, 2, 18 + 1 + 2}, {40, 1, 18 + 1 + 2}, {50, 0, 18 + 1 + 2 + 2}} {
		value := func(name string) float64 {
			return samples[c.ms][name+`{flow_schema="narrow",priority_level="level"}`] + samples[c.ms][name+`{flow_schema="wide",priority_level="level"}`]
		}
		if waiting, sums := value("current_inqueue_requests"), value("request_queue_length_after_enqueue_sum"); waiting != c.waiting || sums != c.sums {
			t.Errorf("at %d ms %v wait, and %v were found in queues; want %v and %v", c.ms, waiting, sums, c.waiting, c.sums)
		}
	}
}

// An update that 25 watchers make wide, three seats, waits while its level shrinks to one. It
// starts with that one when all others are through, and the two others wait on.
func TestMetricsOfARequestThatIsMadeNarrower(t *testing.T) {
	const change = `
  events:
  - at: 50ms
    apply:
      objects:
      - apiVersion: flowcontrol.apiserver.k8s.io/v1
        kind: PriorityLevelConfiguration
        metadata: {name: level}
        spec:
          type: Limited
          limited:
            nominalConcurrencyShares: 1
            lendablePercent: 0
            borrowingLimitPercent: 0
            limitResponse: {type: Queue, queuing: {queues: 4, handSize: 1, queueLengthLimit: 50}}
      - apiVersion: flowcontrol.apiserver.k8s.io/v1
        kind: PriorityLevelConfiguration
        metadata: {name: other}
        spec: {type: Limited, limited: {nominalConcurrencyShares: 1000, limitResponse: {type: Reject}}}
`
	var trace []string
	send := func(ms, executionMs int, user, group, fields string) {
		trace = append(trace, fmt.Sprintf(`{"arrivalNs":%d000000,"executionNs":%d000000,"user":%q,"groups":[%q],"resource":"configmaps","namespace":"a",%s}`, ms, executionMs, user, group, fields))
	}
	for range 25 {
		send(1, 1, "admin", "system:masters", `"verb":"watch","query":"watch=true&resourceVersion=1","watchNs":1000000000`)
	}
	for range 20 {
		send(5, 100, users("narrow")[0], "system:authenticated", `"verb":"get","name":"x"`)
	}
	send(11, 10, users("wide")[1], "system:authenticated", `"verb":"update","name":"x"`)
	samples := sampled(t, strings.Replace(narrowAndWide, `verbs: ["list"]`, `verbs: ["update"]`, 1)+change, trace, 10_000_000)
	for _, c := range []struct {
		ms               int64
		requests, seats  float64
		executing, limit float64
	}{{40, 1, 3, 0, 20}, {60, 1, 3, 0, 1}, {110, 0, 2, 1, 1}, {200, 0, 2, 0, 1}} {
		for series, want := range map[string]float64{
			`current_inqueue_requests{flow_schema="wide",priority_level="level"}`: c.requests,
			`current_inqueue_seats{flow_schema="wide",priority_level="level"}`:    c.seats,
			`current_limit_seats{priority_level="level"}`:                         c.limit,
		} {
			if got, ok := samples[c.ms][series]; !ok || got != want {
				t.Errorf("at %d ms %s is %v (is there: %v), want %v", c.ms, series, got, ok, want)
			}
		}
		if got := samples[c.ms][`current_executing_requests{flow_schema="wide",priority_level="level"}`]; got != c.executing {
			t.Errorf("at %d ms %v updates execute, want %v", c.ms, got, c.executing)
		}
	}
}

// One request waits from 1 ms on. The second in which it came to is shown when it is over, and
// not any more when seconds without a change have passed. The run's end is half a millisecond
// after a sample, and has one of its own.
func TestMetricsOfSecondsWithoutAChange(t *testing.T) {
	user := users("narrow")[0]
	var trace []string
	for range 21 {
		trace = append(trace, fmt.Sprintf(`{"arrivalNs":1000000,"executionNs":10000000000,"user":%q,"groups":["system:authenticated"],"verb":"get","resource":"configmaps","namespace":"a","name":"x"}`, user))
	}
	text := strings.Replace(narrowAndWide, "duration: 200ms", "duration: 4000500us", 1)
	for intervalNs, want := range map[int64]map[int64]float64{
		1e9: {0: 0, 1000: 1, 2000: 0, 3000: 0, 4000: 0, 4001: 0},
		4e9: {0: 0, 4000: 0, 4001: 0},
	} {
		got := map[int64]float64{}
		for ms, all := range sampled(t, text, trace, intervalNs) {
			got[ms] = all[`apiserver_current_inqueue_requests{request_kind="readOnly"}`]
		}
		if !maps.Equal(got, want) {
			t.Errorf("every %d s: %v, want %v", intervalNs/1e9, got, want)
		}
	}
}

// An idle server with 600 seats. What the levels cannot lend adds up to 258 seats, and all
// 602 nominal ones are divided in that proportion. The exempt level's target is that of
// catch-all, the first of the others.
func TestMetricsOfAnIdleServer(t *testing.T) {
	samples := sampled(t, `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: idle}
spec:
  duration: 1s
  workload:
  - name: trace
    arrivals: {trace: {file: trace.jsonl}}
`, []string{`{"arrivalNs":999999999,"executionNs":0,"user":"a","groups":["system:authenticated"],"verb":"get","path":"/version"}`}, 1e9)
	for series, want := range map[string]float64{
		`seat_fair_frac`:                              602. / 258,
		`target_seats{priority_level="exempt"}`:       13,
		`target_seats{priority_level="catch-all"}`:    13,
		`target_seats{priority_level="workload-low"}`: 24,
	} {
		if got, ok := samples[0][series]; !ok || math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v (is there: %v), want %v", series, got, ok, want)
		}
	}
}

// One seat, and a request that waits behind another until its deadline after 60 s. Up to 1.22 a server
// does not count this as a rejection, and up to 1.28.4 it counts it as cancelled. In 1.37 the request
// times out after 15 s.
func TestMetricsOfARequestAtItsDeadline(t *testing.T) {
	for _, c := range []struct{ version, reason string }{{"1.22", ""}, {"1.28.4", "cancelled"}, {"1.37", "time-out"}} {
		samples := sampled(t, strings.NewReplacer("200ms", "70s",
			"maxRequestsInflight: 11, maxMutatingRequestsInflight: 10",
			fmt.Sprintf("kubernetesVersion: %q, maxRequestsInflight: 1, maxMutatingRequestsInflight: 0", c.version),
		).Replace(narrowAndWide), []string{
			`{"arrivalNs":0,"executionNs":100000000000,"user":"a","groups":["system:authenticated"],"verb":"get","resource":"pods","name":"x"}`,
			`{"arrivalNs":1000000000,"executionNs":0,"user":"a","groups":["system:authenticated"],"verb":"get","resource":"pods","name":"x"}`,
		}, 1e9)
		end := samples[70_000]
		for _, reason := range []string{"cancelled", "time-out", "queue-full"} {
			want := 0.0
			if reason == c.reason {
				want = 1
			}
			series := fmt.Sprintf(`rejected_requests_total{flow_schema="narrow",priority_level="level",reason=%q}`, reason)
			if got := end[series]; got != want {
				t.Errorf("%s: %s is %v, want %v", c.version, series, got, want)
			}
		}
		wait := `request_wait_duration_seconds_count{execute="true",flow_schema="narrow",priority_level="level"}`
		if end[wait] != 2 {
			t.Errorf("%s: %s is %v, want 2", c.version, wait, end[wait])
		}
	}
}

// Twelve watches of configmaps are open for a second. Mutations count them, an
// administrator's too; tokens, reads and what is deleted together are not mutations.
func TestMetricsOfWatchers(t *testing.T) {
	var trace []string
	send := func(ms int, user, group, fields string) {
		trace = append(trace, fmt.Sprintf(`{"arrivalNs":%d000000,"executionNs":1000000,"user":%q,"groups":["%s"],"namespace":"a",%s}`, ms, user, group, fields))
	}
	const masters, others = "system:masters", "system:authenticated"
	for range 12 {
		send(1, "admin", masters, `"verb":"watch","resource":"configmaps","query":"watch=true&resourceVersion=1","watchNs":1000000000`)
	}
	const update = `"verb":"update","resource":"configmaps","name":"x"`
	send(5, "writer", others, update)
	send(6, "admin", masters, update)
	send(7, "writer", others, `"verb":"create","resource":"secrets"`)
	send(8, "writer", others, `"verb":"create","resource":"serviceaccounts","subresource":"token","name":"x"`)
	send(9, "writer", others, `"verb":"get","resource":"configmaps","name":"x"`)
	send(10, "writer", others, `"verb":"deletecollection","resource":"configmaps"`)
	send(1500, "writer", others, update) // after the watches
	samples := sampled(t, `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: watchers}
spec:
  duration: 2s
  config: {base: Mandatory}
  workload:
  - name: trace
    arrivals: {trace: {file: trace.jsonl}}
`, trace, 1e9)
	want := model{}
	buckets := []float64{0, 1, 10, 100, 1000, 10000}
	for _, watchers := range []float64{12, 0, 0} {
		want.observe("watch_count_samples", `flow_schema="catch-all",priority_level="catch-all"`, buckets, watchers, 1)
	}
	want.observe("watch_count_samples", `flow_schema="exempt",priority_level="exempt"`, buckets, 12, 1)
	got := maps.Clone(samples[2000])
	maps.DeleteFunc(got, func(series string, _ float64) bool { return !strings.HasPrefix(series, "watch_count_samples") })
	if diff := cmp.Diff(map[string]float64(want), got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

// ignoring hosts levels that hold no request back, and ignores what is dispatched.
type ignoring struct{ queueset.Host }

func (ignoring) Dispatched(*queueset.Request) {}

// A request of more seats than a level's 950 000 executes for 150 000 s: R reaches 1.425e11,
// past the high mark, and is wound back. The queue is where it was at the dispatch, which is
// not a reading that can be wound back: no success.
func TestMetricsOfAnEpoch(t *testing.T) {
	sc := loadOne(t, strings.NewReplacer("maxRequestsInflight: 11", "maxRequestsInflight: 500000", "maxMutatingRequestsInflight: 10", "maxMutatingRequestsInflight: 500000",
		"{trace: {file: trace.jsonl}}", "{poisson: {rate: 1/s}}\n    as: {user: a}\n    request: {verb: get, path: /}\n    execution: 1ms").Replace(narrowAndWide))
	c := flowcontrol.New(0, rules.Latest(), 1_000_000, sc.Objects, ignoring{}, nil)
	var text bytes.Buffer
	m := record.NewOpenMetrics(&text, sc, []*flowcontrol.Controller{c}, output.Epoch, 50_000e9)
	o := m.Observer()
	route := c.Route(&classify.Attributes{User: "a", Groups: []string{"system:authenticated"}, Verb: "get", Resource: "configmaps", Name: "x"})
	r := &flowcontrol.Request{}
	r.Work = estimate.Work{InitialSeats: 2_000_000}
	o.Tick(0, nil)
	c.Arrive(0, r, &route)
	for _, at := range []int64{50_000e9, 100_000e9} {
		c.Adjust(at)
		o.Adjusted(at, nil)
		o.Tick(at, nil)
	}
	c.Finish(150_000e9, r)
	o.Tick(150_000e9, nil)
	samples := samplesOf(t, m, &text)
	const epochs, currentR = `epoch_advance_total{priority_level="level",success="false"}`, `current_r{priority_level="level"}`
	for _, c := range []struct {
		ms     int64
		r      float64
		epochs float64
	}{{50_000e3, 4.75e10, 0}, {100_000e3, 9.5e10, 0}, {150_000e3, 1.425e11 - math.MaxInt64/1e8, 1}} {
		if got := samples[c.ms]; math.Abs(got[currentR]-c.r) > 1e-3 || got[epochs] != c.epochs {
			t.Errorf("after %d s: R %v and %v epochs, want %v and %v", c.ms/1000, got[currentR], got[epochs], c.r, c.epochs)
		}
	}
	for ms, all := range samples {
		for series := range all {
			if strings.HasPrefix(series, "epoch_advance_total") && (series != epochs || ms < 150_000e3) {
				t.Errorf("after %d s there is %s", ms/1000, series)
			}
		}
	}
}

// One queue has 50 places and the level 20 seats: of 80 gets that arrive at once and execute until after the end, 10 are rejected. A
// list of another user fits into its own queue, and waits. Rejections count as answers and as terminations.
func TestMetricsOfAnswers(t *testing.T) {
	narrow := users("narrow")[0]
	get := func(arrivalMs, executionMs int, namespace string) string {
		return fmt.Sprintf(`{"arrivalNs":%d000000,"executionNs":%d000000,"user":%q,"groups":["system:authenticated"],"verb":"get","resource":"configmaps","namespace":%q,"name":"x"}`,
			arrivalMs, executionMs, narrow, namespace)
	}
	trace := []string{get(1, 5, "a")}
	for range 80 {
		trace = append(trace, get(21, 1000, "a"))
	}
	samples := sampled(t, narrowAndWide, trace, 100_000_000)
	const labels = `{code="%d",component="apiserver",%sgroup="",resource="configmaps",scope="resource",subresource="",verb="GET",version="v1"}`
	ok, rejected := fmt.Sprintf(labels, 200, `dry_run="",`), fmt.Sprintf(labels, 429, `dry_run="",`)
	terminated := fmt.Sprintf(labels, 429, "")
	got := map[string]float64{}
	for series, value := range samples[200] {
		if strings.HasPrefix(series, "apiserver_request_") {
			got[strings.TrimPrefix(series, "apiserver_request_")] = value
		}
	}
	want := map[string]float64{"total" + ok: 1, "total" + rejected: 10, "terminations_total" + terminated: 10}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
