package experiment

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"apfsim/document"
	"apfsim/reports/format"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

// mostPoints is the greatest number of points of a grid. All of them are read before the first run.
const mostPoints = 10_000

// assignOver returns the assignment of an --over at a point.
func assignOver(path, value string) assign.Assignment {
	return assign.Assignment{Option: "--over", Text: path + "=" + value}
}

// overPosition returns the position of an error in an --over.
func overPosition(text string) document.Position {
	return document.Position{File: "--over " + document.Abridge(text)}
}

// parseOver parses the values of --over: PATH=VALUE,VALUE,...
func parseOver(texts []string) ([]report.Parameter, document.Errors) {
	var all []report.Parameter
	var errs document.Errors
	points := 1
	for _, text := range texts {
		fail := func(format string, args ...any) { errs.Add(overPosition(text), "", format, args...) }
		path, list, found := assign.Cut(text, '=')
		if !found {
			fail("is not PATH=VALUE,VALUE,...; use for example 'spec.workload[elephants].clients=1,4,16'")
			continue
		}
		p := report.Parameter{Path: strings.TrimSpace(path)}
		before := len(errs)
		for remaining, more := list, true; more; {
			var value string
			value, remaining, more = assign.Cut(remaining, ',')
			switch value = strings.TrimSpace(value); {
			case value == "":
				fail("a value is empty; use PATH=VALUE,VALUE,..., where null removes the field")
			case slices.Contains(p.Values, value):
				fail("duplicate value %s", value)
			}
			p.Values = append(p.Values, value)
		}
		if err := assign.CheckPath(p.Path); err != nil {
			fail("%v", err)
		}
		if document.Within(p.Path, "spec.seed") || document.Within(p.Path, "spec.replications") {
			fail("%s must be the same at every point, so that points do not differ by chance; use --seed and --replications", p.Path)
		}
		if len(errs) > before {
			continue
		}
		if len(p.Values) > mostPoints/points {
			fail("the grid has more than %d points; use fewer values, or several sweeps", mostPoints)
			continue
		}
		points *= len(p.Values)
		all = append(all, p)
	}
	return all, errs
}

// resolve returns the parameters that exist in the scenario and overlap with no earlier one, and an error for each
// other parameter.
func resolve(all []report.Parameter, sc *scenario.Scenario) (valid []report.Parameter, errs document.Errors) {
	var paths []string // of the valid ones
	for _, p := range all {
		path, err := assign.Path(sc, p.Path)
		if err != nil {
			errs.Add(overPosition(p.Path), "", "%v", err)
			continue
		}
		i := slices.IndexFunc(paths, func(other string) bool { return document.Within(path, other) || document.Within(other, path) })
		if i >= 0 {
			errs.Add(overPosition(p.Path), "", "is already swept by --over %s", valid[i].Path)
			continue
		}
		valid, paths = append(valid, p), append(paths, path)
	}
	return valid, errs
}

// Grid is the points of a sweep, read and checked.
type Grid struct {
	Sweep  *report.Sweep
	Base   *scenario.Scenario   // the scenario without the parameters
	Points []*scenario.Scenario // in the order of the sweep's points
}

// NewGrid reads the scenario at every point of the grid. over contains texts of the form
// PATH=VALUE,VALUE,..., and version is that of the program. All errors are reported together.
func NewGrid(ctx context.Context, version, arg string, over []string, options loader.Options, progress format.Progress) (*Grid, error) {
	parameters, errs := parseOver(over)
	options.Cache = loader.NewCache()
	// The files are read once, so that all points have the same contents if a file changes meanwhile.
	file, wrong := find(arg)
	err := wrong.Err()
	var base *scenario.Scenario
	if err == nil {
		base, err = file.one(arg, options)
	}
	if err != nil {
		if len(errs) > 0 {
			err = fmt.Errorf("%w\n%w", errs, err)
		}
		return nil, err
	}
	g := &Grid{Base: base, Sweep: &report.Sweep{
		SchemaVersion: result.SchemaVersion,
		Version:       version + " " + runtime.GOARCH, // floating-point results may differ on another architecture
		Scenario:      base.Metadata.Name,
		Set:           []string{},
	}}
	for _, a := range options.Set {
		g.Sweep.Set = append(g.Sweep.Set, a.Text)
	}
	// Reading the points finds the other errors.
	g.Sweep.Parameters, wrong = resolve(parameters, g.Base)
	errs = append(errs, wrong...)
	type point struct {
		*scenario.Scenario
		errs document.Errors
	}
	n := g.Sweep.Points()
	read := newInOrder(ctx, runtime.GOMAXPROCS(0), n, func(ctx context.Context, i int) (point, error) {
		at := options
		at.Set = slices.Clone(options.Set)
		for k, value := range g.Sweep.Point(i) {
			at.Set = append(at.Set, assignOver(g.Sweep.Parameters[k].Path, value))
		}
		sc, err := file.one(arg, at)
		var wrong document.Errors
		switch {
		case errors.As(err, &wrong):
			return point{errs: wrong}, ctx.Err()
		case err != nil:
			return point{}, err
		}
		return point{Scenario: sc}, ctx.Err()
	})
	defer read.stop()
	found := pointErrors{sweep: g.Sweep, at: map[document.Error]*seenAt{}}
	for i := range n {
		progress(i, n)
		p, err := read.next()
		if err != nil {
			return nil, err
		}
		found.add(i, p.errs)
		g.Points = append(g.Points, p.Scenario)
	}
	if errs = append(errs, found.errs()...); len(errs) > 0 {
		return nil, errs
	}
	if err := CheckTraces(ctx, append([]*scenario.Scenario{g.Base}, g.Points...)); err != nil {
		return nil, err
	}
	g.Sweep.Releases = result.NewReleases(&g.Points[0].Spec)
	for _, p := range g.Points {
		at := result.NewReleases(&p.Spec)
		g.Sweep.Releases = g.Sweep.Releases.Common(&at)
	}
	g.Sweep.Inputs, err = report.SweepInputs(g.Points)
	return g, err
}

// pointErrors collects the errors of all points, each once.
type pointErrors struct {
	sweep *report.Sweep
	order []document.Error
	at    map[document.Error]*seenAt
}

// seenAt is the first point with an error, and the number of points with it.
type seenAt struct{ first, points int }

func (p *pointErrors) add(point int, errs document.Errors) {
	for _, m := range errs {
		if seen := p.at[m]; seen != nil {
			seen.points++
			continue
		}
		p.order = append(p.order, m)
		p.at[m] = &seenAt{point, 1}
	}
}

// errs returns all errors. An error outside the text of an --over names its point.
func (p *pointErrors) errs() (all document.Errors) {
	for _, m := range p.order {
		seen := p.at[m]
		if !strings.HasPrefix(m.File, "--over ") {
			m.Message += " (at " + p.sweep.Describe(seen.first)
			if seen.points > 1 {
				m.Message += fmt.Sprintf(", and %d more", seen.points-1)
			}
			m.Message += ")"
		}
		all = append(all, m)
	}
	return all
}
