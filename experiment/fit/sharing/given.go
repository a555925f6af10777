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

// Given returns what logs say of a law that is known, and of its turn if turnNs is nil. If it is known with which requests it was measured, its
// cores become those with which the server has the same throughput of the demands of its own logs; those of other times inform the turn only. There
// are no intervals, and no delays.
func Given(l Law, turnNs *int64, calibrated *Calibration, own [][]Execution, others ...[]Execution) *Estimate {
	e := &Estimate{Law: l, Identifiable: true, Inflation: 1}
	m, measured := newModel(e.join(slices.Concat(own, others))), l
	if calibrated != nil {
		of := m
		if len(others) > 0 {
			of = newModel(new(Estimate).join(own))
		}
		e.Law = of.scaled(l, calibrated)
		if l = e.Law; of != m { // what follows compares with the demands of all logs
			// Short requests are left out, because they take up nothing while they wait for turns.
			long := func(m *model) float64 {
				return newModel(m.shortTurn().others(m.executions)).meanDemand(l, calibrated.Kind)
			}
			if all := long(m); all > 0 {
				calibrated = &Calibration{calibrated.Kind, calibrated.DemandNs * all / long(of)}
			}
		}
	}
	e.Busy = m.busy()
	for _, k := range m.kinds {
		e.Executions += len(k)
	}
	e.Turn = &Turn{}
	e.Busier, e.SpreadIdle, e.SpreadBusy = m.compare(l)
	if turnNs != nil && *turnNs == 0 {
		return e
	}
	short := m.shortTurn()
	if busier, _, _ := newModel(short.others(m.executions)).compare(l); turnNs == nil && busier > wrong {
		e.Turn = short.unknown() // the law is not that of the server
		return e
	}
	if t := m.turn(l, 0, true, turnNs); t != nil {
		if calibrated != nil && t.Ns > 0 && e.Law != measured {
			l, t = m.scaledWith(t, l, measured, calibrated)
			e.Law = l
		}
		if e.Turn = &t.Turn; t.Ns > 0 {
			e.demands = t.runs.demands
			l.Cores -= t.takes
			e.Busier, e.SpreadIdle, e.SpreadBusy = newModel(t.others(m.executions)).compare(l)
		}
	} else if turnNs == nil {
		e.Turn = short.unknown()
	}
	return e
}

// scaled returns a law with the cores with which the throughput of the kind with which it was measured is the same as then. It is the law itself
// if the kind is rare, or if its demand is so different that these are other requests.
func (m *model) scaled(l Law, c *Calibration) Law {
	scaled := l
	for range 20 { // demands depend on the cores, though less than in proportion
		ratio := m.meanDemand(scaled, c.Kind) / c.DemandNs
		if ratio > same || same*ratio < 1 {
			return l
		}
		scaled.Cores = l.Cores * ratio
	}
	return scaled
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
