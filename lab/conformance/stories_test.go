package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/lab/conformance/ours"
	"apfsim/lab/conformance/trial"
	"apfsim/lab/conformance/upstream"
	"apfsim/sim/scenario"
)

const (
	millisecond = 1_000_000
	second      = 1000 * millisecond
)

// both runs a trial on both sides, which must agree, and returns the result.
func both(t *testing.T, tr *trial.Trial) trial.Result {
	t.Helper()
	mine, clashes := ours.Run(tr)
	if len(clashes) > 0 {
		t.Fatalf("events coincide: %+v", clashes)
	}
	theirs := upstream.Run(t, tr)
	for _, d := range trial.Compare(tr, &mine, &theirs) {
		t.Error(d)
	}
	return theirs
}

// server returns a trial of the default number of seats.
func server(objects config.Objects) *trial.Trial {
	return &trial.Trial{
		MaxRequestsInflight: 400, MaxMutatingRequestsInflight: 200, RequestTimeoutNs: 60 * second,
		Objects: trial.Objects{Objects: objects},
	}
}

func send(tr *trial.Trial, r record) {
	r.ID = int64(len(tr.Requests) + 1)
	if r.Groups == nil {
		r.Groups = []string{"system:authenticated"}
	}
	tr.Requests = append(tr.Requests, r)
}

// level returns the mandatory objects and one level that everyone's requests go to.
func level(spec config.LimitedSpec) config.Objects {
	zero := int32(0)
	if spec.LendablePercent == nil {
		spec.LendablePercent = &zero
	}
	o := config.Mandatory(rules.Default())
	o.PriorityLevels = append(o.PriorityLevels, &config.PriorityLevel{Name: "level",
		Spec: config.PriorityLevelSpec{Type: config.TypeLimited, Limited: &spec}})
	all := []string{config.Wildcard}
	o.FlowSchemas = append(o.FlowSchemas, &config.FlowSchema{Name: "schema", Spec: config.FlowSchemaSpec{
		PriorityLevelConfiguration: config.PriorityLevelReference{Name: "level"}, MatchingPrecedence: 500,
		DistinguisherMethod: &config.DistinguisherMethod{Type: config.ByUser},
		Rules: []config.PolicyRulesWithSubjects{{
			Subjects:         []config.Subject{{Kind: config.SubjectGroup, Group: &config.GroupSubject{Name: "system:authenticated"}}},
			ResourceRules:    []config.ResourceRule{{Verbs: all, APIGroups: all, Resources: all, ClusterScope: true, Namespaces: all}},
			NonResourceRules: []config.NonResourceRule{{Verbs: all, NonResourceURLs: all}},
		}},
	}})
	return o
}

func number(n int32) *int32 { return &n }

// The comparison notices one nanosecond in one of a thousand requests, and shrinks the
// trial to that request.
func TestComparisonNotices(t *testing.T) {
	tr := server(config.Suggested(rules.Default()))
	for i := range int64(1000) {
		send(tr, record{ArrivalNs: 1 + i*millisecond, User: fmt.Sprint("user-", i%10), Verb: "get", Path: "/version", ExecutionNs: 3*millisecond + 7*i})
	}
	differs := func(tr *trial.Trial) bool {
		late := *tr
		late.Requests = append([]record{}, tr.Requests...)
		for i := range late.Requests {
			if late.Requests[i].ID == 500 {
				late.Requests[i].ExecutionNs++
			}
		}
		mine, _ := ours.Run(&late)
		theirs := upstream.Run(t, tr)
		return len(trial.Compare(tr, &mine, &theirs)) > 0
	}
	if !differs(tr) {
		t.Fatal("nothing was noticed")
	}
	if small := shrink(tr, differs); len(small.Requests) != 1 || small.Requests[0].ID != 500 {
		t.Errorf("shrunk to %d requests, want the one", len(small.Requests))
	}
}

