package result

import (
	"apfsim/reports/format"
)

// Overall is the verdict on a run as a whole: whether requests were harmed, whose, why, and what may help. reports/judge
// computes it once for each result; all outputs show it first. Its lists are empty and not null if they have nothing.
type Overall struct {
	Status   Status   `json:"status"`
	Sentence string   `json:"sentence"` // one line that says what happened
	Harmed   []Harmed `json:"harmed"`   // victims first, then by harm: requests not served first, then seconds waited
	Causes   []Cause  `json:"causes"`   // the most important one first
	Try      []Remedy `json:"try"`      // in the order of the causes
	Decided  *Decided `json:"decided"`  // the effect that the status follows from; null if another rule decides
	Judged   []Judged `json:"judged"`   // whose effects were looked at
	Trust    []Trust  `json:"trust"`    // how far the statistics can be trusted

	// StartNs is the time of day at time 0, since 1970, if the verdict is on a log; else 0. Its times are then times of day.
	StartNs format.Clock `json:"startNs,omitempty"`
}

// Status says how bad a result is. docs/reference/statistics.md has the rules, of which the first that applies decides.
type Status string

// The statuses, worst first.
const (
	Harm    Status = "harm"    // requests were not served, or stalled for long, or a goal failed
	Unknown Status = "unknown" // too little is known
	Warning Status = "warning" // a figure is not good, or waits grow
	OK      Status = "ok"
)

// Decided is the effect that a status follows from.
type Decided struct {
	Of       string  `json:"of"` // as Judged.Of; goal of a goal that failed
	Name     string  `json:"name"`
	Figure   string  `json:"figure"` // as in the table of docs/reference/statistics.md: not served, wait p99, stall, own rate limit p99, never sent, leaders lost
	Value    float64 `json:"value"`
	Limit    float64 `json:"limit"` // from which on the status is this one
	Unit     string  `json:"unit"`  // ns, or "" for a share
	Near     bool    `json:"near"`  // the figure is so near to the limit of a worse status that another run may have it
	Sentence string  `json:"sentence"`
}

// The values of Judged.Of.
const (
	OfWorkload = "workload"
	OfLevel    = "priorityLevel"
	OfFlow     = "flow"
	OfServers  = "servers" // all of them
	OfGoal     = "goal"    // only of Decided
)

// Judged is what a workload, a priority level or a flow is judged by: the figures of its requests without those of flows that
// were limited or, if Limited, of these alone.
type Judged struct {
	Of      string `json:"of"`
	Name    string `json:"name"`
	Limited bool   `json:"limited,omitempty"`

	Arrived   int64 `json:"arrived"`
	NotServed int64 `json:"notServed"`
	WaitP99Ns int64 `json:"waitP99Ns"` // as far as the waits are enough to know it; else a lower percentile, or 0
	StallNs   int64 `json:"stallNs"`   // the longest stall, freeze or starvation

	// What clients see besides, of a workload: the wait p99 for their own rate limit, as far as it is known, the requests that were
	// never sent because of it, and how many leaders lost their leases.
	OwnLimitNs  int64 `json:"ownLimitNs,omitempty"`
	NeverSent   int64 `json:"neverSent,omitempty"`
	LeadersLost int64 `json:"leadersLost,omitempty"`
	// What is no harm by itself: nodes that became not ready, writes that were given up or replaced others, and watches that were
	// closed because they were slow.
	NodesNotReady int64 `json:"nodesNotReady,omitempty"`
	LostWrites    int64 `json:"lostWrites,omitempty"`
	SlowWatches   int64 `json:"slowWatches,omitempty"`

	Grows bool `json:"grows,omitempty"`

	Runs int `json:"runs,omitempty"` // of several runs together, in how many it was judged
}

// Role is whether who was harmed is a victim.
type Role string

// The roles of who was harmed.
const (
	Victim     Role = "victim"  // it asked for no more than its share, or for as much as all others
	WasLimited Role = "limited" // it asked for more, and flow control did its work: see judge.Limited
)

