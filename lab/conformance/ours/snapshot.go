package ours

import (
	"cmp"
	"fmt"
	"slices"

	"apfsim/core/estimate"
	"apfsim/core/flowcontrol"
	"apfsim/lab/conformance/trial"
)

// level shows a level as dump_priority_levels and dump_queues do.
func (s *server) level(l *flowcontrol.Level) trial.Level {
	q := l.Queues()
	shown := trial.Level{
		Name: l.Name(), Limit: l.CurrentLimit(),
		Idle: q.Idle(), Quiescing: l.Draining(), Waiting: q.Waiting(), Executing: q.Executing(),
	}
	for i := range q.Len() {
		state := q.Queue(i)
		shown.Queues = append(shown.Queues, trial.Queue{
			Pending: state.PendingRequests, Executing: state.ExecutingRequests, SeatsInUse: state.SeatsInUse,
			NextDispatchR:   text(state.NextDispatchR),
			InitialSeatsSum: state.InitialSeatsSum, MaxSeatsSum: state.MaxSeatsSum, TotalWorkSum: text(state.TotalWorkSum),
		})
	}
	return shown
}

// text writes seat-seconds as the dumps do.
func text(s estimate.SeatSeconds) string {
	return fmt.Sprintf("%d.%08dss", s/1e8, s%1e8)
}

// showRequests adds to the levels the requests that wait or execute, as dump_requests does.
func (s *server) showRequests(snapshot *trial.Snapshot, place map[string]int) {
	s.inside = slices.DeleteFunc(s.inside, func(n int) bool { return !s.requests[n].inside })
	// In the order of arrival, which within a queue is that of the queue.
	slices.SortFunc(s.inside, cmp.Compare)
	type spot struct{ level, queue int }
	waiting := map[spot]int{}
	for _, n := range s.inside {
		r := &s.requests[n]
		level, ok := place[r.Level.Name()]
		if !ok {
			continue
		}
		shown := trial.Request{
			Queue: r.Queue(), Position: -1, ArrivalNs: s.trial.Requests[n].ArrivalNs,
			FlowSchema: r.kind.Route().Schema.Name, Flow: r.kind.Route().Distinguisher,
			Seats: r.Work.InitialSeats, FinalSeats: r.Work.FinalSeats, AdditionalNs: r.Work.AdditionalLatencyNs,
		}
		if r.Waiting() {
			shown.Position = waiting[spot{level, shown.Queue}]
			waiting[spot{level, shown.Queue}]++
		}
		snapshot.Levels[level].Requests = append(snapshot.Levels[level].Requests, shown)
	}
	for i := range snapshot.Levels {
		slices.SortFunc(snapshot.Levels[i].Requests, trial.Request.Compare)
	}
}
