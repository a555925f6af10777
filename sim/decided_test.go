package sim_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/reports/collect"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/scenario/loader"
)

// logged is what a server logged: ten lists, a second apart, which took three seats each, of a FlowSchema that the
// configuration would not give them.
func logged() string {
	var b bytes.Buffer
	for i := range 10 {
		fmt.Fprintf(&b, `{"arrivalNs":%d,"user":"u","groups":["system:authenticated"],"verb":"list","resource":"pods","executionNs":1000000000,`+
			`"flowSchema":"service-accounts","priorityLevel":"workload-low","outcome":"executed","waitNs":0,"seats":3}`+"\n", int64(i)*1e9)
	}
	return b.String()
}

// decidedRun runs a scenario that replays the log, and returns what the comparison says, and the seat-seconds.
func decidedRun(t *testing.T, text, trace string) (*result.Replay, map[string]float64) {
	t.Helper()
	loaded, mistakes := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}, "t.jsonl": {Data: []byte(trace)}}, "s.yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	run := sim.New(loaded[0])
	measurement := collect.Measure(run, 1e9)
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	s := measurement.Result().Summary
	used := map[string]float64{}
	for _, f := range s.Flows {
		used[f.PriorityLevel] += f.ServiceSeatSeconds
	}
	return s.Replay, used
}

// A replay takes FlowSchema, level and seats from the log. With another configuration, it takes the seats alone; with a
// release that estimates otherwise, no seats; without decided: Log, nothing.
func TestDecidedByLog(t *testing.T) {
	suggested := config.Suggested(rules.Default()).Digest()
	const shares = `
  config: {objects: [{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, metadata: {name: more}, spec: {type: Limited, limited: {nominalConcurrencyShares: 1, limitResponse: {type: Reject}}}}]}`
	latest := rules.Default().Version
	for _, c := range []struct {
		what, version, more, decided string
		level                        string
		seats                        float64
		matches                      string
	}{
		{"as the log says", latest, "", ", decided: Log, server: {kubernetesVersion: \"" + latest + "\", configuration: " + suggested + "}", "workload-low", 3, "true"},
		{"of any server", latest, "", ", decided: Log", "workload-low", 3, "true"},
		{"another configuration", latest, shares, ", decided: Log, server: {configuration: " + suggested + "}", "global-default", 3, "a what-if"},
		{"another release", "1.20", "", ", decided: Log, server: {kubernetesVersion: \"" + latest + "\"}", "workload-low", 1, "false"},
		{"the servers decide", latest, "", "", "global-default", 1, "not compared"},
	} {
		r, used := decidedRun(t, fmt.Sprintf("apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: x}\nspec:\n  duration: 20s\n"+
			"  servers: {kubernetesVersion: %q}%s\n  workload: [{name: w, arrivals: {trace: {file: t.jsonl%s}}}]\n", c.version, c.more, c.decided), logged())
		if got := used[c.level]; got != 10*c.seats {
			t.Errorf("%s: %v, want %v seat-seconds in %s", c.what, used, 10*c.seats, c.level)
		}
		matches := "not compared"
		if r != nil && r.Matches == nil {
			matches = "a what-if"
		} else if r != nil {
			matches = fmt.Sprint(*r.Matches)
		}
		if matches != c.matches {
			t.Errorf("%s: the replay matches: %s, want %s: %+v", c.what, matches, c.matches, r)
		}
	}
}

// The comparison follows from its definition: a rejection that the replay does not have may be chance, more than a fifth of the
// requests with another outcome are not, nor waits that all requests have in the log alone; what the log does not say is
// not compared.
func TestReplayIsComparedWithItsLog(t *testing.T) {
	const text = "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: x}\nspec:\n  duration: 20s\n" +
		"  workload: [{name: w, arrivals: {trace: {file: t.jsonl, decided: Log}}}]\n"
	for _, c := range []struct {
		what, from, to string
		n              int // how many lines are changed
		rejected       int64
		equal          float64
		disagrees      string
		matches        bool
	}{
		{"equal", "", "", 0, 0, 1, "[]", true},
		{"one rejected in the log alone", `"outcome":"executed"`, `"outcome":"rejected"`, 1, 1, 0.9, "[]", true},
		{"three rejected in the log alone", `"outcome":"executed"`, `"outcome":"rejected"`, 3, 3, 0.7, "[]", false},
		{"eight rejected in the log alone", `"outcome":"executed"`, `"outcome":"rejected"`, 8, 8, 0.2, "[rejected]", false},
		{"without an outcome", `"outcome":"executed",`, ``, 9, 0, 1, "[]", true},
		{"a wait of few", `"waitNs":0`, `"waitNs":9000000000`, 7, 0, 1, "[]", true},
		{"a wait of all", `"waitNs":0`, `"waitNs":9000000000`, 10, 0, 1, "[wait]", false},
	} {
		r, _ := decidedRun(t, text, strings.Replace(logged(), c.from, c.to, c.n))
		if r.RejectedInLog != c.rejected || r.RejectedInReplay != 0 || *r.OutcomeEqual != c.equal || fmt.Sprint(r.Levels[0].Disagrees) != c.disagrees ||
			*r.Matches != c.matches || r.B != c.rejected || r.C != 0 {
			t.Errorf("%s: %+v", c.what, r)
		}
	}
}
