package charts

import (
	"reflect"
	"testing"

	"apfsim/reports/report"
)

// What is drawn in one chart can be told apart.
func TestStylesOfAChartDiffer(t *testing.T) {
	type line struct {
		kind  report.PlotKind
		index int
	}
	for _, chart := range [][]line{
		{{kind: report.KindSeatsInUse}, {kind: report.KindCurrentLimit}, {kind: report.KindNominalLimit}},
		{{kind: report.KindArrived}, {kind: report.KindDispatched}, {report.KindRejected, 0}, {report.KindRejected, 1}, {report.KindRejected, 2}},
		{{kind: report.KindOldestWait}, {kind: report.KindWaitP99}, {kind: report.KindWaitMedian}, {kind: report.KindEvent}, {kind: report.KindAdjustment}},
		{{kind: report.KindService}, {kind: report.KindUnderservedService}, {kind: report.KindFairShare}},
		{{report.KindCategory, 0}, {report.KindCategory, 5}, {report.KindCategory, 6}, {report.KindCategory, 12}, {report.KindCategory, 23}},
	} {
		for i, a := range chart {
			for _, b := range chart[:i] {
				if reflect.DeepEqual(styleOf(a.kind, a.index), styleOf(b.kind, b.index)) {
					t.Errorf("lines %v and %v look alike", a, b)
				}
			}
		}
	}
}
