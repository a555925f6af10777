package evidence

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// moment is what the dumps of one server say that were made one after another: at most one of each kind.
type moment struct {
	name   string // where there are several
	dumps  [dumpKinds]*dump
	asOf   time.Time // the latest time in dump_requests: the dump was not made before it
	levels []*levelNow
	apart  bool // the metrics are of another moment or server
}

// levelNow is what the dumps of a moment say of a priority level.
type levelNow struct {
	name      string
	row       *dumpedLevel // nil without dump_priority_levels, or if it does not describe the level
	queues    []dumpedQueue
	requests  []*dumpedRequest
	flows     []*flowNow
	shape     shape
	hasQueues bool    // dump_queues is there
	listed    bool    // dump_requests is there
	started   bool    // and has executing requests: from 1.28 on
	nominal   float64 // the nominal limit, of metrics; 0 without
}

// flowNow is a flow with requests at the moment.
type flowNow struct {
	schema, distinguisher string
	short                 string // the shortest name that is unique in the dump
	user                  string // the only one of its requests, if they have details
	waiting, executing    int64
	waitingSeats, seats   int64 // of those that wait, and of those that execute
	queues                []int64
	oldest                time.Time // the first arrival of those that wait
	first, last           time.Time // arrivals
	over                  bool      // it stands out: see levelNow.standOut
	limited               bool      // it stands out, or is of the namespace that does
	behind                []*flowNow
	behindIn              []int64 // the queues in which these are before it
	sharesWith            []*flowNow
	share                 float64 // the fair share
}

func (f *flowNow) name() string {
	if f.distinguisher == "" {
		return f.schema
	}
	return f.schema + "/" + f.distinguisher
}

func (f *flowNow) asked() float64 { return float64(f.waitingSeats + f.seats) }

// moments groups dumps: the first of each kind in a folder are those of one moment, and so on.
func moments(all []*dump) (grouped []*moment) {
	type place struct {
		folder string
		number int
	}
	count := map[string][dumpKinds]int{}
	at := map[place]*moment{}
	for _, d := range all {
		folder := d.at.File[:strings.LastIndexAny(d.at.File, `/\:`)+1] // or its archive
		n := count[folder]
		p := place{folder, n[d.kind]}
		n[d.kind]++
		count[folder] = n
		if at[p] == nil {
			at[p] = &moment{name: d.at.String()}
			grouped = append(grouped, at[p])
		}
		at[p].dumps[d.kind] = d
	}
	return grouped
}

// complete computes what the dumps say of each level.
func (m *moment) complete(shapeOf func(level string) shape) {
	by := map[string]*levelNow{}
	level := func(name string) *levelNow {
		l := by[name]
		if l == nil {
			l = &levelNow{name: name, shape: shapeOf(name), hasQueues: m.dumps[queuesDump] != nil, listed: m.dumps[requestsDump] != nil}
			l.started = l.listed && m.dumps[requestsDump].has("StartTime")
			by[name] = l
			m.levels = append(m.levels, l)
		}
		return l
	}
	if d := m.dumps[levelsDump]; d != nil {
		for i := range d.levels {
			level(d.levels[i].name).row = &d.levels[i]
		}
	}
	if d := m.dumps[queuesDump]; d != nil {
		for _, q := range d.queues {
			l := level(q.level)
			l.queues = append(l.queues, q)
		}
	}
	if d := m.dumps[requestsDump]; d != nil {
		for i := range d.requests {
			r := &d.requests[i]
			l := level(r.level)
			l.requests = append(l.requests, r)
			for _, t := range []time.Time{r.arrived, r.started} {
				if t.After(m.asOf) {
					m.asOf = t
				}
			}
		}
	}
	for _, l := range m.levels {
		if n := int64(len(l.queues)); n > 0 && l.shape.assumed && l.shape.queues != n {
			l.shape = shape{} // it is not that of a new cluster
		}
		l.group()
	}
	m.nameFlows()
}

// nameFlows gives the flows the shortest names that are unique.
func (m *moment) nameFlows() {
	var s result.Summary
	for _, l := range m.levels {
		s.PriorityLevels = append(s.PriorityLevels, result.Level{Group: result.Group{Name: l.name}})
		for _, f := range l.flows {
			s.Flows = append(s.Flows, result.Flow{Group: result.Group{Name: f.name()}, PriorityLevel: l.name})
		}
	}
	s.NameFlows()
	at := 0
	for _, l := range m.levels {
		for _, f := range l.flows {
			f.short = s.Flows[at].ShortName()
			at++
		}
	}
}

