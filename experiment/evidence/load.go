package evidence

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"apfsim/experiment/incident"
	"apfsim/lint/metrics"
	"apfsim/reports/format"
)

// load is what the series of a server say of what it was asked for.
type load struct {
	server  *server
	levels  []*level
	schemas []*schemaLoad
	lengths []float64 // of the intervals between samples, in seconds
	seconds float64   // their sum
}

// schemaLoad is the requests of a FlowSchema at a priority level.
type schemaLoad struct {
	schema, level string

	arrived    []float64 // in each interval
	all        float64   // the sum of arrived
	dispatched float64
	// servedFirst is how many requests were dispatched per second in the first 10 s or more.
	servedFirst float64
	before      float64 // requests that waited or executed at the first sample

	executions buckets // in seconds; of watches, their initialisation
	watches    float64 // which part of the executions are of watches
	widths     buckets // seats
	mix        float64 // how widths and executions belong together, see kinds
	held       float64 // seconds for which the widest requests have their seats after their execution
}

// bucket is a bucket of a histogram: n values from low, which does not count, to high.
type bucket struct{ low, high, n float64 }

// buckets is a histogram with the sum of its values.
type buckets struct {
	list   []bucket
	sum, n float64
}

func (b *buckets) mean() float64 { return b.sum / b.n }

// buckets returns what a histogram has counted.
func (s *server) buckets(name string, wanted func(*series) bool) (b buckets) {
	upTo := map[float64]float64{}
	from, to := s.window()
	for _, one := range s.series[name+"_bucket"] {
		if bound, err := strconv.ParseFloat(one.labels["le"], 64); err == nil && !math.IsNaN(bound) && wanted(one) {
			for _, x := range s.growth(one)[from:to] {
				upTo[bound] += x
			}
		}
	}
	low, before := 0.0, 0.0
	for _, bound := range slices.Sorted(maps.Keys(upTo)) {
		if n := upTo[bound] - before; n > 0 {
			b.list = append(b.list, bucket{low, bound, n})
			b.n += n
		}
		low, before = bound, max(before, upTo[bound])
	}
	b.sum, _ = s.during(name+"_sum", from, to, wanted)
	return b
}

// cut returns the server as it was from one sample to another.
func (s *server) cut(from, to int) *server {
	c := *s
	c.atMs, c.series, c.restarts = s.atMs[from:to+1], map[string][]*series{}, nil
	for name, list := range s.series {
		for _, one := range list {
			part := &series{identity: one.identity, labels: one.labels, values: one.values[from : to+1]}
			if slices.ContainsFunc(part.values, func(v float64) bool { return !math.IsNaN(v) }) {
				c.series[name] = append(c.series[name], part)
			}
		}
	}
	return &c
}

// between returns the longest part of the series without a restart between two times, in milliseconds since 1970.
func (s *server) between(fromMs, toMs int64) (part *server, notes []string) {
	best, first := [2]int{0, -1}, 0
	for i, at := range s.atMs {
		if at < fromMs || at > toMs {
			first = i + 1
			continue
		}
		if slices.Contains(s.restarts, at) {
			first = i
		}
		if s.atMs[i]-s.atMs[first] > s.lengthOf(best) {
			best = [2]int{first, i}
		}
	}
	if best[1] <= best[0] {
		return nil, nil
	}
	part = s.cut(best[0], best[1])
	if restarts := len(s.restarts); restarts > 0 {
		notes = append(notes, fmt.Sprintf("The counters began anew %s: the scenario is of the longest time without that, from %s to %s.",
			format.Times(int64(restarts)), clock(part.atMs[0]), clock(part.atMs[len(part.atMs)-1])))
	}
	return part, notes
}

func (s *server) lengthOf(part [2]int) int64 {
	if part[1] < 0 {
		return 0
	}
	return s.atMs[part[1]] - s.atMs[part[0]]
}

// newLoad returns the load of a server. The error says what the series lack.
func newLoad(s *server) (*load, error) {
	l := &load{server: s, levels: s.levels()}
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return len(s.series[name]) > 0 })
	}
	if !has(metrics.DispatchedTotal, metrics.WaitSeconds+"_count") {
		return nil, &incident.WrongChoice{Message: fmt.Sprintf("%s: the series do not say how many requests arrived; want %s, which kubectl get --raw /metrics has", s.fileNames(), metrics.DispatchedTotal)}
	}
	if !has(metrics.ExecutionSeconds + "_bucket") {
		return nil, &incident.WrongChoice{Message: fmt.Sprintf("%s: the series do not say how long requests execute; want %s_bucket, which kubectl get --raw /metrics has", s.fileNames(), metrics.ExecutionSeconds)}
	}
	for i := 1; i < len(s.atMs); i++ {
		l.lengths = append(l.lengths, float64(s.atMs[i]-s.atMs[i-1])/1000)
		l.seconds += l.lengths[i-1]
	}
	for _, level := range l.levels {
		for _, g := range level.schemas {
			if one := l.schemaLoad(g); one.all > 0 || one.before > 0 {
				l.schemas = append(l.schemas, one)
			}
		}
		l.findMix(level)
	}
	if len(l.schemas) == 0 {
		return nil, &incident.WrongChoice{Message: fmt.Sprintf("%s: no request arrived between %s and %s; want a time with load", s.fileNames(), clock(s.atMs[0]), clock(s.atMs[len(s.atMs)-1]))}
	}
	return l, nil
}