// Harmed is who was harmed: a workload, or flows of a workload that replays a log, joined by the pattern of their names; those
// that were limited by themselves. Sent = Served + NotServed + Open.
type Harmed struct {
	Role     Role   `json:"role"`
	Workload string `json:"workload"`
	Flow     string `json:"flow"`  // the whole name; "" if the row is of several flows
	Name     string `json:"name"`  // of the workload or, of one that is recorded, the shortest name of the flow that is unique in the result, or the pattern of such names
	Level    string `json:"level"` // the priority level; "" if the requests reached none
	Flows    int    `json:"flows"` // how many flows the row is of

	Sent      int64     `json:"sent"`
	Served    int64     `json:"served"`
	Open      int64     `json:"open"`
	NotServed NotServed `json:"notServed"`

	WaitP99Ns *int64 `json:"waitP99Ns"` // as Group.WaitP99Ns; null if no request was dispatched or queued
	// WaitP99HighNs is the upper bound of the bucket with the percentile, of which WaitP99Ns is the lower one, of metrics; omitted
	// where the percentile is known.
	WaitP99HighNs *int64 `json:"waitP99HighNs,omitempty"`
	// OwnLimitNs is the p99 of the waits for the clients' own rate limit. It is omitted if they have none or did not wait.
	OwnLimitNs int64 `json:"ownLimitNs,omitempty"`
	// From when to when requests were not served or waited, in the intervals of the series. 0 and the end of the run where that is not known.
	FromNs int64 `json:"fromNs"`
	ToNs   int64 `json:"toNs"`

	Causes []string `json:"causes"` // IDs of Overall.Causes
}

// Kind is a mechanism by which requests are harmed.
type Kind string

// The kinds of causes.
const (
	ByDemand        Kind = "demand"          // flows asked for more than their fair share of a level
	ByHand          Kind = "hand"            // the queues of a flow were full of other flows' requests, or of its own
	ByLending       Kind = "lending"         // the level had lent its seats, or could not borrow
	BySeats         Kind = "seats"           // the level had few seats, or none
	ByWideLists     Kind = "wide-lists"      // requests of many seats waited for them, and others behind these
	ByExecution     Kind = "execution"       // executions took longer than the scenario gives
	ByCores         Kind = "cores"           // the processor of the machine was busy
	ByMemory        Kind = "memory"          // the server had no memory left
	ByEtcd          Kind = "etcd"            // requests waited for etcd
	ByNetwork       Kind = "network"         // answers waited for the network of the server
	ByWebhook       Kind = "webhook"         // requests waited for a webhook or an aggregated server
	ByStoppedServer Kind = "stopped-server"  // a server stopped, crashed or was not ready
	ByConflict      Kind = "conflict"        // writers changed the same objects
	ByRetries       Kind = "retries"         // clients sent rejected requests again
	ByInFlightLimit Kind = "in-flight-limit" // the limit of requests in flight was reached
	ByClientLimit   Kind = "client-limit"    // clients waited for their own rate limits
	ByWorkers       Kind = "workers"         // controllers had too few workers for what came into their queues
)

// Cause is a reason why requests were harmed, with the figures that prove it.
type Cause struct {
	ID     string `json:"id"` // the kind and a number, such as demand-1
	Kind   Kind   `json:"kind"`
	Level  string `json:"level"` // the priority level; "" if it is not about one
	FromNs int64  `json:"fromNs"`
	ToNs   int64  `json:"toNs"`

	Workloads []string    `json:"workloads"` // that cause it, the most important first
	Flows     []CauseFlow `json:"flows"`     // that cause it, likewise; at most MostCauseFlows
	Figures   []Figure    `json:"figures"`   // that prove it
	Sentence  string      `json:"sentence"`

	// Or are other kinds that what is known fits as well, and Confirm is what would tell which it is. Both are empty of a run, in
	// which everything is known.
	Or      []Kind `json:"or,omitempty"`
	Confirm string `json:"confirm,omitempty"`

	// Harmed are the workloads whose requests it explains, of a cause that is not about a level; nil for all.
	Harmed []string `json:"-"`

	// Untrusted says that the cause is concluded from a replay that does not agree with its log.
	Untrusted bool `json:"untrusted,omitempty"`
}

// MostCauseFlows is how many flows a cause names.
const MostCauseFlows = 5

