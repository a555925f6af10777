package evidence

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"apfsim/core/queueset"
	"apfsim/experiment/incident"
	"apfsim/lint/metrics"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// The limits of the rules. Each is between what runs with the cause show and what others show, see TestLibraryThroughMetrics.
const (
	leastForP99    = 100              // requests
	longWaitNs     = judge.GoodWaitNs // of a wait p99, from which on it is a warning
	mostlyFull     = 0.9              // of the time, in which a level is full nearly always
	wideHeldBack   = 0.05             // of the requests that arrived: from then on wide requests block seats
	slower         = 1.5              // by how many times executions grew
	notSlower      = 1.2              // below it they did not
	leastExecuted  = 30               // executions for a mean of them
	emptyQueues    = 0.5              // of the places in queues: below it a rejection for a full queue is of few flows
	fewSeats       = 3                // nominal seats
	ofOneSchema    = 0.8              // of the seats in use or of the requests, which one FlowSchema has
	lentSeats      = 0.97             // of the nominal seats: below it, a limit is that of a level that has lent seats
	dominantReason = 0.9
	idle           = 0.5 // of the seats in use, up to which a level has seats to spare
	slowRequest    = 1.0 // seconds, and slowList those of requests of several seats: the objectives of Kubernetes for p99 (SLO of API calls)
	slowList       = 5.0
	muchExempt     = 0.25 // of the seats of the server, from which on exempt requests are mentioned
)

// catchAll is the level and the FlowSchema of requests that match no other.
const catchAll = "catch-all"

// judgedGroup returns the figures that the status follows from.
func judgedGroup(g *group) *result.Judged {
	j := &result.Judged{Of: result.OfLevel, Name: g.level, Arrived: int64(g.arrived()), NotServed: int64(g.rejected)}
	if g.schema != "" {
		j.Of, j.Name = result.OfFlow, g.schema
	}
	if low, _, known := g.waitP99(); known && g.waits.Count() >= leastForP99 {
		j.WaitP99Ns = int64(low * 1e9)
	}
	return j
}

// waitP99 returns the bounds of the bucket with the 99th percentile of the waits, in seconds.
func (g *group) waitP99() (low, high float64, known bool) {
	low, high = g.waits.Percentile(99, g.waits.Count())
	return low, high, !math.IsNaN(low)
}

// waitText writes the bounds of the bucket of a wait.
func waitText(low, high float64) string {
	switch {
	case high <= 0:
		return "0"
	case math.IsInf(high, 1):
		return "more than " + format.Duration(low*1e9)
	}
	return format.Duration(low*1e9) + " to " + format.Duration(high*1e9)
}

// conclude adds what the metrics of a server say, and returns how many requests it served or rejected.
func (s *server) conclude(e *evidence, levels []*level, others [][]*level) (all served) {
	at := ""
	several := len(others) > 0
	if several && s.name != "" {
		at = " at " + s.name
	}
	for _, l := range levels {
		all.arrived += l.arrived()
		s.addUse(e, l, several)
		if f := s.finding(l, levels, others, at); f != nil {
			all.harmed = true
			e.findings = append(e.findings, *f)
		}
	}
	if f := s.answers(levels, at); f != nil {
		all.harmed = true
		e.findings = append(e.findings, *f)
	}
	e.findings = append(e.findings, s.restarted(at)...)
	all.silent = !s.tellsRejections()
	all.noWaits = len(s.series[metrics.WaitSeconds+"_bucket"]) == 0
	return all
}

// leastOfAll is how many metrics a query gives that asks for all of them, and not for chosen ones.
const leastOfAll = 10

// tellsRejections reports whether the metrics would say that requests were rejected. The counter appears with its first event, so
// that its absence says that there was none, unless only other metrics were asked for.
func (s *server) tellsRejections() bool {
	if len(s.series[metrics.RejectedTotal]) > 0 {
		return true
	}
	if len(s.series[metrics.DispatchedTotal])+len(s.series[metrics.WaitSeconds+"_count"]) == 0 {
		return false
	}
	chosen := func(f *incident.Source) bool {
		return f.Kind == incident.QueryRange || f.Kind == incident.QueryInstant
	}
	return len(s.series) >= leastOfAll || !slices.ContainsFunc(s.files, chosen)
}

