package apicalls

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"apfsim/core/request"
	"apfsim/lab/live/apiserver"
	"apfsim/live/guard"
)

// Namespaces are those that the sequences use.
var Namespaces = []string{"a", "b"}

// Arguments are those with which a server is started whose answers are compared: without its own leases, so that
// no other writer changes a resource of the sequences, without defaults for pods that need a service account, without
// compactions, and without counts of objects, for which each cache is brought up to date now and then. A sequence about
// compactions starts the server with an interval of its own.
var Arguments = []string{
	"--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false",
	"--disable-admission-plugins=ServiceAccount",
	"--etcd-compaction-interval=0",
	"--etcd-count-metric-poll-period=0",
}

// LongGap is the time between two calls from which on a sequence waits for the time of the second one. Shorter gaps
// give a simulation time to answer, and a live server needs none.
const LongGap = 5 * time.Second

// Server is a live server for sequences of calls, one after the other.
type Server struct {
	live   *apiserver.Server
	client *http.Client
}

// StartServer starts a server, with further arguments, and prepares it. Stop must be called at the end.
func StartServer(ctx context.Context, b *apiserver.Binaries, arguments ...string) (*Server, error) {
	live, err := apiserver.Start(ctx, b, apiserver.Options{
		MaxRequestsInflight: 400, MaxMutatingRequestsInflight: 200, RequestTimeout: time.Minute,
		Arguments: append(slices.Clone(Arguments), arguments...),
	})
	if err != nil {
		return nil, err
	}
	s := &Server{live: live, client: live.Client(apiserver.Administrator)}
	if err := s.prepare(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Stop ends the server.
func (s *Server) Stop() error {
	s.client.CloseIdleConnections()
	return s.live.Stop()
}

// prepare creates the namespaces and the custom resource.
func (s *Server) prepare(ctx context.Context) error {
	objects := map[string]string{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": widgets}
	for path, body := range objects {
		if err := s.must(ctx, http.MethodPost, path, body); err != nil {
			return err
		}
	}
	for _, name := range Namespaces {
		if err := s.must(ctx, http.MethodPost, "/api/v1/namespaces", fmt.Sprintf(`{"metadata":{"name":%q}}`, name)); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, r := range Resources { // the custom one needs a moment
		for {
			err := s.must(ctx, http.MethodGet, r.Path("", "")+"?resourceVersion=0", "")
			if err == nil {
				break
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				return err
			}
		}
	}
	return nil
}

// must sends a request that has to succeed.
func (s *Server) must(ctx context.Context, method, path, body string) error {
	response, err := s.do(ctx, method, path, "application/json", []byte(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := guard.ReadAll(response.Body, guard.MostAnswer)
	if err == nil && response.StatusCode > 299 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	return err
}

func (s *Server) do(ctx context.Context, method, pathAndQuery, contentType string, body []byte) (*http.Response, error) {
	var reader io.Reader
	if len(body) > 0 {
		reader = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.live.URL+pathAndQuery, reader)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "apicalls/1") // the default manager of fields is the part before the slash
	request.Header.Set("Accept", "application/json")
	if reader != nil {
		request.Header.Set("Content-Type", contentType)
	}
	return s.client.Do(request)
}

// empty deletes all objects of the sequences.
func (s *Server) empty(ctx context.Context) error {
	for _, r := range Resources {
		for _, namespace := range Namespaces {
			response, err := s.do(ctx, http.MethodGet, r.Path(namespace, ""), "", nil)
			if err != nil {
				return err
			}
			var list struct {
				Items []struct{ Metadata objectMeta }
			}
			err = json.NewDecoder(io.LimitReader(response.Body, guard.MostAnswer)).Decode(&list)
			response.Body.Close()
			if err != nil {
				return err
			}
			for _, o := range list.Items {
				path := r.Path(namespace, o.Metadata.Name)
				if err := s.must(ctx, http.MethodDelete, path, `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}`); err != nil {
					return err
				}
				if len(o.Metadata.Finalizers) == 0 {
					continue
				}
				response, err := s.do(ctx, http.MethodPatch, path, mergePatch, []byte(`{"metadata":{"finalizers":null}}`))
				if err != nil {
					return err
				}
				response.Body.Close() // it may be gone
			}
		}
	}
	return nil
}

// patience is how many times as long as in a simulation a watch is read, because a busy machine may send its events
// late. Nothing happens meanwhile.
const patience = 5

// settle is how long a sequence waits before it reads from a watch cache as it is, so that the events of earlier
// writes have reached it.
const settle = 50 * time.Millisecond

func readsCache(c *Call) bool {
	return methods[c.Verb] == http.MethodGet && strings.Contains(c.Query, "resourceVersion=")
}

// The media types of patches.
const (
	mergePatch = "application/merge-patch+json"
	applyPatch = "application/apply-patch+yaml"
)

// objectMeta are the fields of objects, lists and statuses that are read.
type objectMeta struct {
	Name, UID, Continue string
	ResourceVersion     string
	Finalizers          []string
	DeletionTimestamp   string
	Annotations         map[string]string
}

// Sequence is a sequence of calls at a server.
type Sequence struct {
	server  *Server
	known   known
	history *history
	start   int64 // the revision before the first call
	last    int64 // and after the latest

	calls   []Call
	answers []Answer
	after   []int64 // the revision after each call
}

// NewSequence starts a sequence of calls at a server that has no objects of earlier ones. Close must be called.
func (s *Server) NewSequence(ctx context.Context) (*Sequence, error) {
	if err := s.empty(ctx); err != nil {
		return nil, err
	}
	h, err := newHistory(ctx, s.live.EtcdURL)
	if err != nil {
		return nil, err
	}
	start, err := h.revision(ctx)
	if err != nil {
		h.cancel()
		return nil, err
	}
	return &Sequence{server: s, known: known{}, history: h, start: start, last: start}, nil
}

// Close ends the sequence.
func (s *Sequence) Close() { s.history.cancel() }

// Send sends calls at once, waits until all are answered and returns the answers.
func (s *Sequence) Send(ctx context.Context, calls []Call) ([]Answer, error) {
	if n := len(s.calls); n > 0 {
		if gap := time.Duration(calls[0].ArrivalNs - s.calls[n-1].ArrivalNs); gap >= LongGap {
			select {
			case <-time.After(gap):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	if len(s.after) > 0 && readsCache(&calls[0]) {
		time.Sleep(settle)
	}
	answers, failures := make([]Answer, len(calls)), make([]error, len(calls))
	raw := make([]answered, len(calls))
	var wait sync.WaitGroup
	for i := range calls {
		wait.Go(func() { answers[i], raw[i], failures[i] = s.send(ctx, &calls[i]) })
	}
	wait.Wait()
	revision, err := s.history.revision(ctx)
	if err != nil {
		return nil, err
	}
	s.last = revision
	for i := range calls {
		if failures[i] != nil {
			return nil, fmt.Errorf("call %d: %w", calls[i].ID, failures[i])
		}
		s.known[calls[i].ID] = raw[i]
		s.after = append(s.after, revision)
	}
	s.calls, s.answers = append(s.calls, calls...), append(s.answers, answers...)
	return answers, nil
}

// methods are the methods of verbs.
var methods = map[string]string{
	"get": http.MethodGet, "list": http.MethodGet, "watch": http.MethodGet, "create": http.MethodPost, "update": http.MethodPut,
	"patch": http.MethodPatch, "delete": http.MethodDelete, "deletecollection": http.MethodDelete,
}

// send sends one call.
func (s *Sequence) send(ctx context.Context, c *Call) (a Answer, raw answered, err error) {
	a.ID = c.ID
	r, method := resourceOf(c.APIGroup, c.Resource), methods[c.Verb]
	if r == nil || method == "" {
		return a, raw, fmt.Errorf("%s of %s is not supported", c.Verb, c.Resource)
	}
	query := s.known.query(c.Query)
	body, err := r.body(c, s.known)
	if err != nil {
		return a, raw, err
	}
	for name, value := range map[string]string{"dryRun": dryRun(c.DryRun), "fieldManager": c.FieldManager} {
		if value != "" {
			query = request.WithParameter(query, name, value)
		}
	}
	contentType := "application/json"
	if c.Verb == "patch" {
		contentType = mergePatch
		if c.PatchType == "apply" {
			contentType = applyPatch
		}
	}
	path := c.Path
	if query != "" {
		path += "?" + query
	}
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	response, err := s.server.do(ctx, method, path, contentType, body)
	if err != nil {
		return a, raw, err
	}
	defer response.Body.Close()
	a.Status = response.StatusCode
	if c.Verb == "watch" && a.Status == http.StatusOK {
		timer := time.AfterFunc(patience*time.Duration(c.WatchNs), cancel)
		defer timer.Stop()
		a.Events = readEvents(response.Body)
		return a, raw, nil
	}
	text, err := guard.ReadAll(response.Body, guard.MostAnswer)
	if err != nil {
		return a, raw, err
	}
	raw, err = a.read(c, response, text)
	return a, raw, err
}

func dryRun(dry bool) string {
	if dry {
		return "All"
	}
	return ""
}

// read takes an answer from the body of a response.
func (a *Answer) read(c *Call, response *http.Response, text []byte) (raw answered, err error) {
	var body struct {
		Kind, Reason, Message string
		Metadata              objectMeta
		Items                 []json.RawMessage
		Details               struct{ RetryAfterSeconds int64 }
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return raw, fmt.Errorf("%s: %w: %.200s", response.Status, err, text)
	}
	raw.next = url.QueryEscape(body.Metadata.Continue)
	a.Continue = token(body.Metadata.Continue)
	if body.Kind == "Status" {
		a.StatusReason, a.Message = body.Reason, body.Message
		if _, err := fmt.Sscan(response.Header.Get("Retry-After"), &a.RetryAfterSeconds); err != nil {
			a.RetryAfterSeconds = 0
		}
		return raw, nil
	}
	if version := body.Metadata.ResourceVersion; version != "" {
		if _, err := fmt.Sscan(version, &raw.version); err != nil {
			return raw, fmt.Errorf("resourceVersion %q: %w", version, err)
		}
		n := number(raw.version)
		a.ResourceVersion = &n
	}
	raw.uid = body.Metadata.UID
	a.UID = token(raw.uid)
	if strings.HasSuffix(body.Kind, "List") {
		n := int64(len(body.Items))
		a.Items = &n
	}
	return raw, nil
}

// readEvents reads the events of a watch until it ends.
func readEvents(body io.Reader) []Event {
	var events []Event
	for in := json.NewDecoder(body); ; {
		var line struct {
			Type   string
			Object struct {
				Metadata objectMeta
				Code     int
			}
		}
		if in.Decode(&line) != nil { // the watch has ended, here or there
			return events
		}
		e := Event{Type: line.Type, Name: line.Object.Metadata.Name, Status: line.Object.Code}
		if version := line.Object.Metadata.ResourceVersion; version != "" {
			if _, err := fmt.Sscan(version, &e.Version); err != nil {
				return append(events, Event{Type: "invalid resourceVersion " + version})
			}
		}
		events = append(events, e)
	}
}

// Answers returns the answers of all calls so far, with the revisions that they have made. Versions and UIDs are
// those of the server; Relative makes them comparable.
func (s *Sequence) Answers(ctx context.Context) ([]Answer, error) {
	writes, err := s.history.until(ctx, s.last, s.start)
	if err != nil {
		return nil, err
	}
	for _, w := range writes {
		if !ours(w.key) {
			continue
		}
		// The first call after which the store was at this revision; of those sent together the first one that can
		// have written, because etcd does not say which.
		i, _ := slices.BinarySearch(s.after, w.revision)
		if i == len(s.after) {
			return nil, fmt.Errorf("revision %d of %s was made after the last call", w.revision, w.key)
		}
		a := &s.answers[i]
		a.Revisions = append(a.Revisions, w.revision)
	}
	for i := range s.answers {
		s.answers[i].Wrote = len(s.answers[i].Revisions) > 0
	}
	return s.answers, nil
}

// ours says whether a key of etcd is that of an object of the sequences.
func ours(key string) bool {
	for _, n := range Namespaces {
		if strings.Contains(key, "/"+n+"/") {
			return true
		}
	}
	return false
}
