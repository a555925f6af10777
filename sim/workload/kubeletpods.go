package workload

import (
	"slices"
	"strconv"
	"strings"

	"apfsim/sim/api"
	"apfsim/sim/metric"
	"apfsim/sim/random"
)

const (
	podNamespace = "default"
	nodeField    = "spec.nodeName"
	phaseField   = "status.phase"
	podRunning   = "Running"
	podSucceeded = "Succeeded"

	podSyncNs = 10 * second // pkg/kubelet/status/status_manager.go, syncPeriod
)

// podManager is what a kubelet does about its pods. A pod's status changes when the kubelet sees the pod for
// the first time, since it starts without any time, and when it ends: by itself, or because somebody deletes
// it. Each change is a GET (from etcd) and a PATCH, one after another for all pods. Those that have failed are
// repeated with the next change of any pod, or with the full pass every 10 s
// (k8s.io/kubernetes, pkg/kubelet/status/status_manager.go, syncBatch and syncPod).
type podManager struct {
	*kubelet
	reflector *Reflector
	received  *api.Event      // that the reflector is about to apply
	all       []*pod          // in the order in which they have come
	byName    map[string]*pod // those that have a name
	numbered  int             // pods so far
	pending   int             // of all

	passNs     int64 // when the full passes began
	awaitsPass bool  // the next one, since a pod is pending

	nextEnd              *timer
	ofNode, whilePending map[string]string // the fields that all its pods have, and that new ones have
	batch                []*pod            // whose status is being reported; the first one is under way
	triggered            bool              // another batch is to follow
	patching             bool              // the request under way is the PATCH

	owner podOwner
}

// pod is a pod of the node.
type pod struct {
	name    string // "" of one that nobody has needed to name yet; see podManager.nameOf
	number  int    // of the kubelet's pods
	uid     int64  // 0 until it is known
	counted bool   // among the objects that a scenario only counts
	seen    bool   // by the kubelet
	phase   string
	pending bool    // its phase is to be reported
	ending  bool    // it ends, or has ended
	replace bool    // another one comes when it is gone
	stamps  []int64 // of the kubelet's own writes that its watch has not delivered yet
	wroteNs int64   // when the owner has created or deleted it
}

func (m *podManager) start(k *kubelet) {
	m.kubelet, m.byName = k, map[string]*pod{}
	m.owner.podManager = m
	m.nextEnd = newTimer(k.client, m.endOne)
	m.ofNode = map[string]string{nodeField: k.node}
	m.whilePending = map[string]string{nodeField: k.node, phaseField: "Pending"}
	first := make([]pod, k.settings.Pods)
	for i := range first {
		p := &first[i]
		p.counted, p.seen, p.phase = true, true, podRunning
		m.add(p)
	}
}

// add adds a pod, whose name comes later.
func (m *podManager) add(p *pod) {
	p.number = m.numbered
	m.numbered++
	m.all = append(m.all, p)
}

// nameOf returns the name of a pod.
func (m *podManager) nameOf(p *pod) string {
	if p.name == "" {
		p.name = m.node + "-" + strconv.Itoa(p.number)
		m.byName[p.name] = p
	}
	return p.name
}

// find returns the pod of a name, nil if there is none.
func (m *podManager) find(name string) *pod {
	if p := m.byName[name]; p != nil {
		return p
	}
	suffix, ok := strings.CutPrefix(name, m.node+"-")
	number, err := strconv.Atoi(suffix)
	if !ok || err != nil {
		return nil
	}
	i := slices.IndexFunc(m.all, func(p *pod) bool { return p.name == "" && p.number == number })
	if i < 0 || m.nameOf(m.all[i]) != name {
		return nil
	}
	return m.all[i]
}

func (m *podManager) remove(p *pod) {
	if m.byName[p.name] == p {
		delete(m.byName, p.name)
	}
	m.all = slices.DeleteFunc(m.all, func(other *pod) bool { return other == p })
}

// waitForEnd waits until one of the running pods ends by itself.
func (m *podManager) waitForEnd(nowNs int64) {
	if m.settings.Churn <= 0 {
		return
	}
	gapNs := m.chance.ExpFloat64() / float64(m.settings.Churn) * float64(second)
	m.nextEnd.setAfter(nowNs, int64(min(gapNs, random.LongestNs/2)))
}

