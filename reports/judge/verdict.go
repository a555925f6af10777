package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// LeastRequests is how many requests must have arrived for a result to be ok.
const LeastRequests = 100

// Verdict computes the verdict of a run, whose summary keeps the reasons to trust it less that have been found before.
func Verdict(r *result.Result) {
	s := r.Summary
	v := result.NewOverall()
	if s.Verdict != nil {
		v.Trust = s.Verdict.Trust
	}
	if s.Replay.Disagrees() && !s.Verdict.Distrusts(result.ReplayDiffers) {
		v.Trust = append(v.Trust, result.Trust{ID: result.ReplayDiffers, Sentence: "the replay does not agree with its log, so that these figures are not those of the server"})
	}
	v.StartNs = s.StartNs
	s.Verdict = v
	d := &diagnosis{Result: r}
	v.Judged = d.judged()
	d.decide(v)
	if v.Status == result.OK || v.Status == result.Unknown {
		v.Sentence = sentence(r, v)
		return
	}
	v.Causes = d.causes()
	v.Harmed = d.harmed()
	relate(v)
	if s.Replay.Disagrees() { // what only the replay says is as good as the replay
		for i := range v.Causes {
			v.Causes[i].Untrusted = true
		}
	} else {
		v.Try = d.remedies(v.Causes)
	}
	v.Sentence = sentence(r, v)
}

// decide sets the status of a run: the first of the rules that applies.
func (d *diagnosis) decide(v *result.Overall) {
	s := d.Summary
	if s.Replay.Disagrees() { // the log is a fact, and the replay is not
		if v.Status, v.Decided = Decide([]result.Judged{theLog(s.Replay)}); v.Status == result.OK {
			v.Status = result.Unknown
		}
		return
	}
	judged := v.Judged
	if replay := s.Replay; replay != nil && replay.RejectedInLog > 0 && s.Total.Rejected == 0 {
		judged = append(judged, theLog(replay))
	}
	v.Status, v.Decided = Decide(judged)
	if failed := failedGoals(s); len(failed) > 0 && v.Status != result.Harm {
		first := failed[0]
		v.Status, v.Decided = result.Harm, &result.Decided{Of: result.OfGoal, Name: first.Metric, Figure: first.Expression, Limit: first.Limit, Unit: first.Unit,
			Sentence: fmt.Sprintf("the goal %s %s was not reached", first.Metric, first.Expression)}
		if first.Value != nil {
			v.Decided.Value = *first.Value
		}
	}
	switch {
	case v.Status == result.Harm:
	case s.Total.Arrived < LeastRequests:
		v.Status, v.Decided = result.Unknown, nil
	case v.Status == result.Warning:
	case s.Verdict.Distrusts(result.UnknownCapacity), s.CapacityBounds != nil && s.CapacityBounds.Worst != result.OK:
		v.Status, v.Decided = result.Unknown, nil
	}
}

// theLog is what a log itself shows.
func theLog(r *result.Replay) result.Judged {
	return result.Judged{Of: result.OfLevel, Name: "the log", Arrived: r.Requests, NotServed: r.RejectedInLog}
}

// Decide returns the worst status of all who are judged, and the effect that it follows from: of several, one that is near to a worse
// status, then one on a workload before those on levels and flows, then the one that is most above its limit, by requests that were not served first. What is done to flows that were limited is no
// more than a warning.
func Decide(judged []result.Judged) (result.Status, *result.Decided) {
	status, near := result.OK, false
	var best rank
	var decided *result.Decided
	for i := range judged {
		j := &judged[i]
		e, s, isNear := worst(j)
		if j.Limited && s == result.Harm {
			s, isNear = result.Warning, false
		}
		if s != result.OK && e == nil {
			if status == result.OK {
				status, decided = s, &result.Decided{Of: j.Of, Name: j.Name, Figure: growth, Sentence: fmt.Sprintf("the waits or the backlog of %s grow", j.Name)}
			}
			continue
		}
		if e == nil {
			continue
		}
		r := rank{j.Of, j.NotServed, e.value(j) / max(e.limit(s), 1e-9)}
		if s.Worse(status) || s == status && (isNear && !near || isNear == near && r.before(&best)) {
			status, near, best = s, isNear, r
			decided = e.decided(j, s, isNear)
		}
	}
	return status, decided
}