// KEP-1040 divides among the other levels what the exempt one leaves. The code divides
// all seats: while 100 administrators are at work, 702 seats are promised of 602.
func TestAllocationIgnoresExemptDemand(t *testing.T) {
	tr := server(config.Suggested(rules.Default()))
	for i := range int64(100) {
		send(tr, record{ArrivalNs: 1 + i, User: "admin", Groups: []string{"system:masters"}, Verb: "get", Path: "/version", ExecutionNs: 30*second + 3*i})
	}
	tr.SamplesNs = []int64{10*second + 1}
	exempt, others := 0, 0
	for _, l := range both(t, tr).Snapshots[0].Levels {
		if l.Name == config.Exempt {
			exempt = l.Limit
		} else {
			others += l.Limit
		}
	}
	// Every one of the seven others is rounded by half a seat at most.
	if exempt != 100 || others < 602-4 || others > 602+4 {
		t.Errorf("exempt has %d seats and the others %d, want 100 and 602", exempt, others)
	}
}

// A client that hangs up while its request waits gets the request out of its queue at that
// instant: it is rejected as a time-out, and it counts as a drop, so that Retry-After rises. A
// request that executes keeps its seat until its end, whether its client is there or not.
func TestHangUps(t *testing.T) {
	tr := server(level(config.LimitedSpec{NominalConcurrencyShares: number(20), LimitResponse: config.LimitResponse{
		Type: config.ResponseQueue, Queuing: &config.Queuing{Queues: 1, HandSize: 1, QueueLengthLimit: 50}}}))
	tr.MaxRequestsInflight, tr.MaxMutatingRequestsInflight = 1, 0
	for i := range int64(6) {
		send(tr, record{ArrivalNs: 1 + i, User: "user", Verb: "get", Path: "/version", ExecutionNs: 5*second + 3*i})
	}
	for _, h := range []trial.HangUp{{ID: 1, AfterNs: second}, {ID: 2, AfterNs: second / 2}, {ID: 3, AfterNs: second / 4},
		{ID: 4, AfterNs: second / 8}, {ID: 5, AfterNs: second + second/2}} {
		tr.HangUps = append(tr.HangUps, h)
	}
	tr.SamplesNs = []int64{second / 3, 2 * second}
	result := both(t, tr)
	for i, want := range []struct {
		rejected          bool
		endNs             int64
		retryAfterSeconds int
	}{
		{false, 1 + 5*second, 0}, // hung up in the middle of the execution
		{true, 2 + second/2, 1},
		{true, 3 + second/4, 1},
		{true, 4 + second/8, 1},
		{true, 5 + second + second/2, 2}, // three were dropped in the second before
		{false, 1 + 10*second + 3*5, 0},  // the only one left when the first has ended
	} {
		d := result.Decisions[i]
		if d.Rejected != want.rejected || d.EndNs != want.endNs || d.Rejected && d.RetryAfterSeconds != want.retryAfterSeconds {
			t.Errorf("request %d: %+v, want %+v", i+1, d, want)
		}
	}
	if got := result.Rejections["level/schema/time-out"]; got != 4 {
		t.Errorf("%d rejections are counted as time-outs, want 4: %v", got, result.Rejections)
	}
}

// A level of zero shares that may not borrow has no seats. That should jail who is sent
// there, and with queues it does; a Reject level lets one at a time pass all the same,
// since a request that is wider than the limit may run when nothing else does.
func TestZeroSharesAdmit(t *testing.T) {
	for _, queues := range []bool{false, true} {
		spec := config.LimitedSpec{NominalConcurrencyShares: number(0), BorrowingLimitPercent: number(0),
			LimitResponse: config.LimitResponse{Type: config.ResponseReject}}
		if queues {
			spec.LimitResponse = config.LimitResponse{Type: config.ResponseQueue, Queuing: &config.Queuing{Queues: 4, HandSize: 1, QueueLengthLimit: 10}}
		}
		tr := server(level(spec))
		for i := range int64(20) {
			send(tr, record{ArrivalNs: 1 + i*10*millisecond, User: "jailed", Verb: "get", Path: "/version", ExecutionNs: 15*millisecond + i})
		}
		tr.SamplesNs = []int64{2}
		result := both(t, tr)
		executed := 0
		for _, d := range result.Decisions {
			if !d.Rejected {
				executed++
			}
		}
		want := 10 // every second one finds nothing else executing
		if queues {
			want = 0 // dispatch asks for a free seat first
		}
		if executed != want {
			t.Errorf("with queues: %v: %d of 20 are executed, want %d", queues, executed, want)
		}
	}
}

