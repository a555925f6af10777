package upstream

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Limits returns the current concurrency limits by priority level, as the metrics have
// them: the last ones of levels that are gone, too.
func Limits(t *testing.T) map[string]int {
	limits := map[string]int{}
	for _, m := range metric(t, "apiserver_flowcontrol_current_limit_seats") {
		limits[m.GetLabel()[0].GetValue()] = int(m.GetGauge().GetValue())
	}
	return limits
}

// rejections returns how many requests have been rejected, by priority level, FlowSchema and
// reason.
func rejections(t *testing.T) map[string]int {
	counts := map[string]int{}
	for _, m := range metric(t, "apiserver_flowcontrol_rejected_requests_total") {
		label := map[string]string{}
		for _, l := range m.GetLabel() {
			label[l.GetName()] = l.GetValue()
		}
		counts[label["priority_level"]+"/"+label["flow_schema"]+"/"+label["reason"]] = int(m.GetCounter().GetValue())
	}
	return counts
}

// Series are metrics by the name that an OpenMetrics text has for them: with their labels.
type Series map[string]float64

// gather returns all metrics of flow control.
func gather(t *testing.T) Series {
	all := Series{}
	for _, f := range families(t) {
		if !strings.HasPrefix(f.GetName(), "apiserver_flowcontrol_") {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			add := func(suffix string, value float64, more ...string) {
				name := f.GetName() + suffix
				if with := slices.Concat(labels, more); len(with) > 0 {
					name += "{" + strings.Join(with, ",") + "}"
				}
				all[name] = value
			}
			switch h := m.GetHistogram(); {
			case m.GetGauge() != nil:
				add("", m.GetGauge().GetValue())
			case m.GetCounter() != nil:
				add("", m.GetCounter().GetValue())
			default:
				for _, b := range h.GetBucket() {
					add("_bucket", float64(b.GetCumulativeCount()), fmt.Sprintf("le=%q", upperBound(b.GetUpperBound())))
				}
				add("_bucket", float64(h.GetSampleCount()), `le="+Inf"`)
				add("_count", float64(h.GetSampleCount()))
				add("_sum", h.GetSampleSum())
			}
		}
	}
	return all
}

// upperBound writes a bound of a bucket as OpenMetrics wants it: never as an integer.
func upperBound(b float64) string {
	text := strconv.FormatFloat(b, 'g', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

func families(t *testing.T) []*dto.MetricFamily {
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Error(err)
	}
	return families
}

// metric returns the metrics of a name, none when nothing has been noted under it.
func metric(t *testing.T, name string) []*dto.Metric {
	families := families(t)
	i, found := slices.BinarySearchFunc(families, name, func(f *dto.MetricFamily, name string) int { return cmp.Compare(f.GetName(), name) })
	if !found {
		return nil
	}
	return families[i].GetMetric()
}
