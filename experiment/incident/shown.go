package incident

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"apfsim/core/dealer"
	"apfsim/core/queueset"
	"apfsim/reports/judge"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/trace/requests"
)

// LoggedClient is what the log itself shows of a client: the requests of a user that have one FlowSchema. Sent is the sum
// of Served, Open and what NotServed counts.
type LoggedClient struct {
	User string `json:"user"` // "" if it is the requests whose user is not known, of all of them
	Name string `json:"name"` // the shortest one that is unique in the log

	Sent   int64 `json:"sent"`
	Served int64 `json:"served"`
	Open   int64 `json:"open"` // their end is not in the log
	// Rejected are the answers 429 of flow control, and ByReason how they came about: time-out of a request that waited
	// for a second or more, else queue-full or, at a level without queues, concurrency-limit. A log does not say it.
	Rejected int64            `json:"rejected"`
	ByReason map[string]int64 `json:"byReason"`
	TooMany  int64            `json:"tooManyByHandler"` // answers 429 of handlers, which executed
	Timeouts int64            `json:"timeouts"`         // answers 504
	Errors   int64            `json:"errors"`           // other answers 5xx

	FirstAt    string  `json:"firstAt"` // when the first and the last request arrived
	LastAt     string  `json:"lastAt"`
	HarmedFrom *string `json:"harmedFrom"` // when the first and the last one arrived that was not served; null without
	HarmedTo   *string `json:"harmedTo"`

	// WaitP99Ns is of the requests that were executed or timed out in a queue. It is null unless the log has nine of ten of
	// their waits.
	WaitP99Ns *int64 `json:"waitP99Ns"`

	FlowSchema    string `json:"flowSchema"` // in the log, or else by the configuration; "" if they bypass flow control
	PriorityLevel string `json:"priorityLevel"`
	// SeatSeconds is what the requests asked for: seats times execution, which are estimated and drawn where the log does not
	// have them.
	SeatSeconds float64 `json:"seatSeconds"`

	Hand             []int    `json:"hand"`             // the queues of its flow, in the order of dealing; empty if unknown
	SharedQueuesWith []string `json:"sharedQueuesWith"` // clients with a queue of Hand, most common queues first; at most mostNeighbours; empty for all but the first mostWithNeighbours

	firstNs, lastNs, fromNs, toNs int64 // since time 0; fromNs is negative without harm
	unknown                       bool  // it is all requests of the FlowSchema whose user is not known
	waits                         int64
	overdue, overdueNs            int64 // requests that waited for longer than the release promises, and the longest of these waits
	executedNs                    float64
	slow                          Slow
	servedSeatSeconds             float64
	waited                        measure.Histogram
	mayHaveWaited                 measure.Histogram // of the requests whose wait is not in the log: how long they took
	overTime                      []interval
}

// interval counts the requests of a client in one of the intervals of the log, by their arrival.
type interval struct{ index, sent, notServed int32 }

// flow is the name that a run gives the flow of the client, if the FlowSchema distinguishes users.
func (c *LoggedClient) flow() string { return c.FlowSchema + "/" + c.User }

// notServed returns the counts in the words of a verdict.
func (c *LoggedClient) notServed() result.NotServed {
	n := result.NotServed{Rejected: c.Rejected}
	n.Deadline, n.Error = c.Timeouts, c.Errors+c.TooMany
	return n
}

// clientKey identifies a LoggedClient.
type clientKey struct{ user, schema string }

// clientTable collects what the log itself shows.
type clientTable struct {
	clients map[clientKey]*LoggedClient
	others  *LoggedClient // all that came after mostClients; nil without

	arrivals          int64
	firstNs, latestNs int64                  // arrivals
	executions        map[string]*executions // by priority level
	longestNs, gapNs  int64                  // the longest time without an arrival, and when it began
	intervalNs        int64                  // of the counts over time
}

func newClientTable(durationNs int64) *clientTable {
	return &clientTable{clients: map[clientKey]*LoggedClient{}, executions: map[string]*executions{}, latestNs: -1, intervalNs: result.Interval(durationNs)}
}

// atOnceNs is the wait from which on a rejected request has timed out in a queue.
const atOnceNs = second

