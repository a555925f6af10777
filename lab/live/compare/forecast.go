package compare

import (
	"fmt"
	"math"
	"slices"
	"time"

	"apfsim/lab/live/trial"
)

// Unit is that of a figure.
type Unit uint8

// The units.
const (
	Count    Unit = iota
	Duration      // in nanoseconds
	Share
)

// Text writes a value.
func (u Unit) Text(x float64) string {
	switch u {
	case Duration:
		return fmt.Sprint(round(time.Duration(x)))
	case Share:
		return fmt.Sprintf("%.1f %%", 100*x)
	}
	return fmt.Sprint(math.Round(10*x) / 10)
}

// Statistic is one of the statistics of a forecast case: what a prediction may differ in from the live runs, which is decided
// before they are made. Allowed is from the least live value divided by the factor, less the slack, to the greatest live value times the factor, plus the
// slack. A prediction is an interval, from the least to the greatest of its runs, and holds if a part of it is allowed. A factor of 0 means that the
// statistic is shown, and not compared.
type Statistic struct {
	Name   string
	Unit   Unit
	Factor float64
	Slack  float64
}

const millisecond = float64(time.Millisecond)

// forecastStatistics are those of each forecast case, in the order of the table.
var forecastStatistics = map[string][]Statistic{
	"watch-fanout": {
		{"seats after the execution", Count, 1, 0},
		{"time of these seats", Duration, 1, 0},
		{"executed", Count, 1.15, 0},
		{"rejected", Share, 1, 0.10},
		{"execution mean", Duration, 1.5, millisecond},
		{"wait mean", Duration, 1.5, 10 * millisecond},
		{"wait p99", Duration, 1.5, 10 * millisecond},
		{"events received", Share, 1, 0},
		{"event late mean", Duration, 2, 5 * millisecond},
		{"event late p50", Duration, 2, 5 * millisecond},
		{"event late p99", Duration, 2, 5 * millisecond},
		{"watches ended", Count, 1, 0},
	},
	"server-stop": {
		{"requests", Count, 1.15, 0},
		{"status 201", Share, 1, 0.05},
		{"status 429", Share, 1, 0.05},
		{"connection errors", Count, 2, 6},
		{"other statuses, or no answer", Count, 1, 0},
		{"at the second server", Share, 1, 0.05},
		{"wait mean", Duration, 1.5, 10 * millisecond},
		{"wait p99", Duration, 1.5, 50 * millisecond},
		{"latency p50", Duration, 1.5, 10 * millisecond},
		{"until the second server has all", Duration, 1, 1000 * millisecond},
	},
	"informer-relist": {
		{"connections refused", Count, 1.25, 2},
		{"answers 410", Count, 1, 0},
		{"answers 429", Count, 0, 0},
		{"answers 503", Count, 0, 0},
		{"requests: list", Count, 1, 0},
		{"requests: watch list", Count, 1, 0},
		{"requests: watch", Count, 1.1, 2},
		{"informers that have recovered", Share, 1, 0},
		{"until recovered mean", Duration, 1.25, 500 * millisecond},
		{"until recovered p50", Duration, 1.25, 1000 * millisecond},
		{"until recovered p100", Duration, 1.25, 1000 * millisecond},
		{"events received afterwards", Share, 1, 0},
		{"until it listens again", Duration, 1.25, 500 * millisecond},
		{"until it is ready again", Duration, 1.25, 500 * millisecond},
	},
	"node-heartbeats": {
		{"requests", Count, 1.25, 5},
		{"status 200", Share, 1, 0.05},
		{"status 429", Share, 1, 0.05},
		{"another status, or no answer", Share, 1, 0.05},
		{"latency p50", Duration, 1.5, 10 * millisecond},
		{"latency p90", Duration, 1.5, 50 * millisecond},
		{"wait mean", Duration, 1.5, 50 * millisecond},
		{"time between two renewals p100", Duration, 1.25, 1000 * millisecond},
	},
}

// Allowed says what a prediction may be.
func (s *Statistic) Allowed() string {
	switch {
	case s.Factor == 0:
		return "not compared"
	case s.Factor == 1 && s.Slack == 0:
		return "equal"
	case s.Factor == 1:
		return "± " + s.Unit.Text(s.Slack)
	case s.Slack == 0:
		return fmt.Sprintf("factor %v", s.Factor)
	}
	return fmt.Sprintf("factor %v and %s", s.Factor, s.Unit.Text(s.Slack))
}

