// Package result defines the results of a run, which its files contain, and reads statistics from them by the names that
// thresholds give them: [Statistics] lists all, [FindStatistic] finds one. sim/metric declares the statistics and the
// fields that they are read from. Tables, replications, comparisons and thresholds all read them here, so that they agree
// on every number. docs/reference/summary.md describes the fields; docs/reference/statistics.md defines the statistics.
package result

import (
	"errors"
	"math"
	"slices"

	"apfsim/reports/format"
	"apfsim/reports/measure"
	"apfsim/sim/metric"
)

// SchemaVersion is the version of the format of Summary. Within a version, fields may be added, but
// no field is removed or changes its meaning.
const SchemaVersion = "apfsim/v1alpha1"

// MostFlows is how many flows a summary lists one by one: at about 1.4 kB each, summary.json has then about 14 MB.
const MostFlows = 10_000

// Client is the value of Summary.MeasuredBy for what a client of a real server has measured.
const Client = "client"

// Summary is the statistics of a run. It is what summary.json contains. Times are in nanoseconds,
// service in seat-seconds, shares between 0 and 1. A statistic without samples is null.
type Summary struct {
	SchemaVersion string `json:"schemaVersion"`
	Name          string `json:"name"`
	Description   string `json:"description"`
	Seed          uint64 `json:"seed"`
	DurationNs    int64  `json:"durationNs"`
	WarmupNs      int64  `json:"warmupNs"`
	WarmupBy      string `json:"warmupBy,omitempty"` // what has chosen the warm-up, MSER-5; empty if the scenario gives it
	FlowControl   string `json:"flowControl"`        // PriorityAndFairness, MaxInFlight or None
	// StartNs is the time of day at time 0, since 1970, of a run that replays a log. It is omitted if it is not known.
	StartNs format.Clock `json:"startNs,omitempty"`
	Releases
	// AdjustmentPhaseNs is the time of the first periodic adjustment of the limits, given by the
	// scenario or drawn at random. It is omitted if it is 0.
	AdjustmentPhaseNs int64  `json:"adjustmentPhaseNs,omitempty"`
	Fingerprint       string `json:"fingerprint"` // of all decisions, see reports/record
	// MeasuredBy is empty for a simulation, in which everything is known, and Client for what a client of a
	// real server has measured. A summary of a client has only the fields that a client can know.
	MeasuredBy string `json:"measuredBy,omitempty"`

	Passed     bool      `json:"passed"` // whether every threshold holds; true if there is none
	Thresholds []Verdict `json:"thresholds"`
	Warnings   []string  `json:"warnings"`
	Verdict    *Overall  `json:"verdict,omitempty"` // on the run; nil in results of programs that did not compute it

	Total     Group   `json:"total"`
	Workloads []Group `json:"workloads"` // in the scenario's order
	// CatchAll has the workloads with requests that matched no FlowSchema other than catch-all. It is omitted if there
	// are none.
	CatchAll       []CaughtAll `json:"catchAll,omitempty"`
	FlowSchemas    []Group     `json:"flowSchemas"`    // by name, those in which requests arrived
	PriorityLevels []Level     `json:"priorityLevels"` // by name
	Flows          []Flow      `json:"flows"`          // by priority level and name; at most MostFlows

	// OtherFlows are those that Flows does not list, combined. It is omitted if Flows lists all. They are ordered by
	// priority level and FlowSchema.
	OtherFlows []OtherFlows `json:"otherFlows,omitempty"`

	// These are omitted if the run has one server that is always there and always equally fast, see
	// scenario.Spec.Steady.
	Servers  []Server  `json:"servers,omitempty"`  // by index
	Timeline []Moment  `json:"timeline,omitempty"` // by time
	Failures []Failure `json:"failures,omitempty"` // by time

	// Replay compares the run with the log that it replays. It is omitted if no trace has decided: Log.
	Replay *Replay `json:"replay,omitempty"`

	// CapacityBounds is omitted if the capacity of the servers has no interval.
	CapacityBounds *CapacityBounds `json:"capacityBounds,omitempty"`

	// RequestKinds is omitted if the servers have no store. They are ordered by the seat-seconds, descending.
	RequestKinds []RequestKind `json:"requestKinds,omitempty"`
	// AggregatedServers are the requests that were passed on to each aggregated server, and what its own flow
	// control did with them. Their execution is that there, until the end of the call. They are in the order
	// in which the scenario names them, and omitted without any.
	AggregatedServers []Group `json:"aggregatedServers,omitempty"`
}

