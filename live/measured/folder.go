// Package measured turns what a client measured into a folder of results that apfsim compares with that of a
// run.
package measured

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"

	"apfsim/experiment/output"
	"apfsim/internal/atomicfile"
	"apfsim/live/cluster"
	"apfsim/live/load"
	"apfsim/live/phase"
	"apfsim/reports/files"
	"apfsim/reports/format"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
)

// The files of the folder, besides those of a run.
const (
	MeasurementFile = "measurement.json"
	MetricsBefore   = "metrics-before.txt"
	MetricsAfter    = "metrics-after.txt"
)

// Measurement is how a run was measured, and what it says about the servers of a scenario. It is what
// measurement.json contains.
type Measurement struct {
	SchemaVersion string    `json:"schemaVersion"`
	Server        string    `json:"server"`
	Context       string    `json:"context"`
	Version       string    `json:"version"` // of the server; empty if it does not say
	StartedAt     time.Time `json:"startedAt"`
	MostRequests  int64     `json:"mostRequests"`
	DryRun        bool      `json:"dryRun"`            // whether writes had dryRun=All
	Stopped       string    `json:"stopped,omitempty"` // why the run ended before its duration

	Lateness result.Distribution         `json:"lateness"` // how much later requests were sent than the clients wanted
	Statuses map[string]map[string]int64 `json:"statuses"` // answers by workload and status; "none" for no answer
	Metrics  Metrics                     `json:"metrics"`
	Servers  Servers                     `json:"servers"`
}

// Metrics says when /metrics was read, in nanoseconds since the start, and why it was not.
type Metrics struct {
	BeforeNs *int64 `json:"beforeNs"`
	AfterNs  *int64 `json:"afterNs"`
	Note     string `json:"note,omitempty"`
}

// Servers is what spec.servers of a scenario takes of a live run.
type Servers struct {
	// AdjustmentPhase is a value of spec.servers.adjustmentPhase; empty if it could not be measured.
	AdjustmentPhase      string       `json:"adjustmentPhase,omitempty"`
	AdjustmentPhaseRange *phase.Range `json:"adjustmentPhaseRange,omitempty"`
	AdjustmentPhaseNote  string       `json:"adjustmentPhaseNote,omitempty"`
	HandoverNote         string       `json:"handoverNote"`
}

// HandoverNote says why a client does not measure servers.handover.
const HandoverNote = "a client cannot see when the server hands over a seat; the live test measures it from the log of a server"

// Run is all that is known after a run.
type Run struct {
	Scenario    *scenario.Scenario
	Result      *load.Result
	Names       *cluster.FlowControl // nil if unknown
	Measurement Measurement
	Before      []byte // of /metrics; nil if it was not read
	After       []byte
	Warnings    []string
}

// Summary returns the statistics of the run.
func (r *Run) Summary() *Summary {
	warnings := append(Warnings(r.Result, r.Names), r.Warnings...)
	return Summarize(r.Scenario, r.Result, r.Names, warnings)
}

// CheckFolder returns an error if a folder for the results exists and is not empty: what was measured is
// never replaced.
func CheckFolder(dir, name string) error {
	return CheckEmpty(output.Folder(dir, name))
}

// CheckEmpty returns an error if a folder for results exists and is not empty.
func CheckEmpty(folder string) error {
	entries, err := os.ReadDir(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(entries) == 0:
		return nil
	case err != nil:
		return fmt.Errorf("--out: %w", err)
	}
	return fmt.Errorf("--out: %s: is not empty; use another folder, because measurements are not replaced", folder)
}

// Write writes the results to the folder DIR/NAME of the scenario: either all files or none.
func (r *Run) Write(dir string, s *Summary) (err error) {
	m := &r.Measurement
	m.SchemaVersion, m.Lateness, m.Statuses = result.SchemaVersion, *Lateness(r.Result), statuses(r)
	if r.Result.Stopped != nil {
		m.Stopped = r.Result.Stopped.Error()
	}
	var list files.List
	list.Add(output.RequestsFile, r.writeLog)
	for _, scrape := range []struct {
		name string
		text []byte
	}{{MetricsBefore, r.Before}, {MetricsAfter, r.After}} {
		if scrape.text != nil {
			list.Add(scrape.name, func(w io.Writer) error { _, err := w.Write(scrape.text); return err })
		}
	}
	list.Add(MeasurementFile, func(w io.Writer) error { return format.WriteJSON(w, m) })
	list.Add(output.SummaryFile, func(w io.Writer) error { return format.WriteJSON(w, s) })
	var set atomicfile.Set
	defer func() { err = errors.Join(err, set.Discard()) }()
	if err := list.AddTo(&set, output.Folder(dir, r.Scenario.Metadata.Name)); err != nil {
		return err
	}
	return set.Commit()
}

