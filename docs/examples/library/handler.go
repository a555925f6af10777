// Package library shows what another module can do with apfsim: put the flow control of kube-apiserver before an HTTP handler,
// and test on a scenario what a changed rule does. Its go.mod says in which folder apfsim is.
package library

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"apfsim/core/classify"
	"apfsim/core/filter"
	"apfsim/core/queueset"
	"apfsim/core/request"
)

// Limited is a handler with flow control before it. The filter has no lock, no clock and no timer: they are here. The owner
// calls Adjust every flowcontrol.AdjustmentPeriodNs, so that levels lend seats to each other.
type Limited struct {
	next   http.Handler
	mu     sync.Mutex
	filter *filter.Filter
	began  time.Time // the filter's time 0
}

// call is a request as the filter knows it, and a channel that is closed when it is dispatched.
type call struct {
	filter.Request
	dispatched chan struct{}
}

// NewLimited puts flow control before a handler. The rules must not have LazyWaitLimit, under which queues time requests out.
func NewLimited(next http.Handler, s filter.Settings) *Limited {
	l := &Limited{next: next, began: time.Now()}
	l.filter = filter.New(0, s, l)
	return l
}

// do calls f with the time, one call after another.
func (l *Limited) do(f func(nowNs int64)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(time.Since(l.began).Nanoseconds())
}

// Adjust adjusts the limits of the levels.
func (l *Limited) Adjust() { l.do(l.filter.Adjust) }

// Dispatched implements filter.Host: the handler may begin.
func (l *Limited) Dispatched(r *filter.Request) { close(r.Owner().(*call).dispatched) }

// HeldBack implements filter.Host.
func (l *Limited) HeldBack(*filter.Request) {}

// TimedOut implements filter.Host. It is not called without LazyWaitLimit.
func (l *Limited) TimedOut(int64, *filter.Request) {}

// ServeHTTP serves a request of the user of its basic authentication when flow control dispatches it.
func (l *Limited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, kind := &call{dispatched: make(chan struct{})}, filter.Kind{}
	c.Bind(c)
	user, _, _ := r.BasicAuth()
	target, err := request.ReadURL(r.Method, r.URL.Path, r.URL.RawQuery)
	attributes := classify.For(user, []string{"system:authenticated"}, target)
	var rejection queueset.Rejection
	var retryAfterSeconds int
	l.do(func(nowNs int64) {
		if kind, err = l.filter.NewKind(&attributes, r.URL.RawQuery); err == nil {
			l.filter.Receive(&c.Request, &kind)
			rejection, retryAfterSeconds = l.filter.Arrive(nowNs, &c.Request)
		}
	})
	if err == nil && rejection == queueset.NotRejected {
		select {
		case <-c.dispatched:
		case <-r.Context().Done():
			l.do(func(nowNs int64) { rejection, retryAfterSeconds = l.filter.Cancel(nowNs, &c.Request) })
		case <-time.After(time.Duration(kind.WaitLimitNs())):
			l.do(func(nowNs int64) {
				if c.Waiting() { // and was not dispatched just now
					rejection, retryAfterSeconds = l.filter.TimeOut(nowNs, &c.Request)
				}
			})
		}
	}
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case rejection != queueset.NotRejected:
		w.Header().Set("Retry-After", strconv.Itoa(retryAfterSeconds))
		http.Error(w, rejection.String(), http.StatusTooManyRequests)
		return
	}
	defer l.do(func(nowNs int64) {
		if additionalNs := l.filter.Finish(nowNs, &c.Request); additionalNs > 0 {
			time.AfterFunc(time.Duration(additionalNs), func() { l.do(func(nowNs int64) { l.filter.Release(nowNs, &c.Request) }) })
		}
	})
	l.next.ServeHTTP(w, r)
}
