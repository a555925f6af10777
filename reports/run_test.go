package reports_test

import (
	"bytes"
	"context"
	"testing"
	"testing/fstest"

	"apfsim/reports/collect"
	"apfsim/reports/format"
	"apfsim/reports/record"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
)

// crowded has everything at once: lists of several seats that overflow their queues, time-outs,
// requests that pass by flow control and requests that are exempt.
const crowded = `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: crowded}
spec:
  duration: 40s
  warmup: 5s
  servers: {maxRequestsInflight: 40, maxMutatingRequestsInflight: 20}
  resources:
  - {resource: pods, objects: 150000, averageBytes: 2000}
  workload:
  - name: elephants
    clients: 3
    as: {serviceAccount: "tenant-{i}/default"}
    request: {verb: list, resource: pods, namespace: "tenant-{i}", query: "limit=500&resourceVersion=0"}
    execution: {exponential: {mean: 80ms}}
    arrivals: {poisson: {rate: 60/s}}
  - name: mice
    clients: 20
    as: {serviceAccount: "team-{i}/default"}
    request: {verb: get, resource: configmaps, namespace: default, name: "cm-{i}"}
    execution: {exponential: {mean: 5ms}}
    arrivals: {poisson: {rate: 5/s}}
  - name: admin
    as: {user: root, groups: ["system:masters"]}
    requests:
    - {verb: get, resource: pods, namespace: default, name: x, weight: 1}
    - {verb: get, resource: pods, subresource: log, namespace: default, name: x, weight: 1}
    execution: 20ms
    arrivals: {constant: {rate: 3/s}}
`

// A census asks the queue sets themselves, at every sample, what the collector infers
// from events.
type census struct {
	samples []sample
}

type sample struct {
	nowNs          int64
	inUse, waiting map[string]int
}

func (c *census) sample(nowNs int64, srv *server.Server) {
	s := sample{nowNs, map[string]int{}, map[string]int{}}
	for _, l := range srv.Levels() {
		s.inUse[l.Name()], s.waiting[l.Name()] = l.Queues().SeatsInUse(), l.Queues().Waiting()
	}
	c.samples = append(c.samples, s)
}

func simulate(t *testing.T, intervalNs int64) (*result.Result, *census, []byte) {
	t.Helper()
	scenarios, mistakes := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(crowded)}}, "s.yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	sc := scenarios[0]
	run := sim.New(sc)
	collector := collect.New(sc, run.Server, intervalNs)
	watching, o := &census{}, collector.Observer()
	tick := o.Tick
	o.Tick = func(nowNs int64, servers []*server.Server) int64 {
		watching.sample(nowNs, servers[0])
		return tick(nowNs, servers)
	}
	run.Observe(o)
	var out bytes.Buffer
	log := record.NewRequestLog(&out, sc)
	run.Observe(log.Observer())
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return collector.Result(), watching, out.Bytes()
}

func TestARealRunAddsUp(t *testing.T) {
	r, _, log := simulate(t, result.Interval(40e9))
	s := r.Summary
	var workloads, flows int64
	for _, w := range s.Workloads {
		workloads += w.Arrived
		if w.Arrived != w.Executed+w.Rejected+w.Waiting+w.Executing || w.Rejected != w.QueueFull+w.ConcurrencyLimit+w.TimedOut {
			t.Errorf("%s does not add up: %+v", w.Name, w.Counts)
		}
	}
	for _, f := range s.Flows {
		flows += f.Arrived
	}
	for _, l := range s.PriorityLevels {
		service, shares := 0.0, 0.0
		for _, f := range s.Flows {
			if f.PriorityLevel == l.Name {
				service += f.ServiceSeatSeconds
				shares += f.FairShareSeatSeconds
			}
		}
		if d := service - l.ServiceSeatSeconds; d > 1e-6 || d < -1e-6 {
			t.Errorf("%s served %v seat-seconds, its flows got %v", l.Name, l.ServiceSeatSeconds, service)
		}
		if shares > service+1e-6 {
			t.Errorf("%s: shares of %v in a service of %v", l.Name, shares, service)
		}
	}
	past := r.Series[0]
	if past.Level != "" || past.Quiet() || workloads != s.Total.Arrived || flows >= workloads {
		t.Errorf("%d requests, %d of flows: want some that pass by flow control", workloads, flows)
	}
	arrived := int64(0)
	for _, series := range r.Series {
		for _, p := range series.Points {
			arrived += p.Arrived
		}
	}
	if lines := int64(bytes.Count(log, []byte("\n"))); lines != arrived {
		t.Errorf("%d lines of log for %d requests", lines, arrived)
	}
	if s.Total.QueueFull == 0 || s.Total.TimedOut == 0 {
		t.Errorf("the run is not as crowded as it was meant to be: %+v", s.Total.Counts)
	}
}

// With an interval of 1 ms most intervals see no event, and their means are what the
// queue sets have.
func TestSeriesAgreeWithTheQueueSets(t *testing.T) {
	r, watching, _ := simulate(t, 1_000_000)
	agreed := 0
	for _, series := range r.Series {
		if series.Level == "" {
			continue
		}
		for i, p := range series.Points {
			before, after := watching.samples[i], watching.samples[i+1]
			if before.nowNs != p.StartNs {
				t.Fatalf("sample at %d, point from %d", before.nowNs, p.StartNs)
			}
			quiet := p.Arrived == 0 && p.Dispatched == 0 && p.RejectedTotal() == 0 && before.inUse[series.Level] == after.inUse[series.Level]
			if !quiet || before.waiting[series.Level] != after.waiting[series.Level] {
				continue
			}
			agreed++
			if p.SeatsInUse != float64(before.inUse[series.Level]) || p.WaitingRequests != float64(before.waiting[series.Level]) {
				t.Fatalf("%s from %d ns: %v seats in use and %v waiting, the queue set has %d and %d", series.Level, p.StartNs,
					p.SeatsInUse, p.WaitingRequests, before.inUse[series.Level], before.waiting[series.Level])
			}
		}
	}
	if agreed < 10_000 {
		t.Errorf("only %d intervals compared", agreed)
	}
}

func TestTheSameRunGivesTheSameBytes(t *testing.T) {
	var first [][]byte
	for range 2 {
		r, _, log := simulate(t, result.Interval(40e9))
		var summary, series, html bytes.Buffer
		format.WriteJSON(&summary, r.Summary)
		seriesCSV(&series, r)
		render.HTML(&html, report.RunDocument(r))
		all := [][]byte{summary.Bytes(), series.Bytes(), html.Bytes(), log}
		for i := range first {
			if !bytes.Equal(first[i], all[i]) {
				t.Errorf("file %d differs", i)
			}
		}
		first = all
	}
}
