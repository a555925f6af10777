package evidence

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"apfsim/core/queueset"
	"apfsim/lint/metrics"
	"apfsim/reports/format"
	"apfsim/reports/scrape"
)

// group is what the metrics say of the requests of a priority level, or of a FlowSchema at one, while the server was observed.
type group struct {
	level, schema string // schema is "" for all of the level

	dispatched, rejected float64
	uncounted            bool               // the metrics do not say how many requests were dispatched
	reasons              map[string]float64 // of rejections
	waits                scrape.Histogram   // of the dispatched requests and of those that timed out
	width                mean               // seats
	wider                float64            // requests that were estimated at more than one seat
	noAccommodation      float64            // how often the next request needed more seats than were free
	lengths              scrape.Histogram   // of a queue, with the request that was added to it
	execution            mean               // seconds
	before               mean               // executions before the first scrape, since the start of the process
	arrivedBefore        float64            // requests that were dispatched or rejected until then
	seats                mean               // in use, at the samples
	queued               gauge              // requests in queues
}

// level is what the metrics say of a priority level.
type level struct {
	group
	schemas []*group

	// Averages over the time, exactly. They have no count where the server does not report them.
	used    mean    // seats in use, of the current limit
	demand  mean    // seats in use and wanted by waiting requests, of the current limit
	waiting mean    // requests in queues, of the places there
	notFull float64 // the part of used.n in which they were not
	full    float64 // the part of the time in which at least 99 % of the current limit were in use

	nominal, lower, upper, current gauge
	smoothed, average, high        gauge
	harmedAt                       []int // indexes of the times at which requests had been rejected or had waited for long since the time before
	firstHarm, lastHarm            int   // indexes of the first and last time at which requests had been rejected or had waited for long; -1 without
}

// mean is a sum and of how many values.
type mean struct{ sum, n float64 }

func (m mean) value() float64 { return m.sum / m.n }
func (m mean) known() bool    { return m.n > 0 }
func (m *mean) add(o mean)    { m.sum, m.n = m.sum+o.sum, m.n+o.n }

// gauge is the values of a gauge.
type gauge struct {
	first, last, least, most float64
	sum, n                   float64
}

func (g gauge) known() bool { return g.n > 0 }

func (g *gauge) add(v float64) {
	if math.IsNaN(v) {
		return
	}
	if g.n == 0 {
		g.first, g.least, g.most = v, v, v
	}
	g.last, g.least, g.most = v, min(g.least, v), max(g.most, v)
	g.sum, g.n = g.sum+v, g.n+1
}

// gauge returns the sum of series at each time.
func (s *server) gauge(wanted func(*series) bool, names ...string) gauge {
	return s.gaugeAt(s.all(), wanted, names...)
}

// gaugeAt returns the sum of series at some times, whose indexes are given: the first of the names that has any value.
func (s *server) gaugeAt(at []int, wanted func(*series) bool, names ...string) (g gauge) {
	for _, name := range names {
		for _, i := range at {
			sum := math.NaN()
			for _, one := range s.series[name] {
				if v := one.values[i]; !math.IsNaN(v) && wanted(one) {
					if math.IsNaN(sum) {
						sum = 0
					}
					sum += v
				}
			}
			g.add(sum)
		}
		if g.known() {
			break
		}
	}
	return g
}

// timed returns the mean of a histogram.
func (s *server) timed(name string, from, to int, wanted func(*series) bool) (m mean) {
	m.sum, _ = s.during(name+"_sum", from, to, wanted)
	m.n, _ = s.during(name+"_count", from, to, wanted)
	return m
}

func (s *server) histogram(name string, from, to int, wanted func(*series) bool) (h scrape.Histogram, found bool) {
	for _, one := range s.series[name+"_bucket"] {
		bound, err := strconv.ParseFloat(one.labels["le"], 64)
		if err != nil || math.IsNaN(bound) || !wanted(one) {
			continue
		}
		found = true
		sum := 0.0
		for _, x := range s.growth(one)[from:to] {
			sum += x
		}
		h.Add(bound, sum)
	}
	h.Sort()
	return h, found
}

