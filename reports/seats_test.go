package reports_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"apfsim/reports/collect"
	"apfsim/reports/result"
	"apfsim/scenarios"
	"apfsim/sim"
)

// runLibrary runs scenario i of a file of the library with some assignments.
func runLibrary(t *testing.T, file string, i int, set ...string) *result.Summary {
	t.Helper()
	text, err := scenarios.Files.ReadFile(file + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	run := sim.New(load(t, strings.Split(string(text), "\n---\n")[i], set...))
	m := collect.Measure(run, 1e9)
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return m.Result().Summary
}

// Every decision of servers whose numbers of seats are written out is that without them, and is another one if a number
// is another. Only then the results say so.
func TestSeatsThatAreWrittenOut(t *testing.T) {
	for _, c := range []struct {
		file   string
		i      int
		set    []string // what makes it shorter, or lists from etcd
		seats  string   // the defaults
		others []string // numbers that change decisions
	}{
		{"lists-by-bytes", 0, []string{"spec.duration=2s", "spec.warmup=0s"}, "{maximum: 10, minimum: 1, objectsPerSeat: 100, maximumMutating: 10, watchesPerSeat: 10, eventAdditionalDuration: 5ms, levelShare: 0.15}",
			[]string{"{objectsPerSeat: 10000}", "{maximum: 5}", "{minimum: 2}", "{constant: 3}", "{levelShare: 0.02}"}},
		{"lists-by-bytes", 1, []string{"spec.duration=2s", "spec.warmup=0s"}, "{maximum: 100, minimum: 1, bytesPerSeat: 100kB, cachedBytes: 1MB, unknownObjectBytes: 1500kB, levelShare: 0.15}",
			[]string{"{bytesPerSeat: 200kB}", "{cachedBytes: 500kB}", "{maximum: 4}", "{constant: 10}"}},
		{"watch-fan-out", 0, []string{"spec.duration=2s", "spec.warmup=0s"}, "{maximumMutating: 10, watchesPerSeat: 10, eventAdditionalDuration: 5ms}",
			[]string{"{maximumMutating: 1}", "{watchesPerSeat: 100}", "{eventAdditionalDuration: 1ms}"}},
	} {
		set := slices.Clone(c.set)
		without := runLibrary(t, c.file, c.i, set...)
		if len(without.WhatIfSeats) > 0 {
			t.Errorf("%s: what-if seats %q without any", without.Name, without.WhatIfSeats)
		}
		with := runLibrary(t, c.file, c.i, append(set, "spec.servers.seats="+c.seats)...)
		if with.Fingerprint != without.Fingerprint {
			t.Errorf("%s: the defaults %s change decisions", without.Name, c.seats)
		}
		if len(with.WhatIfSeats) > 0 || strings.Contains(strings.Join(with.Verdict.Notes(), ""), "what-if") {
			t.Errorf("%s: the defaults are told as what-if seats %q", without.Name, with.WhatIfSeats)
		}
		for _, other := range c.others {
			s := runLibrary(t, c.file, c.i, append(set, "spec.servers.seats="+other)...)
			if s.Fingerprint == without.Fingerprint {
				t.Errorf("%s: seats %s change no decision", without.Name, other)
			}
			if trust := s.Verdict.Trust; len(s.WhatIfSeats) != 1 || len(trust) == 0 || trust[0].ID != result.WhatIf || !strings.Contains(s.Releases.Text(), "what-if seats (") {
				t.Errorf("%s: seats %s are not told: %q, %+v", without.Name, other, s.WhatIfSeats, trust)
			}
		}
	}
}

// A rule that is written out as the release has it changes nothing and is not told, and one that no release has is told and
// changes decisions.
func TestRulesOfNoRelease(t *testing.T) {
	for _, c := range []struct {
		file   string
		i      int
		whatIf string
		want   []string
	}{
		{"lists-by-bytes", 1, "{queueWaitShare: 0.25}", nil},
		{"lists-by-bytes", 1, "{queueWaitShare: 0.75}", []string{"queueWaitShare 0.75 instead of 0.25"}},
		{"borrowing", 0, "{borrowingWeights: {workload-high: 100}}", []string{"borrowingWeights workload-high 100"}},
	} {
		without := runLibrary(t, c.file, c.i)
		if len(without.WhatIfRules) > 0 {
			t.Errorf("%s: what-if rules %q without any", without.Name, without.WhatIfRules)
		}
		s := runLibrary(t, c.file, c.i, "spec.servers.whatIf="+c.whatIf)
		told := strings.Contains(s.Releases.Text(), "what-if rules (") && s.Verdict.Distrusts(result.WhatIf)
		if !slices.Equal(s.WhatIfRules, c.want) || told != (c.want != nil) {
			t.Errorf("%s: the rules %s are told as %q, %q; want %q", s.Name, c.whatIf, s.WhatIfRules, s.Releases.Text(), c.want)
		}
		if other := s.Fingerprint != without.Fingerprint; other != (c.want != nil) {
			t.Errorf("%s: the rules %s change decisions: %v", s.Name, c.whatIf, other)
		}
	}
}

// The processor time and the most memory of a server are statistics: thresholds judge them, and one in bytes may have a
// unit. A server without a capacity, a store and a memory has neither.
func TestProcessorTimeAndMemoryAreStatistics(t *testing.T) {
	const scenario = `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 12s
  warmup: 2s
  servers: {replicas: 2, %s}
  resources: [{resource: pods, objects: 1000, averageBytes: 100000}]
  workload:
  - {name: lists, clients: 4, as: {user: "u-{i}"}, request: {verb: list, resource: pods, query: "limit=100"}, execution: 1s, arrivals: {closed: {}}}
  thresholds:
    "cpu{server:0}": ["seconds < 30", "cores < 3"]
    "memory{server:0}": ["max < 44.1MB", "max < 0.043 GiB"]
`
	run := func(servers string) *result.Summary {
		run := sim.New(load(t, strings.Replace(scenario, "%s", servers, 1)))
		m := collect.Measure(run, 1e9)
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		return m.Result().Summary
	}
	s := run("capacity: {cores: 8}, memory: {}")
	all := result.Statistics(s)
	sum := 0.0
	for _, name := range []string{"cpu{server:0}.seconds", "cpu{server:1}.seconds"} {
		i, err := result.FindStatistic(all, name)
		if err != nil {
			t.Fatal(err)
		}
		sum += all[i].Value
	}
	if sum < 39.99 || sum > 40.01 {
		t.Errorf("the servers worked %v s, want 4 requests for 10 s", sum)
	}
	lists := 0.0
	for i := range s.Servers {
		lists += float64(*s.Servers[i].MostMemoryBytes) / 11e6 // of 100 objects of 100 kB
	}
	if lists < 3.99 || lists > 4.01 {
		t.Errorf("the servers had %v lists in memory, want 4", lists)
	}
	if v := &s.Thresholds[2]; v.Limit != 44_100_000 || !v.Passed {
		t.Errorf("%+v, want a limit of 44.1 MB that holds", v)
	}
	neither := run("adjustmentPhase: 0s")
	for i := range neither.Thresholds {
		if v := &neither.Thresholds[i]; v.Passed || v.Value != nil {
			t.Errorf("%+v without a capacity and a memory, want no value", v)
		}
	}
	if _, err := result.FindStatistic(result.Statistics(neither), "cpu{server:0}.seconds"); !errors.Is(err, result.ErrNoSamples) {
		t.Errorf("the processor time of a server without a capacity is %v, want %v", err, result.ErrNoSamples)
	}
	// A capacity without a bound measures, and executions take as long as without it.
	unbounded := run("capacity: {}")
	if sum := *unbounded.Servers[0].ProcessorSeconds + *unbounded.Servers[1].ProcessorSeconds; sum < 39.99 || sum > 40.01 {
		t.Errorf("with a capacity that bounds nothing, the servers worked %v s, want 4 requests for 10 s", sum)
	}
	if got, want := unbounded.Total.Latency, neither.Total.Latency; *got != *want {
		t.Errorf("with a capacity that bounds nothing, latencies are %+v, want %+v", got, want)
	}
	one := load(t, strings.Replace(strings.Replace(scenario, "%s", "capacity: {cores: 8}, memory: {}", 1), "replicas: 2", "replicas: 1", 1))
	for _, name := range []string{"memory{server:0}.max", "cpu{server:0}.cores", "ready{server:0}.share"} {
		if err := result.CheckName(name, one); err != nil {
			t.Errorf("%s of one server: %v", name, err)
		}
	}
}