// CauseFlow is a flow that is part of a cause.
type CauseFlow struct {
	Flow          string  `json:"flow"`          // the whole name
	Name          string  `json:"name"`          // the shortest name that is unique in the result
	ShareOfDemand float64 `json:"shareOfDemand"` // its part of the seat-seconds that were asked for at the level
	OfFairShare   float64 `json:"ofFairShare"`   // its demand divided by its fair share; 0 without a fair share
	Rejected      int64   `json:"rejected"`
}

// Figure is a number that proves a cause.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"` // as of statistics: ns, or "" for a plain number or a share
}

// Remedy is a change that may help.
type Remedy struct {
	Remedy   RemedyID `json:"remedy"`
	Sentence string   `json:"sentence"`
	Causes   []string `json:"causes"` // the IDs of the causes that it is for
	Tried    bool     `json:"tried"`  // whether runs were made with it
	Proved   bool     `json:"proved"` // whether they have shown that it helps
}

// RemedyID is a kind of change.
type RemedyID string

// The kinds of changes, and their tools.
const (
	NoChange           RemedyID = "no-change"
	MergeFlows         RemedyID = "merge-flows"
	Move               RemedyID = "move"
	OwnLevel           RemedyID = "own-level"
	MoreQueueLength    RemedyID = "queue-length"
	MoreQueues         RemedyID = "queues"
	ChangeHandSize     RemedyID = "hand-size"
	MoreShares         RemedyID = "shares"
	Transfer           RemedyID = "transfer"
	LendLess           RemedyID = "lending"
	BorrowMore         RemedyID = "borrowing"
	ListLevel          RemedyID = "list-level"
	RaiseInFlightLimit RemedyID = "in-flight-limit"
	MoreReplicas       RemedyID = "replicas"
	LimitClient        RemedyID = "client-limit"
	RaiseClientLimit   RemedyID = "raise-client-limit"
	MoreWorkers        RemedyID = "more-workers"
	ListInPages        RemedyID = "pages"
	WatchInstead       RemedyID = "watch"
	ShutdownSettings   RemedyID = "shutdown" // how servers stop; only of an upgrade
)

// NewOverall returns a verdict that says nothing yet.
func NewOverall() *Overall {
	return &Overall{Status: OK, Harmed: []Harmed{}, Causes: []Cause{}, Try: []Remedy{}, Trust: []Trust{}, Judged: []Judged{}}
}

// Worse says whether a status is worse than another.
func (s Status) Worse(than Status) bool {
	rank := map[Status]int{Harm: 3, Unknown: 2, Warning: 1}
	return rank[s] > rank[than]
}

// Take removes the counts of another row from this one.
func (h *Harmed) Take(other *Harmed) {
	h.Sent, h.Served, h.Open = h.Sent-other.Sent, h.Served-other.Served, h.Open-other.Open
	n, o := &h.NotServed, &other.NotServed
	n.Rejected, n.Refused, n.Lost = n.Rejected-o.Rejected, n.Refused-o.Refused, n.Lost-o.Lost
	n.Deadline, n.Error, n.Unfinished = n.Deadline-o.Deadline, n.Error-o.Error, n.Unfinished-o.Unfinished
}

// Join adds another row to this one, which is of several flows then.
func (h *Harmed) Join(other *Harmed) {
	h.Flow, h.Flows = "", h.Flows+other.Flows
	if h.Level != other.Level {
		h.Level = ""
	}
	h.Sent, h.Served, h.Open = h.Sent+other.Sent, h.Served+other.Served, h.Open+other.Open
	h.NotServed.Add(&other.NotServed)
	if o := other.WaitP99Ns; o != nil && (h.WaitP99Ns == nil || *o > *h.WaitP99Ns) {
		h.WaitP99Ns = o
	}
	h.FromNs, h.ToNs = min(h.FromNs, other.FromNs), max(h.ToNs, other.ToNs)
}

// Moment writes a time of the run: as a time of day if the verdict is on a log, with the date if that is not the date of
// the beginning, else in seconds.
func (v *Overall) Moment(ns int64) string {
	return v.StartNs.Moment(ns)
}
