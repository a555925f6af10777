package randomscenario

import (
	"apfsim/core/config"
	"apfsim/sim"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// Seen is what happened in a run that its request log does not say, in the order in which it happened.
type Seen struct {
	Requests []RequestEvent
	Notes    []NoteEvent
	Limits   []LimitsEvent
	Stages   []StageEvent

	SlowWatches []int64 // by server, that were closed in the window as slow; nil without a store
}

// RequestEvent is something that happened to a request.
type RequestEvent struct {
	What    RequestEventKind
	AtNs    int64
	Line    int64 // of the request log, from 0
	Status  int   // of an answer; 0 without a response
	DelayNs int64 // of an arrival: the part of the execution that the scenario gives as its delay

	// Of an arrival: what was estimated then, which dispatch can lessen. The log has what came of it.
	Seats               int
	AdditionalLatencyNs int64
	ExecutionNs         int64 // as the scenario gives it, also where a store does not log it

	Stored bool // a store has answered the request
}

// RequestEventKind is what a RequestEvent says.
type RequestEventKind int

// The kinds of a RequestEvent.
const (
	Arrived RequestEventKind = iota
	Dispatched
	Rejected
	Executed
	Initialised // a watch, whose client then has what it wants; it has been executed, too
	Answered
	Lost // its server has ended
)

// NoteEvent is something that happened to a client of a workload.
type NoteEvent struct {
	AtNs     int64
	Workload int
	workload.Note
}

// LimitsEvent is the priority levels of a server from a time on.
type LimitsEvent struct {
	AtNs   int64
	Server int
	Levels map[string]LevelLimit
}

// LevelLimit is a level at a server.
type LevelLimit struct {
	Limit, Nominal int
	Queues         bool // it queues requests
	Exempt         bool // it has no limit
}

// StageEvent is a change of the stage of a server.
type StageEvent struct {
	AtNs        int64
	Server      int
	Stage       server.Stage
	OutOfMemory bool // the process ended because it needed more memory than there is
}

// observe records what happens in a run.
func (s *Seen) observe(run *sim.Run) {
	request := func(what RequestEventKind) func(int64, *server.Request) {
		return func(nowNs int64, r *server.Request) {
			e := RequestEvent{What: what, AtNs: nowNs, Line: r.Number - 1, Stored: r.Details != nil && r.Details.Answer.Status != 0}
			switch {
			case what == Executed && r.Opened:
				e.What = Initialised
			case what == Answered:
				e.Status = int(r.Status)
			case what == Lost && !r.Lost:
				return // it was executed, and only held its seats
			case what == Arrived:
				e.Seats, e.AdditionalLatencyNs, e.ExecutionNs = max(1, r.Work.InitialSeats, r.Work.FinalSeats), r.Work.AdditionalLatencyNs, r.ExecutionNs
				if r.Details != nil {
					e.DelayNs = r.Details.DelayNs
				}
			}
			s.Requests = append(s.Requests, e)
		}
	}
	limits := func(nowNs int64, srv *server.Server) {
		e := LimitsEvent{AtNs: nowNs, Server: srv.Index(), Levels: map[string]LevelLimit{}}
		for _, l := range srv.Levels() {
			spec := server.LevelState(l).Spec()
			e.Levels[l.Name()] = LevelLimit{l.CurrentLimit(), l.Limits().Nominal, spec.Queuing() != nil, spec.Type == config.TypeExempt}
		}
		s.Limits = append(s.Limits, e)
	}
	run.Observe(server.Observer{
		Arrived: request(Arrived), Dispatched: request(Dispatched), Rejected: request(Rejected), Executed: request(Executed), Answered: request(Answered), GivenUp: request(Lost),
		Adjusted: limits,
		Changed: func(nowNs int64, srv *server.Server) {
			s.Stages = append(s.Stages, StageEvent{nowNs, srv.Index(), srv.Stage(), srv.Stage() == server.Off && srv.OutOfMemory()})
			if srv.Stage() == server.Off {
				limits(nowNs, srv)
			}
		},
	})
	run.OnNote(func(nowNs int64, workload, _ int, n workload.Note) {
		s.Notes = append(s.Notes, NoteEvent{nowNs, workload, n})
	})
}
