package sim

import (
	"strings"
	"testing"
)

// Two controllers with two clients each want to send two requests at once, at one request a second after the first. With buckets of
// their own, each client sends its second after 1 s. If they share a bucket, the clients of one index, or all, have one token
// at the start, and take turns.
func TestSharedBucket(t *testing.T) {
	const spec = `
  duration: 20s
  servers: {flowControl: None}
  workload:
  - {name: a, clients: 2, as: {user: a}, request: {verb: get, resource: pods, name: x}, execution: 1ms, arrivals: {burst: {requests: 2}}, rateLimit: {qps: 1, burst: 1SHARED}}
  - {name: b, clients: 2, as: {user: b}, request: {verb: list, resource: pods}, execution: 1ms, arrivals: {burst: {requests: 2}}, rateLimit: {qps: 1, burst: 1SHARED}}
`
	for shared, want := range map[string]string{
		"": `
0s get/0, 0s get/1, 0s list/0, 0s list/1
1s get/0, 1s get/1, 1s list/0, 1s list/1`,
		`, shared: "process-{i}"`: `
0s get/0, 0s get/1
1s list/0, 1s list/1
2s get/0, 2s get/1
3s list/0, 3s list/1`,
		`, shared: process`: `
0s get/0
1s get/1
2s list/0
3s list/1
4s get/0
5s get/1
6s list/0
7s list/1`,
	} {
		var got strings.Builder
		before := ""
		for _, line := range strings.Split(tell(t, strings.ReplaceAll(spec, "SHARED", shared), "starts", "executed", "released"), "\n") {
			at, rest, _ := strings.Cut(line, " arrives ")
			who, _, _ := strings.Cut(rest, " ")
			if at != before {
				got.WriteString("\n" + at + " " + who)
			} else {
				got.WriteString(", " + at + " " + who)
			}
			before = at
		}
		if got.String() != want {
			t.Errorf("%s: got:%s\nwant:%s", shared, got.String(), want)
		}
	}
}
