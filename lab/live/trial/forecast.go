package trial

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"apfsim/lab/live/outcome"
)

// Forecast is one run of a forecast case: figures of what clients and servers did, and the same figures of simulations.
type Forecast struct {
	Live      []Figure
	Predicted [][]Figure      // by seed
	Ends      [][]Figure      // of runs with the ends of the interval of a capacity that was measured
	Fitted    []string        // the parts to which the scenario is fitted
	Basis     string          // what the scenario has from the measurement
	Late      []time.Duration // how late requests were sent, sorted
	Missing   []string        // what was lost, with what is missing
}

// Figure is the value of a statistic in a part of a case, such as one of its loads.
type Figure struct {
	Part  string  `json:"part"`
	Name  string  `json:"name"`
	Value float64 `json:"value"` // durations are in nanoseconds
}

// figures collects those of a part.
type figures struct {
	part string
	all  []Figure
}

func (f *figures) add(name string, value float64) {
	f.all = append(f.all, Figure{f.part, name, value})
}

// durations adds the mean, if it has a name, and percentiles of durations. Without any there are no figures.
func (f *figures) durations(name string, all []time.Duration, mean bool, percents ...float64) {
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	if mean {
		sum := 0.0
		for _, d := range all {
			sum += float64(d) / float64(len(all))
		}
		f.add(name+" mean", sum)
	}
	for _, p := range percents {
		f.add(fmt.Sprintf("%s p%v", name, p), float64(all[min(len(all)-1, int(p/100*float64(len(all))))]))
	}
}

// forecast simulates the scenario of a file with some seeds and assignments, and returns the figures of each.
func forecast(ctx context.Context, file, dir string, first, seeds int, assignments []string, of func(*outcome.Run) []Figure) (all [][]Figure, err error) {
	for seed := range seeds {
		sc, err := outcome.Load(file, append(slices.Clone(assignments), fmt.Sprintf("spec.seed=%d", first+seed))...)
		if err != nil {
			return nil, err
		}
		run, err := outcome.Simulate(ctx, sc, filepath.Join(dir, "predicted.jsonl"))
		if err != nil {
			return nil, err
		}
		all = append(all, of(run))
	}
	return all, nil
}

// merge appends the figures of a part, by seed.
func (f *Forecast) merge(predicted [][]Figure) {
	if f.Predicted == nil {
		f.Predicted = make([][]Figure, len(predicted))
	}
	for i := range predicted {
		f.Predicted[i] = append(f.Predicted[i], predicted[i]...)
	}
}

// empirical returns a distribution of measured values.
func empirical(all []time.Duration) string {
	texts := make([]string, len(all))
	for i, d := range all {
		texts[i] = fmt.Sprint(d)
	}
	return "{empirical: {values: [" + strings.Join(texts, ", ") + "]}}"
}
