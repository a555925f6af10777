package fit_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"apfsim/experiment"
	"apfsim/experiment/fit"
	"apfsim/experiment/fit/check"
	"apfsim/reports/result"
	"apfsim/sim/machine"
	"apfsim/sim/scenario"
)

// Lists and gets share a server. Lists take 12 ms of a core on average, and gets 2 ms.
const shared = `  workload:
  - name: lists
    clients: 4
    as: {user: "lister-{i}"}
    request: {verb: list, resource: configmaps, namespace: big}
    execution: {lognormal: {mean: 12ms, sigma: 0.4}}
    arrivals: {poisson: {rate: 20/s}}
  - name: gets
    clients: 10
    as: {user: "getter-{i}"}
    request: {verb: get, resource: configmaps, namespace: big, name: one}
    execution: {exponential: {mean: 2ms}}
    arrivals: {poisson: {rate: 6/s}}
`

// onServers returns the text of a scenario with fields of the servers.
func onServers(fields, workloads string) string {
	return strings.Replace(base, "maxMutatingRequestsInflight: 5}", "maxMutatingRequestsInflight: 5"+fields+"}", 1) + workloads
}

// fitCapacity fits a scenario, and returns it and its capacity.
func fitCapacity(t *testing.T, log string, o fit.Options) (*fit.Fitted, *machine.Capacity) {
	t.Helper()
	o.File, o.Name, o.Capacity = "requests.jsonl", "fitted", true
	f, err := fit.Fit(opener(log), o)
	if err != nil {
		t.Fatal(err)
	}
	return f, load(t, string(f.Scenario)).Spec.Servers.Capacity
}

// The log of a server with 1.5 cores gives its capacity, and what requests take on an idle server. Runs of the fitted scenario
// have the executions of the log, and those with more lists have the executions of a run of the original one with as many.
func TestCapacityOfTheServer(t *testing.T) {
	seats := strings.NewReplacer("maxRequestsInflight: 25", "maxRequestsInflight: 100") // for which nobody waits
	text := seats.Replace(onServers(", capacity: {cores: 1.5}", shared))
	f, capacity := fitCapacity(t, recordText(t, text, 7), fit.Options{Base: []byte(seats.Replace(base)), BaseFile: "base.yaml"})
	c := f.Report.Capacity
	if !c.Identifiable || capacity == nil || capacity.Contention != 0 || capacity.Coherency != 0 || *c.CoresLow > 1.5 || *c.CoresHigh < 1.5 {
		t.Fatalf("capacity %+v of the scenario, %+v", capacity, f.Report.Notes)
	}
	near(t, "cores", capacity.Cores, 1.5, 0.05)
	if b := capacity.Interval.Cores; b.Low != *c.CoresLow || *b.High != *c.CoresHigh {
		t.Errorf("the interval of the scenario is %+v, and that of the report %v to %v", b, *c.CoresLow, *c.CoresHigh)
	}
	near(t, "demands of busy moments", *c.BusyDemandRatio, 1, 0.05)
	near(t, "their dispersion", *c.DispersionBusy, *c.DispersionIdle, 0.2)
	sc := load(t, string(f.Scenario))
	for i, mean := range []float64{12e6, 2e6} {
		near(t, "demand of "+sc.Spec.Workload[i].Name, sc.Spec.Workload[i].Execution.MeanNs(), mean, 0.05)
	}
	checked, err := check.Run(context.Background(), f, sc, 9, silent{})
	if err != nil {
		t.Fatal(err)
	}
	if float64(checked.Within) < 0.75*float64(len(checked.Rows)) || checked.SlowTimes != "" {
		t.Errorf("%d of %d statistics are within their intervals, slow times %q: %+v", checked.Within, len(checked.Rows), checked.SlowTimes, checked.Outside())
	}
	more := strings.Replace(string(f.Scenario), "clients: 4\n", "clients: 6\n", 1)
	truth, predicted := meanExecution(t, recordText(t, strings.Replace(text, "clients: 4\n", "clients: 6\n", 1), 8)), meanExecution(t, recordText(t, more, 9))
	near(t, "mean execution with half as many lists again", predicted, truth, 0.2)
	if before := meanExecution(t, recordText(t, text, 8)); truth < 1.2*before {
		t.Errorf("with more lists, executions take %g ns instead of %g", truth, before)
	}
}

