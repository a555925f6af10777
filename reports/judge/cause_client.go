package judge

import (
	"fmt"
	"math"
	"slices"

	"apfsim/reports/format"
	"apfsim/reports/result"
)

// What only clients see: waits for their own rate limits, requests that are never sent, and leaders that lose their
// leases. The wait that is harm here is the one from which on client-go logs throttling.
var (
	ownLimitEffect = effect{"own rate limit p99", GoodWaitNs, HarmWaitNs, "ns", 0.5, func(j *result.Judged) float64 { return float64(j.OwnLimitNs) }, nil, func(name string, j *result.Judged) string {
		return fmt.Sprintf("the p99 of what %s waited for its own rate limit was %s", name, format.Duration(float64(j.OwnLimitNs)))
	}}
	neverSentEffect = effect{"never sent", 0, harmNotServed, "", 1. / 3, func(j *result.Judged) float64 { return share(j.NeverSent, j.Arrived+j.NeverSent) }, surelyNeverSent, func(name string, j *result.Judged) string {
		return fmt.Sprintf("%s of the requests of %s %s never sent, because of its own rate limit", ShareText(j.NeverSent, j.Arrived+j.NeverSent), name, Were(j.NeverSent))
	}}
	leadersLostEffect = effect{"leaders lost", 0, 0, "", 1, func(j *result.Judged) float64 { return float64(j.LeadersLost) }, nil, func(name string, j *result.Judged) string {
		return fmt.Sprintf("leaders of %s lost their leases %s", name, format.Times(j.LeadersLost))
	}}
)

// noHarm is the limit of what is a warning, however often it happens.
var noHarm = math.Inf(1)

// events returns the effect of something of which any is a warning.
func events(figure, text string, value func(*result.Judged) int64) effect {
	return effect{figure, 0, noHarm, "", 1, func(j *result.Judged) float64 { return float64(value(j)) }, nil, func(name string, j *result.Judged) string {
		return fmt.Sprintf(text, name, format.Times(value(j)))
	}}
}

// growth is the figure of waits, a backlog or a queue that grows.
const growth = "growth"

func surelyNeverSent(j *result.Judged) float64 {
	return surelyNotServed(&result.Judged{NotServed: j.NeverSent, Arrived: j.Arrived + j.NeverSent})
}

// seesHarm says whether clients see anything of it, also those of whom no request arrived.
func seesHarm(j *result.Judged) bool {
	return j.OwnLimitNs > 0 || j.NeverSent > 0 || j.LeadersLost > 0 || j.NodesNotReady > 0 || j.LostWrites > 0 || j.SlowWatches > 0
}

// addClients adds what the clients of a workload see to its figures.
func addClients(j *result.Judged, c *result.Clients) {
	if c == nil {
		return
	}
	j.OwnLimitNs, j.NeverSent, j.LeadersLost = ownLimitNs(c), c.Count("neverSent"), c.Count("leaderLost")
	j.NodesNotReady, j.LostWrites = c.Count("nodesNotReady"), c.Count("lostWrites")+c.Count("overwritten")
	j.Grows = j.Grows || c.Queue != nil && c.Queue.Grows
}

// ownLimitNs returns the p99 of the waits for the clients' own rate limit, as surely.
func ownLimitNs(c *result.Clients) int64 {
	if c == nil {
		return 0
	}
	if n := c.Noted("limiterWait"); n != nil {
		return surely(n.Time)
	}
	return 0
}

// decidedByClients says whether a status follows from what the clients of the first cause see.
func decidedByClients(v *result.Overall) bool {
	c := &v.Causes[0]
	if v.Decided == nil || v.Decided.Of != result.OfWorkload || !slices.Contains(c.Workloads, v.Decided.Name) || ofClients(c) == "" {
		return false
	}
	return slices.Contains([]string{ownLimitEffect.figure, neverSentEffect.figure, leadersLostEffect.figure, growth}, v.Decided.Figure)
}

