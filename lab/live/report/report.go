// Package report makes reports of live runs: a file of figures of each case, a document for the terminal and for a page of
// the documentation, and the chart of that page. Packages render and charts of apfsim write them.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"apfsim/lab/live/compare"
	"apfsim/lab/live/fitted"
	"apfsim/lab/live/trial"
)

// Results are the results of all cases.
type Results struct {
	Version string `json:"version"` // of Kubernetes
	Cases   []Case `json:"cases"`
}

// Case is the runs of one case.
type Case struct {
	Name       string             `json:"name"`
	Runs       []Run              `json:"runs"`
	Prediction []*compare.Stats   `json:"prediction"`
	OtherSeeds [][]*compare.Stats `json:"otherSeeds"`
}

// Run is one live run.
type Run struct {
	Void   string           `json:"void,omitempty"` // why it says nothing
	Checks []compare.Check  `json:"checks"`
	Live   []*compare.Stats `json:"live"`
	Replay []*compare.Stats `json:"replay"`

	Adjustments []Limits `json:"adjustments"` // of the levels with traffic

	LateP90     time.Duration `json:"lateP90Ns"`
	Overhead    time.Duration `json:"overheadNs"` // calibrated
	OverheadP50 time.Duration `json:"overheadP50Ns"`
	OverheadP90 time.Duration `json:"overheadP90Ns"`
	Phase       time.Duration `json:"phaseNs"`
	Handover    time.Duration `json:"handoverNs,omitempty"`
	SameOutcome float64       `json:"sameOutcome"` // share of the requests with the same outcome and reason live and in the replay
	NoiseP50    time.Duration `json:"noiseP50Ns"`
	NoiseP99    time.Duration `json:"noiseP99Ns"`
	LoadAverage string        `json:"loadAverage,omitempty"`

	Fit *fitted.Result `json:"fit,omitempty"` // of a scenario that is fitted to the logs
}

// Limits are the limits of one level after an adjustment.
type Limits struct {
	At     time.Duration `json:"atNs"`
	Level  string        `json:"level"`
	Live   int           `json:"live"`
	Replay int           `json:"replay"`
}

// handoverSeats are the seats of the cases for which the hand-over of seats can be measured.
var handoverSeats = map[string]int{"elephant": 8, "overload": 8}

// NewRun returns the results of a live run.
func NewRun(t *trial.Trial) *Run {
	r := &Run{
		Void: compare.Void(t), Checks: compare.Checks(t),
		Live: compare.Summarize(t.Live.Requests), Replay: compare.Summarize(t.Replay.Requests),
		LateP90: compare.Percentile(t.Late, 90), Overhead: t.Overhead,
		OverheadP50: compare.Percentile(t.Overheads, 50), OverheadP90: compare.Percentile(t.Overheads, 90),
		SameOutcome: compare.SameOutcome(t.Live.Requests, t.Replay.Requests),
		NoiseP50:    compare.Percentile(t.Noise, 50), NoiseP99: compare.Percentile(t.Noise, 99),
		Phase: time.Duration(t.PhaseNs), LoadAverage: loadAverage(), Fit: t.Fit,
	}
	levels := map[string]bool{}
	for _, s := range r.Live {
		if levels[s.Level] {
			continue
		}
		levels[s.Level] = true
		for i := range min(len(t.Live.Adjustments), len(t.Replay.Adjustments)) {
			live, replay := &t.Live.Adjustments[i], &t.Replay.Adjustments[i]
			r.Adjustments = append(r.Adjustments, Limits{time.Duration(live.AtNs), s.Level, live.Limits[s.Level], replay.Limits[s.Level]})
		}
	}
	if seats := handoverSeats[t.Case]; seats > 0 {
		r.Handover = compare.Handover(t.Live.Requests, "live", seats)
	}
	return r
}

// Servers returns spec.servers of a scenario with what the run measured; "" if it measured nothing of it.
func (r *Run) Servers() string {
	var fields []string
	if len(r.Adjustments) > 0 {
		fields = append(fields, fmt.Sprintf("adjustmentPhase: %v", r.Phase.Round(time.Millisecond)))
	}
	if r.Handover > 0 {
		fields = append(fields, fmt.Sprintf("handover: %v", r.Handover.Round(10*time.Microsecond)))
	}
	if len(fields) == 0 {
		return ""
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// loadAverage returns how many processes of the machine wanted to run in the last minutes; "" where the
// operating system does not say.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(text))[:1], " ")
}

// failures returns the comparisons that fail.
func (r *Run) failures() (failed []compare.Check) {
	for _, c := range r.Checks {
		if !c.Passed {
			failed = append(failed, c)
		}
	}
	return failed
}

// verdict says in a few words how a run ended.
func (r *Run) verdict() string {
	switch failed := len(r.failures()); {
	case r.Void != "":
		return "void: " + r.Void
	case failed == 0:
		return fmt.Sprintf("all %d comparisons hold", len(r.Checks))
	default:
		return fmt.Sprintf("%d of %d comparisons fail", failed, len(r.Checks))
	}
}

// valid returns the runs that are not void.
func (c *Case) valid() (runs []*Run) {
	for i := range c.Runs {
		if c.Runs[i].Void == "" {
			runs = append(runs, &c.Runs[i])
		}
	}
	return runs
}

// Failures returns the comparisons that fail in a run that is not void, with their cases.
func (r *Results) Failures() (failed []string) {
	for i := range r.Cases {
		for _, run := range r.Cases[i].valid() {
			for _, check := range run.failures() {
				failed = append(failed, fmt.Sprintf("%s: %s: %s", r.Cases[i].Name, check.What, check.Detail))
			}
		}
	}
	return failed
}

// Void returns the cases of which all runs are void, so that they show nothing.
func (r *Results) Void() (cases []string) {
	for i := range r.Cases {
		if len(r.Cases[i].valid()) == 0 {
			cases = append(cases, r.Cases[i].Name)
		}
	}
	return cases
}

// WriteFile writes the results of a case as JSON.
func (c *Case) WriteFile(file string) error { return writeFile(file, c) }

// ReadFile reads the results of a case.
func ReadFile(file string) (*Case, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c := new(Case)
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}
