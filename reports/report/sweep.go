package report

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
)

// SweepFile names within the folder of a sweep.
const (
	SweepFile        = "sweep.json"
	SweepResultsFile = "results.csv"
	SweepSummaryFile = "summary.csv"
	SweepVerdictFile = "verdict.json"
	SweepRunsFolder  = "runs"
)

// Sweep describes runs of one scenario over a grid. Each combination of the parameters' values is a point.
// All points are run with the same seeds, so that they differ by their parameters and not by chance
// (common random numbers: Law and Kelton, Simulation Modeling and Analysis, section 11.2). It is what
// sweep.json contains, and contains everything that the results depend on.
type Sweep struct {
	SchemaVersion   string       `json:"schemaVersion"`
	Version         string       `json:"version"`  // of the program
	Scenario        string       `json:"scenario"` // its name
	Inputs          []SweepInput `json:"inputs"`   // files that the scenario was read from
	Set             []string     `json:"set"`      // assignments to its fields
	Parameters      []Parameter  `json:"parameters"`
	Seed            uint64       `json:"seed"` // of the first replication
	Replications    int          `json:"replications"`
	result.Releases              // of the servers; empty if they are not the same at all points, which the parameters then say
	Flows           bool         `json:"flows"`  // whether the statistics of single flows are kept
	Charts          []string     `json:"charts"` // statistics that the charts and the printed table show; the results do not depend on them
}

// SweepInput is a file that a scenario is read from.
type SweepInput struct {
	Name   string `json:"name"` // as in the scenario
	SHA256 string `json:"sha256"`
}

// SweepInputs returns the files that the scenarios of all points are read from, each once.
func SweepInputs(points []*scenario.Scenario) ([]SweepInput, error) {
	var all []SweepInput
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
			all = append(all, SweepInput{in.Name, sum})
		}
	}
	return all, nil
}

// Parameter is one dimension of the grid.
type Parameter struct {
	Path   string   `json:"path"`
	Values []string `json:"values"` // at least one, all different
}

// Ran returns a short description of what was simulated.
func (s *Sweep) Ran() string {
	points := format.Counted(s.Points(), "point")
	if s.Replications == 1 {
		return s.After(fmt.Sprintf("%s, seed %d", points, s.Seed))
	}
	return s.After(fmt.Sprintf("%s, %s each, seeds %d to %d", points, format.Counted(s.Replications, "run"), s.Seed, s.Seed+uint64(s.Replications-1)))
}

// Points returns the number of points: of combinations of values.
func (s *Sweep) Points() int {
	n := 1
	for i := range s.Parameters {
		n *= len(s.Parameters[i].Values)
	}
	return n
}

// Runs returns the number of runs at all points. They are numbered from 0, point by point.
func (s *Sweep) Runs() int { return s.Points() * s.Replications }

// Point returns the parameters' values at a point. The value of the last parameter changes fastest.
func (s *Sweep) Point(point int) []string {
	values := make([]string, len(s.Parameters))
	for i := len(s.Parameters) - 1; i >= 0; i-- {
		choices := s.Parameters[i].Values
		values[i] = choices[point%len(choices)]
		point /= len(choices)
	}
	return values
}

// PointOf returns the point and the seed of a run.
func (s *Sweep) PointOf(run int) (point int, seed uint64) {
	return run / s.Replications, s.Seed + uint64(run%s.Replications)
}

// Describe returns the parameters and values of a point, for messages.
func (s *Sweep) Describe(point int) string {
	texts := make([]string, len(s.Parameters))
	for i, value := range s.Point(point) {
		texts[i] = s.Parameters[i].Path + "=" + value
	}
	return strings.Join(texts, ", ")
}

// DescribeRun returns the parameters, values and seed of a run, for messages.
func (s *Sweep) DescribeRun(run int) string {
	point, seed := s.PointOf(run)
	return fmt.Sprintf("%s, seed %d", s.Describe(point), seed)
}

