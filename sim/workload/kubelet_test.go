package workload_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/sim/api"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/workload"
)

func aKubelet() *workload.Kubelet {
	return &workload.Kubelet{Start: workload.List, NotReady: quantity.Duration(50 * time.Second)}
}

// newNode returns a server that also serves lists and watches; a watch gets an event delayNs after it was
// written. Without jitter the kubelet begins at 0.
func newNode(delayNs int64) *server {
	s := newServer()
	s.NoJitter = true
	type open struct {
		*workload.APIRequest
		*api.Selector
	}
	var watches []open
	s.watches = func(nowNs int64, r *workload.APIRequest) {
		if r.Verb == "list" {
			s.Answer(nowNs, r.Token, &api.Answer{Status: 200, Version: s.version})
			return
		}
		match, err := api.ParseSelector("", r.Call.Options.FieldSelector)
		if err != nil {
			panic(err)
		}
		watches = append(watches, open{r, match})
	}
	s.committed = func(nowNs int64, t api.EventType, before, o *api.Object) {
		for _, w := range watches {
			if s.current[w.Token] == w.APIRequest && w.Resource == "pods" && w.Matches(o) {
				t := t
				if t == api.Modified && !w.Matches(before) {
					t = api.Added
				}
				s.Event(nowNs+delayNs, w.Token, &api.Event{Type: t, Version: s.version, Object: o, AtNs: nowNs})
			}
		}
	}
	return s
}

// sent returns the requests for some resources in a period, one a line.
func (s *server) sent(fromNs, toNs int64, resources ...string) string {
	var lines []string
	for _, q := range s.Sent {
		if q.AtNs >= fromNs && q.AtNs < toNs && slices.Contains(resources, q.Resource) && q.Verb != "list" && q.Verb != "watch" {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%v %s %s/%s", time.Duration(q.AtNs), q.Verb, q.Name, q.Subresource)))
		}
	}
	return strings.Join(lines, "\n")
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got = strings.TrimSpace(got); got != strings.TrimSpace(want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, got, strings.TrimSpace(want))
	}
}

// A kubelet renews its lease from memory every 10 s × [1, 1.04), here without the chance, after it has created it;
// none of these requests passes its rate limiter, and each has a time-out of 10 s.
func TestLease(t *testing.T) {
	s := newNode(0)
	s.Run(aKubelet().Machine(s.Client), 31*second)
	same(t, "lease", s.sent(0, 100*second, "leases"), `
0s get node-1/
10ms create /
10.02s update node-1/
20.03s update node-1/
30.04s update node-1/`)
	for _, q := range s.Sent {
		if q.Resource == "leases" && (!q.Unlimited || q.TimeoutNs != 10*second || q.Namespace != "kube-node-lease") {
			t.Errorf("sent %v, unlimited %v, with time-out %v", q, q.Unlimited, time.Duration(q.TimeoutNs))
		}
	}
}

// A lease that somebody else has written is read, and written from that. PUTs that fail are repeated at once, five
// in all; then the lease is read until that succeeds.
func TestLeaseFails(t *testing.T) {
	s := newNode(0)
	s.fails = func(nowNs int64, r *workload.APIRequest) *api.Answer {
		if r.Resource == "leases" && nowNs > 15*second && nowNs < 22*second {
			return &api.Answer{Status: 503}
		}
		return nil
	}
	s.At(5*second, func(nowNs int64) {
		key := "leases/kube-node-lease/node-1"
		s.put(nowNs, key, s.objects[key], *s.objects[key])
	})
	s.Run(aKubelet().Machine(s.Client), 30*second)
	same(t, "lease", s.sent(second, 100*second, "leases"), `
10.02s update node-1/
10.03s get node-1/
10.04s update node-1/
20.05s update node-1/
20.06s update node-1/
20.07s update node-1/
20.08s update node-1/
20.09s update node-1/
20.1s get node-1/
20.31s get node-1/
20.72s get node-1/
21.53s get node-1/
23.14s get node-1/
23.15s update node-1/`)
}

// The node is registered, and its status reported at once. If nothing changes, the next report is 5 min × [0.5, 1.5)
// later, here without the chance, and the others at the first look after another 5 min.
func TestNodeStatus(t *testing.T) {
	s := newNode(0)
	s.Run(aKubelet().Machine(s.Client), 500*second)
	same(t, "node", s.sent(0, 500*second, "nodes"), `
100ms get node-1/
110ms create /
120ms patch node-1/status
2m30.13s patch node-1/status
7m30.14s patch node-1/status`)
}

