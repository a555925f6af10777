package sharing

import (
	"math"
	"slices"
)

// Calibration says that a law was measured with requests of a kind, which had a demand then.
type Calibration struct {
	Kind     int
	DemandNs float64
}

// same is the greatest ratio of the demands of a kind in a log and when it was measured, with which they are taken for the same requests.
const same = 2

// Known is a capacity that is not estimated.
type Known struct {
	Law
	TurnNs      *int64       // nil if the log is to say
	Collection  *Collection  // nil without
	Calibration *Calibration // nil if that is unknown
}

// Given returns what logs say of a capacity that is known, and of its turn if it has none. If it is known with which requests it was measured, its
// cores become those with which the server has the same throughput of the demands of its own logs; those of other times inform the turn only. There
// are no intervals, and no delays.
func Given(k Known, own [][]Execution, others ...[]Execution) *Estimate {
	e := &Estimate{Law: k.Law, Identifiable: true, Inflation: 1}
	m, calibrated := newModel(e.join(slices.Concat(own, others))), k.Calibration
	of := m
	if len(others) > 0 && (calibrated != nil || k.Collection != nil) {
		of = newModel(new(Estimate).join(own))
	}
	switch {
	case k.Collection != nil:
		e.Law, e.demands, e.Unlike = of.scaledBetween(k.Collection, k.Law, calibrated)
		m.collection = k.Collection.scaled(e.Law, k.Law)
	case calibrated != nil:
		e.Law, e.Unlike = of.scaled(k.Law, calibrated)
	}
	l := e.Law
	if calibrated != nil && of != m { // what follows compares with the demands of all logs
		// Short requests are left out, because they take up nothing while they wait for turns.
		long := func(m *model) float64 {
			return newModel(m.shortTurn().others(m.executions)).meanDemand(l, calibrated.Kind)
		}
		if all := long(m); all > 0 {
			calibrated = &Calibration{calibrated.Kind, calibrated.DemandNs * all / long(of)}
		}
	}
	e.Busy = m.busy()
	for _, k := range m.kinds {
		e.Executions += len(k)
	}
	e.Turn = &Turn{}
	e.Busier, e.SpreadIdle, e.SpreadBusy = m.compare(l)
	if k.TurnNs != nil && *k.TurnNs == 0 {
		return e
	}
	short := m.shortTurn()
	if busier, _, _ := newModel(short.others(m.executions)).compare(l); k.TurnNs == nil && busier > wrong {
		e.Turn = short.unknown() // the law is not that of the server
		return e
	}
	if t := m.turn(l, 0, true, k.TurnNs); t != nil {
		if calibrated != nil && t.Ns > 0 && e.Law != k.Law {
			l, t = m.scaledWith(t, l, k.Law, calibrated)
			e.Law = l
		}
		if e.Turn = &t.Turn; t.Ns > 0 {
			e.demands = t.runs.demands
			l.Cores -= t.takes
			e.Busier, e.SpreadIdle, e.SpreadBusy = newModel(t.others(m.executions)).compare(l)
		}
	} else if k.TurnNs == nil {
		e.Turn = short.unknown()
	}
	return e
}

// scaled returns collections of a server whose law was measured with other cores. They come after as many requests.
func (c *Collection) scaled(l, measured Law) *Collection {
	return &Collection{EveryNs: int64(float64(c.EveryNs) * l.Cores / measured.Cores), LastsNs: c.LastsNs}
}

// scaledBetween returns what scaled returns, and the demands under the law, of a server with collections.
func (m *model) scaledBetween(x *Collection, measured Law, calibrated *Calibration) (l Law, demands map[int]*stretch, unlike float64) {
	l = measured
	scale := calibrated != nil
	for tries := 0; ; tries++ {
		m.collection = x.scaled(l, measured)
		r := newCollecting(m, l, nil).run(collected{l.Cores, float64(m.collection.LastsNs)})
		if !scale || r.means[calibrated.Kind] == 0 || tries == 6 {
			return l, r.demands, unlike
		}
		ratio, last := r.means[calibrated.Kind]/calibrated.DemandNs, l.Cores
		if ratio > same || same*ratio < 1 {
			l, unlike, scale = measured, ratio, false
		} else if l.Cores = ratio * measured.Cores; math.Abs(l.Cores-last) < 0.005*last {
			return l, r.demands, 0
		}
	}
}

// scaled returns a law with the cores with which the throughput of the kind with which it was measured is the same as then. It is the law itself
// if the kind is rare, or if its demand is so different that these are other requests, or another server; unlike is how many times as long it is then.
func (m *model) scaled(l Law, c *Calibration) (scaled Law, unlike float64) {
	scaled = l
	for range 20 { // demands depend on the cores, though less than in proportion
		ratio := m.meanDemand(scaled, c.Kind) / c.DemandNs
		if ratio > same || same*ratio < 1 {
			return l, ratio
		}
		scaled.Cores = l.Cores * ratio
	}
	return scaled, 0
}

// meanDemand returns the mean demand of a kind under a law, 0 if the kind is rare.
func (m *model) meanDemand(l Law, ofKind int) float64 {
	for _, kind := range m.kinds {
		if m.executions[kind[0]].Kind == ofKind {
			demands, sum := m.demandsOf(l), 0.0
			for _, i := range kind {
				sum += demands[i]
			}
			return sum / float64(len(kind))
		}
	}
	return 0
}

// scaledWith returns the law that scaled returns, and the turn under it, with the demands that the log has with turns.
func (m *model) scaledWith(t *turned, l, measured Law, c *Calibration) (Law, *turned) {
	last, lastOff := 0.0, 0.0
	for range 6 { // the secant method
		mean := t.runs.means[c.Kind]
		if mean == 0 {
			break // it is short
		}
		off := measured.Cores*mean/c.DemandNs - l.Cores
		if math.Abs(off) < 0.005*l.Cores {
			break
		}
		step := off
		if last > 0 && off != lastOff {
			step = off * (l.Cores - last) / (lastOff - off)
		}
		last, lastOff = l.Cores, off
		l.Cores = max(l.Cores/1.3, min(1.3*l.Cores, l.Cores+step))
		again := m.turn(l, 0, true, &t.Ns)
		if again == nil {
			break
		}
		again.LowNs, again.HighNs, again.Rejected, again.Expected = t.LowNs, t.HighNs, t.Rejected, t.Expected
		t = again
	}
	return l, t
}
