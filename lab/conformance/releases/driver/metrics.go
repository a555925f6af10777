package driver

import (
	"testing"

	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

func init() { metrics.Register() }

// rejections returns how many requests were rejected, by priority level, FlowSchema and reason.
func rejections(t *testing.T) map[string]int {
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Error(err)
	}
	counts := map[string]int{}
	for _, f := range families {
		if f.GetName() != "apiserver_flowcontrol_rejected_requests_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			label := map[string]string{}
			for _, l := range m.GetLabel() {
				label[l.GetName()] = l.GetValue()
			}
			// Up to 1.19, the labels have other names.
			level, schema := label["priority_level"]+label["priorityLevel"], label["flow_schema"]+label["flowSchema"]
			counts[level+"/"+schema+"/"+label["reason"]] = int(m.GetCounter().GetValue())
		}
	}
	return counts
}
