package sharing

import (
	"math"
	"math/rand/v2"
	"testing"
)

// meanDemand returns the mean demand of the requests of kind 0, in seconds.
func meanDemand(m *model, e *Estimate) (mean float64) {
	n := 0.0
	for i, d := range m.demandsOf(e.Law) {
		if m.executions[i].Kind != 0 {
			continue
		}
		d = e.DemandNs(0, d)
		n++
		mean += (d/1e9 - mean) / n
	}
	return mean
}

// The server collects garbage for 130 ms whenever it has served 0.75 s of demand. The log shows both, and the cores and the demands without that. A server
// that always has something to do then serves 2/(1 + 2·0.13/(2·0.75)) = 1.70 cores of lists of 12.5 ms, 136 a second. The law without collections says
// more, because the log has fewer of them.
func TestCollectionsOfAServer(t *testing.T) {
	s := named(t, "2 cores, garbage is collected")
	const lists = 2 / (1 + 0.13/0.75) / 0.0125
	off, without := 0.0, 0.0
	const seeds = 3
	for seed := range uint64(seeds) {
		m := newModel(s.run(s.seconds(), seed+1))
		search := newSearch(m)
		search.best(coarse)
		p, _, _ := search.correct(search.alone[0])
		simple := search.law(p)
		c, law, cores := m.collect(simple, Interval{}, false)
		if c == nil {
			t.Errorf("seed %d: no collections", seed)
			continue
		}
		every, lasts := float64(c.EveryNs)/1e9, float64(c.LastsNs)/1e9
		served := law.Cores / (1 + law.Cores*lasts/(2*every)) / meanDemand(m, &Estimate{Law: law, demands: c.demands})
		t.Logf("seed %d: every %.3f s for %.3f s, %.2f cores %.2f, %.0f lists/s, %.0f by the law without", seed, every, lasts, law.Cores, cores, served, simple.Cores/meanDemand(m, &Estimate{Law: simple}))
		if math.Abs(every/0.75-1) > 0.1 || math.Abs(lasts/0.13-1) > 0.5 || cores.Low > 2 || cores.High < 2 || math.Abs(served/lists-1) > 0.1 {
			t.Errorf("seed %d: every %v s for %v s, cores %v in %v, %v lists/s; want 0.75 s, 0.13 s, 2, and %v", seed, every, lasts, law.Cores, cores, served, lists)
		}
		off += math.Abs(served/lists-1) / seeds
		without += math.Abs(simple.Cores/meanDemand(m, &Estimate{Law: simple})/lists-1) / seeds
	}
	if off > without {
		t.Errorf("the throughput is off by %.1f %%, and by %.1f %% without collections", 100*off, 100*without)
	}
}

// A third of such a log shows that the server is slow at times, and hardly when again. A law without collections would do more than the server. What the
// estimate says that the server does contains the truth, or it says that this is unknown.
func TestCollectionsThatMayBeChance(t *testing.T) {
	s := named(t, "2 cores, garbage is collected")
	const lists = 2 / (1 + 0.13/0.75) / 0.0125
	contained, known := 0, 0
	for seed := range uint64(6) {
		log := s.run(s.seconds()/3, seed+1)
		e := New(log)
		if e.Together == 0 {
			t.Errorf("seed %d: the server is not slow at times", seed)
		}
		if !e.Identifiable {
			continue
		}
		if known++; e.Collection == nil {
			t.Errorf("seed %d: no collections", seed)
			continue
		}
		demand := meanDemand(newModel(log), e)
		low, high := e.Collection.throughput(e.Cores.Low)/demand, e.Collection.throughput(e.Cores.High)/demand
		t.Logf("seed %d: collections of %v to %v ms, %.0f to %.0f lists/s", seed, e.Collection.LowNs/1e6, e.Collection.HighNs/1e6, low, high)
		if low <= lists && lists <= high {
			contained++
		}
	}
	if known == 0 || contained < known {
		t.Errorf("%d of %d intervals contain %.0f lists/s", contained, known, lists)
	}
}

