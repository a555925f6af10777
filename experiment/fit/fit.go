// Package fit makes a scenario of recorded requests. Where a trace repeats every request, the scenario
// describes them: which kinds of clients there are, how often and when they send what, and how long that
// takes. A number of it can be changed, for example the number of clients.
//
// The requests are read twice. The first pass finds the streams of requests and joins those of like users
// to workloads; the second one collects what the distributions are fitted to. Memory grows with the number
// of streams and of requests in progress, not with the number of requests.
package fit

import (
	"fmt"
	"io"

	"apfsim/document"
	"apfsim/experiment/fit/retries"
	"apfsim/experiment/fit/shape"
	"apfsim/experiment/fit/sharing"
)

// Options say how to fit.
type Options struct {
	// File is what messages call the recorded requests.
	File string
	// Name is the name of the scenario.
	Name string
	// Base is the text of a scenario file whose servers, configuration and resources the fitted scenario
	// takes over; nil for the defaults. BaseFile is its name.
	Base     []byte
	BaseFile string
	// Dir is the folder of the fitted scenario, to which paths in the base are made relative.
	Dir string
	// Capacity says whether the capacity of the server is estimated, from the recorded requests and those of other times.
	Capacity     bool
	CapacityFrom []Log
	// MaxWorkloads limits the number of workloads; 0 stands for 200.
	MaxWorkloads int

	withoutCapacity string // why the capacity is unknown, whatever would be estimated; "" if it is estimated
}

// Fitted is a fitted scenario, and what is known of the requests that it is made of.
type Fitted struct {
	Scenario []byte // the text of the file
	Report   *Report
	Recorded *RecordedStatistics

	fitter *fitter
	open   func() (io.ReadCloser, error)
}

// Report says how the requests were described.
type Report struct {
	Requests   int64      `json:"requests"` // recorded
	LeftOut    int64      `json:"leftOut"`  // of these, those that a scenario cannot have
	Retries    int64      `json:"retries"`  // of these, those that repeat a rejected one
	DurationNs int64      `json:"durationNs"`
	WarmupNs   int64      `json:"warmupNs"`
	Workloads  []Workload `json:"workloads"`
	Capacity   *Capacity  `json:"capacity"` // of the server; null if it was not estimated
	Notes      []string   `json:"notes"`    // what the scenario does not express, and what was assumed
}

// Workload is one workload of the fitted scenario.
type Workload struct {
	Name          string  `json:"name"`
	FlowSchema    string  `json:"flowSchema"`    // recorded, of the first kind; "" if unknown
	PriorityLevel string  `json:"priorityLevel"` // recorded, of the first kind; "" if unknown
	Clients       int     `json:"clients"`
	Least         int64   `json:"leastRequests"` // first attempts of the client with the fewest
	Most          int64   `json:"mostRequests"`  // first attempts of the client with the most
	First         int64   `json:"firstAttempts"`
	Retries       int64   `json:"retries"`
	Rejected      int64   `json:"rejected"`
	Retried       float64 `json:"retriedShare"` // of the rejected attempts

	Arrivals   string   `json:"arrivals"`   // the process
	Dispersion *float64 `json:"dispersion"` // squared coefficient of variation of the times between a client's requests; null if unknown
	Counts     float64  `json:"countDispersion"`
	Execution  string   `json:"execution"` // the distribution; of several kinds, their number
	Distance   float64  `json:"executionDistance"`
	Kinds      []Kind   `json:"kinds"`     // of requests: one, or several that clients send one after the other
	NotFitted  []string `json:"notFitted"` // what no process expresses, so that the requests are replayed: Bursts
	Notes      []string `json:"notes"`
}

// Bursts is what is not fitted if the counts of arrivals vary otherwise than those of the fitted process.
const Bursts = "bursts"

// Kind is one of the kinds of requests of a workload.
type Kind struct {
	Request       string  `json:"request"`       // verb and resource
	FlowSchema    string  `json:"flowSchema"`    // recorded; "" if unknown
	PriorityLevel string  `json:"priorityLevel"` // recorded; "" if unknown
	First         int64   `json:"firstAttempts"`
	Execution     string  `json:"execution"`
	Distance      float64 `json:"executionDistance"`
	Delay         string  `json:"delay"` // of the execution, what does not depend on how busy the server is; "" if it is nothing
}