// sumAt returns the sum of series at a sample.
func (s *server) sumAt(name string, at int, of func(*series) bool) (sum float64) {
	for _, one := range s.series[name] {
		if v := one.values[at]; of(one) && !math.IsNaN(v) {
			sum += v
		}
	}
	return sum
}

func (l *load) schemaLoad(g *group) *schemaLoad {
	s := l.server
	one := &schemaLoad{schema: g.schema, level: g.level}
	var of func(*series) bool
	for i := 1; i < len(s.atMs); i++ {
		var c *group
		c, of = s.countsOf(g.level, g.schema, i, i+1)
		n := max(0, c.arrived()+s.sumAt(metrics.InQueue, i, of)-s.sumAt(metrics.InQueue, i-1, of))
		one.arrived = append(one.arrived, n)
		one.all, one.dispatched = one.all+n, one.dispatched+c.dispatched
		if ms := s.atMs[i] - s.atMs[0]; i == 1 || s.atMs[i-1]-s.atMs[0] < 10_000 {
			one.servedFirst = one.dispatched / float64(ms) * 1000
		}
	}
	one.before = s.sumAt(metrics.InQueue, 0, of) + s.sumAt(metrics.ExecutingRequests, 0, of)
	if len(s.series[metrics.ExecutingRequests]) == 0 {
		one.before += s.sumAt(metrics.ExecutingSeats, 0, of)
	}
	one.executions, one.widths = s.buckets(metrics.ExecutionSeconds, of), s.buckets(metrics.EstimatedSeats, of)
	if one.executions.n > 0 {
		one.watches = s.buckets(metrics.ExecutionSeconds, func(x *series) bool { return of(x) && x.labels["type"] == "watch" }).n / one.executions.n
	}
	return one
}

// perSecond returns the mean rate of arrivals.
func (s *schemaLoad) perSecond(l *load) float64 { return s.all / l.seconds }

// usedSeats returns the mean number of seats in use at a level, NaN if it is unknown. It is exact while the current limit does not change.
func (s *server) usedSeats(l *level) float64 {
	if l.exempt() || !l.used.known() || !l.current.known() {
		return l.seats.value()
	}
	of := func(one *series) bool { return one.level() == l.level }
	executing := func(one *series) bool { return of(one) && one.labels["phase"] == "executing" }
	all := mean{}
	for i := 1; i < len(s.atMs); i++ {
		used := s.timed(metrics.SeatUtilization, i, i+1, executing)
		limit := (s.sumAt(metrics.CurrentLimit, i-1, of) + s.sumAt(metrics.CurrentLimit, i, of)) / 2
		all.sum, all.n = all.sum+used.sum*limit, all.n+used.n
	}
	return all.value()
}

// findMix finds how the widths and the executions of the requests of a level belong together, by the seats that were in use, and, if
// these are more than executions occupy, for how long seats are held after them, as those of writes are that watches receive. Both are
// one number for all FlowSchemas of the level, as only that is exact.
func (l *load) findMix(of *level) {
	want := l.server.usedSeats(of)
	apart, together, reverse, wide := 0.0, 0.0, 0.0, 0.0
	for _, s := range l.schemas {
		if s.level != of.level {
			continue
		}
		if rate := s.dispatched / l.seconds; s.executions.n > 0 {
			mixed := func(mix float64) float64 { s.mix = mix; return s.seatSeconds() }
			alone := mixed(0)
			apart, together, reverse = apart+rate*alone, together+rate*(mixed(1)-alone), reverse+rate*(mixed(-1)-alone)
			for _, k := range s.widest() {
				wide += rate * k.part * k.seats
			}
		}
	}
	mix, held := 0.0, 0.0
	switch off := want - apart; {
	case math.IsNaN(want):
	case off > together && (off-together > uncertainHeld*want || of.current.least == of.current.most && off-together > leastHeld*want):
		mix, held = 1, (off-together)/wide
	case off > 0 && together > 0:
		mix = min(1, off/together)
	case off < 0 && reverse < 0:
		mix = -min(1, off/reverse)
	}
	for _, s := range l.schemas {
		if s.level == of.level {
			s.mix, s.held = mix, held
		}
	}
}

// Parts of the seats in use that executions must leave unexplained: less may be of executions that began before, or an error of the
// seats in use at a level whose limit changes.
const (
	leastHeld     = 0.03
	uncertainHeld = 0.25
)

// start returns when the series begin.
func (l *load) start() time.Time { return time.UnixMilli(l.server.atMs[0]).UTC() }
