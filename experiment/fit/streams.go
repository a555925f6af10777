package fit

import (
	"slices"
	"strings"

	"apfsim/core/classify"
	"apfsim/document"
	"apfsim/experiment/fit/retries"
	"apfsim/sim/trace"
	scripted "apfsim/sim/workload"
)

// stream is the requests of one user that differ in nothing but their names and their times.
type stream struct {
	user       string
	groups     []string // in addition to those that the user's name implies
	attributes classify.Attributes
	query      string // without what differs from request to request
	schema     string
	level      string
	open       bool // watches that were open at time 0, or were opened then

	leftOut  bool   // a scenario cannot express the requests
	name     string // of the first object
	requests int64
	seats    map[int]int64 // of a list or watch: how many requests took as many; nil if the log does not say so
	followed retries.Followed
	delays   *retries.Delays // of the requests of this kind
	afterNs  int64           // Retry-After of the last rejected request; 0 if unknown

	workload *workload
	client   int // index in the workload
}

// exempt is the priority level without queues.
const exempt = "exempt"

// learn takes note of a request in the first pass.
func (f *fitter) learn(e *Entry) {
	s := f.stream(e)
	if s == nil {
		s = f.newStream(e)
	}
	f.report.Requests++
	if f.options.Capacity {
		f.executed.learn(s, e)
	}
	if s.leftOut {
		f.report.LeftOut++
		return
	}
	s.requests++
	if e.Seats > 0 && e.Resource != "" && (e.Verb == "list" || e.Verb == "watch") {
		if s.seats == nil {
			s.seats = map[int]int64{}
		}
		s.seats[e.Seats]++
	}
	f.lastNs = e.ArrivalNs
	if e.Outcome == trace.Executed {
		f.finishNs = max(f.finishNs, e.ArrivalNs+max(0, e.WaitNs)+e.TookNs())
	}
	f.real = f.real || e.Workload == ""
	f.decided = f.decided || e.Outcome != ""
	// Requests of the level exempt never wait, so that what the log says of them is its error.
	if e.Workload == "" && e.PriorityLevel == exempt && e.WaitNs >= 0 && e.Outcome != trace.Rejected {
		f.recorded.WaitErrors.Add(float64(e.WaitNs))
	}
	f.retries.SlackNs = f.slack()
	f.learnRetries(s, e)
}

// realSlackNs is by how much later a request may end in the log of a real server than for its client.
const realSlackNs = 1_000_000

func (f *fitter) slack() int64 {
	if f.real {
		return realSlackNs
	}
	return 0
}

// learnRetries takes note of whether the request follows a rejected one.
func (f *fitter) learnRetries(s *stream, e *Entry) {
	key := f.withName(e.Name)
	end := len(key)
	key = append(key, 0)
	due, control := key[:end], key
	f.retries.Follow(due, e.ArrivalNs, &s.followed.Due)
	f.retries.Follow(control, e.ArrivalNs, &s.followed.Control)
	if e.Outcome == trace.Rejected {
		s.followed.Rejected++
		s.afterNs = e.RetryAfterSeconds * retries.Second
		if s.afterNs > 0 {
			s.followed.Asked++
		}
		f.retries.Reject(string(due), e.EndNs(), s.afterNs, e.ArrivalNs)
		f.retries.Reject(string(control), e.EndNs()+retries.ControlNs, s.afterNs, e.ArrivalNs)
	}
	f.followers.Arrive(due, e.ArrivalNs, s.delays)
	f.followers.Follow(due, e.EndNs(), e.ArrivalNs, e.Outcome == trace.Rejected, s.delays)
	key[end] = 1
	f.retries.Follow(key, e.ArrivalNs, &s.followed.Periodic)
	if e.Outcome == trace.Executed && s.followed.Executed < s.followed.Rejected {
		s.followed.Executed++
		f.retries.Reject(string(key), e.ArrivalNs, s.afterNs, e.ArrivalNs)
	}
}

// stream returns the stream of a request, nil for the first request of one. f.key is then the stream's key.
func (f *fitter) stream(e *Entry) *stream {
	k := f.key[:0]
	for _, text := range [...]string{e.User, e.Verb, e.APIGroup, e.Resource, e.Subresource, e.Namespace, e.FlowSchema, e.PriorityLevel} {
		k = append(append(k, text...), 0)
	}
	if e.Resource == "" {
		k = append(append(k, e.Path...), 0)
	}
	k = append(append(k, steadyQuery(e.Query)...), 0)
	for _, g := range e.Groups {
		k = append(append(k, g...), 0)
	}
	if opened(e) {
		k = append(k, 1)
	}
	f.key = k
	return f.streams[string(k)]
}

// opened says whether the request is a watch at time 0.
func opened(e *Entry) bool { return e.Verb == "watch" && e.ArrivalNs == 0 }

// withName returns the key of one object name within the stream.
func (f *fitter) withName(name string) []byte {
	f.key = append(append(f.key, 2), name...)
	return f.key
}

// newStream adds the stream of a request, whose key is f.key.
func (f *fitter) newStream(e *Entry) *stream {
	s := &stream{user: e.User, attributes: e.Attributes(), query: steadyQuery(e.Query), schema: e.FlowSchema, level: e.PriorityLevel,
		open: opened(e), name: e.Name}
	if e.Resource != "" {
		s.attributes.Path = ""
	}
	implied := classify.GroupsOf(e.User, nil)
	for _, g := range e.Groups {
		if g != "" && !slices.Contains(implied, g) { // a token file can have a group without a name, which no subject has
			s.groups = append(s.groups, g)
		}
	}
	slices.Sort(s.groups)
	if wrong := s.wrong(); len(wrong) > 0 {
		s.leftOut = true
		f.leaveOut(wrong[0])
	}
	if f.streams == nil {
		f.streams = map[string]*stream{}
	}
	f.streams[string(f.key)] = s
	if !s.leftOut {
		f.inOrder = append(f.inOrder, s)
	}
	kind := strings.Join([]string{e.Verb, e.APIGroup, e.Resource, e.Subresource, e.FlowSchema, e.PriorityLevel}, "\x00")
	if f.delays[kind] == nil {
		if f.delays == nil {
			f.delays = map[string]*retries.Delays{}
		}
		f.delays[kind] = &retries.Delays{}
	}
	s.delays = f.delays[kind]
	return s
}

// wrong says why no scenario can express the requests of the stream; "" if one can.
func (s *stream) wrong() document.Errors {
	a := &s.attributes
	as := s.identity(func(text string) string { return text })
	r := scripted.Request{Verb: a.Verb, Group: a.APIGroup, Resource: a.Resource, Subresource: a.Subresource, Namespace: a.Namespace,
		Name: s.objectName(), Path: a.Path, Query: s.query}
	return scripted.CheckRequest(&as, &r)
}

// objectName returns the name in the requests of a scenario. That of a created object is not part of the URL.
func (s *stream) objectName() string {
	if s.attributes.Resource == "" || s.attributes.Verb == "create" && s.attributes.Subresource == "" {
		return ""
	}
	return s.name
}

// leaveOut takes note of a stream whose requests are left out.
func (f *fitter) leaveOut(reason document.Error) {
	f.streamsLeftOut++
	if f.whyLeftOut == "" {
		f.whyLeftOut = reason.Path + ": " + reason.Message
	}
}
