package collect

import (
	"iter"

	"apfsim/reports/record"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/workload"
)

// Measurement is the observers that a result comes from.
type Measurement struct {
	run         *sim.Run
	collector   *Collector
	fingerprint *record.Fingerprint
	windows     Windowed
	aggregated  *aggregated
	replayed    *replayed // nil without a log to compare with
}

// Measure attaches the observers that measure a run for its Result. The series have a point every intervalNs.
func Measure(run *sim.Run, intervalNs int64) *Measurement {
	sc, servers := run.Scenario, run.Servers()
	m := &Measurement{run, NewOfServers(sc, servers, intervalNs), record.NewFingerprint(), NewWindowed(sc), newAggregated(run, int64(sc.Spec.Warmup.Duration)), newReplayed(run)}
	m.collector.handlers, m.collector.queueOf = run.Handlers(), run.Clients().Queue
	run.OnNote(func(nowNs int64, workload, _ int, n workload.Note) { m.collector.Note(nowNs, workload, &n) })
	run.Observe(m.collector.Observer())
	if run.Probes() {
		m.collector.virtual = newProbes(sc, servers)
		run.Observe(m.collector.virtual.Observer())
	}
	run.Observe(m.fingerprint.Observer())
	if m.replayed != nil {
		run.Observe(m.replayed.Observer())
	}
	if m.windows != nil {
		run.Observe(m.windows.Observer())
	}
	return m
}

// ListEveryFlow makes the summary list all flows one by one, however many there are.
func (m *Measurement) ListEveryFlow() { m.collector.everyFlow = true }

// Flows iterates over the statistics of all flows, by priority level and name, after Result. Each is valid until the
// next.
func (m *Measurement) Flows() iter.Seq[*result.Flow] { return m.collector.Flows() }

// Result returns the result of the run, which has ended.
func (m *Measurement) Result() *result.Result {
	sc := m.collector.scenario
	warnings := make([]string, len(sc.Warnings))
	for i, w := range sc.Warnings {
		warnings[i] = w.Error()
	}
	if network := m.run.Network(); network != nil {
		m.collector.noticed(network.Noticed())
	}
	result := m.collector.Result(warnings...)
	result.Summary.AggregatedServers = m.aggregated.summary()
	result.Summary.Replay = m.replayed.summary()
	result.Summary.Fingerprint = m.fingerprint.String()
	m.windows.Judge(result.Summary)
	result.Summary.TrustWhatIf()
	if m.collector.beyond != nil {
		m.collector.beyond.trust(result.Summary, m.collector.toNs-m.collector.fromNs)
	}
	result.Summary.TrustThresholds()
	m.collector.addUnsteady(result.Summary)
	result.Evidence = m.collector.evidenceOf()
	return result
}
