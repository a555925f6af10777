package collect

import (
	"container/heap"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"apfsim/core/config"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/api"
	"apfsim/sim/machine"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/registry"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// The durations of a flow are those that it was told, however many there are and whatever the list has room for.
func TestDurationsOfAFlow(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{0, 1, 10, 300, 3000} {
		var f flow
		var want [measure.Timings][]int64
		for range n {
			waitNs, executionNs := int64(0), r.Int64N(1<<r.IntN(40)+1)
			if r.IntN(2) == 0 {
				waitNs = 1 + r.Int64N(1<<r.IntN(40)+1)
			}
			if r.IntN(5) == 0 {
				f.add(waitRejected, waitNs, 0)
				want[measure.RejectedWait] = append(want[measure.RejectedWait], waitNs)
				continue
			}
			f.dispatched++
			f.dispatch(waitNs)
			f.execute(executionNs, waitNs+executionNs)
			want[measure.Wait] = append(want[measure.Wait], waitNs)
			want[measure.Execution] = append(want[measure.Execution], executionNs)
			want[measure.Latency] = append(want[measure.Latency], waitNs+executionNs)
		}
		m := measure.New(measure.CoarsePrecision)
		f.durations.addTo(&m.Timed, f.dispatched)
		for timing := range want {
			h, sum := &m.Timed[timing], 0.0
			for _, ns := range want[timing] {
				sum += float64(ns)
			}
			if h.N != int64(len(want[timing])) || h.N > 0 && (h.LeastNs != slices.Min(want[timing]) || h.MostNs != slices.Max(want[timing]) || int64(sum/float64(h.N)) != int64(h.MeanNs())) {
				t.Errorf("%d requests, timing %d: %d of %d to %d ns, want %d", n, timing, h.N, h.LeastNs, h.MostNs, len(want[timing]))
			}
		}
		f.durations.addTo(&m.Timed, f.dispatched) // beside those that are there
		for timing := range want {
			if got := m.Timed[timing].N; got != 2*int64(len(want[timing])) {
				t.Errorf("%d requests, timing %d: %d after adding twice, want %d", n, timing, got, 2*len(want[timing]))
			}
		}
		longest := int64(0)
		if len(want[measure.Wait]) > 0 {
			longest = slices.Max(want[measure.Wait])
		}
		if f.longestNs() != longest {
			t.Errorf("%d requests: the longest wait is %d ns, want %d", n, f.longestNs(), longest)
		}
		var b flowSummary
		f.level = &level{shares: []float64{0}}
		if b.set(&f); (b.Wait != nil) != (f.dispatched > 0) || b.Wait != nil && b.Wait.MaxNs != longest {
			t.Errorf("%d requests: package judge reads the waits %+v, want at most %d ns", n, b.Wait, longest)
		}
	}
}

// A part keeps each wait and each execution, also those of one nanosecond.
func TestDurationsOfAPart(t *testing.T) {
	p := &workloadInGroup{Measures: measure.New(measure.FinePrecision), batches: measure.NewBatcher(0, 1)}
	p.alone.Precision = measure.FinePrecision
	for _, waitNs := range []int64{0, 1, 5, 0} {
		p.dispatched(waitNs)
		p.executed(100, 100+waitNs)
	}
	p.end(0)
	wait, execution, latency := &p.Timed[measure.Wait], &p.Timed[measure.Execution], &p.Timed[measure.Latency]
	if wait.N != 4 || wait.LeastNs != 0 || wait.MostNs != 5 || wait.MeanNs() != 1.5 || wait.PercentileNs(75) != 1 {
		t.Errorf("waits: %d of %d to %d ns, mean %v", wait.N, wait.LeastNs, wait.MostNs, wait.MeanNs())
	}
	if execution.N != 4 || execution.MeanNs() != 100 || latency.N != 4 || latency.MeanNs() != 101.5 {
		t.Errorf("%d executions of %v ns on average, latencies of %v", execution.N, execution.MeanNs(), latency.MeanNs())
	}
}

// Requests that were not executed count with the mean of their kind in the flow; without one, at the level, then with that
// of all kinds of the flow, then of the level. One that holds seats counts with what it has occupied if that is more.
func TestDemandThatIsMeasured(t *testing.T) {
	of := func(measured int64, seatNs float64) kindUsage { return kindUsage{measured: measured, seatNs: seatNs} }
	for name, c := range map[string]struct {
		flow     []flowKind
		level    []kindUsage // by kind, from 1
		allKinds kindUsage
		given    float64
		want     float64
	}{
		"of its kind in the flow":     {[]flowKind{{kindUsage: of(2, 20), kind: 1, arrived: 5}}, []kindUsage{of(4, 400)}, of(8, 8000), 7, 20 + 3*10},
		"of its kind at the level":    {[]flowKind{{kind: 1, arrived: 3}, {kindUsage: of(1, 50), kind: 2, arrived: 1}}, []kindUsage{of(4, 400), of(1, 50)}, of(5, 450), 7, 3*100 + 50},
		"of all kinds in the flow":    {[]flowKind{{kind: 1, arrived: 3}, {kindUsage: of(1, 50), kind: 2, arrived: 1}}, []kindUsage{{}, of(9, 90)}, of(9, 90), 7, 3*50 + 50},
		"of all kinds at the level":   {[]flowKind{{kind: 1, arrived: 3}}, []kindUsage{{}}, of(4, 80), 7, 3 * 20},
		"of nothing, as it was given": {[]flowKind{{kind: 1, arrived: 3}}, []kindUsage{{}}, kindUsage{}, 7, 7},
		"of nothing, but held":        {[]flowKind{{kind: 1, arrived: 3, holding: []holding{{occupied: 4, given: 2}, {occupied: 5, given: 5}}}}, []kindUsage{{}}, kindUsage{}, 7, 9},
		"held for longer":             {[]flowKind{{kindUsage: of(2, 20), kind: 1, arrived: 5, holding: []holding{{occupied: 3}, {occupied: 10}, {occupied: 14}}}}, []kindUsage{{}}, of(2, 20), 7, 20 + 3*10 + 4},
	} {
		l := &level{kinds: []levelKind{{}}, allKinds: c.allKinds}
		for _, o := range c.level {
			l.kinds = append(l.kinds, levelKind{kindUsage: o})
		}
		f := &flow{level: l, demand: c.given, kinds: &flowKinds{all: c.flow}}
		if f.endDemand(); f.demand != c.want {
			t.Errorf("%s: the demand is %v, want %v", name, f.demand, c.want)
		}
	}
}

// A request can be served more in an interval than was expected of it; it is then asked for what it was served. What is
// outstanding is asked for again in the next interval: where the demand is measured, by what the flow's requests of each kind
// occupy.
func TestDemandOfAnInterval(t *testing.T) {
	for _, kinds := range []*flowKinds{nil, {}} {
		f := &flow{level: &level{}, kinds: kinds, intervalDemand: 5, intervalService: 10, outstanding: 3}
		next := 3.0
		if kinds != nil {
			next = 0 // no request is outstanding
		}
		if service, demand, _ := f.closeInterval(0); service != 10 || demand != 10 || f.intervalDemand != next || f.intervalService != 0 {
			t.Errorf("measured: %v: service %v, demand %v, want 10; then %v, want %v", kinds != nil, service, demand, f.intervalDemand, next)
		}
	}
}

// What a level had before the window does not count: neither seats that are free again when it begins, nor the waits up to
// then.
func TestWindowOfALevel(t *testing.T) {
	l := &level{fromNs: 100, known: true, exists: true, limit: 2, spec: config.PriorityLevelSpec{Type: config.TypeLimited}}
	for range 3 { // three requests come at 50: two execute until the window begins, one waits until 160
		l.enter(50, 1)
	}
	l.start(50, 1, 1)
	l.start(50, 1, 1)
	l.leave(100, 1)
	l.leave(100, 1)
	l.start(160, 1, 1)
	l.settle(180)
	l.leave(190, 1)
	l.settle(200)
	got := l.use()
	if got.PeakSeats != 1 {
		t.Errorf("at most %d seats were in use in the window, want 1", got.PeakSeats)
	}
	if got.MeanWaiting != 0.6 || got.ServiceSeatSeconds != 30e-9 || *got.Utilisation.Mean != 0.15 || got.Utilisation.Saturated != 0.6 {
		t.Errorf("%v requests waited on average, want 0.6; %v seat-seconds, want 30e-9; utilisation %v and %v, want 0.15 and 0.6",
			got.MeanWaiting, got.ServiceSeatSeconds, *got.Utilisation.Mean, got.Utilisation.Saturated)
	}
}

// Steps of the limits are recorded when something changes, and several changes at a time are one.
func TestLimitSteps(t *testing.T) {
	queuing := &config.LimitedSpec{LimitResponse: config.LimitResponse{Type: config.ResponseQueue, Queuing: &config.Queuing{Queues: 1}}}
	l := &level{exists: true, limit: 3, nominal: 3, spec: config.PriorityLevelSpec{Type: config.TypeLimited, Limited: queuing}}
	record := func(nowNs int64) { l.recordLimits(nowNs, "") }
	record(10)
	record(20) // nothing changes
	l.spec.Limited = &config.LimitedSpec{LimitResponse: config.LimitResponse{Type: config.ResponseReject}}
	record(30)
	l.limit = 4
	record(40)
	l.limit = 5
	record(40)
	l.nominal = 6
	record(50)
	l.exists = false
	record(60)
	record(70)
	want := []limitStep{{10, 3, 3, false, true, ""}, {30, 3, 3, false, false, ""}, {40, 5, 3, false, false, ""}, {50, 5, 6, false, false, ""}, {60, 5, 6, true, false, ""}}
	if !slices.Equal(l.limitSteps, want) {
		t.Errorf("got %+v, want %+v", l.limitSteps, want)
	}
}

// A request that is lost at the moment at which its server has ended counts at that moment, and not at that of another
// server.
func TestLostAtTheEndOfAServer(t *testing.T) {
	c := &Collector{toNs: 100, timeline: []result.Moment{{AtNs: 5, Server: 0, Stage: server.Off.String()}, {AtNs: 5, Server: 1, Stage: server.Off.String()}, {AtNs: 5, Server: 2, Stage: server.Off.String()}}}
	s := &serverState{index: 1}
	c.lost(5, s)
	c.lost(5, s)
	c.lost(6, s)
	for i, want := range []int64{0, 2, 0} {
		if c.timeline[i].Lost != want {
			t.Errorf("server %d: %d are lost at its end, want %d", i, c.timeline[i].Lost, want)
		}
	}
	first := &Collector{toNs: 100, timeline: []result.Moment{{AtNs: 5, Server: 1, Stage: server.Off.String()}}}
	if first.lost(5, &serverState{index: 1}); first.timeline[0].Lost != 1 {
		t.Errorf("%d are lost at the first moment, want 1", first.timeline[0].Lost)
	}
	if s.now.Lost != 3 || c.failures[0].Lost != 3 {
		t.Errorf("%d are lost in the interval, %+v", s.now.Lost, c.failures)
	}
}

// The kinds of requests add up what they have cost; seats are the most of one request.
func TestKindsOfRequestsAddUp(t *testing.T) {
	var k result.RequestKind
	add(&k, &registry.Work{Requests: 1, EstimatedSeatNs: 2e9, MaxSeats: 3, CPUNs: 4e9, Gets: 5, Txns: 6, Ranges: 7, Grants: 8, Walked: 9, Fetched: 10, Returned: 11, Initial: 12, Bytes: 13})
	add(&k, &registry.Work{Requests: 1, MaxSeats: 2, Returned: 1, Initial: 1, Walked: 1, Fetched: 1})
	if want := (result.RequestKind{Requests: 2, SeatSeconds: 2, MaxSeats: 3, ProcessorSeconds: 4, EtcdCalls: 26, ObjectsWalked: 21, ObjectsReturned: 25, Bytes: 13}); k != want {
		t.Errorf("got %+v, want %+v", k, want)
	}
	counts := addCount(addCount(addCount(nil, "pods", 1), "leases", 2), "pods", 3)
	if want := []result.ResourceCount{{Resource: "pods", Count: 4}, {Resource: "leases", Count: 2}}; !slices.Equal(counts, want) {
		t.Errorf("got %+v, want %+v", counts, want)
	}
	for want, w := range map[string]registry.Work{"": {}, "selector": {Selects: true}, "latest": {Class: registry.Latest}, "latest, selector": {Class: registry.Latest, Selects: true}} {
		if got := optionsOf(&w); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := nameOf(api.Resource{Group: "apps", Name: "deployments"}) + nameOf(api.Resource{Name: "pods"}); got != "deployments.appspods" {
		t.Errorf("got %q", got)
	}
}

// Of what happens to clients, the ten seconds in which it happened most are told: the first of several.
func TestBusiestInterval(t *testing.T) {
	var event metric.Event
	var m *metric.Metric
	for e := metric.Event(0); m == nil; e++ {
		for _, of := range metric.CountedBy(e) {
			if !of.Timed && of.Reasons == nil {
				event, m = e, of
			}
		}
	}
	var all notes
	for _, second := range []int64{1, 12, 15, 25, 27, 31} {
		all.add(second*1e9, &workload.Note{Event: event, N: 2})
	}
	for _, n := range all.result().Notes {
		if n.Metric == m.Name && (n.Count != 6 || n.Sum != 12 || n.Most == nil || *n.Most != (result.Busiest{FromNs: 10e9, Count: 2})) {
			t.Errorf("%+v, most %+v", n, n.Most)
		}
	}
	if len(all) == 0 {
		t.Error("nothing is counted")
	}
}

// A threshold on the refusals of a server is about its own.
func TestWindowsOfTheRefusalsOfAServer(t *testing.T) {
	sc := &scenario.Scenario{}
	sc.Spec.Duration = 4e9
	sc.Spec.Workload = []workload.Workload{{Name: "w"}}
	sc.Spec.Thresholds = metric.Thresholds{{Metric: "refused", Stat: "count", Op: "<", Limit: 3, Key: "refused{server:1}"}}
	th := &sc.Spec.Thresholds[0]
	th.Over = 2e9
	th.Tags = []metric.Tag{{Name: metric.TagServer, Value: "1"}}
	ws := NewWindowed(sc)
	for i := range int64(40) { // three of ten are for server 1
		r := &server.Request{Sent: server.Sent{Template: &server.Template{}, Attempt: 1}, Decision: server.Decision{ArrivalNs: i * 1e8}}
		r.Refusal = metric.NotRefused + 1
		if i%10 < 3 {
			r.Server = 1
		}
		ws.refused(r.ArrivalNs, r)
	}
	s := &result.Summary{Thresholds: make([]result.Verdict, 1)}
	ws.Judge(s)
	if v := &s.Thresholds[0]; v.Value == nil || *v.Value != 6 || v.Windows.Judged != 2 || v.Windows.Failed != 2 {
		t.Errorf("%+v, windows %+v", v, v.Windows)
	}
}

// What requests have occupied is added up, and so is how long they were served; without probes there is no percentile.
func TestSumsOfARun(t *testing.T) {
	var o kindUsage
	o.add(10, 3)
	o.add(20, 4)
	if o.measured != 2 || o.mean() != 15 || o.serveNs != 7 {
		t.Errorf("%+v", o)
	}
	if ns, atLeast, ok := (*Probes)(nil).PercentileNs(0, 99); ns != 0 || atLeast || ok {
		t.Errorf("without probes: %d ns, at least: %v, %v", ns, atLeast, ok)
	}
	if ns, atLeast, ok := (&Probes{workloads: make([]virtualWorkload, 1)}).PercentileNs(0, 99); ns != 0 || atLeast || ok {
		t.Errorf("without waits: %d ns, at least: %v, %v", ns, atLeast, ok)
	}
}

// A level that is added in the middle of a run has an empty point for each interval before, of which the last may be cut off.
func TestPointsOfALaterLevel(t *testing.T) {
	c := &Collector{intervalNs: 10, intervalFromNs: 25}
	l := c.newLevel("late")
	want := []result.Point{{StartNs: 0, EndNs: 10}, {StartNs: 10, EndNs: 20}, {StartNs: 20, EndNs: 25}}
	if !reflect.DeepEqual(l.points, want) || len(l.lengths) != len(want) {
		t.Errorf("%+v and %d points of queues, want %+v", l.points, len(l.lengths), want)
	}
}

// The warnings are about workloads without requests unless they have no clients, those of which more than a twentieth has not ended, and requests that
// match the FlowSchema catch-all only.
func TestWarnings(t *testing.T) {
	group := func(name string, arrived, waiting, executing int64) result.Group {
		g := result.Group{Name: name}
		g.Arrived, g.Waiting, g.Executing = arrived, waiting, executing
		return g
	}
	s := &result.Summary{
		Workloads:   []result.Group{group("none", 0, 0, 0), group("ended", 100, 3, 2), group("open", 100, 4, 2), group("off", 0, 0, 0)},
		FlowSchemas: []result.Group{group(config.CatchAll, 30, 0, 0), group("mine", 70, 0, 0)},
		CatchAll:    []result.CaughtAll{{Workload: "open", Requests: 30, Arrived: 100}},
	}
	want := []string{
		"workload none: no request arrived between the warm-up and the end of the run",
		"workload open: 6 % of its requests had not finished when the run ended; their latency is not in the statistics",
		"30 requests matched no FlowSchema other than catch-all: open (30 %)",
	}
	c := &Collector{scenario: &scenario.Scenario{}}
	c.scenario.Spec.Workload = []workload.Workload{{Clients: 1}, {Clients: 1}, {Clients: 1}, {Name: "off", Clients: 0}}
	if c.addWarnings(s); !slices.Equal(s.Warnings, want) {
		t.Errorf("got %q, want %q", s.Warnings, want)
	}
	s.Warnings, s.FlowSchemas[0].Arrived, s.Workloads = nil, 0, nil
	if c.addWarnings(s); len(s.Warnings) != 0 {
		t.Errorf("got %q, want none", s.Warnings)
	}
}

// That executions were measured with so many at a time is a reason to trust a run less in which more execute, at more than a tenth
// of the ends, or 5 % with a law: here two requests execute at each of two servers, and sometimes three at one.
func TestBeyondTheMeasuredCapacity(t *testing.T) {
	for _, c := range []struct {
		capacity *machine.Capacity
		crowded  int // of 100 executions
		want     string
	}{
		{nil, 50, ""},
		{&machine.Capacity{Cores: 1}, 50, ""},
		{&machine.Capacity{Measured: 3}, 50, ""},
		{&machine.Capacity{Measured: 2}, 10, ""},
		{&machine.Capacity{Measured: 2}, 11, "11 % of the requests execute when more than 2 do at a time. The executions are those of a server that seldom executes more, and its capacity is unknown"},
		{&machine.Capacity{Measured: 3, Average: 1.6}, 50, ""},
		{&machine.Capacity{Measured: 3, Average: 1.5}, 0, "a server executes 2 requests at a time on average. The executions are those of a server that executes 1.5, and"},
		{&machine.Capacity{Measured: 2, Cores: 1}, 5, ""},
		{&machine.Capacity{Measured: 2, Cores: 1}, 6, "6 % of the requests execute when more than 2 do at a time, up to which the capacity was measured"},
	} {
		s := &result.Summary{}
		if beyond := newLoadBeyondMeasured(&scenario.Servers{Settings: server.Settings{Capacity: c.capacity, Replicas: 2}}); beyond != nil {
			at := func(index int16) *server.Request {
				r := &server.Request{}
				r.Server = index
				return r
			}
			for _, index := range []int16{0, 0, 1, 1} {
				beyond.begin(at(index))
			}
			for i := range 100 {
				if i < c.crowded {
					beyond.begin(at(1))
					beyond.end(at(1), true)
				} else {
					beyond.end(at(0), true)
					beyond.begin(at(0))
				}
			}
			s.Total.Execution = &result.Distribution{Count: 100, MeanNs: 4e9} // two at a time at each server in 100 s
			beyond.trust(s, 100e9)
		}
		notes := s.Verdict.Notes()
		if c.want == "" && len(notes) > 0 || c.want != "" && (len(notes) != 1 || !strings.HasPrefix(notes[0], c.want)) {
			t.Errorf("%+v, %d with more: %q", c.capacity, c.crowded, notes)
		}
	}
}

// One probe is made in each thousandth of the window, and none after it.
func TestMomentsOfProbes(t *testing.T) {
	v := &Probes{fromNs: 5_000, toNs: 6_000_000 + 5_000, workloads: make([]virtualWorkload, 1)}
	w := &v.workloads[0]
	w.moments.Open(7, "w", 0, "probes")
	v.begin()
	for i := range int64(probesPerWorkload) {
		if i > 0 {
			v.draw(w)
		}
		if w.nextNs < 5_000+6_000*i || w.nextNs > 5_000+6_000*(i+1) {
			t.Fatalf("the probe %d is at %d ns", i, w.nextNs)
		}
	}
	if next := v.tick(6_000_000, nil); next != v.toNs {
		t.Errorf("after the last probe, the next call is at %d ns, want the end", next)
	}
}

// The probes of many workloads are made in the order of their moments, and those of the same moment in the order of the workloads,
// each of which has one in each thousandth of the window.
func TestOrderOfProbes(t *testing.T) {
	v := &Probes{toNs: 5 * probesPerWorkload, workloads: make([]virtualWorkload, 20)} // so short that many are due at once
	for i := range v.workloads {
		v.workloads[i].moments.Open(7, string(rune('a'+i)), 0, "probes")
	}
	v.begin()
	made := 0
	for nowNs := int64(0); v.due[0].nextNs < math.MaxInt64; nowNs++ {
		last := -1
		for v.due[0].nextNs <= nowNs {
			w := v.due[0]
			if w.nextNs != nowNs || w.index < last || int64(w.next) != nowNs/5+1 {
				t.Fatalf("at %d ns, probe %d of workload %d, which is due at %d, after one of workload %d", nowNs, w.next, w.index, w.nextNs, last)
			}
			last = w.index
			made++
			v.draw(w)
			heap.Fix(v.due, 0)
		}
		if next := v.tick(nowNs, nil); next <= nowNs {
			t.Fatalf("after those of %d ns, the next one is due at %d", nowNs, next)
		}
	}
	if made != 20*probesPerWorkload {
		t.Errorf("%d probes, want %d", made, 20*probesPerWorkload)
	}
}

// Discarded probes are as if they had not been made, and the others go on.
func TestDiscardedProbes(t *testing.T) {
	v := &Probes{workloads: []virtualWorkload{{probes: 4}, {probes: 2}}, changed: []changedSet{{n: 3}},
		pending: []pendingProbe{{server: 0}, {server: 1, workload: 1}, {server: 0, workload: 1}}}
	v.discard(func(p *pendingProbe) bool { return p.server == 0 })
	if len(v.pending) != 1 || v.pending[0].server != 1 || v.changed[0].n != 1 || v.workloads[0].probes != 3 || v.workloads[1].probes != 1 {
		t.Errorf("%d are pending, %d of the queue set, of %d and %d", len(v.pending), v.changed[0].n, v.workloads[0].probes, v.workloads[1].probes)
	}
}

// The shares of flows may be as small as a seat-nanosecond. The flow that is served least for its share is named, also if it is
// the first one.
func TestFairnessOfSmallShares(t *testing.T) {
	schema := &config.FlowSchema{Name: "s"}
	l := &level{}
	for i, service := range []float64{1, 3, 0} {
		f := &flow{service: service, identity: server.NewFlow(i, schema, "l", string(rune('a'+i)), nil)}
		if service > 0 {
			f.demand = 2
		}
		l.flows = append(l.flows, f)
	}
	shares, fair := l.fairness()
	if !slices.Equal(shares, []float64{2, 2, 0}) || fair == nil || fair.Flows != 2 || fair.LeastRatio != 0.5 || fair.LeastRatioFlow != "s/a" || fair.MaxMinError != 0.5 {
		t.Errorf("shares %v, %+v; want 2 flows with shares, and the least ratio 0.5 of s/a", shares, fair)
	}
	l.flows[0].demand, l.flows[1].demand, l.flows[0].service, l.flows[1].service = 1, 1, 1, 1
	if _, fair = l.fairness(); fair == nil || fair.Flows != 2 {
		t.Errorf("%+v, want 2 flows with a share of one seat-nanosecond", fair)
	}
}

// A freeze is as long as requests are open and none is served: not the time before they came. One that is rejected ends none.
func TestFreezeOfOpenRequests(t *testing.T) {
	const s = 1_000_000_000
	z := &noAnswer{}
	z.enter(0)
	z.leave(1*s/2, 0, 0, true) // served soon
	z.enter(100 * s)
	z.enter(101 * s)
	z.leave(102*s, 0, 0, false) // rejected
	z.leave(103*s, 0, 0, true)
	if z.count != 1 || z.longestNs != 3*s || z.fromNs != 100*s || z.open != 0 {
		t.Errorf("%d freezes, the longest of %d ns from %d ns, %d open; want one of 3 s from 100 s", z.count, z.longestNs, z.fromNs, z.open)
	}
}

// Without kinds of requests, freezes are not looked for.
func TestFreezesNeedKinds(t *testing.T) {
	c, l := &Collector{}, &level{}
	if c.opened(0, &server.Request{Sent: server.Sent{Template: &server.Template{}}}, l); l.noAnswer.open != 0 {
		t.Errorf("%d requests are open", l.noAnswer.open)
	}
}

// A flow without requests has no demand left, also if its last request needed less than it was expected to.
func TestDemandOfAnEmptyFlow(t *testing.T) {
	f := &flow{level: &level{}, index: noIndex}
	f.enter(0, 100)
	f.waiting--
	f.leave(10, &server.Request{})
	if f.closeInterval(20); f.present != 0 || f.outstanding != 0 || f.intervalDemand != 0 {
		t.Errorf("%d requests are present, with a demand of %v, and of %v in the next interval", f.present, f.outstanding, f.intervalDemand)
	}
	if got := (&levelKind{}).expected(); got != 0 {
		t.Errorf("a kind without requests is expected to occupy %v", got)
	}
}

// A request failed by a call if the server has called something and answers an error, or if calls took most of its time; one
// for which the server was not ready did not even begin.
func TestEvidenceOfFailures(t *testing.T) {
	for name, c := range map[string]struct {
		how             *counter
		status          int16
		callsNs         int64
		notReady, calls int64
		spent           float64
	}{
		"error after a call":              {otherError, server.StatusInternalServerError, 1, 0, 1, 1},
		"error without a call":            {otherError, server.StatusInternalServerError, 0, 0, 0, 0},
		"too late, half of it in calls":   {deadline, server.StatusGatewayTimeout, 450, 0, 0, 450},
		"too late, most of it in calls":   {deadline, server.StatusGatewayTimeout, 451, 0, 1, 451},
		"not ready":                       {otherError, server.StatusTooManyRequests, 500, 1, 0, 0},
		"too late with the status of one": {deadline, server.StatusTooManyRequests, 451, 0, 1, 451},
	} {
		e := &evidence{workloads: make([]result.WorkloadEvidence, 1)}
		r := &server.Request{Sent: server.Sent{Template: &server.Template{}}, Details: &server.Details{Spent: server.Spent{CallsNs: c.callsNs}}}
		r.DispatchNs, r.FinishNs, r.Status = 100, 1000, c.status
		e.fail(1000, r, c.how)
		w := &e.workloads[0]
		total := 900.0
		if c.notReady > 0 {
			total = 0
		}
		if w.FailedRequests != 1 || w.NotReady != c.notReady || w.FailedByCall != c.calls || w.Failed.CallsNs != c.spent || w.Failed.TotalNs != total {
			t.Errorf("%s: %+v, want %+v and %v ns in all", name, w, c, total)
		}
	}
	var spent result.Spent
	r := &server.Request{}
	r.DispatchNs = -1 // it has been queued all the time
	if addSpent(&spent, 1000, r, 1); spent != (result.Spent{}) {
		t.Errorf("a request that was queued has spent %+v", spent)
	}
}

// batchesOf returns batches of a second with as many arrivals and dispatches, ten seats, and so many queued requests.
func batchesOf(arrived int64, waiting float64) []batch {
	all := make([]batch, batches)
	for i := range all {
		all[i] = batch{seconds: 1, waiting: waiting, limit: 10, arrived: arrived, dispatched: arrived}
	}
	return all
}

// A level is not in steady state if it was asked for all its seats, or if much more waits at the end than chance explains;
// of too few requests, or if none waited, nothing is known.
func TestLevelsThatAreNotSteady(t *testing.T) {
	for name, c := range map[string]struct {
		arrived  int64   // in each of 20 batches
		waiting  float64 // on average
		demand   float64 // seat-seconds, of the 200 there are
		left     int
		kind     string
		servedIn float64
	}{
		"asked for all seats":          {10, 1, 200, 0, result.Load1, 0},
		"asked for all but one":        {10, 1, 199, 0, "", 0},
		"too few requests":             {9, 1, 400, 0, "", 0},
		"none waited":                  {10, 0, 400, 0, "", 0},
		"a backlog at the end":         {20, 1, 100, 100, result.Backlog, 20 * 100 / 400.},
		"as much as chance explains":   {1, 1, 100, 13, "", 0},
		"no more than a twentieth":     {20, 1, 100, 19, "", 0},
		"all seats, and a backlog too": {20, 1, 300, 40, result.Load1, 20 * 40 / 400.},
	} {
		l := &level{flows: []*flow{{demand: c.demand * 1e9}}}
		l.waiting.value = c.left
		got := l.unsteady(batchesOf(c.arrived, c.waiting))
		switch {
		case (got == nil) != (c.kind == ""):
			t.Errorf("%s: %+v, want %q", name, got, c.kind)
		case got != nil && (string(got.Kind) != c.kind || got.ServedIn != c.servedIn || (got.Waiting > 0) != (c.left > 0)):
			t.Errorf("%s: %+v, want %q, served in %v s", name, got, c.kind, c.servedIn)
		}
	}
	if got := (&batch{seconds: 1, waiting: 5, arrived: 1}).waitNs(); got != 5e9 {
		t.Errorf("the only request of a batch waits for %v ns, want 5 s", got)
	}
	if got := (&batch{seconds: 1, waiting: 5}).waitNs(); got != 5e9 {
		t.Errorf("without an arrival the wait is %v ns, want 5 s", got)
	}
}

// A scenario changes its run by itself if it says so: not if a workload sends from the warm-up to the end.
func TestChangesByScript(t *testing.T) {
	for name, c := range map[string]struct {
		start, stop quantity.Duration
		want        bool
	}{
		"always the same":      {0, 0, false},
		"from the window on":   {10e9, 0, false},
		"later":                {10e9 + 1, 0, true},
		"up to the end":        {0, 60e9, false},
		"stops before the end": {0, 60e9 - 1, true},
	} {
		spec := &scenario.Spec{Duration: 60e9, Workload: []workload.Workload{{Start: c.start, Stop: c.stop}}}
		spec.Warmup.Duration = 10e9
		if got := changesByScript(spec); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A level begins with a storm of ten intervals, and is then in steady state: without a warm-up, the window begins too early.
func TestWarmupThatIsTooShort(t *testing.T) {
	l := &level{name: "l"}
	for i := range int64(200) {
		p := result.Point{StartNs: i * 1e9, EndNs: (i + 1) * 1e9, Arrived: 10, WaitingRequests: 4 + float64(i%3), ExecutingRequests: 5}
		if i < 10 {
			p.WaitingRequests = 95
		}
		l.points = append(l.points, p)
	}
	got := l.shortWarmup(0, 200e9, 1e9)
	if got == nil || got.EnoughNs != 10e9 || got.Early != 100 || got.Rest < 9.9 || got.Rest > 10.1 || got.Level != "l" {
		t.Errorf("without a warm-up: %+v, want 10 s, from 100 requests to 10", got)
	}
	if got := l.shortWarmup(10e9, 200e9, 1e9); got != nil {
		t.Errorf("with a warm-up of 10 s: %+v", got)
	}
}

// A percentile has a value from the first duration on.
func TestPercentileOfOneDuration(t *testing.T) {
	h := &measure.Histogram{Precision: measure.FinePrecision}
	name := &metric.Name{Metric: "wait", Stat: "p", Percentile: 42}
	if _, note := percentileOf(h, name); note != metric.NoSamples {
		t.Errorf("of none: %q", note)
	}
	h.Record(7)
	if value, note := percentileOf(h, name); value != 7 || note != "" {
		t.Errorf("of one: %v %q, want 7", value, note)
	}
}

// There are more flows than are listed: the others are combined by their FlowSchemas, at each level of these.
func TestFlowsThatAreNotListed(t *testing.T) {
	sc := &scenario.Scenario{}
	sc.Spec.Workload = []workload.Workload{{Name: "w"}}
	c := &Collector{scenario: sc}
	schema := &config.FlowSchema{Name: "s"}
	want := map[string]int{"a": result.MostFlows/2 + 40, "b": result.MostFlows/2 + 2}
	for _, name := range []string{"a", "b"} {
		l := &level{name: name, index: len(c.levels), shares: make([]float64, want[name]), queuedIn: make([]measure.Bitset, want[name])}
		g := &group{index: len(c.groups), schema: schema.Name, level: l}
		c.levels, c.groups = append(c.levels, l), append(c.groups, g)
		for i := range want[name] {
			l.flows = append(l.flows, &flow{level: l, group: g, index: int32(i), identity: server.NewFlow(i, schema, name, strconv.Itoa(i), nil), arrived: 1, demand: 1})
		}
	}
	s := &result.Summary{}
	c.addFlows(s)
	got := map[string]int{}
	for i := range s.Flows {
		got[s.Flows[i].PriorityLevel]++
	}
	for i := range s.OtherFlows {
		o := &s.OtherFlows[i]
		if got[o.PriorityLevel] += o.Number; int64(o.Number) != o.Arrived || o.Number == 0 {
			t.Errorf("%d other flows at %s have sent %d requests", o.Number, o.PriorityLevel, o.Arrived)
		}
	}
	if len(s.Flows) != result.MostFlows || len(s.OtherFlows) != 2 || !maps.Equal(got, want) {
		t.Errorf("%d listed, %d combined, %v by level; want %v", len(s.Flows), len(s.OtherFlows), got, want)
	}
}
