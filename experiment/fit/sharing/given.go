package sharing

// Calibration says that a law was measured with requests of a kind, which had a demand then.
type Calibration struct {
	Kind     int
	DemandNs float64
}

// same bounds the ratio between the demand of a kind in the log and the one at calibration. Beyond it, the log is taken
// to have other requests.
const same = 2

// OfKnownLaw returns the estimate for a capacity that is given. If the requests that it was calibrated with are known,
// its number of cores is scaled until the server has the calibrated throughput with the demands of the logs. There are
// no intervals and no delays.
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

// scaled returns the law with its cores scaled so that the throughput of the calibrated kind is the same as at
// calibration. It returns the law unchanged if the kind is rare, or if its demand differs so much that these must be
// other requests or another server; unlike is then the ratio of the demands, otherwise 0.
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
