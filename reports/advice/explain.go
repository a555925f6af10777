package advice

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/core/flowcontrol"
	"apfsim/core/request"
	"apfsim/core/rules"
	"apfsim/reports/format"
	"apfsim/reports/result"
)

// Question is a request to be explained, and what is known about its resource.
type Question struct {
	Attributes classify.Attributes
	Query      string         // as in the URL, without the question mark
	Stored     estimate.Stats // the stored objects of the request's resource; none: unknown
	Watchers   int            // watches of all objects of the request's resource
	// ImpliedGroups are the groups of Attributes that were not given: they follow from the user's
	// name.
	ImpliedGroups []string
	Notes         []string // sentences that say how the request was understood
}

// Explanation shows how flow control treats a request.
type Explanation struct {
	SchemaVersion     string             `json:"schemaVersion"`
	KubernetesVersion string             `json:"kubernetesVersion"` // the release of the server
	Request           ExplainedRequest   `json:"request"`
	Notes             []string           `json:"notes"`       // how the request was understood
	FlowSchemas       []classify.Verdict `json:"flowSchemas"` // in the order tried
	// Bypasses means that the request bypasses flow control: it is long-running, and not a watch
	// unless watches bypass flow control in the release. Flow and Seats are then nil.
	Bypasses bool            `json:"passesBy"`
	Flow     *ExplainedFlow  `json:"flow,omitempty"`
	Seats    *ExplainedSeats `json:"seats,omitempty"` // also nil for an exempt request before 1.28, which takes no seats
}

// ExplainedRequest is the request as the server sees it.
type ExplainedRequest struct {
	User          string   `json:"user"`
	Groups        []string `json:"groups"`
	ImpliedGroups []string `json:"impliedGroups"` // the groups that follow from the user's name
	Verb          string   `json:"verb"`
	APIGroup      string   `json:"apiGroup"`
	Resource      string   `json:"resource"` // empty for a path that is not a resource
	Subresource   string   `json:"subresource"`
	Namespace     string   `json:"namespace"`
	Name          string   `json:"name"`
	Path          string   `json:"path"`
	Query         string   `json:"query"`
}

// ExplainedFlow is how a request is classified and where it may wait.
type ExplainedFlow struct {
	FlowSchema    string `json:"flowSchema"`
	PriorityLevel string `json:"priorityLevel"`
	Response      string `json:"response"` // Exempt, Queue or Reject
	Distinguisher string `json:"distinguisher"`
	Hash          string `json:"hash"`   // 16 hexadecimal digits; zero unless the level has several queues
	Hand          []int  `json:"hand"`   // the queues that it may wait in, in the order dealt; null without queues
	Queues        int    `json:"queues"` // of the level
}

// ExplainedSeats is how many seats a request takes, and for how long.
type ExplainedSeats struct {
	InitialSeats        int   `json:"initialSeats"`
	FinalSeats          int   `json:"finalSeats"`
	AdditionalLatencyNs int64 `json:"additionalLatencyNs"`
	LevelCap            int   `json:"levelCap"` // the most seats that one request takes at the level; 0 if the level has no limit of its own
	NominalLimit        int   `json:"nominalLimit"`
}

// Explain says what the flow control of a server of a release, with serverLimit seats, does with a
// request. The error says what is wrong with the request.
func Explain(r *rules.Rules, objects config.Objects, serverLimit int, q Question) (*Explanation, error) {
	a := &q.Attributes
	store := estimate.Store{}
	resource := estimate.Resource{Group: a.APIGroup, Name: a.Resource}
	if q.Stored.Objects > 0 {
		store[resource] = q.Stored
	}
	known := estimate.Known(store)
	estimator := estimate.NewEstimator(r, known)
	request, err := estimator.NewRequest(a, q.Query)
	if err != nil {
		return nil, err
	}
	watch, err := estimator.NewRequest(&classify.Attributes{Verb: "watch", APIGroup: a.APIGroup, Resource: a.Resource}, "")
	if err != nil {
		return nil, err
	}
	for range q.Watchers {
		watch.WatchStarts()
	}

	controller := flowcontrol.New(0, r, serverLimit, objects, nil, nil)
	e := &Explanation{
		SchemaVersion:     result.SchemaVersion,
		KubernetesVersion: r.Version,
		Request: ExplainedRequest{
			User: a.User, Groups: append([]string{}, a.Groups...), ImpliedGroups: append([]string{}, q.ImpliedGroups...),
			Verb: a.Verb, APIGroup: a.APIGroup, Resource: a.Resource, Subresource: a.Subresource,
			Namespace: a.Namespace, Name: a.Name, Path: a.Path, Query: q.Query,
		},
		Notes:       append([]string{}, q.Notes...),
		FlowSchemas: controller.Explain(a),
	}
	if known[resource] != store[resource] {
		e.Notes = append(e.Notes, "servers do not know the size of events, nor how many there are in the API group events.k8s.io")
	}
	if a.Bypasses(r) {
		e.Bypasses = true
		return e, nil
	}
	route := controller.Route(a)
	level := route.Level
	e.Flow = &ExplainedFlow{
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
	if e.Flow.Response == config.TypeExempt && r.Exempt == rules.ExemptAbsent {
		return e, nil
	}
	work := request.Estimate(level.SeatCap())
	if r.CacheUnversioned { // the estimator assumes an etcd by which the cache knows that it is current
		without := *r
		without.CacheUnversioned = false
		fromStore, err := estimate.NewEstimator(&without, known).NewRequest(a, q.Query)
		if err != nil {
			return nil, err
		}
		if n := fromStore.Estimate(level.SeatCap()).InitialSeats; n != work.InitialSeats {
			e.Notes = append(e.Notes, fmt.Sprintf("the seats assume that the watch cache serves the list; from etcd (before 3.4.31 or 3.5.13, or where ConsistentListFromCache is off), they are %d", n))
		}
	}
	e.Seats = &ExplainedSeats{
		InitialSeats:        work.InitialSeats,
		FinalSeats:          work.FinalSeats,
		AdditionalLatencyNs: work.AdditionalLatencyNs,
		LevelCap:            level.SeatCap(),
		NominalLimit:        level.Limits().Nominal,
	}
	return e, nil
}

// Text returns the flow and the seats, the FlowSchemas that nearly matched, and the request as
// it was understood. With all, every FlowSchema follows with the reason why it matches or does not.
func (e *Explanation) Text(all bool) string {
	var b strings.Builder
	e.writeAnswer(&b)
	tried, near := e.nearMisses()
	if len(near) > 0 {
		b.WriteString("\nNear misses: FlowSchemas that are tried earlier and did not match for one reason:\n")
		for _, v := range near {
			fmt.Fprintf(&b, "  %s (precedence %d, priority level %s)\n    %s\n", format.Printable(v.FlowSchema),
				v.MatchingPrecedence, format.Printable(v.PriorityLevel), format.Printable(v.NearMiss.String()))
		}
	}
	e.writeRequest(&b)
	if !all {
		if !e.Bypasses {
			fmt.Fprintf(&b, "\n%d %s tried before it, %d after it (--all shows each, and why it does not match)\n",
				tried, format.Plural(tried, "FlowSchema"), len(e.FlowSchemas)-tried-1)
		}
		return b.String()
	}
	b.WriteString("\nFlowSchemas, in the order they are tried:\n")
	for _, v := range e.FlowSchemas {
		fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(format.PrintableLines(v.String()), "\n", "\n    "))
	}
	return b.String()
}