// The capacities of simulated servers of several kinds are in the intervals, but for one of twenty.
func TestCapacitiesOfServers(t *testing.T) {
	inside, all := 0, 0
	for _, c := range some(4, []struct {
		capacity, rate    string
		cores, contention float64
	}{
		{"{cores: 1}", "rate: 12/s", 1, 0},
		{"{cores: 2}", "rate: 35/s", 2, 0},
		{"{cores: 4, contention: 0.01}", "rate: 60/s", 4, 0.01},
		{"{contention: 0.3}", "rate: 35/s", math.Inf(1), 0.3},
		{"{cores: 16}", "rate: 280/s", 16, 0},
	}) {
		t.Run(c.capacity, func(t *testing.T) {
			text := onServers(", capacity: "+c.capacity, strings.Replace(shared, "rate: 20/s", c.rate, 1))
			text = strings.Replace(text, "maxRequestsInflight: 25", "maxRequestsInflight: 100", 1)
			f, capacity := fitCapacity(t, recordText(t, strings.Replace(text, "duration: 60s", "duration: 20s", 1), 1), fit.Options{})
			r := f.Report.Capacity
			if !r.Identifiable || capacity == nil || capacity.Measured != r.Busy {
				t.Fatalf("capacity %+v of the scenario: %q", capacity, f.Report.Notes)
			}
			for _, p := range []struct {
				what      string
				truth     float64
				low, high *float64
			}{{"cores", c.cores, r.CoresLow, r.CoresHigh}, {"contention", c.contention, r.ContentionLow, r.ContentionHigh}} {
				all++
				if p.low != nil && p.truth < *p.low || p.high != nil && p.truth > *p.high {
					t.Logf("%s %g: %q", p.what, p.truth, f.Report.Notes)
					continue
				}
				inside++
			}
		})
	}
	if inside < all-1 {
		t.Errorf("%d of %d parameters are in their intervals", inside, all)
	}
}

// Each of two servers has the capacity, which their log shows; so does the log of another time, where the first one does not.
func TestCapacityFromSeveralLogs(t *testing.T) {
	seats := strings.NewReplacer("maxRequestsInflight: 25", "maxRequestsInflight: 100") // for which nobody waits
	two := seats.Replace(onServers(", replicas: 2, capacity: {cores: 1.5}", strings.Replace(shared, "rate: 20/s", "rate: 40/s", 1)))
	f, capacity := fitCapacity(t, recordText(t, strings.Replace(two, "duration: 60s", "duration: 20s", 1), 7), fit.Options{Base: []byte(seats.Replace(onServers(", replicas: 2", ""))), BaseFile: "base.yaml"})
	c := f.Report.Capacity
	if capacity == nil || c.Logs != 2 || *c.CoresLow > 1.5 || *c.CoresHigh < 1.5 {
		t.Fatalf("two servers: %+v", f.Report.Notes)
	}
	near(t, "cores of each of two servers", capacity.Cores, 1.5, 0.05)
	near(t, "demand of lists on two servers", load(t, string(f.Scenario)).Spec.Workload[0].Execution.MeanNs(), 12e6, 0.05)

	idle := recordText(t, onServers(", capacity: {cores: 1.5}", strings.ReplaceAll(shared, "rate: 20/s", "rate: 0.5/s")), 7)
	busy := recordText(t, onServers(", capacity: {cores: 1.5}", shared), 8)
	if _, capacity := fitCapacity(t, idle, fit.Options{}); capacity.IsSet() {
		t.Fatal("the first log alone shows the capacity")
	}
	f, capacity = fitCapacity(t, idle, fit.Options{CapacityFrom: []fit.Log{{File: "busy", Open: opener(busy)}}})
	c = f.Report.Capacity
	if capacity == nil || c.Logs != 2 || *c.CoresLow > 1.5 || *c.CoresHigh < 1.5 {
		t.Fatalf("two logs: %+v", f.Report.Notes)
	}
	if arrivals := f.Report.Workloads[1].Arrivals; !strings.HasPrefix(arrivals, "Poisson, 0.") {
		t.Errorf("lists arrive %s, want the rate of the first log", arrivals)
	}
	withoutWaits := opener(regexp.MustCompile(`,"waitNs":\d+`).ReplaceAllString(busy, ""))
	f, capacity = fitCapacity(t, idle, fit.Options{CapacityFrom: []fit.Log{{File: "without waits", Open: withoutWaits}}})
	if reason := f.Report.Capacity.Reason; capacity.IsSet() || reason != "without waits: the log does not say when requests began to execute" {
		t.Errorf("capacity %+v, reason %q", capacity, reason)
	}
	if _, err := fit.Fit(opener(idle), fit.Options{File: "idle", Capacity: true, CapacityFrom: []fit.Log{{File: "empty", Open: opener("")}}}); err == nil || !strings.Contains(err.Error(), "empty: has no request") {
		t.Errorf("error %v", err)
	}
}

