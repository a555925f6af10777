package filter_test

import (
	"fmt"
	"time"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/filter"
	"apfsim/core/queueset"
	"apfsim/core/rules"
)

// host is the server around a filter. It says which requests it executes.
type host struct{}

func (host) Dispatched(r *filter.Request)    { fmt.Println("dispatched:", r.Owner().(*sent).name) }
func (host) HeldBack(*filter.Request)        {}
func (host) TimedOut(int64, *filter.Request) {}

// sent is a request of this server.
type sent struct {
	filter.Request
	name string
}

// A server has 20 seats, and its level workload-low 2 of them until it borrows. Of three requests that arrive at once, two are
// dispatched, and the third waits until the first has finished. The time is an argument, so that a simulation and a server with a clock use the same filter.
func Example() {
	release := rules.Latest()
	f := filter.New(0, filter.Settings{
		Rules: release, MaxRequestsInFlight: 20, RequestTimeoutNs: time.Minute.Nanoseconds(), Objects: config.Suggested(release),
	}, host{})
	user := "system:serviceaccount:shop:app"
	kind, err := f.NewKind(&classify.Attributes{
		User: user, Groups: classify.GroupsOf(user, nil), Verb: "get", Resource: "pods", Namespace: "shop", Name: "web",
	}, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	var requests [3]sent
	for i := range requests {
		r := &requests[i]
		r.name = fmt.Sprint("request ", i+1)
		r.Bind(r)
		f.Receive(&r.Request, &kind)
		rejection, _ := f.Arrive(0, &r.Request)
		if rejection != queueset.NotRejected {
			fmt.Println("rejected:", r.name, rejection)
		}
	}
	level := kind.Route().Level
	fmt.Println(level.Name(), "has", level.CurrentLimit(), "seats; waiting:", level.Queues().Waiting())
	if additionalNs := f.Finish(5_000_000, &requests[0].Request); additionalNs > 0 {
		fmt.Println("the host owes a Release after", additionalNs, "ns") // a get has no additional latency
	}
	fmt.Println("waiting:", level.Queues().Waiting())
	// Output:
	// dispatched: request 1
	// dispatched: request 2
	// workload-low has 2 seats; waiting: 1
	// dispatched: request 3
	// waiting: 0
}