// Group is the statistics of a group of requests: those that arrived in the window.
type Group struct {
	Name string `json:"name"`
	metric.Counts
	NotServed *NotServed `json:"notServed,omitempty"` // omitted if there are none
	Open      int64      `json:"open,omitempty"`      // neither over when the run ended nor NotServed.Unfinished

	Wait         *Distribution `json:"wait"`         // arrival to dispatch
	Execution    *Distribution `json:"execution"`    // dispatch to finish
	Latency      *Distribution `json:"latency"`      // arrival to finish
	RejectedWait *Distribution `json:"rejectedWait"` // arrival to rejection

	TooLate *Distribution `json:"tooLate,omitempty"` // arrival to an answer 504, or until the client gave up; omitted without one

	StillQueued *StillQueued `json:"stillQueued,omitempty"` // omitted if Waiting is 0

	Responses measure.Responses `json:"responses,omitempty"` // by status; omitted where Servers is

	Stall       *Stall       `json:"stall,omitempty"`       // of a workload
	Freeze      *Freeze      `json:"freeze,omitempty"`      // of a workload or a level, where executions follow from what servers do
	VirtualWait *VirtualWait `json:"virtualWait,omitempty"` // of a workload that has sent a request

	Clients *Clients `json:"clients,omitempty"` // of a workload whose clients behave, and of all
	Stored  *Stored  `json:"stored,omitempty"`  // of a server with a store, and of all

	// Seats is of all requests, and of those of a server; nil without PriorityAndFairness. Only thresholds and published
	// figures name it, so that the file lacks it.
	Seats *SeatUse `json:"-"`
}

// SeatUse describes the use of the seats at all priority levels together, the exempt one included.
type SeatUse struct {
	Mean  float64 // seats in use, time-weighted
	Peak  int     // in use at once
	Share float64 // Mean as a share of the seats of the servers, which their limits of requests in flight give them
}

// NotServed counts the requests that were not served, each in the first of the fields that applies.
type NotServed struct {
	Rejected int64 `json:"rejected"`
	Refused  int64 `json:"refused"`
	Lost     int64 `json:"lost"`
	metric.Failures
}

// Total returns how many they are.
func (n *NotServed) Total() int64 {
	if n == nil {
		return 0
	}
	return n.Rejected + n.Refused + n.Lost + n.Failures.Total()
}

// Add adds the numbers of others.
func (n *NotServed) Add(other *NotServed) {
	n.Rejected, n.Refused, n.Lost = n.Rejected+other.Rejected, n.Refused+other.Refused, n.Lost+other.Lost
	n.Deadline, n.Error, n.Unfinished = n.Deadline+other.Deadline, n.Error+other.Error, n.Unfinished+other.Unfinished
}

// NotServedTotal returns how many requests were not served. Results that were written before NotServed was counted have
// at least the rejected, refused and lost ones.
func (g *Group) NotServedTotal() int64 {
	if g.NotServed == nil {
		return g.Rejected + g.Refused + g.Lost
	}
	return g.NotServed.Total()
}

// Served returns the requests that were served: Arrived = Served + NotServedTotal + Open.
func (g *Group) Served() int64 { return g.Arrived - g.NotServedTotal() - g.Open }

// StillQueued describes the waits of the requests that were still queued when the run ended.
type StillQueued struct {
	MaxNs int64 `json:"maxNs"` // the longest, up to the end
	// WaitP99Ns is the percentile of the waits of these and of the requests that were dispatched, where these count with
	// what they have waited: a lower bound.
	WaitP99Ns int64 `json:"waitP99Ns"`
}

