// Package perfetto records the events of a run in the Trace Event Format, which Perfetto shows.
package perfetto

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"apfsim/reports/observe"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Recorder writes what happens in a window of a run as a trace that Perfetto and Chrome show:
// JSON in the Trace Event Format. Every priority level is a process. Its threads are its
// seats, on which requests show as long as they hold them: a request takes the free seats
// with the lowest numbers. Waits are asynchronous events by queue, rejections are instants,
// and counters follow seats in use, requests waiting and the current limit. It implements
// server.Observer. Close must be called at the end.
//
// Memory grows with the requests that wait or execute, and with nothing else.
type Recorder struct {
	scenario     *scenario.Scenario
	of           observe.Levels
	fromNs, toNs int64
	phase        eventsPhase

	out *bufio.Writer
	err error
	has bool // whether an event is written

	inside map[int64]*visit // by the request's number
	free   []*visit
	levels map[string]*stand
}

type eventsPhase uint8

const (
	beforeWindow eventsPhase = iota
	inWindow
	afterWindow
)

// visit is a request that waits or holds seats.
type visit struct {
	*server.Template
	flow                         *server.Flow
	number, id                   int64
	arrivalNs, dispatchNs, endNs int64 // -1 until then
	queue, attempt, seats        int
	waiting                      bool
	held                         []int // its seats, from 0
}

// stand is one priority level in the trace; the one without a name stands for the requests
// that flow control does not see.
type stand struct {
	process int
	taken   []bool // seats
	inUse   int
	waiting int
	limit   int
	shown   map[string]bool // queues and seats that have a name
}

// traceEvent is an event of the Trace Event Format.
type traceEvent struct {
	Name     string          `json:"name"`
	Category string          `json:"cat,omitempty"`
	Phase    string          `json:"ph"`
	At       microseconds    `json:"ts"`
	Lasts    *microseconds   `json:"dur,omitempty"`
	Process  int             `json:"pid"`
	Thread   int             `json:"tid"`
	ID       string          `json:"id,omitempty"`
	Scope    string          `json:"s,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"`
}

// microseconds writes nanoseconds as the format wants them.
type microseconds int64

// MarshalJSON implements json.Marshaler.
func (t microseconds) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%03d", int64(t)/1000, int64(t)%1000), nil
}