// rank orders effects of the same status.
type rank struct {
	of        string
	notServed int64
	ratio     float64 // of the figure to the limit
}

func (r *rank) before(other *rank) bool {
	place := map[string]int{result.OfWorkload: 1, result.OfLevel: 2, result.OfFlow: 3}
	return cmp.Or(cmp.Compare(place[r.of], place[other.of]), -cmp.Compare(r.notServed, other.notServed), -cmp.Compare(r.ratio, other.ratio)) < 0
}

// limit returns from which value on the effect has a status, and of result.OK that of a warning, to which it is near.
func (e *effect) limit(s result.Status) float64 {
	if s == result.Harm {
		return e.harm
	}
	return e.warning
}

func (e *effect) decided(j *result.Judged, s result.Status, near bool) *result.Decided {
	d := &result.Decided{Of: j.Of, Name: j.Name, Figure: e.figure, Value: e.value(j), Limit: e.limit(s), Unit: e.unit, Near: near}
	name := j.Name
	if j.Limited {
		name = "the limited flows of " + name
	}
	d.Sentence = e.text(name, j)
	limit := func(value float64) string {
		switch {
		case e.unit != "":
			return format.Duration(value)
		case value == 0:
			return "any"
		}
		return format.Percent(value)
	}
	switch {
	case s == result.Harm && e.harm == 0:
		d.Sentence += ", and any is harm"
	case e.harm == noHarm:
		d.Sentence += ", and any is a warning"
	case s == result.OK:
		d.Sentence += fmt.Sprintf(", near the limit of a warning, %s", limit(e.warning))
	case near:
		d.Sentence += fmt.Sprintf(", near the limit of harm, %s", limit(e.harm))
	case s == result.Harm:
		d.Sentence += fmt.Sprintf("; harm begins at %s", limit(e.harm))
	case j.Limited:
		d.Sentence += ", which is a warning, as they asked for more than their share"
	default:
		d.Sentence += fmt.Sprintf("; a warning begins at %s, harm at %s", limit(e.warning), limit(e.harm))
	}
	return d
}

// judged returns the subjects of the verdict: all workloads and levels without the requests of limited flows, the other
// flows with any effect, and the limited flows of each workload and level.
func (d *diagnosis) judged() []result.Judged {
	s := d.Summary
	all := []result.Judged{}
	add := func(of string, g *result.Group, e *result.Asked, grows bool, own func(*result.Flow) bool) {
		j := judgedGroup(g)
		j.Of, j.Grows = of, j.Grows || grows
		if e != nil {
			withoutLimited(j, e)
		}
		limited := result.Judged{Of: of, Name: g.Name, Limited: true}
		for i := range s.Flows {
			f := &s.Flows[i]
			switch {
			case f.Arrived == 0 || !own(f):
			case f.Limited:
				one := judgedFlow(f)
				limited.Arrived, limited.NotServed = limited.Arrived+one.Arrived, limited.NotServed+one.NotServed
				limited.WaitP99Ns, limited.StallNs = max(limited.WaitP99Ns, one.WaitP99Ns), max(limited.StallNs, one.StallNs)
			case of == result.OfLevel:
				j.StallNs = max(j.StallNs, f.StarvationNs) // the longest one of the level may be that of a limited flow
			}
		}
		all = append(all, *j)
		if limited.Arrived > 0 {
			all = append(all, limited)
		}
	}
	for i := range s.Workloads {
		g, e := &s.Workloads[i], (*result.Asked)(nil)
		if d.Evidence != nil {
			e = &d.Evidence.Workloads[i].Asked
		}
		add(result.OfWorkload, g, e, false, func(f *result.Flow) bool { return f.Workload == g.Name })
	}
	for i := range s.PriorityLevels {
		l := &s.PriorityLevels[i]
		e, grows := (*result.Asked)(nil), false
		if own := d.Evidence.LevelNamed(s, l.Name); own != nil {
			e, grows = &own.Asked, own.Grows
		}
		add(result.OfLevel, &l.Group, e, grows, func(f *result.Flow) bool { return f.PriorityLevel == l.Name })
		if st := l.Starvation; st != nil && !slices.ContainsFunc(s.Flows, func(f result.Flow) bool { return f.Limited && f.PriorityLevel == l.Name && f.Name == st.Flow }) {
			at := slices.IndexFunc(all, func(j result.Judged) bool { return j.Of == result.OfLevel && j.Name == l.Name })
			all[at].StallNs = max(all[at].StallNs, st.MaxNs) // of a flow that is not listed, too
		}
	}
	if st := s.Total.Stored; st != nil && st.Values[metric.SlowWatchers] > 0 {
		all = append(all, result.Judged{Of: result.OfServers, Name: "the servers", Arrived: s.Total.Arrived, SlowWatches: st.Values[metric.SlowWatchers]})
	}
	for i := range s.Flows {
		if f := &s.Flows[i]; f.Arrived > 0 && !f.Limited {
			if one := judgedFlow(f); one.NotServed > 0 || one.WaitP99Ns > GoodWaitNs {
				all = append(all, *one)
			}
		}
	}
	return all
}

