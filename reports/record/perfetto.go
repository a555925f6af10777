package record

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Perfetto writes the requests of a window of a run as a trace for Perfetto and Chrome: JSON in the Trace Event
// Format. Close must be called at the end.
//
// Each priority level is a process of the trace, and each of its seats is a thread. A request is shown on its seats
// for as long as it holds them; it takes the free seats with the lowest numbers. Waits are asynchronous events,
// named after the queue. Rejections are instant events. Counters show seats in use, waiting requests and the current
// limit. With several servers, each level of each server is a process of its own, and each server is one, too, which
// shows its stages.
//
// Memory grows with the number of requests that wait or execute at the same time.
type Perfetto struct {
	scenario     *scenario.Scenario
	servers      []*server.Server
	stages       []serverStage // by server; nil for a scenario that is Steady
	fromNs, toNs int64
	phase        windowPhase

	out       *bufio.Writer
	err       error
	hasEvents bool // an event has been written, so the next one needs a comma

	requests map[int64]*trackedRequest // those that wait or hold seats, by the number of the request
	free     []*trackedRequest         // for reuse
	tracks   map[trackKey]*levelTrack
}

// trackKey names a priority level of a server.
type trackKey struct {
	server int16
	level  string // "" for the requests that are not subject to flow control
}

// serverStage is the present stage of a server.
type serverStage struct {
	server.Stage
	sinceNs int64
}

// windowPhase says whether the run is before, in or after the window.
type windowPhase uint8

const (
	beforeWindow windowPhase = iota
	inWindow
	afterWindow
)

// trackedRequest is a request that waits or holds seats. It is a copy, because the server changes its
// requests and uses them again.
type trackedRequest struct {
	*server.Template
	flow                         *server.Flow
	number, id                   int64
	arrivalNs, dispatchNs, endNs int64 // -1 if that has not happened yet
	server                       int16
	queue, attempt, seats        int
	waiting                      bool
	seatNumbers                  []int // its seats, numbered from 0
}

// levelTrack is a priority level in the trace, which shows it as a process. The level without a name
// has the requests that are not subject to flow control.
type levelTrack struct {
	process int
	taken   []bool // by the number of the seat
	inUse   int
	waiting int
	limit   int
	named   map[string]bool // processes and threads that have a name already
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

// microseconds is a time in nanoseconds. The format has microseconds with decimals.
type microseconds int64

// MarshalJSON implements json.Marshaler.
func (t microseconds) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%03d", int64(t)/1000, int64(t)%1000), nil
}

// requestArgs are the details of a request that the trace shows when the request is selected.
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

// NewPerfetto returns a recorder for the window from fromNs to toNs of a run of sc, in nanoseconds since its
// start. The trace is written to w.
func NewPerfetto(w *bufio.Writer, sc *scenario.Scenario, servers []*server.Server, fromNs, toNs int64) *Perfetto {
	e := &Perfetto{scenario: sc, servers: servers, fromNs: fromNs, toNs: toNs, out: w,
		requests: map[int64]*trackedRequest{}, tracks: map[trackKey]*levelTrack{}}
	if !sc.Spec.Steady() {
		for _, s := range servers {
			e.stages = append(e.stages, serverStage{Stage: s.Stage()})
		}
	}
	e.writeText(`{"displayTimeUnit":"ms","traceEvents":[`)
	return e
}

func (e *Perfetto) writeText(s string) {
	if e.err == nil {
		_, e.err = io.WriteString(e.out, s)
	}
}

func (e *Perfetto) writeEvent(event *traceEvent, args any) {
	if args != nil {
		event.Args = marshal(args)
	}
	if e.hasEvents {
		e.writeText(",")
	}
	e.hasEvents = true
	e.writeText("\n")
	e.writeText(string(marshal(event)))
}

func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("record: a trace event cannot be encoded as JSON: " + err.Error())
	}
	return text
}

// Observer returns what the recorder observes of a run.
func (e *Perfetto) Observer() server.Observer {
	return server.Observer{
		Queued:     e.queued,
		Dispatched: e.dispatched,
		Rejected:   e.rejected,
		Executed:   e.executed,
		Released:   e.released,
		Adjusted:   e.adjusted,
		Tick:       e.tick,
		Refused:    e.refused,
		GivenUp:    e.givenUp,
		Changed:    e.changed,
	}
}

func (e *Perfetto) queued(nowNs int64, r *server.Request) {
	if e.phase == afterWindow {
		return
	}
	t := e.addRequest(r)
	t.queue, t.waiting = r.Queue(), true
	track := e.trackOf(r.Server, levelName(r.Flow))
	track.waiting++
	if e.phase == inWindow {
		e.writeWait(nowNs, track, t, "b")
		e.writeWaiting(nowNs, track)
	}
}

