package workload

import (
	"strings"
	"time"

	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/sim/network"
	"apfsim/sim/quantity"
)

// Kubeadm is the value of Probes for those that kubeadm gives to a server.
const Kubeadm = "Kubeadm"

// Probes are the probes of the servers, each of which is a container of a static pod, whose kubelet probes it and
// restarts it. A probe that is not given does not exist.
type Probes struct {
	Startup   *Probe `json:"startup,omitempty" jsonschema_description:"Probes a container until it has succeeded once; the others begin then."`
	Liveness  *Probe `json:"liveness,omitempty" jsonschema_description:"Restarts a container that fails."`
	Readiness *Probe `json:"readiness,omitempty" jsonschema_description:"Finds out whether the pod is ready, for loadBalancer.readiness."`

	Execution quantity.Distribution `json:"execution,omitempty" jsonschema:"default=1ms" jsonschema_description:"How long a server takes to handle a probe, without the read from etcd that is one of its checks."`

	kubeadm bool
}

// Probe is one of the probes of a container, as in the specification of a pod.
type Probe struct {
	Path             string            `json:"path,omitempty" jsonschema:"pattern=^/(livez|readyz|healthz)([?].*)?$" jsonschema_description:"/livez, /readyz or /healthz, possibly with ?exclude=etcd; without it /livez, and /readyz for readiness."`
	InitialDelay     quantity.Duration `json:"initialDelay,omitempty" jsonschema:"default=0s" jsonschema_description:"From the start of the container until it is probed."`
	Period           quantity.Duration `json:"period,omitempty" also:"interval" jsonschema:"default=10s,minimum=1s" jsonschema_description:"From one probe to the next."`
	Timeout          quantity.Duration `json:"timeout,omitempty" jsonschema:"default=1s,minimum=1s" jsonschema_description:"When the kubelet gives a probe up, which has failed then."`
	FailureThreshold int               `json:"failureThreshold,omitempty" also:"failures" jsonschema:"default=3,minimum=1" document:"maximum=32767" jsonschema_description:"Probes in a row that must fail."`
	SuccessThreshold int               `json:"successThreshold,omitempty" also:"successes" jsonschema:"default=1,minimum=1" document:"maximum=32767" jsonschema_description:"Probes in a row that must succeed after a failure; 1 for startup and liveness."`
}

// UnmarshalDocument implements document.Unmarshaler.
func (p *Probes) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	document.SetDefaults(p)
	switch {
	case n.Kind == document.Object:
		type plain Probes
		d.Decode(n, path, (*plain)(p))
	case n.Kind != document.String:
		d.Fail(n, path, "is %v; want %s or an object with startup, liveness and readiness", n.Kind, Kubeadm)
	case n.Text != Kubeadm:
		d.Fail(n, path, "%q: want %s or an object with startup, liveness and readiness%s", document.Abridge(n.Text), Kubeadm,
			document.Suggest(n.Text, []string{Kubeadm}))
	default:
		p.kubeadm = true
	}
}

// The kinds of probes, which are the indices of Probes.all.
const (
	startupProbe = iota
	livenessProbe
	readinessProbe

	probeKinds
)

// all returns the probes by their kinds, nil for one that does not exist.
func (p *Probes) all() [probeKinds]*Probe {
	return [...]*Probe{startupProbe: p.Startup, livenessProbe: p.Liveness, readinessProbe: p.Readiness}
}

var probeNames = [probeKinds]string{"startup", "liveness", "readiness"}

// SetDefaults fills in the probes of kubeadm, by the rules of the servers' release, and the paths.
func (p *Probes) SetDefaults(r *rules.Rules) {
	const s = quantity.Duration(time.Second)
	switch {
	case !p.kubeadm:
	case r.Node.StartupProbe:
		p.Startup = &Probe{InitialDelay: 10 * s, Period: 10 * s, Timeout: 15 * s, FailureThreshold: 24, SuccessThreshold: 1}
		p.Liveness = &Probe{InitialDelay: 10 * s, Period: 10 * s, Timeout: 15 * s, FailureThreshold: 8, SuccessThreshold: 1}
		p.Readiness = &Probe{Period: s, Timeout: 15 * s, FailureThreshold: 3, SuccessThreshold: 1}
	default:
		p.Liveness = &Probe{Path: "/healthz", InitialDelay: 15 * s, Period: 10 * s, Timeout: 15 * s, FailureThreshold: 8, SuccessThreshold: 1}
	}
	for kind, probe := range p.all() {
		switch {
		case probe == nil || probe.Path != "":
		case kind == readinessProbe:
			probe.Path = "/readyz"
		default:
			probe.Path = "/livez"
		}
	}
}

// Check checks the probes at path.
func (p *Probes) Check(to *document.Checker, path string) {
	all := p.all()
	if all == ([probeKinds]*Probe{}) && !to.Failed(path) {
		to.Fail(path, "has no probe: want startup, liveness or readiness, or %s for all that kubeadm gives to a server", Kubeadm)
	}
	for kind, probe := range all {
		if probe == nil {
			continue
		}
		at := path + "." + probeNames[kind]
		name, query, _ := strings.Cut(probe.Path, "?")
		switch name {
		case "/livez", "/readyz", "/healthz":
		default:
			to.Fail(at+".path", "%q: want a health check of kube-apiserver: /livez, /readyz or /healthz%s", document.Abridge(probe.Path),
				document.Suggest(name, []string{"/livez", "/readyz", "/healthz"}))
		}
		for option := range strings.SplitSeq(query, "&") {
			if query != "" && !strings.HasPrefix(option, "exclude=") && option != "verbose" {
				to.Fail(at+".path", "%q: want exclude=CHECK or verbose after the question mark", document.Abridge(option))
			}
		}
		for _, d := range []struct {
			name  string
			value quantity.Duration
		}{{"initialDelay", probe.InitialDelay}, {"period", probe.Period}, {"timeout", probe.Timeout}} {
			if d.value%quantity.Duration(time.Second) != 0 {
				to.Fail(at+"."+d.name, "%v: want whole seconds, as in the specification of a pod", d.value)
			}
		}
		if kind != readinessProbe && probe.SuccessThreshold > 1 {
			to.Fail(at+".successThreshold", "%d: want 1, as Kubernetes requires for a %s probe", probe.SuccessThreshold, probeNames[kind])
		}
	}
}

// ProbesName is the name of the workload that the probes of the servers are in the results.
const ProbesName = "probes"

// AddProbes appends a workload for the probes of the servers, so that they are counted, timed and named apart. Its
// clients are the kubelets of the servers, by index.
func AddProbes(all []Workload, p *Probes, servers int) []Workload {
	w := Workload{
		Name: ProbesName, Clients: servers, Load: 1,
		As:         Identity{Anonymous: true},
		Connection: network.PerRequest, // a prober keeps no connection
		Added:      true, Probes: p,
	}
	for _, probe := range p.all() {
		if probe == nil {
			continue
		}
		path, query, _ := strings.Cut(probe.Path, "?")
		w.Requests = append(w.Requests, WeightedRequest{Request: Request{Verb: "get", Path: path, Query: query}, Weight: evenWeight, Execution: p.Execution})
	}
	return append(all, w)
}