// judgedFlow returns the figures of a flow: of one with few requests only how many were not served.
func judgedFlow(f *result.Flow) *result.Judged {
	j := judgedGroup(&f.Group)
	j.Of, j.Name, j.StallNs = result.OfFlow, f.ShortName(), f.StarvationNs
	if j.Arrived < LeastRequests {
		j.WaitP99Ns, j.StallNs = 0, 0
	}
	return j
}

// withoutLimited leaves the requests of flows that were limited out.
func withoutLimited(j *result.Judged, asked *result.Asked) {
	if asked.Limited == 0 {
		return
	}
	if asked.Victims == nil {
		j.Arrived, j.NotServed, j.WaitP99Ns, j.StallNs = 0, 0, 0, 0
		return
	}
	g := result.NewGroup(j.Name, asked.Victims)
	j.Arrived, j.NotServed, j.WaitP99Ns = g.Arrived, g.NotServedTotal(), surelyWaited(&g)
}

// failedGoals returns the thresholds that do not hold and are no expectations.
func failedGoals(s *result.Summary) (all []*result.Verdict) {
	for i := range s.Thresholds {
		if v := &s.Thresholds[i]; !v.Passed && v.Kind != metric.Expect {
			all = append(all, v)
		}
	}
	return all
}

// idlePeriod is a time in which no request was dispatched, or none was served.
type idlePeriod struct {
	ns, fromNs int64  // fromNs is negative if it is not known
	text       string // what did not happen
}

// longestStall returns the longest stall or freeze of a workload or level, or starvation of a flow.
func longestStall(s *result.Summary) (longest idlePeriod) {
	take := func(next idlePeriod) {
		if next.ns > longest.ns {
			longest = next
		}
	}
	freeze := func(g *result.Group, whose string) {
		if g.Arrived > 0 && g.Freeze != nil {
			take(idlePeriod{g.Freeze.MaxNs, g.Freeze.FromNs, "no request of " + whose + " was served"})
		}
	}
	for i := range s.Workloads {
		g := &s.Workloads[i]
		if g.Arrived > 0 && g.Stall != nil {
			take(idlePeriod{g.Stall.MaxNs, g.Stall.FromNs, "no request of " + g.Name + " was dispatched"})
		}
		freeze(g, g.Name)
	}
	for i := range s.PriorityLevels {
		l := &s.PriorityLevels[i]
		freeze(&l.Group, l.Name)
		if st := l.Starvation; l.Arrived > 0 && st != nil && st.MaxNs > longest.ns {
			take(idlePeriod{st.MaxNs, -1, "no request of the flow " + s.ShortName(l.Name, st.Flow) + " was dispatched"})
		}
	}
	return longest
}