// endOne ends one of the running pods.
func (m *podManager) endOne(nowNs int64) {
	m.waitForEnd(nowNs)
	n := 0
	for _, p := range m.all {
		if p.runs() {
			n++
		}
	}
	if n == 0 {
		return
	}
	left := m.chance.IntN(n)
	i := slices.IndexFunc(m.all, func(p *pod) bool {
		if p.runs() {
			left--
		}
		return left < 0
	})
	p := m.all[i]
	p.ending, p.replace = true, true
	if p.counted {
		m.owner.addTask(nowNs, podTask{p, namePod})
		return
	}
	m.change(nowNs, p, podSucceeded)
}

// runs says whether a pod runs and will go on.
func (p *pod) runs() bool { return p.phase == podRunning && !p.ending }

// change changes the phase of a pod.
func (m *podManager) change(nowNs int64, p *pod, phase string) {
	p.phase = phase
	m.setPending(nowNs, p, true)
	m.trigger(nowNs)
}

// setPending sets whether a pod's phase is to be reported.
func (m *podManager) setPending(nowNs int64, p *pod, pending bool) {
	if p.pending == pending {
		return
	}
	p.pending = pending
	if !pending {
		m.pending--
		return
	}
	m.pending++
	if m.pending == 1 && !m.awaitsPass {
		m.waitForPass(nowNs)
	}
}

// waitForPass waits until the next full pass.
func (m *podManager) waitForPass(nowNs int64) {
	m.awaitsPass = true
	m.wakeIn(nowNs, podSyncNs-(nowNs-m.passNs)%podSyncNs, (*podsAlarm)(m))
}

// tick is the full pass. One that would find nothing pending is left out.
func (m *podManager) tick(nowNs int64) {
	m.awaitsPass = false
	m.trigger(nowNs)
	if m.pending > 0 {
		m.waitForPass(nowNs)
	}
}

// trigger begins a batch, now or after the one that is under way.
func (m *podManager) trigger(nowNs int64) {
	if len(m.batch) > 0 {
		m.triggered = true
		return
	}
	if m.pending == 0 {
		return
	}
	for _, p := range m.all {
		if p.pending {
			m.batch = append(m.batch, p)
		}
	}
	m.report(nowNs)
}

// report reports the status of the next pod of the batch, unless it is gone.
func (m *podManager) report(nowNs int64) {
	m.batch = slices.DeleteFunc(m.batch, func(p *pod) bool { return !p.pending })
	if len(m.batch) > 0 {
		m.patching = false
		r, _ := m.askFor("get", m.batch[0], podToken)
		m.client.Send(nowNs, r)
	}
}

// askFor returns a request for a pod, and a body.
func (m *podManager) askFor(verb string, p *pod, token int32) (*APIRequest, *api.Body) {
	return m.ask(token, verb, "", "pods", podNamespace, m.nameOf(p))
}

// phases are the fields of the pods that a kubelet reports, by their phase.
var phases = map[string]map[string]string{podRunning: {phaseField: podRunning}, podSucceeded: {phaseField: podSucceeded}}

func (m *podManager) answered(nowNs int64, a *api.Answer) {
	p := m.batch[0]
	switch {
	case !m.patching && succeeded(a) && (p.uid == 0 || p.uid == a.UID):
		m.patching = true
		p.uid = a.UID
		p.stamps = append(p.stamps, nowNs+1)
		r, body := m.askFor("patch", p, podToken)
		r.Subresource, r.Call.Body = "status", body
		body.UID, body.Fields, body.Stamp = p.uid, phases[p.phase], nowNs+1
		m.client.Send(nowNs, r)
		return
	case !m.patching && (succeeded(a) || a.Status == 404):
		m.setPending(nowNs, p, false) // it is gone, or another one has its name
	case m.patching && succeeded(a):
		m.setPending(nowNs, p, false)
		if p.phase == podSucceeded {
			m.owner.addTask(nowNs, podTask{p, deletePod})
		}
	}
	m.batch = slices.Delete(m.batch, 0, 1)
	m.report(nowNs)
	if len(m.batch) == 0 && m.triggered {
		m.triggered = false
		m.trigger(nowNs)
	}
}

// Changed implements Handler.
func (m *podManager) Changed(nowNs int64, _ *Reflector, previous, o *api.Object) {
	p := m.find(o.Name)
	if p == nil || o.Namespace != podNamespace {
		return // a pod that somebody else has assigned to the node, who may report its status
	}
	switch {
	case !p.seen:
		p.seen, p.uid = true, o.UID
		m.noteSeen(nowNs, p, o)
		m.change(nowNs, p, podRunning)
	case p.counted || previous == nil || p.writtenByKubelet(previous, o):
	default:
		m.noteSeen(nowNs, p, o)
	}
	if o.Deleting() && !p.ending {
		p.ending, p.replace = true, true
		m.change(nowNs, p, podSucceeded)
	}
}