// ofClients returns the first workload of a cause that is one of clients, "" of others.
func ofClients(c *result.Cause) string {
	if (c.Kind == result.ByClientLimit || c.Kind == result.ByWorkers) && len(c.Workloads) > 0 {
		return c.Workloads[0]
	}
	return ""
}

// unaffected says whether nobody at a level was harmed beyond what is good, so that what happened there explains no harm of
// clients.
func (d *diagnosis) unaffected(level int) bool {
	return Group(&d.Summary.PriorityLevels[level].Group) == Good
}

// seen is what the clients of a workload see.
type seen struct {
	name    string
	clients *result.Clients
	*result.WorkloadEvidence
	limitWait *result.Distribution // the waits for their own rate limit; nil without any
	lost      int64                // leaders
}

// clientCauses returns what harmed clients apart from servers: their own rate limits, and too few workers. Workloads that share a
// bucket have one cause.
func (d *diagnosis) clientCauses() (found []cause) {
	if d.Evidence == nil {
		return nil
	}
	done := map[string]bool{}
	for i := range d.Summary.Workloads {
		w := d.seen(i)
		if w == nil {
			continue
		}
		if d.byOwnLimit(i, w) && !(w.Limit.Shared != "" && done[w.Limit.Shared]) {
			done[w.Limit.Shared] = true
			found = append(found, d.clientLimit(i, w))
		}
		if c := d.workers(w); c != nil {
			found = append(found, *c)
		}
	}
	return found
}

// lostLeaders returns the cause of lost leases where no other cause is found: what took most of the time of the
// leaders' requests.
func (d *diagnosis) lostLeaders() (found []cause) {
	for i := range d.Summary.Workloads {
		w := (*seen)(nil)
		if d.Evidence != nil {
			w = d.seen(i)
		}
		if w == nil || w.lost == 0 {
			continue
		}
		var spent result.Spent
		for k := range w.Levels {
			spent.Add(&w.Levels[k].Spent, 1)
		}
		c := cause{Cause: result.Cause{Kind: d.slowest(&spent), FromNs: d.Summary.WarmupNs, ToNs: d.Summary.DurationNs, Workloads: []string{w.name}, Figures: w.figures()}, notServed: float64(w.lost), main: true}
		c.Sentence = fmt.Sprintf("Leaders of %s lost their leases %s: %s.", w.name, format.Times(w.lost), Clause(&c.Cause))
		found = append(found, c)
	}
	return found
}

// seen returns what the clients of a workload see, nil of clients that note nothing.
func (d *diagnosis) seen(i int) *seen {
	g := &d.Summary.Workloads[i]
	if g.Clients == nil {
		return nil
	}
	w := &seen{name: g.Name, clients: g.Clients, WorkloadEvidence: &d.Evidence.Workloads[i], lost: g.Clients.Count("leaderLost")}
	if n := g.Clients.Noted("limiterWait"); n != nil && w.Limit != nil {
		w.limitWait = n.Time
	}
	return w
}

// byOwnLimit says whether the rate limit of its clients harms a workload: they wait for it, or it is what delays the renewals of
// leaders or the items of a queue more than the servers do.
func (d *diagnosis) byOwnLimit(i int, w *seen) bool {
	if w.limitWait == nil {
		return false
	}
	if surely(w.limitWait) > GoodWaitNs || w.clients.Count("neverSent") > 0 {
		return true
	}
	if w.lost > 0 {
		g := &d.Summary.Workloads[i]
		return g.Latency == nil || w.limitWait.MeanNs > g.Latency.MeanNs
	}
	return w.limits()
}

// limits says whether the rate limit bounds the throughput of a growing queue: at least half of the requests wait for
// it.
func (w *seen) limits() bool {
	return w.clients.Queue != nil && w.clients.Queue.Grows && w.limitWait != nil && w.limitWait.P50Ns > 0
}