func (e *Perfetto) dispatched(nowNs int64, r *server.Request) {
	if e.phase == afterWindow {
		return
	}
	track := e.trackOf(r.Server, levelName(r.Flow))
	t := e.decided(nowNs, track, r)
	t.dispatchNs, t.seats = nowNs, r.SeatsHeld()
	track.inUse += t.seats
	if e.phase == inWindow {
		track.occupy(t)
		e.writeSeatsInUse(nowNs, track)
	}
}

// decided returns the tracked request of one that is dispatched or rejected, and ends its wait if it
// has waited.
func (e *Perfetto) decided(nowNs int64, track *levelTrack, r *server.Request) *trackedRequest {
	t := e.requests[r.Number]
	if t == nil {
		t = e.addRequest(r)
		t.queue = r.QueueIndex()
		return t
	}
	t.waiting = false
	track.waiting--
	if e.phase == inWindow {
		e.writeWait(nowNs, track, t, "e")
		e.writeWaiting(nowNs, track)
	}
	return t
}

func (e *Perfetto) rejected(nowNs int64, r *server.Request) {
	if e.phase == afterWindow {
		return
	}
	track := e.trackOf(r.Server, levelName(r.Flow))
	t := e.decided(nowNs, track, r)
	if e.phase == inWindow {
		e.writeEvent(&traceEvent{Name: "rejected: " + r.Rejection.String(), Category: "rejection", Phase: "i", At: microseconds(nowNs),
			Process: track.process, Scope: "p"}, e.requestArgs(t))
	}
	e.removeRequest(t)
}

func (e *Perfetto) executed(nowNs int64, r *server.Request) {
	if t := e.requests[r.Number]; t != nil {
		t.endNs = nowNs
		if e.phase == inWindow {
			e.writeExecution(nowNs, t)
		}
	}
}

func (e *Perfetto) released(nowNs int64, r *server.Request) {
	t := e.requests[r.Number]
	if t == nil {
		return
	}
	track := e.trackOf(t.server, levelName(t.flow))
	track.inUse -= t.seats
	if e.phase == inWindow {
		e.writeAdditionalLatency(nowNs, t)
		track.free(t)
		e.writeSeatsInUse(nowNs, track)
	}
	e.removeRequest(t)
}

func (e *Perfetto) adjusted(nowNs int64, s *server.Server) {
	if e.phase == inWindow {
		at := 0
		if s != nil {
			at = s.Index()
		}
		e.writeLimits(nowNs, at)
	}
}

// refused writes a request that has not reached flow control.
func (e *Perfetto) refused(nowNs int64, r *server.Request) {
	if e.phase != inWindow {
		return
	}
	t := e.addRequest(r)
	t.flow, t.queue, t.seats = nil, -1, 0
	e.writeEvent(&traceEvent{Name: "refused: " + r.Refusal.String(), Category: "refusal", Phase: "i", At: microseconds(nowNs),
		Process: e.trackOf(r.Server, "").process, Scope: "p"}, e.requestArgs(t))
	e.removeRequest(t)
}

// givenUp ends a request whose server has ended.
func (e *Perfetto) givenUp(nowNs int64, r *server.Request) {
	t := e.requests[r.Number]
	if t == nil {
		return
	}
	track := e.trackOf(t.server, levelName(t.flow))
	switch {
	case t.waiting:
		e.decided(nowNs, track, r)
		e.removeRequest(t)
	case t.endNs < 0:
		if t.endNs = nowNs; e.phase == inWindow {
			e.writeExecution(nowNs, t)
		}
		e.released(nowNs, r)
	default:
		e.released(nowNs, r)
	}
	if e.phase == inWindow && r.Lost {
		e.writeEvent(&traceEvent{Name: "lost", Category: "loss", Phase: "i", At: microseconds(nowNs), Process: track.process, Scope: "p"}, nil)
	}
}

// changed ends the stage of a server and begins the next.
func (e *Perfetto) changed(nowNs int64, s *server.Server) {
	if e.phase == inWindow {
		e.writeStage(nowNs, s.Index())
	}
	e.stages[s.Index()] = serverStage{s.Stage(), nowNs}
}

// stageProcess is the process of the stages of server 0; those of the other servers follow. The
// processes of levels are below it.
const stageProcess = 1_000_000

// writeStage writes the present stage of a server until now.
func (e *Perfetto) writeStage(nowNs int64, at int) {
	current := &e.stages[at]
	lasts := microseconds(nowNs - max(current.sinceNs, e.fromNs))
	e.writeEvent(&traceEvent{Name: current.String(), Category: "stage", Phase: "X", At: microseconds(max(current.sinceNs, e.fromNs)), Lasts: &lasts,
		Process: stageProcess + at, Thread: 1}, nil)
}

