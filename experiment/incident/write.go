package incident

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"apfsim/reports/files"
	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/random"
	"apfsim/sim/trace"
	"apfsim/sim/trace/requests"
)

// Names of the files of an import.
const (
	TraceFile    = "trace.jsonl"
	ScenarioFile = "scenario.yaml" // package experiment runs this file of a folder
	ReportFile   = "import.json"
)

// Reasons to leave a request out of the trace.
const (
	ofOtherServer  = "of another server"
	beforeFrom     = "before --from"
	acrossFrom     = "began before --from and ended after it"
	afterTo        = "after --to"
	withoutVerb    = "without a verb"
	withoutTarget  = "with neither a resource nor a path"
	undecodable    = "with a query that is not in URL encoding"
	longerThanLine = "longer than a line of a trace can be"
)

// longestLine is the number of bytes that a line of a trace may have.
const longestLine = 1 << 20

// traceWriter writes the requests in the order of their arrival.
type traceWriter struct {
	*importer
	window
	samples *samples
	checker *checker
	out     io.Writer
	table   *clientTable
	id      int64
	line    []byte

	longestWaitNs int64 // of requests in the trace
}

// write writes all files.
func (m *importer) write(ctx context.Context, o *Options, win window, to folder) error {
	w := &traceWriter{importer: m, window: win}
	m.report.startNs, m.report.configured = win.startNs, len(o.Settings.copies) > 0
	m.report.limits, m.report.stored = o.Settings.limitKnown, len(o.Settings.store) > 0
	if err := w.trace(ctx, o, to, o.Settings.Seed); err != nil {
		return err
	}
	slices.SortFunc(m.report.Levels, func(a, b LevelCounts) int { return strings.Compare(a.PriorityLevel, b.PriorityLevel) })
	slices.SortFunc(m.report.Requests.LeftOut, func(a, b Count) int { return strings.Compare(a.Of, b.Of) })
	if m.report.Requests.InTrace == 0 {
		return w.nothingLeft(o)
	}
	var list files.List
	for _, c := range o.Settings.copies {
		list.Files = append(list.Files, files.File{Name: c.name, Data: c.text})
	}
	texts := map[string][]byte{}
	for _, c := range o.Settings.copies {
		texts[c.name] = c.text
	}
	m.report.rules = o.Settings.rules
	scenario, err := w.replay(ctx, o, &replayFiles{texts, to})
	if err != nil {
		return err
	}
	m.report.clients, m.report.intervalNs, m.report.executions = w.table.all(), w.table.intervalNs, w.table.executions
	m.report.gapFromNs, m.report.gapToNs = w.table.gap(win.startNs)
	list.Add(ScenarioFile, func(w io.Writer) error {
		_, err := io.WriteString(w, scenario)
		return err
	})
	// The report is written last: if it exists, all other files exist.
	list.Add(ReportFile, func(w io.Writer) error { return format.WriteJSON(w, m.report) })
	return to.commit(ctx, &list)
}

