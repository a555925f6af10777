// Package sweep describes a grid of parameters and what its runs have in common.
package sweep

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/replicate"
	"apfsim/reports/statistics"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
)

// File names within the folder of a sweep.
const (
	File        = "sweep.json"
	ResultsFile = "results.csv"
	SummaryFile = "summary.csv"
	RunsFolder  = "runs"
)

// Sweep is runs of one scenario over a grid: every combination of the parameters' values is
// a point, and every point is run under the same seeds, so that points differ by their
// parameters and not by chance (common random numbers: Law and Kelton, Simulation Modeling
// and Analysis, section 11.2). It is what sweep.json holds, and says all that the results
// depend on.
type Sweep struct {
	SchemaVersion string      `json:"schemaVersion"`
	Version       string      `json:"version"`  // of the program
	Scenario      string      `json:"scenario"` // its name
	Inputs        []Input     `json:"inputs"`   // what it was read from
	Set           []string    `json:"set"`      // assignments to its fields
	Parameters    []Parameter `json:"parameters"`
	Seed          uint64      `json:"seed"` // of the first replication
	Replications  int         `json:"replications"`
	Flows         bool        `json:"flows"`  // whether there are statistics of single flows
	Charts        []string    `json:"charts"` // the statistics that are shown; no result depends on them
}

// Input is a file that a scenario is read from.
type Input struct {
	Name   string `json:"name"` // as the scenario calls it
	SHA256 string `json:"sha256"`
}

// Inputs returns the files that the scenarios of all points are read from, each once.
func Inputs(points []*scenario.Scenario) ([]Input, error) {
	var all []Input
	seen := map[[2]string]bool{}
	for _, sc := range points {
		for _, in := range sc.Inputs {
			if seen[[2]string{in.Name, in.Path}] {
				continue
			}
			seen[[2]string{in.Name, in.Path}] = true
			sum, err := in.SHA256()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", in.Name, err)
			}
			all = append(all, Input{in.Name, sum})
		}
	}
	return all, nil
}

// Parameter is one dimension of the grid.
type Parameter struct {
	Path   string   `json:"path"`
	Values []string `json:"values"` // at least one, all different
}

// Points returns how many combinations of values there are.
func (s *Sweep) Points() int {
	n := 1
	for i := range s.Parameters {
		n *= len(s.Parameters[i].Values)
	}
	return n
}

// Runs returns how many runs there are at all points. They are numbered from 0, point by point.
func (s *Sweep) Runs() int { return s.Points() * s.Replications }

// Point returns the parameters' values at a point. That of the last parameter changes from
// one point to the next.
func (s *Sweep) Point(point int) []string {
	values := make([]string, len(s.Parameters))
	for i := len(s.Parameters) - 1; i >= 0; i-- {
		of := s.Parameters[i].Values
		values[i] = of[point%len(of)]
		point /= len(of)
	}
	return values
}

// PointOf returns the point that a run is at, and its seed.
func (s *Sweep) PointOf(run int) (point int, seed uint64) {
	return run / s.Replications, s.Seed + uint64(run%s.Replications)
}

// Describe says which point it is, in words for messages.
func (s *Sweep) Describe(point int) string {
	texts := make([]string, len(s.Parameters))
	for i, value := range s.Point(point) {
		texts[i] = s.Parameters[i].Path + "=" + value
	}
	return strings.Join(texts, ", ")
}

func (s *Sweep) DescribeRun(run int) string {
	point, seed := s.PointOf(run)
	return fmt.Sprintf("%s, seed %d", s.Describe(point), seed)
}

// SetCharts chooses the statistics that are shown; by default, for each workload the 99th
// percentile of the wait and the share of rejections. The error says what is wrong with them,
// for the scenarios of the points.
func (s *Sweep) SetCharts(names []string, points []*scenario.Scenario) error {
	if len(names) == 0 {
		for i := range points[0].Spec.Workload {
			of := statistics.Tag("workload", points[0].Spec.Workload[i].Name)
			names = append(names, metric.Name{Metric: "wait", Stat: "p", Percentile: 99, Tags: of}.String(),
				metric.Name{Metric: "rejected", Stat: "rate", Tags: of}.String())
		}
	}
	s.Charts = []string{}
	var wrong []error
	for _, name := range names {
		id, err := metric.ParseName(name)
		switch {
		case err != nil:
		case id.Tag("flow") == "":
			err = statistics.Check(name, points...)
		case !s.Flows:
			err = fmt.Errorf("%s: single flows are left out; want --flows as well", id)
		}
		switch name = id.String(); {
		case err != nil:
			wrong = append(wrong, fmt.Errorf("--chart: %w", err))
		case !slices.Contains(s.Charts, name):
			s.Charts = append(s.Charts, name)
		}
	}
	return errors.Join(wrong...)
}

// MaxRuns is how many runs a sweep has at most: each leaves a file.
const MaxRuns = 1_000_000

// Unlike is how a difference is told: of what, this sweep's, the other one's, and whose that is.
const Unlike = "%s: %s, and %s in %s"