func (e *Perfetto) tick(nowNs int64, _ []*server.Server) (nextNs int64) {
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

// begin writes the state at the start of the window: names, counters, and the requests that wait or
// hold seats.
func (e *Perfetto) begin(nowNs int64) {
	e.phase = inWindow
	for at := range e.servers {
		e.eachLevel(at, func(l server.LevelState) { e.trackOf(int16(at), l.Name()) })
	}
	for at := range e.stages {
		e.writeEvent(&traceEvent{Name: "process_name", Phase: "M", Process: stageProcess + at}, map[string]string{"name": serverName(at)})
		e.writeEvent(&traceEvent{Name: "thread_name", Phase: "M", Process: stageProcess + at, Thread: 1}, map[string]string{"name": "stage"})
	}
	for _, key := range slices.SortedFunc(maps.Keys(e.tracks), func(a, b trackKey) int {
		return cmp.Or(cmp.Compare(a.server, b.server), cmp.Compare(a.level, b.level))
	}) {
		track := e.tracks[key]
		e.nameProcess(track, key)
		e.writeSeatsInUse(nowNs, track)
		e.writeWaiting(nowNs, track)
	}
	for _, t := range e.trackedRequests() {
		track := e.trackOf(t.server, levelName(t.flow))
		if t.waiting {
			e.writeWait(nowNs, track, t, "b")
		} else {
			track.occupy(t)
		}
	}
	for at := range e.servers {
		e.writeLimits(nowNs, at)
	}
}

// end writes the ends of the waits, executions and additional latencies that are in progress when the
// window ends.
func (e *Perfetto) end(nowNs int64) {
	for _, t := range e.trackedRequests() {
		switch {
		case t.waiting:
			e.writeWait(nowNs, e.trackOf(t.server, levelName(t.flow)), t, "e")
		case t.endNs < 0:
			e.writeExecution(nowNs, t)
		default:
			e.writeAdditionalLatency(nowNs, t)
		}
	}
	for at := range e.stages {
		e.writeStage(nowNs, at)
	}
	e.phase = afterWindow
	e.requests, e.free = nil, nil
}

// trackedRequests returns the requests that wait or hold seats, in the order of arrival.
func (e *Perfetto) trackedRequests() []*trackedRequest {
	var all []*trackedRequest
	for _, number := range slices.Sorted(maps.Keys(e.requests)) {
		all = append(all, e.requests[number])
	}
	return all
}

// addRequest begins to keep a request that waits or holds seats.
func (e *Perfetto) addRequest(r *server.Request) *trackedRequest {
	t := &trackedRequest{}
	if n := len(e.free); n > 0 {
		t, e.free = e.free[n-1], e.free[:n-1]
	}
	*t = trackedRequest{Template: r.Template, flow: r.Flow, number: r.Number, id: r.ID, arrivalNs: r.ArrivalNs, dispatchNs: -1, endNs: -1,
		server: r.Server, attempt: int(r.Attempt), seats: r.SeatsWanted(), seatNumbers: t.seatNumbers[:0]}
	e.requests[r.Number] = t
	return t
}

// removeRequest forgets a request that is rejected or has released its seats.
func (e *Perfetto) removeRequest(t *trackedRequest) {
	delete(e.requests, t.number)
	e.free = append(e.free, t)
}

func levelName(f *server.Flow) string {
	if f == nil {
		return ""
	}
	return f.Level
}

func (e *Perfetto) eachLevel(at int, call func(server.LevelState)) {
	for _, l := range e.servers[at].Levels() {
		call(l)
	}
}

// trackOf returns the track of a level of a server, and makes it if there is none.
func (e *Perfetto) trackOf(at int16, level string) *levelTrack {
	key := trackKey{at, level}
	track := e.tracks[key]
	if track == nil {
		track = &levelTrack{process: len(e.tracks) + 1, limit: -1, named: map[string]bool{}}
		e.tracks[key] = track
		if e.phase == inWindow { // otherwise begin writes the name
			e.nameProcess(track, key)
		}
	}
	return track
}

// nameProcess names the process of the level, unless it has been named.
func (e *Perfetto) nameProcess(track *levelTrack, key trackKey) {
	name := key.level
	if name == "" {
		name = "not under flow control"
	}
	if len(e.servers) > 1 {
		name = serverName(int(key.server)) + ": " + name
	}
	e.nameTrack(track, "process_name", 0, name)
}

func serverName(at int) string { return "server " + strconv.Itoa(at) }

func (e *Perfetto) nameTrack(track *levelTrack, kind string, thread int, name string) {
	key := kind + strconv.Itoa(thread)
	if track.named[key] {
		return
	}
	track.named[key] = true
	e.writeEvent(&traceEvent{Name: kind, Phase: "M", Process: track.process, Thread: thread}, map[string]string{"name": name})
}

// occupy gives a request the free seats with the lowest numbers.
func (track *levelTrack) occupy(t *trackedRequest) {
	for i := 0; len(t.seatNumbers) < t.seats; i++ {
		if i == len(track.taken) {
			track.taken = append(track.taken, false)
		}
		if !track.taken[i] {
			track.taken[i] = true
			t.seatNumbers = append(t.seatNumbers, i)
		}
	}
}

// free frees the seats of a request.
func (track *levelTrack) free(t *trackedRequest) {
	for _, i := range t.seatNumbers {
		track.taken[i] = false
	}
}

// writeWait writes the begin (phase "b") or the end (phase "e") of a wait.
func (e *Perfetto) writeWait(nowNs int64, track *levelTrack, t *trackedRequest, phase string) {
	e.writeEvent(&traceEvent{Name: "queue " + strconv.Itoa(t.queue), Category: "wait", Phase: phase, At: microseconds(nowNs),
		Process: track.process, ID: strconv.FormatInt(t.number, 10)}, e.requestArgs(t))
}

// writeExecution writes the execution of a request until now.
func (e *Perfetto) writeExecution(nowNs int64, t *trackedRequest) {
	name := e.scenario.Spec.Workload[t.Workload].Name + " " + strconv.Itoa(t.Client)
	e.writeSeats(t, name, "execution", max(t.dispatchNs, e.fromNs), nowNs)
}

// writeAdditionalLatency writes the additional latency of a request until now, unless it is 0.
func (e *Perfetto) writeAdditionalLatency(nowNs int64, t *trackedRequest) {
	if from := max(t.endNs, e.fromNs); nowNs > from {
		e.writeSeats(t, "additional latency", "additional latency", from, nowNs)
	}
}

// writeSeats writes one event for each seat that a request holds.
func (e *Perfetto) writeSeats(t *trackedRequest, name, category string, fromNs, toNs int64) {
	track := e.trackOf(t.server, levelName(t.flow))
	lasts, args := microseconds(toNs-fromNs), e.requestArgs(t)
	for _, i := range t.seatNumbers {
		e.nameTrack(track, "thread_name", i+1, "seat "+strconv.Itoa(i+1))
		e.writeEvent(&traceEvent{Name: name, Category: category, Phase: "X", At: microseconds(fromNs), Lasts: &lasts,
			Process: track.process, Thread: i + 1}, args)
	}
}

func (e *Perfetto) requestArgs(t *trackedRequest) *requestArgs {
	a := &t.Attributes
	args := &requestArgs{ID: t.id, User: a.User, Verb: a.Verb, Resource: a.Resource, Namespace: a.Namespace, Name: a.Name,
		Attempt: t.attempt, Queue: t.queue, Seats: t.seats, ArrivalNs: t.arrivalNs}
	if !a.IsResource() {
		args.Path = a.Path
	}
	if t.flow != nil {
		args.Flow = t.flow.Name()
	}
	if t.dispatchNs >= 0 {
		wait := t.dispatchNs - t.arrivalNs
		args.WaitNs = &wait
	}
	return args
}

func (e *Perfetto) writeCounter(nowNs int64, track *levelTrack, what, unit string, n int) {
	e.writeEvent(&traceEvent{Name: what, Phase: "C", At: microseconds(nowNs), Process: track.process}, map[string]int{unit: n})
}

func (e *Perfetto) writeSeatsInUse(nowNs int64, track *levelTrack) {
	e.writeCounter(nowNs, track, "seats in use", "seats", track.inUse)
}
func (e *Perfetto) writeWaiting(nowNs int64, track *levelTrack) {
	e.writeCounter(nowNs, track, "waiting", "requests", track.waiting)
}

// writeLimits writes the current limits of a server that have changed.
func (e *Perfetto) writeLimits(nowNs int64, at int) {
	e.eachLevel(at, func(l server.LevelState) {
		if track := e.trackOf(int16(at), l.Name()); track.limit != l.CurrentLimit() {
			track.limit = l.CurrentLimit()
			e.writeCounter(nowNs, track, "current limit", "seats", track.limit)
		}
	})
}

// Err returns the first error of writing.
func (e *Perfetto) Err() error { return e.err }

// Close ends the trace and returns the first error of writing.
func (e *Perfetto) Close() error {
	e.writeText("\n]}\n")
	return e.err
}

// Discard implements Recorder.
func (*Perfetto) Discard() {}
