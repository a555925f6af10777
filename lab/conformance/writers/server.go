// Package writers runs client-go's leader election, retries after conflicts and event recorder, and those of
// apfsim, against servers that answer by the same rules, and records the requests of both.
package writers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"apfsim/sim/api"
	"apfsim/sim/workload"
	"apfsim/sim/workload/workloadtest"
)

// Rules are how a server answers.
type Rules struct {
	// LatencyNs is how long a request takes; nil for 10 ms. A write is committed at its end. A request that
	// the client has given up by then is carried out, too.
	LatencyNs func(r Request) int64
	// Fails returns a status with which the server refuses a request when it arrives, 0 for none.
	Fails func(r Request) int
	// Lost says whether the client never hears of the answer to a request.
	Lost func(r Request) bool
}

// Server keeps objects by their keys. Its requests are served one at a time.
type Server struct {
	Rules
	mu      sync.Mutex
	objects map[string]*object
	version int64
	Log     []Request
}

type object struct {
	version int64
	content any
}

// Request is a request that was received.
type Request struct {
	AtNs    int64
	Client  int
	Verb    string
	Version int64 // of the body, 0 without one
}

// String returns the request as the logs of both sides write it.
func (r Request) String() string {
	s := fmt.Sprintf("%v client %d %s", time.Duration(r.AtNs), r.Client, r.Verb)
	if r.Version != 0 {
		s += fmt.Sprintf(" at %d", r.Version)
	}
	return s
}

// NewServer returns a server without objects.
func NewServer(r Rules) *Server {
	if r.LatencyNs == nil {
		r.LatencyNs = func(Request) int64 { return int64(10 * time.Millisecond) }
	}
	return &Server{Rules: r, objects: map[string]*object{}, version: 100}
}

// Put stores an object.
func (s *Server) Put(key string, content any) {
	s.version++
	s.objects[key] = &object{s.version, content}
}

// receive records a request, and returns the status with which it is refused, if it is, and how long it takes.
func (s *Server) receive(r Request) (refused int, latencyNs int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Log = append(s.Log, r)
	if s.Fails != nil {
		refused = s.Fails(r)
	}
	return refused, s.LatencyNs(r)
}

// serve carries out a request. Content is what the body has; of a patch, a function of the object's content.
func (s *Server) serve(verb, key string, version int64, content any) (status int, reason string, result object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[key]
	switch {
	case verb == "create" && o != nil:
		return 409, "AlreadyExists", object{}
	case verb != "create" && o == nil:
		return 404, "NotFound", object{}
	case verb == "get":
		return 200, "", *o
	case verb == "update" && version != 0 && version != o.version:
		return 409, "Conflict", object{}
	}
	if change, ok := content.(func(any) any); ok {
		content = change(o.content)
	}
	s.version++
	s.objects[key] = &object{s.version, content}
	if verb == "create" {
		return 201, "", *s.objects[key]
	}
	return 200, "", *s.objects[key]
}

// Transport is how a client of client-go reaches the server, in a bubble of testing/synctest.
func (s *Server) Transport(client int, begin time.Time) http.RoundTripper {
	return transport{s, client, begin}
}

type transport struct {
	server *Server
	client int
	begin  time.Time
}

var verbs = map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch"}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(q *http.Request) (*http.Response, error) {
	// A context may not know yet that its time has come, when something else has happened at this time.
	if deadline, ok := q.Context().Deadline(); ok && !deadline.After(time.Now()) || q.Context().Err() != nil {
		return nil, context.DeadlineExceeded
	}
	body := map[string]any{}
	if q.Body != nil {
		text, err := io.ReadAll(q.Body)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &body); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
	}
	metadata, _ := body["metadata"].(map[string]any)
	versionText, _ := metadata["resourceVersion"].(string)
	version, _ := strconv.ParseInt(versionText, 10, 64)
	verb, key := verbs[q.Method], path.Base(q.URL.Path)
	if verb == "create" {
		key, _ = metadata["name"].(string)
	}
	atNs := int64(time.Since(t.begin))
	received := Request{atNs, t.client, verb, version}
	refused, latencyNs := t.server.receive(received)
	type result struct {
		status int
		reason string
		object
	}
	done := make(chan result, 1)
	go func() { // goes on when the client has given up
		time.Sleep(time.Duration(latencyNs))
		r := result{status: refused}
		if refused == 0 {
			var content any = body
			if verb == "patch" {
				content = func(old any) any { return merged(old.(map[string]any), body) }
			}
			r.status, r.reason, r.object = t.server.serve(verb, key, version, content)
		}
		if t.server.Lost == nil || !t.server.Lost(received) {
			done <- r
		}
	}()
	select {
	case <-q.Context().Done():
		return nil, q.Context().Err()
	case r := <-done:
		return response(q, r.status, r.reason, r.object), nil
	}
}

// merged returns a copy of an object with the members of a merge patch, which are not nested.
func merged(old, patch map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range old {
		out[k] = v
	}
	for k, v := range patch {
		if k != "metadata" {
			out[k] = v
		}
	}
	return out
}

func response(q *http.Request, status int, reason string, o object) *http.Response {
	var answer map[string]any
	if status >= 300 {
		answer = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": status, "message": "refused"}
	} else {
		answer = map[string]any{}
		for k, v := range o.content.(map[string]any) {
			answer[k] = v
		}
		metadata := map[string]any{}
		if m, ok := answer["metadata"].(map[string]any); ok {
			for k, v := range m {
				metadata[k] = v
			}
		}
		metadata["resourceVersion"] = strconv.FormatInt(o.version, 10)
		answer["metadata"] = metadata
	}
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(text))), Request: q}
}

// Serve makes the server answer a client of apfsim. Each request's token is its client's number in the log.
func (s *Server) Serve(c *workloadtest.Client) {
	current := map[int32]*workload.APIRequest{}
	c.Serve = func(nowNs int64, r *workload.APIRequest) {
		current[r.Token] = r
		key, version, content := r.Name, int64(0), any(nil)
		if b := r.Call.Body; b != nil {
			version, content = b.Version.N, b
			if r.Verb == "create" {
				key = b.Name
			}
		}
		received := Request{nowNs, int(r.Token), r.Verb, version}
		refused, latencyNs := s.receive(received)
		answer := func(a *api.Answer) func(int64) {
			return func(nowNs int64) {
				if current[r.Token] == r {
					delete(current, r.Token)
					c.Answer(nowNs, r.Token, a)
				}
			}
		}
		c.At(nowNs+latencyNs, func(atNs int64) {
			a := &api.Answer{Status: refused}
			if refused == 0 {
				var o object
				a.Status, a.Reason, o = s.serve(r.Verb, key, version, content)
				if body, ok := o.content.(*api.Body); ok {
					a.Version = o.version
					a.Object = &api.Object{Name: key, Version: o.version, Fields: body.Fields, Stamp: body.Stamp, DeletionNs: -1}
				}
			}
			if s.Lost == nil || !s.Lost(received) {
				answer(a)(atNs)
			}
		})
		if r.TimeoutNs > 0 {
			c.At(nowNs+r.TimeoutNs, answer(&api.Answer{Failure: api.ClientTimedOut}))
		}
	}
}
