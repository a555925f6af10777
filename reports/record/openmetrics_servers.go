package record

import (
	"fmt"
	"io"
	"slices"
	"time"

	"apfsim/sim/scenario"
	"apfsim/sim/server"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// OpenMetrics samples the metrics that kube-apiserver would expose during a run, at a fixed interval as Prometheus does
// when it scrapes a server, and writes them in the OpenMetrics text format. Each metric has the name, the labels and the
// buckets of kube-apiserver. With several servers, the series of each have a label instance of their own. Memory grows
// with the number of samples and time series, not with the number of requests.
type OpenMetrics struct {
	out     io.Writer
	servers []*serverMetrics
}

// NewOpenMetrics returns a recorder for a run of sc that starts at the given time of day, on the servers whose levels
// are given. It takes samples every intervalNs and at the end.
func NewOpenMetrics[L server.Levels](w io.Writer, sc *scenario.Scenario, servers []L, start time.Time, intervalNs int64) *OpenMetrics {
	all := &OpenMetrics{out: w}
	for i, s := range servers {
		m := &serverMetrics{instance: sc.Metadata.Name, scenario: sc, source: s, startMs: start.UnixMilli(), intervalNs: intervalNs}
		if len(servers) > 1 {
			m.instance = fmt.Sprintf("%s-%d", sc.Metadata.Name, i)
		}
		m.begin(0, sc.Spec.Servers.KubernetesVersion.At(i))
		all.servers = append(all.servers, m)
	}
	return all
}

// Observer implements Recorder.
func (all *OpenMetrics) Observer() server.Observer {
	each := make([]server.Observer, len(all.servers))
	for i, m := range all.servers {
		each[i] = m.observer()
	}
	return server.PerServer(each)
}

// Err implements Recorder: nothing is written before the end.
func (*OpenMetrics) Err() error { return nil }

// Discard implements Recorder.
func (*OpenMetrics) Discard() {}

// Close writes all samples: the metrics in the order of the first release that has them, the series of each sorted by
// instance and labels.
func (all *OpenMetrics) Close() error {
	written := map[string]bool{}
	for _, m := range all.servers {
		for _, life := range m.lives() {
			for _, f := range life.all {
				if written[f.name] {
					continue
				}
				written[f.name] = true
				if err := all.writeMetric(f.name); err != nil {
					return err
				}
			}
		}
	}
	_, err := expfmt.FinalizeOpenMetrics(all.out)
	return err
}

// lives returns the metrics of all processes of the server.
func (m *serverMetrics) lives() []*families {
	if m.families == nil {
		return m.past
	}
	m.families.end = len(m.atMs)
	return append(slices.Clone(m.past), m.families)
}

// writeMetric writes the series of all servers and processes of a metric.
func (all *OpenMetrics) writeMetric(name string) error {
	headed := false
	for _, m := range all.servers {
		extra := m.target()
		var series []endedSeries
		for _, life := range m.lives() {
			for _, f := range life.all {
				if f.name != name {
					continue
				}
				for _, s := range f.metrics {
					if len(s.past) > 0 { // else the process ended before the next sample
						series = append(series, endedSeries{s, m.atMs[:life.end]})
					}
				}
			}
		}
		// Those of one process follow those of the process before, if they have the same labels.
		slices.SortStableFunc(series, func(a, b endedSeries) int { return slices.Compare(a.values, b.values) })
		for _, s := range series {
			if err := s.write(all.out, extra, &headed); err != nil {
				return err
			}
		}
	}
	return nil
}

// target returns the labels that a Prometheus adds to all series of the server.
func (m *serverMetrics) target() []*dto.LabelPair {
	pair := func(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }
	return []*dto.LabelPair{pair("job", "apiserver"), pair("instance", m.instance)}
}

// endedSeries is a series with the times of the samples up to the end of its process.
type endedSeries struct {
	*timeSeries
	atMs []int64
}
