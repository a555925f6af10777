package writers

import (
	"fmt"

	"apfsim/sim/api"
	"apfsim/sim/behaviour"
	"apfsim/sim/random"
	"apfsim/sim/scenario/behaviours"
)

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
	client     behaviour.Client
	settings   *behaviours.Kubelet
	node       string
	chance     random.Stream
	lease      nodeLease
	status     nodeStatus
	health     nodeHealth
	pods       podManager
	reflectors []*behaviour.Reflector
}

// NewKubelet returns the kubelet of a node.
func NewKubelet(c behaviour.Client, s *behaviours.Kubelet, node string) behaviour.Behaviour {
	k := &kubelet{client: c, settings: s, node: node}
	c.Stream(&k.chance, "kubelet")
	k.lease.kubelet, k.status.kubelet, k.health.kubelet = k, k, k
	watched := &k.pods
	watched.start(k)
	k.watch(behaviour.ReflectorSettings{Resource: "nodes", Name: node, Matches: 1}, nil)
	k.pods.reflector = k.watch(behaviour.ReflectorSettings{Resource: "pods", FieldSelector: "spec.nodeName=" + node, Matches: int64(s.Pods)}, watched)
	k.watch(behaviour.ReflectorSettings{Resource: "services"}, nil)
	for i := range s.Secrets {
		resource := [...]string{"secrets", "configmaps"}[i%2]
		k.watch(behaviour.ReflectorSettings{Resource: resource, Namespace: podNamespace, Name: fmt.Sprintf("of-pods-%d", i/2), Matches: 1}, nil)
	}
	return k
}

// watch adds a reflector.
func (k *kubelet) watch(s behaviour.ReflectorSettings, h behaviour.Handler) *behaviour.Reflector {
	s.WatchList = k.settings.Start == behaviours.WatchList
	s.FirstToken = reflectorTokens + int32(len(k.reflectors))*behaviour.ReflectorTokens
	r := behaviour.NewReflector(s, k.client, &k.chance, h)
	k.reflectors = append(k.reflectors, r)
	return r
}

// Start implements Behaviour.
func (k *kubelet) Start(nowNs int64) {
	k.after(nowNs, int64(k.chance.Float64()*float64(heartbeatNs)), func(nowNs int64) {
		k.health.start(nowNs)
		for _, r := range k.reflectors {
			r.Start(nowNs)
		}
		k.lease.sync(nowNs)
		k.status.start(nowNs)
		k.pods.tick(nowNs)
		k.pods.waitForEnd(nowNs)
	})
}

// after does something later, unless the workload ends before.
func (k *kubelet) after(nowNs, waitNs int64, do func(nowNs int64)) {
	k.client.Alarms().Set(nowNs+waitNs, alarm(func(nowNs int64) {
		if nowNs < k.client.EndNs() {
			do(nowNs)
		}
	}))
}

// Answered implements Behaviour.
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

// Received implements Behaviour.
func (k *kubelet) Received(nowNs int64, token int32, e *api.Event) {
	k.pods.received = e
	k.reflectorOf(token).Received(nowNs, token, e)
	k.pods.received = nil
}

func (k *kubelet) reflectorOf(token int32) *behaviour.Reflector {
	return k.reflectors[(token-reflectorTokens)/behaviour.ReflectorTokens]
}

// heartbeat sends a request of the heartbeats' client.
func (k *kubelet) heartbeat(nowNs int64, r *behaviour.Request) {
	r.Unlimited, r.TimeoutNs = true, heartbeatTimeout
	k.client.Send(nowNs, r)
}
