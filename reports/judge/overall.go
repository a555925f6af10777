package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// LeastRequests is how many requests must have arrived for a result to be ok.
const LeastRequests = 100

// BadStallNs is the length from which on a stall, a freeze or a starvation is harm.
const BadStallNs = 5_000_000_000

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
	v.Status = StatusOf(r)
	if v.Status == result.OK || v.Status == result.Unknown {
		v.Sentence = sentence(r, v)
		return
	}
	d := &diagnosis{Result: r}
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

// StatusOf returns the status of a run: the first of the rules that applies.
func StatusOf(r *result.Result) result.Status {
	s := r.Summary
	if s.Replay.Disagrees() { // the log is a fact, and the replay is not
		if s.Replay.RejectedInLog > 0 {
			return result.Harm
		}
		return result.Unknown
	}
	switch {
	case s.Total.NotServedTotal() > 0, s.Replay != nil && s.Replay.RejectedInLog > 0, longestStall(s).ns >= BadStallNs, len(failedGoals(s)) > 0:
		return result.Harm
	case s.Total.Arrived < LeastRequests:
		return result.Unknown
	case watched(r):
		return result.Warning
	case s.Verdict.Distrusts(result.UnknownCapacity), s.CapacityBounds != nil && s.CapacityBounds.Worst != result.OK:
		return result.Unknown
	}
	return result.OK
}

