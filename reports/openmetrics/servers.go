package openmetrics

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

// Recorders are those of all servers of a run. The series of each have a label instance of their own, as if
// Prometheus had scraped all of them.
type Recorders []*Recorder

// NewOfServers is New for all servers of a run.
func NewOfServers(sc *scenario.Scenario, servers []*server.Server, start time.Time, intervalNs int64) (all Recorders) {
	for i, s := range servers {
		m := New(sc, s, start, intervalNs)
		if len(servers) > 1 {
			m.instance = fmt.Sprintf("%s-%d", sc.Metadata.Name, i)
			m.begin(0, sc.Spec.Servers.KubernetesVersion.Of(i))
		}
		all = append(all, m)
	}
	return all
}

// Observer returns what the recorders observe of a run.
func (ms Recorders) Observer() server.Observer {
	each := make([]server.Observer, len(ms))
	for i, m := range ms {
		each[i] = m.Observer()
	}
	return server.PerServer(each)
}

// Write writes all samples so far in the OpenMetrics text format: the metrics in the order of the first
// release that has them, the series of each sorted by instance and labels.
func (ms Recorders) Write(w io.Writer) error {
	written := map[string]bool{}
	for _, m := range ms {
		for _, life := range m.lives() {
			for _, f := range life.all {
				if written[f.name] {
					continue
				}
				written[f.name] = true
				if err := ms.writeMetric(w, f.name); err != nil {
					return err
				}
			}
		}
	}
	_, err := expfmt.FinalizeOpenMetrics(w)
	return err
}

// lives returns the metrics of all processes of the server.
func (m *Recorder) lives() []*families {
	if m.families == nil {
		return m.past
	}
	m.families.end = len(m.atMs)
	return append(slices.Clone(m.past), m.families)
}

// writeMetric writes the series of all servers and processes of a metric.
func (ms Recorders) writeMetric(w io.Writer, name string) error {
	headed := false
	for _, m := range ms {
		pair := func(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }
		extra := []*dto.LabelPair{pair("job", "apiserver"), pair("instance", m.instance)}
		var series []ended
		for _, life := range m.lives() {
			for _, f := range life.all {
				if f.name != name {
					continue
				}
				for _, s := range f.metrics {
					if len(s.past) > 0 { // else the process ended before the next sample
						series = append(series, ended{s, m.atMs[:life.end]})
					}
				}
			}
		}
		// Those of one process follow those of the process before, if they have the same labels.
		slices.SortStableFunc(series, func(a, b ended) int { return slices.Compare(a.values, b.values) })
		for _, s := range series {
			if err := s.write(w, extra, &headed); err != nil {
				return err
			}
		}
	}
	return nil
}

// ended is a series with the times of the samples up to the end of its process.
type ended struct {
	*timeSeries
	atMs []int64
}
