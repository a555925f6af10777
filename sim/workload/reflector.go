package workload

import (
	"slices"

	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// tokensPerReflector is how many tokens a reflector uses, from ReflectorSettings.FirstToken.
const tokensPerReflector = 2

// ReflectorSettings say which objects a reflector copies, and how.
type ReflectorSettings struct {
	Group, Resource, Namespace   string // all namespaces if Namespace is ""
	Name                         string // of one object only, by a field selector of metadata.name; "" for all
	LabelSelector, FieldSelector string
	Matches                      int64 // see api.Call

	WatchList   bool  // it begins with a watch that sends the objects first, as client-go since 1.35, and not with a list
	NoBookmarks bool  // its watches do not ask for bookmarks; those that send objects first always do
	PageSize    int64 // of lists, whatever version they ask for; 0 for client-go's rule; negative for no pages

	// SinceLastUse says that the back-off starts over 2 min after its last use, as up to client-go 1.35.
	SinceLastUse bool

	// PerEvent is how long the client takes to read one event, drawn for each watch.
	PerEvent quantity.Distribution

	FirstToken int32 // of tokensPerReflector
}

// Reflector keeps a copy of some objects by list and watch (k8s.io/client-go, tools/cache/reflector.go). A
// behaviour may have several. It passes to each what has one of its tokens.
//
// It works in rounds. A round gets all objects, by a list or by a watch that sends them first, and then
// watches, and watches again whenever a watch has ended in order. When something fails, the round is over,
// and the next one begins after the back-off.
type Reflector struct {
	ReflectorSettings
	client  Client
	handler Handler
	chance  *random.Stream
	backoff reflectorBackoff

	copied      copied
	stopped     bool
	version     int64
	unavailable bool // the version is too old or too new for the server: the next list is of the latest
	paged       bool // the first list came in pages: there is no cache at the server

	// While the copy is not up to date, since when, and why.
	behind        bool
	behindSinceNs int64
	reason        string

	list  list
	watch watch
	wake  clock.AlarmID
}

// watch is the watch of a reflector.
type watch struct {
	sentNs  int64
	events  int64 // that were received of it
	initial *initial
}

// NewReflector returns a reflector of a client. The random numbers for its waits and time-outs come from a
// stream that several reflectors of a client may share. The handler may be nil: then the reflector only
// counts the objects.
func NewReflector(s ReflectorSettings, c Client, chance *random.Stream, h Handler) *Reflector {
	return &Reflector{ReflectorSettings: s, client: c, handler: h, chance: chance, copied: newCopied(h)}
}

// The tokens of a reflector, from its first.
const (
	listToken = iota
	watchToken
)

// Owns says whether a token is one of the reflector's.
func (r *Reflector) Owns(token int32) bool {
	return token >= r.FirstToken && token < r.FirstToken+tokensPerReflector
}

// Version returns the version of the copy, 0 before the first list.
func (r *Reflector) Version() int64 { return r.version }

// Get returns an object of the copy, as a lister does; nil if the copy does not have it, and if the
// reflector has no handler.
func (r *Reflector) Get(namespace, name string) *api.Object {
	return r.copied.objects[api.Key(namespace, name)]
}

// Len returns how many objects the copy has, those included that are only counted.
func (r *Reflector) Len() int64 { return r.copied.len() }

// Start begins the first round.
func (r *Reflector) Start(nowNs int64) {
	r.backoff = newReflectorBackoff(nowNs, r.SinceLastUse)
	r.fallBehind(nowNs, "")
	r.round(nowNs)
}

// Stop ends what is under way: the client's process has ended. A new reflector is needed to go on.
func (r *Reflector) Stop(nowNs int64) {
	r.stopped = true
	r.client.HangUp(nowNs, r.FirstToken+listToken)
	r.client.HangUp(nowNs, r.FirstToken+watchToken)
	r.client.Alarms().Cancel(&r.wake)
}

// round begins a round (ListAndWatchWithContext).
func (r *Reflector) round(nowNs int64) {
	if r.WatchList {
		r.sendWatchList(nowNs)
		return
	}
	r.beginList(nowNs)
}

// leave ends a round that has failed. The next one begins after the back-off (RunWithContext).
func (r *Reflector) leave(nowNs int64, reason string) {
	r.fallBehind(nowNs, reason)
	r.after(nowNs, r.round)
}

// fallBehind notes that the copy is not up to date any more. A version that cannot be used is a better
// explanation than a failure.
func (r *Reflector) fallBehind(nowNs int64, reason string) {
	switch {
	case !r.behind:
		r.behind, r.behindSinceNs = true, nowNs
		r.reason = reason
	case r.reason == metric.AfterFailure:
		r.reason = reason
	}
}

// after does something after the back-off.
func (r *Reflector) after(nowNs int64, do func(nowNs int64)) {
	waitNs := r.backoff.Next(nowNs, &r.chance.Rand)
	r.wake = r.client.Alarms().Set(nowNs+waitNs, alarm(func(nowNs int64) {
		r.wake = clock.AlarmID{}
		do(nowNs)
	}))
}

// caughtUp notes that the copy has all objects of a version.
func (r *Reflector) caughtUp(nowNs, version int64) {
	r.version, r.unavailable = version, false
	r.client.Note(nowNs, Note{Event: metric.Listed, Object: r.Resource, N: r.Len(), Ns: nowNs - r.behindSinceNs, Reason: r.reason})
	r.behind = false
	if r.handler != nil {
		r.handler.Listed(nowNs, r)
	}
}

// expired notes that a version was too old or too new for the server, and whether it was.
func (r *Reflector) expired(nowNs int64, a *api.Answer) bool {
	switch {
	case a.Status == statusGone:
		r.client.Note(nowNs, Note{Event: metric.Expired, Object: r.Resource})
		r.fallBehind(nowNs, metric.AfterExpired)
	case tooLarge(a):
		r.fallBehind(nowNs, metric.AfterTooLarge)
	default:
		return false
	}
	return true
}

// send sends a list or watch, unless the handler has just stopped the reflector.
func (r *Reflector) send(nowNs int64, token int32, q *APIRequest) {
	if r.stopped {
		return
	}
	q.Token = r.FirstToken + token
	r.client.Send(nowNs, q)
}

// Request returns a list or watch of what is selected, with options.
func (s *ReflectorSettings) Request(verb string, o request.Options) *APIRequest {
	o.LabelSelector, o.FieldSelector = s.LabelSelector, s.FieldSelector
	if s.FieldSelector == "" && s.Name != "" {
		o.FieldSelector = "metadata.name=" + request.EscapeFieldValue(s.Name)
	}
	return &APIRequest{
		Verb: verb, Group: s.Group, Resource: s.Resource, Namespace: s.Namespace, Name: s.Name,
		Call: api.Call{Options: o, Matches: s.Matches},
	}
}

// Answered is Machine's, for a token of the reflector.
func (r *Reflector) Answered(nowNs int64, token int32, a *api.Answer) {
	if token == r.FirstToken+listToken {
		r.listAnswered(nowNs, a)
		return
	}
	r.watchEnded(nowNs, a)
}

// The statuses that reflectors know.
const (
	statusOK              = 200
	statusGone            = 410
	statusTooManyRequests = 429
)

// tooLarge says whether a version was newer than what the server has (tools/cache/reflector.go,
// isTooLargeResourceVersionError).
func tooLarge(a *api.Answer) bool {
	return slices.ContainsFunc(a.Causes, func(c api.Cause) bool { return c.Reason == "ResourceVersionTooLarge" })
}
