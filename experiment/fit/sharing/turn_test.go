package sharing

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

var turnLogs = flag.Int("turns", 0, "estimate the turns of so many logs of each server with turns, and print a row for each")

// turningSystem is a server with turns on which lists and gets execute. It shares no code with the simulator: it looks at all requests at every step.
type turningSystem struct {
	places int
	turn   int // steps
	visits int // of gets
	listsS float64
	listS  float64 // mean demand of a list; a get has 1.1 ms
}

const step = 50_000 // ns

// run returns a log of so many seconds.
func (s *turningSystem) run(seconds float64, seed uint64) (log []Execution) {
	type request struct {
		Execution
		left, turn, part int // steps
		visits           int
	}
	r := rand.New(rand.NewPCG(seed, 7))
	list, get := lognormal(s.listS, 0.35), lognormal(0.0011, 0.5)
	var placed, waiting []*request
	nextList, nextGet := r.ExpFloat64()/s.listsS, r.ExpFloat64()/40
	for k := 0; len(placed)+len(waiting) > 0 || float64(k)*step < seconds*1e9; k++ {
		now := float64(k) * step / 1e9
		if now < seconds {
			for ; nextList <= now; nextList += r.ExpFloat64() / s.listsS {
				n := max(1, int(list(r)*1e9/step))
				waiting = append(waiting, &request{Execution{int64(k) * step, 0, 0}, n, s.turn, n, 1})
			}
			for ; nextGet <= now; nextGet += r.ExpFloat64() / 40 {
				n := max(1, int(get(r)*1e9/step)/s.visits)
				waiting = append(waiting, &request{Execution{int64(k) * step, 0, 1}, n, s.turn, n, s.visits})
			}
		}
		for len(placed) < s.places && len(waiting) > 0 {
			waiting[0].turn = s.turn
			placed, waiting = append(placed, waiting[0]), waiting[1:]
		}
		for _, x := range slices.Clone(placed) {
			x.left--
			x.turn--
			over := x.left == 0
			if over {
				x.left = x.part
				x.visits--
			}
			switch {
			case x.visits == 0:
				x.EndNs = int64(k+1) * step
				log = append(log, x.Execution)
			case over || x.turn <= 0:
				waiting = append(waiting, x)
			default:
				continue
			}
			placed = slices.DeleteFunc(placed, func(y *request) bool { return x == y })
		}
	}
	return log
}

// A log of a server with turns shows them, the visits of gets, the cores, and the demands: gets that waited do not count.
func TestTurns(t *testing.T) {
	s := turningSystem{places: 2, turn: 200, visits: 4, listsS: 70, listS: 0.014}
	for seed := range uint64(2) {
		log := s.run(40, seed+1)
		e := New(log)
		if !e.Identifiable || e.Turn == nil || e.Cores.Low > 2 || e.Cores.High < 2 || e.Turn.LowNs > 10e6 || e.Turn.HighNs < 10e6 || e.Turn.Visits(1) < 3 || e.Turn.Visits(1) > 8 || e.Turn.Visits(0) != 0 {
			t.Errorf("seed %d: cores %.3f in %.2f, %s", seed, e.Law.Cores, e.Cores, e.Turn)
			continue
		}
		t.Logf("seed %d: cores %.3f in %.2f, %s", seed, e.Law.Cores, e.Cores, e.Turn)
		if x := mean(e.Turn.Demands(1)); x < 0.9e6 || x > 1.05e6 {
			t.Errorf("seed %d: gets have %v ns, want 1 ms, because each visit has whole steps", seed, x)
		}
	}
}

// A server that is slow at times is busy then, and its short requests are slow. That is no turn. Nor is there one if all progress alike.
func TestSlowTimesAreNoTurns(t *testing.T) {
	for _, name := range []string{"2 cores, slow at times", "2 cores, garbage is collected", "1.75 cores, lists and mice"} {
		s := named(t, name)
		told := 0
		found := 0
		for seed := range uint64(4) {
			if x := newModel(s.run(s.seconds(), seed+1)).turn(s.law, 0, true, nil); x == nil || x.Requests < 1000 {
				t.Errorf("%s, seed %d: %v", name, seed, x)
			} else if t.Logf("%s, seed %d: %s", name, seed, &x.Turn); x.Ns != 0 {
				found++
			} else if x.Unknown == nil {
				told++
			}
		}
		if found > 0 {
			t.Errorf("%s: turns in %d of 4 logs", name, found)
		}
		if told < 3 {
			t.Errorf("%s: only %d of 4 logs tell that there are none", name, told)
		}
	}
}

// A turn that is given is kept, and the visits are estimated with it. Without turns, there are none.
func TestGivenTurn(t *testing.T) {
	s := turningSystem{places: 2, turn: 200, visits: 4, listsS: 70, listS: 0.014}
	log := s.run(30, 1)
	for _, given := range []int64{0, 5_000_000} {
		e := Given(Known{Law: Law{Cores: 2}, TurnNs: &given}, [][]Execution{log})
		if e.Turn.Ns != given || e.Turn.LowNs != 0 || (e.Turn.Visits(1) > 2) != (given > 0) || e.Law.Cores != 2 {
			t.Errorf("given %d ns: %+v", given, e.Turn)
		}
	}
}

