package conformance

import (
	"fmt"
	"strings"
	"testing"

	"apfsim/core/config"
	"apfsim/lab/conformance/ours"
	"apfsim/lab/conformance/trial"
	"apfsim/lab/conformance/upstream"
)

// oneSeat is a server with one seat for everyone, and room for 100 requests to wait.
func oneSeat() *trial.Trial {
	shares := int32(995)
	tr := server(level(config.LimitedSpec{NominalConcurrencyShares: &shares, LimitResponse: config.LimitResponse{
		Type: config.ResponseQueue, Queuing: &config.Queuing{Queues: 1, HandSize: 1, QueueLengthLimit: 100}}}))
	tr.MaxRequestsInflight, tr.MaxMutatingRequestsInflight = 1, 0
	return tr
}

// The rows are cases of deadlines: what is answered, when, and how long the seat is taken. apfsim and
// kube-apiserver's filters agree on all of them. The last request of a row arrives when the seat is still
// taken, or has just become free, so that its dispatch shows when. A write at the deadline of its request is not among them: its handler and the filter for
// timeouts answer at the same instant, and which is first is chance.
func TestDeadlinesLikeUpstream(t *testing.T) {
	get := record{User: "u", Verb: "get", Resource: "pods", Namespace: "n", Name: "x", ExecutionNs: second}
	with := func(r record, change func(*record)) record { change(&r); return r }
	for _, c := range []struct {
		name     string
		requests []record
		hangUps  []trial.HangUp
		want     string // dispatch, end of execution and answer of each request
	}{
		{"L12: a get goes on after its deadline", []record{
			with(get, func(r *record) { r.Query, r.ExecutionNs = "timeout=1s", 4*second }),
			with(get, func(r *record) { r.ArrivalNs = 2 * second }),
		}, nil, "0-4 504 at 1; 4-5 200 at 5"},
		{"L13: a write ends 34 s after its dispatch", []record{
			with(get, func(r *record) { r.ExecutionNs = 10 * second }),
			with(get, func(r *record) { r.Verb, r.ExecutionNs = "delete", 40*second }),
			with(get, func(r *record) { r.ArrivalNs = 35 * second }),
		}, nil, "0-10 200 at 10; 10-44 504 at 44; 44-45 200 at 45"},
		{"L14: timeout shortens the wait", []record{
			with(get, func(r *record) { r.ExecutionNs = 5 * second }),
			with(get, func(r *record) { r.Query = "timeout=2s" }),
		}, nil, "0-5 200 at 5; rejected 429 at 0.5"},
		{"a deletecollection ends at its deadline, which is not that of a write", []record{
			with(get, func(r *record) { r.Verb, r.Name, r.ExecutionNs = "deletecollection", "", 70*second }),
			with(get, func(r *record) { r.ArrivalNs = 60 * second }),
		}, nil, "0-60 504 at 60; 60-61 200 at 61"},
		{"L15: a client leaves the queue", []record{
			with(get, func(r *record) { r.ExecutionNs = 10 * second }),
			get, get,
		}, []trial.HangUp{{ID: 2, AfterNs: 3 * second}}, "0-10 200 at 10; rejected gone at 3; 10-11 200 at 11"},
		{"the client of a get that executes leaves", []record{
			with(get, func(r *record) { r.ExecutionNs = 10 * second }),
			get,
		}, []trial.HangUp{{ID: 1, AfterNs: 3 * second}}, "0-10 gone at 3; 10-11 200 at 11"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := oneSeat()
			for i, r := range c.requests {
				r.ArrivalNs += int64(i) // in this order
				send(tr, r)
			}
			tr.HangUps = c.hangUps
			result, answers := upstream.Deadlines(t, tr)
			if got := deadlines(tr, result.Decisions, answers); got != c.want {
				t.Errorf("kube-apiserver: %s; want %s", got, c.want)
			}
			decisions, answers, err := ours.Deadlines(tr)
			if err != nil {
				t.Fatal(err)
			}
			if got := deadlines(tr, decisions, answers); got != c.want {
				t.Errorf("apfsim: %s; want %s", got, c.want)
			}
		})
	}
}

// deadlines writes down what became of requests, in seconds.
func deadlines(tr *trial.Trial, decisions []trial.Decision, answers []trial.Answer) string {
	seconds := func(ns int64) float64 { return float64(ns/int64(millisecond)) / 1000 }
	hangUps := tr.HangUpsNs()
	var all []string
	for i, d := range decisions {
		execution := fmt.Sprintf("%v-%v", seconds(d.DispatchNs), seconds(d.EndNs))
		if d.Rejected {
			execution = "rejected"
		}
		status := fmt.Sprint(answers[i].Status)
		if hangUps[i] > 0 {
			status = "gone"
		}
		all = append(all, fmt.Sprintf("%s %s at %v", execution, status, seconds(answers[i].AtNs)))
	}
	return strings.Join(all, "; ")
}
