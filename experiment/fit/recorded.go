package fit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"apfsim/document"
	"apfsim/sim/random"
	"apfsim/sim/trace"
	"apfsim/sim/trace/logfile"
	"apfsim/sim/trace/serverlog"
)

// Entry is one recorded request: what a trace says, and what a request log adds as far as it is known.
type Entry struct {
	trace.Record
	Server            int           `json:"server"`   // of several simulated ones
	Workload          string        `json:"workload"` // of a simulated server
	FlowSchema        string        `json:"flowSchema"`
	PriorityLevel     string        `json:"priorityLevel"`
	Outcome           trace.Outcome `json:"outcome"`
	Attempt           int           `json:"attempt"`
	WaitNs            int64         `json:"waitNs"` // -1 if the line does not say it
	Seats             int           `json:"seats"`
	DispatchNs        int64         `json:"dispatchNs"` // 0 if the line does not say it, as of finishNs
	FinishNs          int64         `json:"finishNs"`
	RetryAfterSeconds int64         `json:"retryAfterSeconds"`
}

// TookNs returns how long the request was executed, a watch initialised. In the log of a simulated server, ExecutionNs is
// how long that would have been on an idle one.
func (e *Entry) TookNs() int64 {
	if e.Workload != "" && e.FinishNs > 0 {
		return e.FinishNs - e.DispatchNs
	}
	return e.ExecutionNs
}

// EndNs returns when the request was over for its client, a watch at its end.
func (e *Entry) EndNs() int64 {
	end := e.ArrivalNs + max(0, e.WaitNs)
	if e.Outcome == trace.Rejected {
		return end
	}
	return end + e.TookNs() + e.WatchNs
}

// Limits of what is read.
const (
	longestLine = 1 << 20 // bytes
	mostErrors  = 20      // lines that are reported
	mostServers = 100     // of a scenario
)

// Each calls visit with every request. The error is a document.Errors if lines are wrong, of which the
// first ones are reported; visit is then not called any more.
func EachEntry(open func() (io.ReadCloser, error), file string, visit func(*Entry)) error {
	source, err := open()
	if err != nil {
		return err
	}
	defer source.Close()
	lines := bufio.NewScanner(source)
	lines.Buffer(make([]byte, 0, 64<<10), longestLine+1)
	var wrong document.Errors
	var e Entry
	lastNs := int64(0)
	for number := 1; lines.Scan(); number++ {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		if column, field, problem := e.parse(text, lastNs); problem != "" {
			wrong.Add(document.Position{File: file, Line: number, Column: column}, field, "%s", problem)
			if len(wrong) == mostErrors {
				break
			}
			continue
		}
		lastNs = e.ArrivalNs
		if len(wrong) == 0 {
			visit(&e)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		wrong.Add(document.Position{File: file}, "", "a line is longer than 1 MiB")
	} else if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return wrong.Err()
}

// parse reads one line into e. If it is wrong, it returns where and why.
func (e *Entry) parse(text []byte, lastNs int64) (column int, field, problem string) {
	*e = Entry{WaitNs: -1}
	if err := json.Unmarshal(text, e); err != nil {
		var syntax *jsontext.SyntacticError
		var kind *json.SemanticError
		switch {
		case errors.As(err, &syntax):
			return int(syntax.ByteOffset) + 1, "", "is not valid JSON: " + syntax.Err.Error()
		case errors.As(err, &kind):
			want := "a " + kind.GoType.String()
			if kind.GoType.Kind() == reflect.Int || kind.GoType.Kind() == reflect.Int64 {
				want = "a whole number"
			}
			return int(kind.ByteOffset) + 1, strings.TrimPrefix(string(kind.JSONPointer), "/"), fmt.Sprintf("is a %s; want %s", kind.JSONKind, want)
		}
		return 1, "", err.Error()
	}
	for _, t := range []struct {
		name string
		ns   int64
	}{{"arrivalNs", e.ArrivalNs}, {"executionNs", e.ExecutionNs}, {"watchNs", e.WatchNs}, {"waitNs", max(0, e.WaitNs)}, {"dispatchNs", e.DispatchNs}, {"finishNs", max(0, e.FinishNs-e.DispatchNs)}, {"retryAfterSeconds", e.RetryAfterSeconds}} {
		if most := int64(random.LongestNs) / 8; t.ns < 0 || t.ns > most {
			return 1, t.name, fmt.Sprintf("%d is out of range; want 0 to %d", t.ns, most)
		}
	}
	if most := int64(1e6); e.RetryAfterSeconds > most {
		return 1, "retryAfterSeconds", fmt.Sprintf("%d is out of range; want 0 to %d", e.RetryAfterSeconds, most)
	}
	switch {
	case e.Server < 0 || e.Server >= mostServers:
		return 1, "server", fmt.Sprintf("%d is out of range; want 0 to %d", e.Server, mostServers-1)
	case e.ArrivalNs < lastNs:
		return 1, "arrivalNs", fmt.Sprintf("%d is before the line above, %d; want the requests in order of arrival", e.ArrivalNs, lastNs)
	case e.Verb == "":
		return 1, "verb", "is missing"
	case e.Resource == "" && e.Path == "":
		return 1, "", "has neither resource nor path; want one of them"
	}
	return 0, "", ""
}

// CheckRecorded returns an error that says what a file is instead of recorded requests, if it is compressed or the log of a server. What
// else is wrong with it is said when it is read.
func CheckRecorded(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, 1<<20))
	switch {
	case err != nil:
		return nil
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return fmt.Errorf("%s: is compressed; want recorded requests: decompress it or, if it is the log of a server, import it", name)
	}
	if _, found, err := trace.NewReader(bytes.NewReader(head), name).Next(); found && err == nil {
		return nil
	}
	log, err := logfile.Open(bytes.NewReader(head), name, logfile.Options{Reference: time.Unix(0, 0)}) // the year of its lines does not matter
	if err != nil {
		return nil
	}
	var e serverlog.Entry
	for range 100 {
		switch err := log.Next(&e); err {
		case nil:
			return fmt.Errorf("%s: is the log of a server; want recorded requests: 'apfsim import %s -o DIR' makes a folder with them", name, name)
		case io.EOF:
			return nil
		}
	}
	return nil
}