// Lateness returns how much later requests were sent than the clients wanted.
func Lateness(r *load.Result) *result.Distribution {
	h := measure.Histogram{Precision: measure.FinePrecision}
	for _, s := range r.Requests {
		h.Record(int64(max(0, s.At-s.Planned)))
	}
	if d := result.NewDistribution(&h); d != nil {
		return d
	}
	return &result.Distribution{}
}

// statuses counts the answers by workload and status.
func statuses(r *Run) map[string]map[string]int64 {
	all := map[string]map[string]int64{}
	for i := range r.Scenario.Spec.Workload {
		all[r.Scenario.Spec.Workload[i].Name] = map[string]int64{}
	}
	for _, s := range r.Result.Requests {
		all[r.Scenario.Spec.Workload[s.Workload].Name][statusText(s)]++
	}
	return all
}

func statusText(s *load.Sent) string {
	if !s.Answered || s.Status == 0 {
		return "none"
	}
	return strconv.Itoa(s.Status)
}

// logged is a line of requests.jsonl. Fields of a request log of a run have its names and meanings. What a
// client cannot know is absent.
type logged struct {
	ID            int64    `json:"id"`
	ArrivalNs     int64    `json:"arrivalNs"` // when it was sent
	User          string   `json:"user"`
	Groups        []string `json:"groups"`
	Verb          string   `json:"verb"`
	APIGroup      string   `json:"apiGroup"`
	Resource      string   `json:"resource"`
	Subresource   string   `json:"subresource"`
	Namespace     string   `json:"namespace"`
	Name          string   `json:"name"`
	Path          string   `json:"path"`
	Query         string   `json:"query"`
	WatchNs       int64    `json:"watchNs,omitempty"` // how long a watch was open
	Workload      string   `json:"workload"`
	Client        int      `json:"client"`
	FlowSchema    string   `json:"flowSchema,omitempty"`
	PriorityLevel string   `json:"priorityLevel,omitempty"`
	Flow          string   `json:"flow,omitempty"`
	Outcome       string   `json:"outcome"` // executed, rejected or unanswered
	Attempt       int      `json:"attempt"`

	LateNs            int64  `json:"lateNs"`              // how much later than its client wanted
	LatencyNs         *int64 `json:"latencyNs,omitempty"` // until the answer was read; of a watch, until it began
	Status            int    `json:"status,omitempty"`
	RetryAfterSeconds int    `json:"retryAfterSeconds,omitempty"`
	Error             string `json:"error,omitempty"`
}

func (r *Run) writeLog(w io.Writer) error {
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	f := newFlows(r.Names)
	for _, s := range r.Result.Requests {
		a := &s.Attributes
		line := logged{ID: s.ID, ArrivalNs: int64(s.At), User: a.User, Groups: a.Groups, Verb: a.Verb, APIGroup: a.APIGroup, Resource: a.Resource,
			Subresource: a.Subresource, Namespace: a.Namespace, Name: a.Name, Path: a.Path, Query: s.Query, WatchNs: int64(s.Open),
			Workload: r.Scenario.Spec.Workload[s.Workload].Name, Client: s.Client, Outcome: "unanswered", Attempt: s.Attempt,
			LateNs: int64(max(0, s.At-s.Planned)), Status: s.Status, RetryAfterSeconds: s.RetryAfterSeconds}
		if s.Answered && s.Status > 0 {
			latency := int64(s.Latency)
			line.LatencyNs, line.Outcome = &latency, "executed"
			if s.Rejected {
				line.Outcome = "rejected"
			}
		}
		if s.Err != nil {
			line.Error = s.Err.Error()
		}
		if flow := f.flow(s); flow != nil {
			line.FlowSchema, line.PriorityLevel, line.Flow = flow.Schema.Name, flow.Level, flow.Name()
		}
		if err := lines.Encode(&line); err != nil {
			return err
		}
	}
	return out.Flush()
}
