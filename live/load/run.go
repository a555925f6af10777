package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"

	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// Options say how the requests of a scenario are sent.
type Options struct {
	Client *http.Client // authenticates as a user who may impersonate
	Server *url.URL
	Calls  Calls
	Most   int64 // requests that may be sent

	// Drain is how long answers are awaited after the end.
	Drain time.Duration

	Begun func(time.Time) // called when the scenario begins; may be nil
	Ended func()          // called when nothing more is sent, before answers are awaited; may be nil
}

// Sent is a request that was sent and what became of it.
type Sent struct {
	*server.Template
	Number  int64 // from 1, in the order of sending
	ID      int64 // the Number of the first attempt, or that of a recorded request
	Attempt int
	Planned time.Duration // since the start: when the client wanted to send it
	At      time.Duration // since the start: when it was sent
	Answer
	Answered bool // whether the Answer is there; it may still be an error

	request *server.Request
}

// Result is what was sent, and why it ended.
type Result struct {
	Requests []*Sent       // in the order of sending
	Length   time.Duration // the duration of the scenario, or the time until the run was stopped
	Stopped  error         // why the run ended before the duration; nil if it did not
}

// Errors of Result.Stopped.
var (
	ErrMost        = errors.New("the bound of requests is reached")
	ErrInterrupted = errors.New("interrupted")
	ErrForbidden   = errors.New("the server does not let the user impersonate")
	ErrUnreachable = errors.New("the server does not answer")
)

// mostFailures is how many requests without an answer, one after another, end a run.
const mostFailures = 50

// Run sends the requests of a scenario in real time, until its duration has passed, the bound is reached or
// the context is cancelled. Then watches are closed, and other answers are awaited for a while. The result is
// complete also if there is an error, which is that of a trace.
func Run(ctx context.Context, sc *scenario.Scenario, o Options) (*Result, error) {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	l := &loop{
		Options: o, scenario: sc, runState: server.NewRunState(server.Options{NeedsDetails: sim.ClientsNeedDetails(&sc.Spec)}), sending: sending,
		answers: make(chan delivered, 256), endWatches: make(chan struct{}), calls: map[*server.Template]*Call{},
		result: &Result{Length: time.Duration(sc.Spec.Duration)},
	}
	l.clients = workload.NewClients(sc.Clients(), l.runState)
	l.runState.Events.Schedule(int64(sc.Spec.Duration), uint8(server.End), server.Event{Kind: server.End})
	l.clients.Begin(ctx, l, nil, nil)
	l.start = time.Now()
	if o.Begun != nil {
		o.Begun(l.start)
	}
	l.run(ctx)
	if o.Ended != nil {
		o.Ended()
	}
	close(l.endWatches)
	l.drain(ctx)
	cancel() // what is still not answered
	l.goroutines.Wait()
	return l.result, l.clients.Close()
}

// loop is the event loop of a run: that of package sim, with a clock that is real and a server that is.
// Clients and events belong to the goroutine of run and drain. The goroutines that send only read a Call.
type loop struct {
	Options
	scenario *scenario.Scenario
	runState *server.RunState
	clients  *workload.Clients
	sending  context.Context
	start    time.Time

	calls      map[*server.Template]*Call
	answers    chan delivered
	endWatches chan struct{}
	goroutines sync.WaitGroup
	inFlight   int
	failures   int // without an answer, since the last answer
	result     *Result
}

// run lets the events happen at their times, and clients respond to answers when they come.
func (l *loop) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for l.result.Stopped == nil {
		nextNs, _ := l.runState.Events.NextNs() // there is one: the end
		wait := time.Duration(nextNs) - time.Since(l.start)
		if wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case d := <-l.answers:
				l.answered(d)
				continue
			case <-ctx.Done():
				l.stop(ErrInterrupted)
				continue
			}
		}
		select { // the answers that have come meanwhile were before the event, or at the same time
		case d := <-l.answers:
			l.answered(d)
			continue
		default:
		}
		if ctx.Err() != nil {
			l.stop(ErrInterrupted)
			continue
		}
		e, _ := l.runState.Events.Next()
		switch nowNs := l.runState.Events.NowNs(); e.Kind {
		case server.End:
			return
		case server.ClientActs:
			l.clients.Wake(nowNs, e)
		case server.Resend:
			l.clients.Resend(nowNs, e.Request)
		case server.Arrive:
			l.clients.Send(nowNs, e.Request)
		default:
			panic(fmt.Sprintf("load: an event of kind %d, which is none of clients", e.Kind))
		}
		if err := l.clients.Err(); err != nil {
			l.stop(err)
		}
	}
}

