// Package outcome describes what became of the requests of a run, live or simulated: a caller reads the outcomes of a
// simulation with Simulate, and compares them with those of the logs of a server.
package outcome

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"apfsim/sim/trace"
	"apfsim/sim/workload"
)

// Outcome is one request and what became of it. The fields are those of a request log.
type Outcome struct {
	trace.Record
	Workload            string `json:"workload"`
	FlowSchema          string `json:"flowSchema"`
	PriorityLevel       string `json:"priorityLevel"`
	Outcome             string `json:"outcome"`
	Reason              string `json:"reason"`
	WaitNs              int64  `json:"waitNs"`
	Seats               int    `json:"seats"`
	FinalSeats          int    `json:"finalSeats"`
	AdditionalLatencyNs int64  `json:"additionalLatencyNs"`
	RetryAfterSeconds   int    `json:"retryAfterSeconds"`
	DispatchNs          int64  `json:"dispatchNs"` // of a simulated request
	Status              int    `json:"status"`     // of HTTP; 0 without an answer
	Server              int    `json:"server"`     // by index
	FinishNs            int64  `json:"finishNs"`   // when the execution ended, or the answer to a live request was complete
}

// What can become of a request, and the reasons of a rejection.
const (
	Executed  = "executed"
	Rejected  = "rejected"
	Refused   = "refused" // it has not reached a server, or not its flow control
	QueueFull = "queue-full"
	TimeOut   = "time-out"
)

// Run is all that was observed of a run.
type Run struct {
	Requests    []Outcome    // in the order of arrival
	Adjustments []Adjustment // without that of the start, in the order of time
	Notes       []Note       // of a simulation: what happened to clients that behave, in the order of time
}

// Note is something that happened to a simulated client that behaves.
type Note struct {
	AtNs             int64
	Workload, Client int // by index
	workload.Note
}

// AfterStart is the time in which an adjustment is that of the start. In a replay it may come a moment later.
const AfterStart = time.Second

// Adjustment is one periodic adjustment of the limits.
type Adjustment struct {
	AtNs   int64          `json:"atNs"`
	Limits map[string]int `json:"limits"` // by level
}

// ReadLog reads a request log.
func ReadLog(file string) ([]Outcome, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []Outcome
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var o Outcome
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, len(all)+1, err)
		}
		all = append(all, o)
	}
	return all, lines.Err()
}

// WriteTrace writes the requests as a trace, in the order of arrival.
func WriteTrace(file string, requests []Outcome) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}()
	sorted := slices.Clone(requests)
	slices.SortStableFunc(sorted, func(a, b Outcome) int { return int(a.ArrivalNs - b.ArrivalNs) })
	w := bufio.NewWriter(f)
	var line []byte
	for i := range sorted {
		line = trace.AppendRecord(line[:0], &sorted[i].Record)
		w.Write(line) // Flush returns the first error of all writes
	}
	return w.Flush()
}
