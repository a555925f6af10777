//go:build !js

package incident

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/measure"
	"apfsim/reports/result"
)

// judge computes the verdict on clients: all of the log, or one of them.
func (d *Diagnosis) judge(about []*LoggedClient) {
	r := d.imported
	v := result.NewOverall()
	d.Verdict, v.StartNs = v, format.Clock(r.startNs)
	replayed := r.result.Summary.Verdict
	var sum LoggedClient
	for _, c := range about {
		sum.Sent, sum.Rejected, sum.TooMany = sum.Sent+c.Sent, sum.Rejected+c.Rejected, sum.TooMany+c.TooMany
		sum.Timeouts, sum.Errors, sum.Open = sum.Timeouts+c.Timeouts, sum.Errors+c.Errors, sum.Open+c.Open
	}
	n := sum.notServed()
	waited := slices.ContainsFunc(about, func(c *LoggedClient) bool { return c.WaitP99Ns != nil && *c.WaitP99Ns > judge.GoodWaitNs })
	limited := d.limited()
	v.Judged = judgedInLog(about, limited)
	v.Status, v.Decided = judge.Decide(v.Judged)
	slow := sumOf(about)
	lost, _ := slow.slow.causes("", slow.executedNs)
	all := d.Client == "" && !slices.ContainsFunc(about, (*LoggedClient).waitsMissing) &&
		slices.ContainsFunc(about, func(c *LoggedClient) bool { return c.waited.MostNs > judge.GoodWaitNs }) // else waits are those of the replay alone
	switch {
	case v.Status == result.Harm, n.Total() > 0:
	case !d.ReplayTrusted, r.Requests.InTrace < judge.LeastRequests:
		v.Status, v.Decided = result.Unknown, nil
	case all && replayed.Status == result.Harm && r.Replay.RejectedInReplay == 0: // a stall
		v.Status, v.Decided = result.Harm, replayed.Decided
	case waited, v.Status == result.Warning, len(lost) > 0 && 100*slow.slow.Requests >= sum.Sent, all && replayed.Status != result.OK:
		v.Status = result.Warning
	case waitsHidden(about), r.unreadable():
		v.Status = result.Unknown
	}
	d.addHarmed(about, limited, n.Total() > 0)
	d.addCauses(about)
	for i := range v.Harmed {
		for k := range v.Causes {
			if c := &v.Causes[k]; c.Level == "" || c.Level == v.Harmed[i].Level {
				v.Harmed[i].Causes = append(v.Harmed[i].Causes, c.ID)
			}
		}
	}
	d.addTrust(replayed)
	v.Sentence = d.sentence(about, &sum)
}

// limited returns which clients were limited and are no victims: as the replay says if it is trusted, else by what they asked for
// in the log.
func (d *Diagnosis) limited() map[*LoggedClient]bool {
	all := map[*LoggedClient]bool{}
	levels := map[string][]*LoggedClient{}
	for _, c := range d.imported.clients {
		if c.PriorityLevel != "" && !c.unknown {
			levels[c.PriorityLevel] = append(levels[c.PriorityLevel], c)
		}
	}
	type flow struct{ level, name string }
	inReplay := map[flow]bool{}
	for i := range d.imported.result.Summary.Flows {
		if f := &d.imported.result.Summary.Flows[i]; f.Limited {
			inReplay[flow{f.PriorityLevel, f.Name}] = true
		}
	}
	for level, at := range levels {
		if d.ReplayTrusted {
			for _, c := range at {
				all[c] = inReplay[flow{level, c.flow()}]
			}
			continue
		}
		total, executed, served := 0.0, 0.0, 0.0
		for _, c := range at {
			n := c.notServed()
			total, executed, served = total+c.SeatSeconds, executed+c.servedSeatSeconds, served+float64(c.Sent-n.Total())
		}
		asked := func(c *LoggedClient) float64 { return c.SeatSeconds }
		if total == 0 { // requests, where executions are not known
			executed, asked = served, func(c *LoggedClient) float64 { return float64(c.Sent) }
		}
		share := fairShare(at, executed, asked)
		median := asked(at[(len(at)-1)/2]) // fairShare has sorted them
		for _, c := range at {
			f := result.Flow{DemandSeatSeconds: asked(c), FairShareSeatSeconds: min(share, asked(c))}
			if f.Arrived, f.Rejected = c.Sent, c.Rejected; c.WaitP99Ns != nil {
				f.Waiting = *c.WaitP99Ns
			}
			all[c] = judge.Limited(&f, median, 0)
		}
	}
	return all
}

