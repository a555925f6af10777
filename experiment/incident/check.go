package incident

import (
	"container/heap"
	"fmt"
	"slices"
	"strings"

	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/core/flowcontrol"
	"apfsim/core/request"
	"apfsim/core/rules"
	"apfsim/reports/judge"
	"apfsim/reports/result"
	"apfsim/sim/trace/requests"
)

// mostDifferences is the number of differences that are listed.
const mostDifferences = 10

// checker compares what flow control decides here with what the server logged.
type checker struct {
	rules      *rules.Rules
	objects    config.Objects
	controller *flowcontrol.Controller
	estimator  *estimate.Estimator
	parsed     map[asked]request.Options // the queries of the latest requests, many of which are the same
	open       ends                      // the ends of the open watches
	arrived    map[string]int64          // requests by priority level
	waited     map[string]int64          // those of the first firstRequests of a level that waited
	result     *Check
}

func newChecker(r *rules.Rules, objects config.Objects, serverLimit int, store estimate.Store, result *Check) *checker {
	return &checker{
		rules:      r,
		objects:    objects,
		arrived:    map[string]int64{},
		waited:     map[string]int64{},
		controller: flowcontrol.New(0, r, serverLimit, objects, nil, nil),
		estimator:  estimate.NewEstimator(r, store),
		parsed:     map[asked]request.Options{},
		result:     result,
	}
}

// readable reports whether a request can be simulated: flow control must be able to read its query.
func (c *checker) readable(q *requests.Request) bool {
	_, err := c.options(q)
	return err == nil
}

// asked is the key by which parsed options are remembered.
type asked struct{ verb, query string }

// mostParsed bounds the memory for queries.
const mostParsed = 1 << 12

// options returns the parsed options of a request's query.
func (c *checker) options(q *requests.Request) (request.Options, error) {
	if q.Query == "" {
		return request.Options{}, nil
	}
	key := asked{q.Verb, q.Query}
	if o, ok := c.parsed[key]; ok {
		return o, nil
	}
	key.query = strings.Clone(q.Query) // which is a part of a longer text
	o, err := request.ParseOptions(key.verb, key.query)
	if err == nil {
		if len(c.parsed) == mostParsed {
			clear(c.parsed)
		}
		c.parsed[key] = o
	}
	return o, err
}

// see compares the decisions for a request, which must come in the order of arrival. Watches count
// as watchers from startNs to endNs. file is the name of the file that has the request's line. It returns what the server
// decided or, where the log does not say it, what the configuration decides.
func (c *checker) see(q *requests.Request, startNs, endNs int64, file string) (decision, error) {
	for len(c.open) > 0 && c.open[0].atNs <= startNs {
		heap.Pop(&c.open).(ending).end()
	}
	a := q.Attributes()
	options, err := c.options(q)
	if err != nil {
		return decision{}, err
	}
	work := c.estimator.NewParsedRequest(&a, options)
	if isWatch(q) {
		defer func() {
			work.WatchStarts()
			heap.Push(&c.open, ending{atNs: endNs, end: work.WatchEnds})
		}()
	}
	if a.Bypasses(c.rules) {
		c.compareBypassing(q, file)
		return decision{schema: c.fullSchema(q.FlowSchema), level: c.fullLevel(q.PriorityLevel)}, nil
	}
	route := c.controller.Route(&a)
	e := work.Estimate(route.Level.SeatCap())
	if q.FlowSchema == "" {
		return decisionOf(&route, e.InitialSeats), nil
	}
	logged := route
	if name := c.fullSchema(q.FlowSchema); name != route.Schema.Name {
		logged = c.controller.RouteBy(name, &a)
	}
	d := decisionOf(&logged, e.InitialSeats)
	if level := c.fullLevel(q.PriorityLevel); d.schema != c.fullSchema(q.FlowSchema) || d.level != level { // the configuration is another
		d = decision{schema: q.FlowSchema, level: level, seats: d.seats}
	}
	if q.Seats > 0 {
		d.seats = q.Seats
	}
	if q.User == "" || strings.HasPrefix(q.User, result.UnknownUser) {
		c.result.WithoutUser++
		return d, nil
	}
	c.result.Requests++
	at := place{file, q.Line}
	c.compareNames(&c.result.FlowSchema, "flowSchema", at, q.FlowSchema, route.Schema.Name)
	c.compareNames(&c.result.PriorityLevel, "priorityLevel", at, q.PriorityLevel, route.Level.Name())
	if q.Seats < 0 {
		return d, nil
	}
	compare(c, &c.result.Seats, "seats", at, q.Seats, e.InitialSeats)
	compare(c, &c.result.FinalSeats, "finalSeats", at, q.FinalSeats, e.FinalSeats)
	return d, nil
}

// compareBypassing compares a request that bypasses flow control here.
func (c *checker) compareBypassing(q *requests.Request, file string) {
	switch {
	case q.FlowSchema == "":
	case q.User == "" || strings.HasPrefix(q.User, result.UnknownUser):
		c.result.WithoutUser++
	default:
		c.result.Requests++
		compare(c, &c.result.FlowSchema, "flowSchema", place{file, q.Line}, q.FlowSchema, "none: long-running requests bypass flow control")
	}
}