// group computes the flows of a level.
func (l *levelNow) group() {
	type key struct{ schema, distinguisher string }
	by := map[key]*flowNow{}
	users := map[key]map[string]bool{}
	for _, r := range l.requests {
		k := key{r.schema, r.flow}
		f := by[k]
		if f == nil {
			f = &flowNow{schema: r.schema, distinguisher: r.flow, first: r.arrived}
			by[k], users[k] = f, map[string]bool{}
			l.flows = append(l.flows, f)
		}
		if r.details {
			users[k][r.user] = true
		}
		if r.arrived.Before(f.first) {
			f.first = r.arrived
		}
		if r.arrived.After(f.last) {
			f.last = r.arrived
		}
		if r.executing() {
			f.executing, f.seats = f.executing+1, f.seats+r.seats
			continue
		}
		if f.waiting == 0 || r.arrived.Before(f.oldest) {
			f.oldest = r.arrived
		}
		f.waiting, f.waitingSeats = f.waiting+1, f.waitingSeats+r.seats
		if r.queue >= 0 && !slices.Contains(f.queues, r.queue) {
			f.queues = append(f.queues, r.queue)
		}
	}
	for k, f := range by {
		if len(users[k]) == 1 {
			f.user = slices.Collect(maps.Keys(users[k]))[0]
		}
		slices.Sort(f.queues)
	}
	l.fairShares()
	l.standOut()
	l.neighbours(func(r *dumpedRequest) *flowNow { return by[key{r.schema, r.flow}] })
	slices.SortStableFunc(l.flows, func(a, b *flowNow) int {
		return cmp.Or(-cmp.Compare(a.waitingSeats, b.waitingSeats), -cmp.Compare(a.seats, b.seats), cmp.Compare(a.name(), b.name()))
	})
}

// fairShares divides the seats in use fairly: a flow that asks for less than an equal share has all, and leaves the rest to others.
// Without executing requests, what each flow should have is not known.
func (l *levelNow) fairShares() {
	if !l.started {
		return
	}
	used := 0.0
	for _, f := range l.flows {
		used += float64(f.seats)
	}
	sorted := slices.Clone(l.flows)
	slices.SortStableFunc(sorted, func(a, b *flowNow) int { return cmp.Compare(a.asked(), b.asked()) })
	share := 0.0
	for i, f := range sorted {
		share = used / float64(len(sorted)-i)
		used -= min(share, f.asked())
	}
	for _, f := range l.flows {
		f.share = min(share, f.asked())
	}
}

// A flow stands out if it asks for so many times of what the median flow of the level does. Those that stand out are the cause only if
// they ask for most of what is asked for. A level where all flows wait has too few seats, has lent them, or its executions take too
// long: a dump cannot tell these apart.
const (
	timesMedian  = 3
	mostStanding = 20
	leastOfAsked = 0.5
)

// standOut marks the flows that ask for much more than others, and for more than their fair share.
func (l *levelNow) standOut() {
	if len(l.flows) == 0 {
		return
	}
	asked := make([]float64, len(l.flows))
	total, standing := 0.0, 0.0
	for i, f := range l.flows {
		asked[i] = f.asked()
		total += asked[i]
	}
	slices.Sort(asked)
	median := asked[(len(asked)-1)/2]
	var found []*flowNow
	for _, f := range l.flows {
		if f.waiting > 0 && (len(l.flows) == 1 || f.asked() >= timesMedian*median) && (!l.started || len(l.flows) == 1 || f.asked() > judge.OverDemandingRatio*f.share) {
			found = append(found, f)
			standing += f.asked()
		}
	}
	if len(found) > mostStanding || len(l.flows) > 1 && 2*len(found) > len(l.flows) || standing < leastOfAsked*total {
		return
	}
	for _, f := range found {
		f.over, f.limited = true, true
	}
}

// namespace returns the namespace of the service account that a flow is of, "" of others.
func (f *flowNow) namespace() string {
	account, is := strings.CutPrefix(f.distinguisher, "system:serviceaccount:")
	namespace, _, found := strings.Cut(account, ":")
	if !is || !found {
		return ""
	}
	return namespace
}

// oneNamespace returns the flows of the namespace whose service accounts ask for most of what is asked for, although none of them
// stands out: each has a fair share of its own. It is nil if no namespace does, or if all flows are of it.
func (l *levelNow) oneNamespace() (flows []*flowNow) {
	by := map[string]float64{}
	total := 0.0
	for _, f := range l.flows {
		by[f.namespace()] += f.asked()
		total += f.asked()
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if name == "" || by[name] < leastOfNamespace*total {
			continue
		}
		for _, f := range l.flows {
			if f.namespace() == name {
				flows = append(flows, f)
			}
		}
	}
	if len(flows) < 2 || len(flows) == len(l.flows) {
		return nil
	}
	return flows
}