// served is the requests of servers.
type served struct {
	arrived float64
	harmed  bool
	silent  bool // a server does not report its requests
	noWaits bool // it does not report their waits
	apart   bool // the scrapes are of different processes, so that nothing is known of the time between them
}

func (a *served) add(b served) {
	a.arrived += b.arrived
	a.harmed, a.silent, a.noWaits = a.harmed || b.harmed, a.silent || b.silent, a.noWaits || b.noWaits
}

// finding says that all is well, if that is known; nil if it is not.
func (a *served) finding(servers []*server) *Finding {
	if a.harmed || len(servers) == 0 {
		return nil
	}
	n, when := int64(a.arrived), servers[0].observed()
	if len(servers) > 1 {
		when += " at " + format.Counted(len(servers), "server")
	}
	f := &Finding{Status: result.Unknown}
	switch {
	case a.silent:
		f.Sentence = "The metrics do not say whether requests were rejected"
	case a.apart:
		f.Sentence = "The scrapes are of different processes, and none has rejected requests since its start; what happened between the scrapes is not known"
	case n < judge.LeastRequests:
		f.Sentence = fmt.Sprintf("%s arrived %s; it takes %d to say that all is well", result.RequestCount(n), when, judge.LeastRequests)
	case a.noWaits:
		f.Sentence = fmt.Sprintf("All %s were served %s, but the metrics do not say how long they waited", result.RequestCount(n), when)
	default:
		f.Status, f.Sentence = result.OK, fmt.Sprintf("All %s were served %s, and no priority level had a wait p99 above %s", result.RequestCount(n), when, format.Duration(longWaitNs))
	}
	return f
}

// finding returns what happened at a level, nil if that is nothing bad.
func (s *server) finding(l *level, all []*level, others [][]*level, at string) *Finding {
	judged := []result.Judged{*judgedGroup(&l.group)}
	for _, g := range l.schemas {
		judged = append(judged, *judgedGroup(g))
	}
	status, decided := judge.Decide(judged)
	if l.uncounted && status == result.Harm { // of how many requests they are is not known
		status, decided = result.Warning, nil
	}
	if status == result.OK {
		return nil
	}
	f := &Finding{Status: status, Decided: decided}
	low, high, waited := l.waitP99()
	wait := waitText(low, high)
	if decided != nil && decided.Unit == "ns" { // the figure is a bound of its bucket
		for _, g := range append(slices.Clone(l.schemas), &l.group) {
			if low, high, _ := g.waitP99(); judgedGroup(g).Name == decided.Name {
				decided.Sentence = strings.Replace(decided.Sentence, "was "+format.Duration(decided.Value), "was "+waitText(low, high), 1)
			}
		}
	}
	when := s.observed()
	fromMs, toMs := int64(0), int64(0)
	if l.firstHarm > 0 && !s.ordered {
		fromMs, toMs = s.atMs[l.firstHarm-1], s.atMs[l.lastHarm]
		if s.startMs > 0 || !s.estimated {
			when = fmt.Sprintf("between %s and %s", clock(fromMs), clock(toMs+999))
		}
	}
	if l.uncounted && l.rejected > 0 {
		f.Sentence = fmt.Sprintf("%s of %s%s %s rejected %s (%s); of how many is not in these metrics", result.RequestCount(int64(l.rejected)), l.level, at, judge.Were(int64(l.rejected)), when, l.reasonsText())
	} else if l.rejected > 0 {
		n, of := int64(l.rejected), int64(l.arrived())
		f.Sentence = fmt.Sprintf("%s of the %s of %s%s %s rejected %s (%s)", judge.ShareText(n, of), result.RequestCount(of), l.level, at, judge.Were(n), when, l.reasonsText())
		if waited && judgedGroup(&l.group).WaitP99Ns >= longWaitNs {
			f.Sentence += ", and the wait p99 was " + wait
		}
	} else {
		f.Sentence = fmt.Sprintf("The wait p99 of %s%s was %s %s; no request was rejected", l.level, at, wait, when)
	}
	for _, g := range l.schemas {
		j := judgedGroup(g)
		if g.rejected == 0 && j.WaitP99Ns < longWaitNs {
			continue
		}
		h := result.Harmed{Workload: g.schema, Name: g.schema, Level: l.level, Flows: 1, Sent: j.Arrived, Served: j.Arrived - j.NotServed,
			NotServed: result.NotServed{Rejected: j.NotServed}, Causes: []string{}}
		if l.uncounted {
			h.Sent, h.Served = 0, 0
		}
		if low, high, known := g.waitP99(); known && !math.IsInf(high, 1) {
			lowNs, highNs := int64(low*1e9), int64(high*1e9)
			h.WaitP99Ns, h.WaitP99HighNs = &lowNs, &highNs
		}
		f.Harmed = append(f.Harmed, h)
	}
	f.Doubt = true
	f.Cause, f.Try = s.mechanism(l, all, others)
	if s.lengthMs() > 0 {
		f.Cause.ToNs = s.lengthMs() * 1e6
	}
	return f
}