// clientLimit returns the cause that clients waited for their own rate limit: those of a workload, and of all others that pass
// the same bucket.
func (d *diagnosis) clientLimit(index int, first *seen) cause {
	s := d.Summary
	c := cause{Cause: result.Cause{Kind: result.ByClientLimit, FromNs: s.WarmupNs, ToNs: s.DurationNs}, main: true}
	limit := *first.Limit
	limit.Wishes, limit.Most, limit.Loops, limit.Needs = 0, 0, 0, 0
	var p99, most, neverSent, lost int64
	waitedNs, others := 0.0, 0.0
	for i := index; i < len(s.Workloads); i++ {
		w := d.seen(i)
		if w == nil || w.Limit == nil || i != index && (limit.Shared == "" || w.Limit.Shared != limit.Shared) {
			continue
		}
		c.Workloads = append(c.Workloads, w.name)
		if w.limitWait != nil {
			p99, most = max(p99, surely(w.limitWait)), max(most, w.limitWait.MaxNs)
			waitedNs += float64(w.limitWait.MeanNs) * float64(w.limitWait.Count)
		}
		neverSent, lost = neverSent+w.clients.Count("neverSent"), lost+w.lost
		limit.Wishes, limit.Most = limit.Wishes+w.Limit.Wishes, limit.Most+w.Limit.Most
		limit.Loops, limit.Needs = limit.Loops+w.Limit.Loops, limit.Needs+w.Limit.Needs
		if w.Limit.Loops == 0 && w.Limit.Needs == 0 {
			others += float64(w.Limit.Wishes)
		}
	}
	c.notServed, c.waitedNs = float64(neverSent+lost), waitedNs
	needed := neededQPS(&limit, float64(s.DurationNs-s.WarmupNs)/1e9, waitedNs/1e9, others)
	c.Figures = append([]result.Figure{figure("qps", limit.QPS), figure("burst", float64(limit.Burst)), durationFigure("limiterWaitP99", float64(p99)),
		durationFigure("limiterWaitMax", float64(most)), figure("neverSent", float64(neverSent)), figure(atOnceFigure, math.Ceil(float64(limit.Most)/float64(max(limit.Buckets, 1)))), figure(neededFigure, needed)}, first.figures()...)
	who, its := format.Listed(c.Workloads, 3, ""), fmt.Sprintf("own limit of %s/s, burst %d", format.Number(limit.QPS), limit.Burst)
	switch {
	case lost > 0:
		c.Sentence = fmt.Sprintf("Leaders of %s lost their leases %s, as requests waited up to %s for their %s", who, format.Times(lost), format.Duration(float64(most)), its)
	default:
		c.Sentence = fmt.Sprintf("%s waited %s for %s %s", who, format.Duration(float64(most)), map[bool]string{true: "its", false: "their"}[len(c.Workloads) == 1], its)
		if neverSent > 0 {
			c.Sentence += fmt.Sprintf("; %s %s never sent", result.RequestCount(neverSent), Were(neverSent))
		}
	}
	if q := first.clients.Queue; q != nil && q.Grows {
		c.Sentence += fmt.Sprintf("; its queue grew to %s items, the oldest of which has waited %s", format.Whole(q.Depth), format.Duration(float64(q.OldestNs)))
	}
	c.Sentence += "."
	return c
}

// figures are those of leaders and queues.
func (w *seen) figures() (all []result.Figure) {
	if w.lost > 0 {
		all = append(all, figure("leadersLost", float64(w.lost)))
		if n := w.clients.Noted("leaderless"); n != nil && n.Time != nil {
			all = append(all, durationFigure("leaderlessMax", float64(n.Time.MaxNs)))
		}
	}
	if q := w.clients.Queue; q != nil && q.Grows {
		all = append(all, figure("queueDepth", float64(q.Depth)), durationFigure("oldestItem", float64(q.OldestNs)))
	}
	return all
}

// Names of figures that remedies read.
const (
	neededFigure  = "neededQPS"
	atOnceFigure  = "wantedInASecond"
	workersFigure = "neededWorkers"
)

// room is the factor between a sufficient limit and the mean rate of its requests, so that waits end.
const room = 1.25

