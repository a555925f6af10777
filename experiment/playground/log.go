package playground

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"apfsim/experiment/fit"
	"apfsim/experiment/incident"
	"apfsim/internal/input"
	"apfsim/reports/format"
	"apfsim/reports/report"
	"apfsim/sim/trace/logfile"
	"apfsim/sim/trace/requests"
)

// Logged are the arguments of the call "import": logs of servers, as apfsim import reads them.
type Logged struct {
	Logs []LogFile `json:"logs"`
	// Config is flow-control objects and Metrics the metrics of the server, as kubectl prints them; "" if they are not known.
	Config  string `json:"config"`
	Metrics string `json:"metrics"`
	Zone    string `json:"zone"` // of an httplog; "" for the default of apfsim import
	Fit     bool   `json:"fit"`  // the scenario is fitted to the requests, and does not replay them
}

// LogFile is a file of a log.
type LogFile struct {
	Name       string `json:"name"`
	Content    []byte `json:"content"`    // perhaps compressed with gzip
	ModifiedMs int64  `json:"modifiedMs"` // since 1970; 0 if it is not known. It gives an httplog its year
}

// Limits of a log. What is larger is for the program: a run gets its trace with each call.
const (
	maxLog   = 128 << 20 // bytes without compression
	maxTrace = 32 << 20
)

// Imported is the answer of the call "import": what apfsim import writes, and what it prints.
type Imported struct {
	Text     string            `json:"text"`  // the scenario
	Files    map[string]string `json:"files"` // to which it refers
	Requests int64             `json:"requests"`
	Of       int64             `json:"of"` // requests in the log
	BadLines int64             `json:"badLines"`
	Printed  string            `json:"printed"`
}

func importLog(ctx context.Context, l *Logged, progress Progress) (*Imported, error) {
	if len(l.Logs) == 0 {
		return nil, errors.New("want a file with the log of a server")
	}
	zone, err := requests.ParseZone(l.Zone)
	if err != nil {
		return nil, fmt.Errorf("the time zone: %w", err)
	}
	var sources []requests.Source
	left := maxLog
	for i := range l.Logs {
		log := &l.Logs[i]
		content, err := decompressed(log.Content, left)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", log.Name, err)
		}
		left -= len(content)
		var modified time.Time
		if log.ModifiedMs > 0 && log.ModifiedMs < math.MaxInt64/1_000_000 {
			modified = time.UnixMilli(log.ModifiedMs)
		}
		sources = append(sources, requests.Text(log.Name, content, modified, logfile.Options{Zone: zone}))
	}
	name, _, _ := strings.Cut(l.Logs[0].Name, ".") // without the endings .log and .gz
	given, config, metrics := files{}, []string(nil), ""
	if l.Config != "" {
		given[configFile], config = l.Config, []string{configFile}
	}
	if l.Metrics != "" {
		given[metricsFile], metrics = l.Metrics, metricsFile
	}
	settings, err := incident.ReadSettings(given, "", config, metrics)
	if err != nil {
		return nil, err
	}
	progress(0.1)
	imported, made, err := incident.ImportInMemory(ctx, incident.Options{
		Sources:  sources,
		Settings: settings,
		Dir:      name,
	}, maxTrace)
	var long *input.TooLong
	switch {
	case errors.As(err, &long):
		return nil, fmt.Errorf("the trace of these logs %w, which is too much for this page; use 'apfsim import', or a part of them", err)
	case err != nil:
		return nil, err
	}
	answer := &Imported{Text: string(made[incident.ScenarioFile]), Files: map[string]string{}, Requests: imported.Requests.InTrace, Of: imported.Requests.Total}
	for _, f := range imported.Files {
		answer.BadLines += f.BadLines
	}
	for file, text := range made {
		if file != incident.ScenarioFile && file != incident.ReportFile {
			answer.Files[file] = string(text)
		}
	}
	documents := []*report.Document{imported.Document("", "")}
	if l.Fit {
		fitted, err := fitTo(made, name)
		if err != nil {
			return nil, err
		}
		delete(answer.Files, incident.TraceFile)
		answer.Text = format.PrintableLines(string(fitted.Scenario))
		documents = append(documents, fitted.Report.Document())
	}
	for _, d := range documents {
		part, err := printed(d)
		if err != nil {
			return nil, err
		}
		answer.Printed += part.Printed + "\n"
	}
	return answer, nil
}

// fitTo fits a scenario to the requests of an import, as apfsim import --fit does, without runs that compare both.
func fitTo(made map[string][]byte, name string) (*fit.Fitted, error) {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(made[incident.TraceFile])), nil }
	return fit.Fit(open, fit.Options{File: incident.TraceFile, Name: fit.ScenarioName(name), Base: made[incident.ScenarioFile], BaseFile: incident.ScenarioFile, Dir: ".", Capacity: true})
}

// decompressed returns a log without compression, if it has at most so many bytes. A small file can hold a very long log.
func decompressed(content []byte, maxBytes int) ([]byte, error) {
	long := fmt.Errorf("without compression, the logs have more than %d MiB; use 'apfsim import', or a part of them", maxLog>>20)
	if !bytes.HasPrefix(content, []byte("\x1f\x8b")) {
		if len(content) > maxBytes {
			return nil, long
		}
		return content, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(z, int64(maxBytes)+1))
	if len(text) > maxBytes {
		return nil, long
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && len(text) > 0 {
		return text, nil // cut off, as logs are
	}
	return text, err
}
