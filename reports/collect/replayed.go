package collect

import (
	"cmp"
	"math"
	"slices"

	"apfsim/core/estimate"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
	"apfsim/sim/trace"
)

// replayed compares the requests of a replay with the log that the trace is of.
type replayed struct {
	scenario *scenario.Scenario
	result   result.Replay
	equal    int64 // outcomes
	levels   map[string]*replayedLevel
	untilNs  []int64 // by workload: later arrivals are not compared
	seats    int64   // requests whose seats are those of the log

	seatsDiffer, schemasDiffer, levelsDiffer, noExecution int64
}

// replayedLevel is the requests of one priority level.
type replayedLevel struct {
	result.ReplayedLevel
	executedInLog, waitsInLog int64
	inLog, inReplay           *measure.Histogram
}

// newReplayed returns nil if no trace is to be compared.
func newReplayed(run *sim.Run) *replayed {
	p := &replayed{scenario: run.Scenario, levels: map[string]*replayedLevel{}}
	for i := range run.Scenario.Spec.Workload {
		untilNs := int64(0)
		if t := run.Scenario.Spec.Workload[i].Arrivals.Trace; t != nil && t.Decided == trace.DecidedByLog {
			untilNs = math.MaxInt64
			if t.Server != nil && t.Server.CompleteUntil > 0 {
				untilNs = int64(t.Server.CompleteUntil)
			}
		}
		p.untilNs = append(p.untilNs, untilNs)
	}
	if slices.Max(p.untilNs) == 0 {
		return nil
	}
	return p
}

// Observer returns what is observed of a run.
func (p *replayed) Observer() server.Observer {
	return server.Observer{Arrived: p.arrived, Dispatched: p.dispatched, Rejected: p.rejected}
}

// compared returns what the log says of a request whose outcome is to be compared, and its level.
func (p *replayed) compared(r *server.Request) (*trace.Logged, *replayedLevel) {
	if r.Details == nil || r.Details.Logged == nil || r.Attempt != 1 || r.Level == nil || r.ArrivalNs >= p.untilNs[r.Workload] {
		return nil, nil
	}
	g := r.Details.Logged
	if g.Outcome != trace.Executed && g.Outcome != trace.Rejected {
		return nil, nil
	}
	name := cmp.Or(g.PriorityLevel, r.Level.Name())
	l := p.levels[name]
	if l == nil {
		l = &replayedLevel{inLog: &measure.Histogram{Precision: measure.FinePrecision}, inReplay: &measure.Histogram{Precision: measure.FinePrecision}}
		l.PriorityLevel = name
		p.levels[name] = l
	}
	return g, l
}

func (p *replayed) arrived(_ int64, r *server.Request) {
	g, l := p.compared(r)
	if g == nil {
		return
	}
	l.Requests++
	if g.FlowSchema != "" && r.Flow != nil && g.FlowSchema != r.Flow.Schema.Name {
		p.schemasDiffer++
	}
	if g.PriorityLevel != "" && g.PriorityLevel != r.Level.Name() {
		p.levelsDiffer++
	}
	if g.Seats > 0 && (g.Seats != r.Work.InitialSeats || max(0, g.FinalSeats) != r.Work.FinalSeats) {
		p.seatsDiffer++
	}
	if r.Details.LoggedSeats {
		p.seats++
	}
	if g.Outcome == trace.Rejected {
		l.RejectedInLog++
		return
	}
	if r.ExecutionNs == 0 && !r.IsWatch() {
		p.noExecution++
	}
	l.executedInLog++
	if g.WaitNs >= 0 {
		l.waitsInLog++
		l.inLog.Record(g.WaitNs)
	}
	work := r.Work
	if g.Seats > 0 {
		work = estimate.Work{InitialSeats: g.Seats, FinalSeats: max(0, g.FinalSeats), AdditionalLatencyNs: max(0, g.AdditionalLatencyNs)}
	}
	l.SeatSecondsInLog += seatSeconds(work, r.ExecutionNs)
}

func (p *replayed) dispatched(nowNs int64, r *server.Request) {
	g, l := p.compared(r)
	if g == nil {
		return
	}
	if g.Outcome == trace.Executed {
		p.equal++
		l.SeatSecondsInReplay += seatSeconds(r.Work, r.ExecutionNs)
	}
	l.inReplay.Record(nowNs - r.ArrivalNs)
}

func (p *replayed) rejected(_ int64, r *server.Request) {
	g, l := p.compared(r)
	if g == nil {
		return
	}
	if g.Outcome == trace.Rejected {
		p.equal++
	}
	l.RejectedInReplay++
}