// Differences returns in which ways this sweep is not the one in dir, but for what is shown.
func (s *Sweep) Differences(other *Sweep, dir string) []string {
	var all []string
	differ := func(what, here, there string) {
		if here != there {
			all = append(all, fmt.Sprintf(Unlike, what, here, there, dir))
		}
	}
	differ("apfsim", s.Version, other.Version)
	differ("scenario", s.Scenario, other.Scenario)
	if here, there := s.inputNames(), other.inputNames(); here != there {
		differ("files", here, there)
	} else {
		for i := range s.Inputs {
			if s.Inputs[i] != other.Inputs[i] {
				all = append(all, fmt.Sprintf("%s: has another content than when %s was begun", s.Inputs[i].Name, dir))
			}
		}
	}
	list := func(texts []string) string {
		if len(texts) == 0 {
			return "none"
		}
		return strings.Join(texts, " ")
	}
	differ("--set", list(s.Set), list(other.Set))
	differ("--over", list(s.over()), list(other.over()))
	differ("--seed", strconv.FormatUint(s.Seed, 10), strconv.FormatUint(other.Seed, 10))
	differ("--replications", strconv.Itoa(s.Replications), strconv.Itoa(other.Replications))
	differ("--flows", strconv.FormatBool(s.Flows), strconv.FormatBool(other.Flows))
	return all
}

func (s *Sweep) inputNames() string {
	names := make([]string, len(s.Inputs))
	for i := range s.Inputs {
		names[i] = s.Inputs[i].Name
	}
	return strings.Join(names, ", ")
}

// over returns the parameters as they are given on the command line.
func (s *Sweep) over() []string {
	texts := make([]string, len(s.Parameters))
	for i := range s.Parameters {
		texts[i] = s.Parameters[i].Path + "=" + strings.Join(s.Parameters[i].Values, ",")
	}
	return texts
}

// ErrDifferentSweep is why a folder cannot be used.
var ErrDifferentSweep = errors.New("is that of another sweep")

func (s *Sweep) Paths() []string {
	paths := make([]string, len(s.Parameters))
	for i := range s.Parameters {
		paths[i] = s.Parameters[i].Path
	}
	return paths
}

// Key returns what stands in front of a run's statistics: the parameters' values, and the seed.
func (s *Sweep) Key(run int) []string {
	point, seed := s.PointOf(run)
	return append(s.Point(point), strconv.FormatUint(seed, 10))
}

// Varied returns the parameters that have more than one value.
func (s *Sweep) Varied() (all []*Parameter) {
	for i := range s.Parameters {
		if p := &s.Parameters[i]; len(p.Values) > 1 {
			all = append(all, p)
		}
	}
	return all
}

func (of *ShownStatistic) Empty() bool {
	return !slices.ContainsFunc(of.Points, func(e *replicate.Estimate) bool { return e != nil })
}

// Scale returns what a statistic is counted in at all points, and how that is written.
func (of *ShownStatistic) Scale() (scale float64, unit string) {
	most := 0.0
	var any *replicate.Estimate
	for _, e := range of.Points {
		if e != nil {
			any, most = e, max(most, math.Abs(e.Mean)+e.Half())
		}
	}
	scale, unit = format.ScaleOf(most, any.Unit, any.ID.PrintPercent())
	return scale, strings.TrimSpace(unit)
}

func (of *ShownStatistic) Title(unit string) string {
	title := format.Shorten(format.Printable(of.Name), 80)
	if unit != "" {
		title += ", in " + unit
	}
	return title
}

// Places returns where the values of a parameter stand on an axis: in proportion if they are
// numbers of one unit, as 80ms and 100ms, else one after the other. With a factor of 16 or
// more between them the axis is to be logarithmic.
func (p *Parameter) Places() (at []float64, logarithmic bool) {
	unit := ""
	for i, value := range p.Values {
		number := strings.TrimRightFunc(value, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		x, err := strconv.ParseFloat(number, 64)
		if err != nil || math.IsInf(x, 0) || i > 0 && value[len(number):] != unit {
			return p.ranks(), false
		}
		unit = value[len(number):]
		at = append(at, x)
	}
	least, most := slices.Min(at), slices.Max(at)
	if least == most {
		return p.ranks(), false // written differently, and still the same
	}
	return at, least > 0 && most/least >= 16
}

func (p *Parameter) ranks() []float64 {
	at := make([]float64, len(p.Values))
	for i := range at {
		at[i] = float64(i)
	}
	return at
}

// Label returns a parameter's value as it is written beside an axis.
func (p *Parameter) Label(i int) string {
	return format.Shorten(format.Printable(p.Values[i]), 24)
}

// SweepTables is what the runs of a sweep say of the statistics that are shown.
type SweepTables struct {
	*Sweep
	Shown []ShownStatistic
}

// ShownStatistic is one statistic at every point; nil where no run has samples of it.
type ShownStatistic struct {
	Name   string
	Points []*replicate.Estimate
}

// ShortPaths returns the last fields of the paths, unless two of them are the same.
func ShortPaths(paths []string) []string {
	short := make([]string, len(paths))
	for i, path := range paths {
		short[i] = path[strings.LastIndexByte(path, '.')+1:]
		if slices.Contains(short[:i], short[i]) {
			return paths
		}
	}
	return short
}

// ChartNames returns the names of the files of the charts, without ending: words of the
// statistics' names, all different.
func (s *Sweep) ChartNames() []string {
	var names []string
	for _, statistic := range s.Charts {
		words := strings.FieldsFunc(statistic, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
		})
		name := strings.Join(words, "-")
		name = name[:min(len(name), 100)]
		unique := name
		for n := 2; slices.Contains(names, unique); n++ {
			unique = fmt.Sprintf("%s-%d", name, n)
		}
		names = append(names, unique)
	}
	return names
}
