package sim_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"apfsim/reports/collect"
	"apfsim/reports/record"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
)

// oneLevel is a load on one priority level: Poisson arrivals, exponential service of
// 10 ms, hands of 6, at most 50 requests in a queue.
type oneLevel struct {
	load    float64 // seats asked for, as a share of those there are
	flows   int
	clients int // 0: one for each flow
	queues  int
	seats   int
	width   int // seats a request

	capacity string // of the server; "" if executions take as long as they take
	ends     bool   // the server may end during the run
}

// The loads that lab/conformance/peers calls A, B and C.
var (
	regimeA = oneLevel{load: 0.9, flows: 200, queues: 128, seats: 100, width: 1}
	regimeB = oneLevel{load: 1.2, flows: 200, queues: 128, seats: 100, width: 1}
	regimeC = oneLevel{load: 1.05, flows: 2000, queues: 128, seats: 100, width: 1}
	// sharing is regime A on a machine that is as fast with all seats in use as with one, and that is told
	// of its speed and of deadlines as any other.
	sharing = oneLevel{load: 0.9, flows: 200, queues: 128, seats: 100, width: 1, capacity: "{cores: 100}"}
	// ending is regime A on a server that knows its requests in flight, because they could end with it.
	ending = oneLevel{load: 0.9, flows: 200, queues: 128, seats: 100, width: 1, ends: true}
)

const meanServiceSeconds = 0.010

// perSecond returns how many requests arrive a second, on average.
func (l oneLevel) perSecond() float64 {
	return l.load * float64(l.seats) / float64(l.width) / meanServiceSeconds
}

// lasting returns for how long so many requests arrive, on average.
func (l oneLevel) lasting(requests int) time.Duration {
	return time.Duration(float64(requests) / l.perSecond() * 1e9)
}

// warmUp returns after how many requests the level has the load for good: every flow has
// so many durations that they are counted in histograms, every seat was taken some thirty
// times, and under overload the queues are full.
func (l oneLevel) warmUp() int {
	requests := max(200*l.flows, 30*l.seats/l.width, 100_000)
	if l.load > 1 {
		fill := 1.5 * float64(l.queues*50) * l.load / (l.load - 1)
		requests = max(requests, int(fill))
	}
	return requests
}

// scenario returns the scenario of the load, which is that of lab/conformance/peers with
// other numbers.
func (l oneLevel) scenario(duration time.Duration) (*scenario.Scenario, error) {
	clients := l.flows
	if l.clients > 0 {
		clients = l.clients
	}
	set := []string{
		fmt.Sprintf("spec.duration=%v", duration),
		fmt.Sprintf("spec.servers.maxRequestsInflight=%d", l.seats-l.seats/2),
		fmt.Sprintf("spec.servers.maxMutatingRequestsInflight=%d", l.seats/2),
		fmt.Sprintf("spec.config.objects[0].spec.limited.limitResponse.queuing.queues=%d", l.queues),
		fmt.Sprintf("spec.workload[0].clients=%d", clients),
		fmt.Sprintf("spec.workload[0].arrivals.poisson.rate=%v/s", l.perSecond()/float64(clients)),
	}
	if l.capacity != "" {
		set = append(set, "spec.servers.capacity="+l.capacity)
	}
	if l.ends {
		set = append(set, "spec.events=[{at: 0s, start: {server: 0}}]") // without effect, as it is there
	}
	switch l.flows {
	case clients:
	case 1:
		set = append(set, "spec.workload[0].as.user=user")
	default:
		return nil, fmt.Errorf("%d clients: want them to be one flow, or each its own", clients)
	}
	if l.width > 1 { // a list from storage costs a seat for every 100 kB
		set = append(set,
			fmt.Sprintf("spec.resources=[{resource: pods, objects: %d, averageBytes: 1000}]", 100*l.width),
			fmt.Sprintf(`spec.workload[0].request={verb: list, resource: pods, query: "limit=%d&resourceVersion=1"}`, 100*l.width))
	}
	loaded, mistakes := loader.Load(os.DirFS("../lab/conformance/peers"), "one-level.yaml", loader.Options{Set: assign.New("--set", set)})
	if err := mistakes.Err(); err != nil {
		return nil, err
	}
	return loaded[0], nil
}

