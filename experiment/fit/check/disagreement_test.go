package check

import (
	"testing"

	"apfsim/experiment/fit/shape"
)

// A scenario whose requests take so long, or so short, that the mean of the log is far from those of all runs has a wrong capacity.
func TestDisagreement(t *testing.T) {
	low, high := 10e6, 12e6
	for _, c := range []struct {
		recorded float64
		want     string
	}{
		{8.1e6, ""}, {14.9e6, ""},
		{7.9e6, "the mean execution was 7.9 ms in the log, and is 10 ms to 12 ms in the runs"},
		{15.1e6, "the mean execution was 15.1 ms in the log, and is 10 ms to 12 ms in the runs"},
	} {
		row := Row{Group: "all", Statistic: "execution mean", Unit: "ns", Recorded: c.recorded, Low: &low, High: &high}
		workload := row
		workload.Group, workload.Recorded = "workload", 1
		if got := (&Check{Rows: []Row{workload, row}}).disagreement(shape.NewLatencies(0, 1)); got != c.want {
			t.Errorf("%v: %q, want %q", c.recorded, got, c.want)
		}
	}
}

// One slow second of a minute is an exception; four are not.
func TestDisagreementOfSeconds(t *testing.T) {
	low, high := 1e6, 2e6
	for slow, want := range map[int]string{1: "", 4: "in a twentieth of the seconds of the log, the mean latency was 3 ms or more, and in the slowest second of the runs 1 ms to 2 ms"} {
		log := shape.NewLatencies(0, 60e9)
		for second := range int64(60) {
			latency := int64(1e6)
			if second < int64(slow) {
				latency = 3e6
			}
			for i := range int64(10) {
				log.End(second*1e9+latency+i, latency)
			}
		}
		c := Check{Rows: []Row{{Group: "all", Statistic: "slowest 1s", Unit: "ns", Recorded: 3e6, Low: &low, High: &high}}}
		if got := c.disagreement(log); got != want {
			t.Errorf("%d slow seconds: %q, want %q", slow, got, want)
		}
	}
}
