package collect

import (
	"cmp"
	"fmt"
	"slices"

	"apfsim/core/seats"
	"apfsim/reports/format"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/network"
	"apfsim/sim/server"
)

// serverState is the state of one server, where the run has several or where its one server is not
// always there or not always equally fast.
type serverState struct {
	*server.Server
	index  int
	levels []*level // by level.index; nil for one that it has not had yet. They have no flows

	stage   server.Stage
	sinceNs int64 // since when
	readyNs int64 // how long it was ready within the window

	sent   server.WatchTraffic // at the start of the current interval
	now    result.ServerPoint  // of the current interval, as far as it is known
	points []result.ServerPoint

	seats    seatUse
	crashes  int64 // within the window
	lost     int64 // requests that were lost at lostAtNs
	lostAtNs int64
}

// levelAt returns the server's part of a level.
func (c *Collector) levelAt(s *serverState, l *level) *level {
	for len(s.levels) <= l.index {
		s.levels = append(s.levels, nil)
	}
	if s.levels[l.index] == nil {
		own := c.newLevel(l.name)
		own.index = l.index
		s.levels[l.index] = own
	}
	return s.levels[l.index]
}

// atServer returns the part of a flow's level at the server of a request.
func (c *Collector) atServer(r *server.Request, f *flow) *level {
	return c.levelAt(c.servers[r.Server], f.level)
}

// adjustedServer takes the levels and limits of a server. The limits of a level are the sums over the
// servers that have it.
func (c *Collector) adjustedServer(nowNs int64, srv *server.Server) {
	s := c.servers[srv.Index()]
	s.forgetLevels(nowNs)
	if srv.Stage() != server.Off {
		c.eachLevel[s.index](func(state server.LevelState) bool {
			l := c.levelAt(s, c.levelNamed(state.Name()))
			l.adjust(nowNs, state, changedBy(srv))
			if !l.exempt() {
				c.workloads.SetLimit(nowNs, l.name, s.index, l.limit)
			}
			return true
		})
	}
	s.dropForgotten(nowNs)
	for _, l := range s.levels {
		if l != nil && l.known && !l.exists && !l.exempt() && srv.Stage() != server.Off {
			c.workloads.RemoveLimit(nowNs, l.name, s.index)
		}
	}
	c.sumLimits(nowNs, changedBy(srv))
}

// forgetLevels marks all levels of the server as removed, and dropForgotten removes those that are
// still marked.
func (s *serverState) forgetLevels(nowNs int64) {
	for _, l := range s.levels {
		if l != nil {
			l.settle(nowNs)
			l.exists = false
		}
	}
}

func (s *serverState) dropForgotten(nowNs int64) {
	for _, l := range s.levels {
		if l != nil && !l.exists {
			l.setLimits(nowNs, 0, 0, result.ByServer)
		}
	}
}

func (c *Collector) sumLimits(nowNs int64, by string) {
	for _, l := range c.levels {
		l.settle(nowNs)
		limit, sum := 0, seats.Limits{}
		l.exists = false
		for _, s := range c.servers {
			if l.index >= len(s.levels) || s.levels[l.index] == nil || !s.levels[l.index].exists {
				continue
			}
			own := s.levels[l.index]
			if !l.exists {
				l.known, l.exists, l.spec = true, true, own.spec
			}
			limit += own.limit
			sum.Nominal, sum.Min, sum.Max = sum.Nominal+own.limits.Nominal, sum.Min+own.limits.Min, sum.Max+own.limits.Max
		}
		if l.exists {
			l.limits = sum
		}
		l.setLimits(nowNs, limit, sum.Nominal, by)
	}
}

// refusedRequest counts a request that has not reached flow control: as one of its workload and of the server
// that it was sent to, and of no FlowSchema, level or flow.
func (c *Collector) refusedRequest(nowNs int64, r *server.Request) {
	if c.counts(r) {
		counting{in: &c.inGroupAt(r.Workload, c.refused, int(r.Server)).Counted}.refuse(r)
	}
	c.workloads.Refused(r)
	c.servers[r.Server].now.Refused++
	c.failed(nowNs).Refused++
}

