package estimate

import (
	"testing"

	"apfsim/core/classify"
	"pgregory.net/rapid"
)

// A mutation counts the watches of its resource, of its namespace and of its object while they
// are open.
func TestWatchersOpenAndClose(t *testing.T) {
	w := NewWatchers()
	watch := func(namespace, query string) *Request {
		return requestOf(t, classify.Attributes{Verb: "watch", Resource: "configmaps", Namespace: namespace}, query, w)
	}
	patch := func(namespace, name string) *Request {
		return requestOf(t, classify.Attributes{Verb: "patch", Resource: "configmaps", Namespace: namespace, Name: name}, "", w)
	}
	all, shop, till := watch("", ""), watch("shop", ""), watch("shop", "fieldSelector=metadata.name%3Dtill")
	inShop, inWeb, ofTill := patch("shop", "shelf"), patch("web", "till"), patch("shop", "till")

	expect := func(story string, r *Request, want int) {
		t.Helper()
		if got, ok := r.Watchers(); got != want || !ok {
			t.Errorf("%s: %d watchers, want %d", story, got, want)
		}
	}
	expect("before anybody watches", ofTill, 0)
	till.WatchStarts()
	till.WatchStarts()
	expect("the object that is watched twice", ofTill, 2)
	expect("its neighbour", inShop, 0)
	expect("its namesake", inWeb, 0)
	shop.WatchStarts()
	expect("the object, of the namespace too", ofTill, 3)
	expect("the neighbour, of the namespace", inShop, 1)
	all.WatchStarts()
	expect("the object, of all too", ofTill, 4)
	expect("the namesake, of all", inWeb, 1)
	expect("a creation, which has no name yet", patch("shop", ""), 2)
	till.WatchEnds()
	expect("after one of the two has ended", ofTill, 3)
	all.WatchEnds()
	shop.WatchEnds()
	expect("only the one is left", ofTill, 1)
	till.WatchEnds()
	expect("after all have ended", ofTill, 0)
	for _, verb := range []string{"get", "list", "watch", "deletecollection"} {
		if n, ok := requestOf(t, classify.Attributes{Verb: verb, Resource: "configmaps"}, "", w).Watchers(); n != 0 || ok {
			t.Errorf("a %s has %d watchers; want none, because it is not a mutation", verb, n)
		}
	}
}

// Cluster-scoped objects have no namespace, so that a watch of one is found by its name alone.
func TestWatchersOfClusterObjects(t *testing.T) {
	w := NewWatchers()
	kubelet := requestOf(t, classify.Attributes{Verb: "watch", Resource: "nodes"}, "fieldSelector=metadata.name%3Dn1", w)
	controller := requestOf(t, classify.Attributes{Verb: "watch", Resource: "nodes"}, "", w)
	kubelet.WatchStarts()
	controller.WatchStarts()
	for name, want := range map[string]int{"n1": 2, "n2": 1} {
		status := requestOf(t, classify.Attributes{Verb: "patch", Resource: "nodes", Subresource: "status", Name: name}, "", w)
		if got, _ := status.Watchers(); got != want {
			t.Errorf("%s: %d watchers, want %d", name, got, want)
		}
	}
}

// Watches of the pods of one node, as kubelets have them, do not count, because the server finds
// them by an index. Watches of pods without a node count, and so do watches whose options the
// server cannot decode.
func TestWatchesOfANodesPods(t *testing.T) {
	for _, test := range []struct {
		resource, query string
		want            int
	}{
		{"pods", "", 1},
		{"pods", "fieldSelector=spec.nodeName%3Dn1", 0},
		{"pods", "fieldSelector=spec.nodeName%3Dn1,status.phase%3DRunning", 0},
		{"pods", "fieldSelector=spec.nodeName%3D", 1},
		{"pods", "fieldSelector=spec.nodeName!%3Dn1", 1},
		{"pods", "fieldSelector=status.phase%3DRunning", 1},
		{"pods", "fieldSelector=spec.nodeName%3Dn1&labelSelector=%3D", 1},
		{"pods", "fieldSelector=spec.nodeName%3Dn1&limit=x", 1},
		{"replicasets", "fieldSelector=spec.nodeName%3Dn1", 1},
	} {
		w := NewWatchers()
		requestOf(t, classify.Attributes{Verb: "watch", Resource: test.resource}, test.query, w).WatchStarts()
		r := requestOf(t, classify.Attributes{Verb: "create", Resource: test.resource, Namespace: "shop"}, "", w)
		if got := r.interested(); got != test.want {
			t.Errorf("watch %s?%s: %d watchers, want %d", test.resource, test.query, got, test.want)
		}
	}
}

