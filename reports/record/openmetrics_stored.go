package record

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// Stale is the value that Prometheus stores at the first scrape that no longer has a series (its model/value.StaleNaN).
// Like every NaN it is not equal to itself: its bits are compared.
var Stale = math.Float64frombits(0x7ff0000000000002)

// StoredSeries is a series as a Prometheus that scrapes the servers of a run has it in its database.
type StoredSeries struct {
	Labels [][2]string // names and values, with __name__, sorted by name
	AtMs   []int64     // times of the samples, since 1970
	Values []float64   // Stale where the series ends before the run
}

// Stored returns all series of the run, and for each server also the series up, which is 1 when it has a process and else
// 0. It is called after the run. The bounds of buckets are written as Prometheus 3 stores them, such as 1.0.
func (all *OpenMetrics) Stored() (stored []*StoredSeries) {
	for _, m := range all.servers {
		target := m.target()
		byKey := map[string]*StoredSeries{}
		series := func(name string, labels []*dto.LabelPair, more ...[2]string) *StoredSeries {
			s := &StoredSeries{Labels: append(more, [2]string{"__name__", name})}
			for _, l := range labels {
				s.Labels = append(s.Labels, [2]string{l.GetName(), l.GetValue()})
			}
			slices.SortFunc(s.Labels, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
			key := fmt.Sprintf("%q", s.Labels)
			if known := byKey[key]; known != nil { // of an earlier process
				return known
			}
			byKey[key], stored = s, append(stored, s)
			return s
		}
		up := series("up", target)
		up.AtMs, up.Values = m.atMs, make([]float64, len(m.atMs))
		for _, life := range m.lives() {
			for i := life.begin; i < life.end; i++ {
				up.Values[i] = 1
			}
			for _, f := range life.all {
				for _, s := range f.metrics {
					if len(s.past) == 0 { // the process ended before the next sample
						continue
					}
					samples := s.samples(target, m.atMs[:life.end])
					of := func(end string, more ...[2]string) *StoredSeries {
						return series(f.name+end, samples[0].Label, more...)
					}
					if f.kind != dto.MetricType_HISTOGRAM {
						stored := of("")
						for _, sample := range samples {
							stored.put(sample.GetTimestampMs(), sample.GetCounter().GetValue()+sample.GetGauge().GetValue()) // it has one of them
						}
						continue
					}
					var buckets []*StoredSeries
					for _, upper := range f.buckets {
						buckets = append(buckets, of("_bucket", [2]string{"le", bound(upper)}))
					}
					last, sum, count := of("_bucket", [2]string{"le", "+Inf"}), of("_sum"), of("_count")
					for _, sample := range samples {
						h, at := sample.Histogram, sample.GetTimestampMs()
						for i, b := range h.Bucket {
							buckets[i].put(at, float64(b.GetCumulativeCount()))
						}
						last.put(at, float64(h.GetSampleCount()))
						sum.put(at, h.GetSampleSum())
						count.put(at, float64(h.GetSampleCount()))
					}
				}
			}
			if life.end < len(m.atMs) {
				for _, s := range byKey {
					if s != up && s.AtMs[len(s.AtMs)-1] == m.atMs[life.end-1] {
						s.put(m.atMs[life.end], Stale)
					}
				}
			}
		}
	}
	return stored
}

// put adds a sample. It takes the place of one at the same time, which says that the process before had ended.
func (s *StoredSeries) put(atMs int64, value float64) {
	if n := len(s.AtMs); n > 0 && s.AtMs[n-1] == atMs {
		s.Values[n-1] = value
		return
	}
	s.AtMs, s.Values = append(s.AtMs, atMs), append(s.Values, value)
}

// bound writes a bound of a bucket as OpenMetrics does.
func bound(upper float64) string {
	text := strconv.FormatFloat(upper, 'g', -1, 64)
	if !strings.ContainsAny(text, "e.") {
		text += ".0"
	}
	return text
}
