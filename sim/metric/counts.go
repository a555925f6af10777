package metric

import (
	"reflect"

	"apfsim/core/queueset"
)

// Counts are numbers of requests. Arrived = Executed + Rejected + Refused + Lost + Waiting + Executing.
//
// A number of requests is declared here and nowhere else: summaries embed the struct, in the order of its fields, and
// what counts requests counts in them. The statistics of the registry name the fields as JSON does.
type Counts struct {
	Arrived          int64 `json:"arrived"`
	Executed         int64 `json:"executed"`
	Rejected         int64 `json:"rejected"`         // see Final
	QueueFull        int64 `json:"queueFull"`        // of the rejected requests
	ConcurrencyLimit int64 `json:"concurrencyLimit"` // of the rejected requests
	TimedOut         int64 `json:"timedOut"`         // of the rejected requests
	Retries          int64 `json:"retries"`          // of the arrived requests: second and later attempts
	Waiting          int64 `json:"waiting"`          // when the run ended, see Final
	Executing        int64 `json:"executing"`        // when the run ended, see Final

	// Requests that have not reached flow control, by what the client saw. They belong to no FlowSchema,
	// priority level or flow.
	Refused           int64 `json:"refused,omitempty"` // see Final
	ConnectionRefused int64 `json:"connectionRefused,omitempty"`
	ConnectionReset   int64 `json:"connectionReset,omitempty"`
	ShuttingDown      int64 `json:"shuttingDown,omitempty"`
	NotReady          int64 `json:"notReady,omitempty"`

	Lost         int64 `json:"lost,omitempty"`         // whose server ended before they did
	LostExecuted int64 `json:"lostExecuted,omitempty"` // of the lost requests: those that were executing
}

// Failures are numbers of requests that were not served, and were neither rejected nor refused nor lost.
type Failures struct {
	Deadline   int64 `json:"deadline"`   // answered 504, by the server's deadline or otherwise, or the client gave up
	Error      int64 `json:"error"`      // answered another 5xx, or 429 by the handler
	Unfinished int64 `json:"unfinished"` // open at the end: queued for 1 s or longer, or executing for 5 s longer than by itself
}

// Total returns how many failed.
func (f *Failures) Total() int64 { return f.Deadline + f.Error + f.Unfinished }

// Counted is what is counted of a group of requests while a run goes on: the counts, without those that Final computes,
// and what summaries have elsewhere or not at all.
type Counted struct {
	Counts
	Failures
	Dispatched    int64
	AnsweredEarly int64 // of the failed requests: those that still execute
}

// RejectedFor returns the number of requests that were rejected for a reason.
func (c *Counts) RejectedFor(why queueset.Rejection) *int64 {
	switch why {
	case queueset.QueueFull:
		return &c.QueueFull
	case queueset.ConcurrencyLimit:
		return &c.ConcurrencyLimit
	case queueset.TimedOut:
		return &c.TimedOut
	}
	panic("metric: no request is rejected for the reason " + why.String())
}

// RefusedFor returns the number of requests that were refused for a reason.
func (c *Counts) RefusedFor(why Refusal) *int64 {
	switch why {
	case ConnectionRefused:
		return &c.ConnectionRefused
	case ConnectionReset:
		return &c.ConnectionReset
	case ShuttingDown:
		return &c.ShuttingDown
	case NotReady:
		return &c.NotReady
	}
	panic("metric: no request is refused for the reason " + why.String())
}

// Final returns the counts with those that follow from the others.
func (c *Counted) Final() Counts {
	f := c.Counts
	f.Rejected = f.QueueFull + f.ConcurrencyLimit + f.TimedOut
	f.Refused = f.ConnectionRefused + f.ConnectionReset + f.ShuttingDown + f.NotReady
	f.Waiting = f.Arrived - c.Dispatched - f.Rejected - f.Refused - (f.Lost - f.LostExecuted)
	f.Executing = c.Dispatched - f.Executed - f.LostExecuted
	return f
}

// NotServed returns the requests that were not served.
func (c *Counted) NotServed() int64 {
	f := c.Final()
	return f.Rejected + f.Refused + f.Lost + c.Failures.Total()
}

// Open returns the requests that were not over when the run ended and that are not Unfinished.
func (c *Counted) Open() int64 {
	f := c.Final()
	return f.Waiting + f.Executing - c.AnsweredEarly - c.Unfinished
}

// Merge adds the numbers of another group of requests, whatever fields there are.
func (c *Counted) Merge(other *Counted) {
	to, from := reflect.ValueOf(c).Elem(), reflect.ValueOf(other).Elem()
	for _, field := range countedFields {
		sum := to.FieldByIndex(field.Index)
		sum.SetInt(sum.Int() + from.FieldByIndex(field.Index).Int())
	}
}

// countedFields are the numbers of Counted.
var countedFields = numbersOf(reflect.TypeFor[Counted]())

// numbersOf returns the fields of a struct that are not structs themselves, those of its structs included.
func numbersOf(t reflect.Type) (all []reflect.StructField) {
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous {
			all = append(all, f)
		}
	}
	return all
}
