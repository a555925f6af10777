package report

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"apfsim/lab/live/compare"
	"apfsim/reports/judge"
	"apfsim/reports/report"
)

// Forecast is the runs of a forecast case, of which a simulation predicts what clients and servers do.
type Forecast struct {
	Name        string                 `json:"name"`
	Version     string                 `json:"version"` // of Kubernetes
	Runs        []*compare.ForecastRun `json:"runs"`
	LoadAverage string                 `json:"loadAverage,omitempty"` // before the runs
	Seeds       int                    `json:"seeds"`
}

// Begin takes note of the machine before the runs.
func (f *Forecast) Begin() { f.LoadAverage = loadAverage() }

// Verdict returns whether all predictions hold, and what does not. A void run says nothing, unless all are void.
func (f *Forecast) Verdict() (holds bool, failed []string) {
	for _, c := range compare.CompareForecasts(f.Name, f.Runs) {
		if !c.Holds {
			failed = append(failed, fmt.Sprintf("%s: %s: %s: live %s, predicted %s, allowed: %s", f.Name, c.Part, c.Name, spread(&c, c.Live), spread(&c, c.Predicted), c.Allowed()))
		}
	}
	if !slices.ContainsFunc(f.Runs, func(r *compare.ForecastRun) bool { return r.Void == "" }) {
		failed = append(failed, fmt.Sprintf("%s: all runs are void, so that nothing is compared: %s", f.Name, f.Runs[0].Void))
	}
	return len(failed) == 0, failed
}

// spread returns the middle value, and the least and the most if they differ.
func spread(c *compare.Comparison, xs []float64) string {
	if len(xs) == 0 {
		return "-"
	}
	xs = slices.Sorted(slices.Values(xs))
	middle, low, high := c.Unit.Text(xs[len(xs)/2]), c.Unit.Text(xs[0]), c.Unit.Text(xs[len(xs)-1])
	if low == high {
		return middle
	}
	return fmt.Sprintf("%s [%s..%s]", middle, low, high)
}

// forecastRow is a statistic of a part; only the first row of a part names it.
type forecastRow struct {
	part string
	*compare.Comparison
}

var forecastColumns = report.Definition[forecastRow]{
	column("part", true, func(r *forecastRow) string { return r.part }),
	column("statistic", true, func(r *forecastRow) string { return r.Name }),
	column("live", false, func(r *forecastRow) string { return spread(r.Comparison, r.Live) }),
	{Column: report.Column{Title: "predicted", Short: "predicted"}, Cell: func(r *forecastRow) report.Cell {
		text := spread(r.Comparison, r.Predicted)
		if !r.Holds {
			return report.Cell{Text: text + " (outside)", Judgement: judge.Bad}
		}
		return report.Word(text)
	}},
	column("all runs", false, func(r *forecastRow) string {
		if len(r.Predicted) == 0 {
			return "-"
		}
		low, high := r.Unit.Text(r.Least), r.Unit.Text(r.Most)
		if low == high {
			return low
		}
		return low + ".." + high
	}),
	column("allowed", true, func(r *forecastRow) string {
		if r.Fitted {
			return "fitted"
		}
		return r.Allowed()
	}),
}

// Document returns the report of the case.
func (f *Forecast) Document() *report.Document {
	d := &report.Document{Name: f.Name, Ran: machine(f.Version) + " Load average before the runs: " + f.LoadAverage + "."}
	add := func(p report.Part) { d.Sections = append(d.Sections, report.Section{Parts: []report.Part{p}}) }
	var rows []forecastRow
	compared := compare.CompareForecasts(f.Name, f.Runs)
	last := ""
	for i := range compared {
		row := forecastRow{Comparison: &compared[i]}
		if c := &compared[i]; c.Part != last {
			row.part, last = c.Part, c.Part
		}
		rows = append(rows, row)
	}
	void := 0
	for _, r := range f.Runs {
		if r.Void != "" {
			void++
		}
	}
	note := fmt.Sprintf("Runs: %d", len(f.Runs)-void)
	if void > 0 {
		note += fmt.Sprintf(", and %d void", void)
	}
	note += fmt.Sprintf("; the middle one [the least..the most]. A prediction is the median of %d seeds. All runs are those of the seeds, also with both ends of the interval of the capacity where that was measured.", f.Seeds)
	add(report.Part{Table: tableOf(f.Name+": live and predicted", forecastColumns, rows), Note: note})
	var basis []string
	for i, r := range f.Runs {
		if r.Basis != "" {
			basis = append(basis, fmt.Sprintf("Run %d: %s.", i+1, r.Basis))
		}
	}
	if len(basis) > 0 {
		add(report.Part{Note: "Measured for the scenario: " + strings.Join(basis, " ")})
	}
	if holds, failed := f.Verdict(); holds {
		add(report.Part{Only: report.Terminal, Paragraph: "All comparisons hold."})
	} else {
		add(report.Part{Only: report.Terminal, Heading: "What does not hold", List: failed})
	}
	return d
}

// WriteFile writes the results of a case as JSON.
func (f *Forecast) WriteFile(file string) error { return writeFile(file, f) }

// ReadForecast reads the results of a forecast case.
func ReadForecast(file string) (*Forecast, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	f := new(Forecast)
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return f, nil
}