// fairShare sorts clients by what they asked for, and returns the max-min share of what was executed: who asks for less than an
// equal share gets all, and leaves the rest to others.
func fairShare(at []*LoggedClient, executed float64, asked func(*LoggedClient) float64) (share float64) {
	slices.SortStableFunc(at, func(a, b *LoggedClient) int { return cmp.Compare(asked(a), asked(b)) })
	for i, l := range at {
		share = executed / float64(len(at)-i)
		executed -= min(share, asked(l))
	}
	return share
}

// leastOfClient is how many requests a client must have for its wait p99 to be harm.
const leastOfClient = 100

// surelyWaited returns the least that the wait p99 can be: waits that the log does not have may be none.
func (c *LoggedClient) surelyWaited() int64 {
	n := c.waits + c.mayHaveWaited.N
	if n < leastOfClient || n >= 100*c.waits {
		return 0
	}
	return c.waited.PercentileNs(100 - float64(n)/float64(c.waits))
}

// judgedInLog returns the groups that are judged: each level, with its limited clients apart from the others, and each
// client that waited or was not served.
func judgedInLog(about []*LoggedClient, limited map[*LoggedClient]bool) []result.Judged {
	type key struct {
		level   string
		limited bool
	}
	type together struct { // the clients of a level
		at int // in all
		LoggedClient
	}
	levels := map[key]*together{}
	all := []result.Judged{}
	for _, c := range about {
		n := c.notServed()
		j := result.Judged{Of: result.OfFlow, Name: c.Name, Limited: limited[c], Arrived: c.Sent, NotServed: n.Total(), WaitP99Ns: c.surelyWaited()}
		k := key{c.PriorityLevel, j.Limited}
		l := levels[k]
		if l == nil {
			l = &together{at: len(all), LoggedClient: LoggedClient{waited: measure.Histogram{Precision: measure.CoarsePrecision}, mayHaveWaited: measure.Histogram{Precision: measure.CoarsePrecision}}}
			levels[k], all = l, append(all, result.Judged{Of: result.OfLevel, Name: c.PriorityLevel, Limited: j.Limited})
		}
		l.waits += c.waits
		l.waited.Merge(&c.waited)
		l.mayHaveWaited.Merge(&c.mayHaveWaited)
		all[l.at].Arrived, all[l.at].NotServed = all[l.at].Arrived+j.Arrived, all[l.at].NotServed+j.NotServed
		if j.NotServed > 0 || j.WaitP99Ns > 0 {
			all = append(all, j)
		}
	}
	for _, l := range levels {
		all[l.at].WaitP99Ns = l.surelyWaited()
	}
	return all
}

// sumOf returns the sum of how the clients' requests spent their time.
func sumOf(about []*LoggedClient) (sum LoggedClient) {
	for _, c := range about {
		sum.slow.add(&c.slow)
		sum.executedNs += c.executedNs
	}
	return sum
}

// waitsHidden reports whether the log cannot tell that no client waited for longer than is good: it does not have the waits
// of requests that took longer.
func waitsHidden(about []*LoggedClient) bool {
	return slices.ContainsFunc(about, func(c *LoggedClient) bool {
		return c.waitsMissing() && c.mayHaveWaited.PercentileNs(99) > judge.GoodWaitNs
	})
}

// waitsMissing says whether the log does not have the waits of a client.
func (c *LoggedClient) waitsMissing() bool { return c.WaitP99Ns == nil && c.mayHaveWaited.N > 0 }