// A list takes as many seats as the level's cap lets it. Only levels with queues have
// one; at a Reject level a list takes up to 100 seats.
func TestNoSeatCapAtRejectLevels(t *testing.T) {
	seats := func(response config.LimitResponse) int {
		tr := server(level(config.LimitedSpec{NominalConcurrencyShares: number(20), LimitResponse: response}))
		tr.Resources = []scenario.Resource{{Resource: "pods", Objects: 150_000, AverageBytes: 2000}}
		send(tr, record{ArrivalNs: 1, User: "lister", Verb: "list", Resource: "pods", Query: "resourceVersion=17&resourceVersionMatch=Exact", ExecutionNs: second})
		return both(t, tr).Decisions[0].Seats
	}
	if got := seats(config.LimitResponse{Type: config.ResponseReject}); got != 100 {
		t.Errorf("the list takes %d seats, want 100", got)
	}
	// 480 of 600 seats are the level's: min(⌈0.15·480⌉, 480/6).
	if got := seats(config.LimitResponse{Type: config.ResponseQueue, Queuing: &config.Queuing{Queues: 64, HandSize: 6, QueueLengthLimit: 50}}); got != 72 {
		t.Errorf("the list takes %d seats with queues, want 72", got)
	}
}

// removedTwice returns a trial in which a level of eight queues gets two, and two requests
// of one surplus queue are in additional latency after that.
func removedTwice(queue uint64) *trial.Trial {
	queues := func(n int32) config.Objects {
		return level(config.LimitedSpec{NominalConcurrencyShares: number(20),
			LimitResponse: config.LimitResponse{Type: config.ResponseQueue, Queuing: &config.Queuing{Queues: n, HandSize: 1, QueueLengthLimit: 50}}})
	}
	tr := server(queues(8))
	for i := range int64(10) {
		send(tr, record{ArrivalNs: 1 + i, User: "watcher", Groups: []string{"system:masters"}, Verb: "watch", Resource: "pods",
			Query: "watch=true&resourceVersion=17", ExecutionNs: millisecond + 3*i, WatchNs: second})
	}
	user := ""
	for i := 0; user == ""; i++ {
		if name := fmt.Sprint("user-", i); classify.FlowHash("schema", name)%8 == queue {
			user = name
		}
	}
	for i := range int64(2) { // with 5 ms of additional latency each
		send(tr, record{ArrivalNs: 90*millisecond + i, User: user, Verb: "update", Resource: "pods", Namespace: "a", Name: "x", ExecutionNs: 20*millisecond + i*millisecond})
	}
	tr.Changes = []trial.Change{{AtNs: 100 * millisecond, Objects: trial.Objects{Objects: queues(2)}}}
	tr.SamplesNs = []int64{112 * millisecond, 115*millisecond + millisecond/2, 117 * millisecond}
	return tr
}

// Upstream takes away a queue too many. When the first of the two requests is through, its
// queue is empty and goes; when the second is, it goes again, and since it is not there any
// more, the queue that has moved to its place goes in its stead, whatever waits in it.
// apfsim's stays. No generated trial combines fewer queues with additional latency.
func TestUpstreamRemovesQueueTwice(t *testing.T) {
	tr := removedTwice(3)
	count := func(r trial.Result) (lengths []int) {
		for _, s := range r.Snapshots {
			for _, l := range s.Levels {
				if l.Name == "level" {
					lengths = append(lengths, len(l.Queues))
				}
			}
		}
		return lengths
	}
	mine, _ := ours.Run(tr)
	theirs := upstream.Run(t, tr)
	if got, want := fmt.Sprint(count(mine)), "[8 7 7]"; got != want {
		t.Errorf("ours has %s queues, want %s", got, want)
	}
	if got, want := fmt.Sprint(count(theirs)), "[8 7 6]"; got != want {
		t.Errorf("upstream has %s queues, want %s: has it been put right?", got, want)
	}
}

// If the queue that goes twice was the last one, kube-apiserver crashes: the panic is in a
// goroutine of its own. The trial runs in a process of its own, too.
func TestUpstreamCrashes(t *testing.T) {
	const child = "APFSIM_CONFORMANCE_CRASH"
	if os.Getenv(child) != "" {
		upstream.Run(t, removedTwice(7))
		return
	}
	command := exec.Command(os.Args[0], "-test.run=^TestUpstreamCrashes$")
	command.Env = append(os.Environ(), child+"=1")
	out, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "slice bounds out of range [8:7]") || !strings.Contains(string(out), "removeQueueAndUpdateIndexes") {
		t.Errorf("upstream did not crash as it used to (%v):\n%s", err, out)
	}
}