// reasonsText lists the reasons of rejections, the most frequent first.
func (g *group) reasonsText() string {
	var reasons []string
	for reason := range g.reasons {
		reasons = append(reasons, reason)
	}
	slices.SortFunc(reasons, func(a, b string) int {
		switch x, y := g.reasons[a], g.reasons[b]; {
		case x != y:
			return int(math.Copysign(1, y-x))
		}
		return strings.Compare(a, b)
	})
	if len(reasons) == 1 {
		return reasons[0]
	}
	for i, reason := range reasons {
		reasons[i] = fmt.Sprintf("%s %s", format.Whole(int64(g.reasons[reason])), reason)
	}
	return strings.Join(reasons, ", ")
}

// mechanism returns the cause of what happened at a level, as far as the metrics tell it, with the others that fit as well, and what
// may help.
func (s *server) mechanism(l *level, all []*level, others [][]*level) (*result.Cause, []result.Remedy) {
	m := &mechanism{server: s, level: s.whileHarmed(l), all: all, others: others, cause: &result.Cause{Level: l.level, Workloads: []string{}, Flows: []result.CauseFlow{}, Figures: []result.Figure{}}}
	m.decide()
	m.cause.Sentence = fmt.Sprintf(cmp.Or(m.lead, leads[m.cause.Kind]), l.level) + " " + strings.Join(m.said, " ")
	return m.cause, m.remedies()
}

// leads are what happened at a level, by the kind of the cause.
var leads = map[result.Kind]string{
	result.ByDemand: "More was asked of %s than it has seats for.", result.BySeats: "%s has too few seats.", result.ByWideLists: "Requests of several seats held up %s.",
	result.ByLending: "%s had lent its seats.", result.ByExecution: "Executions of %s became slower.",
}

// unclear is what happened at a level of which several kinds of causes fit as well.
const unclear = "Requests of %s waited for seats, or were rejected."

// mechanism is a cause under construction.
type mechanism struct {
	*server
	*level
	all    []*level
	others [][]*level // of the other servers
	cause  *result.Cause
	lead   string // of a cause that cannot be told from others; else that of its kind
	said   []string
}

func (m *mechanism) say(format string, args ...any) {
	m.said = append(m.said, fmt.Sprintf(format, args...))
}

func (m *mechanism) figure(name string, value float64) {
	m.cause.Figures = append(m.cause.Figures, result.Figure{Name: name, Value: value})
}

// is sets the kind, and those that fit as well.
func (m *mechanism) is(kind result.Kind, or ...result.Kind) { m.cause.Kind, m.cause.Or = kind, or }

