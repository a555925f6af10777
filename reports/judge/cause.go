package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/server"
)

// diagnosis finds why requests of a run were harmed.
type diagnosis struct {
	*result.Result
}

// cause is one that is being found, with the harm that is put down to it: requests that were not served, and how long
// requests waited. Causes are ranked by it, in this order; what only contributes at a level comes after the main causes of all
// levels, because it is harmless without them.
type cause struct {
	result.Cause
	notServed float64
	waitedNs  float64
	share     float64 // of the harm at its level
	main      bool    // it is the first at its level, or explains requests that failed and not only unfinished ones
}

// leastShare is the part of the harm at a level below which a cause is not worth naming.
const leastShare = 0.1

// causes returns the causes, the most important one first.
func (d *diagnosis) causes() []result.Cause {
	found := d.failures()
	clients := d.clientCauses()
	for i := range d.Summary.PriorityLevels {
		if len(clients) > 0 && d.unaffected(i) {
			continue // no advice about its seats beside
		}
		for _, c := range d.atLevel(i) {
			found = join(found, c)
		}
	}
	if c := d.inFlightLimit(); c != nil {
		found = append(found, *c)
	}
	if c := d.conflicts(); c != nil {
		found = append(found, *c)
	}
	if found = append(found, clients...); len(found) == 0 {
		found = d.lostLeaders()
	}
	total := map[result.Kind]float64{} // of mechanisms that all levels share
	for i := range found {
		if c := &found[i]; c.main && (everywhere(c.Kind) || c.Kind == result.ByStoppedServer || c.Kind == result.ByExecution && c.Level != "") {
			total[c.Kind] += c.notServed
		}
	}
	for i := range found { // without retries, what is lost elsewhere would not be
		if c := &found[i]; c.main && c.Kind == result.ByRetries {
			for k := range found {
				if o := &found[k]; (o.Level == c.Level || o.Level == "") && elsewhere(o.Kind) {
					total[c.Kind] = max(total[c.Kind], o.notServed+1, total[o.Kind]+1)
				}
			}
		}
	}
	slices.SortStableFunc(found, func(a, b cause) int {
		if a.main != b.main {
			if a.main {
				return -1
			}
			return 1
		}
		return cmp.Or(-cmp.Compare(math.Round(max(a.notServed, total[a.Kind])), math.Round(max(b.notServed, total[b.Kind]))), -cmp.Compare(a.notServed, b.notServed), -cmp.Compare(a.waitedNs, b.waitedNs))
	})
	all, count := []result.Cause{}, map[result.Kind]int{}
	for i := range found {
		c := &found[i]
		count[c.Kind]++
		c.ID = fmt.Sprintf("%s-%d", c.Kind, count[c.Kind])
		if c.Workloads == nil {
			c.Workloads = []string{}
		}
		if c.Flows == nil {
			c.Flows = []result.CauseFlow{}
		}
		if c.Figures == nil {
			c.Figures = []result.Figure{}
		}
		all = append(all, c.Cause)
	}
	return all
}

// join adds a cause at a level to others. If failed requests show the same mechanism, that cause becomes part of it.
func join(found []cause, c cause) []cause {
	for i := range found {
		if f := &found[i]; f.Kind == c.Kind && f.Level == "" && c.Kind != result.ByStoppedServer {
			c.notServed += f.notServed
			c.main = c.main || f.main
			c.FromNs, c.ToNs = min(c.FromNs, f.FromNs), max(c.ToNs, f.ToNs)
			return append(slices.Delete(found, i, i+1), c)
		}
	}
	return append(found, c)
}

func figure(name string, value float64) result.Figure { return result.Figure{Name: name, Value: value} }

func durationFigure(name string, ns float64) result.Figure {
	return result.Figure{Name: name, Value: ns, Unit: "ns"}
}

