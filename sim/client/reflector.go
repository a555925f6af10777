package client

import (
	"apfsim/sim/random"
	"apfsim/sim/server"
)

// reflectorBackoff is how long a reflector waits before it tries again to open a watch: 0.8 s, twice as
// long each time, up to 30 s, and each time up to twice as long by chance (k8s.io/client-go,
// tools/cache/reflector.go, and wait.Backoff.DelayWithReset). The first attempt that fails more than 2 min
// after the waits have last begun anew makes them begin anew: up to client-go 0.35, more than 2 min after
// the last wait.
//
// The watches of one client, which are reflectors of their own in reality, share it. While one of them
// waits, the wait of another is no longer than that.
type reflectorBackoff struct {
	sinceNs int64 // when the waits have last begun anew
	waitNs  int64 // the latest wait before chance; 0 before the first
	untilNs int64 // the end of the latest wait
}

const (
	reflectorInitialNs = 800_000_000
	reflectorMaxNs     = 30_000_000_000
	reflectorResetNs   = 120_000_000_000
)

// next returns how long to wait after a failure; chance is from 0 to 1.
func (b *reflectorBackoff) next(nowNs int64, chance float64) (waitNs int64) {
	switch {
	case nowNs-b.sinceNs > reflectorResetNs:
		b.sinceNs, b.waitNs = nowNs, reflectorInitialNs
	case b.waitNs == 0:
		b.waitNs = reflectorInitialNs
	case nowNs >= b.untilNs:
		b.waitNs = min(2*b.waitNs, reflectorMaxNs)
	}
	waitNs = b.waitNs + int64(chance*float64(b.waitNs))
	b.untilNs = max(b.untilNs, nowNs+waitNs)
	return waitNs
}

// reflector is what a client knows as one that watches.
type reflector struct {
	reflectorBackoff
	chance random.Stream
}

// opensAgainNs returns how long the client waits after it has failed to open a watch.
func (cl *client) opensAgainNs(nowNs int64) int64 {
	if cl.reflector == nil {
		cl.reflector = &reflector{}
		cl.reflector.sinceNs = cl.startNs
		cl.stream(&cl.reflector.chance, "reflector")
	}
	return cl.reflector.next(nowNs, cl.reflector.chance.Float64())
}

// isWatch says whether a request is a watch, also one that no server has received.
func isWatch(r *server.Request) bool {
	return r.Attributes.Verb == "watch" && r.Attributes.IsResource()
}

// ended says whether a request has ended as its client wants: it was executed, or it was a watch that had
// begun. For a reflector, a watch of which the connection breaks has ended like any other.
func ended(r *server.Request, response server.Response) bool {
	return response.Succeeded() || response.Failure == server.BrokenConnection && r.FinishNs >= 0 && isWatch(r)
}
