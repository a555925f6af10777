package compare

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"apfsim/lab/live/trial"

	"github.com/google/go-cmp/cmp"
)

// A prediction is the interval of all its runs, of which the median of the seeds is shown. It is held against the range of the live runs that are not void. The part to which
// the scenario is fitted is not compared, and a value on one side only does not hold.
func TestCompareForecasts(t *testing.T) {
	forecastStatistics["test"] = []Statistic{{"wait", Duration, 1.5, 10 * millisecond}, {"seats", Count, 1, 0}, {"late", Duration, 0, 0}, {"rejected", Share, 1, 0.1}}
	defer delete(forecastStatistics, "test")
	run := func(late time.Duration, wait float64, predicted ...float64) *ForecastRun {
		f := &trial.Forecast{Fitted: []string{"low"}, Late: []time.Duration{late}}
		for _, part := range []string{"low", "high"} {
			f.Live = append(f.Live, trial.Figure{Part: part, Name: "wait", Value: wait}, trial.Figure{Part: part, Name: "seats", Value: 2},
				trial.Figure{Part: part, Name: "late", Value: 1})
		}
		for _, p := range predicted {
			f.Predicted = append(f.Predicted, []trial.Figure{{Part: "low", Name: "wait", Value: 0}, {Part: "high", Name: "wait", Value: p},
				{Part: "high", Name: "seats", Value: 3}, {Part: "high", Name: "rejected", Value: 0.05}})
		}
		return NewForecastRun(f)
	}
	runs := []*ForecastRun{run(0, 100*millisecond, 1, 160*millisecond, 1e12), run(0, 120*millisecond, 50*millisecond), run(time.Second, 1e12, 1)}
	if runs[2].Void != "the sender was 1s late at p90; want at most 20ms" {
		t.Errorf("%q", runs[2].Void)
	}
	var got []string
	for _, c := range CompareForecasts("test", runs) {
		got = append(got, fmt.Sprintf("%s %s: live %v, predicted %v, %s: %v", c.Part, c.Name, c.Live, c.Predicted, c.Allowed(), c.Holds))
	}
	want := []string{
		"low wait: live [1e+08 1.2e+08], predicted [0 0], factor 1.5 and 10ms: true",
		"low seats: live [2 2], predicted [], equal: true",
		"low late: live [1 1], predicted [], not compared: true",
		"high wait: live [1e+08 1.2e+08], predicted [1.6e+08 5e+07], factor 1.5 and 10ms: false",
		"high seats: live [2 2], predicted [3 3], equal: false",
		"high late: live [1 1], predicted [], not compared: true",
		"high rejected: live [], predicted [0.05 0.05], ± 10.0 %: false",
	}
	if d := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
}
