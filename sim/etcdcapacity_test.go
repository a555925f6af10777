package sim

import (
	"strings"
	"testing"
)

// Four lists of 10 000 objects from etcd take 12 µs for each object, if each is alone: 121 ms with the read itself. A get that
// is sent 50 ms later takes 1 ms in etcd. With one core for all reads, etcd has 4 + 480 ms to do for the lists, and the get
// shares the core with them: four lists and a get progress at a fifth of the speed each.
func TestSmallReadsWaitBehindRanges(t *testing.T) {
	const spec = `
  duration: 2s
  servers: {flowControl: None}
  store:
    watchCache: false
    %s
    costs: {request: 1ns, encodedKilobyte: 0s, compressedKilobyte: 0s, etcdObject: 0s, etcdKilobyte: 0s}
  resources: [{resource: pods, objects: 10000, averageBytes: 1000}]
  workload:
  - {name: lists, clients: 4, as: {user: a}, request: {verb: list, resource: pods}, arrivals: {burst: {requests: 1}}}
  - {name: get, as: {user: b}, request: {verb: get, resource: pods, namespace: n, name: x}, arrivals: {burst: {at: 50ms, requests: 1}}}
`
	for capacity, want := range map[string]string{
		"": `
51.000001ms executed get/0
121.000001ms executed list/0
121.000001ms executed list/1
121.000001ms executed list/2
121.000001ms executed list/3`,
		"readCapacity: {cores: 1}": `
55.000001ms executed get/0
485.000001ms executed list/0
485.000001ms executed list/1
485.000001ms executed list/2
485.000001ms executed list/3`,
	} {
		wants(t, tell(t, strings.Replace(spec, "%s", capacity, 1), "arrives", "starts", "released"), want)
	}
}