// mostUnreadable is the part of unreadable lines that is tolerated: the first and the last line of a file are often cut
// off.
const mostUnreadable = 0.01

// mostHarmed is how many clients have rows of their own in a verdict.
const mostHarmed = 100

// addHarmed adds who was harmed: whose requests were not served or, if all were, waited; victims first.
func (d *Diagnosis) addHarmed(about []*LoggedClient, limited map[*LoggedClient]bool, notServed bool) {
	v := d.Verdict
	about = slices.Clone(about)
	slices.SortStableFunc(about, func(a, b *LoggedClient) int {
		return cmp.Compare(map[bool]int{true: 1}[limited[a]], map[bool]int{true: 1}[limited[b]])
	})
	for _, c := range about {
		n := c.notServed()
		if notServed && n.Total() == 0 || !notServed && (c.WaitP99Ns == nil || *c.WaitP99Ns <= judge.GoodWaitNs) {
			continue
		}
		h := result.Harmed{Role: result.Victim, Workload: "recorded", Flow: c.flow(), Name: c.Name, Level: c.PriorityLevel, Flows: 1, Sent: c.Sent, Served: c.Served, Open: c.Open,
			NotServed: n, WaitP99Ns: c.WaitP99Ns, FromNs: c.firstNs, ToNs: c.lastNs, Causes: []string{}}
		if limited[c] {
			h.Role = result.WasLimited
		}
		if c.unknown {
			h.Flow = ""
		}
		if c.fromNs >= 0 {
			h.FromNs, h.ToNs = c.fromNs, c.toNs
		}
		if len(v.Harmed) < mostHarmed {
			v.Harmed = append(v.Harmed, h)
			continue
		}
		rest := &v.Harmed[mostHarmed-1]
		if rest.Flows == 1 {
			rest.Flow, rest.Name, rest.Level, rest.WaitP99Ns = "", "other clients", "", nil
		}
		rest.Flows++
		rest.Sent, rest.Served, rest.Open = rest.Sent+h.Sent, rest.Served+h.Served, rest.Open+h.Open
		rest.NotServed.Add(&n)
		rest.FromNs, rest.ToNs = min(rest.FromNs, h.FromNs), max(rest.ToNs, h.ToNs)
	}
}

// addCauses adds the causes that the replay shows at the levels of clients. If it is not trusted, they are marked, no remedy
// is offered, and the first one is what the log itself says of the demand. What the log says of executions, webhooks and etcd is a
// fact. Where it is the first cause, it explains the demand of its level, and seats are no remedy.
func (d *Diagnosis) addCauses(about []*LoggedClient) {
	v, replayed := d.Verdict, d.imported.result.Summary.Verdict
	if v.Status == result.OK {
		return
	}
	first, others := d.facts(about)
	v.Causes = append(v.Causes, first...)
	defer func() { v.Causes = append(v.Causes, others...) }()
	if v.Status == result.Unknown {
		return
	}
	explained := func(c *result.Cause) bool {
		return c.Kind == result.ByDemand && slices.ContainsFunc(first, func(f result.Cause) bool { return f.Level == "" || f.Level == c.Level })
	}
	level := d.fullest(about)
	concerns := func(c *result.Cause) bool {
		return d.Client == "" || c.Level == "" || slices.ContainsFunc(about, func(a *LoggedClient) bool { return a.PriorityLevel == c.Level })
	}
	if !d.ReplayTrusted || level != "" && !slices.ContainsFunc(replayed.Causes, func(c result.Cause) bool { return c.Level == level }) {
		if c := d.demand(level); c != nil && !explained(c) {
			c.Untrusted = !d.ReplayTrusted
			v.Causes = append(v.Causes, *c)
		}
	}
	for i := range replayed.Causes {
		c := replayed.Causes[i]
		if c.Untrusted = !d.ReplayTrusted; !concerns(&c) || c.Untrusted && c.Kind == result.ByDemand || explained(&c) {
			continue
		}
		v.Causes = append(v.Causes, c)
	}
	if !d.ReplayTrusted || len(first) > 0 {
		return
	}
	for _, t := range replayed.Try {
		if slices.ContainsFunc(v.Causes, func(c result.Cause) bool { return slices.Contains(t.Causes, c.ID) }) {
			v.Try = append(v.Try, t)
		}
	}
}

