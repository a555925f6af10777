package sharing

// Calibration says that a law was measured with requests of a kind, which had a demand then.
type Calibration struct {
	Kind     int
	DemandNs float64
}

// same is the greatest ratio of the demands of a kind in a log and when it was measured, with which they are taken for the same requests.
const same = 2

// OfKnownLaw returns what logs say of a capacity that is known. If it is known with which requests it was measured, its cores become those with which the
// server has the same throughput of the demands of the logs. There are no intervals, and no delays.
func OfKnownLaw(l Law, calibrated *Calibration, logs ...[]Execution) *Estimate {
	e := &Estimate{Law: l, Identifiable: true, Inflation: 1}
	m := newModel(e.join(logs))
	if calibrated != nil {
		e.Law, e.DemandRatio = m.scaled(l, calibrated)
	}
	e.Busy = m.busy()
	for _, k := range m.kinds {
		e.Executions += len(k)
	}
	e.BusyDemandRatio, e.SpreadIdle, e.SpreadBusy = m.compare(e.Law)
	return e
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
