package experiment

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"

	"apfsim/document"
	"apfsim/reports/collect"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/scenarios"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

// Incidents are scenarios with published figures, and all scenarios that these figures use.
type Incidents struct {
	Scenarios []*scenario.Scenario // each once
	incidents []*scenario.Scenario // those with figures
	byFile    map[string]*scenario.Scenario
}

// LoadIncidents reads the scenarios of the library with these names that have published figures, and the scenarios that
// these figures refer to. The error contains all errors, including statistics that the scenarios do not have.
func LoadIncidents(names []string) (*Incidents, error) {
	in := &Incidents{byFile: map[string]*scenario.Scenario{}}
	var errs document.Errors
	for _, name := range names {
		sc, wrong := in.load(scenarios.File(name))
		if errs = append(errs, wrong...); len(wrong) > 0 || len(sc.Metadata.Figures) == 0 {
			continue
		}
		in.incidents = append(in.incidents, sc)
		for i := range sc.Metadata.Figures {
			errs = append(errs, in.check(sc, i)...)
		}
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	for _, sc := range in.incidents {
		for i := range sc.Metadata.Figures {
			for _, o := range sc.Metadata.Figures[i].Quotient.Operands() {
				if used := in.operandScenario(sc, o); !slices.Contains(in.Scenarios, used) {
					in.Scenarios = append(in.Scenarios, used)
				}
			}
		}
	}
	return in, nil
}

// load reads the only scenario of a file of the library, once.
func (in *Incidents) load(file string) (*scenario.Scenario, document.Errors) {
	if sc := in.byFile[file]; sc != nil {
		return sc, nil
	}
	loaded, wrong := loader.Load(scenarios.Files, file, loader.Options{})
	if len(wrong) > 0 {
		return nil, wrong
	}
	if len(loaded) != 1 {
		wrong.Add(document.Position{File: file}, "", "contains %d scenarios; want one in each file of an incident", len(loaded))
		return nil, wrong
	}
	in.byFile[file] = loaded[0]
	return loaded[0], nil
}

// operandScenario returns the scenario that an operand of a figure of sc is of.
func (in *Incidents) operandScenario(sc *scenario.Scenario, o *metric.Operand) *scenario.Scenario {
	if o.Scenario == "" {
		return sc
	}
	return in.byFile[beside(sc, o.Scenario)]
}

// beside returns the file of the scenario with a name: in the folder of sc, or elsewhere in the library.
func beside(sc *scenario.Scenario, name string) string {
	file := path.Join(path.Dir(sc.File), name+".yaml")
	if _, err := fs.Stat(scenarios.Files, file); err != nil {
		file = scenarios.File(name)
	}
	return file
}

// check checks the statistic of a figure of sc, and reads the scenarios that it is of.
func (in *Incidents) check(sc *scenario.Scenario, i int) (errs document.Errors) {
	f := &sc.Metadata.Figures[i]
	at := document.Index("metadata.figures", i) + ".statistic"
	fail := func(format string, args ...any) { errs.Add(sc.Document.Position(at), at, format, args...) }
	var operands []*scenario.Scenario
	for _, o := range f.Quotient.Operands() {
		of := sc
		if o.Scenario != "" {
			if !scenarios.Has(o.Scenario) {
				fail("there is no scenario %q%s", o.Scenario, document.Suggest(o.Scenario, scenarios.Names()))
				continue
			}
			var wrong document.Errors
			if of, wrong = in.load(beside(sc, o.Scenario)); len(wrong) > 0 {
				errs = append(errs, wrong...)
				continue
			}
		}
		if err := result.CheckName(o.Name.String(), of); err != nil {
			fail("%v", err)
		}
		operands = append(operands, of)
	}
	if len(operands) == 2 && operands[0].Spec.Replications != operands[1].Spec.Replications {
		fail("%s has %d replications and %s has %d; want as many, because the runs of a seed are compared", operands[0].Metadata.Name,
			operands[0].Spec.Replications, operands[1].Metadata.Name, operands[1].Spec.Replications)
	}
	return errs
}

// Published returns the incidents with their published figures, which have no simulated values yet.
func (in *Incidents) Published() (all []report.Incident) {
	for _, sc := range in.incidents {
		incident := report.Incident{ID: sc.Metadata.Name, Source: *sc.Metadata.Source, Scenario: sc}
		for i := range sc.Metadata.Figures {
			f := &sc.Metadata.Figures[i]
			incident.Figures = append(incident.Figures, report.NewSimulatedFigure(f, nil))
			for _, o := range f.Quotient.Operands() {
				if of := in.operandScenario(sc, o); of != sc && !slices.Contains(incident.With, of) {
					incident.With = append(incident.With, of)
				}
			}
		}
		all = append(all, incident)
	}
	return all
}

// Run makes the runs of all scenarios, and computes the figures from them.
func (in *Incidents) Run(ctx context.Context, progress Progress) ([]report.Incident, error) {
	runs := Begin(ctx, in.Scenarios, Outputs{}, Precision{}, progress)
	defer runs.Stop()
	values := map[*scenario.Scenario]map[string][]float64{}
	for _, group := range runs.Groups {
		of := map[string][]float64{}
		values[group.Scenario] = of
		for {
			run, err := group.Next()
			if err != nil {
				return nil, err
			}
			if run == nil {
				break
			}
			for _, name := range in.names(group.Scenario) {
				of[name.String()] = append(of[name.String()], valueOf(run, &name))
			}
		}
	}
	all := in.Published()
	for i := range all {
		sc := all[i].Scenario
		for k := range sc.Metadata.Figures {
			f := &sc.Metadata.Figures[k]
			simulated := make([]float64, in.operandScenario(sc, &f.Quotient.Dividend).Spec.Replications)
			for run := range simulated {
				var operands [2]float64
				for side, o := range f.Quotient.Operands() {
					operands[side] = values[in.operandScenario(sc, o)][o.Name.String()][run]
				}
				simulated[run] = f.Quotient.Value(f.Factor, operands[0], operands[1])
			}
			all[i].Figures[k] = report.NewSimulatedFigure(f, simulated)
		}
	}
	return all, nil
}

// names returns the statistics of a scenario that the figures use, without duplicates.
func (in *Incidents) names(of *scenario.Scenario) (all []metric.Name) {
	for _, sc := range in.incidents {
		for i := range sc.Metadata.Figures {
			for _, o := range sc.Metadata.Figures[i].Quotient.Operands() {
				if in.operandScenario(sc, o) == of && !slices.ContainsFunc(all, func(n metric.Name) bool { return n.Equal(&o.Name) }) {
					all = append(all, o.Name)
				}
			}
		}
	}
	return all
}

// valueOf returns a statistic of a run, NaN if it has none.
func valueOf(run *collect.Replication, name *metric.Name) float64 {
	value, note, ok := result.StatisticValue(run.Summary, name)
	if !ok {
		panic(fmt.Sprintf("experiment: the summary has no %s, which CheckName has accepted", name))
	}
	if note != "" {
		return math.NaN()
	}
	return value
}
