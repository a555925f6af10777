package collect

import (
	"testing"

	"apfsim/reports/result"
	"apfsim/sim/server"
)

// course is the points of a server, one a second, by requests executed and in service.
func course(at ...[2]int) (points []result.ServerPoint) {
	for i, p := range at {
		points = append(points, result.ServerPoint{StartNs: int64(i) * 1e9, EndNs: int64(i+1) * 1e9, Executed: int64(p[0]),
			Gauges: server.Gauges{InService: p[1]}})
	}
	return points
}

// Throughput collapses if it falls although more requests are in service; not if there are fewer to
// execute, nor if it rises less than they do, nor in the warm-up.
func TestCollapse(t *testing.T) {
	for name, c := range map[string]struct {
		points []result.ServerPoint
		fromNs int64
		want   *result.Collapse
	}{
		"collapsed": {course([2]int{900, 100}, [2]int{1000, 150}, [2]int{700, 500}, [2]int{600, 600}, [2]int{650, 600}), 0,
			&result.Collapse{AtNs: 3e9, ExecutedPerSecond: 600, InService: 600, BestAtNs: 1e9, BestExecutedPerSecond: 1000, BestInService: 150}},
		"less to do":              {course([2]int{1000, 150}, [2]int{100, 15}, [2]int{0, 0}), 0, nil},
		"saturated":               {course([2]int{900, 100}, [2]int{1000, 300}, [2]int{990, 600}), 0, nil},
		"not twice as many":       {course([2]int{1000, 300}, [2]int{600, 590}), 0, nil},
		"the best was warming up": {course([2]int{1000, 150}, [2]int{600, 600}, [2]int{610, 590}), 1e9, nil},
		"it rises later":          {course([2]int{600, 600}, [2]int{1000, 150}), 0, nil},
		"a few requests":          {course([2]int{8, 1}, [2]int{2, 3}), 0, nil},
		"no gauges":               {course([2]int{1000, 0}, [2]int{100, 0}), 0, nil},
		"no points":               {nil, 0, nil},
	} {
		got := collapse(c.points, c.fromNs)
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// The same fall is a collapse if as many requests come, or if the server is never idle; not if fewer come and it is idle at times.
func TestCollapseUnderTheSameLoad(t *testing.T) {
	for name, c := range map[string]struct {
		arrived, idleInService int
		want                   bool
	}{
		"as many come":               {1000, 0, true},
		"fewer come, and it is idle": {600, 0, false},
		"fewer come, as it is slow":  {600, 400, true},
	} {
		var points []result.ServerPoint
		for i := range 120 { // two points make a part
			p := result.ServerPoint{StartNs: int64(i) * 1e9, EndNs: int64(i+1) * 1e9, Executed: 1000, Arrived: 1000, Gauges: server.Gauges{InService: 100}}
			if i >= 100 {
				p.Executed, p.Arrived, p.InService = 600, int64(c.arrived), 400
				if i%2 == 1 {
					p.InService = c.idleInService
				}
				if c.idleInService == 0 && i%2 == 0 {
					p.InService = 800
				}
			}
			points = append(points, p)
		}
		if got := collapse(points, 0); (got != nil) != c.want {
			t.Errorf("%s: %+v, want one: %v", name, got, c.want)
		}
	}
}
