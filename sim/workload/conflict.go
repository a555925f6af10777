package workload

import (
	"math/rand/v2"

	"apfsim/sim/api"
	"apfsim/sim/random"
)

// succeeded says whether a request was answered well.
func succeeded(a *api.Answer) bool { return a.Status >= 200 && a.Status < 300 }

// conflicted says whether a write was refused because of another one (k8s.io/apimachinery, api/errors/errors.go,
// IsConflict). A name that exists already is no conflict.
func conflicted(a *api.Answer) bool {
	return a.Status == 409 && a.Reason != "AlreadyExists"
}

// tries is how often a write is still tried after conflicts, and after which waits
// (k8s.io/client-go, util/retry/util.go, RetryOnConflict; k8s.io/apimachinery, util/wait/backoff.go,
// ExponentialBackoff and Backoff.Step).
type tries struct {
	left           int // the one under way included
	waitNs         int64
	factor, jitter float64
}

// newTries returns the tries of one write; one if the scenario says nothing of conflicts.
func newTries(c *Conflict) tries {
	if c == nil {
		return tries{left: 1}
	}
	return tries{left: c.Steps, waitNs: int64(c.Duration), factor: c.Factor, jitter: c.Jitter}
}

// next returns how long to wait before the next try, if there is one.
func (t *tries) next(r *rand.Rand) (waitNs int64, again bool) {
	if t.left <= 1 {
		return 0, false
	}
	t.left--
	waitNs = t.waitNs
	if t.factor != 0 { // 0 leaves the wait as it is
		t.waitNs = int64(min(float64(t.waitNs)*t.factor, random.LongestNs))
	}
	if t.jitter > 0 {
		waitNs = jittered(waitNs, t.jitter, r)
	}
	return waitNs, true
}