// leastOfNamespace is the part of all that is asked for from which on a namespace is the cause.
const leastOfNamespace = 0.75

// mostBefore bounds how many flows of a queue are looked at: a server has at most queueLengthLimit requests in it.
const mostBefore = 200

// neighbours finds out which flows wait in the same queues, and behind whom.
func (l *levelNow) neighbours(flowOf func(*dumpedRequest) *flowNow) {
	waiting := map[int64][]*dumpedRequest{}
	for _, r := range l.requests {
		if !r.executing() && r.queue >= 0 {
			waiting[r.queue] = append(waiting[r.queue], r)
		}
	}
	for _, queue := range slices.Sorted(maps.Keys(waiting)) {
		line := waiting[queue]
		slices.SortStableFunc(line, func(a, b *dumpedRequest) int { return cmp.Compare(a.position, b.position) })
		var before []*flowNow
		for _, r := range line {
			f := flowOf(r)
			for _, o := range before {
				if o == f {
					continue
				}
				f.sharesWith, o.sharesWith = addFlow(f.sharesWith, o), addFlow(o.sharesWith, f)
				if o.over && !f.over {
					f.behind = addFlow(f.behind, o)
					if !slices.Contains(f.behindIn, queue) {
						f.behindIn = append(f.behindIn, queue)
					}
				}
			}
			if len(before) < mostBefore && !slices.Contains(before, f) {
				before = append(before, f)
			}
		}
	}
}

// addFlow adds a flow to some others, unless it is there or there are too many.
func addFlow(flows []*flowNow, f *flowNow) []*flowNow {
	if len(flows) >= mostBefore || slices.Contains(flows, f) {
		return flows
	}
	return append(flows, f)
}

// waiting returns how many requests wait, by the dump that says most of them.
func (l *levelNow) waiting() (n int64) {
	switch {
	case l.listed:
		for _, f := range l.flows {
			n += f.waiting
		}
	case l.row != nil:
		n = l.row.waiting
	default:
		for _, q := range l.queues {
			n += q.pending
		}
	}
	return n
}

// executing returns how many requests execute; -1 if no dump says it.
func (l *levelNow) executing() (n int64) {
	switch {
	case l.started:
		for _, f := range l.flows {
			n += f.executing
		}
	case l.row != nil:
		n = l.row.executing
	case len(l.queues) > 0:
		for _, q := range l.queues {
			n += q.executing
		}
	default:
		n = -1
	}
	return n
}

// seats returns how many seats are in use; -1 if no dump says it. Those that a request keeps after its response are only in dump_queues.
func (l *levelNow) seats() (n int64) {
	if len(l.queues) > 0 && l.queues[0].seats >= 0 {
		for _, q := range l.queues {
			n += q.seats
		}
		return n
	}
	if !l.started {
		return -1
	}
	for _, f := range l.flows {
		n += f.seats
	}
	return n
}

// active returns how many queues have waiting requests, and of how many; -1 where no dump says it.
func (l *levelNow) active() (n, of int64) {
	of = -1
	if len(l.queues) > 0 {
		of = int64(len(l.queues))
	} else if l.shape.known && !l.shape.assumed && l.shape.queues > 0 {
		of = l.shape.queues
	}
	switch {
	case l.listed:
		queues := map[int64]bool{}
		for _, f := range l.flows {
			for _, q := range f.queues {
				queues[q] = true
			}
		}
		n = int64(len(queues))
	case l.row != nil:
		n = l.row.active
	case len(l.queues) > 0:
		for _, q := range l.queues {
			if q.pending > 0 {
				n++
			}
		}
	default:
		n = -1
	}
	return n, of
}

// queuing reports whether the level has queues; known is false if that cannot be told.
func (l *levelNow) queuing() (has, known bool) {
	switch active, _ := l.active(); {
	case len(l.queues) > 0, active > 0, l.waiting() > 0, l.row != nil && l.row.cancelled > 0:
		return true, true
	case l.shape.known && (!l.shape.assumed || l.shape.reject):
		return !l.shape.reject && !l.shape.exempt, true
	case l.hasQueues:
		return false, true
	}
	return false, false
}

// oldest returns how long the oldest waiting request has waited at least; 0 if that is not known.
func (m *moment) oldest(l *levelNow) (d time.Duration) {
	for _, f := range l.flows {
		if f.waiting > 0 {
			d = max(d, m.asOf.Sub(f.oldest))
		}
	}
	return d
}

// widest returns the most seats of a request that is next in its queue, and how many are next with more than one seat.
func (l *levelNow) widest() (seats, wide int64) {
	for _, r := range l.requests {
		if !r.executing() && r.position == 0 {
			seats = max(seats, r.seats)
			if r.seats > 1 {
				wide++
			}
		}
	}
	return seats, wide
}
