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

// series is what a benchmark has measured along one axis.
type series struct {
	axis   string // what grows
	points []point
}

// point is the measurements at one size: of each unit, a value a round.
type point struct {
	size   int
	values map[string][]float64
}

// median returns the median of a unit's values.
func (p *point) median(unit string) float64 {
	values := slices.Sorted(slices.Values(p.values[unit]))
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// spread returns the difference between the greatest and the least of a unit's values, as
// a share of the median.
func (p *point) spread(unit string) float64 {
	return (slices.Max(p.values[unit]) - slices.Min(p.values[unit])) / p.median(unit)
}

// slope returns how much a unit's median grows with the size: of the straight line that
// fits best.
func (s *series) slope(unit string) float64 {
	var x, y []float64
	for i := range s.points {
		x = append(x, float64(s.points[i].size))
		y = append(y, s.points[i].median(unit))
	}
	_, slope := stat.LinearRegression(x, y, nil, false)
	return slope
}

// benchmarkLine is a result of package testing: name, perhaps GOMAXPROCS, iterations, and
// pairs of value and unit.
var benchmarkLine = regexp.MustCompile(`^Benchmark(\w+)/(\S+?)(?:-\d+)?\s+\d+\s+(\S.*)$`)

// parseResult takes a line of a benchmark apart.
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

// failed returns an error if package testing says that something has gone wrong.
func failed(input string) error {
	for line := range strings.Lines(input) {
		if strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "--- FAIL") {
			return errors.New("the benchmark has failed")
		}
	}
	return nil
}

// read returns the series of a benchmark with names like queues=16, in the order in which
// they first appear. Every point must have the same number of rounds, and the units.
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
				return nil, 0, fmt.Errorf("in Benchmark%s/%s=%d: was measured %d times, others %d times", benchmark, s.axis, p.size, n, rounds)
			}
		}
	}
	return all, rounds, nil
}

// axisNamed returns the series along an axis, with at least so many points.
func axisNamed(all []*series, axis string, points int) (*series, error) {
	for _, s := range all {
		if s.axis == axis && len(s.points) >= points {
			return s, nil
		}
	}
	return nil, fmt.Errorf("the input has not got %d sizes of %s", points, axis)
}

// grouped writes a number, rounded, with a space before every three digits.
func grouped(x float64) string {
	s := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}