// slowKind returns why machines were slow: because of their own speed, or because requests shared them.
func (d *diagnosis) slowKind() result.Kind {
	if e := d.Evidence; e != nil && e.SlowBySpeed > e.SlowBySharing {
		return result.ByExecution
	}
	return result.ByCores
}

// failures returns the causes of requests that failed otherwise than by a decision of flow control: the servers, what they
// called, and executions that took too long.
func (d *diagnosis) failures() (found []cause) {
	s := d.Summary
	add := func(kind result.Kind, workload int, n int64, main bool) {
		if n <= 0 {
			return
		}
		at := slices.IndexFunc(found, func(c cause) bool { return c.Kind == kind })
		fromNs, toNs := d.whenHarmed(workload)
		if at < 0 {
			at = len(found)
			found = append(found, cause{Cause: result.Cause{Kind: kind, FromNs: fromNs, ToNs: toNs}})
		}
		c := &found[at]
		c.notServed += float64(n)
		c.main = c.main || main
		c.FromNs, c.ToNs = min(c.FromNs, fromNs), max(c.ToNs, toNs)
		if name := s.Workloads[workload].Name; !slices.Contains(c.Harmed, name) {
			c.Harmed = append(c.Harmed, name)
		}
	}
	killed, ended := d.outOfMemory()
	for i := range s.Workloads {
		n := s.Workloads[i].NotServed
		if n == nil {
			continue
		}
		away := n.Refused + n.Lost
		if killed > 0 {
			byMemory := away * killed / ended
			add(result.ByMemory, i, byMemory, true)
			away -= byMemory
		}
		if d.Evidence == nil {
			add(result.ByStoppedServer, i, away, true)
			continue
		}
		e := &d.Evidence.Workloads[i]
		add(result.ByStoppedServer, i, away+e.NotReady, true)
		failed := n.Deadline + n.Error - e.NotReady
		add(result.ByWebhook, i, min(failed, e.FailedByCall), true)
		if slow := failed - min(failed, e.FailedByCall); slow > 0 {
			add(d.slowest(&e.Failed), i, slow, true)
		}
		if n.Unfinished > 0 && s.Workloads[i].Waiting < n.Unfinished {
			spent := e.Failed
			if l := d.Evidence.LevelNamed(s, d.levelOf(i)); l != nil && spent.TotalNs == 0 {
				spent = l.Spent
			}
			add(d.slowest(&spent), i, n.Unfinished-s.Workloads[i].Waiting, false)
		}
	}
	d.addCallbacks(found)
	for i := range found {
		d.describe(&found[i])
		found[i].Workloads = d.makersOf(&found[i])
	}
	return found
}

// makersOf returns the workloads that make a cause of failures. Nobody makes a server stop.
func (d *diagnosis) makersOf(c *cause) []string {
	switch {
	case c.Kind == result.ByStoppedServer:
		return nil
	case d.Evidence == nil || c.Kind == result.ByExecution:
		return c.Harmed
	case c.Kind == result.ByMemory:
		lists := make([]float64, len(d.Evidence.Workloads))
		for i := range d.Evidence.Workloads {
			for _, l := range d.Evidence.Workloads[i].Levels {
				if l.Width() >= leastWidth {
					lists[i] += float64(l.Seats)
				}
			}
		}
		return d.mostOf(lists)
	}
	if names := d.makersAt(c.Kind, ""); len(names) > 0 {
		return names
	}
	return c.Harmed
}

// addCallbacks adds the callbacks that were not served to the cause that requests waited for them.
func (d *diagnosis) addCallbacks(found []cause) {
	at := slices.IndexFunc(found, func(c cause) bool { return c.Kind == result.ByWebhook })
	if at < 0 {
		return
	}
	c := &found[at]
	for i := range d.Evidence.Workloads {
		w := &d.Summary.Workloads[i]
		if outer := d.Evidence.Workloads[i].Callbacks; outer != "" && w.NotServed != nil && slices.Contains(c.Harmed, outer) && !slices.Contains(c.Harmed, w.Name) {
			c.notServed += float64(w.NotServed.Total())
			c.Harmed = append(c.Harmed, w.Name)
		}
	}
}

