package estimate

import (
	"testing"

	"apfsim/core/classify"
	"pgregory.net/rapid"
)

// A mutation counts the watches of its resource, of its namespace and of its object, as
// they come and go.
func TestWatchersComeAndGo(t *testing.T) {
	w := NewWatchers()
	watch := func(namespace, query string) *Request {
		return request(t, classify.Attributes{Verb: "watch", Resource: "configmaps", Namespace: namespace}, query, w)
	}
	patch := func(namespace, name string) *Request {
		return request(t, classify.Attributes{Verb: "patch", Resource: "configmaps", Namespace: namespace, Name: name}, "", w)
	}
	all, shop, till := watch("", ""), watch("shop", ""), watch("shop", "fieldSelector=metadata.name%3Dtill")
	inShop, inWeb, ofTill := patch("shop", "shelf"), patch("web", "till"), patch("shop", "till")

	expect := func(story string, r *Request, want int) {
		t.Helper()
		if got, ok := r.Watchers(); got != want || !ok {
			t.Errorf("%s: %d are interested, want %d", story, got, want)
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
		if n, ok := request(t, classify.Attributes{Verb: verb, Resource: "configmaps"}, "", w).Watchers(); n != 0 || ok {
			t.Errorf("%d are interested in a %s, which is no mutation", n, verb)
		}
	}
}

// Objects of the cluster have no namespace; a watch of one is found by its name alone.
func TestWatchersOfClusterObjects(t *testing.T) {
	w := NewWatchers()
	kubelet := request(t, classify.Attributes{Verb: "watch", Resource: "nodes"}, "fieldSelector=metadata.name%3Dn1", w)
	controller := request(t, classify.Attributes{Verb: "watch", Resource: "nodes"}, "", w)
	kubelet.WatchStarts()
	controller.WatchStarts()
	for name, want := range map[string]int{"n1": 2, "n2": 1} {
		status := request(t, classify.Attributes{Verb: "patch", Resource: "nodes", Subresource: "status", Name: name}, "", w)
		if got, _ := status.Watchers(); got != want {
			t.Errorf("%s: %d are interested, want %d", name, got, want)
		}
	}
}

// Kubelets watch the pods of their node, which the server finds by an index. Those of
// pods without a node do count, and so do those whose selector it cannot read.
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
		request(t, classify.Attributes{Verb: "watch", Resource: test.resource}, test.query, w).WatchStarts()
		r := request(t, classify.Attributes{Verb: "create", Resource: test.resource, Namespace: "shop"}, "", w)
		if got := r.interested(); got != test.want {
			t.Errorf("watch %s?%s: %d are interested, want %d", test.resource, test.query, got, test.want)
		}
	}
}

// Whatever starts and ends, the count is that of a list of all open watches searched
// from end to end.
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
		of classify.Attributes
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
				sameResource := o.of.APIGroup == m.APIGroup && o.of.Resource == m.Resource
				ofAll := o.of.Namespace == "" && o.of.Name == ""
				ofNamespace := o.of.Namespace != "" && o.of.Namespace == m.Namespace && o.of.Name == ""
				ofObject := o.of.Namespace == m.Namespace && o.of.Name == m.Name && m.Name != ""
				if sameResource && (ofAll || ofNamespace || ofObject) {
					want++
				}
			}
			if got := mutations[key].interested(); got != want {
				t.Fatalf("%s: %d of %d watches are interested, want %d", key, got, len(open), want)
			}
		}
	})
}

// Requests leave nothing behind, but for their resource; nor do watches that have ended.
func TestWatchersDoNotGrow(t *testing.T) {
	w := NewWatchers()
	for i := range 100 {
		name := string(rune('a' + i))
		request(t, classify.Attributes{Verb: "get", Resource: "secrets", Name: name}, "", w)
		request(t, classify.Attributes{Verb: "list", Resource: "secrets", Namespace: name}, "", w)
		request(t, classify.Attributes{Verb: "patch", Resource: "pods", Namespace: name, Name: name}, "", w).Estimate(0)
		watch := request(t, classify.Attributes{Verb: "watch", Resource: "pods", Namespace: name}, "", w)
		watch.WatchStarts()
		watch.WatchEnds()
	}
	if len(w.resources) != 1 || len(w.resources[Resource{"", "pods"}].open) != 0 {
		t.Errorf("%d resources are left, want pods alone, without watches", len(w.resources))
	}
}

func TestWatchPanics(t *testing.T) {
	w := NewWatchers()
	for story, f := range map[string]func(){
		"a list is no watch":                  request(t, classify.Attributes{Verb: "list", Resource: "pods"}, "", w).WatchStarts,
		"a mutation is no watch":              request(t, classify.Attributes{Verb: "patch", Resource: "pods"}, "", w).WatchStarts,
		"what ends has not started":           request(t, classify.Attributes{Verb: "watch", Resource: "pods"}, "", w).WatchEnds,
		"what ends has not started elsewhere": request(t, classify.Attributes{Verb: "watch", Resource: "pods", Namespace: "a"}, "", w).WatchEnds,
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
