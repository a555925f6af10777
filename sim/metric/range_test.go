package metric

import (
	"math"
	"testing"
)

// No statistic is negative. Only fractions have an upper bound: the utilisation of a level whose limit fell is more than 1.
func TestRangeOfStatistics(t *testing.T) {
	inf := math.Inf(1)
	for name, most := range map[string]float64{
		"wait.p(99)": inf, "arrived.perSecond": inf, "rejected.count": inf, "rejected.rate": 1, "executed{workload:w}.rate": 1,
		"fairness{priorityLevel:l}.jain": 1, "fairness{priorityLevel:l}.maxMinError": inf,
		"utilisation{priorityLevel:l}.saturated": 1, "utilisation{priorityLevel:l}.mean": inf, "ready{server:0}.share": 1,
	} {
		id := MustParseName(name)
		if low, high := id.Range(); low != 0 || high != most {
			t.Errorf("%s is from %v to %v, want 0 to %v", name, low, high, most)
		}
	}
}