// WaitP99Ns returns the percentile of the waits, as far as they are known, and of how many waits it is: also of the requests
// that were still queued when the run ended. It is not ok if no request was dispatched or queued.
func (g *Group) WaitP99Ns() (ns, n int64, ok bool) {
	if g.Wait != nil {
		ns, n, ok = g.Wait.P99Ns, g.Wait.Count, true
	}
	if g.StillQueued != nil {
		ns, n, ok = g.StillQueued.WaitP99Ns, n+g.Waiting, true
	}
	return ns, n, ok
}

// WaitMaxNs is WaitP99Ns of the longest wait.
func (g *Group) WaitMaxNs() (ns int64, ok bool) {
	if g.Wait != nil {
		ns, ok = g.Wait.MaxNs, true
	}
	if g.StillQueued != nil {
		ns, ok = max(ns, g.StillQueued.MaxNs), true
	}
	return ns, ok
}

// Stall describes the times in which requests of a workload waited and none of them was dispatched.
// A stall begins when a request begins to wait or with the last dispatch, whichever is later, and
// ends with the next dispatch or when no request waits any more.
type Stall struct {
	MaxNs  int64   `json:"maxNs"`  // the longest one within the window
	FromNs int64   `json:"fromNs"` // when it began
	Count  int64   `json:"count"`  // of stalls of one second or longer
	Share  float64 `json:"share"`  // of the window that these stalls take

	// The level in which the requests waited during the longest stall, and its limits in seats: the
	// current limit at the beginning, the nominal limit, and the first increase of the current limit
	// before the end.
	PriorityLevel string       `json:"priorityLevel"`
	Limit         int          `json:"limit"`
	NominalLimit  int          `json:"nominalLimit"`
	Raised        *LimitChange `json:"raised"`           // null if the limit was not raised during the stall
	Others        int64        `json:"othersDispatched"` // requests that the level dispatched during the stall
}

// Freeze describes the times in which requests of a workload or a level were open, of which at least one was late, and none
// was served.
type Freeze struct {
	MaxNs  int64 `json:"maxNs"`  // the longest one within the window; 0 if none lasted StallNs
	FromNs int64 `json:"fromNs"` // when it began
	Count  int64 `json:"count"`  // of those of StallNs or longer
}

// LimitChange is a change of a level's current limit.
type LimitChange struct {
	AtNs  int64 `json:"atNs"`
	Limit int   `json:"limit"` // from then on, in seats

	// By is ByConfiguration or ByServer, and empty if a periodic adjustment has changed the limit.
	By string `json:"by,omitempty"`
}

// What changes a limit other than a periodic adjustment.
const (
	ByConfiguration = "configuration" // flow-control objects have changed
	ByServer        = "server"        // a server starts or ends
)

// VirtualWait estimates what would have happened to requests of a workload that arrived at random
// moments of the window.
type VirtualWait struct {
	Probes   int64         `json:"probes"`
	Rejected int64         `json:"rejected"`          // of the probes
	Refused  int64         `json:"refused,omitempty"` // of the probes: no server listened
	Wait     *Distribution `json:"wait"`              // of the other probes
	// Censored is how many of these would still wait when the run ended, and AtLeast has the fields of Wait that may therefore
	// be longer.
	Censored int64    `json:"censored,omitempty"`
	AtLeast  []string `json:"atLeast,omitempty"`
}

// Distribution describes durations, in nanoseconds. Percentiles are by nearest rank. They are at
// most 0.1 % above the true value; those of flows are at most 3.2 % above it.
type Distribution struct {
	Count  int64 `json:"count"`
	MeanNs int64 `json:"meanNs"`
	MinNs  int64 `json:"minNs"`
	P50Ns  int64 `json:"p50Ns"`
	P90Ns  int64 `json:"p90Ns"`
	P95Ns  int64 `json:"p95Ns"`
	P99Ns  int64 `json:"p99Ns"`
	P999Ns int64 `json:"p99_9Ns"`
	MaxNs  int64 `json:"maxNs"`
}