// slowest returns what took most of the time of executions that took too long.
func (d *diagnosis) slowest(spent *result.Spent) result.Kind {
	own := spent.TotalNs - spent.CallsNs - spent.SlowNs - spent.StoredNs - spent.SlowSentNs
	switch max(own, spent.CallsNs, spent.SlowNs, spent.StoredNs, spent.SlowSentNs) {
	case own:
		return result.ByExecution
	case spent.CallsNs:
		return result.ByWebhook
	case spent.SlowNs:
		return d.slowKind()
	case spent.SlowSentNs:
		return result.ByNetwork
	}
	return result.ByEtcd
}

// outOfMemory returns how many of the processes that ended were killed as they had no memory left.
func (d *diagnosis) outOfMemory() (killed, ended int64) {
	for _, m := range d.Summary.Timeline {
		if m.Stage == server.Off.String() {
			ended++
			if m.OutOfMemory {
				killed++
			}
		}
	}
	return killed, ended
}

// describe writes the figures and the sentence of a cause that is not about a level.
func (d *diagnosis) describe(c *cause) {
	s := d.Summary
	who := format.Listed(c.Harmed, 3, "")
	n := format.Whole(int64(c.notServed)) + " " + format.Plural(int(c.notServed), "request")
	were := Were(int64(c.notServed))
	c.Figures = append(c.Figures, figure("notServed", c.notServed))
	switch c.Kind {
	case result.ByMemory:
		killed, _ := d.outOfMemory()
		peak := int64(0)
		for i := range s.Servers {
			if most := s.Servers[i].MostMemoryBytes; most != nil {
				peak = max(peak, *most)
			}
		}
		c.Figures = append(c.Figures, figure("killed", float64(killed)), result.Figure{Name: "mostMemory", Value: float64(peak), Unit: "bytes"})
		c.Sentence = fmt.Sprintf("A server was killed %s, as it needed more memory than there is; %s %s lost or refused.", format.Times(killed), n, were)
	case result.ByStoppedServer:
		down := int64(0)
		for _, m := range s.Timeline {
			if m.Stage == server.Off.String() || m.What == result.NotAccepting {
				down++
			}
		}
		c.Figures = append(c.Figures, figure("ends", float64(down)))
		c.Sentence = fmt.Sprintf("%s of %s reached a server that had stopped, had crashed or was not ready.", n, who)
		if away := d.wentAway(); away != "" {
			c.Sentence = away + ". " + c.Sentence
		}
	case result.ByWebhook:
		c.Sentence = fmt.Sprintf("%s of %s failed while the server waited for a webhook or an aggregated server.", n, who)
	case result.ByEtcd:
		c.Sentence = fmt.Sprintf("%s of %s %s not answered in time, as they waited for etcd for most of their time.", n, who, were)
	case result.ByNetwork:
		c.Sentence = fmt.Sprintf("%s of %s %s not answered in time, as their answers shared the network of the server with others.", n, who, were)
	case result.ByCores:
		c.Sentence = fmt.Sprintf("%s of %s %s not answered in time, as they shared the processor with others.", n, who, were)
	default:
		c.Sentence = fmt.Sprintf("%s of %s %s not answered in time, as their executions take that long.", n, who, were)
	}
}

