package generate

import (
	"math/rand/v2"
	"testing"

	"apfsim/lab/conformance/trial"
)

// If a level ever has fewer queues than before, even if it was removed in between, the trial has
// no watches and so no additional latency. Upstream's queue sets fail otherwise.
func TestFewerQueuesWithoutWatches(t *testing.T) {
	random := rand.New(rand.NewPCG(14310395461622201918, 1))
	fewer, watched := 0, 0
	for range 1000 {
		tr := Trial(random.Uint64(), 200)
		switch {
		case losesQueues(tr) && watches(tr):
			t.Errorf("%s: a level loses queues, and there are watches", tr.Name)
		case losesQueues(tr):
			fewer++
		case len(tr.Changes) > 0 && watches(tr):
			watched++
		}
	}
	if fewer == 0 || watched == 0 {
		t.Errorf("%d trials in which a level loses queues, %d with changes and watches; want some of each", fewer, watched)
	}
}

func losesQueues(tr *trial.Trial) bool {
	most := map[string]int32{}
	for i := range 1 + len(tr.Changes) {
		o := tr.Objects
		if i > 0 {
			o = tr.Changes[i-1].Objects
		}
		for _, l := range o.PriorityLevels {
			if queues(l) < most[l.Name] {
				return true
			}
			most[l.Name] = queues(l)
		}
	}
	return false
}

func watches(tr *trial.Trial) bool {
	for i := range tr.Requests {
		if tr.Requests[i].Verb == "watch" {
			return true
		}
	}
	return false
}