// facts returns what the log says of time that was lost in executions, webhooks and etcd: first what takes most of the harm with
// it, and others.
func (d *Diagnosis) facts(about []*LoggedClient) (first, others []result.Cause) {
	var levels []string
	for _, c := range about {
		if harmed := slices.ContainsFunc(d.Verdict.Harmed, func(h result.Harmed) bool { return h.Level == c.PriorityLevel }); !slices.Contains(levels, c.PriorityLevel) && (harmed || len(d.Verdict.Harmed) == 0) {
			levels = append(levels, c.PriorityLevel)
		}
	}
	slices.Sort(levels)
	for _, level := range levels {
		if c := d.slowdown(level); c != nil {
			first = append(first, *c)
		}
		at := sumOf(slices.DeleteFunc(slices.Clone(d.imported.clients), func(c *LoggedClient) bool { return c.PriorityLevel != level }))
		if lost, mostly := at.slow.causes(level, at.executedNs); mostly {
			first = append(lost, first...)
		} else {
			others = append(others, lost...)
		}
	}
	for _, all := range [][]result.Cause{first, others} {
		for i := range all {
			all[i].ToNs = cmp.Or(all[i].ToNs, d.imported.DurationNs)
			all[i].ID += "-" + strconv.Itoa(1+slices.IndexFunc(levels, func(l string) bool { return l == all[i].Level }))
		}
	}
	return first, others
}

// slowdown returns the time in which executions of a level took longer than otherwise, if that explains its harm better than the
// number of its requests: they took more times as long than there were more times as many, and most requests that were
// not served came in this time or in one as long after it, in which queues empty. It is nil otherwise.
func (d *Diagnosis) slowdown(level string) *result.Cause {
	r := d.imported
	e := r.executions[level]
	intervals := int((r.DurationNs + r.intervalNs - 1) / r.intervalNs)
	if e == nil {
		return nil
	}
	s, found := e.slowdown(intervals)
	if !found {
		return nil
	}
	sentIn, sent, harmedIn, harmed := 0.0, 0.0, 0.0, 0.0
	for _, c := range r.clients {
		for i := range c.overTime {
			in := &c.overTime[i]
			if c.PriorityLevel != level {
				break
			}
			sent, harmed = sent+float64(in.sent), harmed+float64(in.notServed)
			if at := int(in.index); at >= s.from && at < s.to {
				sentIn += float64(in.sent)
			}
			if at := int(in.index); at >= s.from && at < 2*s.to-s.from {
				harmedIn += float64(in.notServed)
			}
		}
	}
	inside := float64(s.to - s.from)
	more := sentIn / inside / max(1e-9, (sent-sentIn)/(float64(intervals)-inside))
	if s.times <= more || harmedIn < harmed/2 {
		return nil
	}
	fromNs, toNs := int64(s.from)*r.intervalNs, min(r.DurationNs, int64(s.to)*r.intervalNs)
	return &result.Cause{ID: string(result.ByExecution) + "-log", Kind: result.ByExecution, Level: level, FromNs: fromNs, ToNs: toNs, Workloads: []string{"recorded"}, Flows: []result.CauseFlow{},
		Figures: []result.Figure{{Name: "executionRatio", Value: s.times}, {Name: "requestRatio", Value: more}},
		Sentence: fmt.Sprintf("From %s to %s, requests of %s executed for %s times as long as otherwise, while %s times as many were sent per second.",
			d.Verdict.Moment(fromNs), d.Verdict.Moment(toNs), level, format.Number(s.times), format.Number(more))}
}

