package conformance

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"apfsim/core/estimate"
	"apfsim/core/request"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/registry"
	"apfsim/sim/store"
)

// query returns the query of a list or a watch, valid or not.
func (c classification) query() string {
	q := url.Values{}
	sometimes := func(name string, values ...string) {
		if c.IntN(4) == 0 {
			q.Set(name, c.one(values...))
		}
	}
	sometimes("watch", "true", "1", "", "0", "FALSE", "yes")
	sometimes("limit", "0", "1", "2", "500", "-1", "many", "", " 1", "1.0", "9223372036854775808")
	sometimes("resourceVersion", "", "0", "00", "1", "3", "abc", "-1", "99999999999999999999")
	sometimes("resourceVersionMatch", "", "Exact", "NotOlderThan", "notolderthan", "Latest")
	sometimes("continue", "", "token")
	sometimes("sendInitialEvents", "true", "false", "0", "1", "", "no")
	sometimes("allowWatchBookmarks", "true", "false", "", "x")
	sometimes("timeoutSeconds", "0", "1", "300", "", "1s")
	if c.IntN(3) == 0 {
		q.Set("labelSelector", c.selector())
	}
	if c.IntN(3) == 0 {
		q.Set("fieldSelector", c.selector())
	}
	return q.Encode()
}

// decoded is what upstream's handler of lists and watches reads in a query, and the status of its answer if it
// refuses it before it looks at what is stored, 0 if it does not (endpoints/handlers/get.go, listOpts).
func decoded(t *testing.T, query string) (o internalversion.ListOptions, status int) {
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	if err := scheme.ParameterCodec.DecodeParameters(values, metav1.SchemeGroupVersion, &o); err != nil {
		return o, 400
	}
	defaulted := *o.DeepCopy()
	internalversion.SetListOptionsDefaults(&defaulted, true)
	if len(validation.ValidateListOptions(&defaulted, true)) > 0 {
		return o, 422
	}
	return o, 0
}

// Random queries are read as upstream reads them, and the URL, the estimate and the registry all follow from
// what is read: the attributes, the seats, the status of the answer and the objects in it.
func TestGrammar(t *testing.T) {
	const requests = 100_000
	random := classification{newRandom(13)}
	stored := newStored(t)
	e := newEstimates(t)
	e.known, e.stats = true, estimate.Stats{Objects: 70_000, AverageBytes: 3000}
	statuses := map[int]int{}
	listed := 0
	for range requests {
		query := random.query()
		info, ok := readAlike(t, "GET", "/api/v1/pods", query)
		if !ok {
			t.Fatalf("?%s is not read", query)
		}
		theirs, refused := decoded(t, query)
		ours, err := request.ParseOptions(info.Verb, query)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ours.Selector(); (ours.Malformed != "" || err != nil) != (refused == 400) {
			t.Fatalf("?%s: ours %q, %v; upstream answers %d", query, ours.Malformed, err, refused)
		}
		if refused != 400 {
			if got, want := shownOptions(&ours), shownTheirs(&theirs); got != want {
				t.Fatalf("?%s:\nours       %s\nupstream's %s", query, got, want)
			}
		}
		e.check(&record{Verb: info.Verb, Resource: "pods", Query: query})

		status, names := stored.ask(info.Verb, &ours)
		statuses[status]++
		if refused != 0 && status != refused {
			t.Fatalf("%s ?%s: the registry answers %d, upstream %d", info.Verb, query, status, refused)
		}
		if refused == 0 && status == 422 {
			t.Fatalf("%s ?%s: the registry answers 422, upstream reads %s", info.Verb, query, shownTheirs(&theirs))
		}
		if refused != 0 || info.Verb != "list" || theirs.Continue != "" || theirs.Limit > 0 || theirs.ResourceVersion != "" && theirs.ResourceVersion != "0" {
			continue
		}
		listed++
		if want := stored.selected(&theirs); status != 200 || strings.Join(names, " ") != strings.Join(want, " ") {
			t.Fatalf("?%s: the registry answers %d with %v, want 200 with %v", query, status, names, want)
		}
	}
	t.Logf("%d requests, %d estimates, answers by status %v, %d lists compared by their objects", requests, e.compare, statuses, listed)
	if statuses[200] < requests/10 || statuses[400] < requests/10 || statuses[422] < requests/50 || listed < requests/20 {
		t.Error("too few of some kind to compare")
	}
}

// shownOptions and shownTheirs show what both have of the options of a list or a watch.
func shownOptions(o *request.Options) string {
	match := [...]string{request.NotOlderThan: "NotOlderThan", request.Exact: "Exact", request.UnknownMatch: o.MatchWord}[o.Match]
	return fmt.Sprintf("version %q match %q limit %d continue %q initial %t %t bookmarks %t timeout %d",
		o.Version.String(), match, o.Limit, o.Continue, o.SendInitialEventsGiven, o.SendInitialEvents, o.Bookmarks, o.TimeoutSeconds)
}

