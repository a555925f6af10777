package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/sim/server"
)

// One seat, one queue for one request, a request timeout of 60 s. The first request executes for
// 100 s, and the second waits. In 1.37 it times out after a quarter of the request timeout, and its
// client sends it again after a second. In 1.27 it waits until another request comes to its queue,
// or until its deadline, at which the client gets 504: it has no Retry-After, so the client sends
// it again only if it has a back-off of its own.
func TestWaitLimitsOfReleases(t *testing.T) {
	for _, c := range []struct {
		version, arrivals, retry string
		want                     []string
	}{
		{"1.37", "burst: {at: 0s, requests: 2, over: 0s}", "{maxRetries: 1}", []string{
			"0 s: 1 starts", "0 s: 2 waits", "15 s: 2 is rejected: time-out, Retry-After 1", "16 s: 2 waits again",
			"31 s: 2 is rejected: time-out, Retry-After 1",
		}},
		{"1.27", "burst: {at: 0s, requests: 2, over: 0s}", "{maxRetries: 1}", []string{
			"0 s: 1 starts", "0 s: 2 waits", "60 s: 2 is rejected: time-out, Retry-After 0",
		}},
		// The deadline of the first request, which executes, is an error to its client as well.
		{"1.27", "burst: {at: 0s, requests: 2, over: 0s}", "{maxRetries: 1, backoff: {initial: 5s}}", []string{
			"0 s: 1 starts", "0 s: 2 waits", "60 s: 2 is rejected: time-out, Retry-After 0", "65 s: 2 waits again",
			"65 s: 1 is rejected: queue-full, Retry-After 1", "100 s: 2 starts",
		}},
		{"1.27", "burst: {at: 0s, requests: 3, over: 48s}", "{maxRetries: 1}", []string{
			"0 s: 1 starts", "16 s: 2 waits", "32 s: 2 is rejected: time-out, Retry-After 1", "32 s: 3 waits",
			"33 s: 2 is rejected: queue-full, Retry-After 1", "92 s: 3 is rejected: time-out, Retry-After 0",
		}},
	} {
		run := New(load(t, strings.Replace(oneSeat, "servers: {", fmt.Sprintf("servers: {kubernetesVersion: %q, ", c.version), 1)+`
  duration: 110s
  workload:
  - name: w
    as: {user: u}
    request: {verb: get, resource: pods, name: x}
    execution: 100s
    arrivals: {`+c.arrivals+`}
    retry: `+c.retry+"\n"))
		var got []string
		note := func(nowNs int64, what string, r *server.Request) {
			got = append(got, fmt.Sprintf("%d s: %d %s", nowNs/1e9, r.ID, what))
		}
		run.Observe(server.Observer{
			Queued: func(nowNs int64, r *server.Request) {
				if r.Attempt > 1 {
					note(nowNs, "waits again", r)
					return
				}
				note(nowNs, "waits", r)
			},
			Dispatched: func(nowNs int64, r *server.Request) { note(nowNs, "starts", r) },
			Rejected: func(nowNs int64, r *server.Request) {
				note(nowNs, fmt.Sprintf("is rejected: %v, Retry-After %d", r.Rejection, r.RetryAfterSeconds), r)
				if r.AtDeadline() != (r.RetryAfterSeconds == 0) {
					t.Errorf("%s: request %d is rejected at its deadline: %v", c.version, r.ID, r.AtDeadline())
				}
			},
		})
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, %s, %s: got\n%s\nwant\n%s", c.version, c.arrivals, c.retry, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