// window is the part of a run that is measured, up to its end.
type window struct{ from, length, interval time.Duration }

// windowAfter returns the window after a warm-up, which is rounded up to whole sampling intervals. The interval is given,
// or 0: the usual one.
func windowAfter(warmUp, length, interval time.Duration) window {
	length = max(length, time.Nanosecond)
	if interval == 0 {
		interval = time.Duration(result.Interval(int64(warmUp + length)))
	}
	return window{(warmUp + interval - 1) / interval * interval, length, interval}
}

// run runs a scenario that lasts until the end of the window, with the observers of apfsim run. It calls begin and end
// when the window begins and ends. The Collector's ticks at the two ends are outside the window.
func (w window) run(sc *scenario.Scenario, begin, end func()) (*sim.Run, *result.Result, error) {
	run := sim.New(sc)
	collector := collect.New(sc, run.Server, int64(w.interval))
	o := collector.Observer()
	tick := o.Tick
	o.Tick = func(nowNs int64, servers []*server.Server) int64 {
		if nowNs == int64(w.from+w.length) && end != nil {
			end()
			end = nil
		}
		next := tick(nowNs, servers)
		if nowNs == int64(w.from) {
			begin()
		}
		return next
	}
	run.Observe(o)
	run.Observe(record.NewFingerprint().Observer())
	if err := run.Execute(context.Background(), nil); err != nil {
		return nil, nil, err
	}
	return run, collector.Result(), nil
}

// steady simulates a warm-up, and then a window in which so many requests arrive on
// average; begin and end are called at its ends. The sampling interval is given, or 0: the
// usual one. The warm-up is rounded up to whole intervals.
func (l oneLevel) steady(warmUp, requests int, interval time.Duration, begin, end func()) (*sim.Run, error) {
	w := windowAfter(l.lasting(warmUp), l.lasting(requests), interval)
	sc, err := l.scenario(w.from + w.length)
	if err != nil {
		return nil, err
	}
	run, result, err := w.run(sc, begin, end)
	if err != nil {
		return nil, err
	}
	return run, l.check(result, (w.from + w.length).Seconds())
}

// check says whether a run had the load that it was meant to have.
func (l oneLevel) check(r *result.Result, seconds float64) error {
	total := &r.Summary.Total
	want := l.perSecond() * seconds
	if got := float64(total.Arrived); math.Abs(got-want) > 6*math.Sqrt(want)+1 {
		return fmt.Errorf("%.0f requests arrived in %.3f s; want about %.0f", got, seconds, want)
	}
	if want < float64(l.warmUp()) {
		return nil // too short for the rest
	}
	flows := len(r.Summary.Flows)
	for i := range r.Summary.OtherFlows {
		flows += r.Summary.OtherFlows[i].Number
	}
	if flows != l.flows {
		return fmt.Errorf("there were %d flows; want %d", flows, l.flows)
	}
	for i := range r.Summary.PriorityLevels {
		level := &r.Summary.PriorityLevels[i]
		if level.Name != "level" {
			continue
		}
		inUse := *level.Utilisation.Mean * float64(l.seats)
		if want := min(l.load, 1) * float64(l.seats); math.Abs(inUse-want) > 0.1*want {
			return fmt.Errorf("%.1f seats were in use on average; want about %.1f", inUse, want)
		}
		width := inUse * seconds / (float64(total.Executed) * meanServiceSeconds)
		if math.Abs(width-float64(l.width)) > 0.05*float64(l.width) {
			return fmt.Errorf("a request took %.2f seats; want %d", width, l.width)
		}
		return nil
	}
	return errors.New("nothing arrived at the level")
}

// measure times b.N requests after the warm-up. An op is a request, so allocs/op are
// allocations a request.
func (l oneLevel) measure(b *testing.B) {
	b.ReportAllocs()
	// Of the few requests with which package testing feels its way, none need be typical.
	warmUp := min(l.warmUp(), 20*b.N)
	if _, err := l.steady(warmUp, b.N, 0, b.ResetTimer, b.StopTimer); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// BenchmarkCapacityRun is BenchmarkRun with requests that share a capacity.
func BenchmarkCapacityRun(b *testing.B) { sharing.measure(b) }
