package sim

import "testing"

// A workload without clients is as if it were not there, of whatever kind it is: the others send the same requests at the same
// times. That the diary can tell shows one client, which fills the only seat.
func TestWorkloadSwitchedOff(t *testing.T) {
	const spec = oneSeat + `
  duration: 3s
  store: {}
  resources: [{resource: pods, objects: 10, averageBytes: 1000}]
  workload:
  - name: mice
    clients: 2
    as: {user: "u{i}"}
    request: {verb: get, resource: pods, namespace: a, name: b}
    execution: {exponential: {mean: 50ms}}
    arrivals: {poisson: {rate: 5/s}}
`
	const asked = `, as: {user: "x{i}"}, request: {verb: get, resource: pods, namespace: a, name: b}, execution: 200ms, `
	alone := tell(t, spec)
	if alone == "" {
		t.Fatal("nothing is sent")
	}
	for kind, rest := range map[string]string{
		"open":      asked + `arrivals: {constant: {rate: 20/s}}`,
		"burst":     asked + `load: 3, arrivals: {burst: {requests: 3}}`,
		"closed":    asked + `load: 3, arrivals: {closed: {concurrency: 2}}`,
		"behaviour": `, load: 3, as: {user: "x{i}"}, behaviour: {lister: {resource: pods, every: 100ms}}`,
		"calls": `, as: {user: x}, execution: 1ms, arrivals: {constant: {rate: 20/s}},
      request: {verb: create, resource: pods, namespace: a, calls: [{name: c, kind: ValidatingWebhook, callback: {as: {user: y}, request: {verb: get, path: /x}, execution: 200ms}}]}`,
	} {
		if off := tell(t, spec+"  - {name: other, clients: 0"+rest+"}\n"); off != alone {
			t.Errorf("%s: switched off, it changes the others:\n%s\n\nalone:\n%s", kind, off, alone)
		}
		if on := tell(t, spec+"  - {name: other, clients: 1"+rest+"}\n"); on == alone {
			t.Errorf("%s: one client makes no difference", kind)
		}
	}
}
