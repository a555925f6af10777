package reports

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"apfsim/sim/metric"
	"apfsim/sim/scenario"
)

// File names within the folder of a sweep.
const (
	SweepFile    = "sweep.json"
	SweepResults = "results.csv"
	SweepSummary = "summary.csv"
	RunsFolder   = "runs"
)

// Sweep is runs of one scenario over a grid: every combination of the parameters' values is
// a point, and every point is run under the same seeds, so that points differ by their
// parameters and not by chance (common random numbers: Law and Kelton, Simulation Modeling
// and Analysis, section 11.2). It is what sweep.json holds, and says all that the results
// depend on.
type Sweep struct {
	SchemaVersion string           `json:"schemaVersion"`
	Version       string           `json:"version"`  // of the program
	Scenario      string           `json:"scenario"` // its name
	Inputs        []SweepInput     `json:"inputs"`   // what it was read from
	Set           []string         `json:"set"`      // assignments to its fields
	Parameters    []SweepParameter `json:"parameters"`
	Seed          uint64           `json:"seed"` // of the first replication
	Replications  int              `json:"replications"`
	Flows         bool             `json:"flows"`  // whether there are statistics of single flows
	Charts        []string         `json:"charts"` // the statistics that are shown; no result depends on them
}

// SweepInput is a file that a scenario is read from.
type SweepInput struct {
	Name   string `json:"name"` // as the scenario calls it
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

// SweepParameter is one dimension of the grid.
type SweepParameter struct {
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

func (s *Sweep) describeRun(run int) string {
	point, seed := s.PointOf(run)
	return fmt.Sprintf("%s, seed %d", s.Describe(point), seed)
}

// SetCharts chooses the statistics that are shown; by default, for each workload the 99th
// percentile of the wait and the share of rejections. The error says what is wrong with them,
// for the scenarios of the points.
func (s *Sweep) SetCharts(names []string, points []*scenario.Scenario) error {
	if len(names) == 0 {
		for i := range points[0].Spec.Workload {
			of := tag("workload", points[0].Spec.Workload[i].Name)
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
			err = CheckStatistic(name, points...)
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

// ReadSweep reads what the sweep in a folder consists of. The error is fs.ErrNotExist if
// there is none.
func ReadSweep(dir string) (*Sweep, error) {
	path := filepath.Join(dir, SweepFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var s Sweep
	if err := decodeResults(text, &s, &s.SchemaVersion); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &s, nil
}

// check says what is wrong with a sweep that comes from a file.
func (s *Sweep) check() error {
	points := 1
	for i := range s.Parameters {
		n := len(s.Parameters[i].Values)
		if n == 0 || n > MostSweepRuns/points {
			return fmt.Errorf("parameters[%d].values: there are %d; want at least one, and %d points at most", i, n, MostSweepRuns)
		}
		points *= n
	}
	if s.Replications < 1 || s.Replications > MostSweepRuns/points {
		return fmt.Errorf("replications: %d: want from 1 to %d, for %d %s", s.Replications, MostSweepRuns/points, points, plural(points, "point"))
	}
	for i, name := range s.Charts {
		if _, err := metric.ParseName(name); err != nil {
			return fmt.Errorf("charts[%d]: %w", i, err)
		}
	}
	return nil
}

// MostSweepRuns is how many runs a sweep has at most: each leaves a file.
const MostSweepRuns = 1_000_000

// unlike is how a difference is told: of what, this sweep's, the other one's, and whose that is.
const unlike = "%s: %s, and %s in %s"

// differences returns in which ways this sweep is not the one in dir, but for what is shown.
func (s *Sweep) differences(other *Sweep, dir string) []string {
	var all []string
	differ := func(what, here, there string) {
		if here != there {
			all = append(all, fmt.Sprintf(unlike, what, here, there, dir))
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

// ErrOtherSweep is why a folder cannot be used.
var ErrOtherSweep = errors.New("is that of another sweep")

// Begin makes dir the folder of the sweep, unless it is that of another one. One that was
// interrupted goes on; what it shows may be chosen anew.
func (s *Sweep) Begin(dir string) error {
	there, err := ReadSweep(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if different := s.differences(there, dir); len(different) > 0 {
			return fmt.Errorf("%s: %w: want the arguments that it was begun with, or another folder\n%s",
				dir, ErrOtherSweep, strings.Join(different, "\n"))
		}
		if slices.Equal(s.Charts, there.Charts) {
			return nil
		}
		if err := there.removeCharts(dir); err != nil {
			return err
		}
	}
	var files fileList
	files.add(SweepFile, func(w io.Writer) error { return WriteJSON(w, s) })
	return writeFiles(dir, files)
}

// runFile returns the name of a run's file.
func (s *Sweep) runFile(run int) string {
	point, seed := s.PointOf(run)
	return filepath.Join(RunsFolder, fmt.Sprintf("point-%0*d-seed-%d.csv", len(strconv.Itoa(s.Points())), point+1, seed))
}

// columns returns those of results.csv, of which each run's file is a part.
func (s *Sweep) columns() []string {
	return append(s.paths(), "seed", "statistic", "value", "unit")
}

func (s *Sweep) paths() []string {
	paths := make([]string, len(s.Parameters))
	for i := range s.Parameters {
		paths[i] = s.Parameters[i].Path
	}
	return paths
}

// key returns what stands in front of a run's statistics: the parameters' values, and the seed.
func (s *Sweep) key(run int) []string {
	point, seed := s.PointOf(run)
	return append(s.Point(point), strconv.FormatUint(seed, 10))
}

// sumRow is what the last row of a run's file has in place of a statistic: its value is the
// SHA-256 sum of all above it.
const sumRow = "sha256"

func sumOfText(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// WriteRun keeps the statistics of a run that is over, whole or not at all.
func (s *Sweep) WriteRun(dir string, run int, summary *Summary) error {
	var files fileList
	files.add(s.runFile(run), func(w io.Writer) error {
		var text bytes.Buffer
		out := csv.NewWriter(&text)
		out.Write(s.columns())
		key := s.key(run)
		for _, statistic := range statistics(summary, s.Flows) {
			out.Write(append(slices.Clone(key), statistic.Name, allDigits(&statistic.Value), statistic.Unit))
		}
		out.Flush()
		out.Write(append(slices.Clone(key), sumRow, sumOfText(text.Bytes()), ""))
		out.Flush()
		_, err := text.WriteTo(w)
		return err
	})
	return writeFiles(dir, files)
}

// ReadRun returns the statistics of a run that is over. The error is fs.ErrNotExist if it is not.
func (s *Sweep) ReadRun(dir string, run int) ([]Statistic, error) {
	path := filepath.Join(dir, s.runFile(run))
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all, err := s.parseRun(text, run)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; remove the file, and sweep again", path, err)
	}
	return all, nil
}

func (s *Sweep) parseRun(text []byte, run int) ([]Statistic, error) {
	in := csv.NewReader(bytes.NewReader(text))
	var rows [][]string
	above := int64(0) // the bytes above the last row
	for {
		at := in.InputOffset()
		row, err := in.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		rows, above = append(rows, row), at
	}
	if len(rows) < 2 || !slices.Equal(rows[0], s.columns()) {
		return nil, fmt.Errorf("want the columns %s, and rows", strings.Join(s.columns(), ","))
	}
	key := s.key(run)
	if sum := rows[len(rows)-1][len(key):]; sum[0] != sumRow || sum[1] != sumOfText(text[:above]) {
		return nil, errors.New("has been changed: want as last row the SHA-256 sum of all above")
	}
	all := make([]Statistic, 0, len(rows)-2)
	for i, row := range rows[1 : len(rows)-1] {
		if !slices.Equal(row[:len(key)], key) {
			return nil, fmt.Errorf("line %d: %s: want %s", i+2, strings.Join(row[:len(key)], ","), strings.Join(key, ","))
		}
		row = row[len(key):]
		value, err := strconv.ParseFloat(row[1], 64)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, fmt.Errorf("line %d: value %q: want a number", i+2, row[1])
		}
		all = append(all, Statistic{Name: row[0], Value: value, Unit: row[2]})
	}
	return all, nil
}