// fullest returns the priority level with the most rejections of clients, "" without one.
func (d *Diagnosis) fullest(about []*LoggedClient) (level string) {
	rejected := map[string]int64{}
	for _, c := range about {
		if rejected[c.PriorityLevel] += c.Rejected; c.Rejected > 0 && rejected[c.PriorityLevel] > rejected[level] {
			level = c.PriorityLevel
		}
	}
	return level
}

// demand returns what the log says of who asked for most at a priority level: seat-seconds or, without executions,
// requests. Fair shares divide what was executed. It returns nil if the level has no requests.
func (d *Diagnosis) demand(level string) *result.Cause {
	var at []*LoggedClient
	unknown := int64(0)
	total, executed, sent := 0.0, 0.0, int64(0)
	c := &result.Cause{ID: "demand-1", Kind: result.ByDemand, Level: level, FromNs: -1, Workloads: []string{"recorded"}, Flows: []result.CauseFlow{}}
	for _, l := range d.imported.clients {
		if l.PriorityLevel != level || level == "" {
			continue
		}
		if l.unknown {
			unknown += l.Sent // each of an unknown number of clients may have its own share
		} else {
			at = append(at, l)
		}
		total, executed, sent = total+l.SeatSeconds, executed+l.servedSeatSeconds, sent+l.Sent
		if l.fromNs >= 0 && (c.FromNs < 0 || l.fromNs < c.FromNs) {
			c.FromNs = l.fromNs
		}
		c.ToNs = max(c.ToNs, l.toNs)
	}
	if sent == 0 {
		return nil
	}
	c.FromNs = max(0, c.FromNs)
	what, of := "seat-seconds", total
	asked := func(l *LoggedClient) float64 { return l.SeatSeconds }
	if total == 0 {
		what, of, executed = "requests", float64(sent), 0
		asked = func(l *LoggedClient) float64 { return float64(l.Sent) }
	}
	share := fairShare(at, executed, asked)
	slices.Reverse(at)
	for _, l := range at[:min(len(at), result.MostCauseFlows)] {
		f := result.CauseFlow{Flow: l.flow(), Name: l.Name, ShareOfDemand: asked(l) / of, Rejected: l.Rejected}
		if share > 0 {
			f.OfFairShare = asked(l) / min(share, max(asked(l), share/1e9))
		}
		c.Flows = append(c.Flows, f)
	}
	if len(at) > 0 {
		first := &c.Flows[0]
		c.Sentence = fmt.Sprintf("In the log, %s asked for %s of all %s of %s", first.Name, format.Percent(first.ShareOfDemand), what, level)
		if len(at) > 1 && first.OfFairShare > judge.OverDemandingRatio {
			c.Sentence += fmt.Sprintf(", %s of its fair share", format.Percent(first.OfFairShare))
		}
		c.Sentence += "."
	}
	if unknown > 0 {
		c.Sentence = strings.TrimSpace(c.Sentence + fmt.Sprintf(" The user of %s of %s of %s is not known.", format.Whole(unknown), result.RequestCount(sent), level))
	}
	c.Figures = []result.Figure{{Name: "demandSeatSeconds", Value: total}, {Name: "serviceSeatSeconds", Value: executed}}
	return c
}

// addTrust adds the reasons to trust the statistics less.
func (d *Diagnosis) addTrust(replayed *result.Overall) {
	r, v := d.imported, d.Verdict
	add := func(id, sentence string, args ...any) {
		v.Trust = append(v.Trust, result.Trust{ID: id, Sentence: fmt.Sprintf(sentence, args...)})
	}
	if !d.ReplayTrusted {
		add(result.ReplayDiffers, "the replay does not agree with its log, or its configuration is another")
	}
	if n := r.Drawn.WithoutEnd; n > 0 {
		add(result.ExecutionsMissing, "the execution times of %s are not in the log", result.RequestCount(n))
	}
	if n := r.Drawn.Rejected; n > 0 {
		add(result.DrawnExecutions, "the execution times of %s that were rejected are drawn from those of others", result.RequestCount(n))
	}
	if r.AdjustmentPhaseNs == nil {
		add(result.PhaseUnknown, "the log does not say when the server adjusted its limits")
	}
	if r.VersionFrom == VersionAssumed {
		add(result.VersionAssumed, "the release is assumed to be %s, as nothing says it", r.KubernetesVersion)
	}
	for _, t := range replayed.Trust {
		if t.ID != result.ReplayDiffers { // which is said above
			v.Trust = append(v.Trust, t)
		}
	}
}

