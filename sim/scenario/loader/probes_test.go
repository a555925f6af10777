package loader

import (
	"strings"
	"testing"

	"apfsim/sim/quantity"
	"apfsim/sim/workload"
)

// The probes of kubeadm are those of the release, and a pod has a grace period.
func TestProbesOfKubeadm(t *testing.T) {
	for version, want := range map[string]string{"1.18": "/healthz", "1.19": "/livez", "1.37": "/livez"} {
		s := mustLoad(t, withSpec("servers: {kubernetesVersion: \""+version+"\", probes: Kubeadm}"))
		p, all := s.Spec.Servers.Probes, s.Spec.Workload
		if p.Liveness.Path != want || (p.Startup == nil) != (version == "1.18") || (p.Readiness == nil) != (version == "1.18") {
			t.Errorf("%s has the probes %+v", version, p)
		}
		if kill := s.Spec.Servers.Shutdown.KillAfter; kill != quantity.Duration(30e9) {
			t.Errorf("the grace period is %v", kill)
		}
		if last := all[len(all)-1]; last.Name != workload.ProbesName || !last.Added || last.Clients != 1 {
			t.Errorf("the last workload is %+v", last)
		}
	}
}

// All mistakes of probes are reported together, each with what is expected.
func TestProbesAreChecked(t *testing.T) {
	_, mistakes := Load(files("s.yaml", withSpec(`servers:
    startup: {restartAfter: 5s}
    loadBalancer: {readiness: true}
    probes:
      startup: {path: /live, successThreshold: 2}
      liveness: {path: "/livez?exclud=etcd", period: 1500ms}
`)), "s.yaml", Options{})
	text := mistakes.Err().Error()
	for _, want := range []string{
		`spec.servers.startup.restartAfter: 5s: cannot be set with probes`,
		`spec.servers.loadBalancer.readiness: needs servers.probes with a readiness probe`,
		`spec.servers.probes.startup.path: "/live": want a health check of kube-apiserver: /livez, /readyz or /healthz (did you mean "/livez"?)`,
		`spec.servers.probes.startup.successThreshold: 2: want 1, as Kubernetes requires for a startup probe`,
		`spec.servers.probes.liveness.path: "exclud=etcd": want exclude=CHECK or verbose after the question mark`,
		`spec.servers.probes.liveness.period: 1.5s: want whole seconds`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	for probes, want := range map[string]string{
		"kubeadm": `"kubeadm": want Kubeadm or an object with startup, liveness and readiness (did you mean "Kubeadm"?)`,
		"{}":      "has no probe: want startup, liveness or readiness",
	} {
		_, mistakes := Load(files("s.yaml", withSpec("servers: {probes: "+probes+"}")), "s.yaml", Options{})
		if len(mistakes) == 0 || !strings.Contains(mistakes.Err().Error(), want) {
			t.Errorf("%s: %v, want %s", probes, mistakes, want)
		}
	}
}
