package charts

import (
	"reflect"
	"testing"

	"apfsim/reports/plots"
)

// What is drawn in one chart can be told apart.
func TestStylesOfAChartDiffer(t *testing.T) {
	type line struct {
		kind  plots.Kind
		index int
	}
	for _, chart := range [][]line{
		{{kind: plots.SeatsInUse}, {kind: plots.CurrentLimit}, {kind: plots.NominalLimit}},
		{{kind: plots.Arrived}, {kind: plots.Dispatched}, {plots.Rejected, 0}, {plots.Rejected, 1}, {plots.Rejected, 2}},
		{{kind: plots.OldestWait}, {kind: plots.WaitP99}, {kind: plots.WaitMedian}, {kind: plots.Event}, {kind: plots.Adjustment}},
		{{kind: plots.Service}, {kind: plots.UnderservedService}, {kind: plots.FairShare}},
		{{plots.Category, 0}, {plots.Category, 5}, {plots.Category, 6}, {plots.Category, 12}, {plots.Category, 23}},
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