// upTo reports whether a series is the bucket of a histogram with a bound, which collectors write as 1 or as 1.0.
func (s *series) upTo(bound float64) bool {
	le, err := strconv.ParseFloat(s.labels["le"], 64)
	return err == nil && le == bound
}

// timeouts are the reasons of requests that waited until they were rejected, whose waits count as those of dispatched ones.
var timeouts = []string{queueset.TimedOut.String(), queueset.Cancelled.String()}

// countsOf returns the requests of a priority level, or of a FlowSchema at it, and their waits, at the times from index from on and
// before index to.
func (s *server) countsOf(levelName, schema string, from, to int) (g *group, of func(*series) bool) {
	g = &group{level: levelName, schema: schema, reasons: map[string]float64{}}
	of = func(one *series) bool { return one.level() == levelName && (schema == "" || one.schema() == schema) }
	var known bool
	for _, one := range s.series[metrics.RejectedTotal] {
		if of(one) {
			for _, x := range s.growth(one)[from:to] {
				if x > 0 {
					g.rejected, g.reasons[one.labels["reason"]] = g.rejected+x, g.reasons[one.labels["reason"]]+x
				}
			}
		}
	}
	executed := func(one *series) bool { return of(one) && one.labels["execute"] == "true" }
	g.waits, _ = s.histogram(metrics.WaitSeconds, from, to, executed)
	if g.dispatched, known = s.during(metrics.DispatchedTotal, from, to, of); !known && len(s.series[metrics.DispatchedTotal]) == 0 {
		g.dispatched, _ = s.during(metrics.WaitSeconds+"_count", from, to, executed)
		g.uncounted = len(s.series[metrics.WaitSeconds+"_count"]) == 0
		for _, reason := range timeouts {
			g.dispatched = max(0, g.dispatched-g.reasons[reason])
		}
	}
	return g, of
}

// groupOf returns what the metrics say of a priority level, or of a FlowSchema at it.
func (s *server) groupOf(levelName, schema string, from, to int) *group {
	g, of := s.countsOf(levelName, schema, from, to)
	g.width = s.timed(metrics.EstimatedSeats, from, to, of)
	one, _ := s.during(metrics.EstimatedSeats+"_bucket", from, to, func(one *series) bool { return of(one) && one.upTo(1) })
	g.wider = g.width.n - one
	g.noAccommodation, _ = s.during(metrics.NoAccommodation, from, to, of)
	g.lengths, _ = s.histogram(metrics.QueueLength, from, to, of)
	regular := func(one *series) bool { return of(one) && one.labels["type"] != "watch" }
	g.execution = s.timed(metrics.ExecutionSeconds, from, to, regular)
	if !s.sinceStart() {
		for name, into := range map[string]*float64{"_sum": &g.before.sum, "_count": &g.before.n} {
			for _, one := range s.series[metrics.ExecutionSeconds+name] {
				if v := one.values[0]; regular(one) && !math.IsNaN(v) {
					*into += v
				}
			}
		}
	}
	for _, name := range []string{metrics.DispatchedTotal, metrics.RejectedTotal} {
		for _, one := range s.series[name] {
			if v := one.values[0]; of(one) && !math.IsNaN(v) {
				g.arrivedBefore += v
			}
		}
	}
	seats := s.gauge(of, metrics.ExecutingSeats, metrics.ConcurrencyInUse)
	g.seats = mean{seats.sum, seats.n}
	g.queued = s.gauge(of, metrics.InQueue)
	return g
}

// arrived returns how many requests were dispatched or rejected; those that were rejected if it is uncounted.
func (g *group) arrived() float64 { return g.dispatched + g.rejected }

// window returns the indexes of the growths of all that was observed.
func (s *server) window() (from, to int) {
	if s.sinceStart() {
		return 0, 1
	}
	return 1, len(s.atMs)
}