// decide finds the mechanism: the first of the rules that fits.
func (m *mechanism) decide() {
	l := m.level
	m.facts()
	grew, more, known := m.slowdown()
	rejects := l.reasons[queueset.ConcurrencyLimit.String()] >= dominantReason*l.rejected && l.rejected > 0
	held := l.noAccommodation >= wideHeldBack*l.arrived() && l.noAccommodation > 0 && (l.wider > 0 || !l.width.known())
	gaveBack := l.current.known() && l.current.most > l.nominal.most && l.current.least < lentSeats*l.current.most
	lent := l.current.known() && l.nominal.known() && l.current.least < lentSeats*l.nominal.least
	atUpper := l.current.known() && l.upper.known() && l.current.most >= l.upper.least && l.upper.least < 0.99*m.serverSeats()
	demand := []result.Kind{result.BySeats, result.ByHand}
	if l.rejected > 0 || l.uncounted { // else nothing was sent again
		demand = append(demand, result.ByRetries)
	}
	if gaveBack && !lent {
		m.say("Its limit was between %s and %s: it had borrowed seats, and gave some back.", format.Number(l.current.least), seatsText(l.current.most))
	}
	if m.mayHaveLent() || gaveBack {
		demand = append(demand, result.ByLending)
	}
	switch {
	case grew && more:
		m.is(result.ByDemand, append([]result.Kind{result.ByExecution, result.ByWideLists}, demand...)...)
		m.cause.Confirm = "all levels at once if the server is slow; else who sends: " + dumpRequests
	case grew:
		or := append([]result.Kind{result.ByDemand}, demand...)
		if held {
			or = append(or, result.ByWideLists)
		}
		m.is(result.ByExecution, or...)
		m.cause.Confirm = "the same at all levels at once, and the latencies of etcd and of webhooks in the metrics of the server"
	case rejects && l.width.known() && l.wider > 0 && l.nominal.known() && l.width.value() > l.nominal.most/2:
		m.is(result.ByWideLists, result.BySeats, result.ByDemand)
		m.say("The level rejects what does not fit at once, and its requests need %s seats on average, where it has %s.", format.Number(l.width.value()), format.Number(l.nominal.most))
		m.cause.Confirm = "the buckets of work_estimated_seats, and the seats of requests in an audit log"
	case l.nominal.known() && l.nominal.most <= fewSeats:
		m.is(result.BySeats, append([]result.Kind{result.ByDemand, result.ByWideLists}, demand[1:]...)...)
		m.say("The level has %s only.", seatsText(l.nominal.most))
		m.cause.Confirm = "the shares of the level: kubectl get prioritylevelconfiguration " + l.level + " -o yaml"
	case held && l.used.known() && l.full < mostlyFull:
		m.is(result.ByWideLists)
		if lent {
			m.cause.Or = append(m.cause.Or, result.ByLending)
		}
		if l.demand.known() && l.demand.value() > 1 {
			m.cause.Or = append([]result.Kind{result.ByDemand}, demand...)
		}
		m.say("These waited until enough seats were free, while some were.")
		m.cause.Confirm = "the buckets of work_estimated_seats, and InitialSeats of dump_requests"
	case held && !l.used.known():
		m.is(result.ByWideLists, append([]result.Kind{result.ByDemand}, demand...)...)
		m.say("These waited until enough seats were free.")
		m.cause.Confirm = "how long the level was full, from two scrapes of all metrics"
	case lent:
		m.is(result.ByLending)
		if !l.used.known() || l.full > mostlyFull || m.sinceStart() {
			m.cause.Or = append([]result.Kind{result.ByDemand}, demand...)
		}
		m.say("It had %s of its %s nominal seats at the least: others had borrowed them, and an adjustment each 10 s gives them back.", format.Number(l.current.least), format.Number(l.nominal.least))
		m.cause.Confirm = "min_over_time(apiserver_flowcontrol_current_limit_seats) below the nominal limit when requests waited"
	case l.used.known() && l.full >= mostlyFull:
		m.is(result.ByDemand, demand...)
		if held {
			m.cause.Or = append(m.cause.Or, result.ByWideLists)
			m.say("%s times, the next request needed more seats than were free.", format.Whole(int64(l.noAccommodation)))
		}
		if atUpper {
			if !slices.Contains(demand, result.ByLending) {
				m.cause.Or = append(m.cause.Or, result.ByLending)
			}
			m.say("It may not borrow more: its limit was at the upper bound of %s.", seatsText(l.upper.most))
		}
		m.queues()
	case l.used.known():
		// Full for a part of the time, in which its seats may have been lent.
		m.is(result.ByDemand, append(demand, result.ByWideLists)...)
		if m.noHeldBack() {
			m.cause.Or = slices.DeleteFunc(m.cause.Or, func(k result.Kind) bool { return k == result.ByWideLists })
		}
		if slices.Contains(demand, result.ByLending) {
			m.say("Either more was asked for in a part of this time, or the level had lent seats in it.")
		} else {
			m.say("More was asked for in a part of this time.")
		}
		m.queues()
		m.lead = unclear
		m.cause.Confirm = "a series with a sample each 10 s: which of the current limit and the demand changed"
	default:
		m.is(result.ByDemand, append(demand, result.ByWideLists)...)
		m.lead = unclear
		m.say("Which of a demand above its seats, wide requests and lent seats it was cannot be told from these series.")
		m.cause.Confirm = "two scrapes of all metrics: kubectl get --raw /metrics"
	}
	fits := func(k result.Kind) {
		if m.cause.Kind != k && !slices.Contains(m.cause.Or, k) {
			m.cause.Or = append(m.cause.Or, k)
		}
	}
	if !known {
		fits(result.ByExecution) // there is nothing to compare executions with
	} else if mean := l.execution.value(); !grew && l.execution.known() && mean >= m.slow() {
		fits(result.ByExecution)
		m.say("They may have been slow before, too: Kubernetes aims at %s for 99 %% of such requests.", format.Duration(m.slow()*1e9))
	}
	if len(m.restarts) > 0 {
		fits(result.ByStoppedServer)
		fits(result.ByExecution)
		fits(result.ByRetries)
	}
	m.cause.Or = slices.DeleteFunc(m.cause.Or, func(k result.Kind) bool { return k == m.cause.Kind })
	if m.cause.Confirm == "" {
		m.cause.Confirm = "who is in the queues: " + dumpRequests
	}
}