// writtenByKubelet says whether a new version of a pod is a PATCH of its status by the kubelet.
func (p *pod) writtenByKubelet(previous, o *api.Object) bool {
	if o.Stamp == previous.Stamp {
		return false
	}
	i := slices.Index(p.stamps, o.Stamp)
	p.stamps = p.stamps[i+1:]
	return i >= 0
}

// Deleted implements Handler.
func (m *podManager) Deleted(nowNs int64, _ *Reflector, o *api.Object) {
	p := m.find(o.Name)
	if p == nil || o.Namespace != podNamespace {
		return
	}
	m.noteSeen(nowNs, p, o)
	m.setPending(nowNs, p, false)
	m.remove(p)
	if !p.ending { // somebody else has deleted it at once
		m.owner.addTask(nowNs, podTask{nil, createPod})
	}
}

// Listed implements Handler.
func (m *podManager) Listed(int64, *Reflector) {}

// noteSeen notes that the kubelet has seen what somebody else has written: how late, if the watch says when it
// was written, or if it was the pods' owner.
func (m *podManager) noteSeen(nowNs int64, p *pod, o *api.Object) {
	switch e := m.received; {
	case e != nil && e.Object == o && e.Type <= api.Deleted:
		m.client.Note(nowNs, Note{Event: metric.PodSeen, Object: m.node, Ns: nowNs - e.AtNs})
	case p.wroteNs > 0:
		m.client.Note(nowNs, Note{Event: metric.PodSeen, Object: m.node, Ns: nowNs - p.wroteNs})
	}
}

// podOwner writes what others than the kubelet do to the pods of a node: a controller deletes pods that have
// ended and creates others, and a scheduler assigns these. Here the kubelet's client does this, outside its
// rate limit, as a kubelet may for mirror pods: a POST with the node's name, and a DELETE without a grace
// period.
//
// A pod that is only counted has no node that a selector could find. Before it ends a PATCH gives it the
// node's name, which nobody sends in a real cluster.
type podOwner struct {
	*podManager
	tasks   []podTask // the first one is under way
	creates *pod      // that is being created, nil for none
}

// podTask is what the owner does to a pod.
type podTask struct {
	pod  *pod // nil of a creation
	kind podTaskKind
}

type podTaskKind uint8

const (
	namePod podTaskKind = iota
	deletePod
	createPod
)

// podTaskRetryNs is after how long a task that has failed is tried again.
const podTaskRetryNs = second

func (o *podOwner) addTask(nowNs int64, c podTask) {
	o.tasks = append(o.tasks, c)
	if len(o.tasks) == 1 {
		o.send(nowNs)
	}
}

func (o *podOwner) send(nowNs int64) {
	c := o.tasks[0]
	var r *APIRequest
	var body *api.Body
	switch c.kind {
	case namePod:
		r, body = o.askFor("patch", c.pod, ownerToken)
		r.Call.Body = body
		body.Fields, body.Stamp = o.ofNode, nowNs+1
	case deletePod:
		r, _ = o.askFor("delete", c.pod, ownerToken)
		r.Call.Options.GraceSecondsGiven = true
		r.Call.Options.Preconditions.UID = c.pod.uid
	case createPod:
		if o.creates == nil {
			o.creates = &pod{}
			o.add(o.creates)
		}
		r, body = o.askFor("create", o.creates, ownerToken)
		r.Call.Body = body
		body.Name, body.Fields, body.Stamp = r.Name, o.whilePending, nowNs+1
		r.Name = ""
	}
	r.Unlimited = true
	o.client.Send(nowNs, r)
}

func (o *podOwner) answered(nowNs int64, a *api.Answer) {
	c := o.tasks[0]
	if !succeeded(a) && a.Status != 404 && a.Status != 409 {
		o.after(nowNs, podTaskRetryNs, o.send)
		return
	}
	o.tasks = slices.Delete(o.tasks, 0, 1)
	gone := a.Status == 404
	switch c.kind {
	case namePod:
		c.pod.counted, c.pod.uid = false, a.UID
		o.reflector.Matches--
		if !gone {
			o.change(nowNs, c.pod, podSucceeded)
			break
		}
		o.remove(c.pod) // the scenario counts less pods than the node has
		o.tasks = append(o.tasks, podTask{nil, createPod})
	case deletePod:
		c.pod.wroteNs = nowNs
		if c.pod.replace {
			o.tasks = append(o.tasks, podTask{nil, createPod})
		}
	case createPod:
		o.creates.wroteNs = nowNs
		o.creates = nil
	}
	if len(o.tasks) > 0 {
		o.send(nowNs)
	}
}
