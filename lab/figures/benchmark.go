package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// series holds the measurements of a benchmark along one axis, such as the number of queues.
type series struct {
	axis   string
	points []point
}

// point holds the measurements at one size.
type point struct {
	size   int
	values map[string][]float64 // by unit, one value for each round
}

// median returns the median of a unit's values.
func (p *point) median(unit string) float64 {
	values := slices.Sorted(slices.Values(p.values[unit]))
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// spread returns the difference between the largest and the smallest of a unit's values, divided
// by the median.
func (p *point) spread(unit string) float64 {
	return (slices.Max(p.values[unit]) - slices.Min(p.values[unit])) / p.median(unit)
}

// slope returns the slope of the regression line of a unit's median over the size.
func (s *series) slope(unit string) float64 {
	var x, y []float64
	for i := range s.points {
		x = append(x, float64(s.points[i].size))
		y = append(y, s.points[i].median(unit))
	}
	_, slope := stat.LinearRegression(x, y, nil, false)
	return slope
}

// benchmarkLine matches a result of package testing: the name, GOMAXPROCS unless it is 1, the
// number of iterations, and pairs of a value and a unit.
var benchmarkLine = regexp.MustCompile(`^Benchmark(\w+)/(\S+?)(?:-\d+)?\s+\d+\s+(\S.*)$`)

// parseResult parses a line of the output of a benchmark. The name is "" if the line is not a result
// of that benchmark.
func parseResult(line, benchmark string) (name string, values map[string]float64, err error) {
	m := benchmarkLine.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil || m[1] != benchmark {
		return "", nil, nil
	}
	fields := strings.Fields(m[3])
	values = map[string]float64{}
	for i := 0; i+1 < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return "", nil, fmt.Errorf("%q: %q: want a number", line, fields[i])
		}
		values[fields[i+1]] = v
	}
	return m[2], values, nil
}

// failed returns an error if package testing reports a failure.
func failed(input string) error {
	for line := range strings.Lines(input) {
		if strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "--- FAIL") {
			return errors.New("the benchmark has failed")
		}
	}
	return nil
}

// read returns the series of a benchmark whose results have names such as queues=16, in the order
// of their first result. It is an error if a result has not all units, or if the points have
// different numbers of rounds.
func read(input, benchmark string, units ...string) (all []*series, rounds int, err error) {
	if err := failed(input); err != nil {
		return nil, 0, err
	}
	for line := range strings.Lines(input) {
		name, values, err := parseResult(line, benchmark)
		if err != nil {
			return nil, 0, err
		}
		if name == "" {
			continue
		}
		axis, text, _ := strings.Cut(name, "=")
		size, err := strconv.Atoi(text)
		if err != nil || size < 1 {
			return nil, 0, fmt.Errorf("in Benchmark%s/%s: want a name like queues=16", benchmark, name)
		}
		i := slices.IndexFunc(all, func(s *series) bool { return s.axis == axis })
		if i < 0 {
			i = len(all)
			all = append(all, &series{axis: axis})
		}
		s := all[i]
		j := slices.IndexFunc(s.points, func(p point) bool { return p.size == size })
		if j < 0 {
			j = len(s.points)
			s.points = append(s.points, point{size, map[string][]float64{}})
		}
		for _, unit := range units {
			v, ok := values[unit]
			if !ok || v <= 0 {
				return nil, 0, fmt.Errorf("in Benchmark%s/%s: has no %s", benchmark, name, unit)
			}
			s.points[j].values[unit] = append(s.points[j].values[unit], v)
		}
		rounds = max(rounds, len(s.points[j].values[units[0]]))
	}
	if rounds == 0 {
		return nil, 0, fmt.Errorf("the input has no lines of Benchmark%s", benchmark)
	}
	for _, s := range all {
		for _, p := range s.points {
			if n := len(p.values[units[0]]); n != rounds {
				return nil, 0, fmt.Errorf("in Benchmark%s/%s=%d: has %d rounds; want %d, as others have", benchmark, s.axis, p.size, n, rounds)
			}
		}
	}
	return all, rounds, nil
}

// axisNamed returns the series along an axis, which must have at least the given number of points.
func axisNamed(all []*series, axis string, points int) (*series, error) {
	for _, s := range all {
		if s.axis == axis && len(s.points) >= points {
			return s, nil
		}
	}
	return nil, fmt.Errorf("the input has too few sizes of %s; want at least %d", axis, points)
}

// grouped returns a number, rounded to an integer, with a space between groups of three digits.
func grouped(x float64) string {
	s := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}
