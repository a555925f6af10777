package fit_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"apfsim/experiment/fit"
)

// turning is a server of two cores on which lists of 14 ms and gets of 1.1 ms execute.
func turning(listsPerSecond int, turn string) string {
	return fmt.Sprintf(`apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: turning}
spec:
  duration: 60s
  servers: {flowControl: None, capacity: {cores: 2, turn: %s}}
  workload:
  - name: lists
    clients: 8
    as: {user: "lister-{i}"}
    request: {verb: list, resource: configmaps, namespace: big}
    execution: {lognormal: {mean: 14ms, sigma: 0.35}}
    arrivals: {poisson: {rate: %g/s}}
  - name: gets
    clients: 10
    as: {user: "getter-{i}"}
    request: {verb: get, resource: configmaps, namespace: big, name: one}
    execution: {lognormal: {mean: 1.1ms, sigma: 0.5}}
    arrivals: {poisson: {rate: 4/s}}
`, turn, float64(listsPerSecond)/8)
}

// estimateTurn fits a scenario to the log of a server with turns, whose capacity is known.
func estimateTurn(t *testing.T, listsPerSecond int, turn string, seed uint64) (*fit.Fitted, time.Duration) {
	t.Helper()
	text := turning(listsPerSecond, turn)
	base := strings.Replace(text[:strings.Index(text, "  workload:")], ", turn: "+turn, "", 1)
	f, capacity := fitCapacity(t, recordText(t, text, seed), fit.Options{Base: []byte(base), BaseFile: "base.yaml"})
	if c := f.Report.Capacity; capacity == nil || int64(capacity.Turn) != c.TurnNs || capacity.Cores != 2 {
		t.Errorf("the scenario has the capacity %+v, the report %+v", capacity, c)
	}
	return f, time.Duration(f.Report.Capacity.TurnNs)
}

// The turn of a server is found in its log, and a server without turns has none. The demands of the scenario are those of the original
// one: gets that waited for their turn do not count.
func TestTurnOfTheServer(t *testing.T) {
	for turn, want := range map[string]time.Duration{"0s": 0, "5ms": 5 * time.Millisecond} {
		f, got := estimateTurn(t, 70, turn, 3)
		if got != want {
			t.Errorf("turn %s: got %v; %+v", turn, got, f.Report.Notes)
		}
		if noted := strings.Contains(strings.Join(f.Report.Notes, "\n"), "as with turns of 5 ms (95 %: 5 ms to "); noted != (want > 0) {
			t.Errorf("turn %s: notes %+v", turn, f.Report.Notes)
		}
		sc := load(t, string(f.Scenario))
		for i, mean := range []float64{14e6, 1.1e6} {
			near(t, "demand of "+sc.Spec.Workload[i].Name, sc.Spec.Workload[i].Execution.MeanNs(), mean, 0.06)
		}
	}
}

// A turn in the scenario whose servers the fitted one has is kept, also a turn of 0s, and must be a duration.
func TestTurnThatIsGiven(t *testing.T) {
	log := recordText(t, turning(70, "10ms"), 1)
	text := turning(70, "10ms")
	for _, turn := range []string{"0s", "2ms"} {
		given := strings.Replace(text[:strings.Index(text, "  workload:")], "turn: 10ms", "turn: "+turn, 1)
		f, capacity := fitCapacity(t, log, fit.Options{Base: []byte(given), BaseFile: "base.yaml"})
		if c := f.Report.Capacity; capacity.Turn.String() != turn || time.Duration(c.TurnNs) != time.Duration(capacity.Turn) || c.TurnLowNs != 0 {
			t.Errorf("given %s: the scenario has %v, the report %+v", turn, capacity.Turn, c)
		}
	}
	given := strings.Replace(text[:strings.Index(text, "  workload:")], "turn: 10ms", "turn: soon", 1)
	if _, err := fit.Fit(opener(log), fit.Options{Capacity: true, Base: []byte(given), BaseFile: "base.yaml"}); err == nil || err.Error() != "base.yaml:6: spec.servers.capacity.turn: soon is not a duration; use a number with a unit, such as 10ms" {
		t.Errorf("%v", err)
	}
}