// levels returns the priority levels by name.
func (s *server) levels() (all []*level) {
	names := map[string]map[string]bool{}
	for name, list := range s.series {
		if name == metrics.DemandSeats+"_bucket" {
			continue
		}
		for _, one := range list {
			if l := one.level(); l != "" {
				if names[l] == nil {
					names[l] = map[string]bool{}
				}
				if schema := one.schema(); schema != "" {
					names[l][schema] = true
				}
			}
		}
	}
	from, to := s.window()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		l := &level{group: *s.groupOf(name, "", from, to), firstHarm: -1}
		for _, schema := range slices.Sorted(maps.Keys(names[name])) {
			if g := s.groupOf(name, schema, from, to); g.arrived() > 0 || g.seats.sum > 0 {
				l.schemas = append(l.schemas, g)
			}
		}
		slices.SortStableFunc(l.schemas, func(a, b *group) int {
			return cmp.Or(cmp.Compare(b.rejected, a.rejected), cmp.Compare(b.arrived(), a.arrived()))
		})
		s.averages(l, from, to)
		s.limits(l, s.all())
		for i := from; i < to && to-from > 1; i++ {
			if g, _ := s.countsOf(name, "", i, i+1); g.rejected > 0 || judgedGroup(g).WaitP99Ns >= longWaitNs {
				l.harmedAt = append(l.harmedAt, i)
				if l.lastHarm = i; l.firstHarm < 0 {
					l.firstHarm = i
				}
			}
		}
		all = append(all, l)
	}
	return all
}

// averages adds the averages of the growths at the times from index from on and before index to.
func (s *server) averages(l *level, from, to int) {
	of := func(one *series) bool { return one.level() == l.level }
	executing := func(one *series) bool { return of(one) && one.labels["phase"] == "executing" }
	l.used.add(s.timed(metrics.SeatUtilization, from, to, executing))
	l.demand.add(s.timed(metrics.DemandSeats, from, to, of))
	l.waiting.add(s.timed(metrics.RequestUtilization, from, to, func(one *series) bool { return of(one) && one.labels["phase"] == "waiting" }))
	notFull, _ := s.during(metrics.SeatUtilization+"_bucket", from, to, func(one *series) bool { return executing(one) && one.upTo(0.99) })
	if l.notFull += notFull; l.used.known() {
		l.full = max(0, 1-l.notFull/l.used.n)
	}
}

// limits adds the gauges at some times.
func (s *server) limits(l *level, at []int) {
	of := func(one *series) bool { return one.level() == l.level }
	l.nominal, l.lower, l.upper, l.current = s.gaugeAt(at, of, metrics.NominalLimit, metrics.ConcurrencyLimit), s.gaugeAt(at, of, metrics.LowerLimit), s.gaugeAt(at, of, metrics.UpperLimit), s.gaugeAt(at, of, metrics.CurrentLimit)
	l.smoothed, l.average, l.high = s.gaugeAt(at, of, metrics.DemandSmoothed), s.gaugeAt(at, of, metrics.DemandAverage), s.gaugeAt(at, of, metrics.DemandHigh)
}

// whileHarmed returns a level as it was while its requests were rejected or waited for long: what it did at other times does not tell
// why. Requests, waits and executions are those of all the time.
func (s *server) whileHarmed(l *level) *level {
	if len(l.harmedAt) == 0 || len(l.harmedAt) == s.intervals() {
		return l
	}
	h := *l
	h.used, h.demand, h.waiting, h.notFull, h.full = mean{}, mean{}, mean{}, 0, 0
	var at []int
	for _, i := range l.harmedAt {
		s.averages(&h, i, i+1)
		at = append(at, max(0, i-2), i-1, i) // requests that stop waiting in an interval may have begun in the one before
	}
	slices.Sort(at)
	s.limits(&h, slices.Compact(at))
	return &h
}

// intervals returns how many intervals between samples there are.
func (s *server) intervals() int {
	from, to := s.window()
	return to - from
}

// all returns the indexes of all times.
func (s *server) all() []int {
	all := make([]int, len(s.atMs))
	for i := range all {
		all[i] = i
	}
	return all
}

// exempt reports whether a level has no limits: its requests do not wait.
func (l *level) exempt() bool { return l.level == "exempt" }

// clock writes a time, of milliseconds since 1970.
func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// observed says for how long, in words.
func (s *server) observed() string {
	switch length := s.lengthMs(); {
	case s.sinceStart():
		return "since the start of the server"
	case length > 0:
		return "in " + format.Duration(float64(length)*1e6)
	}
	return "between the scrapes"
}
