package workload

import (
	"math/rand/v2"
	"time"

	"apfsim/document"
	"apfsim/sim/api"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// Conflict is how often a write is tried again after a conflict (k8s.io/client-go, util/retry): after
// duration·factor^n, and up to 1 + jitter times as long by chance.
type Conflict struct {
	Steps    int               `json:"steps,omitempty" jsonschema:"default=5,minimum=1,maximum=1000000" jsonschema_description:"Tries, the first included."`
	Duration quantity.Duration `json:"duration,omitempty" jsonschema:"default=10ms"`
	Factor   float64           `json:"factor,omitempty" jsonschema:"default=1,minimum=0" document:"maximum=1000"`
	Jitter   float64           `json:"jitter,omitempty" jsonschema:"default=0.1,minimum=0" document:"maximum=1000"`
}

// UnmarshalDocument implements document.Unmarshaler.
func (c *Conflict) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	document.SetDefaults(c)
	named(d, n, path, []string{"None", "Default", "Backoff"}, func(name string) {
		switch name {
		case "None":
			*c = Conflict{Steps: 1}
		case "Backoff":
			*c = defaultBackoff()
		}
	}, func() {
		type plain Conflict
		d.Decode(n, path, (*plain)(c))
	})
}

// defaultBackoff is client-go's retry.DefaultBackoff. Its retry.DefaultRetry is what the tags of Conflict say.
func defaultBackoff() Conflict {
	return Conflict{Steps: 4, Duration: quantity.Duration(10 * time.Millisecond), Factor: 5, Jitter: 0.1}
}

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
