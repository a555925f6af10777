package collect

import (
	"apfsim/reports/fingerprint"
	"apfsim/reports/result"
	"apfsim/reports/threshold"
	"apfsim/reports/virtualwait"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Measurement is the observers that a result comes from.
type Measurement struct {
	collector   *Collector
	fingerprint *fingerprint.Recorder
	windows     threshold.Windowed
}

// Measure attaches the observers that a result comes from to the server of a run of sc. The series
// have a point every intervalNs.
func Measure(sc *scenario.Scenario, of *server.Server, intervalNs int64) *Measurement {
	m := &Measurement{New(sc, of, intervalNs), fingerprint.New(of), threshold.NewWindowed(sc)}
	m.collector.virtual = virtualwait.New(sc, of)
	of.Observe(m.collector)
	of.Observe(m.fingerprint)
	if m.windows != nil {
		of.Observe(m.windows)
	}
	return m
}

// Result returns the result of the run, which has ended.
func (m *Measurement) Result() *result.Result {
	sc := m.collector.scenario
	warnings := make([]string, len(sc.Warnings))
	for i, w := range sc.Warnings {
		warnings[i] = w.Error()
	}
	result := m.collector.Result(warnings...)
	result.Summary.Fingerprint = m.fingerprint.String()
	m.windows.Judge(result.Summary)
	return result
}
