package sim

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"apfsim/sim/server"
)

// sharing is a machine that serves its requests at the same time, each with an equal part of its
// speed (processor sharing). It is as plain as possible: every change moves all ends.
type sharing struct {
	lastNs   int64
	requests []*server.Request
	left     []float64 // by request: ns of execution, alone, that are still to be done
}

func (s *sharing) advance(nowNs int64) {
	for i := range s.left {
		s.left[i] -= float64(nowNs-s.lastNs) / float64(len(s.left))
	}
	s.lastNs = nowNs
}

func (s *sharing) moveAll(nowNs int64, move server.Move) {
	for i, r := range s.requests {
		move(r, nowNs+int64(math.Ceil(max(0, s.left[i])*float64(len(s.left)))))
	}
}

// Begin implements server.Capacity.
func (s *sharing) Begin(nowNs int64, r *server.Request, move server.Move) {
	s.advance(nowNs)
	s.requests, s.left = append(s.requests, r), append(s.left, float64(r.ExecutionNs))
	s.moveAll(nowNs, move)
}

// End implements server.Capacity.
func (s *sharing) End(nowNs int64, r *server.Request, move server.Move) {
	s.advance(nowNs)
	i := slices.Index(s.requests, r)
	s.requests, s.left = slices.Delete(s.requests, i, i+1), slices.Delete(s.left, i, i+1)
	s.moveAll(nowNs, move)
}

// nextOnly is the same machine, on which only the request that ends first has an end.
type nextOnly struct {
	sharing
	scheduled *server.Request
}

func (s *nextOnly) moveNext(nowNs int64, move server.Move) {
	next, leastNs := (*server.Request)(nil), int64(math.MaxInt64)
	s.moveAll(nowNs, func(r *server.Request, finishNs int64) {
		if finishNs < leastNs {
			next, leastNs = r, finishNs
		}
	})
	if s.scheduled != nil && s.scheduled != next {
		move(s.scheduled, server.NoFinish)
	}
	if s.scheduled = next; next != nil {
		move(next, leastNs)
	}
}

func (s *nextOnly) Begin(nowNs int64, r *server.Request, move server.Move) {
	s.sharing.Begin(nowNs, r, func(*server.Request, int64) {})
	s.moveNext(nowNs, move)
}

func (s *nextOnly) End(nowNs int64, r *server.Request, move server.Move) {
	s.sharing.End(nowNs, r, func(*server.Request, int64) {})
	s.scheduled = nil
	s.moveNext(nowNs, move)
}

// sojourns adds up how long requests are at the server.
type sojourns struct {
	n     int64
	sumNs float64
	story []string
}

func (s *sojourns) executed(nowNs int64, r *server.Request) {
	s.n++
	s.sumNs += float64(nowNs - r.ArrivalNs)
	s.story = append(s.story, fmt.Sprintf("%d ns", nowNs))
}

// The ends of executions move as others begin and end. Three requests of 60 ns arrive at 0, 30 and
// 60 ns: the first has done 30 at 30, and 45 at 60; its other 15 take three times as long, until
// 105. By then the second has done 30, the third 15; they go on at half speed. The second has 30
// left, until 165, and then the third 15, alone.
func TestCapacityMovesFinishes(t *testing.T) {
	for _, capacity := range []server.Capacity{&sharing{}, &nextOnly{}} {
		run := New(load(t, `
  duration: 1s
  servers: {flowControl: None}
  workload: [{name: w, as: {user: u}, request: {verb: get, resource: pods}, execution: 60ns, arrivals: {burst: {at: 0s, requests: 3, over: 90ns}}}]
`))
		run.Server.SetCapacity(capacity)
		s := &sojourns{}
		run.Observe(server.Observer{Executed: s.executed})
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if want := []string{"105 ns", "165 ns", "180 ns"}; !slices.Equal(s.story, want) {
			t.Errorf("%T: executions end at %v, want %v", capacity, s.story, want)
		}
	}
}

// Processor sharing with Poisson arrivals: the mean sojourn time is 1/(μ-λ), and it depends on
// the distribution of the execution by its mean alone (L. Kleinrock, Queueing Systems, volume 2,
// 1976, section 4.4). First come, first served would give 7.5 ms and 15 ms for a constant
// execution of 5 ms at these loads.
func TestProcessorSharing(t *testing.T) {
	for _, execution := range []string{"{exponential: {mean: 5ms}}", "5ms"} {
		for _, c := range []struct{ perSecond, wantMs float64 }{{100, 10}, {160, 25}} {
			var means []float64
			for seed := range 20 {
				run := New(load(t, fmt.Sprintf("  seed: %d", seed+1)+`
  duration: 500s
  servers: {flowControl: None}`+clients(1, execution, fmt.Sprintf("{poisson: {rate: %v/s}}", c.perSecond))))
				run.Server.SetCapacity(&sharing{})
				s := &sojourns{}
				run.Observe(server.Observer{Executed: s.executed})
				if err := run.Execute(context.Background(), nil); err != nil {
					t.Fatal(err)
				}
				means = append(means, s.sumNs/float64(s.n)/1e6)
			}
			within(t, fmt.Sprintf("mean sojourn of execution %s at %v/s, in ms", execution, c.perSecond), means, c.wantMs)
		}
	}
}