// sentence says in one line what happened.
func sentence(r *result.Result, v *result.Overall) string {
	s := r.Summary
	requests := format.Whole(s.Total.Arrived) + " " + format.Plural(int(s.Total.Arrived), "request")
	why := ""
	if len(v.Causes) > 0 {
		why = ": " + Clause(&v.Causes[0])
	}
	if replay := s.Replay; replay.Disagrees() {
		if replay.RejectedInLog > 0 {
			return fmt.Sprintf("%s of %s requests were rejected in the log, with which the replay does not agree.",
				format.ShareOf(replay.RejectedInLog, replay.Requests), format.Whole(replay.Requests))
		}
		return "The replay does not agree with its log, in which nothing was rejected."
	}
	victims, limited, limitedCount := 0, 0, int64(0)
	for i := range v.Harmed {
		if h := &v.Harmed[i]; h.Role == result.WasLimited {
			limited, limitedCount = limited+h.Flows, limitedCount+h.NotServed.Total()
		} else {
			victims++
		}
	}
	n, total := s.Total.NotServed, s.Total.NotServedTotal()
	switch {
	case v.Status == result.Unknown && s.Total.Arrived < LeastRequests:
		return fmt.Sprintf("%s arrived; it takes %d to say that all is well.", requests, LeastRequests)
	case v.Status == result.Unknown && s.Verdict.Distrusts(result.UnknownCapacity):
		return fmt.Sprintf("All %s were served if executions take as long as with the smaller load of the log, which is not known.", requests)
	case v.Status == result.Unknown:
		return fmt.Sprintf("All %s were served%s. That is not so with each capacity that the servers may have.", requests, waitsAtMost(s))
	case len(v.Causes) > 0 && decidedByClients(v):
		return v.Causes[0].Sentence
	case victims == 0 && limited > 0 && v.Decided != nil && v.Decided.Of != result.OfGoal:
		return limitedSentence(r, v, limited)
	case total > 0:
		how := "rejected"
		if n != nil {
			total, how = howNotServed(n)
		}
		if limitedCount > 0 {
			how += fmt.Sprintf(" (%s of them of %s that %s limited)", format.Whole(limitedCount), format.Counted(limited, "flow"), Were(int64(limited)))
		}
		if at := slices.IndexFunc(v.Causes, func(c result.Cause) bool { return ofClients(&c) == "" }); at > 0 { // what was sent was harmed by servers
			why = ": " + Clause(&v.Causes[at])
		}
		return fmt.Sprintf("%s of %s %s %s%s%s.", ShareText(total, s.Total.Arrived), requests, Were(total), how, when(s, v.Harmed), why)
	case s.Replay != nil && s.Replay.RejectedInLog > 0:
		return fmt.Sprintf("%s of %s requests were rejected in the log, and none in the replay.",
			format.ShareOf(s.Replay.RejectedInLog, s.Replay.Requests), format.Whole(s.Replay.Requests))
	}
	if st := longestStall(s); v.Status == result.Harm && st.ns >= HarmStallNs {
		text := strings.ToUpper(st.text[:1]) + st.text[1:] + " for " + format.Duration(float64(st.ns))
		if st.fromNs >= 0 {
			text += fmt.Sprintf(" from %s to %s", s.StartNs.Moment(st.fromNs), s.StartNs.Moment(st.fromNs+st.ns))
		}
		return text + why + "."
	}
	if failed := failedGoals(s); len(failed) > 0 && v.Decided != nil && v.Decided.Of == result.OfGoal {
		first := failed[0]
		text := fmt.Sprintf("The goal %s %s was not reached: %s", first.Metric, first.Expression, first.Found())
		if len(failed) > 1 {
			text += fmt.Sprintf(" (and %s)", format.Counted(len(failed)-1, "other goal"))
		}
		return text + "."
	}
	if why == "" && v.Status == result.Warning && v.Decided != nil && v.Decided.Unit == "" {
		return fmt.Sprintf("All %s were served; %s.", requests, v.Decided.Sentence)
	}
	return fmt.Sprintf("All %s were served%s%s.", requests, waitsAtMost(s), why)
}

// limitedSentence says that flows were limited and nobody else was affected.
func limitedSentence(r *result.Result, v *result.Overall, flows int) string {
	s := r.Summary
	level, share, levels := "", 0.0, 0
	for i := range s.PriorityLevels {
		e := r.Evidence.LevelNamed(s, s.PriorityLevels[i].Name)
		if e == nil || e.Limited == 0 {
			continue
		}
		levels++
		if of := e.LimitedSeconds / r.SeatSeconds(s.PriorityLevels[i].Name); levels == 1 || of > share {
			level, share = s.PriorityLevels[i].Name, of
		}
	}
	text := format.Counted(flows, "flow")
	if levels > 1 {
		text += fmt.Sprintf(" of %d levels asked for more than their shares, at %s for %s of its seats,", levels, level, format.Percent(share))
	} else {
		text += fmt.Sprintf(" of %s asked for %s of its seats", level, format.Percent(share))
	}
	return fmt.Sprintf("%s and %s limited; nobody else was affected.", text, Were(int64(flows)))
}

