package tune

import (
	"slices"
	"strings"
	"testing"

	"apfsim/reports/result"
)

// behind is a client that wants to send 30 requests each second, all at once, and may send 5 per second in bursts of 10.
const behind = `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: behind}
spec:
  duration: 60s
  workload:
  - name: discovery
    as: {serviceAccount: monitoring/adapter}
    request: {verb: get, path: "/apis/example.org/v1"}
    execution: 2ms
    arrivals: {burst: {at: 1s, requests: 30, every: 10s}}
    rateLimit: {qps: 5, burst: 10}
  thresholds: {"clientLatency{workload:discovery}": ["max < 2s"]}
`

// The last of 30 requests that come at once waits (30 − b)/q: 4 s with b = 10 tokens and q = 5 per second. With more than 10 per
// second it waits for less than 2 s, with its execution from 11 on, as it also does with a burst of 21. Steps on the grid of either
// field decide: 6 from 5 to 11, and 11 from 10 to 21. No flow control changes anything.
func TestRateLimitOfAClient(t *testing.T) {
	solve := func(kinds ...string) *Answer {
		a, _ := solveRandom(t, randomProblem{text: behind, kinds: append(slices.Clone(Usual), kinds...)})
		return a
	}
	a := solve("clients")
	if a.Selected == nil || a.Selected.Class != ClientLimits || a.Selected.Remedy != result.RaiseClientLimit {
		t.Fatalf("selected is %+v", a.Selected)
	}
	if len(a.Selected.Changes) != 1 || a.Selected.Changes[0].Path != "spec.workload[discovery].rateLimit.qps" || textOf(a.Selected.Changes[0].To) != "12" || a.smallest().ID == a.Selected.ID || textOf(a.smallest().Changes[0].To) != "11" {
		t.Errorf("the change is %+v, want a QPS of 12, with which it also holds if it sends more, and the tight 11", a.Selected.Changes)
	}
	manifest, err := a.Manifest()
	if err != nil || !strings.Contains(string(manifest), "# in the client discovery, set qps to 12") || strings.Contains(string(manifest), "kind:") {
		t.Errorf("%v: the manifest is\n%s", err, manifest)
	}
	if undo := []string{"in the client discovery, set qps to 5"}; !slices.Equal(a.Undo, undo) {
		t.Errorf("it is undone by %q", a.Undo)
	}
	for _, e := range a.Eliminated {
		if e.Class != ClientLimits {
			t.Errorf("%s was tried, though no flow control changes anything", e.ID)
		}
	}
	a = solve()
	answer := a.Document().Answer
	if a.Selected != nil || a.Candidates != 0 || !strings.Contains(answer.Sentence, "The rate limit of discovery itself is too low, 5/s with a burst of 10") || !slices.Contains(a.NotTried, "clients") {
		t.Errorf("without the clients: %s %s, %d candidates, not tried %v", answer.Status, answer.Sentence, a.Candidates, a.NotTried)
	}
}
