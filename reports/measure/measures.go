// Package measure computes numbers of requests: a [Tally] counts those of a workload, a FlowSchema, a flow or a window,
// [Measures] have a [Histogram] of each of their durations, too, and a [Divider] divides the service of a priority level
// fairly among its flows. Package collect fills them while a run happens.
package measure

import (
	"slices"

	"apfsim/core/queueset"
	"apfsim/sim/metric"
	"apfsim/sim/server"
)

// Tally counts the requests that arrived within the window by their outcome.
type Tally struct {
	Arrived, Dispatched, Executed, Retries int64
	Rejected                               [queueset.Rejections]int64 // by reason; the one of NotRejected is 0

	Refused                  [metric.Refusals]int64 // by reason, of those that arrived; the one of NotRefused is 0
	LostQueued, LostExecuted int64                  // whose server ended while they were queued, or executing
	Failures
	Responses []StatusCount // in ascending order of the status
}

// StatusCount is the number of requests that were answered with a status of HTTP, 0 without an answer.
type StatusCount struct {
	Status int16
	Count  int64
}

// RejectedTotal returns the rejections for all reasons.
func (t *Tally) RejectedTotal() int64 {
	total := int64(0)
	for _, n := range t.Rejected {
		total += n
	}
	return total
}

// RefusedTotal returns the refusals for all reasons.
func (t *Tally) RefusedTotal() int64 {
	total := int64(0)
	for _, n := range t.Refused {
		total += n
	}
	return total
}

// Waiting returns the requests that are still in a queue.
func (t *Tally) Waiting() int64 {
	return t.Arrived - t.Dispatched - t.RejectedTotal() - t.RefusedTotal() - t.LostQueued
}

// Executing returns the requests whose execution has not ended.
func (t *Tally) Executing() int64 { return t.Dispatched - t.Executed - t.LostExecuted }

// Refuse counts a request that has not reached flow control, as one that has arrived, too.
func (t *Tally) Refuse(r *server.Request) {
	t.Arrive(r)
	t.Refused[r.Refusal]++
}

// Open returns the requests that were not over when the run ended and that are not [Unfinished].
func (t *Tally) Open() int64 {
	return t.Waiting() + t.Executing() - t.answeredEarly - t.Failed[Unfinished]
}

// Failure is how a request was not served that was neither rejected nor refused nor lost.
type Failure uint8

// The failures.
const (
	NoFailure  Failure = iota
	Deadline           // answered 504, by the server's deadline or otherwise, or the client has given up
	Error              // answered another 5xx, or 429 by the handler
	Unfinished         // open at the end, and older than the latency p99 of the workload, or than UnfinishedNs without one

	failures // how many there are, NoFailure included
)

// Failures counts the requests that failed and were neither rejected nor refused nor lost.
type Failures struct {
	Failed        [failures]int64 // by failure
	answeredEarly int64           // of them: that still execute
}

// UnfinishedNs is the age from which on a request that is open at the end is Unfinished if no request of its workload has
// a latency.
const UnfinishedNs = 10_000_000_000

// FailureOf returns how a request failed that has been answered, or whose client knows that there will be no answer.
func FailureOf(r *server.Request) Failure {
	switch {
	case r.Status < server.StatusTooManyRequests && r.Status != 0, r.Opened:
	case r.Rejection != queueset.NotRejected, r.Refusal != metric.NotRefused, r.Lost: // which counts as such
	case r.Status == 0 || r.Status == server.StatusGatewayTimeout:
		return Deadline
	case r.Status == server.StatusTooManyRequests || r.Status >= server.StatusInternalServerError:
		return Error
	}
	return NoFailure
}

// IsOpen says whether a request is in flight and its client waits for the answer.
func IsOpen(r *server.Request) bool {
	return !r.Answered() && !r.Opened && !r.Lost && r.Rejection == queueset.NotRejected && r.Refusal == metric.NotRefused
}

// GiveUp counts a request whose server has ended, if it is lost.
func (t *Tally) GiveUp(r *server.Request) {
	switch {
	case !r.Lost:
	case r.DispatchNs < 0:
		t.LostQueued++
	default:
		t.LostExecuted++
	}
}