// Creations wait for a webhook, updates for etcd after they were served, and lists for neither.
func TestDelaysOfWorkloads(t *testing.T) {
	text := onServers(", capacity: {cores: 1.5}", strings.Replace(shared, "rate: 20/s", "rate: 14/s", 1)+`  - name: creations
    as: {user: creator}
    request: {verb: create, resource: configmaps, namespace: big}
    execution: 0s
    delay: {lognormal: {mean: 40ms, sigma: 0.3}}
    arrivals: {poisson: {rate: 40/s}}
  - name: updates
    as: {user: updater}
    request: {verb: update, resource: configmaps, namespace: big, name: one}
    execution: {lognormal: {mean: 4ms, sigma: 0.4}}
    delay: 6ms
    arrivals: {poisson: {rate: 60/s}}
`)
	text = strings.Replace(strings.Replace(text, "duration: 60s", "duration: 20s", 1), "maxRequestsInflight: 25", "maxRequestsInflight: 100", 1)
	f, capacity := fitCapacity(t, recordText(t, text, 3), fit.Options{})
	c := f.Report.Capacity
	if capacity == nil || *c.CoresLow > 1.5 || *c.CoresHigh < 1.5 {
		t.Fatalf("capacity %+v: %q", capacity, f.Report.Notes)
	}
	sc := load(t, string(f.Scenario))
	for _, want := range []struct {
		workload      string
		demand, delay float64
	}{{"lister-list-configmaps", 12e6, 0}, {"creator-create-configmaps", 0, 40e6}, {"updater-update-configmaps", 4e6, 6e6}} {
		found := false
		for _, w := range sc.Spec.Workload {
			if w.Name != want.workload {
				continue
			}
			found = true
			delay := 0.0
			if w.Delay.IsSet() {
				delay = w.Delay.MeanNs()
			}
			if math.Abs(w.Execution.MeanNs()-want.demand) > 0.08*want.demand+0.7e6 || math.Abs(delay-want.delay) > 0.02*want.delay+0.7e6 {
				t.Errorf("%s: execution %g, delay %g ns", w.Name, w.Execution.MeanNs(), delay)
			}
		}
		if !found {
			t.Errorf("no workload %s", want.workload)
		}
	}
	for _, w := range f.Report.Workloads {
		if delay := w.Kinds[0].Delay; (delay != "") != (w.Name == "creator-create-configmaps" || w.Name == "updater-update-configmaps") {
			t.Errorf("%s has the delay %q", w.Name, delay)
		}
	}
}

// An audit log alone does not say how long requests waited, so that it is not known which executed at the same time.
func TestCapacityWithoutWaits(t *testing.T) {
	log := recordText(t, onServers(", capacity: {cores: 1.5}", shared), 7)
	f, capacity := fitCapacity(t, regexp.MustCompile(`,"waitNs":\d+`).ReplaceAllString(log, ""), fit.Options{})
	if r := f.Report.Capacity; capacity.IsSet() || r.Identifiable || !strings.Contains(r.Reason, "does not say when requests began") {
		t.Errorf("%+v", r)
	}
}