// inFlightLimit returns the cause of rejections by the limits of requests in flight, nil without.
func (d *diagnosis) inFlightLimit() *cause {
	s := d.Summary
	if s.FlowControl != server.MaxInFlight || s.Total.Rejected == 0 {
		return nil
	}
	c := cause{Cause: result.Cause{Kind: result.ByInFlightLimit, FromNs: s.DurationNs}, notServed: float64(s.Total.Rejected), main: true}
	times, total := make([]float64, len(s.Workloads)), 0.0
	for i := range s.Workloads {
		g := &s.Workloads[i]
		if g.Execution != nil {
			times[i] = float64(g.Arrived) * float64(g.Execution.MeanNs)
			total += times[i]
		}
		if g.Rejected > 0 {
			fromNs, toNs := d.whenHarmed(i)
			c.FromNs, c.ToNs = min(c.FromNs, fromNs), max(c.ToNs, toNs)
		}
	}
	c.Workloads = d.mostOf(times)
	c.Figures = []result.Figure{figure("rejected", c.notServed)}
	c.Sentence = fmt.Sprintf("%s requests were rejected by the limits of requests in flight", format.Whole(s.Total.Rejected))
	if total > 0 {
		share := slices.Max(times) / total
		c.Figures = append(c.Figures, figure("shareOfDemand", share))
		c.Sentence += fmt.Sprintf("; %s asked for %s of the time of all requests", c.Workloads[0], format.Percent(share))
	}
	c.Sentence += "."
	return &c
}

// conflicts returns the cause of writes that were given up or lost because others wrote the same objects; nil without.
func (d *diagnosis) conflicts() *cause {
	s := d.Summary
	c := cause{Cause: result.Cause{Kind: result.ByConflict, FromNs: s.WarmupNs, ToNs: s.DurationNs}}
	var lost, overwritten, conflicts int64
	for i := range s.Workloads {
		w := &s.Workloads[i]
		if w.Clients == nil {
			continue
		}
		count := w.Clients.Count
		if n := count("conflicts"); n > 0 && count("lostWrites") > 0 || count("overwritten") > 0 {
			lost, overwritten, conflicts = lost+count("lostWrites"), overwritten+count("overwritten"), conflicts+n
			c.Workloads = append(c.Workloads, w.Name)
		}
	}
	if len(c.Workloads) == 0 {
		return nil
	}
	c.Figures = []result.Figure{figure("conflicts", float64(conflicts)), figure("lostWrites", float64(lost)), figure("overwritten", float64(overwritten))}
	c.Sentence = fmt.Sprintf("Writers changed the same objects: %s conflicts, %s writes given up, %s writes replaced by others.",
		format.Whole(conflicts), format.Whole(lost), format.Whole(overwritten))
	return &c
}

// Clause says in a few words what a cause is, for the sentence of the verdict.
func Clause(c *result.Cause) string {
	who := c.Level
	first := ""
	if len(c.Flows) > 0 {
		first = c.Flows[0].Name
	} else if len(c.Workloads) > 0 {
		first = c.Workloads[0]
	}
	switch c.Kind {
	case result.ByDemand:
		return who + " was full"
	case result.ByHand:
		return "the queues of " + first + " at " + who + " were full of other requests"
	case result.ByLending:
		if slices.ContainsFunc(c.Figures, func(f result.Figure) bool { return f.Name == lentFigure }) {
			return who + " had lent its seats"
		}
		return who + " had to give back borrowed seats"
	case result.BySeats:
		return who + " had too few seats"
	case result.ByWideLists:
		return "wide requests held up " + who
	case result.ByExecution:
		return "executions were slow"
	case result.ByCores:
		return "the processor was busy"
	case result.ByMemory:
		return "the server had no memory left"
	case result.ByEtcd:
		return "etcd was slow"
	case result.ByNetwork:
		return "the network was full"
	case result.ByWebhook:
		return "the server waited for a webhook"
	case result.ByStoppedServer:
		return "a server was away"
	case result.ByConflict:
		return "writers changed the same objects"
	case result.ByRetries:
		return "clients sent rejected requests again"
	case result.ByClientLimit:
		return first + " waited for its own rate limit"
	case result.ByWorkers:
		return first + " has too few workers"
	case result.ByInFlightLimit:
		return "a limit of requests in flight was reached"
	}
	return string(c.Kind)
}
