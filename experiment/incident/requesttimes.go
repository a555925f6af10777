package incident

import (
	"net/http"
	"strings"

	"apfsim/sim/trace/requests"
	"apfsim/sim/trace/serverlog"
)

// tooMany is whose rejection a response 429 is.
type tooMany uint8

const (
	notTooMany    tooMany = iota // another response
	byFlowControl                // flow control rejected the request
	byOthers                     // the handler executed and answered 429: a cache that is not ready, an eviction
)

// whose429 finds out who has answered 429. The httplog has the execution time of a request that
// executed, and the FlowSchema of one that reached flow control. Flow control answers with a plain
// text, so that the audit log has no reason for it, whereas handlers answer with a Status object,
// which has one. The limits of a server without flow control (max-in-flight) answer as flow control.
func whose429(r *requests.Request) tooMany {
	switch {
	case r.Status != http.StatusTooManyRequests:
		return notTooMany
	case r.ExecutionNs >= 0 || r.InitNs >= 0:
		return byOthers
	case r.FlowSchema != "":
		return byFlowControl
	case !r.Audit || r.StatusReason != "":
		return byOthers
	}
	return byFlowControl
}

// isWatch reports whether the request is a watch that was accepted, or may have been.
func isWatch(r *requests.Request) bool {
	return r.Verb == "watch" && r.Status < http.StatusBadRequest
}

// startsWithList reports whether a watch asks for the existing objects first, which makes its
// initialization longer.
func startsWithList(r *requests.Request) bool {
	return strings.Contains(r.Query, "sendInitialEvents=true")
}

// executionSource is where the execution time of a request comes from.
type executionSource uint8

const (
	drawn          executionSource = iota // from requests like it, since the log does not have it
	measured                              // the server measured it
	totalLessWait                         // the time until the response, less the wait, which the log has
	totalWithWait                         // the time until the response, which may contain a wait
	untilStarted                          // of a watch: the time until it began to respond
	lifetime                              // of a long-running request that is no watch
	openBefore                            // of a watch that was open at time 0: none
	executionKinds = openBefore + 1
)

// drawReason is why the execution time of a request has to be drawn.
type drawReason uint8

const (
	drawnForRejected drawReason = iota
	drawnForNoEnd
	drawnForWatch
	drawReasons
)

// times is what the log says about the times of a request.
type times struct {
	executionNs int64 // of a watch, of its initialization; Unknown if source is drawn
	source      executionSource
	reason      drawReason // if source is drawn
	waitNs      int64      // in a queue; serverlog.Unknown if the log does not say it
	ended       bool       // the log has the end of the request
}

// timesOf returns the times of a request, of which the time before startNs and, without an end, after
// endNs does not count.
func timesOf(r *requests.Request, startNs, endNs int64) times {
	t := times{executionNs: serverlog.Unknown, waitNs: serverlog.Unknown, ended: r.EndNs >= 0}
	total := r.TotalNs
	if total < 0 && t.ended {
		total = max(0, r.EndNs-r.ArrivalNs)
	}
	a := r.Attributes()
	switch {
	case whose429(r) == byFlowControl:
		t.reason, t.waitNs = drawnForRejected, total
		return t
	case isWatch(r):
		return watchTimes(r, t, startNs)
	case a.LongRunning() && r.Verb != "watch":
		end := endNs
		if t.ended {
			end = r.EndNs
		}
		t.executionNs, t.source = max(0, end-max(startNs, r.ArrivalNs)), lifetime
		return t
	}
	switch {
	case r.WaitNs >= 0:
		t.waitNs = r.WaitNs
	case r.ExecutionNs >= 0 && total >= 0:
		t.waitNs = max(0, total-r.ExecutionNs)
	}
	switch {
	case r.ExecutionNs >= 0:
		t.executionNs, t.source = r.ExecutionNs, measured
	case total < 0:
		t.reason = drawnForNoEnd
	case t.waitNs >= 0:
		t.executionNs, t.source = max(0, total-t.waitNs), totalLessWait
	default:
		t.executionNs, t.source = total, totalWithWait
	}
	return t
}

// watchTimes completes the times of a watch. Its execution is its initialization, never its lifetime.
func watchTimes(r *requests.Request, t times, startNs int64) times {
	if r.WaitNs >= 0 {
		t.waitNs = r.WaitNs
	}
	switch {
	case r.ArrivalNs < startNs:
		t.executionNs, t.source, t.waitNs = 0, openBefore, serverlog.Unknown
	case r.InitNs >= 0:
		t.executionNs, t.source = r.InitNs, measured
	case r.ExecutionNs >= 0: // flow control measures the execution of a watch up to its initialization
		t.executionNs, t.source = r.ExecutionNs, measured
	case r.StartedNs >= 0:
		t.executionNs, t.source = max(0, r.StartedNs-r.ArrivalNs-max(0, t.waitNs)), untilStarted
	default:
		t.reason = drawnForWatch
	}
	return t
}
