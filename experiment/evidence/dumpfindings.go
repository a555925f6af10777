package evidence

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"apfsim/experiment/incident"
	"apfsim/lint/metrics"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/report"
	"apfsim/reports/result"
)

// many writes a number with the words for one or several.
func many(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return format.Whole(n) + " " + many
}

func choose(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// concludeDumps adds what all dumps say.
func concludeDumps(e *evidence) {
	if len(e.dumps) == 0 {
		return
	}
	all := moments(e.dumps)
	reports := e.onlyServer()
	ofMetrics := len(e.findings)
	for _, m := range all {
		m.complete(e.shapeOf)
		m.beside(e, reports)
		if len(all) == 1 {
			m.name = ""
		}
		m.disagreements(e)
		found := len(e.findings)
		for _, l := range m.levels {
			m.find(e, l)
		}
		if reports != nil && len(all) == 1 && !m.apart {
			e.join(ofMetrics)
		}
		if len(e.findings) == found {
			e.findings = append(e.findings, m.nothing(reports != nil))
		}
		m.list(e)
	}
	e.compareMoments(all)
	m := all[0]
	requests, details := m.dumps[requestsDump], false
	if requests != nil {
		details = requests.has("UserName")
	}
	e.want(requests == nil, dumpRequests, "whose requests wait, for how long, and who shares whose queues")
	e.want(requests != nil && !details, "the same dump_requests with ?includeRequestDetails=1", "the user, the verb and the path of each request")
	e.want(m.dumps[levelsDump] == nil, "dump_priority_levels", "how many requests of each priority level were rejected, from 1.27 on")
	e.want(reports == nil || reports.sinceStart(), "two scrapes of /metrics of this server, a minute apart", "whether it goes on, whether executions became longer, and the limits of the levels at that time")
	e.want(e.shapes == nil, "kubectl get flowschemas,prioritylevelconfigurations -o yaml", "hands, queues, and what each level may lend and borrow")
	if reports == nil {
		e.cannot("Dumps are of one moment: they do not say when requests were rejected, whether that goes on, or whether executions take longer than usual.")
		e.cannot("Dumps do not have the limits of the levels: they do not say whether seats were lent, or are free.")
	}
	e.cannot("They show only flow control: not what etcd, webhooks, other filters of the server and other servers do.")
	if requests != nil && !requests.has("StartTime") {
		e.cannot("Before Kubernetes 1.28, a dump of requests does not have those that execute, so that it does not say who has the seats.")
	}
}

// join joins what a dump says of a level to what the metrics of the same server do, if both can be true: the metrics say why, and the
// dump says who. The findings before the index are those of metrics.
func (e *evidence) join(ofMetrics int) {
	e.findings = slices.DeleteFunc(e.findings, func(f Finding) bool { return e.joined(&f, e.findings[:ofMetrics]) })
}

func (e *evidence) joined(f *Finding, metrics []Finding) bool {
	if f.Cause == nil || f.Doubt {
		return false
	}
	i := slices.IndexFunc(metrics, func(m Finding) bool {
		return m.Doubt && m.Cause.Level == f.Cause.Level && (m.Cause.Kind == f.Cause.Kind || slices.Contains(m.Cause.Or, f.Cause.Kind))
	})
	if i < 0 {
		return false
	}
	m := &metrics[i]
	c := m.Cause
	c.Sentence += " At the moment of the dump, " + f.Cause.Sentence
	c.Flows, c.Figures = f.Cause.Flows, append(c.Figures, f.Cause.Figures...)
	if strings.HasSuffix(c.Confirm, dumpRequests) {
		c.Confirm = ""
	}
	flows := slices.DeleteFunc(f.Harmed, func(h result.Harmed) bool { return h.Flow == "" && h.Workload == h.Level }) // the metrics have its FlowSchemas
	m.Harmed, m.Try = append(m.Harmed, flows...), append(f.Try, m.Try...)
	return true
}

// onlyServer returns the server whose metrics are there; nil if there are none, or those of several.
func (e *evidence) onlyServer() *server {
	if e.collected == nil {
		return nil
	}
	if servers, _, _ := e.collected.servers(); len(servers) == 1 {
		return servers[0]
	}
	return nil
}

// beside adds the nominal limits of the metrics to the levels, and warns of metrics of another moment: what a dump says to have been
// rejected is what the metrics count or, of two scrapes or a series, between the first and the last of them.
func (m *moment) beside(e *evidence, s *server) {
	if s == nil {
		return
	}
	for _, l := range m.levels {
		of := func(one *series) bool { return one.level() == l.name }
		l.nominal = s.gauge(of, metrics.NominalLimit, metrics.ConcurrencyLimit).last
		rejected := s.gauge(of, metrics.RejectedTotal)
		if l.row == nil || !l.row.counted || !rejected.known() && l.row.rejected == 0 {
			continue
		}
		first := rejected.last
		if !s.sinceStart() {
			first = s.gaugeAt([]int{0}, of, metrics.RejectedTotal).sum // 0 before its first event
		}
		if int64(first) <= l.row.rejected && l.row.rejected <= int64(rejected.last) {
			continue
		}
		m.apart = true
		e.warnings = append(e.warnings, fmt.Sprintf("the metrics and the dump are not of the same moment, or not of the same server: %s of %s had been rejected in the metrics, and %s in %s",
			result.RequestCount(int64(rejected.last)), l.name, format.Whole(l.row.rejected), place(m.dumps[levelsDump])))
	}
}

// want adds an input that would tell more.
func (e *evidence) want(missing bool, input, tells string) {
	if w := (incident.Wanted{Input: input, Tells: tells}); missing && !slices.Contains(e.wanted, w) {
		e.wanted = append(e.wanted, w)
	}
}

// cannot adds what the files cannot say.
func (e *evidence) cannot(sentence string) {
	if !slices.Contains(e.unknown, sentence) {
		e.unknown = append(e.unknown, sentence)
	}
}

// disagreements warns of dumps that are not of the same moment, or not of the same server. The requests of a server change a little
// while it answers one after another.
func (m *moment) disagreements(e *evidence) {
	for _, l := range m.levels {
		inQueues, inList := int64(0), int64(0)
		for _, q := range l.queues {
			inQueues += q.pending
		}
		for _, f := range l.flows {
			inList += f.waiting
		}
		var counts []string
		least, most := int64(math.MaxInt64), int64(0)
		add := func(kind dumpKind, n int64, is bool) {
			if d := m.dumps[kind]; d != nil && is && !d.leftOut {
				least, most = min(least, n), max(most, n)
				counts = append(counts, fmt.Sprintf("%d in %s", n, place(d)))
			}
		}
		if l.row != nil {
			add(levelsDump, l.row.waiting, true)
		}
		add(queuesDump, inQueues, len(l.queues) > 0)
		add(requestsDump, inList, true)
		if least < most-most/10 {
			e.warnings = append(e.warnings, fmt.Sprintf("the dumps are not of the same moment, or not of the same server: the requests that wait at %s are %s", l.name, strings.Join(counts, ", ")))
		}
	}
}

// place is where a dump is: its file and line.
func place(d *dump) string {
	at := d.at
	at.File = filepath.Base(at.File)
	return at.String()
}

// nothing is the finding of dumps in which no request waits and none was rejected. How long requests waited before, only metrics tell.
func (m *moment) nothing(beside bool) Finding {
	f := Finding{Status: result.Unknown, Sentence: "No request waits at the moment of the dump" + m.where() + ", which does not say whether requests were rejected before"}
	if d := m.dumps[levelsDump]; d != nil && d.has("RejectedRequests") && !d.leftOut {
		f.Sentence = "No request waits at the moment of the dump" + m.where() + ", and none was rejected since the server started; whether requests waited before is not known"
	}
	if beside {
		f.Status = result.OK
	}
	return f
}

func (m *moment) where() string {
	if m.name == "" {
		return ""
	}
	return " (" + m.name + ")"
}

// find adds the findings of a level.
func (m *moment) find(e *evidence, l *levelNow) {
	waiting, rejected := l.waiting(), int64(0)
	if l.row != nil {
		rejected = l.row.rejected
	}
	if waiting == 0 && rejected == 0 {
		return
	}
	f := Finding{Status: result.Unknown}
	oldest := m.oldest(l)
	if l.listed && oldest > judge.GoodWaitNs {
		f.Status = result.Warning
	}
	if rejected > 0 {
		sent := l.row.dispatched + rejected + l.row.waiting
		f.Status, f.Decided = judge.Decide([]result.Judged{{Of: result.OfLevel, Name: l.name, Arrived: sent, NotServed: rejected}})
		f.Sentence = fmt.Sprintf("%s of %s of %s %s rejected since the server started%s", judge.ShareText(rejected, sent), result.RequestCount(sent), l.name, judge.Were(rejected), l.reasons())
		f.Harmed = append(f.Harmed, result.Harmed{Role: result.Victim, Workload: l.name, Name: l.name, Level: l.name, Sent: sent, Served: l.row.dispatched, Open: l.row.waiting,
			NotServed: result.NotServed{Rejected: rejected}, Causes: []string{}})
	}
	if waiting > 0 {
		text := ""
		if n := l.executing(); n >= 0 {
			text = ", while " + many(n, "executes", "execute")
		}
		switch {
		case !l.listed && rejected == 0:
			text += "; for how long is not known"
		case l.listed && oldest >= time.Millisecond:
			text += fmt.Sprintf("; the first of them has waited for %s or longer", format.Duration(float64(oldest)))
		}
		if rejected > 0 {
			f.Sentence += fmt.Sprintf("; at the moment of the dump %s%s", many(waiting, "waits", "wait"), text)
		} else {
			f.Sentence = fmt.Sprintf("At the moment of the dump %s at %s%s", many(waiting, "request waits", "requests wait"), l.name, text)
		}
	}
	f.Sentence += m.where()
	f.Cause, f.Try = l.cause(e)
	if f.Cause == nil {
		f.Try = l.lookFor()
	}
	f.Harmed = append(f.Harmed, m.harmed(l)...)
	if f.Harmed == nil {
		f.Harmed = []result.Harmed{}
	}
	e.findings = append(e.findings, f)
	if c := l.hand(); c != nil {
		e.findings = append(e.findings, Finding{Status: result.OK, Cause: c, Sentence: strings.TrimSuffix(c.Sentence, "."), Try: []result.Remedy{
			{Remedy: result.ChangeHandSize, Sentence: fmt.Sprintf("Change handSize or queues of %s, so that hands overlap less.", l.name)}}})
	}
}

// lookFor says what to find out before a change, where the dumps show no mechanism.
func (l *levelNow) lookFor() []result.Remedy {
	r := result.Remedy{Remedy: result.NoChange, Causes: []string{}}
	has, known := l.queuing()
	widest, wide := l.widest()
	switch {
	case known && !has:
		r.Sentence = fmt.Sprintf("First find out which FlowSchemas assign requests to %s, which has no queues and rejects what finds no free seat.", l.name)
	case l.listed && l.waiting() > 0 && wide > 0:
		r.Sentence = fmt.Sprintf("First find out how many seats of %s are free while requests of up to %d seats are next: two scrapes of /metrics tell whether these hold up the others, or it has too few seats, or lent some.", l.name, widest)
	case l.listed && l.waiting() > 0:
		r.Sentence = fmt.Sprintf("First find out what fills the seats of %s: two scrapes of /metrics tell whether it has too few, or lent some, or executions became longer.", l.name)
	default:
		r.Sentence = fmt.Sprintf("First find out whose requests of %s wait, while they do: %s.", l.name, dumpRequests)
	}
	return []result.Remedy{r}
}

// reasons says why requests were rejected, as far as the counters tell. RejectedRequests includes CancelledRequests, which are those
// that had been in a queue.
func (l *levelNow) reasons() string {
	at := l.row.rejected - l.row.cancelled
	var parts []string
	if at > 0 {
		switch has, known := l.queuing(); {
		case !known:
			parts = append(parts, format.Whole(at)+" when they arrived")
		case has:
			parts = append(parts, format.Whole(at)+" as queues were full")
		default:
			parts = append(parts, format.Whole(at)+" as all seats were taken and it has no queues")
		}
	}
	if n := l.row.cancelled; n > 0 {
		parts = append(parts, format.Whole(n)+" timed out in a queue, or were given up there")
	}
	return ": " + strings.Join(parts, ", ")
}

// cause says who has most of what waits, and with which certainty. It is nil where the dumps cannot tell the mechanism.
func (l *levelNow) cause(e *evidence) (*result.Cause, []result.Remedy) {
	waiting := l.waiting()
	c := &result.Cause{Level: l.name, Workloads: []string{}, Flows: []result.CauseFlow{}}
	active, of := l.active()
	c.Figures = []result.Figure{{Name: "waiting", Value: float64(waiting)}}
	if active >= 0 {
		c.Figures = append(c.Figures, result.Figure{Name: "queuesInUse", Value: float64(active)})
	}
	if of >= 0 {
		c.Figures = append(c.Figures, result.Figure{Name: "queues", Value: float64(of)})
	}
	if n := l.seats(); n >= 0 {
		c.Figures = append(c.Figures, result.Figure{Name: "seatsInUse", Value: float64(n)})
	}
	if has, known := l.queuing(); known && !has {
		e.cannot(fmt.Sprintf("Whether %s, which has no queues, had too many requests at once or too wide ones: metrics tell (work_estimated_seats).", l.name))
		return nil, nil
	}
	if waiting == 0 {
		return nil, nil
	}
	if !l.listed {
		hand := l.shape.hand
		if active <= 0 || hand == 0 || active > hand || waiting < deepQueues*active {
			return nil, nil
		}
		c.Kind = result.ByDemand
		c.Figures = append(c.Figures, result.Figure{Name: "handSize", Value: float64(hand)})
		assumed := "its hand"
		if l.shape.assumed {
			assumed = "its hand in a new cluster"
		}
		c.Or, c.Confirm = []result.Kind{result.ByLending, result.BySeats, result.ByExecution, result.ByWideLists}, dumpRequests
		c.Sentence = fmt.Sprintf("%s in %s of %s. One flow has the %s of %s: one flow, or few, can have sent all of them; dump_requests says which.",
			many(waiting, "request waits", "requests wait"), format.Counted(int(active), "queue"), l.name, format.Counted(int(hand), "queue"), assumed)
		return c, []result.Remedy{{Remedy: result.LimitClient, Sentence: "Find that flow with dump_requests, and let it send less at a time."},
			{Remedy: result.OwnLevel, Sentence: "Give it a priority level of its own, if others of " + l.name + " suffer from it."}}
	}
	if widest, wide := l.widest(); wide > 0 {
		e.cannot(fmt.Sprintf("Whether requests of %s wait although seats are free: %s next in %s, up to %d seats each, and wait until so many are free. The limit of the level tells (metrics).",
			l.name, many(wide, "request of more than one seat is", "requests of more than one seat are"), choose(wide == 1, "its queue", "their queues"), widest))
	}
	if n := l.seats(); n > 0 && float64(n) < lentSeats*l.nominal {
		if widest, _ := l.widest(); widest == 1 {
			c.Kind = result.ByLending
			c.Figures = append(c.Figures, result.Figure{Name: "nominalLimit", Value: l.nominal})
			c.Sentence = fmt.Sprintf("Requests of one seat wait while %s of %s are in use: these are all that it has at this moment. Its nominal limit is %s, so that it has lent the others.",
				seatsText(float64(n)), l.name, seatsText(l.nominal))
			return c, []result.Remedy{{Remedy: result.LendLess, Sentence: fmt.Sprintf("Let %s lend fewer seats: a lower lendablePercent.", l.name)}}
		}
	}
	total := 0.0
	var over []*flowNow
	for _, f := range l.flows {
		total += f.asked()
		if f.over {
			over = append(over, f)
		}
	}
	slices.SortStableFunc(over, func(a, b *flowNow) int { return -cmp.Compare(a.asked(), b.asked()) })
	if len(over) == 0 {
		return l.byNamespace(e, c, total)
	}
	c.Kind = result.ByDemand
	for _, f := range over[:min(len(over), result.MostCauseFlows)] {
		cf := result.CauseFlow{Flow: f.name(), Name: f.short, ShareOfDemand: f.asked() / total}
		if f.share > 0 {
			cf.OfFairShare = f.asked() / f.share
		}
		c.Flows = append(c.Flows, cf)
	}
	first := over[0]
	who := first.short
	c.Or = []result.Kind{result.ByLending, result.BySeats, result.ByExecution}
	c.Confirm = "two scrapes of /metrics, a minute apart"
	if widest, _ := l.widest(); widest > 1 {
		c.Or = append(c.Or, result.ByWideLists)
	}
	alone := len(over) == 1 || first.asked() >= 2*over[1].asked()
	if alone {
		c.Sentence = fmt.Sprintf("%s has %s of the %s at %s", who, format.Whole(first.waiting), many(waiting, "request that waits", "requests that wait"), l.name)
		if first.waitingSeats > first.waiting {
			c.Sentence += fmt.Sprintf(", for %s seats", format.Whole(first.waitingSeats))
		}
		if l.started {
			c.Sentence += fmt.Sprintf(", and %s of the %s that execute there; in seats, it asks for %s its fair share", format.Whole(first.executing), format.Whole(l.executing()),
				timesText(c.Flows[0].OfFairShare))
		}
		if more := len(over) - 1; more > 0 {
			c.Sentence += fmt.Sprintf(". %s for much more than others, too", many(int64(more), "other flow asks", "other flows ask"))
		}
	} else {
		var texts []string
		for _, f := range over[:min(len(over), 3)] {
			texts = append(texts, fmt.Sprintf("%s (%s waiting, %s executing)", f.short, format.Whole(f.waiting), format.Whole(f.executing)))
		}
		c.Sentence = fmt.Sprintf("%s of %s ask for much more than the others, and for more than their fair share: %s", format.Counted(len(over), "flow"), l.name, strings.Join(texts, ", "))
		if more := len(over) - len(texts); more > 0 {
			c.Sentence += fmt.Sprintf(" and %s", format.Counted(more, "other"))
		}
		who = names(over)
	}
	c.Sentence += "."
	try := []result.Remedy{{Remedy: result.LimitClient, Sentence: fmt.Sprintf("Let %s send less at a time.", who)}}
	try = append(try, result.Remedy{Remedy: result.OwnLevel, Sentence: fmt.Sprintf("Give %s a priority level of %s own.", who, choose(alone, "its", "their"))})
	if widest, _ := l.widest(); widest > 1 {
		try = append(try, result.Remedy{Remedy: result.ListInPages, Sentence: fmt.Sprintf("Let %s list in pages.", l.widestFlow().short)})
	}
	return c, try
}

// timesText says how many times of something it is.
func timesText(ratio float64) string {
	if ratio < 10 {
		return format.Percent(ratio) + " of"
	}
	return format.Number(ratio) + " times"
}

// deepQueues is how many requests must wait in each queue for few queues to be a sign of few flows.
const deepQueues = 3

// byNamespace completes the cause with the namespace that asks for most. Without one, who caused it cannot be told.
func (l *levelNow) byNamespace(e *evidence, c *result.Cause, total float64) (*result.Cause, []result.Remedy) {
	flows := l.oneNamespace()
	if flows == nil {
		e.cannot(fmt.Sprintf("Why requests of %s wait: those of %s do, of which none stands out. The level may have too few seats, may have lent some, or executions became longer.",
			l.name, format.Counted(l.waitingFlows(), "flow")))
		return nil, nil
	}
	name := flows[0].namespace()
	waiting, asked := int64(0), 0.0
	for _, f := range flows {
		waiting += f.waiting
		asked += f.asked()
		f.limited = true
	}
	c.Kind = result.ByDemand
	c.Figures = append(c.Figures, result.Figure{Name: "flows", Value: float64(len(flows))}, result.Figure{Name: "ofDemand", Value: asked / total})
	for _, f := range flows[:min(len(flows), result.MostCauseFlows)] {
		c.Flows = append(c.Flows, result.CauseFlow{Flow: f.name(), Name: f.short, ShareOfDemand: f.asked() / total})
	}
	c.Or, c.Confirm = []result.Kind{result.ByLending, result.BySeats, result.ByExecution, result.ByHand}, "two scrapes of /metrics, a minute apart"
	c.Sentence = fmt.Sprintf("Service accounts of the namespace %s have %s of the %s at %s and, with those that execute, %s of the seats that are asked for. They are %s, each with a fair share of its own.",
		name, format.Whole(waiting), many(l.waiting(), "request that waits", "requests that wait"), l.name, format.Percent(asked/total), format.Counted(len(flows), "flow"))
	return c, []result.Remedy{{Remedy: result.MergeFlows, Sentence: fmt.Sprintf("Make the flows of %s one flow, by a FlowSchema with the distinguisher ByNamespace.", name)},
		{Remedy: result.LimitClient, Sentence: fmt.Sprintf("Let the clients in %s send less at a time.", name)}}
}

func (l *levelNow) waitingFlows() (n int) {
	for _, f := range l.flows {
		if f.waiting > 0 {
			n++
		}
	}
	return n
}

// widestFlow returns the flow of the widest request that is next in a queue.
func (l *levelNow) widestFlow() *flowNow {
	var widest *dumpedRequest
	for _, r := range l.requests {
		if !r.executing() && r.position == 0 && (widest == nil || r.seats > widest.seats) {
			widest = r
		}
	}
	return l.flows[slices.IndexFunc(l.flows, func(f *flowNow) bool { return f.schema == widest.schema && f.distinguisher == widest.flow })]
}

// hand returns the cause that flows which ask for no more than their fair share wait behind others. A request joins the queue of its
// hand with the least waiting work. One that is behind a request of another flow had work of others in all queues of its hand.
func (l *levelNow) hand() *result.Cause {
	var victims, by []*flowNow
	for _, f := range l.flows {
		if len(f.behind) == 0 {
			continue
		}
		victims = append(victims, f)
		for _, o := range f.behind {
			if !slices.Contains(by, o) {
				by = append(by, o)
			}
		}
	}
	if len(victims) == 0 {
		return nil
	}
	c := &result.Cause{Kind: result.ByHand, Level: l.name, Workloads: []string{}, Flows: []result.CauseFlow{},
		Figures: []result.Figure{{Name: "flows", Value: float64(len(victims))}, {Name: "coveredBy", Value: float64(len(by))}}}
	total := 0.0
	for _, f := range l.flows {
		total += f.asked()
	}
	for _, f := range by[:min(len(by), result.MostCauseFlows)] {
		c.Flows = append(c.Flows, result.CauseFlow{Flow: f.name(), Name: f.short, ShareOfDemand: f.asked() / total, OfFairShare: f.asked() / f.share})
	}
	first := victims[0]
	c.Sentence = fmt.Sprintf("%s asks for no more than its fair share, and waits in queue %s behind requests of %s: when it arrived, no queue of its hand was empty",
		first.short, numbers(first.behindIn), names(first.behind))
	if more := len(victims) - 1; more > 0 {
		c.Sentence += "; so do " + format.Counted(more, "other flow")
	}
	c.Sentence += "."
	return c
}

func numbers(all []int64) string {
	var texts []string
	for _, n := range all {
		texts = append(texts, strconv.FormatInt(n, 10))
	}
	return format.Listed(texts, 6, "")
}

func names(flows []*flowNow) string {
	var texts []string
	for _, f := range flows {
		texts = append(texts, f.short)
	}
	return format.Listed(texts, 3, "")
}

// mostHarmed is how many flows of a level have rows.
const mostHarmed = 20

// harmed returns the flows with waiting requests: first those that ask for no more than their share.
func (m *moment) harmed(l *levelNow) (rows []result.Harmed) {
	for _, limited := range []bool{false, true} {
		for _, f := range l.flows {
			if f.waiting == 0 || f.limited != limited || len(rows) == mostHarmed {
				continue
			}
			role := result.Victim
			if limited {
				role = result.WasLimited
			}
			n := f.waiting + f.executing
			rows = append(rows, result.Harmed{Role: role, Workload: f.short, Flow: f.name(), Name: f.short, Level: l.name, Flows: 1, Sent: n, Open: n, Causes: []string{}})
		}
	}
	return rows
}

// list adds the tables of levels and flows, and rows of clients.
func (m *moment) list(e *evidence) {
	number := func(n int64) report.Cell {
		if n < 0 {
			return report.Cell{Text: "–"}
		}
		return report.Cell{Text: format.Whole(n), Value: float64(n), Number: true}
	}
	levels := report.Definition[levelNow]{
		{Column: report.Column{Title: "Priority level", Short: "priority level", Left: true}, Cell: func(l *levelNow) report.Cell { return report.Word(l.name) }},
		{Column: report.Column{Title: "Waiting", Short: "waiting"}, Cell: func(l *levelNow) report.Cell { return number(l.waiting()) }},
		{Column: report.Column{Title: "Queues in use", Short: "queues"}, Cell: func(l *levelNow) report.Cell {
			c := number(-1)
			switch n, of := l.active(); {
			case n >= 0 && of >= 0:
				c = number(n)
				c.Text += " of " + format.Whole(of)
			case n >= 0:
				c = number(n)
			}
			return c
		}},
		{Column: report.Column{Title: "Executing", Short: "executing"}, Cell: func(l *levelNow) report.Cell { return number(l.executing()) }},
		{Column: report.Column{Title: "Seats in use", Short: "seats"}, Cell: func(l *levelNow) report.Cell { return number(l.seats()) }},
		{Column: report.Column{Title: "Rejected since the start", Short: "rejected"}, Cell: func(l *levelNow) report.Cell {
			if l.row == nil || !l.row.counted {
				return number(-1)
			}
			return number(l.row.rejected)
		}},
	}
	t := &report.Table{Name: "levels", Title: "The priority levels at the moment of the dump" + m.where(), Caption: "Priority levels at the moment of the dump", Columns: levels.Columns()}
	flows := report.Definition[flowNow]{
		{Column: report.Column{Title: "Flow", Short: "flow", Left: true}, Cell: func(f *flowNow) report.Cell {
			c := report.Word(f.short)
			c.Whole = f.name()
			return c
		}},
		{Column: report.Column{Title: "User", Short: "user", Left: true}, Cell: func(f *flowNow) report.Cell { return report.Word(f.user) }},
		{Column: report.Column{Title: "Waiting", Short: "waiting"}, Cell: func(f *flowNow) report.Cell { return number(f.waiting) }},
		{Column: report.Column{Title: "Oldest wait", Short: "oldest"}, Cell: func(f *flowNow) report.Cell {
			if f.waiting == 0 {
				return report.Cell{Text: "–"}
			}
			d := float64(m.asOf.Sub(f.oldest))
			return report.Cell{Text: "≥ " + format.Duration(d), Value: d, Number: true}
		}},
		{Column: report.Column{Title: "Executing", Short: "executing"}, Cell: func(f *flowNow) report.Cell {
			if !m.dumps[requestsDump].has("StartTime") {
				return number(-1)
			}
			return number(f.executing)
		}},
		{Column: report.Column{Title: "Seats: in use and asked for", Short: "seats"}, Cell: func(f *flowNow) report.Cell { return number(f.seats + f.waitingSeats) }},
		{Column: report.Column{Title: "Waits in queues", Short: "queues", Left: true}, Cell: func(f *flowNow) report.Cell { return report.Word(numbers(f.queues)) }},
		{Column: report.Column{Title: "Shares them with", Short: "shared with", Left: true}, Cell: func(f *flowNow) report.Cell { return report.Word(names(f.sharesWith)) }},
	}
	if d := m.dumps[requestsDump]; d != nil && !d.has("UserName") {
		flows = slices.Delete(flows, 1, 2)
	}
	list := &report.Table{Name: "flows", Title: "The flows at the moment of the dump" + m.where(), Caption: "Flows at the moment of the dump", Columns: flows.Columns(), First: flowsShown}
	found := 0
	for _, l := range m.levels {
		if l.waiting() > 0 || l.executing() > 0 || l.row != nil && l.row.rejected > 0 {
			t.Rows = append(t.Rows, levels.Row(l))
		}
		for _, f := range l.flows {
			if f.waiting > 0 || len(list.Rows) < flowsShown {
				if found++; found <= mostListed {
					list.Rows = append(list.Rows, flows.Row(f))
				}
			}
			if f.user != "" {
				e.clients = append(e.clients, m.client(l, f))
			}
		}
	}
	if more := found - mostListed; more > 0 {
		list.Missing = format.Counted(more, "other flow") + " wait."
	}
	e.add("levels", t)
	e.add("flows", list)
}

// How many flows a terminal shows, and how many a table has.
const (
	flowsShown = 10
	mostListed = 1000
)

// client is the row of a user whom the dump names.
func (m *moment) client(l *levelNow, f *flowNow) *incident.LoggedClient {
	c := &incident.LoggedClient{User: f.user, Name: f.short, Sent: f.waiting + f.executing, Open: f.waiting + f.executing, ByReason: map[string]int64{},
		FirstAt: f.first.UTC().Format(time.RFC3339Nano), LastAt: f.last.UTC().Format(time.RFC3339Nano), FlowSchema: f.schema, PriorityLevel: l.name,
		Hand: []int{}, SharedQueuesWith: []string{}}
	for _, o := range f.sharesWith {
		c.SharedQueuesWith = append(c.SharedQueuesWith, o.short)
	}
	return c
}

// compareMoments says what was counted between dumps of the same server. They have no times.
func (e *evidence) compareMoments(all []*moment) {
	for i := 1; i < len(all); i++ {
		a, b := all[i-1].dumps[levelsDump], all[i].dumps[levelsDump]
		if a == nil || b == nil || !a.has("RejectedRequests") || !b.has("RejectedRequests") {
			continue
		}
		fell, grew := "", []string{}
		for k := range b.levels {
			later := &b.levels[k]
			at := slices.IndexFunc(a.levels, func(l dumpedLevel) bool { return l.name == later.name })
			if at < 0 {
				continue
			}
			first := &a.levels[at]
			if later.dispatched < first.dispatched || later.rejected < first.rejected {
				fell = later.name
			}
			if n := later.rejected - first.rejected; n > 0 {
				grew = append(grew, fmt.Sprintf("%s of %s", result.RequestCount(n), later.name))
			}
		}
		switch {
		case fell != "":
			e.warnings = append(e.warnings, fmt.Sprintf("%s and %s are of different servers, of a server that was started again, or not in the order of time: the counters of %s fell", place(a), place(b), fell))
		case len(grew) > 0:
			e.warnings = append(e.warnings, fmt.Sprintf("between %s and %s, %s were rejected, if both are of the same server", place(a), place(b), format.Listed(grew, 5, "")))
		}
	}
}
