package upstream

import (
	"cmp"
	"slices"
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

// rejections returns how many requests have been rejected since the process started, by
// priority level, FlowSchema and reason.
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

// metric returns the metrics of a name, none when nothing has been noted under it.
func metric(t *testing.T, name string) []*dto.Metric {
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Error(err)
	}
	i, found := slices.BinarySearchFunc(families, name, func(f *dto.MetricFamily, name string) int { return cmp.Compare(f.GetName(), name) })
	if !found {
		return nil
	}
	return families[i].GetMetric()
}
