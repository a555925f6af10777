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
	"apfsim/reports/result"
	"apfsim/reports/sweep"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

// mostPoints is how many points a grid has at most: all are read before the first is run.
const mostPoints = 10_000

// assignOver is the assignment that an --over makes at a point.
func assignOver(path, value string) assign.Assignment {
	return assign.Assignment{Option: "--over", Text: path + "=" + value}
}

// overPosition is where a mistake in an --over is.
func overPosition(text string) document.Position {
	return document.Position{File: "--over " + document.Abridge(text)}
}

// parseOver takes the texts of --over apart: PATH=VALUE,VALUE,...
func parseOver(texts []string) ([]sweep.Parameter, document.Errors) {
	var all []sweep.Parameter
	var mistakes document.Errors
	points := 1
	for _, text := range texts {
		fail := func(format string, args ...any) { mistakes.Add(overPosition(text), "", format, args...) }
		path, list, found := assign.Cut(text, '=')
		if !found {
			fail("is not PATH=VALUE,VALUE,...; use for example 'spec.workload[elephants].clients=1,4,16'")
			continue
		}
		p := sweep.Parameter{Path: strings.TrimSpace(path)}
		before := len(mistakes)
		for rest, more := list, true; more; {
			var value string
			value, rest, more = assign.Cut(rest, ',')
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
		if len(mistakes) > before {
			continue
		}
		if len(p.Values) > mostPoints/points {
			fail("the grid has more than %d points; use fewer values, or several sweeps", mostPoints)
			continue
		}
		points *= len(p.Values)
		all = append(all, p)
	}
	return all, mistakes
}

// resolve returns those parameters that the scenario has, each once, and what is wrong with
// the others.
func resolve(all []sweep.Parameter, sc *scenario.Scenario) (valid []sweep.Parameter, mistakes document.Errors) {
	var paths []string // of the valid ones
	for _, p := range all {
		path, err := assign.Path(sc, p.Path)
		if err != nil {
			mistakes.Add(overPosition(p.Path), "", "%v", err)
			continue
		}
		i := slices.IndexFunc(paths, func(other string) bool { return document.Within(path, other) || document.Within(other, path) })
		if i >= 0 {
			mistakes.Add(overPosition(p.Path), "", "is already swept by --over %s", valid[i].Path)
			continue
		}
		valid, paths = append(valid, p), append(paths, path)
	}
	return valid, mistakes
}

// Grid is the points of a sweep, read and checked.
type Grid struct {
	Sweep  *sweep.Sweep
	Base   *scenario.Scenario   // without the parameters
	Points []*scenario.Scenario // in the order of the sweep's points
}

// NewGrid reads the scenario at every point of the grid of PATH=VALUE,VALUE,... for the program's
// version. All mistakes are told together.
func NewGrid(ctx context.Context, version, arg string, over []string, options loader.Options, progress format.Progress) (*Grid, error) {
	parameters, mistakes := parseOver(over)
	options.Cache = loader.NewCache()
	// What it is read from is found once and read once: all points are of the same text.
	file, wrong := find(arg)
	err := wrong.Err()
	var base *scenario.Scenario
	if err == nil {
		base, err = file.one(arg, options)
	}
	if err != nil {
		if len(mistakes) > 0 {
			err = fmt.Errorf("%w\n%w", mistakes, err)
		}
		return nil, err
	}
	g := &Grid{Base: base, Sweep: &sweep.Sweep{
		SchemaVersion: result.SchemaVersion,
		Version:       version + " " + runtime.GOARCH, // floats may differ on another
		Scenario:      base.Metadata.Name,
		Set:           []string{},
	}}
	for _, a := range options.Set {
		g.Sweep.Set = append(g.Sweep.Set, a.Text)
	}
	// The points show what is wrong besides.
	g.Sweep.Parameters, wrong = resolve(parameters, g.Base)
	mistakes = append(mistakes, wrong...)
	type point struct {
		*scenario.Scenario
		mistakes document.Errors
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
			return point{mistakes: wrong}, ctx.Err()
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
		found.add(i, p.mistakes)
		g.Points = append(g.Points, p.Scenario)
	}
	if mistakes = append(mistakes, found.mistakes()...); len(mistakes) > 0 {
		return nil, mistakes
	}
	g.Sweep.Inputs, err = sweep.Inputs(g.Points)
	return g, err
}

// pointErrors are those of all points, each told once.
type pointErrors struct {
	sweep *sweep.Sweep
	order []document.Error
	at    map[document.Error]*seenAt
}

// seenAt is the first point of a mistake, and how many have it.
type seenAt struct{ first, points int }

func (p *pointErrors) add(point int, mistakes document.Errors) {
	for _, m := range mistakes {
		if seen := p.at[m]; seen != nil {
			seen.points++
			continue
		}
		p.order = append(p.order, m)
		p.at[m] = &seenAt{point, 1}
	}
}

// mistakes returns them all. One that is not in a value by itself is told with its point.
func (p *pointErrors) mistakes() (all document.Errors) {
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
