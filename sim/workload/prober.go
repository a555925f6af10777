package workload

import (
	"apfsim/sim/random"
	"apfsim/sim/server"
)

// prober is the kubelet of the node of one server, as far as it probes the server and restarts it. The server is a
// container that is always to run. What a probe does to it is done by an alarm of the same instant, because a response
// comes in the middle of what a server does.
type prober struct {
	sender
	server    *server.Server
	workers   []probeWorker // by the requests of the workload
	container container
	stage     server.Stage // of the server, until now
	kills     bool         // the kubelet has told the server to stop
	ready     bool         // what the readiness probe has found

	backoff  restartBackoff
	exited   bool  // a container of the pod has ended before
	exitedNs int64 // the last one
}

// container is the process of the server, as the kubelet knows it.
type container struct {
	number    int // of containers so far
	runs      bool
	startedNs int64
	started   bool // the startup probe has succeeded, or there is none
}

// longBeforeNs is when a server has started that is there from the beginning.
const longBeforeNs = -3600 * second

// Start implements source. The pod was there long before the run, so that the ticks of its probes come at any time.
func (p *prober) Start(int64) {
	p.open()
	p.server = p.all.network.Servers()[p.index]
	p.container = container{runs: true, startedNs: longBeforeNs, started: true}
	p.stage, p.ready = p.server.Stage(), true
	var phase random.Stream
	p.stream(&phase, "phase")
	for kind, probe := range p.Probes.all() {
		if probe == nil {
			continue
		}
		atNs := phase.Int64N(int64(probe.Period))
		p.workers = append(p.workers, probeWorker{Probe: probe, prober: p, kind: kind, index: len(p.workers), last: true, atNs: atNs})
	}
	for i := range p.workers {
		w := &p.workers[i]
		p.all.runState.ClientAlarms().Set(w.atNs, (*probeTick)(w))
	}
	p.all.runState.Observe(server.Observer{Changed: p.changed})
}

// Wake implements source.
func (p *prober) Wake(int64) { panic("workload: a prober wakes") }

// Responded implements source.
func (p *prober) Responded(nowNs int64, r *server.Request, response server.Response) {
	w := &p.workers[r.Template.Request]
	w.succeeded = response.Status >= 200 && response.Status < 400 // pkg/probe/http/http.go, DoHTTPProbe
	p.all.runState.ClientAlarms().Set(nowNs, (*probeResult)(w))
}

// changed is called when a server has entered another stage.
func (p *prober) changed(nowNs int64, s *server.Server) {
	if s != p.server {
		return
	}
	was := p.stage
	p.stage = s.Stage()
	switch p.stage {
	case server.Starting:
		p.container = container{number: p.container.number + 1, runs: true, startedNs: nowNs, started: p.Probes.Startup == nil}
	case server.Off:
		p.container.runs = false
		p.setReady(false)
		p.ended(nowNs, was)
	}
}

// ended is called when the container has ended. Somebody who has told it to stop also starts it, as a pod of its own.
func (p *prober) ended(nowNs int64, was server.Stage) {
	known, exitedNs := p.exited, p.exitedNs
	p.exited, p.exitedNs = true, nowNs
	switch {
	case p.server.Unreachable(): // and so is the kubelet
	case p.kills:
		// The kubelet starts the next container in the same pass, in which it does not know yet that this one has ended.
		p.restart(nowNs, known, exitedNs)
	case was > server.Ready:
		p.exited, p.backoff = false, restartBackoff{}
	default:
		p.restart(nowNs, true, nowNs)
	}
	p.kills = false
}

// restart starts the container again, possibly after the back-off, which counts from the last end that is known.
func (p *prober) restart(nowNs int64, known bool, exitedNs int64) {
	atNs := nowNs
	switch {
	case !known:
	case p.backoff.holds(nowNs, exitedNs):
		atNs = p.exitedNs + p.backoff.waitNs
	default:
		p.backoff.next(nowNs, exitedNs)
	}
	p.all.runState.ClientAlarms().Set(atNs, (*restart)(p))
}

// restart is the alarm by which the container starts.
type restart prober

// Ring implements clock.Alarm.
func (a *restart) Ring(nowNs int64) {
	p := (*prober)(a)
	if p.stage != server.Off || p.server.Unreachable() { // somebody else has started it
		return
	}
	if nowNs > p.exitedNs {
		p.backoff.next(nowNs, p.exitedNs)
	}
	p.server.Start(nowNs, "")
}

// kill tells the server to stop. It is killed when the grace period of its pod is over (server.Shutdown.KillAfter).
func (p *prober) kill(nowNs int64) {
	if p.stage == server.Off || p.stage > server.Ready {
		return
	}
	p.kills = true
	p.server.Stop(nowNs)
}