// dumpRequests is the one source that names users without an audit log.
const dumpRequests = "kubectl get --raw '" + dumpsPath + "dump_requests" + withDetails + "'"

func seatsText(n float64) string {
	if n == 1 {
		return "1 seat"
	}
	return format.Number(n) + " seats"
}

// serverSeats is the sum of the nominal limits.
func (m *mechanism) serverSeats() (sum float64) {
	for _, l := range m.all {
		if l.nominal.known() {
			sum += l.nominal.most
		}
	}
	return sum
}

// adjustedMs is how often a server adjusts the limits.
const adjustedMs = 10_000

// mayHaveLent reports whether the level may have had fewer seats than its nominal ones at a time of which there is no sample.
func (m *mechanism) mayHaveLent() bool {
	if lower := m.lower; lower.known() && m.nominal.known() && lower.least >= m.nominal.most {
		return false // it lends none
	}
	if !m.current.known() || m.sinceStart() || m.ordered || m.firstHarm <= 1 { // then requests may have waited before
		return true
	}
	for i := 1; i < len(m.atMs); i++ {
		if m.atMs[i]-m.atMs[i-1] > adjustedMs {
			return true
		}
	}
	return false
}

func (m *mechanism) noHeldBack() bool {
	return len(m.series[metrics.NoAccommodation]) > 0 && m.noAccommodation == 0 || len(m.series[metrics.EstimatedSeats+"_count"]) > 0 && m.width.known() && m.wider == 0
}

// facts says how full the level was, and what filled it.
func (m *mechanism) facts() {
	l := m.level
	if l.used.known() {
		m.figure("seatsUsed", l.used.value())
		m.figure("timeFull", l.full)
		while := "It"
		if len(l.harmedAt) < m.intervals() {
			while = "While requests waited or were rejected, it"
		}
		text := fmt.Sprintf("%s used %s of its seats on average, and was full for %s of the time", while, format.Percent(l.used.value()), format.Percent(l.full))
		if l.demand.known() {
			m.figure("demand", l.demand.value())
			text += fmt.Sprintf("; %s of them were asked for", format.Percent(l.demand.value()))
		}
		m.say("%s.", text)
	} else if l.average.known() && l.current.known() {
		m.figure("demandSeats", l.average.most)
		m.say("It was asked for up to %s on average in 10 s, with a limit of %s.", seatsText(l.average.most), seatsText(l.current.last))
	}
	if l.noAccommodation > 0 {
		m.figure("noAccommodation", l.noAccommodation)
	}
	if l.width.known() {
		m.figure("seatsOfRequest", l.width.value())
	}
	if one, share, what := l.dominant(); one != "" {
		m.say("FlowSchema %s has %s of its %s.", one, format.Percent(share), what)
	}
	if l.level == catchAll {
		m.say("Its requests match no other FlowSchema.")
	}
	for _, o := range m.all {
		if seats := o.seats; o.exempt() && seats.known() && seats.value() >= muchExempt*m.serverSeats() && m.serverSeats() > 0 {
			m.say("Exempt requests, which nothing limits, held %s on average.", seatsText(seats.value()))
		}
	}
	if n, most := m.idleElsewhere(); n > 0 {
		m.say("At the other %s it used at most %s of its seats: connections stay where they are.", serversText(n), format.Percent(most))
	}
}