// A report that fails is tried again at once, with a GET before: five tries.
func TestNodeStatusFails(t *testing.T) {
	s := newNode(0)
	s.fails = func(nowNs int64, r *workload.APIRequest) *api.Answer {
		if r.Verb == "patch" && nowNs < 5*second {
			return &api.Answer{Status: 500}
		}
		return nil
	}
	s.Run(aKubelet().Machine(s.Client), 20*second)
	same(t, "node", s.sent(0, 500*second, "nodes"), `
100ms get node-1/
110ms create /
120ms patch node-1/status
130ms get node-1/
140ms patch node-1/status
150ms get node-1/
160ms patch node-1/status
170ms get node-1/
180ms patch node-1/status
190ms get node-1/
200ms patch node-1/status
10.21s patch node-1/status`)
}

// From 101 s on nothing is answered well. The last lease was written at 100.12 s, which the look at 105 s finds; at
// 155 s the node is not ready. It is ready again with its first report.
func TestNotReady(t *testing.T) {
	s := newNode(0)
	s.fails = func(nowNs int64, r *workload.APIRequest) *api.Answer {
		if nowNs > 101*second && nowNs < 200*second {
			return &api.Answer{Status: 429}
		}
		return nil
	}
	s.Run(aKubelet().Machine(s.Client), 500*second)
	notes := s.notes(metric.NodeNotReady, metric.NodeReady)
	if len(notes) != 2 || notes[0] != "2m35s NodeNotReady node-1 54.88s" {
		t.Fatalf("notes %q", notes)
	}
	for _, n := range s.Noted {
		if n.Event == metric.NodeReady {
			within(t, "ready again", n.AtNs, 200*second, 211*second)
			if n.Ns != n.AtNs-155*second {
				t.Errorf("it was not ready for %v", time.Duration(n.Ns))
			}
		}
	}
}

// Failures that last less than notReadyAfter leave the node ready.
func TestStaysReady(t *testing.T) {
	s := newNode(0)
	s.fails = func(nowNs int64, r *workload.APIRequest) *api.Answer {
		if nowNs > 101*second && nowNs < 145*second {
			return &api.Answer{Status: 429}
		}
		return nil
	}
	s.Run(aKubelet().Machine(s.Client), 500*second)
	if notes := s.notes(metric.NodeNotReady); len(notes) > 0 {
		t.Errorf("notes %q", notes)
	}
}

// churning returns a kubelet with pods of which one ends in 10 s on average.
func churning(pods int) *workload.Kubelet {
	k := aKubelet()
	k.Pods, k.Churn = pods, 0.1
	return k
}

// A pod that ends is reported, deleted and replaced, and the new one is reported when the watch has delivered it,
// here 100 ms after it was written.
func TestPodEnds(t *testing.T) {
	s := newNode(100 * millisecond)
	s.NoJitter = false
	s.put(0, "pods/default/node-1-0", nil, api.Object{Namespace: "default", Name: "node-1-0", DeletionNs: -1})
	s.Run(churning(1).Machine(s.Client), 100*second)
	var first int64
	for _, q := range s.Sent {
		if q.Resource == "pods" && q.Verb == "patch" {
			first = q.AtNs
			break
		}
	}
	if first == 0 {
		t.Fatal("no pod has ended")
	}
	var got []string
	for _, q := range s.Sent {
		if q.Resource == "pods" && q.Verb != "list" && q.Verb != "watch" && q.AtNs < first+200*millisecond {
			got = append(got, fmt.Sprintf("%v %s %s/%s", time.Duration(q.AtNs-first), q.Verb, q.Name, q.Subresource))
		}
	}
	// The watch delivers the new pod 100 ms after its POST, which ends at 50 ms.
	same(t, "pods", strings.Join(got, "\n"), `
0s patch node-1-0/
10ms get node-1-0/
20ms patch node-1-0/status
30ms delete node-1-0/
40ms create /
150ms get node-1-1/
160ms patch node-1-1/status`)
	for _, note := range s.notes(metric.PodSeen) {
		if !strings.HasSuffix(note, " node-1 100ms") {
			t.Errorf("note %q, want 100ms", note)
		}
	}
	if n := s.Count(metric.PodSeen); n < 2 {
		t.Errorf("%d changes of pods were seen, want that of each deletion and creation", n)
	}
}

