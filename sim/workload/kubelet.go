package workload

import (
	"fmt"

	"apfsim/core/request"
	"apfsim/core/rules"
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// Kubelet is a node.
type Kubelet struct {
	Pods     int               `json:"pods,omitempty" jsonschema:"default=30,minimum=0,maximum=1000"`
	Churn    quantity.Rate     `json:"churn,omitempty" jsonschema_description:"Pods of the node that end, and are replaced, in a second."`
	Secrets  int               `json:"secrets,omitempty" jsonschema:"minimum=0,maximum=1000" jsonschema_description:"Secrets and configmaps of its pods; it watches each one by its name."`
	Start    string            `json:"start,omitempty" jsonschema:"enum=List,enum=WatchList,default=WatchList" jsonschema_description:"Of its informers."`
	Closes   string            `json:"closesConnections,omitempty" jsonschema:"enum=All,enum=Idle,enum=Never" jsonschema_description:"Which of its connections it closes when a heartbeat fails again: without it All up to 1.23.6, as with the environment variable DISABLE_HTTP2, and Idle from 1.23.7 on, by the release of the first server."`
	Pings    *bool             `json:"pings,omitempty" jsonschema_description:"Whether it sends a ping on a connection that has been silent for 30s, and closes it after another 15s; without it from 1.19.5 on, by the release of the first server."`
	NotReady quantity.Duration `json:"notReadyAfter,omitempty" jsonschema:"default=50s,exclusiveMinimum=0s" jsonschema_description:"How long without its lease and its status until the node is not ready; 40s before 1.32."`
}

// The values of Kubelet.Closes.
const (
	CloseAll   = "All"
	CloseIdle  = "Idle"
	CloseNever = "Never"
)

// setDefaults fills in what depends on the rules of a release.
func (s *Kubelet) setDefaults(r *rules.Rules) {
	if s.Closes == "" {
		s.Closes = CloseAll
		if r.Node.ClosesIdle {
			s.Closes = CloseIdle
		}
	}
	if s.Pings == nil {
		pings := r.Node.Pings
		s.Pings = &pings
	}
}

// PingsConnections says whether the kubelet finds out by itself that a connection is silent.
func (s *Kubelet) PingsConnections() bool { return s.Pings == nil || *s.Pings }

// SetNodes fills in what kubelets of a release do, where the workloads do not say it.
func SetNodes(all []Workload, r *rules.Rules) {
	for i := range all {
		if b := all[i].Behaviour; b != nil && b.Kubelet != nil {
			b.Kubelet.setDefaults(r)
		}
	}
}

func (s *Kubelet) check(c *checker, path string) {
	if s.Churn > 0 && s.Pods == 0 {
		c.Fail(path+".churn", "needs pods, which end and are replaced")
	}
}

func (s *Kubelet) resources() []string {
	return []string{"nodes", "leases.coordination.k8s.io", "pods", "services", "secrets", "configmaps"}
}

// rateLimit returns that of kubelets (k8s.io/kubernetes, pkg/kubelet/apis/config/v1beta1/defaults.go).
func (s *Kubelet) rateLimit() *RateLimit { return &RateLimit{QPS: 50, Burst: 100} }

// The tokens of a kubelet. Those of its reflectors follow.
const (
	leaseToken int32 = iota
	nodeToken
	podToken
	ownerToken
	reflectorTokens
)

// The constants of a node's heartbeats (k8s.io/kubernetes, pkg/kubelet/apis/config/v1beta1/defaults.go and
// cmd/kubelet/app/server.go, where heartbeats get a client without a rate limit).
const (
	heartbeatNs      = 10 * second // nodeStatusUpdateFrequency; a quarter of nodeLeaseDurationSeconds
	heartbeatJitter  = 0.04        // pkg/kubelet/kubelet.go, and component-helpers, apimachinery/lease/controller.go
	heartbeatTimeout = 10 * second // the smaller one of the interval and of the lease's duration
	heartbeatTries   = 5           // nodeStatusUpdateRetry, maxUpdateRetries
	slowestNs        = 7 * second  // maxBackoff; pkg/kubelet/kubelet_node_status.go, registerWithAPIServer
)

// kubelet is a node (k8s.io/kubernetes, pkg/kubelet). It keeps its lease and its status, reports the status of
// its pods, and watches its node, its pods, the services, and each secret and configmap that its pods use.
//
// It begins anywhere within the first 10 s, as nodes do not start together. Its pods are running then.
type kubelet struct {
	client     Client
	settings   *Kubelet
	node       string
	endNs      int64 // of the workload
	chance     random.Stream
	lease      nodeLease
	status     nodeStatus
	health     nodeHealth
	pods       podManager
	reflectors []*Reflector
}

// Machine returns the kubelet of the client's node.
func (s *Kubelet) Machine(c Client) Machine {
	node := c.Node()
	k := &kubelet{client: c, settings: s, node: node, endNs: c.EndNs()}
	c.Stream(&k.chance, "kubelet")
	k.lease.start(k)
	k.status.kubelet, k.health.kubelet = k, k
	watched := &k.pods
	watched.start(k)
	k.watch(ReflectorSettings{Resource: "nodes", Name: node, Matches: 1}, nil)
	k.pods.reflector = k.watch(ReflectorSettings{Resource: "pods", FieldSelector: "spec.nodeName=" + request.EscapeFieldValue(node), Matches: int64(s.Pods)}, watched)
	k.watch(ReflectorSettings{Resource: "services"}, nil)
	for i := range s.Secrets {
		resource := [...]string{"secrets", "configmaps"}[i%2]
		k.watch(ReflectorSettings{Resource: resource, Namespace: podNamespace, Name: fmt.Sprintf("of-pods-%d", i/2), Matches: 1}, nil)
	}
	return k
}

// watch adds a reflector.
func (k *kubelet) watch(s ReflectorSettings, h Handler) *Reflector {
	s.WatchList = k.settings.Start == WatchList
	s.FirstToken = reflectorTokens + int32(len(k.reflectors))*tokensPerReflector
	r := NewReflector(s, k.client, &k.chance, h)
	k.reflectors = append(k.reflectors, r)
	return r
}

// Start implements Machine.
func (k *kubelet) Start(nowNs int64) {
	k.after(nowNs, int64(k.chance.Float64()*float64(heartbeatNs)), func(nowNs int64) {
		k.health.start(nowNs)
		for _, r := range k.reflectors {
			r.Start(nowNs)
		}
		k.lease.sync(nowNs)
		k.status.start(nowNs)
		k.pods.passNs = nowNs
		k.pods.waitForEnd(nowNs)
	})
}

// ends says whether the workload has ended, so that nothing more is done.
func (k *kubelet) ends(nowNs int64) bool { return nowNs >= k.endNs }

// The alarms of what each kubelet does all the time. As other types of what they belong to, they need no memory, of
// which thousands of timers would have too much for the processor's cache.
type (
	leaseAlarm  nodeLease
	statusAlarm nodeStatus
	healthAlarm nodeHealth
	podsAlarm   podManager
)

// Ring renews the lease.
func (a *leaseAlarm) Ring(nowNs int64) {
	if !a.ends(nowNs) {
		(*nodeLease)(a).sync(nowNs)
	}
}

// Ring looks whether the status is to be reported.
func (a *statusAlarm) Ring(nowNs int64) {
	if !a.ends(nowNs) {
		(*nodeStatus)(a).look(nowNs)
	}
}

// Ring looks whether the node is ready.
func (a *healthAlarm) Ring(nowNs int64) {
	if !a.ends(nowNs) {
		(*nodeHealth)(a).look(nowNs)
	}
}

// Ring makes the full pass over the pods.
func (a *podsAlarm) Ring(nowNs int64) {
	if !a.ends(nowNs) {
		(*podManager)(a).tick(nowNs)
	}
}

// wakeIn makes an alarm ring after a wait.
func (k *kubelet) wakeIn(nowNs, waitNs int64, a clock.Alarm) { k.client.Alarms().Set(nowNs+waitNs, a) }

// after does something once, after a wait, unless the workload ends before.
func (k *kubelet) after(nowNs, waitNs int64, do func(nowNs int64)) {
	newTimer(k.client, do).setAfter(nowNs, waitNs)
}

// Answered implements Machine.
func (k *kubelet) Answered(nowNs int64, token int32, a *api.Answer) {
	switch token {
	case leaseToken:
		k.lease.answered(nowNs, a)
	case nodeToken:
		k.status.answered(nowNs, a)
	case podToken:
		k.pods.answered(nowNs, a)
	case ownerToken:
		k.pods.owner.answered(nowNs, a)
	default:
		k.reflectorOf(token).Answered(nowNs, token, a)
	}
}

// Received implements Machine.
func (k *kubelet) Received(nowNs int64, token int32, e *api.Event) {
	k.pods.received = e
	k.reflectorOf(token).Received(nowNs, token, e)
	k.pods.received = nil
}

func (k *kubelet) reflectorOf(token int32) *Reflector {
	return k.reflectors[(token-reflectorTokens)/tokensPerReflector]
}

// ask returns a request for an object, to be completed and sent, and its body, which it does not have yet.
func (k *kubelet) ask(token int32, verb, group, resource, namespace, name string) (*APIRequest, *api.Body) {
	r, body := k.client.Scratch()
	r.Token, r.Verb, r.Group, r.Resource, r.Namespace, r.Name = token, verb, group, resource, namespace, name
	return r, body
}

// failedAgain is called when a try of a heartbeat has failed that was not the first (onRepeatedHeartbeatFailure).
func (k *kubelet) failedAgain(nowNs int64) {
	if k.settings.Closes == CloseNever {
		return
	}
	k.client.Note(nowNs, Note{Event: metric.ConnectionsClosed, Object: k.node})
	k.client.CloseConnections(nowNs, k.settings.Closes == CloseIdle)
}

// heartbeat sends a request of the heartbeats' client.
func (k *kubelet) heartbeat(nowNs int64, r *APIRequest) {
	r.Unlimited, r.TimeoutNs = true, heartbeatTimeout
	k.client.Send(nowNs, r)
}
