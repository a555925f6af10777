package workload

import (
	"math/rand/v2"

	"apfsim/sim/random"
)

// reflectorBackoff is how long a reflector waits after a failure: 0.8 s, twice as long each time and 30 s at
// most, and each time up to twice as long by chance (k8s.io/client-go, tools/cache/reflector.go:
// defaultBackoffInit, defaultBackoffMax, defaultBackoffFactor and defaultBackoffJitter).
//
// It starts over at the first use more than 2 min (defaultBackoffReset) after
//
//   - it last started over, since client-go 0.36 (k8s.io/apimachinery, util/wait/backoff.go, DelayWithReset).
//     In a long outage, each reflector falls back to 0.8 s again and again;
//   - its last use, up to client-go 0.35 (the same file, NewExponentialBackoffManager).
//
// Several watches of one client may share it, which are reflectors of their own in reality: while one of them
// waits, the wait of another is no longer than that, but for chance.
type reflectorBackoff struct {
	sinceLastUse bool
	markNs       int64 // when it last started over, or its last use
	waitNs       int64 // the latest wait before chance; 0 before the first
	untilNs      int64 // the end of the latest wait
}

const (
	reflectorInitialNs = 800_000_000
	reflectorMaxNs     = 30_000_000_000
	reflectorResetNs   = 120_000_000_000
)

// newReflectorBackoff returns the back-off of a reflector that is made at a time.
func newReflectorBackoff(nowNs int64, sinceLastUse bool) reflectorBackoff {
	return reflectorBackoff{markNs: nowNs, sinceLastUse: sinceLastUse}
}

// Next returns how long to wait now.
func (b *reflectorBackoff) Next(nowNs int64, r *rand.Rand) (waitNs int64) {
	startsOver := nowNs-b.markNs > reflectorResetNs
	switch {
	case startsOver || b.waitNs == 0:
		b.waitNs = reflectorInitialNs
	case nowNs >= b.untilNs:
		b.waitNs = min(2*b.waitNs, reflectorMaxNs)
	}
	if startsOver || b.sinceLastUse {
		b.markNs = nowNs
	}
	waitNs = jittered(b.waitNs, 1, r)
	b.untilNs = max(b.untilNs, nowNs+waitNs)
	return waitNs
}

// jittered returns a wait that is by chance up to 1 + factor times as long (k8s.io/apimachinery,
// util/wait/wait.go, Jitter).
func jittered(waitNs int64, factor float64, r *rand.Rand) int64 {
	return waitNs + int64(min(r.Float64()*factor*float64(waitNs), random.LongestNs))
}