// givenUp removes a request whose server has ended.
func (c *Collector) givenUp(nowNs int64, r *server.Request) {
	if !r.InFlight() {
		return
	}
	f := c.flowOf(r)
	if c.counts(r) {
		to := c.countingOf(r, f)
		to.giveUp(r)
		if r.Lost && r.Answered() {
			to.withdraw(deadline)
		}
	}
	own := c.atServer(r, f)
	if r.DispatchNs < 0 {
		c.refuse(nowNs, r, f)
		f.level.abandon(nowNs, r.SeatsWanted())
		own.abandon(nowNs, r.SeatsWanted())
		c.noDispatches[r.Workload].reject(nowNs, c.fromNs)
		c.workloads.GivenUp(r)
	} else {
		f.outstanding -= unserved(nowNs, r)
		if c.beyond != nil && r.FinishNs < 0 {
			c.beyond.end(r, false)
		}
		c.leave(nowNs, r, f)
		f.level.leave(nowNs, r.SeatsHeld())
		c.addSeatsInUse(nowNs, f.level, r.Server, -r.SeatsHeld())
		own.leave(nowNs, r.SeatsHeld())
	}
	if r.Lost {
		c.lost(nowNs, c.servers[r.Server])
		if !r.Answered() {
			c.workloads.Failed(r)
		}
	}
}

// lost counts a request that is lost, also at the moment at which its server ended.
func (c *Collector) lost(nowNs int64, s *serverState) {
	s.now.Lost++
	c.failed(nowNs).Lost++
	if s.lostAtNs != nowNs {
		s.lost, s.lostAtNs = 0, nowNs
	}
	s.lost++
	if m := c.lastMoment(s); m != nil && m.AtNs == nowNs && m.Stage == server.Off.String() {
		m.Lost = s.lost
	}
}

func (c *Collector) lastMoment(s *serverState) *result.Moment {
	for i := len(c.timeline) - 1; i >= 0; i-- {
		if c.timeline[i].Server == s.index {
			return &c.timeline[i]
		}
	}
	return nil
}

// failed returns the period of failures to which now belongs.
func (c *Collector) failed(nowNs int64) *result.Failure {
	if n := len(c.failures); n == 0 || nowNs-c.failures[n-1].ToNs >= result.FailurePauseNs(c.toNs) {
		c.failures = append(c.failures, result.Failure{FromNs: nowNs})
	}
	f := &c.failures[len(c.failures)-1]
	f.ToNs = nowNs
	return f
}

// changed records that a server has another stage.
func (c *Collector) changed(nowNs int64, srv *server.Server) {
	s := c.servers[srv.Index()]
	m := result.NewMoment(nowNs, s.index, s.stage, srv.Stage())
	if srv.Stage() == server.Off && s.lostAtNs == nowNs {
		m.Lost = s.lost
	}
	if m.What == result.Crashed && nowNs >= c.fromNs {
		s.crashes++
	}
	m.OutOfMemory = srv.Stage() == server.Off && srv.OutOfMemory()
	c.timeline = append(c.timeline, m)
	s.setStage(nowNs, c.fromNs, srv.Stage())
	if s.stage == server.Off {
		s.forgetLevels(nowNs)
		s.dropForgotten(nowNs)
		c.workloads.ForgetLimits(s.index)
		c.sumLimits(nowNs, result.ByServer)
	}
}

func (s *serverState) setStage(nowNs, windowNs int64, stage server.Stage) {
	if s.stage == server.Ready && nowNs > windowNs {
		s.readyNs += nowNs - max(s.sinceNs, windowNs)
	}
	s.stage, s.sinceNs = stage, nowNs
}

func (c *Collector) readGauges(nowNs int64, servers []*server.Server) {
	for i, s := range c.servers {
		s.now.Gauges = servers[i].Gauges(nowNs)
		if c.handlers != nil {
			s.readSent(c.handlers.SentSoFar(i))
		}
	}
}

// readSent takes what the server has sent to watches within the current interval.
func (s *serverState) readSent(soFar server.WatchTraffic) {
	s.now.WatchEvents = soFar.Events - s.sent.Events
	if received := soFar.Received - s.sent.Received; received > 0 {
		s.now.StalenessNs = (soFar.DelaySumNs - s.sent.DelaySumNs) / received
	}
	s.sent = soFar
}