// holds says whether a prediction agrees with the live values.
func (s *Statistic) holds(least, most float64, live []float64) bool {
	const rounding = 1e-9
	return s.Factor == 0 || most >= slices.Min(live)/s.Factor-s.Slack-rounding && least <= slices.Max(live)*s.Factor+s.Slack+rounding
}

// ForecastRun is one run of a forecast case. The predictions are the medians of the seeds, and the least and the greatest, also of runs with the ends of the
// interval of the capacity.
type ForecastRun struct {
	Void      string         `json:"void,omitempty"`
	Late      time.Duration  `json:"lateP90Ns"`
	Basis     string         `json:"basis"`
	Fitted    []string       `json:"fitted,omitempty"` // parts that are not compared, because the scenario is fitted to them
	Live      []trial.Figure `json:"live"`
	Predicted []trial.Figure `json:"predicted"`
	Least     []trial.Figure `json:"least"`
	Most      []trial.Figure `json:"most"`
}

// NewForecastRun returns the results of a run.
func NewForecastRun(f *trial.Forecast) *ForecastRun {
	r := &ForecastRun{Late: Percentile(f.Late, 90), Basis: f.Basis, Fitted: f.Fitted, Live: f.Live}
	switch {
	case len(f.Missing) > 0:
		r.Void = fmt.Sprintf("%d requests were lost, the first one %s", len(f.Missing), f.Missing[0])
	case r.Late > mostLate:
		r.Void = fmt.Sprintf("the sender was %v late at p90; want at most %v", r.Late.Round(time.Millisecond/10), mostLate)
	}
	var keys []trial.Figure
	estimates, all := map[trial.Figure][]float64{}, map[trial.Figure][]float64{} // by part and name
	for i, run := range slices.Concat(f.Predicted, f.Ends) {
		for _, p := range run {
			key := trial.Figure{Part: p.Part, Name: p.Name}
			if all[key] == nil {
				keys = append(keys, key)
			}
			if all[key] = append(all[key], p.Value); i < len(f.Predicted) {
				estimates[key] = append(estimates[key], p.Value)
			}
		}
	}
	for _, k := range keys {
		with := func(x float64) trial.Figure { return trial.Figure{Part: k.Part, Name: k.Name, Value: x} }
		if seeds := slices.Sorted(slices.Values(estimates[k])); len(seeds) > 0 {
			r.Predicted = append(r.Predicted, with(seeds[len(seeds)/2]))
		}
		r.Least, r.Most = append(r.Least, with(slices.Min(all[k]))), append(r.Most, with(slices.Max(all[k])))
	}
	return r
}

// Comparison is a statistic of a part of a forecast case, in all runs.
type Comparison struct {
	Part string
	*Statistic
	Live      []float64 // of the runs that are not void
	Predicted []float64 // of the same runs, medians of the seeds
	Least     float64   // of all runs of simulations, and likewise Most
	Most      float64
	Fitted    bool // the scenario is fitted to the part
	Holds     bool
}

// value returns the value of a figure.
func value(all []trial.Figure, part, name string) (float64, bool) {
	for _, f := range all {
		if f.Part == part && f.Name == name {
			return f.Value, true
		}
	}
	return 0, false
}

// CompareForecasts returns what is compared of the runs of a forecast case. A statistic that has a value on one side only does
// not hold.
func CompareForecasts(name string, runs []*ForecastRun) (all []Comparison) {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r *ForecastRun) bool { return r.Void != "" })
	if len(runs) == 0 {
		return nil
	}
	var parts []string
	for _, f := range runs[0].Live {
		if !slices.Contains(parts, f.Part) {
			parts = append(parts, f.Part)
		}
	}
	statistics := forecastStatistics[name]
	for _, part := range parts {
		for i := range statistics {
			c := Comparison{Part: part, Statistic: &statistics[i], Fitted: slices.Contains(runs[0].Fitted, part), Least: math.Inf(1), Most: math.Inf(-1)}
			within := true
			for _, r := range runs {
				if x, ok := value(r.Live, part, c.Name); ok {
					c.Live = append(c.Live, x)
				}
			}
			for _, r := range runs {
				if x, ok := value(r.Predicted, part, c.Name); ok {
					c.Predicted = append(c.Predicted, x)
					least, _ := value(r.Least, part, c.Name)
					most, _ := value(r.Most, part, c.Name)
					c.Least, c.Most = min(c.Least, least), max(c.Most, most)
					within = within && len(c.Live) > 0 && c.holds(least, most, c.Live)
				}
			}
			if len(c.Live)+len(c.Predicted) == 0 {
				continue
			}
			c.Holds = c.Fitted || c.Factor == 0 || within && len(c.Predicted) == len(runs)
			all = append(all, c)
		}
	}
	return all
}