// add takes a request. Requests must come in the order of their arrival.
func (s *clientTable) add(q *requests.Request, t times, d decision, arrivalNs, startNs int64) {
	arrivalNs -= startNs
	if s.arrivals++; s.latestNs < 0 {
		s.firstNs = arrivalNs
	} else if between := arrivalNs - s.latestNs; between > s.longestNs {
		s.longestNs, s.gapNs = between, s.latestNs
	}
	s.latestNs = max(s.latestNs, arrivalNs)

	c := s.client(q, &d, arrivalNs)
	c.Sent++
	c.firstNs, c.lastNs = min(c.firstNs, arrivalNs), max(c.lastNs, arrivalNs)
	a := q.Attributes()
	rejected := whose429(q) == byFlowControl
	if !a.LongRunning() || isWatch(q) {
		seatSeconds := float64(max(1, d.seats)) * float64(max(0, t.executionNs)) / 1e9
		c.SeatSeconds += seatSeconds
		if !rejected {
			c.servedSeatSeconds += seatSeconds
		}
	}
	if !rejected && !a.LongRunning() {
		c.executedNs += float64(max(0, t.executionNs))
		c.slow.take(q)
		if t.source == measured && d.level != "" {
			e := s.executions[d.level]
			if e == nil {
				e = &executions{map[drawKey]*kindTimes{}}
				s.executions[strings.Clone(d.level)] = e
			}
			e.add(q, t.executionNs, int32(arrivalNs/s.intervalNs))
		}
	}
	if t.waitNs > promisedWaitNs+lateNs && !d.exempt {
		c.overdue, c.overdueNs = c.overdue+1, max(c.overdueNs, t.waitNs)
	}
	switch {
	case rejected:
		c.Rejected++
		reason := queueset.QueueFull
		switch {
		case t.waitNs >= atOnceNs:
			reason = queueset.TimedOut
			c.waits++
			c.waited.Record(t.waitNs)
		case d.queues == 0 && d.level != "":
			reason = queueset.ConcurrencyLimit
		}
		c.ByReason[reason.String()]++
	case q.Status == http.StatusTooManyRequests:
		c.TooMany++
	case q.Status == http.StatusGatewayTimeout:
		c.Timeouts++
	case q.Status >= http.StatusInternalServerError:
		c.Errors++
	case !t.ended && !isWatch(q) && t.source == drawn && q.Status == 0:
		c.Open++
	default:
		c.Served++
	}
	served := q.Status != http.StatusTooManyRequests && q.Status < http.StatusInternalServerError
	c.count(int32(arrivalNs/s.intervalNs), served)
	if !served {
		if c.fromNs < 0 {
			c.fromNs = arrivalNs
		}
		c.toNs = arrivalNs
	}
	if !rejected && !isWatch(q) && d.level != "" && !d.exempt {
		if t.waitNs >= 0 {
			c.waits++
			c.waited.Record(t.waitNs)
		} else {
			c.mayHaveWaited.Record(t.executionNs)
		}
	}
}

// count counts a request that arrived in an interval of the log.
func (c *LoggedClient) count(index int32, served bool) {
	if n := len(c.overTime); n == 0 || c.overTime[n-1].index != index {
		c.overTime = append(c.overTime, interval{index: index})
	}
	in := &c.overTime[len(c.overTime)-1]
	if in.sent++; !served {
		in.notServed++
	}
}

// client returns the client of a request.
func (s *clientTable) client(q *requests.Request, d *decision, arrivalNs int64) *LoggedClient {
	key := clientKey{q.User, d.schema}
	known := !strings.HasPrefix(q.User, result.UnknownUser)
	if !known {
		key.user = "" // nobody knows how many people these are
	}
	c := s.clients[key]
	if c != nil {
		return c
	}
	if len(s.clients) >= mostClients && s.others != nil {
		return s.others
	}
	c = &LoggedClient{User: strings.Clone(key.user), unknown: !known, FlowSchema: strings.Clone(d.schema), PriorityLevel: strings.Clone(d.level),
		ByReason: map[string]int64{}, Hand: []int{}, SharedQueuesWith: []string{}, firstNs: arrivalNs, fromNs: -1,
		waited: measure.Histogram{Precision: measure.CoarsePrecision}, mayHaveWaited: measure.Histogram{Precision: measure.CoarsePrecision}}
	if len(s.clients) >= mostClients {
		c.User, c.FlowSchema, c.PriorityLevel, s.others = "all other users", "", "", c
		return c
	}
	if d.queues > 0 && known {
		if deck, err := dealer.New(d.queues, d.handSize); err == nil {
			c.Hand = deck.Deal(d.hash, make([]int, d.handSize))
		}
	}
	s.clients[clientKey{c.User, c.FlowSchema}] = c
	return c
}