// idleElsewhere reports at how many other servers the level is mostly idle, if it is so at all of them while it is full here, and
// how much of its seats is used there at most.
func (m *mechanism) idleElsewhere() (servers int, most float64) {
	if !m.used.known() || m.full < mostlyFull {
		return 0, 0
	}
	for _, levels := range m.others {
		for _, o := range levels {
			if o.level == m.level.level && o.used.known() {
				servers, most = servers+1, max(most, o.used.value())
			}
		}
	}
	if most > idle {
		return 0, 0
	}
	return servers, most
}

func serversText(n int) string {
	if n == 1 {
		return "server"
	}
	return format.Counted(n, "server")
}

// dominant returns the FlowSchema with most of the level, if there are others.
func (l *level) dominant() (name string, share float64, what string) {
	if len(l.schemas) < 2 {
		return "", 0, ""
	}
	seats, requests := 0.0, 0.0
	for _, g := range l.schemas {
		if g.seats.known() {
			seats += g.seats.value()
		}
		requests += g.arrived()
	}
	for _, g := range l.schemas {
		if seats > 0 && g.seats.known() && g.seats.value() >= ofOneSchema*seats {
			return g.schema, g.seats.value() / seats, "seats in use"
		}
	}
	for _, g := range l.schemas {
		if seats == 0 && g.arrived() >= ofOneSchema*requests {
			return g.schema, g.arrived() / requests, "requests"
		}
	}
	return "", 0, ""
}

// slowdown reports whether executions of the level took longer than before, whether the requests grew by more than that, and whether
// all that can be told.
func (m *mechanism) slowdown() (grew, more, known bool) {
	l := m.level
	before, now, since := l.before, l.execution, beforeFirst
	if before.n < leastExecuted && l.firstHarm > 0 {
		before, now, since = m.outside()
	}
	if before.n < leastExecuted || now.n < leastExecuted {
		return false, false, false
	}
	if before == l.before {
		before = l.sameMix()
	}
	times := now.value() / before.value()
	m.figure("executionRatio", times)
	text := fmt.Sprintf("Its executions took %s on average, and %s %s", format.Duration(now.value()*1e9), format.Duration(before.value()*1e9), since)
	if times < slower {
		if times < notSlower {
			m.say("%s: they did not become slower.", text)
		}
		return false, false, times < notSlower
	}
	ran := m.atMs[0] - m.startMs
	if since != beforeFirst || m.ordered || m.startMs == 0 || ran <= 0 || m.lengthMs() == 0 {
		m.say("%s: the server became slower, or other requests came.", text)
		return true, false, true
	}
	rate := l.arrived() / float64(m.lengthMs()) / (l.arrivedBefore / float64(ran))
	m.figure("requestRatio", rate)
	m.say("%s: the server became slower, or other requests came. %s times as many requests arrived per second as before.", text, format.Number(rate))
	return true, rate > times, true
}

// slow returns how long the executions of the level take on average at least, in seconds, if they are slow by themselves.
func (m *mechanism) slow() float64 {
	if m.width.known() && m.width.value() >= 2 {
		return slowList
	}
	return slowRequest
}

const beforeFirst = "before the first scrape"

// sameMix returns the executions before the first scrape as they would have been with the requests that came later, by FlowSchema:
// other requests do not make a server slow. FlowSchemas without requests before are as the level was.
func (l *level) sameMix() mean {
	all := mean{}
	for _, g := range l.schemas {
		before := g.before
		if before.n < leastExecuted {
			before = l.before
		}
		all.sum, all.n = all.sum+g.execution.n*before.value(), all.n+g.execution.n
	}
	if !all.known() {
		return l.before
	}
	return all
}

// outside returns the executions before requests waited or were rejected, and those while they did.
func (m *mechanism) outside() (before, during mean, since string) {
	of := func(one *series) bool { return one.level() == m.level.level && one.labels["type"] != "watch" }
	return m.timed(metrics.ExecutionSeconds, 1, m.firstHarm, of), m.timed(metrics.ExecutionSeconds, m.firstHarm, m.lastHarm+1, of), "before requests waited"
}