// After random starts and ends, the count equals that of a linear search in a list of all open
// watches.
func TestInterestedMatchesSlowCount(t *testing.T) {
	drawScope := rapid.Custom(func(t *rapid.T) classify.Attributes {
		return classify.Attributes{
			APIGroup:  rapid.SampledFrom([]string{"", "apps"}).Draw(t, "group"),
			Resource:  rapid.SampledFrom([]string{"a", "b"}).Draw(t, "resource"),
			Namespace: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "namespace"),
			Name:      rapid.SampledFrom([]string{"", "m", "n"}).Draw(t, "name"),
		}
	})
	type watch struct {
		*Request
		attributes classify.Attributes
	}
	rapid.Check(t, func(t *rapid.T) {
		w := NewWatchers()
		var open []watch
		mutations := map[string]*Request{}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			a := drawScope.Draw(t, "for")
			switch {
			case rapid.Bool().Draw(t, "start"):
				a.Verb = "watch"
				r, _ := estimator(nil, w).NewRequest(&a, "")
				r.WatchStarts()
				open = append(open, watch{r, a})
			case len(open) > 0:
				i := rapid.IntRange(0, len(open)-1).Draw(t, "end")
				open[i].WatchEnds()
				open = append(open[:i], open[i+1:]...)
			}
			m := drawScope.Draw(t, "mutation of")
			m.Verb = "update"
			key := m.APIGroup + "/" + m.Resource + "/" + m.Namespace + "/" + m.Name
			if mutations[key] == nil {
				mutations[key], _ = estimator(nil, w).NewRequest(&m, "")
			}
			want := 0
			for _, o := range open {
				watched := &o.attributes
				sameResource := watched.APIGroup == m.APIGroup && watched.Resource == m.Resource
				ofAll := watched.Namespace == "" && watched.Name == ""
				ofNamespace := watched.Namespace != "" && watched.Namespace == m.Namespace && watched.Name == ""
				ofObject := watched.Namespace == m.Namespace && watched.Name == m.Name && m.Name != ""
				if sameResource && (ofAll || ofNamespace || ofObject) {
					want++
				}
			}
			if got := mutations[key].interested(); got != want {
				t.Fatalf("%s: %d of %d watches count, want %d", key, got, len(open), want)
			}
		}
	})
}

// Requests and ended watches do not make Watchers grow, except for an entry for each mutated or
// watched resource.
func TestWatchersDoNotGrow(t *testing.T) {
	w := NewWatchers()
	for i := range 100 {
		name := string(rune('a' + i))
		requestOf(t, classify.Attributes{Verb: "get", Resource: "secrets", Name: name}, "", w)
		requestOf(t, classify.Attributes{Verb: "list", Resource: "secrets", Namespace: name}, "", w)
		requestOf(t, classify.Attributes{Verb: "patch", Resource: "pods", Namespace: name, Name: name}, "", w).Estimate(0)
		watch := requestOf(t, classify.Attributes{Verb: "watch", Resource: "pods", Namespace: name}, "", w)
		watch.WatchStarts()
		watch.WatchEnds()
	}
	if len(w.resources) != 1 || len(w.resources[Resource{"", "pods"}].open) != 0 {
		t.Errorf("there are %d resources; want pods alone, without open watches", len(w.resources))
	}
}

func TestWatchPanics(t *testing.T) {
	w := NewWatchers()
	for story, f := range map[string]func(){
		"a list is not a watch":                       requestOf(t, classify.Attributes{Verb: "list", Resource: "pods"}, "", w).WatchStarts,
		"a mutation is not a watch":                   requestOf(t, classify.Attributes{Verb: "patch", Resource: "pods"}, "", w).WatchStarts,
		"the watch has not started":                   requestOf(t, classify.Attributes{Verb: "watch", Resource: "pods"}, "", w).WatchEnds,
		"the watch has not started in this namespace": requestOf(t, classify.Attributes{Verb: "watch", Resource: "pods", Namespace: "a"}, "", w).WatchEnds,
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", story)
				}
			}()
			f()
		}()
	}
}
