package engine

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/util/flowcontrol"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	workestimate "k8s.io/apiserver/pkg/util/flowcontrol/request"

	"apfsim/core/estimate"
	"apfsim/core/filter"
	"apfsim/core/queueset"
)

// call is a request in upstream's filters. It is the context of the request, its answer, and where its goroutine stands
// still. The goroutine and the simulation take turns.
type call struct {
	context.Context // its values
	engine          *engine
	r               *filter.Request
	stage           stage
	proceed         chan struct{}

	// What upstream has found out.
	level, schema, distinguisher string
	hash                         uint64
	width                        *workestimate.WorkEstimate
	waitLimitNs                  int64
	request                      fq.Request
	rejection                    queueset.Rejection
	header                       http.Header

	left         bool // its context has ended while it waited
	release      func(time.Time)
	additionalNs int64

	mu    sync.Mutex
	done  chan struct{}
	err   error
	after []*func()
}

// stage is how far a call has come.
type stage uint8

const (
	begun    stage = iota
	received       // it is at its queue set
	waits          // or has been rejected
	executes
	watches
	over
)

// continues lets the goroutine go on until it stands still again, as all others do.
func (c *call) continues() {
	c.proceed <- struct{}{}
	synctest.Wait()
}

// execute is the handler behind the filters.
func (e *engine) execute(_ http.ResponseWriter, r *http.Request) {
	c := r.Context().Value(callKey{}).(*call)
	c.stage = executes
	<-c.proceed
	if !c.r.IsWatch() || e.closed {
		return
	}
	flowcontrol.WatchInitialized(r.Context())
	c.stage = watches
	<-c.proceed
}

// estimate returns upstream's estimate.
func (c *call) estimate() estimate.Work {
	return estimate.Work{InitialSeats: int(c.width.InitialSeats), FinalSeats: int(c.width.FinalSeats), AdditionalLatencyNs: int64(c.width.AdditionalLatency)}
}

// reshaped returns what the request takes after its dispatch.
func (c *call) reshaped() estimate.Work {
	w := field(reflect.ValueOf(c.request), "workEstimate")
	return estimate.Work{InitialSeats: int(field(w, "InitialSeats").Uint()), FinalSeats: int(field(w, "FinalSeats").Uint()), AdditionalLatencyNs: field(w, "AdditionalLatency").Int()}
}

// queue returns the index of the request's queue, and how many there are.
func (c *call) queue() (index, of int) {
	r := reflect.ValueOf(c.request)
	return int(field(field(r, "queue"), "index").Int()), field(field(r, "qs"), "queues").Len()
}

// field returns a field of a structure of upstream's, which no method returns.
func field(v reflect.Value, name string) reflect.Value {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	f := v.FieldByName(name)
	if !f.IsValid() {
		panic(fmt.Sprintf("engine: %v has no field %s any more", v.Type(), name))
	}
	return f
}

func (c *call) retryAfterSeconds() int {
	seconds, err := strconv.Atoi(c.header.Get("Retry-After"))
	if err != nil {
		panic("engine: an answer to a rejected request without Retry-After")
	}
	return seconds
}

// Header implements http.ResponseWriter, as the two methods below.
func (c *call) Header() http.Header { return c.header }

func (c *call) Write(text []byte) (int, error) { return len(text), nil }

func (c *call) WriteHeader(int) {}

type callKey struct{}

// Value implements context.Context, as the methods below.
func (c *call) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

func (c *call) Deadline() (time.Time, bool) { return time.Time{}, false }

func (c *call) Done() <-chan struct{} { return c.done }

func (c *call) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// AfterFunc calls f in a goroutine of its own when the context has ended. The package context calls it, so that it needs
// no goroutine to wait for that.
func (c *call) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	c.after = append(c.after, &f)
	mine := &f
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, f := range c.after {
			if f == mine {
				c.after = append(c.after[:i], c.after[i+1:]...)
				return true
			}
		}
		return false
	}
}

// end ends the context.
func (c *call) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = why
	close(c.done)
	for _, f := range c.after {
		go (*f)()
	}
	c.after = nil
}

// clock is the time of the simulation.
type clock struct{ *engine }

func (c clock) Now() time.Time { return c.at(c.nowNs) }

func (c clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c clock) Sleep(time.Duration) { panic("engine: upstream sleeps") }

// EventAfterDuration is called at the end of an execution, for the additional latency.
func (c clock) EventAfterDuration(f eventclock.EventFunc, d time.Duration) {
	if !c.closed {
		c.finished.release, c.finished.additionalNs = f, int64(d)
	}
}

func (c clock) EventAfterTime(f eventclock.EventFunc, t time.Time) {
	c.EventAfterDuration(f, t.Sub(c.Now()))
}