// Collections that are known are not a part of the demands. If lists were measured to take 10 ms alone, the cores and the demand between two collections
// were as many times less.
func TestKnownCollections(t *testing.T) {
	s := named(t, "2 cores, garbage is collected")
	log := s.run(s.seconds(), 1)
	off := func(e *Estimate) float64 { return meanDemand(newModel(log), e)/0.0125 - 1 }
	with := Given(Known{Law: Law{Cores: 2}, Collection: &Collection{EveryNs: 750e6, LastsNs: 130e6}}, [][]Execution{log})
	without := Given(Known{Law: Law{Cores: 2}}, [][]Execution{log})
	t.Logf("demands are off by %.1f %%, and by %.1f %% without collections", 100*off(with), 100*off(without))
	if math.Abs(off(with)) > 0.03 || off(without) < 0.05 {
		t.Errorf("demands are off by %.1f %%, and by %.1f %% without collections; want at most 3 %%, and more than 5 %%", 100*off(with), 100*off(without))
	}
	scaled := Given(Known{Law: Law{Cores: 1.6}, Collection: &Collection{EveryNs: 600e6, LastsNs: 130e6}, Calibration: &Calibration{Kind: 0, DemandNs: 10e6}}, [][]Execution{log})
	if math.Abs(scaled.Law.Cores/2-1) > 0.03 || math.Abs(off(scaled)) > 0.03 {
		t.Errorf("%v cores, demands off by %.1f %%; want 2, and 0", scaled.Law.Cores, 100*off(scaled))
	}
}

// A server that is slow at any times does not collect garbage, nor does one that is never slow.
func TestOtherSlowTimesAreNoCollections(t *testing.T) {
	for _, name := range []string{"2 cores, slow at times", "1.75 cores, lists and mice"} {
		s := named(t, name)
		for seed := range uint64(4) {
			if c, law, _ := newModel(s.run(s.seconds(), seed+1)).collect(s.law, Interval{}, false); c != nil || law != s.law {
				t.Errorf("%s, seed %d: %+v, %+v", name, seed, c, law)
			}
		}
	}
}

// Pairs of each class are those of all that are so far apart.
func TestPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var log []Execution
	for range 300 {
		begin := r.Int64N(2_000_000_000)
		log = append(log, Execution{begin, begin + 1 + r.Int64N(30_000_000), r.IntN(2)})
	}
	c := newCollecting(newModel(log), Law{Cores: 2}, nil)
	x := make([]float64, len(log))
	for i := range x {
		x[i] = r.NormFloat64()
	}
	var want classes
	for i := range log {
		for j := range log {
			for class := range want {
				if d := c.clock[j] - c.clock[i]; i != j && d >= c.edges[class] && d < c.edges[class+1] {
					want[class] += x[i] * x[j]
				}
			}
		}
	}
	const from, to = 2, near + 5
	var got classes
	for _, sums := range c.pairs(x, from, to) {
		for class := range got {
			got[class] += sums[class]
		}
	}
	for class := range want {
		if class < from || class >= to {
			want[class] = 0
		}
		if math.Abs(got[class]-want[class]) > 1e-9 {
			t.Errorf("class %d: %v, want %v", class, got[class], want[class])
		}
	}
}

// A stretch makes the demands of each size greater or smaller as far as requests take longer or shorter, half of the way in each step, and keeps their order.
func TestStretch(t *testing.T) {
	var demands []float64
	var kind []int
	log := &model{timeline: &timeline{}}
	var times [][]float64
	for i := range 100 {
		d := float64(i + 1)
		demands, kind = append(demands, d), append(kind, i)
		log.executions = append(log.executions, Execution{0, int64(d), 0})
		times = append(times, []float64{4 * d}) // runs take four times as long
	}
	s := newStretch(demands, kind)
	for _, d := range []float64{0.5, 1, 17.3, 100, 400} {
		if got := s.of(d); math.Abs(got-d) > 1e-9 {
			t.Errorf("%v becomes %v before a step", d, got)
		}
	}
	s.match(log, kind, times)
	for _, d := range []float64{0.5, 1, 17.3, 100, 400} {
		if got := s.of(d); math.Abs(got-d/2) > 1e-9 {
			t.Errorf("%v becomes %v, want half of it", d, got)
		}
	}
}

// Pairs that are less and less alike, the farther they are from each other, have no period, however much alike the near ones are.
func TestNoPeriodWithoutAHill(t *testing.T) {
	c := &collecting{}
	for class := range c.alike {
		c.edges[class+1], c.alike[class], c.deviations[class] = float64(class+1), 100-3*float64(class), 1
	}
	if c.findPeriod(false) {
		t.Errorf("period of %v from class %d to %d", c.everyNs, c.from, c.to)
	}
	for class := near + 9; class < near+13; class++ {
		c.alike[class] = 70
	}
	for class := range c.alike[near+5:] {
		if class += near + 5; class < near+9 || class >= near+13 {
			c.alike[class] = 10
		}
	}
	if !c.findPeriod(false) || c.everyNs != near+11 {
		t.Errorf("period of %v from class %d to %d, want %d", c.everyNs, c.from, c.to, near+11)
	}
}