// trace writes the trace, with the execution times that the logs do not have drawn by a seed, and counts what it has in the report.
func (w *traceWriter) trace(ctx context.Context, o *Options, to folder, seed uint64) error {
	r := w.report
	fresh := newReport()
	r.Requests.InTrace, r.Requests.LeftOut, r.Verbs, r.Levels, r.Check, r.QueuesFull, r.SeatsUnknown = 0, fresh.Requests.LeftOut, fresh.Verbs, fresh.Levels, fresh.Check, false, 0
	r.Outcomes, r.Times, r.Drawn, r.Waits, r.Watches, r.Users = fresh.Outcomes, fresh.Times, fresh.Drawn, fresh.Waits, fresh.Watches, fresh.Users
	w.samples, w.table, w.id = newSamples(w.needed, seed), newClientTable(w.endNs-w.startNs), 0
	w.checker = newChecker(o.Settings.rules, o.Settings.objects, o.Settings.serverLimit, o.Settings.store, &r.Check)
	if len(w.needed) > 0 {
		err := w.Each(ctx, func(q *requests.Request) error {
			w.stamps.forget(q)
			if w.leaveOut(q) == "" {
				w.samples.add(q, timesOf(q, w.startNs, w.endNs))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	var err error
	if w.out, err = to.create(); err != nil {
		return err
	}
	written, progress := 0, w.progress("requests")
	return to.complete(w.Each(ctx, func(q *requests.Request) error {
		if written++; written%4096 == 0 {
			progress(written, int(r.Requests.Total))
		}
		return w.request(q)
	}))
}

// nothingLeft is the error of logs without a request for the trace.
func (w *traceWriter) nothingLeft(o *Options) error {
	var reasons []string
	open := o.From == nil // all requests are long-running ones that were open before the first line
	for _, left := range w.report.Requests.LeftOut {
		reasons = append(reasons, fmt.Sprintf("%s %s", result.RequestCount(left.Requests), left.Of))
		open = open && (left.Of == beforeFrom || left.Of == ofOtherServer)
	}
	text := "no request of the logs can be replayed between " + rfc3339(w.startNs) + " and " + rfc3339(w.endNs)
	if open {
		return &WrongChoice{text + ": all arrived before the first line, which is of the end of a watch or of another long-running request; add later parts of the log"}
	}
	return &WrongChoice{text + "; left out: " + strings.Join(reasons, ", ")}
}

// replay runs the scenario, adds the comparison with the log to the report, and returns the text of the scenario. If
// the limits of the server are unknown, and the replay disagrees with the log, it looks for those with which it is
// most like it, unless something hides them.
func (w *traceWriter) replay(ctx context.Context, o *Options, files *replayFiles) (text string, err error) {
	w.report.CompleteUntilNs = w.report.DurationNs
	if ended := w.Servers[w.server].EndNs; ended <= w.endNs {
		w.report.CompleteUntilNs = max(ended-w.startNs-w.longestWaitNs, w.report.DurationNs/2)
	}
	run := func(limit int, estimated bool) (*result.Replay, error) {
		s := o.Settings
		s.serverLimit, s.limitEstimated = limit, estimated
		text, w.report.Settings = s.scenario(w.report, filepath.Base(o.Dir))
		sc, err := files.load(text)
		if err != nil {
			return nil, err
		}
		if w.report.result, err = replay(ctx, sc, w.progress("s")); err != nil {
			return nil, err
		}
		w.report.Replay = w.report.result.Summary.Replay
		return w.report.Replay, nil
	}
	r, err := run(o.Settings.serverLimit, false)
	if err != nil || !r.Disagrees() || slices.ContainsFunc(r.Unknown, hidesLimit) {
		return text, err
	}
	if !o.Settings.limitKnown {
		limit, err := estimateLimit(o.Settings.serverLimit, r, func(limit int) (*result.Replay, error) { return run(limit, true) })
		if err != nil {
			return text, err
		}
		if limit > 0 {
			if r, err = run(limit, true); err != nil {
				return text, err
			}
		}
	}
	redraw := r.Disagrees() && w.report.Drawn.Rejected > 0 && w.report.Requests.InTrace <= mostRedrawn
	for agree, disagree := 0, 1; redraw && max(agree, disagree) < mostDraws; {
		seed := o.Settings.Seed + uint64(agree+disagree)
		if err := w.trace(ctx, o, files.trace, seed); err != nil {
			return text, err
		}
		if r, err = run(o.Settings.serverLimit, o.Settings.limitEstimated); err != nil {
			return text, err
		}
		if r.Disagrees() {
			disagree++
		} else {
			agree++
		}
	}
	return text, nil
}

// Execution times of rejected requests are drawn, so that a disagreement may be that of a draw. It counts if most of five draws
// disagree, of which there are as many as it takes to know it: mostDraws alike. The last draw is the one that is kept. Longer
// traces are drawn once: with more requests, draws differ less.
const (
	mostDraws   = 3
	mostRedrawn = 100_000
)

// hidesLimit reports whether the limit of a server cannot be found by a log that does not say something: it would only
// make up for executions that are missing, for waits that are executed, and for requests that were queued before.
func hidesLimit(unknown string) bool {
	return unknown == trace.UnknownExecutions || unknown == trace.UnknownWaits || unknown == trace.UnknownQueues
}

// leaveOut returns why a request is not in the trace, "" if it is.
func (w *traceWriter) leaveOut(q *requests.Request) string {
	a := q.Attributes()
	long := a.LongRunning()
	switch {
	case q.Server != w.server:
		return ofOtherServer
	case q.ArrivalNs >= w.endNs:
		return afterTo
	case q.ArrivalNs < w.startNs && q.EndNs >= 0 && q.EndNs <= w.startNs, q.ArrivalNs < w.startNs && !long && q.EndNs < 0:
		return beforeFrom
	case q.ArrivalNs < w.startNs && !long, q.ArrivalNs < w.startNs && whose429(q) == byFlowControl:
		return acrossFrom
	case q.Verb == "":
		return withoutVerb
	case q.Resource == "" && q.Path == "":
		return withoutTarget
	case !w.checker.readable(q):
		return undecodable
	}
	return ""
}

// request writes a request, or counts why it is left out.
func (w *traceWriter) request(q *requests.Request) error {
	w.stamps.forget(q)
	if reason := w.leaveOut(q); reason != "" {
		w.report.Requests.leaveOut(reason)
		return nil
	}
	t := timesOf(q, w.startNs, w.endNs)
	from := noSample
	if t.source == drawn {
		t.executionNs, from = w.samples.draw(q)
	}
	learned := q.User == "" && w.clients.identify(q) // after the draw, since the samples have no users then
	rejected := whose429(q) == byFlowControl
	beginNs := max(q.ArrivalNs, w.startNs)
	dispatchNs := beginNs + max(0, t.waitNs)
	watchEndNs := dispatchNs + t.executionNs
	record := trace.Record{
		ID: w.id + 1, ArrivalNs: beginNs - w.startNs,
		User: q.User, Groups: q.Groups, Verb: q.Verb, APIGroup: q.APIGroup, Resource: q.Resource, Subresource: q.Subresource,
		Namespace: q.Namespace, Name: q.Name, Path: q.Path, Query: q.Query,
		ExecutionNs: t.executionNs,
	}
	if isWatch(q) && !rejected {
		end := q.EndNs
		if !t.ended {
			end = max(w.endNs, watchEndNs)
		}
		record.WatchNs = max(0, end-watchEndNs)
		watchEndNs += record.WatchNs
	}
	logged := trace.Logged{FlowSchema: w.checker.fullSchema(q.FlowSchema), PriorityLevel: w.checker.fullLevel(q.PriorityLevel),
		DispatchNs: -1, FinishNs: -1, WaitNs: t.waitNs, Seats: q.Seats, FinalSeats: -1, AdditionalLatencyNs: -1}
	switch {
	case rejected:
		logged.Outcome = trace.Rejected
	case t.ended || t.source != drawn || q.Status != 0:
		logged.Outcome = trace.Executed
	}
	if logged.Outcome == trace.Executed && t.waitNs >= 0 {
		logged.DispatchNs = dispatchNs - w.startNs
		if t.source != drawn {
			logged.FinishNs = logged.DispatchNs + t.executionNs
		}
	}
	if q.FinalSeats > 0 {
		logged.FinalSeats, logged.AdditionalLatencyNs = q.FinalSeats, q.AdditionalNs
	}
	if logged.Seats > math.MaxInt16 || logged.FinalSeats > math.MaxInt16 { // which no server takes: the line is damaged
		logged.Seats, logged.FinalSeats, logged.AdditionalLatencyNs = -1, -1, -1
	}
	w.line = trace.AppendLogged(w.line[:0], &record, &logged)
	if len(w.line) > longestLine || max(record.ArrivalNs, record.ExecutionNs, record.WatchNs, logged.DispatchNs, logged.FinishNs, logged.WaitNs, logged.AdditionalLatencyNs) > random.LongestNs {
		w.report.Requests.leaveOut(longerThanLine)
		return nil
	}
	w.id++
	if t.waitNs > w.longestWaitNs {
		w.longestWaitNs = t.waitNs
	}
	w.count(q, t, from, learned)
	d, err := w.checker.see(q, beginNs, watchEndNs, w.report.Files[q.File].Name)
	if err != nil {
		return err
	}
	d.exempt = w.checker.exempt(d.level)
	if !d.exempt && w.checker.fullAtStart(d.level, t.waitNs, rejected && t.waitNs >= 0 && t.waitNs < atOnceNs) {
		w.report.QueuesFull = true
	}
	w.table.add(q, t, d, beginNs, w.startNs)
	_, err = w.out.Write(w.line)
	return err
}

// count counts a request that is in the trace.
func (w *traceWriter) count(q *requests.Request, t times, from drawLevel, learned bool) {
	r := w.report
	r.Requests.InTrace++
	verb := q.Verb
	if q.Resource == "" {
		verb = otherVerbs
	}
	r.Verbs = addCount(r.Verbs, verb)

	rejected := whose429(q) == byFlowControl
	switch {
	case rejected:
		r.Outcomes.Rejected++
	case !t.ended:
		r.Outcomes.WithoutEnd++
	default:
		r.Outcomes.Executed++
	}
	if whose429(q) == byOthers {
		r.Outcomes.OtherTooManyRequests++
	}
	*[executionKinds]*int64{drawn: &r.Times.Drawn, measured: &r.Times.Measured, totalLessWait: &r.Times.TotalLessWait,
		totalWithWait: &r.Times.TotalWithWait, untilStarted: &r.Times.UntilStarted, lifetime: &r.Times.Lifetime, openBefore: &r.Times.OpenBefore}[t.source]++
	if t.source == drawn {
		*[drawReasons]*int64{drawnForRejected: &r.Drawn.Rejected, drawnForNoEnd: &r.Drawn.WithoutEnd, drawnForWatch: &r.Drawn.Watches}[t.reason]++
		*[...]*int64{byUser: &r.Drawn.FromUser, byResource: &r.Drawn.FromResource, byVerb: &r.Drawn.FromVerb, byNothing: &r.Drawn.FromAny, noSample: &r.Drawn.None}[from]++
	}
	switch {
	case t.source == totalWithWait && t.executionNs <= second/2:
		r.Waits.UnknownShort++
	case t.source == totalWithWait:
		r.Waits.UnknownLonger++
	case t.waitNs >= 0 && !rejected:
		r.Waits.Known++
	}
	if isWatch(q) && !rejected {
		r.Watches.Total++
		if t.source == openBefore {
			r.Watches.OpenBefore++
		}
		if !t.ended {
			r.Watches.WithoutEnd++
		}
	}
	switch {
	case learned:
		r.Users.Learned++
	case strings.HasPrefix(q.User, result.UnknownUser):
		r.Users.Unknown++
	default:
		r.Users.Known++
		if q.GroupsUnknown {
			r.Users.GroupsUnknown++
		}
	}
	if a := q.Attributes(); q.Seats <= 0 && t.source != openBefore && !a.Bypasses(w.checker.rules) {
		r.SeatsUnknown++
	}
	if q.PriorityLevel == "" {
		return
	}
	i := slices.IndexFunc(r.Levels, func(l LevelCounts) bool { return l.PriorityLevel == q.PriorityLevel })
	if i < 0 {
		i, r.Levels = len(r.Levels), append(r.Levels, LevelCounts{PriorityLevel: q.PriorityLevel})
	}
	if rejected {
		r.Levels[i].Rejected++
	} else {
		r.Levels[i].Dispatched++
	}
}