// However many pods end, and whatever fails meanwhile, the node has as many pods as before in the end, and the
// kubelet has reported all of them.
func TestPodsAreReplaced(t *testing.T) {
	for seed := range uint64(10) {
		s := newNode(50 * millisecond)
		s.NoJitter, s.Seed = false, seed
		for i := range 5 {
			name := fmt.Sprintf("node-1-%d", i)
			s.put(0, "pods/default/"+name, nil, api.Object{Namespace: "default", Name: name, DeletionNs: -1})
		}
		sent := 0
		s.fails = func(nowNs int64, r *workload.APIRequest) *api.Answer {
			if sent++; sent%7 == 0 && nowNs < 500*second {
				return &api.Answer{Status: 500}
			}
			return nil
		}
		k := churning(5)
		s.UntilNs = 540 * second
		b := k.Machine(s.Client)
		s.At(500*second, func(int64) { k.Churn = 0 })
		s.Run(b, 600*second)
		pods := 0
		for key, o := range s.objects {
			if strings.HasPrefix(key, "pods/") {
				pods++
				if phase := o.Fields["status.phase"]; phase != "Running" && !workload.IsCounted(b, o.Name) {
					t.Errorf("seed %d: %s is %q", seed, key, phase)
				}
			}
		}
		if created := s.count("create", "pods"); pods != 5 || workload.Pods(b) != 5 || created < 20 {
			t.Errorf("seed %d: %d pods, the kubelet has %d, after %d POSTs", seed, pods, workload.Pods(b), created)
		}
	}
}

// A pod that somebody else deletes with a grace period is ended, reported, deleted at last, and replaced.
func TestPodIsDeleted(t *testing.T) {
	s := newNode(100 * millisecond)
	b := aKubelet().Machine(s.Client)
	s.At(20*second, func(nowNs int64) {
		workload.AddPod(b, "node-1-new")
		s.put(nowNs, "pods/default/node-1-new", nil, api.Object{Namespace: "default", Name: "node-1-new", DeletionNs: -1, Fields: map[string]string{"spec.nodeName": "node-1"}})
	})
	s.At(40*second, func(nowNs int64) {
		key := "pods/default/node-1-new"
		o := *s.objects[key]
		o.DeletionNs, o.GraceSeconds = nowNs+30*second, 30
		s.put(nowNs, key, s.objects[key], o)
	})
	s.Run(b, 60*second)
	same(t, "pods", s.sent(0, 60*second, "pods"), `
20.1s get node-1-new/
20.11s patch node-1-new/status
40.1s get node-1-new/
40.11s patch node-1-new/status
40.12s delete node-1-new/
40.13s create /
40.24s get node-1-0/
40.25s patch node-1-0/status`)
	if s.objects["pods/default/node-1-new"] != nil {
		t.Error("the pod still exists")
	}
}

// A kubelet watches its node, its pods, the services, and each secret and configmap by its name.
func TestWatches(t *testing.T) {
	s := newNode(0)
	k := aKubelet()
	k.Pods, k.Secrets = 30, 3
	s.Run(k.Machine(s.Client), second)
	var got []string
	for _, q := range s.Sent {
		if q.Verb == "watch" {
			got = append(got, fmt.Sprintf("%s %s %s %d", q.Resource, q.Name, q.Call.Options.FieldSelector, q.Call.Matches))
		}
	}
	same(t, "watches", strings.Join(got, "\n"), `
nodes node-1 metadata.name=node-1 1
pods  spec.nodeName=node-1 30
services   0
secrets of-pods-0 metadata.name=of-pods-0 1
configmaps of-pods-0 metadata.name=of-pods-0 1
secrets of-pods-1 metadata.name=of-pods-1 1`)
}

// Each version of a lease says when it was renewed.
func TestLeaseSaysWhenItWasRenewed(t *testing.T) {
	s := newNode(0)
	s.Run(aKubelet().Machine(s.Client), 31*second)
	renewals := 0
	for _, q := range s.Sent {
		if q.Resource == "leases" && q.Verb != "get" {
			renewals++
			if got := q.Call.Body.Stamp; got != q.AtNs+1 {
				t.Errorf("%v: the lease says that it was renewed at %d ns", q, got-1)
			}
		}
	}
	if renewals != 4 {
		t.Errorf("%d renewals, want 4", renewals)
	}
}

// Each PUT that conflicts is followed by a GET, and there are five PUTs; then the lease is read, and five PUTs follow again.
// That is the case at about 10 s and at 20 s.
func TestLeaseConflicts(t *testing.T) {
	s := newNode(0)
	s.fails = func(nowNs int64, r *workload.APIRequest) *api.Answer {
		if r.Resource == "leases" && r.Verb == "update" {
			return &api.Answer{Status: 409, Reason: "Conflict"}
		}
		return nil
	}
	s.Run(aKubelet().Machine(s.Client), 40*second)
	var got []string
	for _, q := range s.Sent {
		if q.Resource == "leases" && q.AtNs > second && q.AtNs < 25*second {
			got = append(got, q.Verb)
		}
	}
	five := strings.Repeat("update get ", 5)
	if text, want := strings.Join(got, " ")+" ", strings.Repeat(five+"get "+five, 2); text != want {
		t.Errorf("the kubelet sends %s\nwant %s", text, want)
	}
}

