// Package report writes what the live runs measured: as text, as a file of figures, and as a section of a
// document with its chart.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"apfsim/live/compare"
	"apfsim/live/fitted"
	"apfsim/live/trial"
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

// Print prints the comparisons of a run.
func (r *Run) Print(w io.Writer, id string, took time.Duration) {
	verdict := "passed"
	switch {
	case r.Void != "":
		verdict = "void: " + r.Void
	case !r.Passed():
		verdict = "FAILED"
	}
	fmt.Fprintf(w, "%s: %s (%v; sender late %v at p90; webhook overhead %v calibrated, then p50 %v, p90 %v; hand-over %v; wait without queue p50 %v, p99 %v; load average %s)\n", id, verdict,
		took.Round(time.Second), r.LateP90.Round(10*time.Microsecond), r.Overhead.Round(10*time.Microsecond),
		r.OverheadP50.Round(10*time.Microsecond), r.OverheadP90.Round(10*time.Microsecond), r.Handover.Round(10*time.Microsecond),
		r.NoiseP50.Round(10*time.Microsecond), r.NoiseP99.Round(10*time.Microsecond), r.LoadAverage)
	if servers := r.Servers(); servers != "" {
		fmt.Fprintf(w, "  measured: servers: %s\n", servers)
	}
	if f := r.Fit; f != nil {
		fmt.Fprintf(w, "  info %-32s %d of %d statistics are within the %.0f %% prediction intervals\n", "scenario fitted to the logs", f.Within, f.Statistics, 100*f.Coverage)
		for _, o := range f.Outside {
			fmt.Fprintf(w, "       outside: %s\n", o)
		}
	}
	for _, c := range r.Checks {
		mark := "ok  "
		if !c.Passed {
			mark = "FAIL"
		}
		fmt.Fprintf(w, "  %s %-32s %s\n", mark, c.What, c.Detail)
	}
}

// Passed returns whether all comparisons hold.
func (r *Run) Passed() bool {
	for _, c := range r.Checks {
		if !c.Passed {
			return false
		}
	}
	return true
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

// Passed returns whether each case has a run that is not void, and all comparisons of such runs hold. It prints
// what does not.
func (r *Results) Passed(w io.Writer) bool {
	passed := !r.Failed(w)
	for i := range r.Cases {
		if len(r.Cases[i].valid()) == 0 {
			fmt.Fprintf(w, "%s: all runs are void, so that nothing is shown\n", r.Cases[i].Name)
			passed = false
		}
	}
	if passed {
		fmt.Fprintln(w, "all comparisons hold")
	}
	return passed
}

// Failed returns whether a comparison fails in a run that is not void. It prints those that do.
func (r *Results) Failed(w io.Writer) bool {
	failed := false
	for i := range r.Cases {
		for _, run := range r.Cases[i].valid() {
			for _, check := range run.Checks {
				if !check.Passed {
					fmt.Fprintf(w, "%s: FAILED: %s: %s\n", r.Cases[i].Name, check.What, check.Detail)
					failed = true
				}
			}
		}
	}
	return failed
}

// WriteFile writes the results of a case as JSON.
func (c *Case) WriteFile(file string) error {
	text, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

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

// machine describes where the runs were made.
func machine() string {
	return fmt.Sprintf("%s, %s/%s, processors: %d", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}
