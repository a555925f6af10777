// Package fitted makes a scenario of the logs of a live run, as 'apfsim import --fit' does, and says how many
// statistics of the run are within the prediction intervals of that scenario.
package fitted

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"apfsim/experiment"
	"apfsim/experiment/fit"
	"apfsim/experiment/fit/check"
	"apfsim/experiment/fit/shape"
	"apfsim/experiment/incident"
	"apfsim/sim/scenario"
	"apfsim/sim/trace/logfile"
	"apfsim/sim/trace/requests"
)

// Logs are what a live run leaves in a folder.
type Logs struct {
	Dir         string
	Audit, HTTP string    // names of the logs of the server
	Metrics     string    // name of a scrape
	Config      string    // name of a file with flow-control objects; "" for those of a new cluster
	From, To    time.Time // of the load
}

// Result says how the logged statistics agree with the intervals.
type Result struct {
	Statistics int      `json:"statistics"`
	Within     int      `json:"within"`
	Coverage   float64  `json:"coverage"` // of the intervals
	Outside    []string `json:"outside"`
}

// scenarioFile is the name of a fitted scenario.
const scenarioFile = "fitted.yaml"

// fit imports the logs and fits a scenario, whose name it returns, as 'apfsim import --fit' does. The files are written to the
// folder "fitted" of the run, or to another one. Fields of the servers that are known, as YAML, are not fitted. The logs to which
// scenarios in other folders of the run were fitted inform the capacity, too.
func (l *Logs) fit(ctx context.Context, folder string, servers map[string]string, others []string) (*fit.Fitted, string, error) {
	path := func(name string) string { return filepath.Join(l.Dir, name) }
	var config []string
	if l.Config != "" {
		config = []string{path(l.Config)}
	}
	settings, err := incident.ReadSettings(nil, "", config, path(l.Metrics))
	if err != nil {
		return nil, "", err
	}
	sources, err := requests.Sources([]string{path(l.Audit), path(l.HTTP)}, nil, logfile.Options{})
	if err != nil {
		return nil, "", err
	}
	out := path(folder)
	if _, err := incident.Import(ctx, incident.Options{Sources: sources, Settings: settings, Dir: out,
		From: &incident.Moment{Absolute: true, Ns: l.From.UnixNano()}, To: &incident.Moment{Absolute: true, Ns: l.To.UnixNano()}}); err != nil {
		return nil, "", err
	}
	base := filepath.Join(out, "scenario.yaml")
	text, err := os.ReadFile(base)
	if err != nil {
		return nil, "", err
	}
	if text, err = withServers(text, servers); err != nil {
		return nil, "", fmt.Errorf("%s: %w", base, err)
	}
	trace := func(folder string) fit.Log {
		file := filepath.Join(path(folder), "trace.jsonl")
		return fit.Log{File: file, Open: func() (io.ReadCloser, error) { return os.Open(file) }}
	}
	log := trace(folder)
	o := fit.Options{File: log.File, Name: "fitted", Base: text, BaseFile: base, Dir: out, Capacity: true}
	for _, other := range others {
		o.CapacityFrom = append(o.CapacityFrom, trace(other))
	}
	f, err := fit.Fit(log.Open, o)
	return f, filepath.Join(out, scenarioFile), err
}

// withServers returns the text of a scenario with fields of its servers, which are YAML.
func withServers(text []byte, fields map[string]string) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	servers := shape.NodeField(shape.NodeField(doc.Content[0], "spec"), "servers")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var field yaml.Node
		if err := yaml.Unmarshal([]byte(fields[name]), &field); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		shape.SetField(servers, name, field.Content[0])
	}
	return yaml.Marshal(&doc)
}

// Check fits a scenario to the logs, and runs it.
func Check(ctx context.Context, l Logs) (*Result, error) {
	f, file, err := l.fit(ctx, "fitted", nil, nil)
	if err != nil {
		return nil, err
	}
	report, _, err := check.Complete(ctx, f, file, check.DefaultRuns, noProgress)
	if err != nil {
		return nil, err
	}
	c := report.Check
	r := &Result{Statistics: len(c.Rows), Within: c.Within, Coverage: c.Coverage}
	for _, row := range c.Outside() {
		r.Outside = append(r.Outside, fmt.Sprintf("%s %s %s: %s, interval %s to %s", row.Group, row.Name, row.Statistic,
			number(row.Unit, row.Recorded), number(row.Unit, *row.Low), number(row.Unit, *row.High)))
	}
	return r, nil
}

func number(unit string, x float64) string {
	if unit == "ns" {
		return time.Duration(x).Round(time.Microsecond).String()
	}
	return fmt.Sprint(x)
}

func noProgress(*scenario.Scenario) experiment.Progress { return silent{} }

// silent shows no progress.
type silent struct{}

func (silent) Begin(time.Duration) experiment.RunProgress { return silent{} }
func (silent) Update(int64, uint64)                       {}
func (silent) Finish()                                    {}
