package collect

import (
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// NewVerdict returns the verdict on a threshold that has not been evaluated yet. It has not passed.
func NewVerdict(t *metric.Threshold) result.Verdict {
	v := result.Verdict{Metric: t.Key, Expression: t.Text, Limit: t.Limit, Kind: t.Kind, ID: t.Name()}
	if t.Over > 0 {
		v.Expression += " over " + t.Over.String()
	}
	if t.Unit == metric.Nanoseconds {
		v.Unit = "ns"
	}
	return v
}

// Tagged says whether the threshold lacks a tag or has the given value of it.
func Tagged(t *metric.Threshold, name, value string) bool {
	want := t.Tag(name)
	return want == "" || want == value
}

// thresholdValue returns what a threshold is compared with on requests that were measured within so many
// seconds; if there is no such value, the note says why. It serves where a summary does not have
// the number: for the requests in a window or with several tags, and for percentiles.
func thresholdValue(m *measure.Measures, name *metric.Name, seconds float64) (value float64, note string) {
	g := result.Group{Counts: m.Final(), NotServed: result.NewNotServed(&m.Counted), Responses: m.Responses, StillQueued: result.NewStillQueued(m)}
	if t, timed := measure.TimingOf(name.Metric); timed {
		if !result.InSummary(name) {
			return percentileOf(&m.Timed[t], name)
		}
		*g.Distribution(t) = result.NewDistribution(&m.Timed[t])
	}
	return result.OfRequests(&g, seconds, name)
}

// percentileOf returns the percentile of durations that a name names, which summaries do not have.
func percentileOf(h *measure.Histogram, name *metric.Name) (value float64, note string) {
	if h.N == 0 {
		return 0, metric.NoSamples
	}
	return float64(h.PercentileNs(name.Percentile)), ""
}