// meanExecution returns the mean execution of the requests of a log, in nanoseconds.
func meanExecution(t *testing.T, log string) float64 {
	t.Helper()
	sum, n := 0.0, 0.0
	if err := fit.EachEntry(opener(log), "log", func(e *fit.Entry) {
		sum += float64(e.TookNs())
		n++
	}); err != nil {
		t.Fatal(err)
	}
	return sum / max(1, n)
}

// Where a log does not show the capacity, the scenario is what it would be without the question, but for up to what executions were
// measured, and the report says why.
func TestCapacityThatALogDoesNotShow(t *testing.T) {
	closed := strings.ReplaceAll(shared, "rate: 20/s", "rate: 2/s")
	store := "  store: {}\n"
	for _, c := range []struct {
		name, text, reason string
		o                  fit.Options
	}{
		{"requests that share nothing", onServers("", shared), "shows no busy moment", fit.Options{}},
		{"a server that is never busy", onServers(", capacity: {cores: 8}", closed), "shows no busy moment", fit.Options{}},
		{"few requests", onServers(", capacity: {cores: 1}", strings.NewReplacer("2/s", "0.4/s", "6/s", "0.1/s").Replace(closed)), "has too few executions", fit.Options{}},
		{"more servers than the scenario has", onServers(", replicas: 2, capacity: {cores: 1}", shared), "of 2 servers, and the scenario has 1", fit.Options{}},
		{"a store", onServers("", shared), "has a store", fit.Options{Base: []byte(onServers("", "") + store)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := recordText(t, c.text, 7)
			f, capacity := fitCapacity(t, log, c.o)
			r := f.Report.Capacity
			if capacity.IsSet() || r.Identifiable || !strings.Contains(r.Reason, c.reason) {
				t.Errorf("capacity %+v, %+v, want the reason %q", capacity, r, c.reason)
			}
			o := c.o
			o.File, o.Name = "requests.jsonl", "fitted"
			without, err := fit.Fit(opener(log), o)
			if err != nil {
				t.Fatal(err)
			}
			measured := regexp.MustCompile(`,? ?capacity: \{[^}]*\}`)
			if without.Report.Capacity != nil || string(without.Scenario) != measured.ReplaceAllString(string(f.Scenario), "") {
				t.Errorf("the scenario is another one without the question:\n%s\n%s", without.Scenario, f.Scenario)
			}
			if notes := strings.Join(f.Report.Notes, "\n"); !strings.Contains(notes, "capacity: ") || math.Abs(float64(len(f.Report.Notes)-len(without.Report.Notes))) != 1 {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

// A light load says nothing of a greater one: runs of the fitted scenario say so from the load on at which more requests execute than
// the log has, and do not before.
func TestLoadThatTheLogHasNot(t *testing.T) {
	light := strings.NewReplacer("rate: 20/s", "rate: 4/s", "rate: 6/s", "rate: 2/s").Replace(shared)
	f, capacity := fitCapacity(t, recordText(t, onServers(", capacity: {cores: 8}", light), 7), fit.Options{Base: []byte(base), BaseFile: "base.yaml"})
	if capacity.IsSet() || capacity == nil || capacity.Measured == 0 || capacity.Average == 0 {
		t.Fatalf("capacity %+v", capacity)
	}
	for _, c := range []struct {
		load   float64
		beyond bool
	}{{1, false}, {1.2, false}, {4, true}, {8, true}} {
		sc := load(t, string(f.Scenario))
		for i := range sc.Spec.Workload {
			sc.Spec.Workload[i] = sc.Spec.Workload[i].Loaded(c.load)
		}
		sc.Spec.Replications = 1
		runs := experiment.Begin(context.Background(), []*scenario.Scenario{sc}, experiment.Outputs{}, experiment.Precision{}, silent{})
		run, err := runs.Groups[0].Next()
		runs.Stop()
		if err != nil {
			t.Fatal(err)
		}
		if run.Summary.Verdict.Distrusts(result.UnknownCapacity) != c.beyond {
			t.Errorf("load %g: %q", c.load, run.Summary.Verdict.Notes())
		}
	}
}

// With a capacity that was measured otherwise, a log that does not show it gives the demands, and says whether it agrees: its busy
// moments do not have greater demands than others.
func TestGivenCapacity(t *testing.T) {
	light := strings.Replace(shared, "rate: 20/s", "rate: 12/s", 1)
	log := recordText(t, onServers(", capacity: {cores: 1.5}", light), 7)
	demands := func(capacity string) (f *fit.Fitted, lists float64) {
		f, _ = fitCapacity(t, log, fit.Options{Base: []byte(onServers(", capacity: "+capacity, "")), BaseFile: "base.yaml"})
		if c := f.Report.Capacity; !c.Given || !c.Identifiable || c.CoresLow != nil || c.BusyDemandRatio == nil || !strings.Contains(string(f.Scenario), "capacity: "+strings.TrimSuffix(capacity, "}")) {
			t.Fatalf("%+v\n%s", c, f.Scenario)
		}
		for _, w := range load(t, string(f.Scenario)).Spec.Workload {
			if w.Name == "lister-list-configmaps" {
				return f, w.Execution.MeanNs()
			}
		}
		t.Fatal("no lists")
		return nil, 0
	}
	f, lists := demands("{cores: 1.5}")
	near(t, "demand of lists", lists, 12e6, 0.05)
	near(t, "demands of busy moments", *f.Report.Capacity.BusyDemandRatio, 1, 0.05)
	if f, lists := demands("{cores: 4}"); lists < 13e6 || *f.Report.Capacity.BusyDemandRatio < 1.2 {
		t.Errorf("with 4 cores, lists take %g ns, and %g times as much in busy moments", lists, *f.Report.Capacity.BusyDemandRatio)
	}
	if _, err := fit.Fit(opener(log), fit.Options{Capacity: true, Base: []byte(onServers(", capacity: {cores: many}", "")), BaseFile: "base.yaml"}); err == nil || !strings.Contains(err.Error(), "spec.servers.capacity: cores, contention or coherency is not a number") {
		t.Errorf("error %v", err)
	}
}

// A capacity that was measured with a request keeps its throughput: if lists take 1.25 times as long alone in the log, there are as many more cores. It
// stays as it is if they take more than twice as long, because they are other lists then, and if the log has none.
func TestCalibratedCapacity(t *testing.T) {
	log := recordText(t, onServers(", capacity: {cores: 1.5}", strings.Replace(shared, "rate: 20/s", "rate: 12/s", 1)), 7)
	for _, c := range []struct {
		calibrated, note string
		cores            float64
		unlike           bool
	}{
		{"{verb: list, resource: configmaps, namespace: big, demand: 9.6ms}", "capacity: that of the scenario given, with 1.2", 1.5, false},
		{"{verb: list, resource: configmaps, namespace: big, demand: 5ms}", "times as long alone in the log, so that these are others, or the server is not the one that was measured; the cores stay as they are", 1.2, true},
		{"{verb: list, resource: configmaps, demand: 9.6ms}", "capacity: the log does not have enough of the requests with which it was measured; the cores stay as they are", 1.2, false},
	} {
		f, capacity := fitCapacity(t, log, fit.Options{BaseFile: "base.yaml",
			Base: []byte(onServers(", capacity: {cores: 1.2, calibrated: "+c.calibrated+", interval: {cores: {low: 1, high: 1.4}}}", ""))})
		notes := strings.Join(f.Report.Notes, "\n")
		near(t, "cores", capacity.Cores, c.cores, 0.05)
		near(t, "scale", f.Report.Capacity.Scale, capacity.Cores/1.2, 0.001)
		near(t, "least cores", capacity.Interval.Cores.Low, f.Report.Capacity.Scale, 0.001)
		near(t, "most cores", *capacity.Interval.Cores.High, 1.4*f.Report.Capacity.Scale, 0.001)
		if unlike := f.Report.Capacity.DemandRatio; !strings.Contains(notes, c.note) || (unlike != nil) != c.unlike || unlike != nil && (*unlike < 2 || *unlike > 3) {
			t.Errorf("%s: %s; unlike %v", c.calibrated, notes, unlike)
		}
	}
	text := onServers(", capacity: {cores: 1.2, calibrated: {verb: list, resource: configmaps, demand: long}}", "")
	if _, err := fit.Fit(opener(log), fit.Options{Capacity: true, Base: []byte(text), BaseFile: "base.yaml"}); err == nil || !strings.Contains(err.Error(), `spec.servers.capacity.calibrated.demand: "long" is not a duration above 0; use a number with a unit, such as 12ms`) {
		t.Errorf("error %v", err)
	}
}

// A server that was slow for two seconds is told, also if one minute hides them in all percentiles.
func TestSlowTimes(t *testing.T) {
	slow := ", capacity: {cores: 8, speed: [{at: 20s, factor: 0.2}, {at: 22s, factor: 1}]}"
	f, _ := fitCapacity(t, recordText(t, onServers(slow, shared), 7), fit.Options{Base: []byte(base), BaseFile: "base.yaml"})
	c, err := check.Run(context.Background(), f, load(t, string(f.Scenario)), 9, silent{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(c.SlowTimes, "the server was slow at times: in the log, the mean latency of the requests of some second was ") {
		t.Errorf("%q in %+v", c.SlowTimes, c.Rows)
	}
}

// A server that is slow for 0.25 s every 8 s, for another reason than how many requests execute, has a capacity that the log suggests, and that never makes it so
// slow: it is given up. That of a server that is slow once stays. A capacity that is given stays, too, and the report says that it does not explain the log.
func TestCapacityThatDisagrees(t *testing.T) {
	slow := func(times int) string {
		var speed []string
		for i := range times {
			speed = append(speed, fmt.Sprintf("{at: %dms, factor: 0.25}, {at: %dms, factor: 1}", 4000+8000*i, 4250+8000*i))
		}
		return recordText(t, onServers(", capacity: {cores: 2, speed: ["+strings.Join(speed, ", ")+"]}", shared), 7)
	}
	settle := func(log, given string) (*fit.Fitted, *scenario.Scenario, *check.Check) {
		f, _ := fitCapacity(t, log, fit.Options{Base: []byte(onServers(given, "")), BaseFile: "base.yaml"})
		if !f.Report.Capacity.Identifiable {
			t.Fatalf("%s", f.Report.Capacity)
		}
		f, sc, c, err := check.Settle(context.Background(), f, filepath.Join(t.TempDir(), "scenario.yaml"), 9, func(*scenario.Scenario) experiment.Progress { return silent{} })
		if err != nil {
			t.Fatal(err)
		}
		return f, sc, c
	}
	often, once := slow(7), slow(1)
	f, sc, c := settle(often, "")
	if k, in := f.Report.Capacity, sc.Spec.Servers.Capacity; k.Identifiable || k.Most < 3 || in.Cores != 0 || in.Average == 0 {
		t.Errorf("%s; %+v", k, in)
	} else if !strings.HasPrefix(k.String(), "capacity: unknown, because a scenario with the one that the log suggests is not like the log: in a twentieth of the seconds of the log, the mean latency was ") {
		t.Errorf("%s", k)
	}
	if c.Disagrees != "" || !strings.HasPrefix(c.Caution(), "the server was slow at times: ") {
		t.Errorf("without a capacity: %q, %q", c.Disagrees, c.Caution())
	}
	if f, _, c := settle(once, ""); !f.Report.Capacity.Identifiable || c.Disagrees != "" || c.SlowTimes == "" {
		t.Errorf("slow once: %s; %q, %q", f.Report.Capacity, c.Disagrees, c.SlowTimes)
	}
	f, sc, c = settle(often, ", capacity: {cores: 2}")
	if !f.Report.Capacity.Given || sc.Spec.Servers.Capacity.Cores != 2 || !strings.HasPrefix(c.Caution(), "the capacity given does not explain how fast the server was: in a twentieth of the seconds of the log, ") {
		t.Errorf("given: %s; %q", f.Report.Capacity, c.Caution())
	}
}
