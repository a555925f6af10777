package record

import (
	"bytes"
	"cmp"
	"io"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"apfsim/core/estimate"
	"apfsim/reports/format"
)

// family is all time series of one metric.
type family struct {
	name    string
	kind    dto.MetricType
	help    string
	labels  []string  // their names
	buckets []float64 // upper bounds of a histogram, without infinity

	metrics []*timeSeries // in the order of first appearance
}

// timeSeries is one time series, or for a histogram the series of all its buckets, with the values at
// all samples so far.
type timeSeries struct {
	family *family
	values []string // of the labels
	now    seriesState
	past   []seriesChange // the samples that differ from the sample before
}

// seriesState is the value of a time series. Histograms have counts, one for each bucket and one for
// infinity. Invariant: counts that are part of a sample are never changed, but replaced.
type seriesState struct {
	value  float64 // for a histogram, the sum
	counts []uint64
}

// seriesChange is a sample that differs from the one before. Most series rarely change, so changes need much
// less memory than samples.
type seriesChange struct {
	sample int
	seriesState
}

// with returns the series with these values of the labels, and makes it if there is none.
func (f *family) with(values ...string) *timeSeries {
	for _, m := range f.metrics {
		if slices.Equal(m.values, values) {
			return m
		}
	}
	m := &timeSeries{family: f, values: values}
	if f.kind == dto.MetricType_HISTOGRAM {
		m.now.counts = make([]uint64, len(f.buckets)+1)
	}
	f.metrics = append(f.metrics, m)
	return m
}

func (m *timeSeries) set(value float64) { m.now.value = value }
func (m *timeSeries) add(value float64) { m.now.value += value }

// setReading shows a reading of R in seat-seconds.
func (m *timeSeries) setReading(r estimate.SeatSeconds) { m.set(float64(r) / 1e8) }

// observe enters a value into a histogram, as often as times says.
func (m *timeSeries) observe(value float64, times uint64) {
	if n := len(m.past); n > 0 && &m.past[n-1].counts[0] == &m.now.counts[0] {
		m.now.counts = slices.Clone(m.now.counts)
	}
	bucket, _ := slices.BinarySearch(m.family.buckets, value)
	m.now.counts[bucket] += times
	m.now.value += value * float64(times)
}

// sample takes the sample with this number.
func (m *timeSeries) sample(number int) {
	if n := len(m.past); n > 0 {
		last := &m.past[n-1]
		same := last.value == m.now.value
		if m.now.counts != nil {
			same = &last.counts[0] == &m.now.counts[0]
		}
		if same {
			return
		}
	}
	m.past = append(m.past, seriesChange{number, m.now})
}

// write writes the series in the OpenMetrics text format, with all its samples. The times of the samples
// are in milliseconds since 1970. The series also gets the extra labels. The first series that is written of
// a metric has the lines for help and type.
func (m endedSeries) write(w io.Writer, extra []*dto.LabelPair, headed *bool) error {
	f := m.family
	var text bytes.Buffer
	part := &dto.MetricFamily{Name: &f.name, Type: &f.kind, Help: &f.help, Metric: m.samples(extra, m.atMs)}
	if _, err := expfmt.MetricFamilyToOpenMetrics(&text, part); err != nil {
		return err
	}
	samples := text.Bytes()
	for *headed && bytes.HasPrefix(samples, []byte("#")) {
		_, samples, _ = bytes.Cut(samples, []byte("\n"))
	}
	*headed = true
	_, err := w.Write(samples)
	return err
}

// samples returns one metric for each sample since the first of the series.
func (m *timeSeries) samples(extra []*dto.LabelPair, atMs []int64) []*dto.Metric {
	labels := slices.Clone(extra)
	for i := range m.values {
		value := format.Printable(m.values[i]) // escapes of this format are for backslashes, quotes and line ends only
		labels = append(labels, &dto.LabelPair{Name: &m.family.labels[i], Value: &value})
	}
	slices.SortFunc(labels, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetName(), b.GetName()) })
	var all []*dto.Metric
	for i := range m.past {
		end := len(atMs)
		if i+1 < len(m.past) {
			end = m.past[i+1].sample
		}
		shown := m.show(&m.past[i].seriesState)
		for sample := m.past[i].sample; sample < end; sample++ {
			all = append(all, &dto.Metric{Label: labels, TimestampMs: &atMs[sample],
				Counter: shown.Counter, Gauge: shown.Gauge, Histogram: shown.Histogram})
		}
	}
	return all
}

func (m *timeSeries) show(s *seriesState) *dto.Metric {
	switch m.family.kind {
	case dto.MetricType_COUNTER:
		return &dto.Metric{Counter: &dto.Counter{Value: &s.value}}
	case dto.MetricType_GAUGE:
		return &dto.Metric{Gauge: &dto.Gauge{Value: &s.value}}
	}
	var count uint64
	h := &dto.Histogram{SampleSum: &s.value, SampleCount: &count}
	for i, n := range s.counts {
		count += n
		if i < len(m.family.buckets) {
			upTo := count
			h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: &m.family.buckets[i], CumulativeCount: &upTo})
		}
	}
	return &dto.Metric{Histogram: h}
}