// closeInterval ends the current interval and begins the next.
func (s *serverState) closeInterval(fromNs, toNs int64) {
	p := &s.now
	p.StartNs, p.EndNs, p.Stage = fromNs, toNs, s.stage
	for _, l := range s.levels {
		if l == nil {
			continue
		}
		l.closeInterval(fromNs, toNs)
		point := &l.points[len(l.points)-1]
		p.WaitingRequests += point.WaitingRequests
		p.ExecutingRequests += point.ExecutingRequests
		p.Arrived += point.Arrived
		p.Rejected += point.RejectedTotal()
		if l.known && !l.exempt() {
			p.SeatsInUse += point.SeatsInUse
			p.Limit += point.CurrentLimit
		}
	}
	s.points = append(s.points, *p)
	s.now = result.ServerPoint{}
}

// addServers adds the servers, the timeline and their series to a result.
func (c *Collector) addServers(out *result.Result) {
	s := out.Summary
	s.Failures = c.failures
	s.Timeline = append(c.timeline, c.speeds()...)
	slices.SortStableFunc(s.Timeline, func(a, b result.Moment) int { return cmp.Compare(a.AtNs, b.AtNs) })
	for i, state := range c.servers {
		name := fmt.Sprint(i)
		all := result.Server{
			Group:             result.NewGroup(name, c.merged(func(p *workloadInGroup) bool { return p.server == i })),
			KubernetesVersion: state.Rules().Version, Stage: state.stage.String(), ReadyShare: float64(state.readyNs) / float64(c.toNs-c.fromNs), Levels: []result.ServerLevel{},
		}
		all.Crashes = state.crashes
		series := &result.ServerSeries{Server: i, Points: state.points}
		for _, l := range sortedLevels(state.levels) {
			series.Levels = append(series.Levels, l.series())
			// A level that was there for an instant only, because the server has ended then, may have got requests.
			if level := c.serverLevel(i, l); l.name != "" && (l.window.spanNs > 0 || level.Arrived > 0) {
				all.Levels = append(all.Levels, level)
			}
		}
		s.Servers, out.ServerSeries = append(s.Servers, all), append(out.ServerSeries, series)
	}
	c.addGauges(s.Servers)
}

// addGauges adds the extreme gauges of the servers in the window.
func (c *Collector) addGauges(all []result.Server) {
	most := 0 // connections to all servers
	total := make([]int, len(c.servers[0].points))
	for i := range total {
		for _, s := range c.servers {
			total[i] += s.points[i].Connections
		}
		most = max(most, total[i])
	}
	for i, s := range c.servers {
		summary := &all[i]
		if ns, ok := s.ProcessorNs(c.toNs); ok {
			seconds := ns / 1e9
			summary.ProcessorSeconds = &seconds
		}
		if _, bytes, ok := s.Memory(c.toNs); ok {
			summary.MostMemoryBytes = &bytes
		}
		for k := range s.points {
			p := &s.points[k]
			if p.EndNs <= c.fromNs {
				continue
			}
			if p.Speed > 0 && p.Speed < result.SlowSpeed && p.InService > 0 {
				summary.SlowNs += p.EndNs - max(p.StartNs, c.fromNs)
			}
			summary.MostInService = max(summary.MostInService, p.InService)
			summary.MostConnections = max(summary.MostConnections, p.Connections)
			if p.Speed > 0 && (summary.LeastSpeed == 0 || p.Speed < summary.LeastSpeed) {
				summary.LeastSpeed = p.Speed
			}
			// Shares of a few connections, while clients begin or end, say nothing.
			if share := float64(p.Connections) / float64(total[k]); 2*total[k] >= most && total[k] > 0 && share > summary.MostConnectionsShare {
				summary.MostConnectionsShare, summary.MostConnectionsShareAtNs = share, p.EndNs
			}
		}
		if most > 0 {
			summary.Connections = &s.points[len(s.points)-1].Connections
		}
		summary.Collapse = collapse(s.points, c.fromNs)
	}
}

// collapseParts is how many parts a run is divided into, so that the throughput of each is that of many requests.
const collapseParts = 60

// collapseLevel is the probability that a run in which the throughput is the same all the time has a collapse.
const collapseLevel = 0.01

// loadPart sums the work of a server in a part of the run.
type loadPart struct {
	fromNs            int64
	seconds           float64
	executed, offered int64   // requests that were executed, and that came
	inService         float64 // on average
	busy              bool    // requests were in service at the end of each interval
}

func (p *loadPart) perSecond() float64 { return float64(p.executed) / p.seconds }

