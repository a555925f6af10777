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

	"apfsim/experiment/incident"
	"apfsim/internal/input"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/sim/trace/logfile"
	"apfsim/sim/trace/requests"
)

// Logged are the arguments of the call "import": logs of servers, as apfsim import reads them.
type Logged struct {
	Logs []LogFile `json:"logs"`
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
		sources = append(sources, requests.Text(log.Name, content, modified, logfile.Options{}))
	}
	name, _, _ := strings.Cut(l.Logs[0].Name, ".") // without the endings .log and .gz
	settings, err := incident.ReadSettings("", nil, "")
	if err != nil {
		return nil, err
	}
	progress(0.1)
	report, made, err := incident.ImportInMemory(ctx, incident.Options{
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
	answer := &Imported{Text: string(made[incident.ScenarioFile]), Files: map[string]string{}, Requests: report.Requests.InTrace, Of: report.Requests.Total}
	for _, f := range report.Files {
		answer.BadLines += f.BadLines
	}
	for file, text := range made {
		if file != incident.ScenarioFile && file != incident.ReportFile {
			answer.Files[file] = string(text)
		}
	}
	var text bytes.Buffer
	if err := render.Text(&text, report.Document("", ""), format.TextOptions{}); err != nil {
		return nil, err
	}
	answer.Printed = text.String()
	return answer, nil
}

// decompressed returns a log without compression, if it has at most so many bytes. A small file can hold a very long log.
func decompressed(content []byte, most int) ([]byte, error) {
	long := fmt.Errorf("without compression, the logs have more than %d MiB; use 'apfsim import', or a part of them", maxLog>>20)
	if !bytes.HasPrefix(content, []byte("\x1f\x8b")) {
		if len(content) > most {
			return nil, long
		}
		return content, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(z, int64(most)+1))
	if len(text) > most {
		return nil, long
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && len(text) > 0 {
		return text, nil // cut off, as logs are
	}
	return text, err
}
