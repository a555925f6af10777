package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"apfsim/sim/server"
)

// Of 1000 pods that are only counted, a request says how many are in its namespace or have its label: a list returns so many, a
// page no more than its limit, and a list from etcd too. A deletecollection deletes them, and a list of all has the
// others. The seats are those of all pods: 1000 objects of 1 kB are 1 MB, or 10 seats, of which global-default allows 8.
func TestMatchesOfARequest(t *testing.T) {
	const spec = `
  duration: 10s
  store: {countInterval: 1s}
  resources: [{resource: pods, objects: 1000, averageBytes: 1000}]
  workload:
  - name: w
    as: {user: u}
    order: Once
    requests:
    - {verb: list, resource: pods, namespace: n, query: resourceVersion=0}
    - {verb: list, resource: pods, namespace: n, query: resourceVersion=0, matches: 30}
    - {verb: list, resource: pods, query: "labelSelector=a%3Db", matches: 40}
    - {verb: list, resource: pods, namespace: n, query: "limit=20", matches: 30}
    - {verb: list, resource: pods, namespace: n, query: "resourceVersion=1&resourceVersionMatch=Exact", matches: 30}
    - {verb: list, resource: pods, namespace: n, query: resourceVersion=0, matches: 5000}
    - {verb: deletecollection, resource: pods, namespace: n, query: gracePeriodSeconds=0, matches: 30}
    - {verb: list, resource: pods}
    arrivals: {closed: {think: 500ms}}
`
	run := New(load(t, spec))
	var got []string
	run.Observe(server.Observer{Executed: func(_ int64, r *server.Request) {
		a := &r.Details.Answer
		got = append(got, fmt.Sprintf("%s %d: %d items, %d bytes, %d seats", r.Attributes.Verb, a.Status, a.Items, a.Bytes, r.Seats()))
	}})
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	wants(t, strings.Join(got, "\n"), `
list 200: 0 items, 0 bytes, 8 seats
list 200: 30 items, 30000 bytes, 8 seats
list 200: 40 items, 40000 bytes, 8 seats
list 200: 20 items, 20000 bytes, 1 seats
list 200: 30 items, 30000 bytes, 8 seats
list 200: 1000 items, 1000000 bytes, 8 seats
deletecollection 200: 30 items, 30000 bytes, 1 seats
list 200: 970 items, 970000 bytes, 8 seats
`)
}