// Level has the statistics of a priority level.
type Level struct {
	Group
	Type               string       `json:"type"`     // Exempt or Limited
	Response           string       `json:"response"` // Queue or Reject; "" of an exempt level
	Queues             int          `json:"queues"`   // 0 unless it queues
	HandSize           int          `json:"handSize"` // 0 unless it queues
	QueueLengthLimit   int          `json:"queueLengthLimit"`
	Limits             Limits       `json:"limits"`
	NoSeats            *NoSeats     `json:"noSeats"`     // null unless the level queues and its current limit was 0 at some time in the window
	Utilisation        *Utilisation `json:"utilisation"` // null of an exempt level
	PeakSeats          int          `json:"peakSeats"`   // in use at once
	MeanWaiting        float64      `json:"meanWaiting"` // requests, time-weighted
	ServiceSeatSeconds float64      `json:"serviceSeatSeconds"`
	Fairness           *Fairness    `json:"fairness"`
	Starvation         *Starvation  `json:"starvation"` // null without requests

	Growth *Growth `json:"-"` // nil if neither waits nor backlog grew during the window, or if that is not known
}

// Limits are a level's concurrency limits, in seats.
type Limits struct {
	Nominal int `json:"nominal"`
	Lower   int `json:"lower"`
	Upper   int `json:"upper"`
	Current int `json:"current"` // when the run ended
}

// NoSeats describes the times at which the current limit of a level that queues was 0, so that
// nothing could be dispatched. A level that rejects dispatches one request at a time even then.
type NoSeats struct {
	MaxNs   int64  `json:"maxNs"`  // the longest such time in the window
	FromNs  int64  `json:"fromNs"` // when it began
	ToNs    *int64 `json:"toNs"`   // when it ended; null if it lasted until the end of the run
	TotalNs int64  `json:"totalNs"`

	NominalLimit int `json:"nominalLimit"` // when the longest time began
}

// Utilisation describes the use of a level's seats.
type Utilisation struct {
	Mean      *float64 `json:"mean"`      // seats in use / current limit, time-weighted; null if the limit was always 0
	Saturated float64  `json:"saturated"` // share of time with all seats in use or something waiting
}

// Fairness compares the flows of a level by the ratio of their service to their fair share.
type Fairness struct {
	Flows          int     `json:"flows"` // with demand
	Jain           float64 `json:"jain"`  // Jain's index
	MaxMinError    float64 `json:"maxMinError"`
	LeastRatio     float64 `json:"leastRatio"`
	LeastRatioFlow string  `json:"leastRatioFlow"`
}

// Starvation is the longest time in which requests of a flow waited and none was dispatched.
type Starvation struct {
	MaxNs int64  `json:"maxNs"`
	Flow  string `json:"flow"`
}

// Flow has the statistics of one flow.
type Flow struct {
	Group
	PriorityLevel        string   `json:"priorityLevel"`
	FlowSchema           string   `json:"flowSchema"`
	SeveralLevels        bool     `json:"severalLevels,omitempty"` // events of the scenario move the FlowSchema from one level to another
	Hand                 []int    `json:"hand"`                    // the queues in its hand; null without queues
	ServiceSeatSeconds   float64  `json:"serviceSeatSeconds"`
	DemandSeatSeconds    float64  `json:"demandSeatSeconds"`
	FairShareSeatSeconds float64  `json:"fairShareSeatSeconds"`
	Ratio                *float64 `json:"ratio"` // service / fair share; null without a fair share
	StarvationNs         int64    `json:"starvationNs"`
	Limited              bool     `json:"limited,omitempty"` // it asked for more than its share, and flow control did not let it: see judge.Limited

	Workload string         `json:"-"` // that sent the requests; "" if several did
	Short    string         `json:"-"` // see ShortName; "" before NameFlows
	QueuedIn measure.Bitset `json:"-"` // the points of the level's series in which a request was in a queue, or rejected
}

// OtherFlows are the flows of a FlowSchema at a priority level that are not listed one by one, combined: sums, the
// distributions of all requests and the longest starvation. The name is empty, and there is no hand.
type OtherFlows struct {
	Number      int `json:"flows"`       // how many flows
	Underserved int `json:"underserved"` // how many of them are underserved
	Flow
}

