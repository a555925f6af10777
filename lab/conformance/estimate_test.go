package conformance

import (
	"net/url"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"
	upstreamcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
	workestimate "k8s.io/apiserver/pkg/util/flowcontrol/request"

	"apfsim/core/estimate"
	"apfsim/core/rules"
	"apfsim/lab/conformance/upstream"
)

// estimates compares one request's estimates under every cap.
type estimates struct {
	t       *testing.T
	stats   estimate.Stats
	known   bool
	cap     int
	count   int // watchers of a mutation
	work    workestimate.WorkEstimatorFunc
	compare int
}

func newEstimates(t *testing.T) *estimates {
	e := &estimates{t: t}
	e.work = workestimate.NewWorkEstimator(func(string) (storage.Stats, error) {
		switch {
		case !e.known:
			return storage.Stats{}, workestimate.ObjectCountNotFoundErr
		case e.stats.Stale:
			return storage.Stats{}, workestimate.ObjectCountStaleErr
		}
		return storage.Stats{ObjectCount: e.stats.Objects, EstimatedAverageObjectSizeBytes: e.stats.AverageBytes}, nil
	}, func(*request.RequestInfo) int { return e.count }, workestimate.DefaultWorkEstimatorConfig(),
		func(string) uint64 { return uint64(e.cap) })
	return e
}

func (e *estimates) check(r *record) {
	httpRequest, err := upstream.NewRequest(r)
	if err != nil {
		e.t.Fatal(err)
	}
	store := estimate.Store{}
	if e.known {
		store[estimate.Resource{Group: r.APIGroup, Name: r.Resource}] = e.stats
	}
	a := r.Attributes()
	estimator := estimate.NewEstimator(rules.Default(), store)
	if e.count > 0 {
		all := a
		all.Verb, all.Name, all.Namespace, all.Subresource = "watch", "", "", ""
		w, err := estimator.NewRequest(&all, "")
		if err != nil {
			e.t.Fatal(err)
		}
		for range e.count {
			w.WatchStarts()
		}
	}
	ours, err := estimator.NewRequest(&a, r.Query)
	if err != nil {
		e.t.Fatal(err)
	}
	for _, e.cap = range []int{0, 1, 2, 7, 10, 11, 15, 99, 100, 101, 5000} {
		e.compare++
		got, want := ours.Estimate(e.cap), e.work(httpRequest, "", "")
		if got.InitialSeats != int(want.InitialSeats) || got.FinalSeats != int(want.FinalSeats) || got.AdditionalLatencyNs != int64(want.AdditionalLatency) {
			e.t.Fatalf("%s %s?%s with %+v (known: %v), %d watchers, at most %d seats: ours %+v, upstream's %+v",
				r.Verb, a.Path, r.Query, e.stats, e.known, e.count, e.cap, got, want)
		}
	}
}

// Lists and watches: every combination of what their estimate depends on.
func TestListEstimates(t *testing.T) {
	e := newEstimates(t)
	stats := []estimate.Stats{{Stale: true}}
	for _, objects := range []int64{0, 1, 2, 99, 1000, 150_000, 5e9} {
		for _, bytes := range []int64{0, 1, 99_999, 1_500_000} {
			stats = append(stats, estimate.Stats{Objects: objects, AverageBytes: bytes})
		}
	}
	set := func(q url.Values, name, value string) {
		if value != "-" {
			q.Set(name, value)
		}
	}
	for _, verb := range []string{"list", "watch"} {
		for _, limit := range []string{"-", "0", "1", "500", "-3", "many"} {
			for _, version := range []string{"-", "", "0", "00", "17"} {
				for _, match := range []string{"-", "", "Exact", "NotOlderThan", "Other"} {
					for _, token := range []string{"-", "token"} {
						for _, selector := range []string{"-", "app=a", "?"} {
							for _, fields := range []string{"-", "metadata.name=x", "metadata.name!=x", "spec.nodeName="} {
								for _, initial := range []string{"-", "true", "false", "0", ""} {
									if verb == "list" && initial != "-" {
										continue
									}
									q := url.Values{}
									set(q, "limit", limit)
									set(q, "resourceVersion", version)
									set(q, "resourceVersionMatch", match)
									set(q, "continue", token)
									set(q, "labelSelector", selector)
									set(q, "fieldSelector", fields)
									set(q, "sendInitialEvents", initial)
									if verb == "watch" {
										q.Set("watch", "1")
									}
									r := &record{Verb: verb, Resource: "pods", Query: q.Encode()}
									// One of the statistics a query, in turn, and all for a list of everything.
									e.known = e.compare%5 > 0
									e.stats = stats[e.compare/11%len(stats)]
									e.check(r)
								}
							}
						}
					}
				}
			}
		}
		for _, e.stats = range stats {
			for _, limit := range []string{"-", "0", "1", "2", "500", "100000"} {
				for _, version := range []string{"-", "0", "17"} {
					for _, selector := range []string{"-", "app=a"} {
						for _, e.known = range []bool{true, false} {
							q := url.Values{}
							set(q, "limit", limit)
							set(q, "resourceVersion", version)
							set(q, "labelSelector", selector)
							if verb == "watch" {
								q.Set("watch", "true")
							}
							e.check(&record{Verb: verb, APIGroup: "example.com", Resource: "widgets", Namespace: "a", Query: q.Encode()})
						}
					}
				}
			}
		}
	}
	t.Logf("%d estimates", e.compare)
}

