package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/core/config"
	"apfsim/lab/conformance/ours"
	"apfsim/lab/conformance/trial"
	"apfsim/lab/conformance/upstream"
)

// Creations wait for a webhook that sends a callback to their server. What becomes of both is the same at kube-apiserver,
// with its filters and its admission plugin, and at apfsim. Each level has ten seats.
func TestRecursionLikeUpstream(t *testing.T) {
	const w, h = 100 * time.Millisecond, 50 * time.Millisecond
	for _, c := range []struct {
		name     string
		response config.LimitResponse
		rec      trial.Recursion
		chance   bool // whether callbacks leave before seats become free, at the same instant
		want     string
	}{
		{"R1: all seats are taken, and the webhook fails", queue, trial.Recursion{Outers: 10}, true, `
10 outer: dispatched at 0s
10 callback: left at 10s
10 outer: 500 at 10s`},
		{"R1: the webhook does not leave", queue, trial.Recursion{Outers: 10, Continue: true}, false, `
10 outer: dispatched at 0s
10 callback: dispatched at 10s
10 outer: 500 at 10s
10 callback: 200 at 10.05s`},
		{"R1: ten creations fail in ten seconds", queue, trial.Recursion{Outers: 40, Continue: true}, false, `
10 outer: dispatched at 0s
10 outer: 500 at 10s
10 outer: dispatched at 10s
10 callback: left at 15s
20 outer: 429 at 15s
20 outer: left at 15s
10 callback: dispatched at 20s
10 outer: 500 at 20s
10 callback: 200 at 20.05s`},
		{"R2: callbacks are exempt", queue, trial.Recursion{Outers: 10, Exempt: trial.Callback}, false, `
10 callback: dispatched at 0s
10 outer: dispatched at 0s
10 callback: 200 at 50ms
10 outer: 201 at 150ms`},
		{"R3: one seat is left", queue, trial.Recursion{Outers: 9, Execution: time.Second}, false, `
1 callback: dispatched at 0s
9 outer: dispatched at 0s
1 callback: 200 at 50ms
1 callback: dispatched at 50ms
1 callback: 200 at 100ms
1 callback: dispatched at 100ms
1 callback: 200 at 150ms
1 callback: dispatched at 150ms
1 callback: 200 at 200ms
1 callback: dispatched at 200ms
1 callback: 200 at 250ms
1 callback: dispatched at 250ms
1 callback: 200 at 300ms
1 callback: dispatched at 300ms
1 callback: 200 at 350ms
1 callback: dispatched at 350ms
1 callback: 200 at 400ms
1 callback: dispatched at 400ms
1 callback: 200 at 450ms
1 outer: 201 at 1.05s
1 outer: 201 at 1.1s
1 outer: 201 at 1.15s
1 outer: 201 at 1.2s
1 outer: 201 at 1.25s
1 outer: 201 at 1.3s
1 outer: 201 at 1.35s
1 outer: 201 at 1.4s
1 outer: 201 at 1.45s`},
		{"R4: failures are ignored", queue, trial.Recursion{Outers: 10, Ignore: true}, false, `
10 outer: dispatched at 0s
10 callback: left at 10s
10 outer: 201 at 10.1s`},
		{"creations are exempt, and callbacks are not", queue, trial.Recursion{Outers: 24, Exempt: trial.Outer}, false, `
10 callback: dispatched at 0s
24 outer: dispatched at 0s
10 callback: 200 at 50ms
10 callback: dispatched at 50ms
10 callback: 200 at 100ms
4 callback: dispatched at 100ms
4 callback: 200 at 150ms
10 outer: 201 at 150ms
10 outer: 201 at 200ms
4 outer: 201 at 250ms`},
		{"callbacks are rejected, which is ignored", config.LimitResponse{Type: config.ResponseReject}, trial.Recursion{Outers: 10, Ignore: true}, false, `
10 callback: left at 0s
10 outer: dispatched at 0s
10 outer: 201 at 100ms`},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := c.rec
			rec.Objects.Objects = oneLevel(c.response)
			rec.Seats, rec.Callback, rec.Timeout = 10, h, 10*time.Second
			if rec.Execution == 0 {
				rec.Execution = w
			}
			mine, err := ours.Recursion(&rec)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := counts(mine), strings.TrimSpace(c.want); got != want {
				t.Errorf("apfsim:\n%s\nwant\n%s", got, want)
			}
			theirs := upstream.Recursion(t, &rec)
			if c.chance {
				late := func(s trial.Seen) bool { return s.Who == trial.Callback && s.At >= rec.Timeout }
				mine, theirs = slices.DeleteFunc(mine, late), slices.DeleteFunc(theirs, late)
			}
			if got, want := counts(theirs), counts(mine); got != want {
				t.Errorf("kube-apiserver:\n%s\napfsim:\n%s", got, want)
			}
		})
	}
}

// queue is a queue with room for 100 requests.
var queue = config.LimitResponse{Type: config.ResponseQueue, Queuing: &config.Queuing{Queues: 1, HandSize: 1, QueueLengthLimit: 100}}

// oneLevel returns the mandatory objects and a level for everybody, which has nearly all seats: all, if there are few.
func oneLevel(response config.LimitResponse) config.Objects {
	shares := int32(995)
	return level(config.LimitedSpec{NominalConcurrencyShares: &shares, LimitResponse: response})
}

// counts writes down how many have seen the same at the same instant.
func counts(seen []trial.Seen) string {
	seen = slices.Clone(seen)
	slices.SortStableFunc(seen, func(a, b trial.Seen) int {
		if a.At != b.At {
			return int(a.At - b.At)
		}
		return strings.Compare(a.Who+a.What, b.Who+b.What)
	})
	var lines []string
	for i := 0; i < len(seen); {
		n := 1
		for i+n < len(seen) && seen[i+n] == seen[i] {
			n++
		}
		lines = append(lines, fmt.Sprintf("%d %s: %s at %v", n, seen[i].Who, seen[i].What, seen[i].At))
		i += n
	}
	return strings.Join(lines, "\n")
}
