package workload_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"apfsim/sim/api"
	"apfsim/sim/metric"
	"apfsim/sim/workload"
	"apfsim/sim/workload/workloadtest"
)

// Units of time, in nanoseconds.
const (
	millisecond = int64(time.Millisecond)
	second      = int64(time.Second)
)

// server keeps the objects of a client's requests. A request is carried out and answered after a time, unless
// fails gives another answer.
type server struct {
	*workloadtest.Client
	objects   map[string]*api.Object
	version   int64
	latencyNs func() int64                                              // 10 ms if nil
	fails     func(nowNs int64, r *workload.APIRequest) *api.Answer     // nil for none
	watches   func(nowNs int64, r *workload.APIRequest)                 // serves lists and watches
	committed func(nowNs int64, t api.EventType, before, o *api.Object) // is told what is written
	current   map[int32]*workload.APIRequest
}

func newServer() *server {
	s := &server{objects: map[string]*api.Object{}, version: 100, current: map[int32]*workload.APIRequest{}}
	s.Client = workloadtest.New(s.serve)
	s.Name, s.NodeName = "counters", "node-1"
	return s
}

func (s *server) serve(nowNs int64, r *workload.APIRequest) {
	s.current[r.Token] = r
	if r.Verb == "list" || r.Verb == "watch" {
		s.watches(nowNs, r)
		return
	}
	latencyNs := 10 * millisecond
	if s.latencyNs != nil {
		latencyNs = s.latencyNs()
	}
	var refused *api.Answer
	if s.fails != nil {
		refused = s.fails(nowNs, r)
	}
	s.At(nowNs+latencyNs, func(nowNs int64) {
		a := refused
		if a == nil {
			a = s.carryOut(nowNs, r)
		}
		if s.current[r.Token] == r && s.Open(r.Token) {
			s.Answer(nowNs, r.Token, a)
		}
	})
}

// put stores an object.
func (s *server) put(nowNs int64, key string, before *api.Object, o api.Object) *api.Answer {
	s.version++
	o.Version = s.version
	if o.UID == 0 {
		o.UID = s.version
	}
	s.objects[key] = &o
	a := &api.Answer{Status: 200, Version: o.Version, UID: o.UID, Object: &o, Wrote: true}
	event := api.Added
	if before != nil {
		a.Replaced, event = before.Version, api.Modified
	}
	if s.committed != nil {
		s.committed(nowNs, event, before, &o)
	}
	return a
}

func (s *server) carryOut(nowNs int64, r *workload.APIRequest) *api.Answer {
	b, name := r.Call.Body, r.Name
	if r.Verb == "create" {
		name = b.Name
	}
	key := r.Resource + "/" + api.Key(r.Namespace, name)
	o := s.objects[key]
	switch {
	case r.Verb == "create" && o != nil:
		return &api.Answer{Status: 409, Reason: "AlreadyExists"}
	case r.Verb == "create":
		return s.put(nowNs, key, nil, api.Object{Namespace: r.Namespace, Name: name, DeletionNs: -1, Fields: b.Fields, Stamp: b.Stamp})
	case o == nil && !(b != nil && b.Patch == api.ApplyPatch):
		return &api.Answer{Status: 404, Reason: "NotFound"}
	case r.Verb == "get":
		return &api.Answer{Status: 200, Version: o.Version, UID: o.UID, Object: o}
	case r.Verb == "delete":
		if uid := r.Call.Options.Preconditions.UID; uid != 0 && uid != o.UID {
			return &api.Answer{Status: 409, Reason: "Conflict"}
		}
		delete(s.objects, key)
		s.version++
		if s.committed != nil {
			s.committed(nowNs, api.Deleted, o, o)
		}
		return &api.Answer{Status: 200}
	case b.Version.Given && b.Version.N != o.Version || b.UID != 0 && b.UID != o.UID:
		return &api.Answer{Status: 409, Reason: "Conflict"}
	}
	changed := api.Object{Namespace: r.Namespace, Name: name, DeletionNs: -1}
	if o != nil {
		changed = *o
	}
	if b.Stamp != 0 {
		changed.Stamp = b.Stamp
	}
	changed.Fields = maps.Clone(b.Fields)
	if r.Verb == "patch" && o != nil {
		changed.Fields = maps.Clone(o.Fields)
		if changed.Fields == nil {
			changed.Fields = map[string]string{}
		}
		maps.Copy(changed.Fields, b.Fields)
	}
	return s.put(nowNs, key, o, changed)
}

// several runs several behaviours beside each other, each as a client with an index of its own.
type several []workload.Machine

// tokensEach is how many tokens each of several behaviours has.
const tokensEach = 100

func newSeveral(s *server, n int, make func(c workload.Client) workload.Machine) several {
	all := several{}
	for i := range n {
		all = append(all, make(one{s, i}))
	}
	return all
}

func (all several) Start(nowNs int64) {
	for _, b := range all {
		b.Start(nowNs)
	}
}

func (all several) Answered(nowNs int64, token int32, a *api.Answer) {
	all[token/tokensEach].Answered(nowNs, token%tokensEach, a)
}

func (all several) Received(nowNs int64, token int32, e *api.Event) {
	all[token/tokensEach].Received(nowNs, token%tokensEach, e)
}

// one is the client of one of several behaviours.
type one struct {
	*server
	index int
}

func (c one) Index() int { return c.index }

func (c one) Send(nowNs int64, r *workload.APIRequest) {
	r.Token += int32(c.index) * tokensEach
	c.server.Send(nowNs, r)
}

func (c one) HangUp(nowNs int64, token int32) {
	c.server.HangUp(nowNs, token+int32(c.index)*tokensEach)
}

// notes returns the notes of some kinds, one a line.
func (s *server) notes(kinds ...metric.Event) (lines []string) {
	names := map[metric.Event]string{metric.LeaderLost: "LeaderLost", metric.LeaderGained: "LeaderGained",
		metric.NodeNotReady: "NodeNotReady", metric.NodeReady: "NodeReady", metric.PodSeen: "PodSeen"}
	for _, n := range s.Noted {
		for _, k := range kinds {
			if n.Event == k {
				lines = append(lines, fmt.Sprintf("%v %s %s %v", time.Duration(n.AtNs), names[k], n.Object, time.Duration(n.Ns)))
			}
		}
	}
	return lines
}

func (s *server) count(verb, resource string) (n int) {
	for _, q := range s.Sent {
		if q.Verb == verb && q.Resource == resource {
			n++
		}
	}
	return n
}

// scattered makes each request take from 5 to 15 ms.
func scattered(seed uint64) func() int64 {
	r := rand.New(rand.NewPCG(seed, 1))
	return func() int64 { return 5*millisecond + r.Int64N(10*millisecond) }
}

func within(t *testing.T, what string, got, least, most int64) {
	t.Helper()
	if got < least || got > most {
		t.Errorf("%s: got %v, want from %v to %v", what, time.Duration(got), time.Duration(least), time.Duration(most))
	}
}
