package workload

import (
	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/metric"
)

// nodeLease renews the lease of a node (k8s.io/component-helpers, apimachinery/lease/controller.go).
//
//	sync      with a lease in memory: up to 5 PUTs, one at once after the other; without one, or if they
//	          have all failed: ensure, and if it has not created the lease, up to 5 PUTs again.
//	          The next one begins 10 s × [1, 1.04) after the end.
//	ensure    a GET, and a POST if there is no lease, until it succeeds: 200 ms after a failure, twice as
//	          long each time, and 7 s at most. It also comes after each PUT that is answered 409.
type nodeLease struct {
	*kubelet
	version  int64 // in memory; 0 without one
	memory   bool  // the PUTs under way are the first ones of the sync
	tries    int
	step     leaseStep
	conflict bool // ensure comes after a PUT with a conflict
	sleepNs  int64
	fields   map[string]string // of the lease, which all its versions share
}

func (l *nodeLease) start(k *kubelet) {
	l.kubelet, l.fields = k, map[string]string{holderField: k.node}
}

// leaseStep is what the request of a lease is for.
type leaseStep uint8

const (
	leaseRenews leaseStep = iota
	leaseReads
	leaseCreates
)

const firstSleepNs = 100 * millisecond // backoffEnsureLease, registerWithAPIServer

func (l *nodeLease) sync(nowNs int64) {
	l.memory, l.tries = l.version != 0, 0
	if l.memory {
		l.send(nowNs, leaseRenews)
		return
	}
	l.ensure(nowNs, false)
}

func (l *nodeLease) ensure(nowNs int64, conflict bool) {
	l.conflict, l.sleepNs = conflict, firstSleepNs
	l.send(nowNs, leaseReads)
}

func (l *nodeLease) send(nowNs int64, step leaseStep) {
	l.step = step
	r, body := l.ask(leaseToken, "get", "coordination.k8s.io", "leases", "kube-node-lease", l.node)
	switch step {
	case leaseCreates:
		r.Verb, r.Name, r.Call.Body = "create", "", body
		body.Name, body.Fields, body.Stamp = l.node, l.fields, nowNs+1
	case leaseRenews:
		r.Verb, r.Call.Body = "update", body
		body.Version, body.Fields, body.Stamp = request.At(l.version), l.fields, nowNs+1
	}
	l.heartbeat(nowNs, r)
}

func (l *nodeLease) answered(nowNs int64, a *api.Answer) {
	ok := succeeded(a)
	if ok {
		l.version = a.Version
	}
	switch l.step {
	case leaseRenews:
		switch {
		case ok:
			l.health.renewed(nowNs)
			l.end(nowNs)
		case conflicted(a):
			l.tries++
			l.ensure(nowNs, true)
		default:
			if l.tries > 0 {
				l.failedAgain(nowNs)
			}
			l.tries++
			l.retryPut(nowNs)
		}
	case leaseReads:
		switch {
		case ok:
			l.ensured(nowNs, false)
		case a.Status == 404:
			l.send(nowNs, leaseCreates)
		default:
			l.retryEnsureLater(nowNs)
		}
	case leaseCreates:
		if !ok {
			l.retryEnsureLater(nowNs)
			return
		}
		l.health.renewed(nowNs)
		l.ensured(nowNs, true)
	}
}

// retryEnsureLater lets ensure try again later.
func (l *nodeLease) retryEnsureLater(nowNs int64) {
	l.sleepNs = min(2*l.sleepNs, slowestNs)
	l.after(nowNs, l.sleepNs, func(nowNs int64) { l.send(nowNs, leaseReads) })
}

// ensured goes on when there is a lease.
func (l *nodeLease) ensured(nowNs int64, created bool) {
	switch {
	case l.conflict:
		l.retryPut(nowNs)
	case created:
		l.end(nowNs)
	default:
		l.memory, l.tries = false, 0
		l.send(nowNs, leaseRenews)
	}
}

// retryPut sends another PUT if there have been less than five.
func (l *nodeLease) retryPut(nowNs int64) {
	switch {
	case l.tries < heartbeatTries:
		l.send(nowNs, leaseRenews)
	case l.memory:
		l.ensure(nowNs, false)
	default:
		l.end(nowNs)
	}
}

func (l *nodeLease) end(nowNs int64) {
	l.wakeIn(nowNs, jittered(heartbeatNs, heartbeatJitter, &l.chance.Rand), (*leaseAlarm)(l))
}

// The constants of a node's status.
const (
	reportNs     = 300 * second // nodeStatusReportFrequency
	reportSpread = 0.5          // pkg/kubelet/kubelet_node_status.go, calculateDelay, since 1.32
)

// nodeStatus reports the status of a node (k8s.io/kubernetes, pkg/kubelet/kubelet_node_status.go). It looks
// every 10 s × [1, 1.04), and sends a PATCH if the status has changed, which is when the node has been
// declared not ready, or if the last one was 5 min ago, which is 5 min × [0.5, 1.5) after a change. It tries
// five times, at once: the first time from what the node's informer has, and then with a GET before.
//
// Before the first look the node is registered. A kubelet sends a POST for that, and a GET if the node
// exists. Here the GET comes first, and a POST if it does not: a POST would add a node to those that a
// scenario only counts.
type nodeStatus struct {
	*kubelet
	registered bool
	waitNs     int64 // of the registration
	verb       string
	tries      int
	reported   bool
	lastNs     int64 // when it was reported
	delayNs    int64 // how much later than 5 min the next report is due
}

