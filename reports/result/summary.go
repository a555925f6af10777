// Package result holds what a run is summarized as: the content of its files.
// docs/reference/summary.md describes the fields, docs/reference/statistics.md defines the
// statistics.
package result

import (
	"errors"
	"math"

	"apfsim/core/queueset"
	"apfsim/reports/format"
	"apfsim/reports/histogram"
	"apfsim/reports/measure"
)

// SchemaVersion is the version of the format of Summary. Fields may be added to it, but
// none changes its meaning or goes.
const SchemaVersion = "apfsim/v1alpha1"

// Summary is the outcome of a run in numbers: what summary.json holds. Times are in
// nanoseconds, service in seat-seconds, shares between 0 and 1. A statistic without
// samples is null.
type Summary struct {
	SchemaVersion string `json:"schemaVersion"`
	Name          string `json:"name"`
	Description   string `json:"description"`
	Seed          uint64 `json:"seed"`
	DurationNs    int64  `json:"durationNs"`
	WarmupNs      int64  `json:"warmupNs"`
	FlowControl   string `json:"flowControl"` // PriorityAndFairness, MaxInFlight or None
	// AdjustmentPhaseNs is when the first periodic adjustment of the limits falls: the
	// scenario's, or the one drawn. 0, with the first configuration, is left out.
	AdjustmentPhaseNs int64  `json:"adjustmentPhaseNs,omitempty"`
	Fingerprint       string `json:"fingerprint"` // of all that was decided, see Fingerprint

	Passed     bool      `json:"passed"` // whether every threshold holds; true when there is none
	Thresholds []Verdict `json:"thresholds"`
	Warnings   []string  `json:"warnings"`

	Total          Group   `json:"total"`
	Workloads      []Group `json:"workloads"`      // in the scenario's order
	FlowSchemas    []Group `json:"flowSchemas"`    // by name, those that requests arrived at
	PriorityLevels []Level `json:"priorityLevels"` // by name
	Flows          []Flow  `json:"flows"`          // by priority level and name
}

// Group is the statistics of a group of requests: those that arrived in the window.
type Group struct {
	Name string `json:"name"`
	Counts
	Wait         *Distribution `json:"wait"`         // arrival to dispatch
	Execution    *Distribution `json:"execution"`    // dispatch to finish
	Latency      *Distribution `json:"latency"`      // arrival to finish
	RejectedWait *Distribution `json:"rejectedWait"` // arrival to rejection

	Stall       *Stall       `json:"stall,omitempty"`       // of a workload
	VirtualWait *VirtualWait `json:"virtualWait,omitempty"` // of a workload that has sent a request
}

// Stall is the time in which requests of a workload waited and none of them was dispatched. A
// stall begins when the first request comes to wait or with the last dispatch, whichever is later,
// and ends with the next dispatch or when nothing waits any more.
type Stall struct {
	MaxNs  int64   `json:"maxNs"`  // the longest one within the window
	FromNs int64   `json:"fromNs"` // when that began
	Count  int64   `json:"count"`  // of those of a second or more
	Share  float64 `json:"share"`  // of the window, spent in these

	// Where the requests waited during the longest one, and that level's limits in seats then:
	// the current limit when it began, the nominal one, and the first rise of the current limit
	// before it ended.
	PriorityLevel string       `json:"priorityLevel"`
	Limit         int          `json:"limit"`
	NominalLimit  int          `json:"nominalLimit"`
	Raised        *LimitChange `json:"raised"`           // null when the limit was not raised until the end of the stall
	Others        int64        `json:"othersDispatched"` // requests that the level dispatched during the stall
}

// LimitChange is a change of a level's current limit.
type LimitChange struct {
	AtNs  int64 `json:"atNs"`
	Limit int   `json:"limit"` // from then on, in seats
}

// VirtualWait is what requests of a workload would have met that were sent at random moments of
// the window.
type VirtualWait struct {
	Probes   int64         `json:"probes"`
	Rejected int64         `json:"rejected"` // of the probes
	Wait     *Distribution `json:"wait"`     // of those not rejected
}