func seatSeconds(w estimate.Work, executionNs int64) float64 {
	return (float64(w.InitialSeats)*float64(executionNs) + float64(w.FinalSeats)*float64(w.AdditionalLatencyNs)) / 1e9
}

// leastWaits is the share of the waits that a log must have, so that they stand for all: a log often has the waits of
// slow requests only.
const leastWaits = 0.9

// summary returns the comparison, nil without one.
func (p *replayed) summary() *result.Replay {
	if p == nil {
		return nil
	}
	r := &p.result
	r.Levels, r.Unknown = []result.ReplayedLevel{}, []string{}
	matches := true
	for _, l := range p.levels {
		if float64(l.waitsInLog) >= leastWaits*float64(l.executedInLog) {
			l.WaitInLog = result.NewDistribution(l.inLog)
		}
		l.WaitInReplay = result.NewDistribution(l.inReplay)
		l.Disagrees = disagreements(&l.ReplayedLevel)
		matches = matches && len(l.Disagrees) == 0
		r.Levels = append(r.Levels, l.ReplayedLevel)
	}
	slices.SortFunc(r.Levels, func(a, b result.ReplayedLevel) int { return cmp.Compare(a.PriorityLevel, b.PriorityLevel) })
	for i := range r.Levels {
		l := &r.Levels[i]
		r.Requests += l.Requests
		r.RejectedInLog += l.RejectedInLog
		r.RejectedInReplay += l.RejectedInReplay
	}
	if r.Requests > 0 {
		share := float64(p.equal) / float64(r.Requests)
		r.OutcomeEqual = &share
	}
	r.SeatsFrom, r.RoutesFrom = result.FromEstimate, result.FromLog
	if p.seats > 0 {
		r.SeatsFrom = result.FromLog
	}
	whatIf := false
	for i := range p.scenario.Spec.Workload {
		t := p.scenario.Spec.Workload[i].Arrivals.Trace
		decided := p.scenario.Decided(t)
		if !decided.Routes {
			r.RoutesFrom, whatIf = result.FromConfiguration, true
		}
		if t == nil || t.Server == nil {
			continue
		}
		for _, what := range t.Server.Unknown {
			if !slices.Contains(r.Unknown, what) {
				r.Unknown = append(r.Unknown, what)
			}
		}
	}
	if !slices.Contains(r.Unknown, trace.UnknownExecutions) {
		p.noExecution = 0 // they were measured
	}
	r.Differences = []result.ReplayDifference{{What: "seats", Requests: p.seatsDiffer}, {What: "flowSchema", Requests: p.schemasDiffer},
		{What: "priorityLevel", Requests: p.levelsDiffer}, {What: "executions", Requests: p.noExecution}}
	if matches = matches && r.Requests > 0 && !slices.Contains(r.Unknown, trace.UnknownExecutions); !whatIf {
		r.Matches = &matches
	}
	return r
}

// disagreements returns the figures of a level in which a replay and its log differ by more than they may:
//
//   - rejected: by more than a tenth of the larger number and three times the square root of the sum of both, which is
//     what two Poisson counts with one mean differ by at most, but for 3 in 1 000 cases; or the replay has none at all;
//   - a percentile of the wait, of enough requests: by more than 50 ms and half of the larger one. Two runs
//     of one trace on a real server differ by as much;
//   - seat-seconds: by more than a quarter of the larger and 1 seat-second.
func disagreements(l *result.ReplayedLevel) []string {
	all := []string{}
	if a, b := float64(l.RejectedInLog), float64(l.RejectedInReplay); math.Abs(a-b) > max(a, b)/10+3*math.Sqrt(a+b) || a > 0 && b == 0 {
		all = append(all, "rejected")
	}
	if a, b := l.WaitInLog, l.WaitInReplay; a != nil && b != nil {
		for _, p := range []struct {
			name    string
			a, b    int64
			percent float64
		}{{"waitP50", a.P50Ns, b.P50Ns, 50}, {"waitP90", a.P90Ns, b.P90Ns, 90}, {"waitP99", a.P99Ns, b.P99Ns, 99}} {
			const chanceNs = 50_000_000
			if apart := max(p.a-p.b, p.b-p.a); measure.Enough(p.percent, min(a.Count, b.Count)) && apart > chanceNs+max(p.a, p.b)/2 {
				all = append(all, p.name)
			}
		}
	}
	if a, b := l.SeatSecondsInLog, l.SeatSecondsInReplay; math.Abs(a-b) > max(a, b)/4+1 {
		all = append(all, "seatSeconds")
	}
	return all
}