func shownTheirs(o *internalversion.ListOptions) string {
	var timeout int64
	if o.TimeoutSeconds != nil {
		timeout = *o.TimeoutSeconds
	}
	return fmt.Sprintf("version %q match %q limit %d continue %q initial %t %t bookmarks %t timeout %d", o.ResourceVersion, o.ResourceVersionMatch,
		o.Limit, o.Continue, o.SendInitialEvents != nil, o.SendInitialEvents != nil && *o.SendInitialEvents, o.AllowWatchBookmarks, timeout)
}

// stored is the registry of a server with some pods.
type stored struct {
	registry *registry.Registry
	queue    clock.Queue[int32]
	alarms   *clock.Alarms
	pods     []map[string]string // by field
	answers  []api.Answer
}

func newStored(t *testing.T) *stored {
	s := &stored{}
	s.alarms = clock.NewAlarms(func(atNs int64, slot int32) clock.Handle { return s.queue.Schedule(atNs, 0, slot) }, s.queue.Cancel)
	data := store.New(s.alarms, store.Settings{}, 1, nil)
	settings := registry.Settings{Rules: rules.Default(), MinRequestTimeoutNs: 1800e9, Seed: 1}
	document.SetDefaults(&settings.Costs)
	s.registry = registry.New(s.alarms, data, s, settings)
	s.registry.Open()
	s.registry.Fill(0, api.Resource{Name: "pods"}, 0)
	for i, label := range []string{"", "a", "b", "1", "3", "7", "x", "in", "-"} {
		p := map[string]string{"metadata.name": fmt.Sprint("p", i), "metadata.namespace": "ns", "spec.nodeName": []string{"", "a", "b"}[i%3]}
		if label != "-" {
			p["metadata.labels.a"] = label
		}
		if i%2 == 0 {
			p["metadata.labels.x.y/a"] = "1"
		}
		if i == 5 {
			p["metadata.name"] = "a"
		}
		s.pods = append(s.pods, p)
		if status, _ := s.send("create", p["metadata.name"], &api.Call{Body: &api.Body{Name: p["metadata.name"], Fields: contents(p)}}); status != 201 {
			t.Fatalf("the pod %v is answered %d", p, status)
		}
	}
	return s
}

// contents returns the fields of a pod without its name and namespace.
func contents(pod map[string]string) map[string]string {
	all := map[string]string{}
	for name, value := range pod {
		if name != "metadata.name" && name != "metadata.namespace" {
			all[name] = value
		}
	}
	return all
}

// ask sends a list or a watch of all namespaces, and returns the status of the answer and the names of the objects.
func (s *stored) ask(verb string, o *request.Options) (status int, names []string) {
	status, objects := s.send(verb, "", &api.Call{Options: *o})
	for _, object := range objects {
		names = append(names, object.Name)
	}
	return status, names
}

func (s *stored) send(verb, name string, call *api.Call) (status int, objects []*api.Object) {
	op := s.registry.NewOperation()
	op.Verb, op.Resource, op.Call, op.Request = verb, api.Resource{Name: "pods"}, call, nil
	if verb == "create" {
		op.Namespace, op.Name = "ns", name
	}
	s.answers = nil
	s.registry.Begin(s.queue.NowNs(), op)
	for len(s.answers) == 0 {
		slot, ok := s.queue.Next()
		if !ok {
			return 0, nil
		}
		s.alarms.Ring(s.queue.NowNs(), slot)
	}
	return s.answers[0].Status, s.answers[0].Objects
}

// selected returns the names of the pods that upstream's selectors match, in their order.
func (s *stored) selected(o *internalversion.ListOptions) (names []string) {
	for _, p := range s.pods {
		byLabel := labels.Set{}
		for field, value := range p {
			if label, ok := strings.CutPrefix(field, "metadata.labels."); ok {
				byLabel[label] = value
			}
		}
		if (o.LabelSelector == nil || o.LabelSelector.Matches(byLabel)) && (o.FieldSelector == nil || o.FieldSelector.Matches(fields.Set(p))) {
			names = append(names, p["metadata.name"])
		}
	}
	slices.Sort(names)
	return names
}

// worked resumes an operation whose CPU time has been served.
type worked struct{ op *registry.Operation }

func (w worked) Ring(nowNs int64) { w.op.Served(nowNs) }

// Serve implements registry.Host, for a machine that executes nothing else.
func (s *stored) Serve(nowNs int64, op *registry.Operation, demandNs int64) {
	s.alarms.Set(nowNs+demandNs, worked{op})
}

// ServeBehind implements registry.Host, for a machine with cores to spare.
func (s *stored) ServeBehind(int64, int64) {}

// Send implements registry.Host, for a network without a bound.
func (s *stored) Send(int64, *registry.Operation, int64) bool { return false }

// Done implements registry.Host. Nobody stays for a watch.
func (s *stored) Done(_ int64, op *registry.Operation) bool {
	s.answers = append(s.answers, op.Answer)
	return false
}

func (s *stored) Received(int64, *registry.Operation, *api.Event) {}
func (s *stored) Counted(int64, *registry.Operation, int64)       {}
func (s *stored) Ended(int64, *registry.Operation)                {}
func (s *stored) Known(api.Resource, estimate.Stats)              {}
func (s *stored) Dispatched(int64, *api.Event, int, int64)        {}