// A lease counts as renewed when it is created: without any other renewal the node is not ready at the first look, each 5 s,
// that finds it older than 50 s.
func TestLeaseIsCreatedAndNeverRenewed(t *testing.T) {
	s := newNode(0)
	s.fails = func(nowNs int64, r *workload.APIRequest) *api.Answer {
		if nowNs >= 50*millisecond {
			return &api.Answer{Status: 429}
		}
		return nil
	}
	s.Run(aKubelet().Machine(s.Client), 100*second)
	if notes := s.notes(metric.NodeNotReady); len(notes) != 1 || notes[0] != "55s NodeNotReady node-1 54.98s" {
		t.Errorf("notes %q", notes)
	}
}

// Somebody else deletes a pod that the kubelet has only counted so far: its name says which one it is. Another one
// takes its place. A pod that is none of the kubelet's is nothing to it.
func TestCountedPodIsDeleted(t *testing.T) {
	for name, want := range map[string]string{
		"node-1-3": "20.05s create /\n20.11s get node-1-5/\n20.12s patch node-1-5/status",
		"node-1-7": "", "node-1-x": "", "node-1-": "", "other-3": "",
	} {
		s := newNode(50 * millisecond)
		k := aKubelet()
		k.Pods = 5
		b := k.Machine(s.Client)
		s.put(0, "pods/default/"+name, nil, api.Object{Namespace: "default", Name: name, DeletionNs: -1, Fields: map[string]string{"spec.nodeName": "node-1"}})
		s.At(20*second, func(nowNs int64) {
			key := "pods/default/" + name
			o := s.objects[key]
			delete(s.objects, key)
			s.committed(nowNs, api.Deleted, o, o)
		})
		s.Run(b, 40*second)
		same(t, name, s.sent(second, 100*second, "pods"), want)
		if n := workload.Pods(b); n != 5 {
			t.Errorf("%s: the kubelet has %d pods, want 5", name, n)
		}
	}
}

// Two pods are new at the same time. The second is reported as soon as the report of the first is done, and not only with the
// next full pass. The kubelet is late to see what others have written, and not what it has written itself.
func TestPodsAreReportedOneAfterAnother(t *testing.T) {
	s := newNode(100 * millisecond)
	b := aKubelet().Machine(s.Client)
	s.At(20*second, func(nowNs int64) {
		for _, name := range []string{"node-1-a", "node-1-b"} {
			workload.AddPod(b, name)
			s.put(nowNs, "pods/default/"+name, nil, api.Object{Namespace: "default", Name: name, DeletionNs: -1, Fields: map[string]string{"spec.nodeName": "node-1"}})
		}
	})
	s.Run(b, 29*second)
	same(t, "pods", s.sent(0, 60*second, "pods"), `
20.1s get node-1-a/
20.11s patch node-1-a/status
20.12s get node-1-b/
20.13s patch node-1-b/status`)
	same(t, "seen", strings.Join(s.notes(metric.PodSeen), "\n"), `
20.1s PodSeen node-1 100ms
20.1s PodSeen node-1 100ms`)
}

// A report that has failed is repeated with the next full pass, which comes every 10 s, or with the next change of any pod,
// and not at once.
func TestReportOfAPodFails(t *testing.T) {
	s := newNode(100 * millisecond)
	s.fails = func(nowNs int64, r *workload.APIRequest) *api.Answer {
		if r.Resource == "pods" && nowNs < 25*second {
			return &api.Answer{Status: 500}
		}
		return nil
	}
	b := aKubelet().Machine(s.Client)
	appear := func(nowNs int64, name string) {
		workload.AddPod(b, name)
		s.put(nowNs, "pods/default/"+name, nil, api.Object{Namespace: "default", Name: name, DeletionNs: -1, Fields: map[string]string{"spec.nodeName": "node-1"}})
	}
	s.At(21*second, func(nowNs int64) { appear(nowNs, "node-1-a") })
	s.At(23*second, func(nowNs int64) { appear(nowNs, "node-1-b") })
	s.Run(b, 40*second)
	got := strings.Split(s.sent(0, 60*second, "pods"), "\n")
	if len(got) != 7 {
		t.Fatalf("sent %q", got)
	}
	same(t, "before the full pass", strings.Join(got[:3], "\n"), "21.1s get node-1-a/\n23.1s get node-1-a/\n23.11s get node-1-b/")
	if first := got[3]; !strings.HasSuffix(first, " get node-1-a/") || first < "25s" || first >= "35s" {
		t.Errorf("the full pass begins with %q", first)
	}
}