// loadParts divides the window into parts; what does not fill a part at the end is left out.
func loadParts(points []result.ServerPoint, fromNs int64) (parts []loadPart) {
	each := (len(points) + collapseParts - 1) / collapseParts
	for len(points) >= each && each > 0 {
		part := points[:each]
		points = points[each:]
		if part[0].StartNs < fromNs {
			continue
		}
		p := loadPart{fromNs: part[0].StartNs, seconds: float64(part[each-1].EndNs-part[0].StartNs) / 1e9, busy: true}
		for i := range part {
			p.executed += part[i].Executed
			p.offered += part[i].Arrived + part[i].Refused
			p.inService += float64(part[i].InService) / float64(each)
			p.busy = p.busy && part[i].InService > 0
		}
		parts = append(parts, p)
	}
	return parts
}

// collapsed says whether the throughput has collapsed between an earlier part and a later one, of so many pairs that are
// compared. It has not if it is lower because fewer requests came.
func collapsed(before, after *loadPart, pairs int) bool {
	offered := after.busy || float64(after.offered)/after.seconds >= float64(before.offered)/before.seconds
	return offered && before.inService > 0 && after.inService >= 2*before.inService && after.perSecond() <= 0.75*before.perSecond() &&
		measure.FewerP(after.executed, after.seconds, before.executed, before.seconds) < collapseLevel/float64(pairs)
}

// collapse returns the collapse of a server's throughput in the window, nil if there was none: of each part, the one before
// it with the highest throughput is compared, and of several collapses, that to the lowest throughput counts.
func collapse(points []result.ServerPoint, fromNs int64) *result.Collapse {
	parts := loadParts(points, fromNs)
	pairs := len(parts) * (len(parts) - 1) / 2
	best, before, after := 0, -1, -1
	for i := 1; i < len(parts); i++ {
		if collapsed(&parts[best], &parts[i], pairs) && (after < 0 || parts[i].perSecond() < parts[after].perSecond()) {
			before, after = best, i
		}
		if parts[i].perSecond() > parts[best].perSecond() {
			best = i
		}
	}
	if after < 0 {
		return nil
	}
	b, a := &parts[before], &parts[after]
	return &result.Collapse{AtNs: a.fromNs, ExecutedPerSecond: a.perSecond(), InService: a.inService,
		BestAtNs: b.fromNs, BestExecutedPerSecond: b.perSecond(), BestInService: b.inService}
}

func sortedLevels(levels []*level) []*level {
	levels = slices.DeleteFunc(slices.Clone(levels), func(l *level) bool { return l == nil })
	slices.SortFunc(levels, func(a, b *level) int { return cmp.Compare(a.name, b.name) })
	return levels
}

func (c *Collector) serverLevel(at int, l *level) result.ServerLevel {
	all := c.merged(func(p *workloadInGroup) bool {
		return p.server == at && p.group.level != nil && p.group.level.index == l.index
	})
	use := l.use()
	return result.ServerLevel{Name: l.name, Counts: all.Final(), Limits: use.Limits, Utilisation: use.Utilisation,
		PeakSeats: use.PeakSeats, MeanWaiting: use.MeanWaiting, ServiceSeatSeconds: use.ServiceSeatSeconds}
}

// noticed adds to the timeline which servers the load balancer considers ready, and which of them the Service
// kubernetes lists.
func (c *Collector) noticed(all []network.Notice) {
	for _, n := range all {
		what := result.NoticedDown
		switch {
		case n.Service && n.Up:
			what = result.Listed
		case n.Service:
			what = result.Unlisted
		case n.Up:
			what = result.NoticedUp
		}
		c.timeline = append(c.timeline, result.Moment{AtNs: n.AtNs, Server: n.Server, What: what})
	}
}

// speeds returns the changes of speed that the scenario makes.
func (c *Collector) speeds() (all []result.Moment) {
	spec := &c.scenario.Spec
	add := func(atNs int64, index int, factor float64) {
		all = append(all, result.Moment{AtNs: atNs, Server: index, What: "speed × " + format.Digits(factor), Factor: factor})
	}
	if spec.Servers.Capacity != nil {
		for _, s := range spec.Servers.Capacity.Speed {
			add(int64(s.At), result.AllServers, s.Factor)
		}
	}
	for i := range spec.Events {
		if e := &spec.Events[i]; e.Speed != nil {
			index := result.AllServers
			if e.Speed.Server != nil {
				index = *e.Speed.Server
			}
			add(int64(e.At), index, e.Speed.Factor)
		}
	}
	return all
}