// decision is what flow control decided for a request: the FlowSchema and the priority level, which are empty where it is
// unknown, the hash of the flow and the deck that its hand is dealt from, which has no queues if the level has none, and the
// seats.
type decision struct {
	schema, level    string
	hash             uint64
	queues, handSize int
	seats            int
	exempt           bool // nothing waits at the level
}

func decisionOf(r *flowcontrol.Route, seats int) decision {
	d := decision{schema: r.Schema.Name, level: r.Level.Name(), hash: r.Hash, seats: seats}
	if limited := r.Level.Spec().Limited; limited != nil && limited.LimitResponse.Queuing != nil {
		q := limited.LimitResponse.Queuing
		d.queues, d.handSize = int(q.Queues), int(q.HandSize)
	}
	return d
}

// fullAtStart reports whether the queues of a level were already full when the trace begins. It must be called for each
// request of the trace with its level, which is empty for one that bypasses flow control; rejected says that the log has it as rejected at once. This is done if all queues of the hand of
// its flow are full, which takes as many requests of the level as these queues hold. The first requests of a level also
// show it: if nearly all of them waited, others were before them.
func (c *checker) fullAtStart(level string, waitNs int64, rejected bool) bool {
	if level == "" {
		return false
	}
	c.arrived[level]++
	if waitNs >= judge.GoodWaitNs && c.arrived[level] <= firstRequests {
		if c.waited[level]++; c.waited[level] == firstRequests-2 {
			return true
		}
	}
	if !rejected {
		return false
	}
	for _, l := range c.objects.PriorityLevels {
		if limited := l.Spec.Limited; l.Name == level && limited != nil && limited.LimitResponse.Queuing != nil {
			queues := limited.LimitResponse.Queuing
			return c.arrived[level] <= int64(min(queues.HandSize, queues.Queues))*int64(queues.QueueLengthLimit)
		}
	}
	return false
}

// firstRequests is how many requests of a level show whether others waited before them.
const firstRequests = 10

// exempt reports whether nothing waits at a level.
func (c *checker) exempt(level string) bool {
	i := slices.IndexFunc(c.objects.PriorityLevels, func(l *config.PriorityLevel) bool { return l.Name == level })
	return i >= 0 && c.objects.PriorityLevels[i].Spec.Type == config.TypeExempt
}

// fullSchema returns the name of the only FlowSchema that the server can have shortened to this name in its log, or else
// the name itself.
func (c *checker) fullSchema(logged string) string {
	return full(logged, c.objects.FlowSchemas, func(s *config.FlowSchema) string { return s.Name })
}

// fullLevel is fullSchema for a priority level.
func (c *checker) fullLevel(logged string) string {
	return full(logged, c.objects.PriorityLevels, func(l *config.PriorityLevel) string { return l.Name })
}

func full[T any](logged string, objects []T, nameOf func(T) string) string {
	start, cut := strings.CutSuffix(logged, "...")
	if !cut {
		return logged
	}
	found := logged
	for _, o := range objects {
		switch name := nameOf(o); {
		case !strings.HasPrefix(name, start):
		case found != logged:
			return logged // several
		default:
			found = name
		}
	}
	return found
}

// compareNames compares names, which kube-apiserver shortens in its log.
func (c *checker) compareNames(n *Agreement, field string, at place, logged, decided string) {
	if start, cut := strings.CutSuffix(logged, "..."); cut && strings.HasPrefix(decided, start) {
		logged = decided
	}
	compare(c, n, field, at, logged, decided)
}

// place is a line of a file.
type place struct {
	file string
	line int64
}

func compare[T comparable](c *checker, n *Agreement, field string, at place, logged, decided T) {
	n.Compared++
	if logged == decided {
		n.Equal++
		return
	}
	if len(c.result.Differences) < mostDifferences {
		c.result.Differences = append(c.result.Differences, Difference{At: fmt.Sprintf("%s:%d", at.file, at.line), Field: field, Logged: fmt.Sprint(logged), Decided: fmt.Sprint(decided)})
	}
}

// ServerLimit returns the number of seats of a server whose levels have these nominal limits. They
// are rounded up, so that their sum may be too high. exact is false if no number gives these limits,
// in which case the sum is returned.
func ServerLimit(r *rules.Rules, objects config.Objects, nominal map[string]int) (limit int, exact bool) {
	for _, n := range nominal {
		limit += n
	}
	for try := limit; try > 0 && try > limit-len(nominal)-1; try-- {
		if nominalLimitsAre(r, objects, try, nominal) {
			return try, true
		}
	}
	return max(limit, 1), false
}

func nominalLimitsAre(r *rules.Rules, objects config.Objects, limit int, nominal map[string]int) bool {
	levels := flowcontrol.New(0, r, limit, objects, nil, nil).Levels()
	if len(levels) != len(nominal) {
		return false
	}
	for _, l := range levels {
		if n, ok := nominal[l.Name()]; !ok || n != l.Limits().Nominal {
			return false
		}
	}
	return true
}

// isComplete reports whether the objects are all of a server's: those of a server always include the
// mandatory ones.
func isComplete(o config.Objects) bool {
	for _, name := range []string{"exempt", "catch-all"} {
		if !slices.ContainsFunc(o.FlowSchemas, func(s *config.FlowSchema) bool { return s.Name == name }) ||
			!slices.ContainsFunc(o.PriorityLevels, func(l *config.PriorityLevel) bool { return l.Name == name }) {
			return false
		}
	}
	return true
}
