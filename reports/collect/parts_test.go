package collect

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"apfsim/core/config"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/api"
	"apfsim/sim/metric"
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
		var b brief
		f.level = &level{shares: []float64{0}}
		if b.set(&f); (b.Wait != nil) != (f.dispatched > 0) || b.Wait != nil && b.Wait.MaxNs != longest {
			t.Errorf("%d requests: package judge reads the waits %+v, want at most %d ns", n, b.Wait, longest)
		}
	}
}

// A part keeps each wait and each execution, also those of one nanosecond.
func TestDurationsOfAPart(t *testing.T) {
	p := &part{Measures: measure.New(measure.FinePrecision), batches: measure.NewBatcher(0, 1)}
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
	of := func(measured int64, seatNs float64) occupied { return occupied{measured: measured, seatNs: seatNs} }
	for name, c := range map[string]struct {
		flow     []flowKind
		level    []occupied // by kind, from 1
		allKinds occupied
		given    float64
		want     float64
	}{
		"of its kind in the flow":     {[]flowKind{{occupied: of(2, 20), kind: 1, arrived: 5}}, []occupied{of(4, 400)}, of(8, 8000), 7, 20 + 3*10},
		"of its kind at the level":    {[]flowKind{{kind: 1, arrived: 3}, {occupied: of(1, 50), kind: 2, arrived: 1}}, []occupied{of(4, 400), of(1, 50)}, of(5, 450), 7, 3*100 + 50},
		"of all kinds in the flow":    {[]flowKind{{kind: 1, arrived: 3}, {occupied: of(1, 50), kind: 2, arrived: 1}}, []occupied{{}, of(9, 90)}, of(9, 90), 7, 3*50 + 50},
		"of all kinds at the level":   {[]flowKind{{kind: 1, arrived: 3}}, []occupied{{}}, of(4, 80), 7, 3 * 20},
		"of nothing, as it was given": {[]flowKind{{kind: 1, arrived: 3}}, []occupied{{}}, occupied{}, 7, 7},
		"of nothing, but held":        {[]flowKind{{kind: 1, arrived: 3, holding: []holding{{occupied: 4, given: 2}, {occupied: 5, given: 5}}}}, []occupied{{}}, occupied{}, 7, 9},
		"held for longer":             {[]flowKind{{occupied: of(2, 20), kind: 1, arrived: 5, holding: []holding{{occupied: 3}, {occupied: 10}, {occupied: 14}}}}, []occupied{{}}, of(2, 20), 7, 20 + 3*10 + 4},
	} {
		l := &level{kinds: []levelKind{{}}, allKinds: c.allKinds}
		for _, o := range c.level {
			l.kinds = append(l.kinds, levelKind{occupied: o})
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
	var o occupied
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

// The warnings are about workloads without requests, those of which more than a twentieth has not ended, and requests that
// match the FlowSchema catch-all only.
func TestWarnings(t *testing.T) {
	group := func(name string, arrived, waiting, executing int64) result.Group {
		g := result.Group{Name: name}
		g.Arrived, g.Waiting, g.Executing = arrived, waiting, executing
		return g
	}
	s := &result.Summary{
		Workloads:   []result.Group{group("none", 0, 0, 0), group("ended", 100, 3, 2), group("open", 100, 4, 2)},
		FlowSchemas: []result.Group{group(config.CatchAll, 30, 0, 0), group("mine", 70, 0, 0)},
		CatchAll:    []result.CaughtAll{{Workload: "open", Requests: 30, Arrived: 100}},
	}
	want := []string{
		"workload none: no request arrived between the warm-up and the end of the run",
		"workload open: 6 % of its requests had not finished when the run ended; their latency is not in the statistics",
		"30 requests matched no FlowSchema other than catch-all: open (30 %)",
	}
	c := &Collector{}
	if c.addWarnings(s); !slices.Equal(s.Warnings, want) {
		t.Errorf("got %q, want %q", s.Warnings, want)
	}
	s.Warnings, s.FlowSchemas[0].Arrived, s.Workloads = nil, 0, nil
	if c.addWarnings(s); len(s.Warnings) != 0 {
		t.Errorf("got %q, want none", s.Warnings)
	}
}

// One probe is made in each thousandth of the window, and none after it.
func TestMomentsOfProbes(t *testing.T) {
	v := &Probes{fromNs: 5_000, toNs: 6_000_000 + 5_000, workloads: make([]virtualWorkload, 1)}
	w := &v.workloads[0]
	w.moments.Open(7, "w", 0, "probes")
	for i := range int64(probesPerWorkload) {
		if v.draw(w); w.nextNs < 5_000+6_000*i || w.nextNs > 5_000+6_000*(i+1) {
			t.Fatalf("the probe %d is at %d ns", i, w.nextNs)
		}
	}
	if next := v.Tick(6_000_000); next != v.toNs {
		t.Errorf("after the last probe, the next call is at %d ns, want the end", next)
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