// stop ends the run before its time. The first reason counts.
func (l *loop) stop(why error) {
	if l.result.Stopped == nil {
		l.result.Stopped, l.result.Length = why, min(l.result.Length, time.Since(l.start))
	}
}

// Arrive implements client.Server: it sends a request.
func (l *loop) Arrive(nowNs int64, r *server.Request) {
	if l.result.Stopped != nil {
		return
	}
	if int64(len(l.result.Requests)) == l.Most {
		l.stop(ErrMost)
		return
	}
	call, err := l.call(r.Template)
	if err != nil {
		l.stop(fmt.Errorf("workload %s: %w", l.scenario.Spec.Workload[r.Workload].Name, err))
		return
	}
	s := &Sent{Template: r.Template, Number: int64(len(l.result.Requests)) + 1, ID: r.ID, Attempt: int(r.Attempt), Planned: time.Duration(nowNs), request: r}
	if s.ID == server.Unnumbered {
		s.ID = s.Number
		r.ID = s.Number
	}
	l.result.Requests = append(l.result.Requests, s)
	l.inFlight++
	watchFor := time.Duration(r.WatchNs)
	s.At = time.Since(l.start)
	l.goroutines.Go(func() {
		answer := Send(l.sending, l.Client, l.Server, call, watchFor, l.endWatches)
		select {
		case l.answers <- delivered{s, answer}:
		case <-l.sending.Done(): // nobody listens any more
		}
	})
}

// callsKept bounds the memory for the requests of a long trace.
const callsKept = 1 << 16

func (l *loop) call(t *server.Template) (*Call, error) {
	if c := l.calls[t]; c != nil {
		return c, nil
	}
	c, err := l.Calls.Of(&t.Attributes, t.Query)
	if err != nil {
		return nil, err
	}
	if len(l.calls) == callsKept {
		clear(l.calls)
	}
	l.calls[t] = c
	return c, nil
}

// delivered is an answer on its way to the loop.
type delivered struct {
	to     *Sent
	answer Answer
}

// note notes an answer, and returns the request as its client knows it.
func (l *loop) note(d delivered) *server.Request {
	d.to.Answer, d.to.Answered = d.answer, true
	l.inFlight--
	r := d.to.request
	d.to.request = nil
	return r
}

// answered lets the client respond to an answer.
func (l *loop) answered(d delivered) {
	r := l.note(d)
	s := d.to
	switch {
	case s.Status > 0:
		l.failures = 0
	case l.sending.Err() == nil:
		if l.failures++; l.failures == mostFailures {
			l.stop(fmt.Errorf("%w: %d requests one after another had no answer, the last one: %v", ErrUnreachable, mostFailures, s.Err))
		}
	}
	if s.Refused != "" {
		l.stop(fmt.Errorf("%w: %s", ErrForbidden, s.Refused))
	}
	// Events up to now may have happened while the answer was under way to this goroutine.
	nowNs := max(l.runState.Events.NowNs(), int64(s.At+s.Latency+s.Open))
	l.clients.Responded(nowNs, r, response(&s.Answer))
}

// response returns an answer as clients see it. What a client has done wrong, such as a name that exists
// already, is an answer like any other to them.
func response(a *Answer) server.Response {
	switch {
	case errors.Is(a.Err, syscall.ECONNREFUSED):
		return server.Response{Failure: server.FailedToConnect}
	case a.Status == 0:
		return server.Response{Failure: server.BrokenConnection}
	case a.Status == http.StatusTooManyRequests, a.Status >= http.StatusInternalServerError:
		return server.Response{Status: a.Status, RetryAfterSeconds: int32(min(a.RetryAfterSeconds, 1<<30))}
	}
	return server.Response{Status: server.StatusOK}
}

// drain awaits the answers that are still missing.
func (l *loop) drain(ctx context.Context) {
	if errors.Is(l.result.Stopped, ErrForbidden) || errors.Is(l.result.Stopped, ErrUnreachable) {
		return
	}
	timer := time.NewTimer(l.Drain)
	defer timer.Stop()
	interrupted := ctx.Done()
	if ctx.Err() != nil {
		interrupted = nil // it has ended the run; a second interrupt ends the program
		timer.Reset(min(l.Drain, time.Second))
	}
	for l.inFlight > 0 {
		select {
		case d := <-l.answers:
			l.note(d)
		case <-timer.C:
			return
		case <-interrupted:
			return
		}
	}
}
