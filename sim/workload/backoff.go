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
type reflectorBackoff struct {
	markNs int64 // when it last started over, or its last use
	nextNs int64 // the next wait before chance
}

const (
	reflectorInitialNs = 800_000_000
	reflectorMaxNs     = 30_000_000_000
	reflectorResetNs   = 120_000_000_000
)

// newReflectorBackoff returns the back-off of a reflector that is made now.
func newReflectorBackoff(nowNs int64) reflectorBackoff {
	return reflectorBackoff{markNs: nowNs, nextNs: reflectorInitialNs}
}

// next returns how long to wait now.
func (b *reflectorBackoff) next(nowNs int64, sinceLastUse bool, r *rand.Rand) (waitNs int64) {
	startsOver := nowNs-b.markNs > reflectorResetNs
	if startsOver {
		b.nextNs = reflectorInitialNs
	}
	if startsOver || sinceLastUse {
		b.markNs = nowNs
	}
	waitNs = jittered(b.nextNs, 1, r)
	b.nextNs = min(2*b.nextNs, reflectorMaxNs)
	return waitNs
}

// jittered returns a wait that is by chance up to 1 + factor times as long (k8s.io/apimachinery,
// util/wait/wait.go, Jitter).
func jittered(waitNs int64, factor float64, r *rand.Rand) int64 {
	return waitNs + int64(min(r.Float64()*factor*float64(waitNs), random.LongestNs))
}