// Verdict says whether a threshold holds.
type Verdict struct {
	Metric     string   `json:"metric"`     // with its tags, as in the scenario
	Expression string   `json:"expression"` // as in the scenario, and behind it the length of its windows if it has any
	Value      *float64 `json:"value"`      // in the worst window, if there are any; null without samples: the threshold has failed
	Limit      float64  `json:"limit"`
	Unit       string   `json:"unit"` // of value and limit: ns, or "" for a plain number
	Passed     bool     `json:"passed"`

	Kind metric.ThresholdKind `json:"kind"` // "" in results of programs that did not write it, which is a goal

	Note    string   `json:"note"`    // why there is no value
	Windows *Windows `json:"windows"` // null for a threshold on the run as a whole

	ID metric.Name `json:"-"` // of the statistic
	// Few is how many samples the statistic has if it is a percentile of too few, else 0. Of windows, it is the least number.
	Few int64 `json:"-"`
	// AtLeast says that the value may be greater, because some durations had not ended when the run did.
	AtLeast bool `json:"atLeast,omitempty"`
}

// Windows counts the windows in each of which a threshold must hold, and those in which it failed.
type Windows struct {
	LengthNs    int64  `json:"lengthNs"`
	Judged      int64  `json:"judged"` // windows in which the threshold has samples
	Empty       int64  `json:"empty"`  // windows without samples, in which it neither holds nor fails
	Failed      int64  `json:"failed"` // of the judged windows
	WorstFromNs *int64 `json:"worstFromNs"`
}

// RequestCount writes a number of requests: "1 request", "24.4 k requests".
func RequestCount(n int64) string {
	if n == 1 {
		return "1 request"
	}
	return format.Quantity(n) + " requests"
}

// Idle says whether no request arrived in the window and no seat was in use.
func (l *Level) Idle() bool { return l.Arrived == 0 && l.PeakSeats == 0 }

// RejectedRate returns the share of the probes that would have been rejected or refused.
func (v *VirtualWait) RejectedRate() float64 {
	return float64(v.Rejected+v.Refused) / float64(v.Probes)
}

// StallNs is the least length of a stall that Stall.Count and Stall.Share include: one second, which is
// Kubernetes' objective for the latency of a read or a write of one object.
const StallNs = 1_000_000_000

// Result is everything that a run is summarized as, and what its reports are made of.
type Result struct {
	Summary        *Summary
	Series         []*Series           // by level, including those without requests
	WorkloadSeries []*WorkloadSeries   // by workload
	ServerSeries   []*ServerSeries     // by server; nil where Summary.Servers is
	ClientSeries   []*ClientSeries     // of what happened to clients that behave, by metric
	Waits          []measure.Histogram // by workload
	Parts          []measure.Part
	Evidence       *Evidence // nil without
}

// NewGroup returns the statistics of the requests that were measured.
func NewGroup(name string, m *measure.Measures) Group {
	g := Group{Name: name, Counts: m.Final()}
	for t := range m.Timed {
		*g.Distribution(measure.Timing(t)) = NewDistribution(&m.Timed[t])
	}
	if n := NewNotServed(&m.Counted); n.Total() > 0 {
		g.NotServed = n
	}
	g.Open = m.Open()
	g.StillQueued = NewStillQueued(m)
	g.TooLate = NewDistribution(&m.TooLate)
	g.Responses = m.Responses
	return g
}

// NewStillQueued describes the waits of the requests that were still queued at the end; nil if there are none.
func NewStillQueued(m *measure.Measures) *StillQueued {
	if m.Queued.N == 0 {
		return nil
	}
	return &StillQueued{MaxNs: m.Queued.MostNs, WaitP99Ns: m.Waited().PercentileNs(99)}
}

// NewNotServed returns how many of the requests that were counted were not served.
func NewNotServed(c *metric.Counted) *NotServed {
	f := c.Final()
	return &NotServed{Rejected: f.Rejected, Refused: f.Refused, Lost: f.Lost, Failures: c.Failures}
}

// Distribution returns the address of the field for the distribution of a duration.
func (g *Group) Distribution(t measure.Timing) **Distribution {
	return [measure.Timings]**Distribution{
		measure.Wait: &g.Wait, measure.Execution: &g.Execution,
		measure.Latency: &g.Latency, measure.RejectedWait: &g.RejectedWait,
	}[t]
}

