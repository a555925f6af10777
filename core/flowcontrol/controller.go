// Package flowcontrol implements API Priority and Fairness as a server calls it: it classifies
// requests, keeps queues for every priority level, divides the server's seats among the levels, and
// says when a rejected client may come back (k8s.io/apiserver, util/flowcontrol/apf_controller.go).
//
// The server owns time: every call takes the time, and times never go back. The server makes the
// calls that are due later: Finish and Release as their comments say, TimeOut when a request has
// reached its wait limit, Cancel when its client goes away, Adjust every AdjustmentPeriodNs.
package flowcontrol

import (
	"slices"
	"strings"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/queueset"
	"apfsim/core/rules"
	"apfsim/core/seats"
)

// AdjustmentPeriodNs is how often the levels' current limits are adjusted.
const AdjustmentPeriodNs = 10_000_000_000

// Controller decides about the requests to one server.
type Controller struct {
	rules       *rules.Rules
	host        queueset.Host
	adjusted    func(nowNs int64)
	serverLimit int // seats of the whole server
	objects     config.Objects
	classifier  *classify.Classifier
	levels      []*Level               // by name
	retryAfter  map[string]*RetryAfter // by level name; it outlives the level, as upstream
	generation  int
}

// New returns a controller for a server with serverLimit seats (max-requests-inflight +
// max-mutating-requests-inflight) and the rules of its release, configured with objects as
// Configure wants them. The queues of all levels have the host. The function adjusted, which may be
// nil, is called when the levels or their current limits may have changed: by New, by Adjust, by
// Configure, and when a level that was draining has gone.
func New(nowNs int64, r *rules.Rules, serverLimit int, objects config.Objects, host queueset.Host, adjusted func(nowNs int64)) *Controller {
	c := &Controller{rules: r, host: host, adjusted: adjusted, serverLimit: serverLimit, retryAfter: map[string]*RetryAfter{}}
	c.Configure(nowNs, objects)
	return c
}

// Configure puts another configuration into force. The objects are defaulted, valid, and
// include the mandatory ones. A FlowSchema whose level does not exist is ignored. A level that is
// no longer configured drains: it keeps its shares until nothing waits or executes in it.
func (c *Controller) Configure(nowNs int64, objects config.Objects) {
	c.objects = objects
	c.generation++

	var levels []*Level
	for _, object := range objects.PriorityLevels {
		l := c.level(object.Name)
		if l == nil {
			if c.retryAfter[object.Name] == nil {
				c.retryAfter[object.Name] = NewRetryAfter(c.rules)
			}
			l = &Level{retryAfter: c.retryAfter[object.Name]}
		}
		l.object, l.draining = object, false
		levels = append(levels, l)
	}
	for _, l := range c.levels {
		if !slices.Contains(levels, l) && !l.queues.Idle() {
			l.draining = true
			levels = append(levels, l)
		}
	}
	slices.SortFunc(levels, func(a, b *Level) int { return strings.Compare(a.object.Name, b.object.Name) })
	c.levels = levels

	var schemas []*config.FlowSchema
	for _, s := range objects.FlowSchemas {
		if l := c.level(s.Spec.PriorityLevelConfiguration.Name); l != nil && !l.draining {
			schemas = append(schemas, s)
		}
	}
	c.classifier = classify.New(schemas)

	var shares float64
	for _, l := range levels {
		if l.hasSeats(c.rules) {
			shares += float64(l.object.Spec.Shares())
		}
	}
	for _, l := range levels {
		l.derive(c.rules, c.serverLimit, shares)
	}
	if c.rules.Lending {
		c.lend(nowNs)
	}
	c.enforce(nowNs)
	c.notify(nowNs)
}

// Adjust lends and borrows: it sets the levels' current limits by the demand since the
// last adjustment. In releases in which levels do not lend, it only calls the function adjusted.
func (c *Controller) Adjust(nowNs int64) {
	if c.rules.Lending {
		c.lend(nowNs)
		c.enforce(nowNs)
	}
	c.notify(nowNs)
}

// lend sets the levels' current limits by the demand since the last adjustment.
func (c *Controller) lend(nowNs int64) {
	var division []*seats.Level
	for _, l := range c.levels {
		if !l.hasSeats(c.rules) {
			continue
		}
		if l.queues != nil {
			l.seats.Observe(c.rules, l.queues.TakeDemand(nowNs))
		}
		division = append(division, &l.seats)
	}
	seats.Adjust(c.rules, division)
}

// ReachableLimit returns the greatest concurrency limit that adjustments can give one of the levels, in
// seats: its upper bound, or what the other levels can lend. It is not ok for an exempt level, whose
// requests are not limited.
func (c *Controller) ReachableLimit(of *Level) (limit int, ok bool) {
	switch {
	case of.object.Spec.Type == config.TypeExempt:
		return 0, false
	case !c.rules.Lending:
		return of.seats.Nominal, true
	}
	var division []*seats.Level
	at := 0
	for _, l := range c.levels {
		if l.hasSeats(c.rules) {
			if l == of {
				at = len(division)
			}
			division = append(division, &l.seats)
		}
	}
	return seats.Reachable(c.rules, division, at), true
}

