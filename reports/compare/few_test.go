package compare

import (
	"testing"

	"apfsim/sim/metric"
)

// The p99 of every run doubles. That is significant if the runs of each side have 1000 requests together, and unknown if those
// of one side have 999: the p99 of so few says little more than which requests happened to be slow.
func TestPercentileOfFewSamplesIsNotTested(t *testing.T) {
	side := func(p99 float64, requests ...float64) *Replications {
		r := &Replications{Seeds: []uint64{1, 2, 3, 4}}
		for i, values := range []RunValues{{p99, 1.01 * p99, 1.02 * p99, 1.01 * p99}, requests} {
			e := EstimateOf(values)
			e.Name = []string{"wait.p(99)", "wait.count"}[i]
			e.ID = metric.MustParseName(e.Name)
			e.Better = e.ID.Better()
			r.Statistics = append(r.Statistics, e)
		}
		r.CountSamples()
		return r
	}
	outcome := func(base, head *Replications) (Outcome, Judgement) {
		c := Compare("base", base, "head", head)
		for i := range c.Changes {
			if ch := &c.Changes[i]; ch.Name == "wait.p(99)" {
				return ch.Outcome, ch.Judgement
			}
		}
		return "", ""
	}
	enough, few := side(100, 250, 251, 249, 250), side(200, 250, 251, 249, 249)
	if o, j := outcome(enough, side(200, 250, 251, 249, 250)); o != Changed || j != Regression {
		t.Errorf("of 1000 requests the change is %q, %q", o, j)
	}
	if o, j := outcome(enough, few); o != Untested || j != "" {
		t.Errorf("of 999 requests the change is %q, %q", o, j)
	}
}