// ShareText writes which part of the requests were not served. A small share says less than the number.
func ShareText(n, of int64) string {
	if n < 10 || n*1000 < of {
		return format.Whole(n)
	}
	return format.ShareOf(n, of)
}

// Were is the verb of so many requests.
func Were(n int64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// mainPart is the part of the unserved requests from which on a sentence names only their main reason.
const mainPart = 0.95

// howNotServed says why requests were not served, in the words of result.NotServed, and how many: of those with a reason that
// nearly all have, only these.
func howNotServed(n *result.NotServed) (count int64, how string) {
	kinds := []struct {
		n    int64
		text string
	}{{n.Rejected, "rejected"}, {n.Refused, "refused"}, {n.Lost, "lost"}, {n.Deadline, "answered too late"}, {n.Error, "answered with an error"}, {n.Unfinished, "unfinished"}}
	var parts []string
	for _, k := range kinds {
		switch {
		case k.n == 0:
		case float64(k.n) >= mainPart*float64(n.Total()):
			return k.n, k.text
		default:
			parts = append(parts, format.Whole(k.n)+" "+k.text)
		}
	}
	return n.Total(), "not served (" + strings.Join(parts, ", ") + ")"
}

// when says from when to when requests were not served, "" if that was all the time.
func when(s *result.Summary, harmed []result.Harmed) string {
	fromNs, toNs := int64(-1), int64(0)
	for i := range harmed {
		h := &harmed[i]
		if h.NotServed.Total() == 0 {
			continue
		}
		if fromNs < 0 || h.FromNs < fromNs {
			fromNs = h.FromNs
		}
		toNs = max(toNs, h.ToNs)
	}
	edgeNs := (s.DurationNs - s.WarmupNs) / 50
	switch {
	case fromNs < 0:
		return ""
	case fromNs <= s.WarmupNs+edgeNs && toNs >= s.DurationNs-edgeNs:
		return ""
	}
	return fmt.Sprintf(" from %s to %s", s.StartNs.Moment(fromNs), s.StartNs.Moment(toNs))
}

// waitsAtMost says how long requests waited: the longest wait p99 of a workload, or what follows from it.
func waitsAtMost(s *result.Summary) string {
	var worst *result.Group
	longestNs := int64(-1)
	for i := range s.Workloads {
		g := &s.Workloads[i]
		if ns, n, ok := g.WaitP99Ns(); ok && measure.Enough(99, n) && ns > longestNs {
			worst, longestNs = g, ns
		}
	}
	maxNs, any := s.Total.WaitMaxNs()
	switch {
	case !any:
		return ""
	case maxNs == 0:
		return ", without a wait"
	case longestNs <= 0:
		return fmt.Sprintf("; the longest wait was %s", format.Duration(float64(maxNs)))
	}
	return fmt.Sprintf("; the wait p99 of %s was %s", worst.Name, format.Duration(float64(longestNs)))
}

// Rows of who was harmed: at most so many or, if these do not explain mainShare of the requests that were not served, as
// many more as it takes. The others are one row.
const (
	mostHarmed = 20
	mainShare  = 0.8
)

// harmedRow is a row with what it is ordered by.
type harmedRow struct {
	result.Harmed
	waitedNs float64
}

func (r *harmedRow) join(other *harmedRow) {
	r.Join(&other.Harmed)
	r.waitedNs += other.waitedNs
}

// harmed returns who was harmed, victims first, then the most harmed. A row is a workload or, where a workload replays a log or
// some of its flows were limited, those of its flows that were harmed, joined by the patterns of their names.
func (d *diagnosis) harmed() []result.Harmed {
	var rows []harmedRow
	s := d.Summary
	for i := range s.Workloads {
		g := &s.Workloads[i]
		if g.Arrived == 0 || g.NotServedTotal() == 0 && Group(g) == Good {
			continue
		}
		fromNs, toNs := d.whenHarmed(i)
		whole := harmedRow{d.harmedGroup(g, g.Name, fromNs, toNs), waitedNs(g)}
		var own []*result.Flow
		limited := 0
		for k := range s.Flows {
			if f := &s.Flows[k]; f.Workload == g.Name && f.Arrived > 0 {
				own = append(own, f)
				if f.Limited {
					limited++
				}
			}
		}
		whole.Flows, whole.Level = len(own), d.levelOf(i)
		if len(own) > 0 && limited == len(own) {
			whole.Role = result.WasLimited
		}
		if len(own) == 1 {
			whole.Flow = own[0].Name
			if d.recorded(i) {
				whole.Name = own[0].ShortName()
			}
		}
		if len(own) < 2 || !d.recorded(i) && (limited == 0 || limited == len(own)) {
			rows = append(rows, whole)
			continue
		}
		rows = append(rows, d.harmedFlows(&whole, own, fromNs, toNs)...)
	}
	slices.SortStableFunc(rows, func(a, b harmedRow) int {
		if a.Role != b.Role {
			return cmp.Compare(b.Role, a.Role) // victims before those who were limited
		}
		return cmp.Or(-cmp.Compare(a.NotServed.Total(), b.NotServed.Total()), -cmp.Compare(a.waitedNs, b.waitedNs))
	})
	all := []result.Harmed{}
	for i := range rows {
		all = append(all, rows[i].Harmed)
	}
	return all
}

// harmedFlows returns the rows of those flows of a workload that were harmed.
func (d *diagnosis) harmedFlows(whole *harmedRow, own []*result.Flow, fromNs, toNs int64) []harmedRow {
	type key struct {
		role        result.Role
		name, level string
	}
	rows, at := []harmedRow{}, map[key]int{}
	explained, total := int64(0), whole.NotServed.Total()
	for _, f := range own {
		if f.NotServedTotal() == 0 && Group(&f.Group) == Good {
			continue
		}
		from, to := d.whenQueued(f, fromNs, toNs)
		one := harmedRow{d.harmedGroup(&f.Group, whole.Workload, from, to), waitedNs(&f.Group)}
		one.Flow, one.Name, one.Level, one.Flows = f.Name, f.ShortName(), f.PriorityLevel, 1
		if f.Limited {
			one.Role = result.WasLimited
		}
		k := key{one.Role, result.Pattern(one.Name), one.Level}
		if !f.HasUser() {
			one.Name, k.name = result.NoKnownUser, result.NoKnownUser
		}
		if i, ok := at[k]; ok {
			rows[i].join(&one)
			rows[i].Name = k.name
			continue
		}
		at[k] = len(rows)
		rows = append(rows, one)
	}
	slices.SortStableFunc(rows, func(a, b harmedRow) int {
		return cmp.Or(-cmp.Compare(a.NotServed.Total(), b.NotServed.Total()), -cmp.Compare(a.waitedNs, b.waitedNs))
	})
	kept := 0
	for kept < len(rows) && (kept < mostHarmed || float64(explained) < mainShare*float64(total)) {
		explained += rows[kept].NotServed.Total()
		kept++
	}
	for i := kept + 1; i < len(rows); i++ {
		rows[kept].join(&rows[i])
	}
	if kept < len(rows) {
		rows[kept].Name = "others of " + whole.Name
		rows = rows[:kept+1]
		explained += rows[kept].NotServed.Total()
	}
	if explained < total { // flows that the result does not list one by one
		rest := *whole
		rest.Name, rest.Flows, rest.waitedNs, rest.WaitP99Ns = "flows of "+whole.Name+" that are not listed", 0, 0, nil
		for i := range rows {
			rest.Take(&rows[i].Harmed)
		}
		rows = append(rows, rest)
	}
	return rows
}

// harmedGroup returns the row of a group of requests.
func (d *diagnosis) harmedGroup(g *result.Group, workload string, fromNs, toNs int64) result.Harmed {
	h := result.Harmed{Role: result.Victim, Workload: workload, Name: workload, Sent: g.Arrived, Served: g.Served(), Open: g.Open, FromNs: fromNs, ToNs: toNs, Causes: []string{}}
	if g.NotServed != nil {
		h.NotServed = *g.NotServed
	}
	if ns, _, ok := g.WaitP99Ns(); ok {
		h.WaitP99Ns = &ns
	}
	h.OwnLimitNs = ownLimitNs(g.Clients)
	return h
}

// waitedNs returns how long the requests of a group waited together, without those that were still queued at the end.
func waitedNs(g *result.Group) (ns float64) {
	for _, d := range []*result.Distribution{g.Wait, g.RejectedWait} {
		if d != nil {
			ns += float64(d.Count) * float64(d.MeanNs)
		}
	}
	return ns
}

// recorded says whether a workload replays a log, so that its flows are of different clients.
func (d *diagnosis) recorded(workload int) bool {
	return d.Evidence != nil && d.Evidence.Workloads[workload].Recorded
}

// levelOf returns the priority level at which most requests of a workload were harmed.
func (d *diagnosis) levelOf(workload int) (level string) {
	if d.Evidence == nil {
		return ""
	}
	var worst *result.WorkloadLevel
	all := d.Evidence.Workloads[workload].Levels
	for i := range all {
		l := &all[i]
		if l.Level == "" {
			continue
		}
		if worst == nil || cmp.Or(cmp.Compare(l.NotServed, worst.NotServed), cmp.Compare(l.WaitedNs, worst.WaitedNs), cmp.Compare(l.Arrived, worst.Arrived)) > 0 {
			worst = l
		}
	}
	if worst == nil {
		return ""
	}
	return worst.Level
}

// whenHarmed returns from when to when requests of a workload were not served or, if all were, waited for longer than is
// good, or for longest; of the window if nothing is known.
func (d *diagnosis) whenHarmed(workload int) (fromNs, toNs int64) {
	s := d.Summary
	if workload >= len(d.WorkloadSeries) {
		return s.WarmupNs, s.DurationNs
	}
	points := d.WorkloadSeries[workload].Points
	span := func(harmed func(*result.WorkloadPoint) bool) bool {
		fromNs = -1
		for i := range points {
			p := &points[i]
			if p.EndNs <= s.WarmupNs || !harmed(p) {
				continue
			}
			if fromNs < 0 {
				fromNs = max(p.StartNs, s.WarmupNs)
			}
			toNs = p.EndNs
		}
		return fromNs >= 0
	}
	if s.Workloads[workload].NotServedTotal() > 0 {
		if span(func(p *result.WorkloadPoint) bool { return p.NotServed() > 0 }) {
			return fromNs, toNs
		}
		return s.WarmupNs, s.DurationNs
	}
	for _, leastNs := range []int64{GoodWaitNs, 1} {
		if span(func(p *result.WorkloadPoint) bool { return max(p.WaitP99Ns, p.OldestWaitNs) >= leastNs }) {
			return fromNs, toNs
		}
	}
	return s.WarmupNs, s.DurationNs
}

// whenQueued returns from when to when a flow had requests in queues or rejected, within the time in which its workload was harmed. If it
// only waited at other times, those are its own.
func (d *diagnosis) whenQueued(f *result.Flow, fromNs, toNs int64) (int64, int64) {
	points := d.pointsOf(f.PriorityLevel)
	first, last := -1, -1
	for i := range points {
		if i/64 < len(f.QueuedIn) && f.QueuedIn[i/64]&(1<<(i%64)) != 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return fromNs, toNs
	}
	from, to := points[first].StartNs, points[last].EndNs
	switch {
	case from < toNs && to > fromNs:
		return max(fromNs, from), min(toNs, to)
	case f.NotServedTotal() > 0: // when is not known better
		return fromNs, toNs
	}
	return max(d.Summary.WarmupNs, from), to
}

// pointsOf returns the series of a level, nil without one.
func (d *diagnosis) pointsOf(level string) []result.Point {
	for _, s := range d.Series {
		if s.Level == level {
			return s.Points
		}
	}
	return nil
}

// relate adds to each harmed row the causes that explain it: those of its level, and those of servers and clients.
func relate(v *result.Overall) {
	for i := range v.Harmed {
		h := &v.Harmed[i]
		for k := range v.Causes {
			c := &v.Causes[k]
			if c.Level != "" && c.Level != h.Level || c.Level == "" && !explains(c, h) {
				continue
			}
			h.Causes = append(h.Causes, c.ID)
		}
	}
}

// explains says whether a cause that is not about a level harms requests in the way of a row.
func explains(c *result.Cause, h *result.Harmed) bool {
	switch n := &h.NotServed; c.Kind {
	case result.ByStoppedServer, result.ByMemory:
		return n.Refused+n.Lost+n.Error > 0
	case result.ByInFlightLimit:
		return n.Rejected > 0
	case result.ByConflict, result.ByClientLimit, result.ByWorkers:
		return slices.Contains(c.Workloads, h.Workload)
	default:
		return n.Deadline+n.Error+n.Unfinished > 0 && (len(c.Harmed) == 0 || slices.Contains(c.Harmed, h.Workload))
	}
}