// nearMisses returns how many FlowSchemas are tried before the chosen one, and which of them did
// not match for a single reason.
func (e *Explanation) nearMisses() (tried int, near []classify.Verdict) {
	for _, v := range e.FlowSchemas {
		if v.Chosen {
			break
		}
		tried++
		if v.NearMiss != nil && !e.Bypasses {
			near = append(near, v)
		}
	}
	return tried, near
}

func (e *Explanation) writeAnswer(b *strings.Builder) {
	switch {
	case e.Bypasses && e.Request.Verb == "watch":
		b.WriteString("The request is a watch: in this release, watches bypass flow control.\n")
		return
	case e.Bypasses:
		b.WriteString("The request is long-running and not a watch: it bypasses flow control.\n")
		return
	}
	f, s := e.Flow, e.Seats
	fmt.Fprintf(b, "FlowSchema     %s\n", format.Printable(f.FlowSchema))
	fmt.Fprintf(b, "priority level %s (%s)\n", format.Printable(f.PriorityLevel), f.Response)
	switch {
	case f.Hand == nil:
		b.WriteString("flow           not distinguished: the level has no queues\n")
	case f.Queues == 1:
		b.WriteString("flow           not distinguished: the level has one queue\n")
	case f.Distinguisher == "":
		fmt.Fprintf(b, "flow           the whole FlowSchema, hash %s\n", f.Hash)
	default:
		fmt.Fprintf(b, "flow           %s, hash %s\n", format.Printable(f.Distinguisher), f.Hash)
	}
	if f.Hand != nil {
		fmt.Fprintf(b, "hand           queues %s of 0 to %d\n", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(f.Hand)), ", "), "[]"), f.Queues-1)
	}
	if s == nil {
		b.WriteString("seats          none: in this release, requests of an exempt level take no seats\n")
		return
	}
	fmt.Fprintf(b, "seats          %d while it executes", s.InitialSeats)
	if s.FinalSeats > 0 {
		fmt.Fprintf(b, ", then %d for %s", s.FinalSeats, format.Duration(float64(s.AdditionalLatencyNs)))
	}
	if s.LevelCap > 0 {
		fmt.Fprintf(b, "; the level allows up to %d", s.LevelCap)
	}
	fmt.Fprintf(b, "\nnominal limit  %d %s\n", s.NominalLimit, format.Plural(s.NominalLimit, "seat"))
}

// writeRequest writes the request as the server sees it.
func (e *Explanation) writeRequest(b *strings.Builder) {
	r := &e.Request
	text := r.Verb
	if r.Resource == "" {
		text += " " + r.Path + " (not a resource)"
	} else {
		text += " " + request.JoinSubresource(request.JoinResource(r.APIGroup, r.Resource), r.Subresource)
		if r.Name != "" {
			text += " " + r.Name
		}
		switch builtin := request.Builtin(r.APIGroup, r.Resource); {
		case r.Namespace != "":
			text += ", namespace " + r.Namespace
		case builtin != nil && builtin.Cluster:
		case r.Verb == "list" || r.Verb == "watch" || r.Verb == "deletecollection":
			text += ", all namespaces"
		default:
			text += ", no namespace"
		}
		text += " (" + r.Path + ")"
	}
	fmt.Fprintf(b, "\nThe request as the server sees it:\n  request %s\n  user    %s\n", format.Printable(text), format.Printable(r.User))
	groups := make([]string, len(r.Groups))
	for i, g := range r.Groups {
		groups[i] = g
		if slices.Contains(r.ImpliedGroups, g) {
			groups[i] += " (implied)"
		}
	}
	fmt.Fprintf(b, "  groups  %s\n", format.Printable(strings.Join(groups, ", ")))
	for _, note := range e.Notes {
		fmt.Fprintf(b, "  note    %s\n", format.Printable(note))
	}
}
