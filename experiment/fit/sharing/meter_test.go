package sharing

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Two requests share one core. The first begins at 0 and the second at 10 ms. The second ends at 30 ms, so that it was
// served for 20 ms by half a core, 10 ms. The first ends at 35 ms: it was served for 10 + 10 + 5 ms.
func TestDemandsOfTwoRequests(t *testing.T) {
	const ms = 1_000_000
	got := map[any]float64{}
	m := NewMeter(Law{Cores: 1}, func(tag any, ns float64) { got[tag] = ns / ms })
	m.Add(0, 0, 35*ms, "first")
	m.Add(9*ms, 10*ms, 30*ms, "second")
	m.Add(90*ms, 95*ms, 96*ms, "alone")
	m.Close()
	if got["first"] != 25 || got["second"] != 10 || got["alone"] != 1 {
		t.Errorf("%v", got)
	}
}

// The demands under the law from which a log was made are those of the log, whose distribution is known; the meter and the
// timeline agree.
func TestDemandsOfALog(t *testing.T) {
	s := system{law: Law{Cores: 2, Contention: 0.1, Coherency: 0.01}, perS: []float64{80}, demand: []func(*rand.Rand) float64{constant(0.015)}, limit: 20}
	log := s.run(10, 1)
	slices.SortFunc(log, func(a, b Execution) int { return int(a.BeginNs - b.BeginNs) })
	line := newTimeline(log)
	served := make([]float64, len(line.n))
	line.served(s.law.Speed, served)
	n := 0
	m := NewMeter(s.law, func(tag any, ns float64) {
		i := tag.(int)
		if d := served[line.end[i]] - served[line.begin[i]]; math.Abs(d-ns) > 1 {
			t.Errorf("execution %d: %g by the timeline, %g by the meter", i, d, ns)
		}
		if math.Abs(ns-15e6) > 100 { // of rounded times
			t.Errorf("execution %d: demand %g", i, ns)
		}
		n++
	})
	for i, e := range log {
		m.Add(e.BeginNs, e.BeginNs, e.EndNs, i)
	}
	m.Close()
	if n != len(log) {
		t.Errorf("%d of %d demands", n, len(log))
	}
}

// Of a log that is longer than needed, the part is compared in which the number of executions varies.
func TestPartOfALongLog(t *testing.T) {
	const ms = 1_000_000
	var log []Execution
	for i := range int64(5 * enough) {
		e := Execution{i * 10 * ms, i*10*ms + 5*ms, 0}
		if i/(enough/4) == 9 && i%2 == 0 { // two at a time
			e.EndNs += 10 * ms
		}
		log = append(log, e)
	}
	line := newTimeline(log)
	part := line.varied(enough)
	first := part[0].BeginNs / (10 * ms)
	if len(part) != enough || first > 9*enough/4 || first+enough < 10*enough/4 || line.mostAtOnce != 2 {
		t.Errorf("%d executions from %d on, %d at a time", len(part), first, line.mostAtOnce)
	}
	if e := New(log); e.Most != 2 || e.Executions != enough {
		t.Errorf("%+v", *e)
	}
}