// neededQPS returns the least limit with which nobody is expected to wait for a second: room for the mean rate of what clients
// want to send, and what comes in the busiest second after the burst. Clients that wait for their answers send more without the
// waits for the limiter: those of L loops, with n requests that waited W together in a time T, by the factor L·T / (L·T − W).
func neededQPS(l *result.ClientLimit, seconds, waited, others float64) float64 {
	rate := float64(l.Wishes) / seconds
	if loops := float64(l.Loops) * seconds; loops > 0 {
		rate *= loops / max(loops-waited, loops/100)
	}
	if l.Needs > 0 {
		rate = l.Needs + others/seconds
	}
	buckets := float64(max(l.Buckets, 1))
	return math.Ceil(max(l.QPS, room*rate/buckets, float64(l.Most)/buckets-float64(l.Burst)))
}

// workers returns the cause that a queue grows because its controllers have too few workers; nil if their rate limit or the
// servers explain it. Workers of a queue that grows are busy: n workers that take T for an item reconcile n/T items per second.
func (d *diagnosis) workers(w *seen) *cause {
	q := w.clients.Queue
	if q == nil || !q.Grows || w.Workers == 0 {
		return nil
	}
	s := d.Summary
	seconds := float64(s.DurationNs-s.WarmupNs) / 1e9
	done := float64(w.clients.Count("reconcileTime") + w.clients.Count("reconcileFailures"))
	busy := float64(w.Workers) * seconds
	come := (done + float64(q.Depth)) / seconds
	limited, queued := 0.0, 0.0
	if w.limits() {
		limited = float64(w.limitWait.MeanNs) * float64(w.limitWait.Count) / 1e9
	}
	for _, l := range w.Levels {
		queued += l.WaitedNs / 1e9
	}
	rest := max(busy-limited, busy/100) / max(done, 1) // seconds of a worker for an item, without the waits for the limiter
	if queued > busy/2 || float64(w.Workers)/rest >= come {
		return nil
	}
	c := &cause{Cause: result.Cause{Kind: result.ByWorkers, FromNs: s.WarmupNs, ToNs: s.DurationNs, Workloads: []string{w.name}}, waitedNs: float64(q.OldestNs), main: limited == 0}
	c.Figures = append([]result.Figure{figure("workers", float64(w.Workers)), figure("reconciledPerSecond", done/seconds), figure("addedPerSecond", come),
		figure(workersFigure, math.Ceil(room*come*rest))}, w.figures()...)
	c.Sentence = fmt.Sprintf("The queue of %s grew to %s items, the oldest of which has waited %s: %s items come per second, and its %s %s.", w.name, format.Whole(q.Depth),
		format.Duration(float64(q.OldestNs)), format.Number(come), format.Counted(w.Workers, "worker"), fmt.Sprintf("reconcile %s", format.Number(done/seconds)))
	return c
}

// raiseLimit says to which rate a limit is to be raised.
func raiseLimit(c *result.Cause) string {
	return fmt.Sprintf("Raise the rate limit of %s: its QPS to %s.", format.Listed(c.Workloads, 3, ""), format.Number(valueOf(c, neededFigure)))
}

func moreWorkers(c *result.Cause) string {
	return fmt.Sprintf("Give %s more workers: %s instead of %s.", c.Workloads[0], format.Number(valueOf(c, workersFigure)), format.Number(valueOf(c, "workers")))
}

// NeededQPS returns the least rate of a cause of the kind ByClientLimit with which nobody is expected to wait for a second.
func NeededQPS(c *result.Cause) float64 { return valueOf(c, neededFigure) }

// AtOnce returns how many requests came to a bucket of such a cause in the busiest second.
func AtOnce(c *result.Cause) int { return int(valueOf(c, atOnceFigure)) }

func valueOf(c *result.Cause, name string) float64 {
	for _, f := range c.Figures {
		if f.Name == name {
			return f.Value
		}
	}
	return 0
}
