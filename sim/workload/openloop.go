package workload

import (
	"apfsim/sim/random"
	"apfsim/sim/server"
)

// openLoop is a client that sends at the times of a process, whatever becomes of its requests.
type openLoop struct {
	sender
	process Process
	poisson poissonProcess // room for the process that most clients have, beside the client in memory
}

// Start implements source.
func (o *openLoop) Start(int64) {
	o.open()
	o.process = newProcess(&o.Arrivals, int(o.index), o.Clients, func(s *random.Stream) { o.stream(s, "arrivals") }, o.endNs-o.startNs, &o.poisson)
	o.next()
}

// next schedules the next arrival of the process.
func (o *openLoop) next() {
	at, sends := o.process.Next()
	if at += float64(o.startNs); at < float64(o.endNs) {
		o.searches = !sends
		o.wakeAt(int64(at))
	}
}

// Wake implements source.
func (o *openLoop) Wake(nowNs int64) {
	if o.finished() {
		return
	}
	sends := !o.searches
	o.next()
	if sends {
		o.send(nowNs, o.request())
	}
}

// Responded implements source: it is called upon success only if the clients are timed.
func (o *openLoop) Responded(nowNs int64, r *server.Request, response server.Response) {
	if ended(r, response) || !o.retry(nowNs, r, response) {
		o.noteAttempts(nowNs, r, response)
	}
}
