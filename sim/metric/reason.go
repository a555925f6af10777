package metric

import (
	"slices"
	"strings"

	"apfsim/core/queueset"
)

// TimedOutReason is the value of the tag reason for requests that timed out in the queue.
var TimedOutReason = queueset.TimedOut.String()

// Refusal is why a request did not reach flow control. Its names are the reasons of the metric refused.
type Refusal uint8

// The refusals.
const (
	NotRefused        Refusal = iota
	ConnectionRefused         // the server does not listen
	ConnectionReset           // the connection broke before the server had answered
	ShuttingDown              // a stopping server has answered 429 or 503
	NotReady                  // a starting server has answered 429 or 503

	Refusals // how many there are, NotRefused included
)

var refusalNames = [Refusals]string{"", "connection-refused", "connection-reset", "shutting-down", "not-ready"}

// String returns the refusal as the request log and the tag reason write it.
func (r Refusal) String() string { return refusalNames[r] }

func refusals() (all []Reason) {
	for _, name := range refusalNames[1:] { // 0 is no refusal
		all = append(all, Reason{Name: name})
	}
	return all
}

func rejections() (all []Reason) {
	for r := queueset.Rejection(1); r < queueset.Rejections; r++ { // 0 is no rejection
		if r != queueset.Cancelled { // counts as TimedOut, see server.Request.AtDeadline
			all = append(all, Reason{Name: r.String()})
		}
	}
	return all
}

// reasonNames returns the values of the tag reason of the metric.
func (m *Metric) reasonNames() (names []string) {
	for _, r := range m.Reasons {
		names = append(names, r.Name)
	}
	return names
}

// ReasonIndex returns the index of a reason of the metric, or -1 for the event without a reason. Another reason panics.
func (m *Metric) ReasonIndex(name string) int {
	if name == "" {
		return -1
	}
	i := slices.IndexFunc(m.Reasons, func(r Reason) bool { return r.Name == name })
	if i < 0 {
		panic("metric: " + m.Name + " has no reason " + name)
	}
	return i
}

// ReasonField returns the name of the field that has the number of those with a reason: queueFull for queue-full.
func ReasonField(name string) string {
	parts := strings.Split(name, "-")
	for i := range parts[1:] {
		parts[i+1] = strings.ToUpper(parts[i+1][:1]) + parts[i+1][1:]
	}
	return strings.Join(parts, "")
}