// all returns the clients, the most harmed first.
func (s *clientTable) all() (all []*LoggedClient) {
	for _, c := range s.clients {
		all = append(all, c)
	}
	if s.others != nil {
		all = append(all, s.others)
	}
	slices.SortFunc(all, func(a, b *LoggedClient) int {
		x, y := a.notServed(), b.notServed()
		return cmp.Or(-cmp.Compare(x.Total(), y.Total()), -cmp.Compare(a.waited.MostNs, b.waited.MostNs), -cmp.Compare(a.SeatSeconds, b.SeatSeconds),
			cmp.Compare(a.User, b.User), cmp.Compare(a.FlowSchema, b.FlowSchema))
	})
	return all
}

// leastWaits is the part of the waits that a log must have, so that they stand for all.
const leastWaits = 0.9

// complete fills in what is derived from all requests of the clients. Time 0 is startNs since 1970.
func complete(all []*LoggedClient, startNs int64) {
	flows := &result.Summary{}
	for _, c := range all {
		if c.FlowSchema == "" || c.unknown {
			continue
		}
		f := result.Flow{PriorityLevel: c.PriorityLevel}
		f.Name = c.flow()
		flows.Flows = append(flows.Flows, f)
	}
	flows.NameFlows()
	named := 0
	moment := func(ns int64) string {
		return time.Unix(0, startNs+ns).UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
	}
	for _, c := range all {
		if c.Name = c.User + " (bypasses flow control)"; c.unknown {
			c.Name = strings.TrimSuffix(result.NoKnownUser+" ("+c.FlowSchema+")", " ()")
		} else if c.FlowSchema != "" {
			c.Name = flows.Flows[named].ShortName()
			named++
		}
		c.FirstAt, c.LastAt = moment(c.firstNs), moment(c.lastNs)
		if c.fromNs >= 0 {
			from, to := moment(c.fromNs), moment(c.toNs)
			c.HarmedFrom, c.HarmedTo = &from, &to
		}
		if c.waits > 0 && float64(c.waits) >= leastWaits*float64(c.waits+c.mayHaveWaited.N) {
			ns := c.waited.PercentileNs(99)
			c.WaitP99Ns = &ns
		}
	}
	shareQueues(all)
}

// mostNeighbours is how many clients are named that share queues with one, and mostWithNeighbours for how many of the most harmed.
const (
	mostNeighbours     = 10
	mostWithNeighbours = 200
)

// shareQueues finds the clients that share queues with the most harmed ones.
func shareQueues(all []*LoggedClient) {
	type queue struct {
		level string
		index int
	}
	in := map[queue][]int{} // clients
	for i, c := range all {
		for _, q := range c.Hand {
			in[queue{c.PriorityLevel, q}] = append(in[queue{c.PriorityLevel, q}], i)
		}
	}
	common := make([]int, len(all)) // queues, by client
	for i, c := range all[:min(len(all), mostWithNeighbours)] {
		var found []int
		for _, q := range c.Hand {
			others := in[queue{c.PriorityLevel, q}]
			for _, k := range others[:min(len(others), 100*mostNeighbours)] { // the most harmed
				if k == i || all[k].User == c.User && all[k].FlowSchema == c.FlowSchema {
					continue
				}
				if common[k]++; common[k] == 1 {
					found = append(found, k)
				}
			}
		}
		closer := func(a, b int) int {
			return cmp.Or(-cmp.Compare(common[a], common[b]), -cmp.Compare(all[a].SeatSeconds, all[b].SeatSeconds), cmp.Compare(a, b))
		}
		var first []int
		for _, k := range found {
			if len(first) < mostNeighbours || closer(k, first[len(first)-1]) < 0 {
				at, _ := slices.BinarySearchFunc(first, k, closer)
				first = slices.Insert(first, at, k)
				first = first[:min(len(first), mostNeighbours)]
			}
		}
		for _, k := range first {
			c.SharedQueuesWith = append(c.SharedQueuesWith, all[k].User)
		}
		for _, k := range found {
			common[k] = 0
		}
	}
}

// gap returns the longest time without an arrival, if it is so long that lines are missing: at a constant rate, the longest
// of n times is ln n means on average, and exceeds that by 20 means once in 5·10⁸ logs. Bursts are less even, so that the
// time must also be a tenth of the log.
func (s *clientTable) gap(startNs int64) (fromNs, toNs int64) {
	lastsNs := s.latestNs - s.firstNs
	if s.arrivals < judge.LeastRequests || lastsNs <= 0 {
		return 0, 0
	}
	mean := float64(lastsNs) / float64(s.arrivals)
	if s.longestNs < second || float64(s.longestNs) < mean*(math.Log(float64(s.arrivals))+20) || s.longestNs < lastsNs/10 {
		return 0, 0
	}
	return startNs + s.gapNs, startNs + s.gapNs + s.longestNs
}