func (n *nodeStatus) start(nowNs int64) {
	n.waitNs = firstSleepNs
	n.after(nowNs, n.waitNs, n.register)
}

func (n *nodeStatus) register(nowNs int64) {
	n.verb = "get"
	r, _ := n.ask()
	n.client.Send(nowNs, r)
}

// ask returns a request for the node, and a body.
func (n *nodeStatus) ask() (*APIRequest, *api.Body) {
	return n.kubelet.ask(nodeToken, n.verb, "", "nodes", "", n.node)
}

func (n *nodeStatus) registration(nowNs int64, a *api.Answer) {
	switch {
	case succeeded(a) || a.Status == 409:
		n.registered = true
		n.look(nowNs)
	case n.verb == "get" && a.Status == 404:
		n.verb = "create"
		r, body := n.ask()
		r.Name, r.Call.Body = "", body
		body.Name, body.Stamp = n.node, nowNs+1
		n.client.Send(nowNs, r)
	default:
		n.waitNs = min(2*n.waitNs, slowestNs)
		n.after(nowNs, n.waitNs, n.register)
	}
}

// look looks whether a report is due (syncNodeStatus).
func (n *nodeStatus) look(nowNs int64) {
	n.tries = 0
	n.try(nowNs)
}

// try is one of the tries of a report (tryUpdateNodeStatus).
func (n *nodeStatus) try(nowNs int64) {
	changed := n.health.notReady
	if n.reported && !changed && nowNs-n.lastNs < reportNs+n.delayNs {
		n.end(nowNs)
		return
	}
	if n.tries > 0 {
		n.verb = "get"
		r, _ := n.ask()
		n.heartbeat(nowNs, r)
		return
	}
	n.patch(nowNs)
}

func (n *nodeStatus) patch(nowNs int64) {
	n.delayNs = 0
	if n.health.notReady || !n.reported {
		n.delayNs = int64(float64(reportNs) * (n.chance.Float64() - reportSpread))
	}
	n.verb = "patch"
	r, body := n.ask()
	r.Subresource, r.Call.Body = "status", body
	body.Stamp = nowNs + 1
	n.heartbeat(nowNs, r)
}

func (n *nodeStatus) answered(nowNs int64, a *api.Answer) {
	switch {
	case !n.registered:
		n.registration(nowNs, a)
	case succeeded(a) && n.verb == "get":
		n.patch(nowNs)
	case succeeded(a):
		n.reported, n.lastNs = true, nowNs
		n.health.renewed(nowNs)
		n.health.ready(nowNs)
		n.end(nowNs)
	default:
		if n.tries > 0 {
			n.failedAgain(nowNs)
		}
		n.tries++
		if n.tries == heartbeatTries {
			n.end(nowNs)
			return
		}
		n.try(nowNs)
	}
}

func (n *nodeStatus) end(nowNs int64) {
	n.wakeIn(nowNs, jittered(heartbeatNs, heartbeatJitter, &n.chance.Rand), (*statusAlarm)(n))
}

// lookNs is how often nodes are looked at (k8s.io/kubernetes, cmd/kube-controller-manager, nodeMonitorPeriod).
const lookNs = 5 * second

// nodeHealth is what the controller of nodes thinks of the node
// (k8s.io/kubernetes, pkg/controller/nodelifecycle/node_lifecycle_controller.go, tryUpdateNodeHealth). It looks
// at all nodes every 5 s, and dates what it finds renewed by the time of its look. A node is not ready at the
// first look that is notReadyAfter or more after that, as a look is always a little later than it should be.
// It is ready again when the kubelet reports its status. The controller is not there: what it would see is
// what the kubelet knows to have been written.
type nodeHealth struct {
	*kubelet
	renewedNs  int64 // when the lease or the status was written
	notReady   bool
	notReadyNs int64 // since when
}

func (h *nodeHealth) start(nowNs int64) {
	h.renewedNs = nowNs
	h.wait(nowNs)
}

func (h *nodeHealth) renewed(nowNs int64) { h.renewedNs = nowNs }

// nextLook returns the first look at a time or after it.
func nextLook(atNs int64) int64 { return (atNs + lookNs - 1) / lookNs * lookNs }

// dueNs returns the look at which the node is not ready if nothing is renewed by then.
func (h *nodeHealth) dueNs() int64 {
	return nextLook(nextLook(h.renewedNs) + int64(h.settings.NotReady))
}

// wait waits until the node is not ready, if nothing is renewed by then.
func (h *nodeHealth) wait(nowNs int64) { h.wakeIn(nowNs, h.dueNs()-nowNs, (*healthAlarm)(h)) }

// look looks whether the node is not ready.
func (h *nodeHealth) look(nowNs int64) {
	if h.dueNs() > nowNs {
		h.wait(nowNs)
		return
	}
	h.notReady, h.notReadyNs = true, nowNs
	h.client.Note(nowNs, Note{Event: metric.NodeNotReady, Object: h.node, Ns: nowNs - h.renewedNs})
}

// ready ends that the node is not ready.
func (h *nodeHealth) ready(nowNs int64) {
	if !h.notReady {
		return
	}
	h.notReady = false
	h.client.Note(nowNs, Note{Event: metric.NodeReady, Object: h.node, Ns: nowNs - h.notReadyNs})
	h.wait(nowNs)
}