// A log that shows how busy its server was gives the cores, the turn and the visits together, and a scenario that has all of them executes as the log.
func TestTurnsAndCores(t *testing.T) {
	text := strings.Replace(turning(75, "10ms"), "    arrivals: {poisson: {rate: 4/s}}", "    visits: 4\n    arrivals: {poisson: {rate: 4/s}}", 1)
	f, capacity := fitCapacity(t, recordText(t, text, 2), fit.Options{})
	c := f.Report.Capacity
	if capacity == nil || capacity.Turn == 0 || c.TurnNs != int64(capacity.Turn) || c.TurnLowNs > 10e6 || c.TurnHighNs < 10e6 || *c.CoresLow > 2 || *c.CoresHigh < 2 {
		t.Fatalf("%+v; %v", capacity, f.Report.Notes)
	}
	if least, greatest := capacity.Ends(); int64(least.Turn) != c.TurnHighNs || int64(greatest.Turn) != c.TurnLowNs || least.Cores != *c.CoresLow {
		t.Errorf("the ends of the capacity are %+v and %+v; want turns of %v and %v", least, greatest, c.TurnHighNs, c.TurnLowNs)
	}
	for _, w := range load(t, string(f.Scenario)).Spec.Workload {
		if visits := max(1, w.Visits); (visits > 1) != strings.HasPrefix(w.Name, "getter") {
			t.Errorf("%s has %d visits", w.Name, visits)
		}
	}
	for _, w := range f.Report.Workloads {
		if (w.Kinds[0].Visits > 1) != strings.HasPrefix(w.Name, "getter") {
			t.Errorf("%s has %d visits in the report", w.Name, w.Kinds[0].Visits)
		}
	}
}

// With a capacity that is given, a log of few requests does not tell whether the short ones wait for turns, and says so. The log of another time does.
func TestTurnFromTheLogOfAnotherTime(t *testing.T) {
	text := turning(5, "10ms")
	o := fit.Options{Base: []byte(strings.Replace(text[:strings.Index(text, "  workload:")], ", turn: 10ms", "", 1)), BaseFile: "base.yaml"}
	light, busy := recordText(t, text, 1), recordText(t, turning(70, "10ms"), 2)
	notes := func(f *fit.Fitted) string { return strings.Join(f.Report.Notes, "\n") }
	f, capacity := fitCapacity(t, light, o)
	if c := f.Report.Capacity; c.TurnNs != 0 || len(c.TurnUnknown) != 1 || !strings.HasPrefix(c.TurnUnknown[0], "getter") || !strings.Contains(notes(f), "The log does not say whether short requests, such as those of getter") {
		t.Errorf("the light log: %+v, %s", c, notes(f))
	}
	// The interval has no turns, and those of programs in Go.
	if x := capacity.Interval; capacity.Turn != 0 || x == nil || x.Turn == nil || x.Turn.Low != 0 || time.Duration(x.Turn.High) != 10*time.Millisecond || !strings.Contains(notes(f), ", up to what they take with turns of 10 ms") {
		t.Errorf("the light log: %+v, %s", capacity, notes(f))
	}
	for _, w := range load(t, string(f.Scenario)).Spec.Workload {
		if visits := max(1, w.Visits); (visits == 2) != strings.HasPrefix(w.Name, "getter") {
			t.Errorf("%s has %d visits", w.Name, visits)
		}
	}
	o.CapacityFrom = []fit.Log{{File: "busy", Open: opener(busy)}}
	f, capacity = fitCapacity(t, light, o)
	if c := f.Report.Capacity; c.TurnNs == 0 || capacity.Turn == 0 || len(c.TurnUnknown) != 0 || c.Logs != 2 {
		t.Errorf("with the busy one: %+v, %s", c, notes(f))
	} else if least, greatest := capacity.Ends(); int64(least.Turn) != c.TurnHighNs || int64(greatest.Turn) != c.TurnLowNs || least.Cores != 2 || greatest.Cores != 2 {
		t.Errorf("the ends of the given capacity are %+v and %+v; want turns of %v and %v", least, greatest, c.TurnHighNs, c.TurnLowNs)
	}
	o.CapacityFrom = []fit.Log{{File: "without waits", Open: opener(regexp.MustCompile(`,"waitNs":\d+`).ReplaceAllString(busy, ""))}}
	if f, _ = fitCapacity(t, light, o); len(f.Report.Capacity.TurnUnknown) != 1 || !strings.Contains(notes(f), "capacity: a log of --capacity-from is left out: without waits: the log does not say when") {
		t.Errorf("with one without waits: %s", notes(f))
	}
}
