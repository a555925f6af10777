package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/sim/scenario"
)

// Incident is a published incident or measurement, and what a simulation of it yields.
type Incident struct {
	ID      string            `json:"id"` // the name of the scenario
	Source  scenario.Source   `json:"source"`
	Figures []SimulatedFigure `json:"figures"`

	// Scenario has the figures.
	Scenario *scenario.Scenario `json:"-"`
	// With are the other scenarios that the figures use.
	With []*scenario.Scenario `json:"-"`
}

// SimulatedFigure is a published number, and its value in the runs.
type SimulatedFigure struct {
	Name      string  `json:"name"`
	Unit      string  `json:"unit"`
	Published float64 `json:"published"`
	Low       float64 `json:"low"`  // the least number that is fair to expect
	High      float64 `json:"high"` // and the greatest
	// Simulated is the mean of the runs that have a value, each with other values of what the source does not say, and none of
	// them differs from it by more than Half. Both are nil if no run has a value.
	Simulated *float64 `json:"simulated"`
	Half      *float64 `json:"half"`
	Inside    bool     `json:"inside"` // whether Simulated is from Low to High

	Calibrated bool `json:"-"` // a parameter was chosen so that the number comes out
	Runs, Fair int  `json:"-"` // the number of runs that have a value, and of those whose value is from Low to High
	Without    int  `json:"-"` // the number of the other runs
}

// NewSimulatedFigure judges the values that the runs have of a figure, NaN where a run has none: a quotient of two numbers that
// are both 0, or a percentile of what has not happened. Such a run says nothing about the figure, so that it does not count.
func NewSimulatedFigure(f *scenario.Figure, all []float64) SimulatedFigure {
	values := slices.DeleteFunc(slices.Clone(all), math.IsNaN)
	s := SimulatedFigure{Name: f.Name, Unit: f.Unit, Published: *f.Published, Low: *f.Low, High: *f.High, Calibrated: f.Calibrated,
		Runs: len(values), Without: len(all) - len(values)}
	mean, half := math.NaN(), 0.0
	if len(values) > 0 {
		mean, _ = compare.Prediction(values)
	}
	for _, v := range values {
		if f.Inside(v) {
			s.Fair++
		}
	}
	for _, v := range values {
		half = max(half, math.Abs(v-mean))
	}
	if !math.IsNaN(mean) {
		s.Simulated, s.Half, s.Inside = &mean, &half, f.Inside(mean)
	}
	return s
}

// PublishedText is the published number with its unit, as tables have it.
func (f *SimulatedFigure) PublishedText() string {
	return strings.TrimSpace(strconv.FormatFloat(f.Published, 'f', -1, 64) + " " + f.Unit)
}

// judgement says in a word whether the number is one that is fair to expect.
func (f *SimulatedFigure) judgement() Cell {
	switch {
	case f.Calibrated:
		return Word("calibrated")
	case f.Inside:
		return Cell{Text: "inside", Judgement: Good}
	}
	return Cell{Text: "outside", Judgement: Bad}
}

// runsInside says how many runs are inside, of those that have a value, and how many have none.
func (f *SimulatedFigure) runsInside() string {
	text := fmt.Sprintf("%d of %d", f.Fair, f.Runs)
	if f.Without > 0 {
		text += fmt.Sprintf(" (%d without a value)", f.Without)
	}
	return text
}

var incidentColumns = Definition[SimulatedFigure]{
	{Column: Column{Short: "figure", Left: true}, Cell: func(f *SimulatedFigure) Cell { return Word(f.Name) }},
	{Column: Column{Short: "published"}, Cell: func(f *SimulatedFigure) Cell { return figure(f.Published, f.PublishedText()) }},
	{Column: Column{Short: "fair"}, Cell: func(f *SimulatedFigure) Cell {
		return Word(fmt.Sprintf("%s to %s", fourDigits(f.Low), withUnit(f.High, f.Unit)))
	}},
	{Column: Column{Short: "simulated"}, Cell: func(f *SimulatedFigure) Cell {
		if f.Simulated == nil {
			return noValue
		}
		text := fourDigits(*f.Simulated)
		if f.Runs > 1 {
			text += " ± " + strconv.FormatFloat(format.RoundTo(*f.Half, 2), 'f', -1, 64)
		}
		return figure(*f.Simulated, strings.TrimSpace(text+" "+f.Unit))
	}},
	{Column: Column{Short: "runs inside"}, Cell: func(f *SimulatedFigure) Cell { return Word(f.runsInside()) }},
	{Column: Column{Short: "", Left: true}, Cell: (*SimulatedFigure).judgement},
}

func fourDigits(x float64) string { return strconv.FormatFloat(format.RoundTo(x, 4), 'f', -1, 64) }

func withUnit(x float64, unit string) string { return strings.TrimSpace(fourDigits(x) + " " + unit) }

// IncidentsDocument returns the report of published figures beside simulated ones.
func IncidentsDocument(all []Incident) *Document {
	d := &Document{Data: all}
	for i := range all {
		d.add(all[i].section())
	}
	return d
}

// section returns the table of an incident, and in Markdown what the scenario says of it.
func (in *Incident) section() Section {
	t := &Table{Title: in.ID, Columns: incidentColumns.Columns()}
	for i := range in.Figures {
		t.Rows = append(t.Rows, incidentColumns.Row(&in.Figures[i]))
	}
	s := Section{Parts: []Part{{Table: t}, {Note: in.Source.URL, Only: Terminal}}}
	note := func(template string, args ...any) {
		s.Parts = append(s.Parts, Part{Markdown: fmt.Sprintf(template, args...), Only: Markdown})
	}
	var files []string
	for _, sc := range append([]*scenario.Scenario{in.Scenario}, in.With...) {
		files = append(files, fmt.Sprintf("[%s](../scenarios/%s)", sc.Metadata.Name, sc.File))
	}
	read := "the whole source was read"
	if in.Source.Read == "part" {
		read = "excerpts of the source were read"
	}
	note("Source: <%s> (%s; %s). Scenarios: %s.", in.Source.URL, in.Source.Date, read, strings.Join(files, ", "))
	m := &in.Scenario.Metadata
	note("%s", m.Description)
	if len(m.Calibration) > 0 {
		var all []string
		for _, path := range slices.Sorted(maps.Keys(m.Calibration)) {
			all = append(all, fmt.Sprintf("`%s`: %s", path, m.Calibration[path]))
		}
		note("Calibrated: %s.", strings.Join(all, "; "))
	}
	unknown := map[string]string{}
	for _, sc := range append([]*scenario.Scenario{in.Scenario}, in.With...) {
		for path, u := range sc.Metadata.Unknowns {
			unknown[path] = u.String()
		}
	}
	if len(unknown) > 0 {
		var all []string
		for _, path := range slices.Sorted(maps.Keys(unknown)) {
			all = append(all, fmt.Sprintf("`%s`: %s", path, unknown[path]))
		}
		note("The source does not say: %s.", strings.Join(all, "; "))
	}
	if m.NotReproduced != "" {
		note("Not reproduced: %s", m.NotReproduced)
	}
	return s
}