func (p *prober) setReady(ready bool) {
	if p.Probes.Readiness != nil && p.ready != ready {
		p.ready = ready
		p.all.network.SetReady(int(p.index), ready)
	}
}

// restartBackoff is how long a kubelet waits before it starts a container again (k8s.io/client-go,
// util/flowcontrol/backoff.go; k8s.io/kubernetes, pkg/kubelet/kuberuntime/kuberuntime_manager.go, doBackOff): 10 s after
// the end of the container before, twice as long each time, and 300 s at most. It starts over if a container ends more
// than 10 min after the last start.
type restartBackoff struct {
	waitNs    int64 // 0 before the first restart
	updatedNs int64
}

const (
	firstRestartNs = 10 * second
	mostRestartNs  = 300 * second
)

func (b *restartBackoff) expired(eventNs int64) bool { return eventNs-b.updatedNs > 2*mostRestartNs }

// holds says whether a container must not be started again yet, if the last one has ended at a time.
func (b *restartBackoff) holds(nowNs, exitedNs int64) bool {
	return b.waitNs > 0 && !b.expired(exitedNs) && nowNs-exitedNs < b.waitNs
}

// next makes the next wait longer.
func (b *restartBackoff) next(nowNs, exitedNs int64) {
	if b.waitNs == 0 || b.expired(exitedNs) {
		b.waitNs = firstRestartNs
	} else {
		b.waitNs = min(2*b.waitNs, mostRestartNs)
	}
	b.updatedNs = nowNs
}

// probeWorker sends the probes of one kind (k8s.io/kubernetes, pkg/kubelet/prober/worker.go). It probes at each tick.
// A tick that comes during a probe is kept, and the next probe follows at once; a second one is not.
//
// The number of equal results in a row goes on from one container to the next, unless the probe has restarted the container.
type probeWorker struct {
	*Probe
	prober *prober
	kind   int
	index  int // of its request among those of the workload

	atNs      int64 // of the next tick
	ticked    bool  // a tick is kept
	probing   bool  // a probe is under way
	succeeded bool  // its response

	container int // the number of the last container that was seen
	onHold    bool
	last      bool // the latest result
	run       int  // how many have been so in a row
}

// probeTick is the alarm of the next tick.
type probeTick probeWorker

// Ring implements clock.Alarm.
func (a *probeTick) Ring(nowNs int64) {
	w := (*probeWorker)(a)
	w.atNs += int64(w.Period)
	w.prober.all.runState.ClientAlarms().Set(w.atNs, a)
	if w.probing {
		w.ticked = true
		return
	}
	w.probe(nowNs)
}

// probe sends a probe, if it is time for one (doProbe).
func (w *probeWorker) probe(nowNs int64) {
	p := w.prober
	c := &p.container
	if w.container != c.number {
		w.container, w.onHold = c.number, false
		if w.kind == readinessProbe {
			p.setReady(false)
		}
	}
	switch {
	case w.onHold || !c.runs:
		return
	case nowNs-c.startedNs < int64(w.InitialDelay):
		return
	case c.started == (w.kind == startupProbe):
		return
	case p.stage > server.Ready && w.kind != readinessProbe: // its pod ends, or it is being killed
		return
	}
	r := p.requestOf(w.index)
	r.Details.ClientTimeoutNs = int64(w.Timeout)
	w.probing = true
	p.all.network.SendTo(nowNs, r, p.group.index, int(p.index), int16(p.index))
}

// probeResult is the alarm by which a result takes effect.
type probeResult probeWorker

// Ring implements clock.Alarm.
func (a *probeResult) Ring(nowNs int64) {
	w := (*probeWorker)(a)
	w.probing = false
	w.judge(nowNs)
	if w.ticked {
		w.ticked = false
		w.probe(nowNs)
	}
}

// judge counts a result, and acts if there have been enough of its kind in a row.
func (w *probeWorker) judge(nowNs int64) {
	if w.last != w.succeeded {
		w.last, w.run = w.succeeded, 0
	}
	w.run++
	if w.succeeded && w.run < w.SuccessThreshold || !w.succeeded && w.run < w.FailureThreshold {
		return
	}
	p := w.prober
	current := w.container == p.container.number
	if w.kind == startupProbe || w.kind == livenessProbe && !w.succeeded {
		w.onHold, w.run = true, 0
	}
	switch {
	case !current: // of a container that has ended
	case w.kind == readinessProbe:
		p.setReady(w.succeeded)
	case !w.succeeded:
		p.kill(nowNs)
	case w.kind == startupProbe:
		p.container.started = true
	}
}