// Fail counts a request that has been answered, and in a way that is a failure.
func (f *Failures) Fail(r *server.Request, how Failure) {
	f.Failed[how]++
	if r.FinishNs < 0 {
		f.answeredEarly++
	}
}

// Withdraw takes back what Fail has counted of a request that still executed and has been lost since, as it counts as
// lost.
func (f *Failures) Withdraw(how Failure) {
	f.Failed[how]--
	f.answeredEarly--
}

// Execute counts a request that has been executed.
func (t *Tally) Execute(r *server.Request) {
	t.Executed++
	t.EndEarly(r)
}

// EndEarly counts a request that has been executed: if it was answered before, it does not execute any more.
func (f *Failures) EndEarly(r *server.Request) {
	if r.Answered() {
		f.answeredEarly--
	}
}

// Answer counts the answer to a request.
func (t *Tally) Answer(r *server.Request) { t.addResponses(r.Status, 1) }

func (t *Tally) addResponses(status int16, n int64) {
	at := 0
	for at < len(t.Responses) && t.Responses[at].Status < status {
		at++
	}
	if at == len(t.Responses) || t.Responses[at].Status != status {
		t.Responses = slices.Insert(t.Responses, at, StatusCount{Status: status})
	}
	t.Responses[at].Count += n
}

// Merge adds the counts of another tally.
func (t *Tally) Merge(other *Tally) {
	t.Arrived += other.Arrived
	t.Dispatched += other.Dispatched
	t.Executed += other.Executed
	t.Retries += other.Retries
	for i, n := range other.Rejected {
		t.Rejected[i] += n
	}
	for i, n := range other.Refused {
		t.Refused[i] += n
	}
	t.LostQueued += other.LostQueued
	t.LostExecuted += other.LostExecuted
	t.AddFailures(&other.Failures)
	for _, r := range other.Responses {
		t.addResponses(r.Status, r.Count)
	}
}

// AddFailures adds those that others count.
func (f *Failures) AddFailures(other *Failures) {
	for i, n := range other.Failed {
		f.Failed[i] += n
	}
	f.answeredEarly += other.answeredEarly
}

// Measures are the counts and the durations of a group of requests.
type Measures struct {
	Tally
	Timed  [Timings]Histogram
	Queued Histogram // how long those that were still queued at the end had waited
}

// Timing is one of the durations that are measured for a request.
type Timing uint8

const (
	Wait         Timing = iota // arrival to dispatch
	Execution                  // dispatch to the end of execution
	Latency                    // arrival to the end of execution
	RejectedWait               // arrival to rejection

	Timings = iota
)

// New returns empty measures whose histograms have the precision.
func New(precision uint8) *Measures {
	m := &Measures{}
	for t := range m.Timed {
		m.Timed[t].Precision = precision
	}
	m.Queued.Precision = precision
	return m
}

// Reset removes all counts and durations and keeps the memory.
func (m *Measures) Reset() {
	m.Tally = Tally{}
	for t := range m.Timed {
		m.Timed[t].Reset()
	}
	m.Queued.Reset()
}

// Arrive counts a request that arrives.
func (t *Tally) Arrive(r *server.Request) {
	t.Arrived++
	if r.Attempt > 1 {
		t.Retries++
	}
}

// Merge adds other measures of the same precision.
func (m *Measures) Merge(other *Measures) {
	m.Tally.Merge(&other.Tally)
	for d := range m.Timed {
		m.Timed[d].Merge(&other.Timed[d])
	}
	m.Queued.Merge(&other.Queued)
}

// Part is the requests of one workload that belong to one FlowSchema and priority level, at one server.
type Part struct {
	Workload, Schema, Level string
	Server                  int
	Timed                   [Timings]Histogram
}

// TimingOf returns the duration that a metric is about, if it is about one.
func TimingOf(metricName string) (Timing, bool) {
	switch metricName {
	case "wait":
		return Wait, true
	case "execution":
		return Execution, true
	case "latency":
		return Latency, true
	case "rejectedWait":
		return RejectedWait, true
	}
	return 0, false
}