// Counts are numbers of requests. Arrived = Executed + Rejected + Waiting + Executing.
type Counts struct {
	Arrived          int64 `json:"arrived"`
	Executed         int64 `json:"executed"`
	Rejected         int64 `json:"rejected"`
	QueueFull        int64 `json:"queueFull"`        // of those rejected
	ConcurrencyLimit int64 `json:"concurrencyLimit"` // of those rejected
	TimedOut         int64 `json:"timedOut"`         // of those rejected
	Retries          int64 `json:"retries"`          // of those arrived: second and later attempts
	Waiting          int64 `json:"waiting"`          // when the run ended
	Executing        int64 `json:"executing"`        // when the run ended
}

// Distribution describes durations, in nanoseconds. Percentiles are by nearest rank and at
// most 0.1 % above the true value, for flows at most 3.2 %.
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

// Level is the statistics of a priority level.
type Level struct {
	Group
	Type               string       `json:"type"`     // Exempt or Limited
	Response           string       `json:"response"` // Queue or Reject; "" of an exempt level
	Queues             int          `json:"queues"`   // 0 unless it queues
	HandSize           int          `json:"handSize"` // 0 unless it queues
	QueueLengthLimit   int          `json:"queueLengthLimit"`
	Limits             Limits       `json:"limits"`
	NoSeats            *NoSeats     `json:"noSeats"`     // null unless the level queues and its current limit was 0 within the window
	Utilisation        *Utilisation `json:"utilisation"` // null of an exempt level
	PeakSeats          int          `json:"peakSeats"`   // in use at once
	MeanWaiting        float64      `json:"meanWaiting"` // requests, time-weighted
	ServiceSeatSeconds float64      `json:"serviceSeatSeconds"`
	Fairness           *Fairness    `json:"fairness"`
	Starvation         *Starvation  `json:"starvation"` // null without requests
}

// Limits are a level's concurrency limits, in seats.
type Limits struct {
	Nominal int `json:"nominal"`
	Lower   int `json:"lower"`
	Upper   int `json:"upper"`
	Current int `json:"current"` // when the run ended
}

// NoSeats is when the current limit of a level that queues was 0, so that nothing could be
// dispatched. (One that rejects executes a request at a time even then.)
type NoSeats struct {
	MaxNs   int64  `json:"maxNs"`  // the longest such time within the window
	FromNs  int64  `json:"fromNs"` // when that began
	ToNs    *int64 `json:"toNs"`   // and ended; null when it lasted to the end of the run
	TotalNs int64  `json:"totalNs"`
}