// defaultWorkloads is the default of Options.MaxWorkloads.
const defaultWorkloads = 200

// Fit fits a scenario to recorded requests: a request log, or a trace. Each call of open returns them from
// the beginning. The error is a document.Errors if lines are wrong.
func Fit(open func() (io.ReadCloser, error), o Options) (*Fitted, error) {
	if o.MaxWorkloads <= 0 {
		o.MaxWorkloads = defaultWorkloads
	}
	base, err := ReadBase(o.Base, o.BaseFile, o.Dir)
	if err != nil {
		return nil, err
	}
	f := &fitter{options: o, base: base, report: &Report{Notes: []string{}}}
	if err := EachEntry(open, o.File, f.learn); err != nil {
		return nil, err
	}
	switch fail := func(message string) (*Fitted, error) {
		return nil, document.Errors{{Position: document.Position{File: o.File}, Message: message}}
	}; {
	case f.report.Requests == 0:
		return fail("has no request; want at least one")
	case len(f.inOrder) == 0:
		return fail("a scenario can have none of the requests; the first cannot be expressed because of " + f.whyLeftOut)
	case f.streamsLeftOut > 0:
		f.note("%d requests of %d kinds are left out, because a scenario cannot have them; the problem of the first kind is %s", f.report.LeftOut, f.streamsLeftOut, f.whyLeftOut)
	}
	f.setTimes()
	f.group()
	f.learnBackoffs()
	if err := f.estimateCapacity(); err != nil {
		return nil, err
	}
	if err := EachEntry(open, o.File, f.collect); err != nil {
		return nil, err
	}
	f.closeMeters()
	text, err := f.scenario()
	if err != nil {
		return nil, err
	}
	return &Fitted{Scenario: text, Report: f.report, Recorded: &f.recorded, fitter: f, open: open}, nil
}

// WithoutCapacity fits the scenario again, with a capacity that is unknown for a reason: its executions are those of the log.
func (f *Fitted) WithoutCapacity(why string) (*Fitted, error) {
	o := f.fitter.options
	o.withoutCapacity = why
	return Fit(f.open, o)
}

// fitter is a fit in progress.
type fitter struct {
	options Options
	base    *Base
	report  *Report

	streams        map[string]*stream
	inOrder        []*stream       // of first appearance
	retries        retries.Matcher // of the first pass, then of the second
	followers      retries.Followers
	delays         map[string]*retries.Delays // by what is requested
	lastNs         int64                      // arrival of the last request
	finishNs       int64                      // latest end of an execution
	streamsLeftOut int
	whyLeftOut     string // the first of them

	real      bool // whether a line is not of a simulated server
	decided   bool // whether any line has an outcome
	workloads []*workload
	items     []*item // of the scenario, in the order of the report
	recorded  RecordedStatistics
	key       []byte

	executed executions
	others   workload     // of the requests that are left out
	law      *sharing.Law // of each server; nil if the capacity is unknown
	delayNs  func(w *workload, tookNs int64) int64
	meters   []*sharing.Meter // of the demands in the second pass, by server
}

// setTimes sets the duration of the scenario. It is the duration of the base unless that is too short or more than
// twice as long as the recorded requests; then it is slightly longer than the last arrival, so that the fitted rates
// are not too high.
func (f *fitter) setTimes() {
	gap := f.lastNs / f.report.Requests
	ownNs := max(f.lastNs+gap+1, f.finishNs)
	f.report.DurationNs = (ownNs/1e6 + 1) * 1e6
	switch ends := f.base.DurationNs; {
	case ends == 0:
	case ends > f.lastNs && ends <= 2*ownNs:
		f.report.DurationNs, f.report.WarmupNs = ends, f.base.WarmupNs
	default:
		f.note("the scenario %s lasts %s, and the requests %s; the fitted scenario lasts as long as these and has no warm-up",
			f.options.BaseFile, shape.Duration(float64(ends)), shape.Duration(float64(ownNs)))
	}
}

// note adds a sentence to the report.
func (f *fitter) note(format string, args ...any) {
	f.report.Notes = append(f.report.Notes, fmt.Sprintf(format, args...))
}
