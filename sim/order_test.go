package sim

import "testing"

func orderOf(t *testing.T, more string) string {
	t.Helper()
	return tell(t, `
  duration: 1s
  servers: {flowControl: None}
  workload:
  - name: w
    as: {user: "u{i}"}
    execution: 10ms
    requests:
    - {verb: list, resource: pods, query: "limit=5"}
    - {verb: get, resource: pods, name: "p-{i}"}
    - {verb: delete, resource: pods, name: "p-{i}"}
`+more, "executed", "released", "starts")
}

// A closed loop sends a list of requests in its order, each when the one before is answered, and then from the
// beginning, until the workload ends.
func TestSequence(t *testing.T) {
	wants(t, orderOf(t, "    order: Sequence\n    stop: 500ms\n    arrivals: {closed: {think: 90ms}}\n"), `
90ms arrives list/0 attempt 1 seats 0
190ms arrives get/0 attempt 1 seats 0
290ms arrives delete/0 attempt 1 seats 0
390ms arrives list/0 attempt 1 seats 0
490ms arrives get/0 attempt 1 seats 0
`)
}

// With order Once, each client sends the list once, and nothing more: in a closed loop whatever the number of its users, and
// in an open one.
func TestOnce(t *testing.T) {
	wants(t, orderOf(t, "    order: Once\n    clients: 2\n    arrivals: {closed: {}}\n"), `
0s arrives list/0 attempt 1 seats 0
0s arrives list/1 attempt 1 seats 0
10ms arrives get/0 attempt 1 seats 0
10ms arrives get/1 attempt 1 seats 0
20ms arrives delete/0 attempt 1 seats 0
20ms arrives delete/1 attempt 1 seats 0
`)
	wants(t, orderOf(t, "    order: Once\n    arrivals: {closed: {concurrency: 2}}\n"), `
0s arrives list/0 attempt 1 seats 0
0s arrives get/0 attempt 1 seats 0
10ms arrives delete/0 attempt 1 seats 0
`)
	wants(t, orderOf(t, "    order: Once\n    arrivals: {burst: {at: 1ms, requests: 5, every: 100ms}}\n"), `
1ms arrives list/0 attempt 1 seats 0
1ms arrives get/0 attempt 1 seats 0
1ms arrives delete/0 attempt 1 seats 0
`)
}

// A request that is sent again does not take the turn of the next one: the second of three at once is rejected, and
// comes back a second later, after the third.
func TestRetriesAreNoTurns(t *testing.T) {
	wants(t, tell(t, `
  duration: 3s
  servers: {flowControl: MaxInFlight, maxRequestsInflight: 1, maxMutatingRequestsInflight: 1}
  workload:
  - name: w
    as: {user: u}
    execution: 10ms
    order: Once
    retry: ClientGo
    requests:
    - {verb: list, resource: pods}
    - {verb: get, resource: pods, name: p}
    - {verb: delete, resource: pods, name: p}
    arrivals: {burst: {requests: 3}}
`, "executed", "released", "starts"), `
0s arrives list/0 attempt 1 seats 0
0s arrives get/0 attempt 1 seats 0
0s rejected get/0 concurrency-limit, retry after 1
0s arrives delete/0 attempt 1 seats 0
1s arrives get/0 attempt 2 seats 0
`)
}