// Utilisation says how far a level's seats were used.
type Utilisation struct {
	Mean      *float64 `json:"mean"`      // of seats in use / current limit, time-weighted; null if the limit was always 0
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

// Starvation is the longest time in which a flow had something waiting and nothing
// dispatched.
type Starvation struct {
	MaxNs int64  `json:"maxNs"`
	Flow  string `json:"flow"`
}

// Flow is the statistics of one flow.
type Flow struct {
	Group
	PriorityLevel        string   `json:"priorityLevel"`
	FlowSchema           string   `json:"flowSchema"`
	SeveralLevels        bool     `json:"severalLevels,omitempty"` // events of the scenario move the FlowSchema from one to another
	Hand                 []int    `json:"hand"`                    // the queues its requests are dealt; null without queues
	ServiceSeatSeconds   float64  `json:"serviceSeatSeconds"`
	DemandSeatSeconds    float64  `json:"demandSeatSeconds"`
	FairShareSeatSeconds float64  `json:"fairShareSeatSeconds"`
	Ratio                *float64 `json:"ratio"` // service / fair share; null without a fair share
	StarvationNs         int64    `json:"starvationNs"`

	QueuedIn measure.Bitset `json:"-"` // the points of the level's series in which a request was in a queue, or rejected
}

// Verdict says whether a threshold holds.
type Verdict struct {
	Metric     string   `json:"metric"`     // with its tags, as in the scenario
	Expression string   `json:"expression"` // as in the scenario, and behind it the length of its windows if it has any
	Value      *float64 `json:"value"`      // in the worst window, if there are any; null without samples: the threshold has failed
	Limit      float64  `json:"limit"`
	Unit       string   `json:"unit"` // of value and limit: ns, or "" for a plain number
	Passed     bool     `json:"passed"`
	Note       string   `json:"note"`    // why there is no value
	Windows    *Windows `json:"windows"` // null for a threshold on the run as a whole
}

// Windows says how the windows fared that a threshold must hold in, one after the other.
type Windows struct {
	LengthNs    int64  `json:"lengthNs"`
	Judged      int64  `json:"judged"` // windows with something to judge
	Empty       int64  `json:"empty"`  // windows without: they neither hold nor fail
	Failed      int64  `json:"failed"` // of those judged
	WorstFromNs *int64 `json:"worstFromNs"`
}

// RequestCount writes a number of requests: "1 request", "24.4 k requests".
func RequestCount(n int64) string {
	if n == 1 {
		return "1 request"
	}
	return format.Quantity(n) + " requests"
}

// Names lists the first flows by name, see listed.
func Names(flows []*Flow, most int, before string) string {
	var all []string
	for _, f := range flows {
		all = append(all, f.Name)
	}
	return format.Listed(all, most, before)
}

// Idle says whether no request arrived in the window and no seat was in use.
func (l *Level) Idle() bool { return l.Arrived == 0 && l.PeakSeats == 0 }

// RejectedRate is the part of the probes that would have been rejected.
func (v *VirtualWait) RejectedRate() float64 { return float64(v.Rejected) / float64(v.Probes) }

// StallNs is how long a stall is at least that counts for Stall.Count and Stall.Share: a second,
// Kubernetes' objective for the latency of a single read or write.
const StallNs = 1_000_000_000

// Result is all that a run has left behind.
type Result struct {
	Summary        *Summary
	Series         []*Series                     // by level; those of levels where nothing happened too
	WorkloadSeries []*WorkloadSeries             // by workload
	Waits          []histogram.Histogram[uint64] // by workload
	Parts          []measure.Part
}

// NewGroup returns the statistics of the requests that were measured.
func NewGroup[C histogram.Count](name string, m *measure.Measures[C]) Group {
	g := Group{Name: name, Counts: NewCounts(&m.Tally)}
	for t := range m.Timed {
		*g.Distribution(measure.Timing(t)) = NewDistribution(&m.Timed[t])
	}
	return g
}

// Distribution returns the place of the distribution of a duration.
func (g *Group) Distribution(t measure.Timing) **Distribution {
	return [measure.Timings]**Distribution{
		measure.Wait: &g.Wait, measure.Execution: &g.Execution,
		measure.Latency: &g.Latency, measure.RejectedWait: &g.RejectedWait,
	}[t]
}

// NewCounts returns the counts of the requests of a tally.
func NewCounts(t *measure.Tally) Counts {
	return Counts{
		Arrived: t.Arrived, Executed: t.Executed, Rejected: t.RejectedTotal(),
		QueueFull:        t.Rejected[queueset.QueueFull],
		ConcurrencyLimit: t.Rejected[queueset.ConcurrencyLimit],
		TimedOut:         t.Rejected[queueset.TimedOut],
		Retries:          t.Retries, Waiting: t.Waiting(), Executing: t.Executing(),
	}
}

// NewDistribution describes the durations in a histogram; nil if there are none.
func NewDistribution[C histogram.Count](h *histogram.Histogram[C]) *Distribution {
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

// LevelTitle names a level in a chart; the one without a name is what flow control does not see.
func LevelTitle(s *Summary, name string) string {
	switch {
	case name != "":
		return format.Shorten(format.Printable(name), 60)
	case s.FlowControl == "PriorityAndFairness":
		return "past flow control"
	default:
		return "all requests"
	}
}

// AsOne takes the flows that are wanted as one: their longest starvation, and the sums of their
// services, demands and fair shares.
func AsOne(flows []Flow, wanted func(*Flow) bool) (sum Flow, found bool) {
	for i := range flows {
		if f := &flows[i]; wanted(f) {
			found = true
			sum.StarvationNs = max(sum.StarvationNs, f.StarvationNs)
			sum.ServiceSeatSeconds += f.ServiceSeatSeconds
			sum.DemandSeatSeconds += f.DemandSeatSeconds
			sum.FairShareSeatSeconds += f.FairShareSeatSeconds
		}
	}
	if sum.FairShareSeatSeconds > 0 {
		ratio := sum.ServiceSeatSeconds / sum.FairShareSeatSeconds
		sum.Ratio = &ratio
	}
	return sum, found
}

// ErrNoSamples is why a run does not have a statistic that it might have had.
var ErrNoSamples = errors.New(NoSamples)