// Mutations by the number of watchers, and all that takes one seat.
func TestMutationEstimates(t *testing.T) {
	e := newEstimates(t)
	for _, r := range []record{
		{Verb: "create", Resource: "pods", Namespace: "a"},
		{Verb: "update", Resource: "pods", Namespace: "a", Name: "x"},
		{Verb: "patch", Resource: "nodes", Name: "x", Subresource: "status"},
		{Verb: "delete", APIGroup: "example.com", Resource: "widgets", Name: "x"},
		{Verb: "deletecollection", Resource: "pods", Namespace: "a"},
		{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: "a", Name: "x"},
		{Verb: "create", Resource: "serviceaccounts", Namespace: "a"},
		{Verb: "get", Resource: "pods", Namespace: "a", Name: "x"},
		{Verb: "get", Path: "/healthz"},
	} {
		for e.count = range 1200 {
			e.check(&r)
		}
	}
	t.Logf("%d estimates", e.compare)
}

// The count of the watchers interested in a mutation, as watches come and go.
func TestWatchers(t *testing.T) {
	theirs := upstreamcontrol.NewWatchTracker()
	estimator := estimate.NewEstimator(rules.Default(), estimate.Store{})
	type open struct {
		ours   *estimate.Request
		forget upstreamcontrol.ForgetWatchFunc
	}
	var watches []open
	namespaces, names := []string{"", "a", "b"}, []string{"", "x", "y"}
	queries := []string{"", "&fieldSelector=metadata.name%3Dx", "&fieldSelector=spec.nodeName%3Dn", "&fieldSelector=spec.nodeName%3D",
		"&fieldSelector=metadata.name%3Dx%2Cspec.nodeName%3Dn", "&fieldSelector=spec.nodeName!%3Dn", "&fieldSelector=%3D%3D%3D", "&limit=many&fieldSelector=spec.nodeName%3Dn", "&fieldSelector=metadata.name%3Da%2Fb",
		"&labelSelector=%3F&fieldSelector=spec.nodeName%3Dn"}
	random := newRandom(4)
	for range 20_000 {
		resource := []string{"pods", "configmaps"}[random.IntN(2)]
		if len(watches) > 150 || len(watches) > 0 && random.IntN(3) == 0 {
			i := random.IntN(len(watches))
			watches[i].ours.WatchEnds()
			watches[i].forget()
			watches[i] = watches[len(watches)-1]
			watches = watches[:len(watches)-1]
		}
		w := &record{Verb: "watch", Resource: resource, Namespace: namespaces[random.IntN(3)], Query: "watch=true" + queries[random.IntN(len(queries))]}
		a := w.Attributes()
		ours, err := estimator.NewRequest(&a, w.Query)
		if err != nil {
			t.Fatal(err)
		}
		r, err := upstream.NewRequest(w)
		if err != nil {
			t.Fatal(err)
		}
		ours.WatchStarts()
		watches = append(watches, open{ours, theirs.RegisterWatch(r)})

		m := &record{Verb: "update", Resource: resource, Namespace: namespaces[random.IntN(3)], Name: names[1+random.IntN(2)]}
		if random.IntN(3) == 0 {
			m.Verb, m.Name = "create", ""
		}
		a = m.Attributes()
		mutation, err := estimator.NewRequest(&a, "")
		if err != nil {
			t.Fatal(err)
		}
		if r, err = upstream.NewRequest(m); err != nil {
			t.Fatal(err)
		}
		info, _ := request.RequestInfoFrom(r.Context())
		count := theirs.GetInterestedWatchCount(info)
		work := mutation.Estimate(0)
		want := 0 // ten watchers a seat, and none below ten
		if count >= 10 {
			want = min(10, (count+9)/10)
		}
		if work.FinalSeats != want {
			t.Fatalf("%+v: ours takes %d seats in the end, upstream counts %d watchers", m, work.FinalSeats, count)
		}
	}
}