// watched says whether a figure of a workload or of a level is not good, or waits or a backlog grow.
func watched(r *result.Result) bool {
	s := r.Summary
	for i := range s.Workloads {
		if g := &s.Workloads[i]; g.Arrived > 0 && Group(g) != Good {
			return true
		}
	}
	for i := range s.PriorityLevels {
		if l := &s.PriorityLevels[i]; l.Arrived > 0 && Level(l) != Good {
			return true
		}
	}
	return r.Evidence != nil && slices.ContainsFunc(r.Evidence.Levels, func(l result.LevelEvidence) bool { return l.Grows })
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

// still is a time in which nothing of a kind happened.
type still struct {
	ns, fromNs int64  // fromNs is negative if it is not known
	text       string // what did not happen
}

// longestStall returns the longest stall or freeze of a workload or level, or starvation of a flow.
func longestStall(s *result.Summary) (longest still) {
	take := func(next still) {
		if next.ns > longest.ns {
			longest = next
		}
	}
	freeze := func(g *result.Group, whose string) {
		if g.Arrived > 0 && g.Freeze != nil {
			take(still{g.Freeze.MaxNs, g.Freeze.FromNs, "no request of " + whose + " was served"})
		}
	}
	for i := range s.Workloads {
		g := &s.Workloads[i]
		if g.Arrived > 0 && g.Stall != nil {
			take(still{g.Stall.MaxNs, g.Stall.FromNs, "no request of " + g.Name + " was dispatched"})
		}
		freeze(g, g.Name)
	}
	for i := range s.PriorityLevels {
		l := &s.PriorityLevels[i]
		freeze(&l.Group, l.Name)
		if st := l.Starvation; l.Arrived > 0 && st != nil && st.MaxNs > longest.ns {
			take(still{st.MaxNs, -1, "no request of the flow " + s.ShortName(l.Name, st.Flow) + " was dispatched"})
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
		if v.Status == result.Harm {
			return fmt.Sprintf("%s of %s requests were rejected in the log, with which the replay does not agree.",
				format.ShareOf(replay.RejectedInLog, replay.Requests), format.Whole(replay.Requests))
		}
		return "The replay does not agree with its log, in which nothing was rejected."
	}
	n := s.Total.NotServed
	total := s.Total.NotServedTotal()
	switch v.Status {
	case result.Unknown:
		switch {
		case s.Total.Arrived < LeastRequests:
			return fmt.Sprintf("%s arrived; it takes %d to say that all is well.", requests, LeastRequests)
		case s.Verdict.Distrusts(result.UnknownCapacity):
			return fmt.Sprintf("All %s were served if executions take as long as with the smaller load of the log, which is not known.", requests)
		}
		return fmt.Sprintf("All %s were served%s. That is not so with each capacity that the servers may have.", requests, waitsAtMost(s))
	case result.OK:
		return fmt.Sprintf("All %s were served%s.", requests, waitsAtMost(s))
	case result.Warning:
		return fmt.Sprintf("All %s were served%s%s.", requests, waitsAtMost(s), why)
	}
	if total > 0 {
		how := "rejected"
		if n != nil {
			total, how = howNotServed(n)
			if n.Unfinished == n.Total() { // the run ended before they did
				why = ""
			}
		}
		return fmt.Sprintf("%s of %s %s %s%s%s.", ShareText(total, s.Total.Arrived), requests, Were(total), how, when(s, v.Harmed), why)
	}
	if replay := s.Replay; replay != nil && replay.RejectedInLog > 0 {
		return fmt.Sprintf("%s of %s requests were rejected in the log, and none in the replay.",
			format.ShareOf(replay.RejectedInLog, replay.Requests), format.Whole(replay.Requests))
	}
	if st := longestStall(s); st.ns >= BadStallNs {
		text := strings.ToUpper(st.text[:1]) + st.text[1:] + " for " + format.Duration(float64(st.ns))
		if st.fromNs >= 0 {
			text += fmt.Sprintf(" from %s to %s", s.StartNs.Moment(st.fromNs), s.StartNs.Moment(st.fromNs+st.ns))
		}
		return text + why + "."
	}
	failed := failedGoals(s)
	first := failed[0]
	text := fmt.Sprintf("The goal %s %s was not reached: %s", first.Metric, first.Expression, first.Found())
	if len(failed) > 1 {
		text += fmt.Sprintf(" (and %s)", format.Counted(len(failed)-1, "other goal"))
	}
	return text + "."
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

// mainPart is the part of the requests that were not served from which on a sentence names only their reason.
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
		if ns, _, ok := g.WaitP99Ns(); ok && ns > longestNs {
			worst, longestNs = g, ns
		}
	}
	maxNs, any := s.Total.WaitMaxNs()
	switch {
	case !any:
		return ""
	case maxNs == 0:
		return ", without a wait"
	case longestNs == 0:
		return fmt.Sprintf("; the longest wait was %s", format.Duration(float64(maxNs)))
	}
	return fmt.Sprintf("; the wait p99 of %s was %s", worst.Name, format.Duration(float64(longestNs)))
}

// mostHarmed is how many flows of a recorded workload have rows of their own.
const mostHarmed = 20

// harmed returns who was harmed, the most harmed first.
func (d *diagnosis) harmed() []result.Harmed {
	type row struct {
		result.Harmed
		waitedNs float64
	}
	var rows []row
	s := d.Summary
	for i := range s.Workloads {
		g := &s.Workloads[i]
		if g.Arrived == 0 || g.NotServedTotal() == 0 && Group(g) == Good {
			continue
		}
		fromNs, toNs := d.whenHarmed(i)
		whole := row{d.harmedGroup(g, g.Name, fromNs, toNs), waitedNs(g)}
		var own []*result.Flow
		for k := range s.Flows {
			if f := &s.Flows[k]; f.Workload == g.Name && f.Arrived > 0 {
				own = append(own, f)
			}
		}
		whole.Flows = len(own)
		whole.Level = d.levelOf(i)
		if len(own) == 1 {
			whole.Flow = own[0].Name
			if d.recorded(i) {
				whole.Name = own[0].ShortName()
			}
		}
		if !d.recorded(i) || len(own) < 2 {
			rows = append(rows, whole)
			continue
		}
		rest := whole
		count := 0
		slices.SortStableFunc(own, func(a, b *result.Flow) int {
			return cmp.Or(-cmp.Compare(a.NotServedTotal(), b.NotServedTotal()), -cmp.Compare(waitedNs(&a.Group), waitedNs(&b.Group)))
		})
		for _, f := range own {
			if count == mostHarmed || f.NotServedTotal() == 0 && Group(&f.Group) == Good {
				break
			}
			count++
			from, to := d.whenQueued(f, fromNs, toNs)
			one := row{d.harmedGroup(&f.Group, g.Name, from, to), waitedNs(&f.Group)}
			one.Flow, one.Name, one.Level, one.Flows = f.Name, f.ShortName(), f.PriorityLevel, 1
			rows = append(rows, one)
			rest.Take(&one.Harmed)
			rest.waitedNs -= one.waitedNs
		}
		if rest.NotServed.Total() > 0 {
			rest.Flows = len(own) - count
			rows = append(rows, rest)
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(-cmp.Compare(a.NotServed.Total(), b.NotServed.Total()), -cmp.Compare(a.waitedNs, b.waitedNs))
	})
	all := []result.Harmed{}
	for i := range rows {
		all = append(all, rows[i].Harmed)
	}
	return all
}

// harmedGroup returns the row of a group of requests.
func (d *diagnosis) harmedGroup(g *result.Group, workload string, fromNs, toNs int64) result.Harmed {
	h := result.Harmed{Workload: workload, Name: workload, Sent: g.Arrived, Served: g.Served(), Open: g.Open, FromNs: fromNs, ToNs: toNs, Causes: []string{}}
	if g.NotServed != nil {
		h.NotServed = *g.NotServed
	}
	if ns, _, ok := g.WaitP99Ns(); ok {
		h.WaitP99Ns = &ns
	}
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

// GoodWaitNs is the wait p99 up to which a workload is good.
const GoodWaitNs = 100_000_000

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

// relate gives each harmed row the causes that explain it: those of its level, and those of servers and clients.
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
	case result.ByConflict:
		return slices.Contains(c.Workloads, h.Workload)
	default:
		return n.Deadline+n.Error+n.Unfinished > 0 && (len(c.Workloads) == 0 || slices.Contains(c.Workloads, h.Workload))
	}
}
