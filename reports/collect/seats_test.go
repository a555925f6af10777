package collect

import (
	"math"
	"testing"

	"apfsim/reports/result"
)

// A window from 10 to 20: two seats in use since 5, five from 12 to 15, then none, and four for no time. The nine seats
// before the window do not count. The mean is that of the levels: 15 + 4 seat-nanoseconds in 10 ns, of four seats.
func TestSeatUse(t *testing.T) {
	var u seatUse
	for _, step := range []struct {
		atNs  int64
		seats int
	}{{3, 9}, {5, -7}, {12, 3}, {15, -5}, {16, 4}, {16, -4}} {
		u.add(step.atNs, 10, step.seats)
	}
	levels := []*level{{name: "a", window: windowUse{seatNs: 15}}, nil, {window: windowUse{seatNs: 100}}, {name: "b", window: windowUse{seatNs: 4}}}
	if got, want := *u.use(20, 10, 4, levels), (result.SeatUse{Mean: 1.9, Peak: 5, Share: 0.475}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	u = seatUse{} // a request that holds them from before the window to after it
	u.add(0, 10, 7)
	if got := u.use(20, 10, 7, nil); got.Peak != 7 {
		t.Errorf("seven of seven seats all the time: got %+v", got)
	}
}

// The seats in use are those of all levels together: their means add up, their peaks need not. Two servers have what each
// of them has, and twice the seats. Exempt requests take seats, too.
func TestSeatsOfAllLevels(t *testing.T) {
	const spec = `  duration: 30s
  warmup: 5s
  workload:
  - {name: low, clients: 20, as: {serviceAccount: "n-{i}/s"}, request: {verb: get, resource: pods, name: x}, execution: {exponential: {mean: 100ms}}, arrivals: {poisson: {rate: 10/s}}}
  - {name: system, clients: 5, as: {node: "n-{i}"}, request: {verb: get, resource: pods, name: x}, execution: {exponential: {mean: 100ms}}, arrivals: {poisson: {rate: 10/s}}}
  - {name: admin, as: {user: a, groups: ["system:masters"]}, request: {verb: get, resource: pods, name: x}, execution: 1s, arrivals: {constant: {rate: 10/s}}}
`
	for name, servers := range map[string]string{"one": "", "two": "  servers: {replicas: 2}\n"} {
		s := measuredRun(t, servers+spec, "").Result().Summary
		mean, peaks := 0.0, 0
		for _, l := range s.PriorityLevels {
			mean += l.ServiceSeatSeconds / 25
			peaks += l.PeakSeats
		}
		got := s.Total.Seats
		if math.Abs(got.Mean-mean) > 1e-9*mean || got.Peak <= int(mean) || got.Peak >= peaks {
			t.Errorf("%s: %+v; want a mean of %v and a peak of less than %d", name, got, mean, peaks)
		}
		if want := got.Mean / float64(600*max(1, len(s.Servers))); math.Abs(got.Share-want) > 1e-12 {
			t.Errorf("%s: a share of %v, want %v", name, got.Share, want)
		}
		sum := 0.0
		for i := range s.Servers {
			sum += s.Servers[i].Seats.Mean
			if s.Servers[i].Seats.Peak > got.Peak {
				t.Errorf("server %d uses more than all", i)
			}
		}
		if len(s.Servers) > 0 && math.Abs(sum-got.Mean) > 1e-9*mean {
			t.Errorf("the servers use %v, all %v", sum, got.Mean)
		}
		if l := s.Workloads[0].Seats; l != nil {
			t.Errorf("a workload has %+v", l)
		}
	}
}