// enforce configures the queues of all levels, with their current limits.
func (c *Controller) enforce(nowNs int64) {
	for _, l := range c.levels {
		if l.queues == nil {
			l.queues = queueset.New(nowNs, c.rules, l.queuing, l.seats.Current, c.host)
			continue
		}
		l.queues.Configure(nowNs, l.queuing, l.seats.Current)
	}
}

func (c *Controller) notify(nowNs int64) {
	if c.adjusted != nil {
		c.adjusted(nowNs)
	}
}

// Levels returns the priority levels by name, draining ones among them. The slice is
// valid until the next call of Configure.
func (c *Controller) Levels() []*Level { return c.levels }

// Generation counts the configurations; a Route is valid for one.
func (c *Controller) Generation() int { return c.generation }

func (c *Controller) level(name string) *Level {
	i, ok := slices.BinarySearchFunc(c.levels, name, func(l *Level, name string) int {
		return strings.Compare(l.object.Name, name)
	})
	if !ok {
		return nil
	}
	return c.levels[i]
}

// Route is where the requests of a flow are sent: a FlowSchema, its level, and a hand of queues.
type Route struct {
	Level         *Level
	Hand          queueset.Hand
	Schema        *config.FlowSchema
	Distinguisher string // identifies the flow among those of Schema
	Hash          uint64 // of the flow; 0 where the level does not distinguish flows
}

// Route classifies a request by the current configuration.
func (c *Controller) Route(a *classify.Attributes) Route { return c.RouteBy("", a) }

// RouteBy is Route for a request that is known to belong to the FlowSchema with this name. If there is none, or
// the name is empty, the request is classified.
func (c *Controller) RouteBy(schema string, a *classify.Attributes) Route {
	r := Route{Schema: c.classifier.Named(schema)}
	if r.Schema == nil {
		r.Schema = c.classifier.Match(a)
	}
	r.Level = c.level(r.Schema.Spec.PriorityLevelConfiguration.Name)
	if r.Level.queuing.Queues > 1 {
		r.Distinguisher = classify.Distinguisher(r.Schema, a)
		r.Hash = classify.FlowHash(r.Schema.Name, r.Distinguisher)
	}
	r.Hand = r.Level.queues.Hand(r.Hash)
	return r
}

// Explain says of every FlowSchema, in the order in which they are tried, whether and why
// it matches a request.
func (c *Controller) Explain(a *classify.Attributes) []classify.Verdict {
	return c.classifier.Explain(a)
}

// Request is a request under flow control. The server allocates it and sets its Work
// (estimated with the level's SeatCap) and its Owner.
type Request struct {
	queueset.Request
	Level *Level // set by Arrive
}

// Arrive takes a request that has a route. It is rejected, with the number of seconds after which
// the client may come back, or waits, or is dispatched before the method returns.
func (c *Controller) Arrive(nowNs int64, r *Request, by *Route) (rejection queueset.Rejection, retryAfterSeconds int) {
	r.Level = by.Level
	rejection = r.Level.queues.Arrive(nowNs, &r.Request, &by.Hand)
	if rejection == queueset.NotRejected {
		return rejection, 0
	}
	return rejection, c.dropped(nowNs, r.Level)
}

// Finish ends a request's execution. It returns for how long the request keeps its seats:
// if positive, the server owes a Release that much later.
func (c *Controller) Finish(nowNs int64, r *Request) (additionalNs int64) {
	additionalNs = r.Level.queues.Finish(nowNs, &r.Request)
	c.removeIfDrained(nowNs, r.Level)
	return additionalNs
}

// Release ends a request's additional latency.
func (c *Controller) Release(nowNs int64, r *Request) {
	r.Level.queues.Release(nowNs, &r.Request)
}

// TimeOut rejects a request that still waits, and returns after how many seconds the
// client may come back.
func (c *Controller) TimeOut(nowNs int64, r *Request) (retryAfterSeconds int) {
	r.Level.queues.TimeOut(nowNs, &r.Request)
	return c.dropped(nowNs, r.Level)
}

// Cancel rejects a request whose client has gone while the request waited. It counts as a
// time-out, and as a drop that can raise Retry-After for other clients; the number of seconds
// returned is in the response, though its client does not read it. A request that executes is not
// affected when its client goes away: it ends with Finish, as others do.
func (c *Controller) Cancel(nowNs int64, r *Request) (retryAfterSeconds int) {
	r.Level.queues.Cancel(nowNs, &r.Request)
	return c.dropped(nowNs, r.Level)
}

// Dropped counts a request that the queues of its level have rejected while another one arrived
// (queueset.Host.TimedOut), and returns after how many seconds its client may come back.
func (c *Controller) Dropped(nowNs int64, r *Request) (retryAfterSeconds int) {
	return r.Level.retryAfter.Drop(nowNs)
}

// dropped counts a request that a level has rejected, and returns after how many seconds its
// client may come back.
func (c *Controller) dropped(nowNs int64, l *Level) (retryAfterSeconds int) {
	retryAfterSeconds = l.retryAfter.Drop(nowNs)
	c.removeIfDrained(nowNs, l)
	return retryAfterSeconds
}

// removeIfDrained removes a level that drains, when it is idle.
func (c *Controller) removeIfDrained(nowNs int64, l *Level) {
	if l.draining && l.queues.Idle() {
		c.Configure(nowNs, c.objects)
	}
}
