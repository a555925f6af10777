package measured

import (
	"fmt"
	"slices"
	"time"

	"apfsim/core/config"
	"apfsim/core/queueset"
	"apfsim/live/cluster"
	"apfsim/live/load"
	"apfsim/reports/collect"
	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Summary is what summary.json contains: of a result.Summary, the fields that a client can know. The others
// are absent. They would be 0 there, which would be a statement.
type Summary struct {
	SchemaVersion string `json:"schemaVersion"`
	Name          string `json:"name"`
	Description   string `json:"description"`
	Seed          uint64 `json:"seed"`
	DurationNs    int64  `json:"durationNs"`
	WarmupNs      int64  `json:"warmupNs"`
	FlowControl   string `json:"flowControl"`
	MeasuredBy    string `json:"measuredBy"`

	Passed     bool             `json:"passed"`     // true: thresholds are not evaluated
	Thresholds []result.Verdict `json:"thresholds"` // none
	Warnings   []string         `json:"warnings"`

	Total          Group   `json:"total"`
	Workloads      []Group `json:"workloads"`
	FlowSchemas    []Group `json:"flowSchemas"`
	PriorityLevels []Group `json:"priorityLevels"`
	Flows          []Flow  `json:"flows"`
}

// Group is the statistics of a group of requests: those that were sent in the window.
// Arrived = Executed + Rejected + Unanswered.
type Group struct {
	Name         string               `json:"name"`
	Arrived      int64                `json:"arrived"`
	Executed     int64                `json:"executed"` // answered, and not rejected by flow control
	Rejected     int64                `json:"rejected"`
	Unanswered   int64                `json:"unanswered"` // when the run ended
	Retries      int64                `json:"retries"`
	Latency      *result.Distribution `json:"latency"`      // of the executed requests
	RejectedWait *result.Distribution `json:"rejectedWait"` // the latency of the rejected requests
}

// Flow has the statistics of one flow.
type Flow struct {
	Group
	PriorityLevel string `json:"priorityLevel"`
	FlowSchema    string `json:"flowSchema"`
}

func groupOf(g *result.Group) Group {
	return Group{Name: g.Name, Arrived: g.Arrived, Executed: g.Executed, Rejected: g.Rejected, Unanswered: g.Arrived - g.Executed - g.Rejected,
		Retries: g.Retries, Latency: g.Latency, RejectedWait: g.RejectedWait}
}

// event is something that the client saw: that it sent a request, or that the answer was there.
type event struct {
	atNs     int64
	answered bool
	request  *server.Request
}

// Summarize computes the statistics of a run with the collector of simulations. What happens after the end is
// not counted, as in a simulation.
func Summarize(sc *scenario.Scenario, r *load.Result, names *cluster.FlowControl, warnings []string) *Summary {
	ended := *sc
	ended.Spec.Duration, ended.Spec.Thresholds = quantity.Duration(max(1, r.Length)), nil
	ended.Spec.Warmup.Duration = min(ended.Spec.Warmup.Duration, ended.Spec.Duration)
	endNs := int64(ended.Spec.Duration)
	c := collect.NewWithLevels(&ended, result.Interval(endNs), func(func(server.LevelState) bool) {})
	observer := c.Observer()
	for _, e := range events(r, endNs, newFlows(names)) {
		q := e.request
		switch {
		case !e.answered:
			observer.Arrived(e.atNs, q)
			if q.Rejection == queueset.NotRejected {
				// The client does not see when. Of what depends on it, nothing is in the summary.
				q.DispatchNs = e.atNs
				observer.Dispatched(e.atNs, q)
			}
		case q.Rejection != queueset.NotRejected:
			observer.Rejected(e.atNs, q)
		default:
			q.FinishNs = e.atNs
			observer.Executed(e.atNs, q)
			observer.Released(e.atNs, q)
		}
	}
	from := c.Result(warnings...).Summary
	s := &Summary{
		SchemaVersion: from.SchemaVersion, Name: from.Name, Description: from.Description, Seed: from.Seed, DurationNs: from.DurationNs,
		WarmupNs: from.WarmupNs, FlowControl: from.FlowControl, MeasuredBy: result.Client, Passed: true, Thresholds: []result.Verdict{},
		Warnings: from.Warnings, Total: groupOf(&from.Total), FlowSchemas: []Group{}, PriorityLevels: []Group{}, Flows: []Flow{},
	}
	for i := range from.Workloads {
		s.Workloads = append(s.Workloads, groupOf(&from.Workloads[i]))
	}
	for i := range from.FlowSchemas {
		s.FlowSchemas = append(s.FlowSchemas, groupOf(&from.FlowSchemas[i]))
	}
	for i := range from.PriorityLevels {
		s.PriorityLevels = append(s.PriorityLevels, groupOf(&from.PriorityLevels[i].Group))
	}
	for i := range from.Flows {
		f := &from.Flows[i]
		s.Flows = append(s.Flows, Flow{groupOf(&f.Group), f.PriorityLevel, f.FlowSchema})
	}
	return s
}

// events returns what happened in the run, in the order of time. Of events at one time, answers come first,
// as in a simulation.
func events(r *load.Result, endNs int64, f flows) (all []event) {
	for _, s := range r.Requests {
		q := &server.Request{
			Sent: server.Sent{Template: s.Template, TemplateID: s.TemplateID, ID: s.ID, Attempt: int32(s.Attempt)},
			// A request at the very end belongs to the run.
			Decision:   server.Decision{Number: s.Number, ArrivalNs: min(int64(s.At), endNs-1), DispatchNs: -1, SeatsAsked: 1},
			Completion: server.Completion{FinishNs: -1},
		}
		q.Bind(q)
		if flow := f.flow(s); flow != nil {
			q.SetFlow(flow)
		}
		all = append(all, event{q.ArrivalNs, false, q})
		if atNs := int64(s.At + s.Latency); s.Answered && s.Status > 0 && atNs <= endNs {
			if s.Rejected {
				q.Rejection = queueset.QueueFull // the client does not see the reason, and the summary has none
			}
			all = append(all, event{max(q.ArrivalNs, atNs), true, q})
		}
	}
	slices.SortStableFunc(all, func(a, b event) int {
		switch {
		case a.atNs != b.atNs:
			return int(min(max(a.atNs-b.atNs, -1), 1))
		case a.request == b.request || a.answered == b.answered:
			return 0 // sent first
		case a.answered:
			return -1
		}
		return 1
	})
	return all
}

// flows are the flows of the requests, as the answers name them.
type flows struct {
	names *cluster.FlowControl // nil if unknown
	known map[flowKey]*server.Flow
}

func newFlows(names *cluster.FlowControl) flows {
	return flows{names: names, known: map[flowKey]*server.Flow{}}
}

type flowKey struct{ schema, level, distinguisher string }

// flow returns the flow of a request, nil if the answer does not say.
func (f flows) flow(s *load.Sent) *server.Flow {
	name, ok := f.schema(s)
	if !ok {
		return nil
	}
	key := flowKey{name.Name, f.names.Levels[s.LevelUID], ""}
	switch name.Distinguisher {
	case "ByUser":
		key.distinguisher = s.Attributes.User
	case "ByNamespace":
		key.distinguisher = s.Attributes.Namespace
	}
	flow := f.known[key]
	if flow == nil {
		flow = server.NewFlow(len(f.known), &config.FlowSchema{Name: key.schema}, key.level, key.distinguisher, nil)
		f.known[key] = flow
	}
	return flow
}

// schema returns the FlowSchema of a request; ok is false if it or the priority level is not known.
func (f flows) schema(s *load.Sent) (schema cluster.Schema, ok bool) {
	if f.names == nil {
		return schema, false
	}
	schema, ok = f.names.Schemas[s.SchemaUID]
	return schema, ok && f.names.Levels[s.LevelUID] != ""
}

// Warnings returns what limits the validity of the statistics.
func Warnings(r *load.Result, names *cluster.FlowControl) (all []string) {
	warn := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if r.Stopped != nil {
		warn("the run was stopped after %s: %v", format.Duration(float64(r.Length)), r.Stopped)
	}
	if late := Lateness(r); late.P99Ns > int64(20*time.Millisecond) {
		warn("requests were sent late: 99 %% within %s, all within %s; the machine that sends may be too busy",
			format.Duration(float64(late.P99Ns)), format.Duration(float64(late.MaxNs)))
	}
	var unclassified, unanswered, wrong int
	f := flows{names: names}
	for _, s := range r.Requests {
		switch _, known := f.schema(s); {
		case !s.Answered || s.Status == 0:
			unanswered++
		case !known:
			unclassified++
		}
		if s.Status >= 400 && !s.Rejected {
			wrong++
		}
	}
	if unanswered > 0 {
		warn("%s without an answer", format.Counted(unanswered, "request"))
	}
	if wrong > 0 {
		warn("%s with an error other than a rejection by flow control; they count as executed, and may take less time than successful ones", format.Counted(wrong, "answer"))
	}
	if unclassified > 0 {
		warn("the FlowSchema and the priority level of %s are not known", format.Counted(unclassified, "answered request"))
	}
	return all
}
