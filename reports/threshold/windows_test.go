package threshold

import (
	"testing"

	"apfsim/sim/metric"
)

func TestWorseIsFurtherFromWhatIsWanted(t *testing.T) {
	for _, c := range []struct {
		op         string
		worse, not float64 // with the limit 10
	}{{"<", 12, 11}, {"<=", 9, 8}, {">", 8, 9}, {">=", 11, 12}, {"==", 7, 12}, {"==", 13, 8}, {"!=", 10, 11}, {"!=", 9, 12}} {
		th := &metric.Threshold{Op: c.op, Limit: 10}
		if !Worse(th, c.worse, c.not) || Worse(th, c.not, c.worse) {
			t.Errorf("%s 10: %v is not worse than %v", c.op, c.worse, c.not)
		}
	}
}
