package reports

import (
	"fmt"
	"io"
	"strings"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/core/flowcontrol"
)

// Question is a request of which one wants to know the way.
type Question struct {
	Attributes classify.Attributes
	Query      string         // as in the URL, without the question mark
	Stored     estimate.Stats // of the request's resource; no objects for unknown
	Watchers   int            // watches of all objects of the request's resource
}

// Explanation is a request's way through flow control.
type Explanation struct {
	SchemaVersion string             `json:"schemaVersion"`
	FlowSchemas   []classify.Verdict `json:"flowSchemas"` // in the order tried
	// PassesBy means that flow control does not see the request: it is long-running, and
	// no watch. The rest is then absent.
	PassesBy bool             `json:"passesBy"`
	Flow     *FlowExplanation `json:"flow,omitempty"`
	Seats    *SeatExplanation `json:"seats,omitempty"`
}

// FlowExplanation is where a request waits.
type FlowExplanation struct {
	FlowSchema    string `json:"flowSchema"`
	PriorityLevel string `json:"priorityLevel"`
	Response      string `json:"response"` // Exempt, Queue or Reject
	Distinguisher string `json:"distinguisher"`
	Hash          string `json:"hash"`   // 16 hexadecimal digits; zero where the level does not tell flows apart
	Hand          []int  `json:"hand"`   // the queues it may wait in, in the order dealt; null without queues
	Queues        int    `json:"queues"` // of the level
}

// SeatExplanation is what a request takes.
type SeatExplanation struct {
	InitialSeats        int   `json:"initialSeats"`
	FinalSeats          int   `json:"finalSeats"`
	AdditionalLatencyNs int64 `json:"additionalLatencyNs"`
	LevelCap            int   `json:"levelCap"` // the most seats at the level; 0 for none of its own
	NominalLimit        int   `json:"nominalLimit"`
}

// Explain follows a request through the flow control of a server with serverLimit seats.
func Explain(objects config.Objects, serverLimit int, q Question) (*Explanation, error) {
	a := &q.Attributes
	store := estimate.Store{}
	resource := estimate.Resource{Group: a.APIGroup, Name: a.Resource}
	if q.Stored.Objects > 0 {
		store[resource] = q.Stored
	}
	watchers := estimate.NewWatchers()
	request, err := estimate.NewRequest(a, q.Query, store, watchers)
	if err != nil {
		return nil, err
	}
	watch, err := estimate.NewRequest(&classify.Attributes{Verb: "watch", APIGroup: a.APIGroup, Resource: a.Resource}, "", store, watchers)
	if err != nil {
		return nil, err
	}
	for range q.Watchers {
		watch.WatchStarts()
	}

	controller := flowcontrol.New(0, serverLimit, objects, nil)
	e := &Explanation{SchemaVersion: SchemaVersion, FlowSchemas: controller.Explain(a)}
	if a.PassesBy() {
		e.PassesBy = true
		return e, nil
	}
	route := controller.Route(a)
	level := route.Level
	e.Flow = &FlowExplanation{
		FlowSchema:    route.Schema.Name,
		PriorityLevel: level.Name(),
		Response:      config.TypeExempt,
		Distinguisher: route.Distinguisher,
		Hash:          fmt.Sprintf("%016x", route.Hash),
		Hand:          route.Hand.Queues(),
		Queues:        level.Queues().Len(),
	}
	if limited := level.Spec().Limited; limited != nil {
		e.Flow.Response = limited.LimitResponse.Type
	}
	work := request.Estimate(level.SeatCap())
	e.Seats = &SeatExplanation{
		InitialSeats:        work.InitialSeats,
		FinalSeats:          work.FinalSeats,
		AdditionalLatencyNs: work.AdditionalLatencyNs,
		LevelCap:            level.SeatCap(),
		NominalLimit:        level.Limits().Nominal,
	}
	return e, nil
}

// WriteText writes the explanation for people to read. The schemas after the chosen one
// are left out unless all are asked for.
func (e *Explanation) WriteText(w io.Writer, all bool) error {
	var b strings.Builder
	b.WriteString("FlowSchemas, in the order they are tried:\n")
	for i, v := range e.FlowSchemas {
		fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(printableLines(v.String()), "\n", "\n    "))
		if rest := len(e.FlowSchemas) - i - 1; v.Chosen && v.Matched && !all && rest > 0 {
			fmt.Fprintf(&b, "  ... and %d more, not tried (--all shows them)\n", rest)
			break
		}
	}
	b.WriteByte('\n')
	if e.PassesBy {
		b.WriteString("The request is long-running and no watch: it passes by flow control.\n")
		_, err := io.WriteString(w, b.String())
		return err
	}
	f, s := e.Flow, e.Seats
	fmt.Fprintf(&b, "FlowSchema     %s\n", printable(f.FlowSchema))
	fmt.Fprintf(&b, "priority level %s (%s)\n", printable(f.PriorityLevel), f.Response)
	switch {
	case f.Hand == nil:
		b.WriteString("flow           not told apart: the level has no queues\n")
	case f.Queues == 1:
		b.WriteString("flow           not told apart: the level has one queue\n")
	case f.Distinguisher == "":
		fmt.Fprintf(&b, "flow           the whole FlowSchema, hash %s\n", f.Hash)
	default:
		fmt.Fprintf(&b, "flow           %s, hash %s\n", printable(f.Distinguisher), f.Hash)
	}
	if f.Hand != nil {
		fmt.Fprintf(&b, "hand           queues %s of 0 to %d\n", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(f.Hand)), ", "), "[]"), f.Queues-1)
	}
	fmt.Fprintf(&b, "seats          %d while it executes", s.InitialSeats)
	if s.FinalSeats > 0 {
		fmt.Fprintf(&b, ", then %d for %s", s.FinalSeats, duration(float64(s.AdditionalLatencyNs)))
	}
	if s.LevelCap > 0 {
		fmt.Fprintf(&b, "; the level allows up to %d", s.LevelCap)
	}
	fmt.Fprintf(&b, "\nnominal limit  %d %s\n", s.NominalLimit, plural(s.NominalLimit, "seat"))
	_, err := io.WriteString(w, b.String())
	return err
}

// printableLines is printable for text of several lines.
func printableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}
