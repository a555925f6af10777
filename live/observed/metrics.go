package observed

import (
	"bytes"
	"fmt"

	"apfsim/core/estimate"
	"apfsim/lint/metrics"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Scrape is what a server answered to a request for /metrics.
type Scrape []byte

// Count is what is counted of a priority level: the rejections for a reason or, with the reason Dispatched,
// what was dispatched.
type Count struct{ Level, Reason string }

// Dispatched is the reason of a Count that is no rejection.
const Dispatched = "dispatched"

// Counts returns the counts of a scrape.
func (s Scrape) Counts() (map[Count]int, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(s))
	if err != nil {
		return nil, fmt.Errorf("the answer is not the text of /metrics: %w", err)
	}
	counts := map[Count]int{}
	for _, m := range families["apiserver_flowcontrol_rejected_requests_total"].GetMetric() {
		counts[Count{label(m, "priority_level"), label(m, "reason")}] += int(m.GetCounter().GetValue())
	}
	for _, m := range families["apiserver_flowcontrol_dispatched_requests_total"].GetMetric() {
		counts[Count{label(m, "priority_level"), Dispatched}] += int(m.GetCounter().GetValue())
	}
	return counts, nil
}

// Store returns the number of stored objects and their average size, as the server reports them.
func (s Scrape) Store() (estimate.Store, error) { return metrics.ReadStore(bytes.NewReader(s)) }

// Difference returns how much more was counted after than before. A level without rejections is not in it.
func Difference(before, after Scrape) (map[Count]int, error) {
	from, err := before.Counts()
	if err != nil {
		return nil, err
	}
	to, err := after.Counts()
	if err != nil {
		return nil, err
	}
	for c, n := range from {
		to[c] -= n
	}
	return to, nil
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