// requestArgs is what the trace says of a request.
type requestArgs struct {
	ID        int64  `json:"id"`
	User      string `json:"user"`
	Verb      string `json:"verb"`
	Resource  string `json:"resource,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Path      string `json:"path,omitempty"`
	Attempt   int    `json:"attempt"`
	Flow      string `json:"flow,omitempty"`
	Queue     int    `json:"queue"`
	Seats     int    `json:"seats"`
	ArrivalNs int64  `json:"arrivalNs"`
	WaitNs    *int64 `json:"waitNs,omitempty"`
}

// New returns the events of a run of sc from fromNs to toNs, which are written to w.
func New(w *bufio.Writer, sc *scenario.Scenario, of observe.Levels, fromNs, toNs int64) *Recorder {
	e := &Recorder{scenario: sc, of: of, fromNs: fromNs, toNs: toNs, out: w,
		inside: map[int64]*visit{}, levels: map[string]*stand{}}
	e.text(`{"displayTimeUnit":"ms","traceEvents":[`)
	return e
}

func (e *Recorder) text(s string) {
	if e.err == nil {
		_, e.err = io.WriteString(e.out, s)
	}
}

func (e *Recorder) write(event *traceEvent, args any) {
	if args != nil {
		event.Args = marshal(args)
	}
	if e.has {
		e.text(",")
	}
	e.has = true
	e.text("\n")
	e.text(string(marshal(event)))
}

func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("reports: a trace event that is no JSON: " + err.Error())
	}
	return text
}

// Arrived implements server.Observer.
func (e *Recorder) Arrived(int64, *server.Request) {}

// Queued implements server.Observer.
func (e *Recorder) Queued(nowNs int64, r *server.Request) {
	if e.phase == afterWindow {
		return
	}
	v := e.enter(r)
	v.queue, v.waiting = r.Queue(), true
	s := e.standOf(levelName(r.Flow))
	s.waiting++
	if e.phase == inWindow {
		e.wait(nowNs, s, v, "b")
		e.countWaiting(nowNs, s)
	}
}

// Dispatched implements server.Observer.
func (e *Recorder) Dispatched(nowNs int64, r *server.Request) {
	if e.phase == afterWindow {
		return
	}
	s := e.standOf(levelName(r.Flow))
	v := e.decided(nowNs, s, r)
	v.dispatchNs, v.seats = nowNs, observe.SeatsOf(r)
	s.inUse += v.seats
	if e.phase == inWindow {
		s.seat(v)
		e.countSeats(nowNs, s)
	}
}

// decided returns the visit of a request that is dispatched or rejected: a new one, or the
// one that has waited until now.
func (e *Recorder) decided(nowNs int64, s *stand, r *server.Request) *visit {
	v := e.inside[r.Number]
	if v == nil {
		v = e.enter(r)
		v.queue = observe.QueueOf(r)
		return v
	}
	v.waiting = false
	s.waiting--
	if e.phase == inWindow {
		e.wait(nowNs, s, v, "e")
		e.countWaiting(nowNs, s)
	}
	return v
}

// Rejected implements server.Observer.
func (e *Recorder) Rejected(nowNs int64, r *server.Request) {
	if e.phase == afterWindow {
		return
	}
	s := e.standOf(levelName(r.Flow))
	v := e.decided(nowNs, s, r)
	if e.phase == inWindow {
		e.write(&traceEvent{Name: "rejected: " + r.Rejection.String(), Category: "rejection", Phase: "i", At: microseconds(nowNs),
			Process: s.process, Scope: "p"}, e.args(v))
	}
	e.leave(v)
}

// Executed implements server.Observer.
func (e *Recorder) Executed(nowNs int64, r *server.Request) {
	if v := e.inside[r.Number]; v != nil {
		v.endNs = nowNs
		if e.phase == inWindow {
			e.executed(nowNs, v)
		}
	}
}

// Released implements server.Observer.
func (e *Recorder) Released(nowNs int64, r *server.Request) {
	v := e.inside[r.Number]
	if v == nil {
		return
	}
	s := e.standOf(levelName(v.flow))
	s.inUse -= v.seats
	if e.phase == inWindow {
		e.lingered(nowNs, v)
		s.vacate(v)
		e.countSeats(nowNs, s)
	}
	e.leave(v)
}

// Adjusted implements server.Observer.
func (e *Recorder) Adjusted(nowNs int64) {
	if e.phase == inWindow {
		e.countLimits(nowNs)
	}
}

// Tick implements server.Observer.
func (e *Recorder) Tick(nowNs int64) (nextNs int64) {
	switch {
	case nowNs < e.fromNs:
		return e.fromNs
	case nowNs == e.fromNs:
		e.begin(nowNs)
	case nowNs == e.toNs:
		e.end(nowNs)
	}
	return e.toNs
}

// begin shows what there is when the window begins.
func (e *Recorder) begin(nowNs int64) {
	e.phase = inWindow
	e.eachLevel(func(l observe.LevelState) { e.standOf(l.Name()) })
	for _, name := range slices.Sorted(maps.Keys(e.levels)) {
		s := e.levels[name]
		e.name(s, name)
		e.countSeats(nowNs, s)
		e.countWaiting(nowNs, s)
	}
	for _, v := range e.visits() {
		s := e.standOf(levelName(v.flow))
		if v.waiting {
			e.wait(nowNs, s, v, "b")
		} else {
			s.seat(v)
		}
	}
	e.countLimits(nowNs)
}

// end closes what is open when the window ends.
func (e *Recorder) end(nowNs int64) {
	for _, v := range e.visits() {
		switch {
		case v.waiting:
			e.wait(nowNs, e.standOf(levelName(v.flow)), v, "e")
		case v.endNs < 0:
			e.executed(nowNs, v)
		default:
			e.lingered(nowNs, v)
		}
	}
	e.phase = afterWindow
	e.inside, e.free = nil, nil
}

// visits returns the requests inside, in the order of arrival.
func (e *Recorder) visits() []*visit {
	var all []*visit
	for _, number := range slices.Sorted(maps.Keys(e.inside)) {
		all = append(all, e.inside[number])
	}
	return all
}

func (e *Recorder) enter(r *server.Request) *visit {
	v := &visit{}
	if n := len(e.free); n > 0 {
		v, e.free = e.free[n-1], e.free[:n-1]
	}
	*v = visit{Template: r.Template, flow: r.Flow, number: r.Number, id: r.ID, arrivalNs: r.ArrivalNs, dispatchNs: -1, endNs: -1,
		attempt: int(r.Attempt), seats: observe.AskedBy(r), held: v.held[:0]}
	e.inside[r.Number] = v
	return v
}

func (e *Recorder) leave(v *visit) {
	delete(e.inside, v.number)
	e.free = append(e.free, v)
}

func levelName(f *server.Flow) string {
	if f == nil {
		return ""
	}
	return f.Level
}

func (e *Recorder) eachLevel(visit func(observe.LevelState)) {
	for _, l := range e.of.Levels() {
		visit(l)
	}
}

func (e *Recorder) standOf(level string) *stand {
	s := e.levels[level]
	if s == nil {
		s = &stand{process: len(e.levels) + 1, limit: -1, shown: map[string]bool{}}
		e.levels[level] = s
		if e.phase == inWindow { // it came later, or begin names it
			e.name(s, level)
		}
	}
	return s
}

// name names the level's process, once.
func (e *Recorder) name(s *stand, level string) {
	if level == "" {
		level = "not under flow control"
	}
	e.nameTrack(s, "process_name", 0, level)
}

func (e *Recorder) nameTrack(s *stand, kind string, thread int, name string) {
	key := kind + strconv.Itoa(thread)
	if s.shown[key] {
		return
	}
	s.shown[key] = true
	e.write(&traceEvent{Name: kind, Phase: "M", Process: s.process, Thread: thread}, map[string]string{"name": name})
}

// seat gives a request the free seats with the lowest numbers.
func (s *stand) seat(v *visit) {
	for i := 0; len(v.held) < v.seats; i++ {
		if i == len(s.taken) {
			s.taken = append(s.taken, false)
		}
		if !s.taken[i] {
			s.taken[i] = true
			v.held = append(v.held, i)
		}
	}
}

func (s *stand) vacate(v *visit) {
	for _, i := range v.held {
		s.taken[i] = false
	}
}

func (e *Recorder) wait(nowNs int64, s *stand, v *visit, phase string) {
	e.write(&traceEvent{Name: "queue " + strconv.Itoa(v.queue), Category: "wait", Phase: phase, At: microseconds(nowNs),
		Process: s.process, ID: strconv.FormatInt(v.number, 10)}, e.args(v))
}

// executed shows a request's execution up to now.
func (e *Recorder) executed(nowNs int64, v *visit) {
	name := e.scenario.Spec.Workload[v.Workload].Name + " " + strconv.Itoa(v.Client)
	e.occupied(v, name, "execution", max(v.dispatchNs, e.fromNs), nowNs)
}

// lingered shows a request's additional latency up to now, if there is any.
func (e *Recorder) lingered(nowNs int64, v *visit) {
	if from := max(v.endNs, e.fromNs); nowNs > from {
		e.occupied(v, "additional latency", "additional latency", from, nowNs)
	}
}

func (e *Recorder) occupied(v *visit, name, category string, fromNs, toNs int64) {
	s := e.standOf(levelName(v.flow))
	lasts, args := microseconds(toNs-fromNs), e.args(v)
	for _, i := range v.held {
		e.nameTrack(s, "thread_name", i+1, "seat "+strconv.Itoa(i+1))
		e.write(&traceEvent{Name: name, Category: category, Phase: "X", At: microseconds(fromNs), Lasts: &lasts,
			Process: s.process, Thread: i + 1}, args)
	}
}

func (e *Recorder) args(v *visit) *requestArgs {
	a := &v.Attributes
	args := &requestArgs{ID: v.id, User: a.User, Verb: a.Verb, Resource: a.Resource, Namespace: a.Namespace, Name: a.Name,
		Attempt: v.attempt, Queue: v.queue, Seats: v.seats, ArrivalNs: v.arrivalNs}
	if !a.IsResource() {
		args.Path = a.Path
	}
	if v.flow != nil {
		args.Flow = v.flow.Name()
	}
	if v.dispatchNs >= 0 {
		wait := v.dispatchNs - v.arrivalNs
		args.WaitNs = &wait
	}
	return args
}

func (e *Recorder) count(nowNs int64, s *stand, what, unit string, n int) {
	e.write(&traceEvent{Name: what, Phase: "C", At: microseconds(nowNs), Process: s.process}, map[string]int{unit: n})
}

func (e *Recorder) countSeats(nowNs int64, s *stand) {
	e.count(nowNs, s, "seats in use", "seats", s.inUse)
}
func (e *Recorder) countWaiting(nowNs int64, s *stand) {
	e.count(nowNs, s, "waiting", "requests", s.waiting)
}

// countLimits shows the limits that have changed.
func (e *Recorder) countLimits(nowNs int64) {
	e.eachLevel(func(l observe.LevelState) {
		if s := e.standOf(l.Name()); s.limit != l.CurrentLimit() {
			s.limit = l.CurrentLimit()
			e.count(nowNs, s, "current limit", "seats", s.limit)
		}
	})
}

// Err returns the first error that has come up in writing.
func (e *Recorder) Err() error { return e.err }

// Close completes the trace.
func (e *Recorder) Close() error {
	e.text("\n]}\n")
	return e.err
}
