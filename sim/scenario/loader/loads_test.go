package loader

import (
	"strings"
	"testing"

	"apfsim/sim/scenario/assign"
)

const twoWorkloads = `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: two}
spec:
  duration: 60s
  workload:
  - {name: mice, clients: 10, load: 3, as: {user: u}, request: {verb: get, path: /version}, execution: 1ms, arrivals: {closed: {think: 1s}}}
  - {name: elephants, as: {user: u}, request: {verb: get, path: /version}, execution: 1ms, arrivals: {poisson: {rate: 8/s}}}
`

func loads(t *testing.T, texts ...string) []assign.Load {
	t.Helper()
	all, err := assign.ParseLoads("--load", texts)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A factor multiplies the load that the scenario has, and factors multiply each other.
func TestLoadsMultiply(t *testing.T) {
	for _, c := range []struct {
		loads   []string
		clients int
		rate    float64
	}{
		{nil, 30, 8}, {[]string{"1"}, 30, 8}, {[]string{"2"}, 60, 16}, {[]string{"elephants=2"}, 30, 16}, {[]string{"2", "mice=0.5"}, 30, 16},
	} {
		s, wrong := Load(files("s.yaml", twoWorkloads), "s.yaml", Options{Load: loads(t, c.loads...)})
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		if w := s[0].Spec.Workload; w[0].Clients != c.clients || float64(w[1].Arrivals.Poisson.Rate) != c.rate {
			t.Errorf("--load %v: %d mice and %v elephants/s, want %d and %v", c.loads, w[0].Clients, w[1].Arrivals.Poisson.Rate, c.clients, c.rate)
		}
	}
}

// Each document of a file has its own loads.
func TestLoadsOfTwoScenarios(t *testing.T) {
	text := twoWorkloads + "---\n" + strings.NewReplacer("name: two", "name: three", "load: 3", "load: 5").Replace(twoWorkloads)
	s, wrong := Load(files("s.yaml", text), "s.yaml", Options{Load: loads(t, "2")})
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	if a, b := s[0].Spec.Workload[0].Clients, s[1].Spec.Workload[0].Clients; a != 60 || b != 100 {
		t.Errorf("%d and %d mice, want 60 and 100", a, b)
	}
}

func TestMistakesInLoads(t *testing.T) {
	withTrace := strings.Replace(twoWorkloads, "  - {name: mice", "  - {name: log, arrivals: {trace: {file: t.jsonl}}}\n  - {name: mice", 1)
	trace := `{"id":1,"arrivalNs":0,"user":"u","groups":[],"verb":"get","path":"/version","executionNs":1}` + "\n"
	for _, c := range []struct {
		text  string
		loads []string
		want  []string
	}{
		{twoWorkloads, []string{"mcie=2"}, []string{`--load mcie=2: there is no workload "mcie" (did you mean "mice"?)`}},
		{strings.Replace(twoWorkloads, "load: 3", "load: 0", 1), nil, []string{"s.yaml:7:37: spec.workload[0].load: 0: want more than 0 and at most 1e6"}},
		{strings.Replace(twoWorkloads, "load: 3", "load: lots", 1), []string{"2"}, []string{"s.yaml:7:37: spec.workload[0].load: \"lots\" is a string; want a number"}},
		{twoWorkloads, []string{"mice=1e6"}, []string{"--load mice=1e+06: spec.workload[0].load: 3e+06: want more than 0 and at most 1e6"}},
		{twoWorkloads, []string{"elephants=1e6", "elephants=1e5"}, []string{"--load elephants=100000: spec.workload[1].load: 1e+11: want more than 0 and at most 1e6"}},
		{strings.Replace(twoWorkloads, "rate: 8/s", "rate: 8e8/s", 1), []string{"elephants=2"},
			[]string{"--load elephants=2: spec.workload[1].load: 2: makes a rate of more than 1e9/s, one request per nanosecond"}},
		{strings.Replace(twoWorkloads, "clients: 10", "clients: 9000000", 1), nil,
			[]string{"s.yaml:7:42: spec.workload[0].load: 3 times 9000000 clients: want at most 10000000 clients"}},
		{withTrace, []string{"2"}, []string{"--load 2: spec.workload[0].load: 2: a trace is replayed with the times of its requests, which no load changes; want 1, or the scenario that 'apfsim import --fit' makes of the log"}},
	} {
		_, wrong := Load(files("s.yaml", c.text, "t.jsonl", trace), "s.yaml", Options{Load: loads(t, c.loads...)})
		wantMistakes(t, wrong, c.want...)
	}
	if s := mustLoad(t, strings.Replace(twoWorkloads, "clients: 10, load: 3", "load: 1.1", 1)); len(s.Warnings) != 1 || s.Warnings[0].Message != "1.1 times the number of clients, 1, is rounded to 1" {
		t.Errorf("warnings are %v, want one of a load that is rounded", s.Warnings)
	}
}

// A total is divided among the clients. A rate that was meant as a total is warned of.
func TestTotalOfAllClients(t *testing.T) {
	total := strings.Replace(twoWorkloads, "elephants, as: {user: u}", "elephants, clients: 900, as: {user: u}", 1)
	total = strings.Replace(total, "execution: 1ms, arrivals: {poisson: {rate: 8/s}}", "execution: 1s, arrivals: {poisson: {total: 90/s}}", 1)
	s := mustLoad(t, total)
	if p := s.Spec.Workload[1].Arrivals.Poisson; p.Rate != 0.1 || p.Total != 0 || len(s.Warnings) > 0 {
		t.Errorf("900 clients with 90/s in total have %+v each, want 0.1/s; warnings: %v", p, s.Warnings)
	}
	s = mustLoad(t, strings.Replace(total, "total", "rate", 1))
	if want := "900 clients ask for 81000 seats at a time, and the servers have 600: a rate is that of each client; want total instead of rate for that of all of them"; len(s.Warnings) != 1 || s.Warnings[0].Message != want {
		t.Errorf("warnings are %v, want %q", s.Warnings, want)
	}
}

func TestLoadsAreParsed(t *testing.T) {
	for text, want := range map[string]string{
		"":      `--load: "": want a factor of more than 0 and at most 1000000, such as 2, or WORKLOAD=2`,
		"-1":    `--load: "-1": want a factor of more than 0 and at most 1000000, such as 2, or WORKLOAD=2`,
		"a=NaN": `--load: "a=NaN": want a factor of more than 0 and at most 1000000, such as 2, or WORKLOAD=2`,
		"=2":    `--load: "=2": want the name of a workload before =, or the factor alone for all of them`,
	} {
		if _, err := assign.ParseLoads("--load", []string{text}); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	if all := loads(t, "a=b=2"); all[0].Workload != "a=b" || all[0].Factor != 2 {
		t.Errorf("a=b=2 is %+v", all[0])
	}
}