// NewDistribution describes the durations in a histogram; nil if there are none.
func NewDistribution(h *measure.Histogram) *Distribution {
	if h.N == 0 {
		return nil
	}
	var p [5]int64
	h.PercentilesNs([]float64{50, 90, 95, 99, 99.9}, p[:])
	return &Distribution{
		Count: h.N, MeanNs: int64(math.Round(h.MeanNs())), MinNs: h.LeastNs,
		P50Ns: p[0], P90Ns: p[1], P95Ns: p[2], P99Ns: p[3], P999Ns: p[4], MaxNs: h.MostNs,
	}
}

// DistributionField is a field of a Distribution, by its name in JSON.
type DistributionField string

// P99Field is the field Distribution.P99Ns.
const P99Field DistributionField = "p99Ns"

// IsLowerBound reports whether a field of Wait is a lower bound: some of the waits had not ended when the run did.
func (v *VirtualWait) IsLowerBound(field DistributionField) bool {
	return slices.Contains(v.AtLeast, string(field))
}

// NewCensored describes n durations, of which some had not ended, and names the fields that may therefore be longer. The
// shortest, whether it ended or not, is minNs.
func NewCensored(s *measure.Survival, n, minNs int64) (d *Distribution, longer []string) {
	d = &Distribution{Count: n, MinNs: minNs}
	set := func(field string, to *int64, ns int64, atLeast bool) {
		*to = ns
		if atLeast {
			longer = append(longer, field)
		}
	}
	mean, atLeast := s.MeanNs()
	set("meanNs", &d.MeanNs, int64(math.Round(mean)), atLeast)
	for _, p := range []struct {
		field   string
		to      *int64
		percent float64
	}{{"p50Ns", &d.P50Ns, 50}, {"p90Ns", &d.P90Ns, 90}, {"p95Ns", &d.P95Ns, 95}, {"p99Ns", &d.P99Ns, 99}, {"p99_9Ns", &d.P999Ns, 99.9}} {
		ns, atLeast := s.PercentileNs(p.percent)
		set(p.field, p.to, ns, atLeast)
	}
	ns, atLeast := s.MaxNs()
	set("maxNs", &d.MaxNs, ns, atLeast)
	return d, longer
}

// LevelTitle returns the title of a level in a chart. The level without a name stands for the requests
// that flow control does not limit.
func LevelTitle(s *Summary, name string) string {
	switch {
	case name != "":
		return format.Shorten(format.Printable(name), 60)
	case s.FlowControl == "PriorityAndFairness":
		return "requests that flow control does not limit"
	default:
		return "all requests"
	}
}

// AsOne combines the wanted flows into one, with their longest starvation and the sums of their services, demands
// and fair shares. OtherFlows are flows without a name.
func (s *Summary) AsOne(wanted func(*Flow) bool) (sum Flow, found bool) {
	add := func(f *Flow) {
		if wanted(f) {
			found = true
			sum.StarvationNs = max(sum.StarvationNs, f.StarvationNs)
			sum.ServiceSeatSeconds += f.ServiceSeatSeconds
			sum.DemandSeatSeconds += f.DemandSeatSeconds
			sum.FairShareSeatSeconds += f.FairShareSeatSeconds
		}
	}
	for i := range s.Flows {
		add(&s.Flows[i])
	}
	for i := range s.OtherFlows {
		add(&s.OtherFlows[i].Flow)
	}
	sum.SetRatio()
	return sum, found
}

// SetRatio computes the ratio from the service and the fair share.
func (f *Flow) SetRatio() {
	if f.FairShareSeatSeconds > 0 {
		ratio := f.ServiceSeatSeconds / f.FairShareSeatSeconds
		f.Ratio = &ratio
	}
}

// Others returns how many flows of a priority level, or of all if the level is "", are not listed one by one, and how
// many of them are underserved.
func (s *Summary) Others(level string) (n, underserved int) {
	for i := range s.OtherFlows {
		if o := &s.OtherFlows[i]; level == "" || o.PriorityLevel == level {
			n, underserved = n+o.Number, underserved+o.Underserved
		}
	}
	return n, underserved
}

// ErrNoSamples says that a statistic has no samples in a run.
var ErrNoSamples = errors.New(metric.NoSamples)