// Without more requests at a time than cores, or without short ones, a log says nothing of turns.
func TestLogsWithoutTurns(t *testing.T) {
	idle, alike := system{law: Law{Cores: 8}, perS: []float64{30}, demand: []func(*rand.Rand) float64{lognormal(0.02, 0.5)}, limit: 60}, named(t, "constant demands, 2 cores")
	for _, s := range []*system{&idle, alike} {
		if turn := Given(Known{Law: s.law}, [][]Execution{s.run(10, 1)}).Turn; turn.Ns != 0 || turn.Requests != 0 {
			t.Errorf("%+v", *turn)
		}
	}
	if turn := Given(Known{Law: none()}, [][]Execution{alike.run(10, 1)}).Turn; turn.Ns != 0 || turn.Requests != 0 {
		t.Errorf("%+v", *turn)
	}
}

// With two places, the first request executes alone, and the second and the third beside one other: there is a place for each until the fourth begins, while the
// third still executes.
func TestFreePlaces(t *testing.T) {
	free := newTimeline([]Execution{{0, 10, 0}, {20, 40, 0}, {25, 50, 0}, {30, 35, 0}, {50, 60, 0}}).free(2)
	if want := []bool{true, false, false, false, true}; !slices.Equal(free, want) {
		t.Errorf("%v, want %v", free, want)
	}
}

// The score of samples is the mean distance to what has happened, less half of that between two samples.
func TestScore(t *testing.T) {
	samples := []float64{3, 1, 7, 2}
	const x = 2.5
	want := 0.0
	for i, a := range samples {
		want += max(a-x, x-a) / 4
		for _, b := range samples[:i] {
			want -= max(a-b, b-a) / (4 * 3)
		}
	}
	if got := score(samples, x); got < want-1e-12 || got > want+1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
}

// With the flag turns, a row says what is estimated from logs of each server.
func TestTurnsOfKnownServers(t *testing.T) {
	if *turnLogs == 0 {
		t.Skip("only with -args -turns N")
	}
	for _, s := range []turningSystem{
		{2, 40, 4, 57, 0.014}, {2, 40, 16, 57, 0.014}, {2, 200, 1, 57, 0.014}, {2, 200, 4, 57, 0.014}, {2, 400, 2, 57, 0.014},
		{2, 40, 4, 97, 0.014}, {2, 200, 4, 97, 0.014}, {4, 200, 4, 120, 0.02},
	} {
		known, found, turn, cores, off := 0, 0, 0, 0, 0.0
		for seed := range uint64(*turnLogs) {
			e := New(s.run(60, seed+1))
			if !e.Identifiable {
				continue
			}
			known++
			off += e.Law.Cores / float64(s.places)
			if e.Cores.Low <= float64(s.places) && float64(s.places) <= e.Cores.High {
				cores++
			}
			if e.Turn != nil {
				if found++; e.Turn.LowNs <= int64(s.turn)*step && int64(s.turn)*step <= e.Turn.HighNs {
					turn++
				}
			}
		}
		fmt.Printf("| %d | %g ms | %d | %g | %d | %d | %d | %d | %.3f |\n", s.places, float64(s.turn)*step/1e6, s.visits, s.listsS, known, found, turn, cores, off/float64(known))
	}
}

// Lists that were measured to take 10 ms alone take 12.2 ms in the log: the throughput is the same with 1.22 times as many cores. With turns, too.
func TestCalibration(t *testing.T) {
	s := named(t, "1.75 cores, lists and mice")
	with := turningSystem{places: 2, turn: 200, visits: 4, listsS: 70, listS: 0.014}
	for _, c := range []struct {
		log              []Execution
		cores, measuredS float64
		want             float64
	}{
		{s.run(s.seconds(), 1), 1.75 / 1.22, 0.010, 1.75},
		{s.run(s.seconds(), 1), 1.75, 0.005, 1.75}, // other lists
		{s.run(s.seconds(), 1), 1.75, 0.030, 1.75}, // and others
		{with.run(40, 1), 2 / 1.4, 0.010, 2},
	} {
		e := Given(Known{Law: Law{Cores: c.cores}, Calibration: &Calibration{Kind: 0, DemandNs: c.measuredS * 1e9}}, [][]Execution{c.log})
		if e.Law.Cores < 0.96*c.want || e.Law.Cores > 1.04*c.want {
			t.Errorf("%v cores, measured with %v s: %v; want %v", c.cores, c.measuredS, e.Law.Cores, c.want)
		}
	}
	if e := Given(Known{Law: Law{Cores: 1.75}, Calibration: &Calibration{Kind: 7, DemandNs: 1e7}}, [][]Execution{s.run(10, 1)}); e.Law.Cores != 1.75 {
		t.Errorf("no such request: %v cores", e.Law.Cores)
	}
}

// A log of a light load shows no turns. One of a busier time does, and leaves the throughput that of the lists of the first, also if its own need less.
func TestGivenWithALogOfAnotherTime(t *testing.T) {
	light, busy := turningSystem{places: 2, turn: 200, visits: 4, listsS: 5, listS: 0.014}, turningSystem{places: 2, turn: 200, visits: 4, listsS: 90, listS: 0.0126}
	own, measured := [][]Execution{light.run(40, 1)}, &Calibration{Kind: 0, DemandNs: 10e6}
	if e := Given(Known{Law: Law{Cores: 2 / 1.4}, Calibration: measured}, own); e.Turn.Ns != 0 || !slices.Equal(e.Turn.Unknown, []int{1}) {
		t.Fatalf("%s; want none in the log of the light load, and that it does not tell", e.Turn)
	}
	e := Given(Known{Law: Law{Cores: 2 / 1.4}, Calibration: measured}, own, busy.run(40, 2))
	if t.Logf("%v cores, %s", e.Law.Cores, e.Turn); e.Turn.Ns == 0 || e.Turn.Visits(1) < 2 || e.Law.Cores < 1.92 || e.Law.Cores > 2.08 {
		t.Errorf("%v cores, %s; want 2, and turns", e.Law.Cores, e.Turn)
	}
}
