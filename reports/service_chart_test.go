package reports_test

import (
	"strings"
	"testing"

	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// The chart of services draws a flow as underserved below the same limit as the table of flows does.
func TestServiceBelowTheFairShareIsDrawnAsSuch(t *testing.T) {
	flow := func(name string, service float64) result.Flow {
		ratio := service / 100
		return result.Flow{Group: result.Group{Name: name, Counts: metric.Counts{Arrived: 100, Executed: 90, Rejected: 10, QueueFull: 10}},
			PriorityLevel: "low", DemandSeatSeconds: 200, FairShareSeatSeconds: 100, ServiceSeatSeconds: service, Ratio: &ratio}
	}
	svg := func(service float64) string {
		s := &result.Summary{PriorityLevels: []result.Level{{Group: result.Group{Name: "low"}}},
			Flows: []result.Flow{flow("schema/user:a", service), flow("schema/user:b", 105)}}
		return string(rendered(t, chartOf(t, &result.Result{Summary: s}, "service-low").WriteSVG))
	}
	short, enough := svg(94.9), svg(95)
	if got := strings.Count(short, "#EE6677") - strings.Count(enough, "#EE6677"); got != 1 {
		t.Errorf("%d bars more are drawn as underserved with 94.9 %% of the fair share than with 95 %%, want 1", got)
	}
	if !strings.Contains(short, "service below 95 % of fair share") {
		t.Error("the legend does not give the limit")
	}
}