// queues says whether a few queues or all were full.
func (m *mechanism) queues() {
	l := m.level
	full := l.reasons[queueset.QueueFull.String()]
	if !l.waiting.known() || full == 0 || m.full < mostlyFull {
		return
	}
	m.figure("placesInQueuesUsed", l.waiting.value())
	if l.waiting.value() < emptyQueues*l.full {
		m.say("Requests were rejected because their queues were full, while %s of all places in queues were used: a few flows fill the queues of their hands.", format.Percent(l.waiting.value()))
		m.cause.Confirm = "few of the queues are full in dump_queues; whose requests these are: " + dumpRequests
	}
}

// remedies returns what may help against the mechanism, without naming users.
func (m *mechanism) remedies() (all []result.Remedy) {
	add := func(id result.RemedyID, sentence string, args ...any) {
		all = append(all, result.Remedy{Remedy: id, Sentence: fmt.Sprintf(sentence, args...)})
	}
	c := m.cause
	who := m.level.level
	if len(m.schemas) > 0 {
		who = "FlowSchema " + m.schemas[0].schema
	}
	or := func(k result.Kind) bool { return slices.Contains(c.Or, k) }
	find := "Find the user first, with dump_requests while it lasts, or apfsim diagnose and an audit log of one minute."
	switch c.Kind {
	case result.ByExecution:
		add(result.NoChange, "No change of flow control helps if executions are slow: look for the reason in etcd, webhooks and the processor.")
		add(result.LimitClient, "Let the clients of %s send less at a time.", who)
	case result.ByWideLists:
		add(result.ListInPages, "Let the clients of %s list in pages, or watch instead of listing.", who)
		if !or(result.ByExecution) {
			add(result.ListLevel, "Give the lists a FlowSchema and a priority level of their own. %s", find)
		}
	case result.ByLending:
		if !or(result.ByExecution) {
			add(result.LendLess, "Let %s lend fewer seats: a lower lendablePercent.", m.level.level)
		}
	default:
		add(result.LimitClient, "Let the clients of %s send less at a time.", who)
		if or(result.ByExecution) { // seats would be the wrong advice if executions are slow
			add(result.NoChange, "Before seats are changed, find out whether executions became slower: compare with a scrape from before.")
			break
		}
		if m.level.level == catchAll {
			add(result.OwnLevel, "Give these requests a FlowSchema that matches before catch-all. %s", find)
			break
		}
		add(result.OwnLevel, "Give the user with most of the requests a FlowSchema and a priority level of its own. %s", find)
		add(result.MoreShares, "Give %s more seats: shares, as far as other levels can spare them, or else more seats of the server.", m.level.level)
		if or(result.ByLending) && m.upper.known() {
			add(result.BorrowMore, "Let %s borrow more: a higher borrowingLimitPercent.", m.level.level)
		}
	}
	if n, _ := m.idleElsewhere(); n > 0 {
		add(result.NoChange, "Let connections move to other servers: --goaway-chance of kube-apiserver.")
	}
	if len(all) == 0 {
		add(result.NoChange, "Before seats are changed, find out whether executions became slower: compare with a scrape from before.")
	}
	return all
}

// kindTexts are the kinds in words, as what may have happened.
var kindTexts = map[result.Kind]string{
	result.ByDemand: "a few clients that ask for too much", result.ByHand: "flows that share full queues", result.ByLending: "seats that were lent",
	result.BySeats: "too few seats for clients that all ask alike", result.ByWideLists: "requests of several seats", result.ByExecution: "executions that became slower",
	result.ByRetries: "rejected requests that are sent again", result.ByInFlightLimit: "the limit of requests in flight", result.ByStoppedServer: "a server that restarted or was not ready",
}

// doubt says which other kinds of causes fit as well, and what would tell which it is; "" if the cause is certain.
func doubt(c *result.Cause) (text string) {
	var others []string
	for _, k := range c.Or {
		others = append(others, kindTexts[k])
	}
	if last := len(others) - 1; last > 0 {
		others = []string{strings.Join(others[:last], ", ") + " or " + others[last]}
	}
	if len(others) > 0 {
		text = " What is known also fits " + others[0] + "."
	}
	if c.Confirm != "" {
		text += " What tells: " + c.Confirm + "."
	}
	return text
}
