package collect

import (
	"apfsim/core/queueset"
	"apfsim/sim/metric"
	"apfsim/sim/server"
)

// counting holds the counters of one request: those of its group and of its flow, of a window, or of an aggregated
// server. All numbers of requests that sim/metric declares are counted here.
type counting struct {
	in   *metric.Counted
	flow *flow // nil without one
}

// counter identifies a number that is 0 for most flows, see flow.countRare.
type counter struct {
	of func(*metric.Counted) *int64
}

var (
	retries       = &counter{func(c *metric.Counted) *int64 { return &c.Retries }}
	lost          = &counter{func(c *metric.Counted) *int64 { return &c.Lost }}
	lostExecuted  = &counter{func(c *metric.Counted) *int64 { return &c.LostExecuted }}
	deadline      = &counter{func(c *metric.Counted) *int64 { return &c.Deadline }}
	otherError    = &counter{func(c *metric.Counted) *int64 { return &c.Error }}
	unfinished    = &counter{func(c *metric.Counted) *int64 { return &c.Unfinished }}
	answeredEarly = &counter{func(c *metric.Counted) *int64 { return &c.AnsweredEarly }}
)

// rejections has the counters of the reasons of rejections.
var rejections = func() (all [queueset.Rejections]*counter) {
	for why := range all {
		all[why] = &counter{func(c *metric.Counted) *int64 { return c.RejectedFor(queueset.Rejection(why)) }}
	}
	return all
}()

// refusals has the counters of the reasons of refusals.
var refusals = func() (all [metric.Refusals]*counter) {
	for why := range all {
		all[why] = &counter{func(c *metric.Counted) *int64 { return c.RefusedFor(metric.Refusal(why)) }}
	}
	return all
}()

// count adds to what is 0 for most flows.
func (c counting) count(k *counter, n int64) {
	*k.of(c.in) += n
	if c.flow != nil {
		c.flow.countRare(k, n)
	}
}

// arrive counts a request that arrives, again after another attempt or not.
func (c counting) arrive(again bool) {
	c.in.Arrived++
	if c.flow != nil {
		c.flow.arrived++
	}
	if again {
		c.count(retries, 1)
	}
}

// refuse counts a request that did not reach flow control. It counts as arrived as well.
func (c counting) refuse(r *server.Request) {
	c.arrive(r.Attempt > 1)
	c.count(refusals[r.Refusal], 1)
}

// dispatch counts a dispatched request.
func (c counting) dispatch() {
	c.in.Dispatched++
	if c.flow != nil {
		c.flow.dispatched++
	}
}

// reject counts a rejected request.
func (c counting) reject(why queueset.Rejection) { c.count(rejections[why], 1) }

// execute counts an executed request. A request that was answered earlier is no longer in execution.
func (c counting) execute(answered bool) {
	c.in.Executed++
	if c.flow != nil {
		c.flow.executed++
	}
	if answered {
		c.count(answeredEarly, -1)
	}
}

// giveUp counts a request whose server has ended, if it is lost.
func (c counting) giveUp(r *server.Request) {
	if !r.Lost {
		return
	}
	c.count(lost, 1)
	if r.DispatchNs >= 0 {
		c.count(lostExecuted, 1)
	}
}

// fail counts an answered request if its answer is a failure.
func (c counting) fail(r *server.Request, how *counter) {
	c.count(how, 1)
	if r.FinishNs < 0 {
		c.count(answeredEarly, 1)
	}
}

// withdraw undoes fail for a request that was answered while it executed and then lost, because it counts as lost
// instead.
func (c counting) withdraw(how *counter) {
	c.count(how, -1)
	c.count(answeredEarly, -1)
}

// failureOf returns the counter of the way in which an answered request failed. It is nil if the request succeeded, or
// if it counts as rejected, refused or lost instead.
func failureOf(r *server.Request) *counter {
	switch {
	case r.Status < server.StatusTooManyRequests && r.Status != 0, r.Opened:
	case r.Rejection != queueset.NotRejected, r.Refusal != metric.NotRefused, r.Lost:
	case r.Status == 0 || r.Status == server.StatusGatewayTimeout:
		return deadline
	case r.Status == server.StatusTooManyRequests || r.Status >= server.StatusInternalServerError:
		return otherError
	}
	return nil
}

// isOpen says whether a request is in flight and its client waits for the answer.
func isOpen(r *server.Request) bool {
	return !r.Answered() && !r.Opened && !r.Lost && r.Rejection == queueset.NotRejected && r.Refusal == metric.NotRefused
}
