package sim

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"apfsim/sim/server"
)

// sharing is a machine that serves its requests at the same time, each with an equal part of its
// speed (processor sharing). It is as plain as possible: every change looks at all requests.
type sharing struct {
	steady
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

// Begin implements server.Capacity.
func (s *sharing) Begin(nowNs int64, r *server.Request) {
	s.advance(nowNs)
	s.requests, s.left = append(s.requests, r), append(s.left, float64(r.ExecutionNs))
}

// Next implements server.Capacity.
func (s *sharing) Next(nowNs int64) (r *server.Request, atNs int64) {
	s.advance(nowNs)
	if len(s.left) == 0 {
		return nil, 0
	}
	least := slices.Min(s.left)
	return s.requests[slices.Index(s.left, least)], nowNs + int64(math.Ceil(max(0, least)*float64(len(s.left))))
}

// End implements server.Capacity.
func (s *sharing) End(nowNs int64, r *server.Request) {
	s.advance(nowNs)
	i := slices.Index(s.requests, r)
	s.requests, s.left = slices.Delete(s.requests, i, i+1), slices.Delete(s.left, i, i+1)
}

// Cancel implements server.Capacity.
func (s *sharing) Cancel(nowNs int64, r *server.Request) { s.End(nowNs, r) }

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
	run := New(load(t, `
  duration: 1s
  servers: {flowControl: None}
  workload: [{name: w, as: {user: u}, request: {verb: get, resource: pods}, execution: 60ns, arrivals: {burst: {at: 0s, requests: 3, over: 90ns}}}]
`))
	run.Server.SetCapacity(&sharing{})
	s := &sojourns{}
	run.Observe(server.Observer{Executed: s.executed})
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{"105 ns", "165 ns", "180 ns"}; !slices.Equal(s.story, want) {
		t.Errorf("executions end at %v, want %v", s.story, want)
	}
}

// steady is a machine that does not change its speed.
type steady struct{}

func (steady) SetSpeed(int64, float64) {}
func (steady) SetBusy(int64, float64)  {}
func (steady) N() int                  { return 0 }
func (steady) Speed() float64          { return 1 }

// alone is a machine on which requests do not slow down each other: the executions end as they would
// without one. It goes through all of them to find the next.
type alone struct {
	steady
	ends []end
}

type end struct {
	r    *server.Request
	atNs int64
}

// Begin implements server.Capacity.
func (a *alone) Begin(nowNs int64, r *server.Request) {
	a.ends = append(a.ends, end{r, nowNs + r.ExecutionNs})
}

// Next implements server.Capacity.
func (a *alone) Next(int64) (r *server.Request, atNs int64) {
	if len(a.ends) == 0 {
		return nil, 0
	}
	first := slices.MinFunc(a.ends, func(x, y end) int { return cmp.Compare(x.atNs, y.atNs) })
	return first.r, first.atNs
}

// End implements server.Capacity.
func (a *alone) End(_ int64, r *server.Request) {
	a.ends = slices.DeleteFunc(a.ends, func(e end) bool { return e.r == r })
}

// Cancel implements server.Capacity.
func (a *alone) Cancel(nowNs int64, r *server.Request) { a.End(nowNs, r) }