// sentence says in one line what the log shows.
func (d *Diagnosis) sentence(about []*LoggedClient, sum *LoggedClient) string {
	v := d.Verdict
	of := ""
	if d.Client != "" {
		of = " of " + about[0].Name
	}
	requests := format.Whole(sum.Sent) + " " + format.Plural(int(sum.Sent), "request") + of
	n := sum.notServed()
	if total := n.Total(); total > 0 {
		how := "rejected"
		switch parts := []string{}; {
		case n.Rejected == total:
		case n.Rejected == 0:
			how = "answered with an error"
		default:
			parts = append(parts, format.Whole(n.Rejected)+" rejected", format.Whole(total-n.Rejected)+" answered with an error")
			how = "not served (" + strings.Join(parts, ", ") + ")"
		}
		fromNs, toNs := v.Harmed[0].FromNs, v.Harmed[0].ToNs
		for i := range v.Harmed {
			fromNs, toNs = min(fromNs, v.Harmed[i].FromNs), max(toNs, v.Harmed[i].ToNs)
		}
		text := fmt.Sprintf("%s of %s %s %s from %s to %s", judge.ShareText(total, sum.Sent), requests, judge.Were(total), how, v.Moment(fromNs), v.Moment(toNs))
		switch level := d.fullest(about); {
		case d.ReplayTrusted && len(v.Causes) > 0:
			text += ": " + judge.Clause(&v.Causes[0])
		case level != "":
			text += ", most of them at " + level
		}
		return text + "."
	}
	waits := ""
	longest := (*LoggedClient)(nil)
	for _, c := range about {
		if c.WaitP99Ns != nil && (longest == nil || *c.WaitP99Ns > *longest.WaitP99Ns) {
			longest = c
		}
	}
	if longest != nil {
		waits = fmt.Sprintf("; the wait p99 of %s was %s", longest.Name, format.Duration(float64(*longest.WaitP99Ns)))
	}
	switch {
	case v.Status == result.Unknown && !d.ReplayTrusted:
		return fmt.Sprintf("The log of %s shows no harm by itself, but the replay of it is not trusted%s.", requests, waits)
	case v.Status == result.Unknown && d.imported.Requests.InTrace >= judge.LeastRequests && d.imported.unreadable():
		bad, lines := d.imported.badLines()
		return fmt.Sprintf("All %s in the log were served, but %s of %s cannot be read%s.", requests, format.Whole(bad), format.Counted(int(lines), "line"), waits)
	case v.Status == result.Unknown && d.imported.Requests.InTrace >= judge.LeastRequests:
		return fmt.Sprintf("All %s in the log were served, but it does not say how long they waited%s.", requests, waits)
	case v.Status == result.Unknown:
		return fmt.Sprintf("The log has %s; it takes %d to say that all is well.", requests, judge.LeastRequests)
	case v.Status == result.Harm && d.imported.result.Summary.Verdict.Status == result.Harm:
		return d.imported.result.Summary.Verdict.Sentence
	}
	return fmt.Sprintf("All %s in the log were served%s.", requests, waits)
}

// culprits returns the clients that a cause names: those that asked for more than their fair share or, if none did, the
// first.
func (d *Diagnosis) culprits(c *result.Cause) (all []*LoggedClient) {
	for i := range c.Flows {
		f := &c.Flows[i]
		if i > 0 && f.OfFairShare <= judge.OverDemandingRatio {
			break
		}
		for _, l := range d.imported.clients {
			if l.flow() == f.Flow && l.PriorityLevel == c.Level {
				all = append(all, l)
				break
			}
		}
	}
	return all
}
