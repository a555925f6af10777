package client

import (
	"apfsim/sim/random"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// reflector is what a client knows as one that watches.
type reflector struct {
	workload.ReflectorBackoff
	chance random.Stream
}

// opensAgainNs returns how long the client waits after it has failed to open a watch.
func (cl *sender) opensAgainNs(nowNs int64) int64 {
	if cl.reflector == nil {
		cl.reflector = &reflector{ReflectorBackoff: workload.NewReflectorBackoff(cl.startNs, false)}
		cl.stream(&cl.reflector.chance, "reflector")
	}
	return cl.reflector.Next(nowNs, &cl.reflector.chance.Rand)
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