// SetCharts sets the statistics that are shown. The default is the 99th percentile of the wait and the
// share of rejections of each workload. The error names all statistics that the points' scenarios
// do not have.
func (s *Sweep) SetCharts(names []string, points []*scenario.Scenario) error {
	if len(names) == 0 {
		for i := range points[0].Spec.Workload {
			tags := result.TagOf("workload", points[0].Spec.Workload[i].Name)
			names = append(names, metric.Name{Metric: "wait", Stat: "p", Percentile: 99, Tags: tags}.String(),
				metric.Name{Metric: "rejected", Stat: "rate", Tags: tags}.String())
		}
	}
	s.Charts = []string{}
	var wrong []error
	for _, name := range names {
		id, err := metric.ParseName(name)
		switch {
		case err != nil:
		case id.Tag("flow") == "":
			err = result.CheckName(name, points...)
		case !s.Flows:
			err = fmt.Errorf("%s: statistics of flows are omitted; use --flows", id)
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

// MaxSweepRuns is the greatest number of runs of a sweep. Each run is kept in a file.
const MaxSweepRuns = 1_000_000

// DifferenceFormat is the format of a difference between two sweeps: of what, its value in this sweep, its
// value in the other one, and the folder of the other one.
const DifferenceFormat = "%s: %s, but %s in %s"

// Differences returns the differences to the sweep in dir, apart from the statistics that are shown.
func (s *Sweep) Differences(other *Sweep, dir string) []string {
	var all []string
	differ := func(what, here, there string) {
		if here != there {
			all = append(all, fmt.Sprintf(DifferenceFormat, what, here, there, dir))
		}
	}
	differ("apfsim", s.Version, other.Version)
	differ("scenario", s.Scenario, other.Scenario)
	if here, there := s.inputNames(), other.inputNames(); here != there {
		differ("files", here, there)
	} else {
		for i := range s.Inputs {
			if s.Inputs[i] != other.Inputs[i] {
				all = append(all, fmt.Sprintf("%s: the contents differ from those with which %s was started", s.Inputs[i].Name, dir))
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
	differ("--over", list(s.parameterTexts()), list(other.parameterTexts()))
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

// parameterTexts returns the parameters as they are given on the command line.
func (s *Sweep) parameterTexts() []string {
	texts := make([]string, len(s.Parameters))
	for i := range s.Parameters {
		texts[i] = s.Parameters[i].Path + "=" + strings.Join(s.Parameters[i].Values, ",")
	}
	return texts
}

// ErrDifferentSweep is the error of a folder that contains another sweep.
var ErrDifferentSweep = errors.New("contains another sweep")

// Paths returns the paths of the parameters.
func (s *Sweep) Paths() []string {
	paths := make([]string, len(s.Parameters))
	for i := range s.Parameters {
		paths[i] = s.Parameters[i].Path
	}
	return paths
}

// Key returns the first columns of a run's statistics: the parameters' values and the seed.
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

// Empty says whether no point of the sweep has samples of the statistic.
func (shown *ShownStatistic) Empty() bool {
	return !slices.ContainsFunc(shown.Points, func(e *compare.Estimate) bool { return e != nil })
}

// Scale returns what a statistic is counted in at all points, and how that is written.
func (shown *ShownStatistic) Scale() (scale float64, unit string) {
	most := 0.0
	var any *compare.Estimate
	for _, e := range shown.Points {
		if e != nil {
			_, _, high := e.Printed()
			any, most = e, max(most, high)
		}
	}
	scale, unit = format.ScaleOf(most, any.Unit, any.ID.PrintPercent())
	return scale, strings.TrimSpace(unit)
}

// Title returns the name of the statistic with the unit, for the title of a chart or a table.
func (shown *ShownStatistic) Title(unit string) string {
	title := format.Shorten(format.Printable(shown.Name), 80)
	if unit != "" {
		title += ", in " + unit
	}
	return title
}

// Positions returns the positions of a parameter's values on an axis: the values themselves if they are
// numbers with the same unit, as 80ms and 100ms, otherwise 0, 1, 2, ... The axis is logarithmic if the
// greatest value is at least 16 times the least.
func (p *Parameter) Positions() (at []float64, logarithmic bool) {
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
		return p.ranks(), false // the same number, written differently
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

// Label returns the text of a parameter's value on an axis.
func (p *Parameter) Label(i int) string {
	return format.Shorten(format.Printable(p.Values[i]), 24)
}

// SweepTables are the tables of the statistics of a sweep that are shown.
type SweepTables struct {
	*Sweep
	Shown    []ShownStatistic
	Verdicts []*result.Overall // at each point; nil where runs have none
}

// PointVerdict is the verdict on the runs at a point of a sweep, as verdict.json has it.
type PointVerdict struct {
	Point   []ParameterValue `json:"point"`
	Verdict *result.Overall  `json:"verdict"`
}

// ParameterValue is the value of a parameter at a point.
type ParameterValue struct {
	Path  string `json:"path"`
	Value string `json:"value"`
}

// SweepVerdicts are the verdicts at all points.
type SweepVerdicts struct {
	SchemaVersion string         `json:"schemaVersion"`
	Points        []PointVerdict `json:"points"`
}

// PointVerdicts returns the verdicts of all points.
func (s *SweepTables) PointVerdicts() *SweepVerdicts {
	all := &SweepVerdicts{SchemaVersion: result.SchemaVersion, Points: []PointVerdict{}}
	for point, v := range s.Verdicts {
		at := PointVerdict{Verdict: v, Point: []ParameterValue{}}
		for i, value := range s.Point(point) {
			at.Point = append(at.Point, ParameterValue{s.Paths()[i], value})
		}
		all.Points = append(all.Points, at)
	}
	return all
}

// ShownStatistic is one statistic at every point; nil where no run has samples of it.
type ShownStatistic struct {
	Name   string
	Points []*compare.Estimate
}

// shortPaths returns the last fields of the paths, unless two of them are the same.
func shortPaths(paths []string) []string {
	short := make([]string, len(paths))
	for i, path := range paths {
		short[i] = path[strings.LastIndexByte(path, '.')+1:]
		if slices.Contains(short[:i], short[i]) {
			return paths
		}
	}
	return short
}

// ChartNames returns the names of the charts' files without their extensions. They consist of the words of
// the statistics' names, and are unique.
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

// SweepDocument returns the report of a sweep: a table for each statistic that is shown.
func SweepDocument(s *SweepTables) *Document {
	d := &Document{Title: "Sweep: " + s.Scenario, Name: s.Scenario, Ran: s.Sweep.Ran(), Data: s.Sweep}
	section := Section{Name: "statistics", Title: "Statistics"}
	for i := range s.Shown {
		t := sweepTable(s.Sweep, &s.Shown[i])
		t.Name = "statistic-" + strconv.Itoa(i)
		section.Parts = append(section.Parts, Part{Heading: t.Title, Table: t})
	}
	if s.Replications > 1 {
		section.Parts = append(section.Parts, Part{Note: "Means of the runs, and percentiles of the requests of all runs together, ± half of their 95 % intervals, or (their ends). [a to b]: the range of the runs, where an interval would be unreliable."})
	}
	d.Verdict = sweepVerdict(s)
	d.add(sweepScreen(s))
	d.add(section)
	d.Sources = "All numbers are in summary.csv, and those of each run in results.csv."
	d.Pictures, d.NoPictures = sweepPictures(s)
	return d
}
