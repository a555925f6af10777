package collect

import (
	"cmp"
	"math"
	"slices"

	"apfsim/core/config"
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
	levels   map[string]*replayedLevel
	untilNs  []int64 // by workload: later arrivals are not compared
	seats    int64   // requests whose seats are those of the log

	seatsDiffer, schemasDiffer, levelsDiffer, noExecution int64
}

// replayedLevel is the requests of one priority level.
type replayedLevel struct {
	result.ReplayedLevel
	equal                     int64 // outcomes
	rejectedInBoth            int64
	executedInLog, waitsInLog int64
	inLog, inReplay           *measure.Histogram
	waits                     pairedWaits
}

// pairedWaits are the waits of the requests that were executed in both, and whose wait is in the log.
type pairedWaits struct {
	n                   int64
	inLogNs, inReplayNs float64            // their sums
	longer, shorter     *measure.Histogram // differences of more than equalWaitsNs, by whether the request waited longer in the replay
}

// equalWaitsNs is the difference up to which two waits count as equal. A logged wait often contains other work.
const equalWaitsNs = 10_000_000

func (p *pairedWaits) add(inLogNs, inReplayNs int64) {
	p.n++
	p.inLogNs, p.inReplayNs = p.inLogNs+float64(inLogNs), p.inReplayNs+float64(inReplayNs)
	if inReplayNs > inLogNs+equalWaitsNs {
		p.longer.Record(inReplayNs - inLogNs)
	} else if inLogNs > inReplayNs+equalWaitsNs {
		p.shorter.Record(inLogNs - inReplayNs)
	}
}

func newReplayedLevel(name string) *replayedLevel {
	histogram := func() *measure.Histogram { return &measure.Histogram{Precision: measure.FinePrecision} }
	return &replayedLevel{ReplayedLevel: result.ReplayedLevel{PriorityLevel: name}, inLog: histogram(), inReplay: histogram(),
		waits: pairedWaits{longer: histogram(), shorter: histogram()}}
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

// compared returns the logged outcome of a request that is to be compared with the log, and its level.
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
		l = newReplayedLevel(name)
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
	if g.WaitNs >= 0 && !exempt(r) {
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
		l.equal++
		l.SeatSecondsInReplay += seatSeconds(r.Work, r.ExecutionNs)
	}
	if exempt(r) {
		return
	}
	waitNs := nowNs - r.ArrivalNs
	l.inReplay.Record(waitNs)
	if g.Outcome == trace.Executed && g.WaitNs >= 0 {
		l.waits.add(g.WaitNs, waitNs)
	}
}

// exempt reports whether a request is at a level at which nothing waits.
func exempt(r *server.Request) bool { return r.Level.Spec().Type == config.TypeExempt }

func (p *replayed) rejected(_ int64, r *server.Request) {
	g, l := p.compared(r)
	if g == nil {
		return
	}
	if g.Outcome == trace.Rejected {
		l.equal++
		l.rejectedInBoth++
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
	all := newReplayedLevel("")
	for _, l := range p.levels {
		if float64(l.waitsInLog) >= leastWaits*float64(l.executedInLog) {
			l.WaitInLog = result.NewDistribution(l.inLog)
		}
		l.WaitInReplay = result.NewDistribution(l.inReplay)
		l.pair()
		all.Requests += l.Requests
		all.RejectedInLog += l.RejectedInLog
		all.RejectedInReplay += l.RejectedInReplay
		all.rejectedInBoth += l.rejectedInBoth
		all.equal += l.equal
		matches = matches && len(l.Disagrees) == 0
		r.Levels = append(r.Levels, l.ReplayedLevel)
	}
	slices.SortFunc(r.Levels, func(a, b result.ReplayedLevel) int { return cmp.Compare(a.PriorityLevel, b.PriorityLevel) })
	all.pair()
	r.Requests, r.RejectedInLog, r.RejectedInReplay, r.Pairs = all.Requests, all.RejectedInLog, all.RejectedInReplay, all.Pairs
	if r.Requests > 0 {
		share := float64(all.equal) / float64(r.Requests)
		r.OutcomeEqual = &share
		matches = matches && len(all.Disagrees) == 0 && 1-share <= mostUnequal
	}
	r.SeatsFrom, r.RoutesFrom = result.FromEstimate, result.FromLog
	if p.seats > 0 {
		r.SeatsFrom = result.FromLog
	}
	whatIf := len(p.scenario.Spec.Servers.WhatIf.Differences(p.scenario.Spec.ReleaseRules())) > 0
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

// How far a replay may be from its log, see disagreements.
const (
	mostUnequal   = 0.2  // the part of all requests that may have another outcome: of two runs of one overload on a real server, 14 % have
	mostRejected  = 0.1  // the part of the rejected requests
	mostWait      = 0.25 // the part of a mean wait
	significanceP = 0.01
)

// pair compares the outcomes and the waits of a level request by request, and finds the figures in which the replay and its
// log differ by more than they may:
//
//   - rejected: of the requests with different outcomes, those that only the log rejected (b) and those that only the replay rejected
//     (c) are so unequal in number that McNemar's exact test has p < 0.01, and |b − c| exceeds a tenth of the rejected requests: those
//     of the log or of the replay, whichever are more;
//   - wait, if the log has enough waits: of the requests that were executed in both, so many more wait longer, or shorter, that
//     Wilcoxon's signed-rank test of the differences of more than 10 ms has p < 0.01, and the means of their waits differ by
//     more than 10 ms and a quarter of the longer one;
//   - seatSeconds: by more than a quarter of the larger and 1 seat-second.
func (l *replayedLevel) pair() {
	l.B, l.C = l.RejectedInLog-l.rejectedInBoth, l.RejectedInReplay-l.rejectedInBoth
	l.P = measure.McNemar(l.B, l.C)
	l.Disagrees = []string{}
	if l.P < significanceP && float64(max(l.B-l.C, l.C-l.B)) > mostRejected*float64(max(l.RejectedInLog, l.RejectedInReplay)) {
		l.Disagrees = append(l.Disagrees, "rejected")
	}
	if w := &l.waits; l.WaitInLog != nil && w.n > 0 {
		apartNs, longestNs := math.Abs(w.inReplayNs-w.inLogNs)/float64(w.n), max(w.inReplayNs, w.inLogNs)/float64(w.n)
		p := measure.SignedRanks(w.longer, w.shorter)
		l.WaitP = &p
		if apartNs > equalWaitsNs && apartNs > mostWait*longestNs && p < significanceP {
			l.Disagrees = append(l.Disagrees, "wait")
		}
	}
	if a, b := l.SeatSecondsInLog, l.SeatSecondsInReplay; math.Abs(a-b) > max(a, b)/4+1 {
		l.Disagrees = append(l.Disagrees, "seatSeconds")
	}
}
