package loader

import (
	"strings"
	"testing"

	"apfsim/sim/scenario/assign"
)

// behaving returns a scenario with a store and a workload that behaves like this.
func behaving(behaviour string) string {
	return strings.Replace(withWorkload("as: {user: a}\nbehaviour: "+behaviour), "  workload:", "  store: {}\n  workload:", 1)
}

// Each of these is one mistake in a behaviour.
func TestMistakesInBehaviours(t *testing.T) {
	for behaviour, want := range map[string]string{
		"{}":                          ": want one of informer, controller, leaderElection, kubelet, writer, eventRecorder, lister, kubectl",
		"informer":                    `: "informer" is a string; want an object`,
		"{informr: {resource: pods}}": `.informr: unknown field (did you mean "informer"?)`,
		"{informer: {resource: pods}, lister: {resource: pods, every: 1s}}": ": has informer and lister: want one of them",

		"{informer: {}}": ".informer.resource: is missing",
		"{informer: {resource: deployments.apps}}":                       `.informer.resource: "deployments.apps": want deployments, and group: apps beside it`,
		"{informer: {resource: pods/status}}":                            `.informer.resource: "pods/status": want no slashes, dots, spaces or braces`,
		"{informer: {resource: pods, start: Watchlist}}":                 `.informer.start: "Watchlist": want List, WatchList (did you mean "WatchList"?)`,
		"{informer: {resource: pods, matches: -3}}":                      ".informer.matches: -3: want 0 or more",
		"{informer: {resource: pods, limit: -1}}":                        ".informer.limit: -1: want 0 or more",
		"{informer: {resource: pods, perEvent: -1s}}":                    ".informer.perEvent: -1s is negative; want a duration of 0s or more",
		"{informer: {resource: pods, fieldSelectr: a}}":                  `.informer.fieldSelectr: unknown field (did you mean "fieldSelector"?)`,
		`{informer: {resource: pods, namespace: "n-{j}"}}`:               `.informer.namespace: "n-{j}": want no braces except {i}, which is replaced by the client's index`,
		`{informer: {resource: pods, fieldSelector: "spec.nodeName"}}`:   `.informer.fieldSelector: "spec.nodeName": "spec.nodeName" has neither = nor !=; a server answers 400`,
		`{informer: {resource: pods, labelSelector: "app in web"}}`:      `.informer.labelSelector: "app in web": "web" after in or notin; want a list in parentheses; a server answers 400`,
		"{lister: {resource: pods}}":                                     ".lister.every: is missing",
		"{lister: {resource: pods, every: 0s}}":                          ".lister.every: is always 0s; want more than 0s, as the client would never end to send",
		"{lister: {resource: pods, every: 1s, resourceVersion: latest}}": `.lister.resourceVersion: "latest": want a version, 0 for any, or nothing for the latest`,

		"{controller: {watches: pods/status}}":                                     `.controller.watches: "pods/status": want a resource, such as pods or deployments.apps`,
		"{controller: {watches: pods, workers: 0}}":                                ".controller.workers: 0: want 1 to 10000",
		"{controller: {watches: pods, reconcile: [{verb: gett, resource: pods}]}}": `.controller.reconcile[0].verb: "gett": want get, list, create, update, patch, delete (did you mean "get"?)`,
		"{controller: {watches: pods, queue: Defalt}}":                             `.controller.queue: "Defalt": want Default, or an object (did you mean "Default"?)`,
		"{controller: {watches: pods, queue: {max: 1ms}}}":                         ".controller.queue.max: 1ms: want at least base, 5ms",
		"{controller: {watches: pods, queue: {qps: -1}}}":                          ".controller.queue.qps: -1: want 0 to 1e9; 0 for no bucket",
		"{controller: {watches: pods, queue: {burst: 0}}}":                         ".controller.queue.burst: 0: want 1 or more",
		"{controller: {watches: pods, maxRetries: -2}}":                            ".controller.maxRetries: -2: want 0 or more; 0 for no limit",
		"{controller: {watches: pods, burst: 0}}":                                  ".controller.burst: 0: want 1 or more",
		"{controller: {watches: pods, qps: 2e9}}":                                  ".controller.qps: 2e+09: want at most 1e9, or less than 0 for no limit",

		"{leaderElection: {lease: scheduler}}":              `.leaderElection.lease: "scheduler": want a namespace and a name, such as kube-system/scheduler`,
		"{leaderElection: {lease: a/b, candidates: 0}}":     ".leaderElection.candidates: 0: want 1 to 1000",
		"{leaderElection: {lease: a/b, leaseDuration: 5s}}": ".leaderElection.leaseDuration: 5s: want more than renewDeadline, 10s",
		"{leaderElection: {lease: a/b, retryPeriod: 9s}}":   ".leaderElection.renewDeadline: 10s: want more than 1.2 times retryPeriod, 9s",
		`{leaderElection: {lease: "a/{n}"}}`:                `.leaderElection.lease: "a/{n}": want no braces except {i}, which is replaced by the client's index`,

		"{writer: {resource: pods, every: 1s, with: put}}":                     `.writer.with: "put": want Put, Patch, Apply (did you mean "Put"?)`,
		"{writer: {resource: pods, every: 1s, objects: 0}}":                    ".writer.objects: 0: want 1 to 10000000",
		"{writer: {resource: pods, every: 1s, force: true}}":                   ".writer.force: needs with: Apply",
		"{writer: {resource: pods, every: 1s, with: Patch, version: false}}":   ".writer.version: needs with: Put; a patch and an apply carry none",
		"{writer: {resource: pods, every: 1s, retryOnConflict: Defualt}}":      `.writer.retryOnConflict: "Defualt": want None, Default, Backoff, or an object (did you mean "Default"?)`,
		"{writer: {resource: pods, every: 1s, retryOnConflict: {steps: 0}}}":   ".writer.retryOnConflict.steps: 0: want 1 to 1000000",
		"{writer: {resource: pods, every: 1s, retryOnConflict: {factor: -1}}}": ".writer.retryOnConflict.factor: -1: want 0 to 1000",
		"{writer: {resource: pods, every: 1s, retryOnConflict: {jitter: -1}}}": ".writer.retryOnConflict.jitter: -1: want 0 to 1000",

		"{eventRecorder: {rate: 0/s}}":                             ".eventRecorder.rate: want more than 0/s",
		"{eventRecorder: {rate: 1/s, objects: 0}}":                 ".eventRecorder.objects: 0: want 1 to 1000000",
		"{eventRecorder: {rate: 1/s, burst: 0}}":                   ".eventRecorder.burst: 0: want 1 or more",
		"{kubectl: {command: applies, resource: pods, every: 1s}}": `.kubectl.command: "applies": want get, apply, apply --server-side, delete`,
		"{kubectl: {command: delete, resource: pods, every: 1s}}":  ".kubectl.name: is missing; want the name of the object",
	} {
		_, mistakes := Load(files("s.yaml", behaving(behaviour)), "s.yaml", Options{})
		if len(mistakes) != 1 || mistakes[0].Path+": "+mistakes[0].Message != "spec.workload[0].behaviour"+want || mistakes[0].Line == 0 {
			t.Errorf("%s\nmistakes\n%v\nwant\n%s", behaviour, mistakes, want)
		}
	}
	mustLoad(t, behaving("{controller: {watches: deployments.apps, qps: -1, burst: 0, queue: {qps: 0, burst: 0}}}"))
}

func TestMistakesAroundBehaviours(t *testing.T) {
	const copies = "behaviour: {informer: {resource: pods}}\n"
	kubelets := func(as string) string { return as + "\nclients: 2\nbehaviour: {kubelet: {pods: 3}}\n" }
	for _, c := range []struct{ workload, want string }{
		{"as: {user: a}\nexecution: 1ms", ".request: is missing; want a request, or requests with weights, and arrivals; or a behaviour"},
		{copies, ".as: is missing or empty; want one of user, serviceAccount, node, anonymous"},
		{"as: {user: a}\nrequest: {verb: get, resource: pods}\n" + copies, ".request: cannot be set with behaviour, which takes its place"},
		{"as: {user: a}\nrequests: [{verb: get, resource: pods}]\n" + copies, ".requests: cannot be set with behaviour, which takes its place"},
		{"as: {user: a}\narrivals: {closed: {}}\n" + copies, ".arrivals: cannot be set with behaviour, which takes its place"},
		{"arrivals: {trace: {file: s.yaml}}\n" + copies, ".behaviour: cannot be set with a trace, which contains it"},
		{"as: {user: a}\narrivals: {closed: {}}\nrequest: {verb: get, resource: pods, name: p, subresource: log}\n",
			".execution: is missing; want how long the server takes to handle a request"}, // which the store does not know
		{kubelets("as: {user: kubelet}"), `.as: want a node, such as {node: "node-{i}"}, as a kubelet acts as its node`},
		{kubelets("as: {node: worker}"), `.as.node: "worker": is the node of all 2 clients; want one for each, such as "worker-{i}"`},
	} {
		text := strings.Replace(withWorkload(c.workload), "  workload:", "  store: {}\n  workload:", 1)
		_, mistakes := Load(files("s.yaml", text), "s.yaml", Options{})
		if len(mistakes) != 1 || mistakes[0].Path+": "+mistakes[0].Message != "spec.workload[0]"+c.want {
			t.Errorf("%s\nmistakes\n%v\nwant\n%s", c.workload, mistakes, c.want)
		}
	}
	_, mistakes := Load(files("s.yaml", withWorkload("as: {user: a}\n"+copies)), "s.yaml", Options{})
	wantMistakes(t, mistakes, "s.yaml:10:16: spec.workload[0].behaviour: needs spec.store, which has the objects that the clients read and write")
	_, mistakes = Load(files("s.yaml", withWorkload("as: {user: a}\nrequest: {verb: get, resource: pods}\narrivals: {closed: {}}")), "s.yaml", Options{})
	wantMistakes(t, mistakes, "s.yaml:8:5: spec.workload[0].execution: is missing; want how long the server takes to handle a request, or spec.store, from which it follows")
}

// A file with several mistakes about the store shows all of them.
func TestMistakesInTheStore(t *testing.T) {
	_, mistakes := Load(files("s.yaml", withSpec(`servers: {capacity: {cores: 8, watchEvent: 20us}}
  store:
    reed: 1ms
    write: -4ms
    readCapacity: {cores: 1, measured: 4}
    writeCapacity: {cores: 1, watchEvent: 5us, minimumCores: 3, measured: 4, interval: {cores: {low: 1, high: 1}}, calibrated: {verb: list, resource: pods, demand: 1ms}}
    compactionInterval: 5
    watchCache: [configmaps, Deployments.apps, pods/status, ""]
    eventTTL: 0s
    costs: {walkedObjects: 300ns, matchedObject: -1us, request: 0s}`)), "s.yaml", Options{})
	wantMistakes(t, mistakes,
		"s.yaml:6:46: spec.servers.capacity.watchEvent: 20µs: cannot be set with spec.store, whose costs.watchEvent it is",
		`s.yaml:8:5: spec.store.reed: unknown field (did you mean "read"?)`,
		"s.yaml:9:12: spec.store.write: -4ms is negative; want a duration of 0s or more",
		"s.yaml:10:40: spec.store.readCapacity.measured: cannot be set here: it is that of a server, spec.servers.capacity.measured",
		"s.yaml:11:43: spec.store.writeCapacity.watchEvent: cannot be set here: etcd sends no events to clients; that of a server is spec.store.costs.watchEvent",
		"s.yaml:11:62: spec.store.writeCapacity.minimumCores: cannot be set here: no watch event takes cores of etcd away",
		"s.yaml:11:75: spec.store.writeCapacity.measured: cannot be set here: it is that of a server, spec.servers.capacity.measured",
		"s.yaml:11:88: spec.store.writeCapacity.interval: cannot be set here: it is that of a server, spec.servers.capacity.interval",
		"s.yaml:11:128: spec.store.writeCapacity.calibrated: cannot be set here: it is that of a server, spec.servers.capacity.calibrated",
		"s.yaml:12:25: spec.store.compactionInterval: 5 has no unit; want a duration such as 60s or 1h30m",
		`s.yaml:13:30: spec.store.watchCache[1]: "Deployments.apps": want the plural name of a resource, such as configmaps or deployments.apps`,
		`s.yaml:13:48: spec.store.watchCache[2]: "pods/status": want the plural name of a resource, such as configmaps or deployments.apps`,
		`s.yaml:13:61: spec.store.watchCache[3]: "": want the plural name of a resource, such as configmaps or deployments.apps`,
		"s.yaml:14:15: spec.store.eventTTL: want more than 0s",
		`s.yaml:15:13: spec.store.costs.walkedObjects: unknown field (did you mean "walkedObject"?)`,
		"s.yaml:15:50: spec.store.costs.matchedObject: -1us is negative; want a duration of 0s or more",
		"s.yaml:15:65: spec.store.costs.request: want more than 0s, as a client that waits for nothing else would send without end at one time")
	for store, want := range map[string]string{
		"default":              `spec.store: "default" is a string; want an object`,
		"{costs: Defaults}":    `spec.store.costs: "Defaults": want Default or an object (did you mean "Default"?)`,
		"{costs: 3}":           "spec.store.costs: is a number; want Default or an object",
		"{watchCache: off}":    `spec.store.watchCache: "off": want true, false or a list of the resources without one`,
		"{watchCache: {a: b}}": "spec.store.watchCache: is an object; want true, false or a list of the resources without one",
	} {
		_, mistakes := Load(files("s.yaml", withSpec("store: "+store)), "s.yaml", Options{})
		if len(mistakes) != 1 || mistakes[0].Path+": "+mistakes[0].Message != want {
			t.Errorf("%s\nmistakes\n%v\nwant\n%s", store, mistakes, want)
		}
	}
}

func TestWarningsAboutTheStore(t *testing.T) {
	s := mustLoad(t, strings.Replace(behaving("{informer: {resource: configmaps}}"), "store: {}",
		"store: {watchCache: [configmap, configmaps, events, leases.coordination.k8s.io, pods]}\n  resources: [{resource: pods, objects: 1}]", 1))
	wantMistakes(t, s.Warnings,
		`s.yaml:7:24: spec.store.watchCache[0]: "configmap": no workload uses it, and spec.resources does not have it (did you mean "configmaps"?)`,
		`s.yaml:7:55: spec.store.watchCache[3]: "leases.coordination.k8s.io": no workload uses it, and spec.resources does not have it`)
	s = mustLoad(t, strings.Replace(behaving("{kubelet: {}}\ndelay: 1ms"), "user: a", "node: a", 1))
	wantMistakes(t, s.Warnings, "s.yaml:12:12: spec.workload[0].delay: has no effect on requests for resources: how long they wait for etcd follows from spec.store")
}

// What a watch event costs is said once: with a store by its costs.
func TestCostOfWatchEvents(t *testing.T) {
	text := behaving("{informer: {resource: pods}}")
	for set, want := range map[string]int64{
		"{cores: 8}":                   10_000,
		"{cores: 8, watchEvent: 10us}": 10_000,
		"{contention: 0.1}":            0, // there are no cores to take away
	} {
		s := mustLoad(t, text, "spec.servers.capacity="+set)
		if got := int64(s.Spec.Servers.Capacity.WatchEvent); got != want {
			t.Errorf("with capacity %s an event costs %d ns, want %d", set, got, want)
		}
	}
	s := mustLoad(t, text, "spec.servers.capacity={cores: 8}", "spec.store.costs.watchEvent=3us")
	if got := int64(s.Spec.Servers.Capacity.WatchEvent); got != 3000 {
		t.Errorf("an event costs %d ns, want 3000", got)
	}
}

// A closed loop whose executions follow from the store cannot send without end at one time.
func TestClosedLoopsAtAStore(t *testing.T) {
	text := strings.Replace(withWorkload("as: {user: a}\nrequest: {verb: get, resource: pods, name: p}\narrivals: {closed: {}}"), "  workload:", "  store: {}\n  workload:", 1)
	s := mustLoad(t, text)
	if got, want := s.Spec.Workload[0].ExpectedArrivals(s.Spec.Duration), 1+60/200e-6; got != want {
		t.Errorf("at most %v requests are expected, want %v", got, want)
	}
}

func TestStoreIsSetFromTheCommandLine(t *testing.T) {
	text := behaving("{leaderElection: {lease: a/b}}")
	s := mustLoad(t, text, "spec.store.costs.request=1ms", "spec.store.watchCache=false", "spec.workload[mice].behaviour.leaderElection.candidates=3", "spec.store.read=2ms")
	store := s.Spec.Store
	if store.Costs.Request != 1e6 || store.Costs.WatchEvent != 10_000 || !store.WatchCache.Off || store.Read.MeanNs() != 2e6 ||
		s.Spec.Workload[0].Behaviour.LeaderElection.Candidates != 3 {
		t.Errorf("the store is %+v, the election %+v", store, s.Spec.Workload[0].Behaviour.LeaderElection)
	}
	_, mistakes := Load(files("s.yaml", text), "s.yaml", Options{Set: assign.New("--set", []string{
		"spec.store.cost.request=1ms", "spec.store.watchCache=maybe", "spec.workload[mice].behaviour.leaderElection.candidates=0"})})
	wantMistakes(t, mistakes,
		`--set spec.store.cost.request=1ms: spec.store.cost: unknown field (did you mean "costs"?)`,
		`--set spec.store.watchCache=maybe: spec.store.watchCache: "maybe": want true, false or a list of the resources without one`,
		"--set spec.workload[mice].behaviour.leaderElection.candidates=0: spec.workload[0].behaviour.leaderElection.candidates: 0: want 1 to 1000")
}

// An interval that the capacity is not in is a mistake, and so is one that ends before it begins.
func TestMistakesInTheIntervalOfACapacity(t *testing.T) {
	_, mistakes := Load(files("s.yaml", withSpec(`servers:
    capacity:
      contention: 0.1
      interval:
        cores: {low: 0, high: 4}
        contention: {low: 0.2, high: 0.15}
        coherency: {low: 0.01, top: 1}`)), "s.yaml", Options{})
	wantMistakes(t, mistakes,
		"s.yaml:10:16: spec.servers.capacity.interval.cores: does not contain the value, no bound; want none if it is not the interval of this capacity",
		"s.yaml:11:38: spec.servers.capacity.interval.contention.high: 0.15: want at least low, 0.2",
		"s.yaml:12:32: spec.servers.capacity.interval.coherency.top: unknown field; want one of low, high")
}

// A capacity that was measured with a request has cores, and says how long the request took.
func TestMistakesInCalibrations(t *testing.T) {
	_, mistakes := Load(files("s.yaml", withSpec("servers: {capacity: {contention: 0.1, calibrated: {verb: list, resource: pods, demand: 1ms}}}")), "s.yaml", Options{})
	wantMistakes(t, mistakes, "s.yaml:6:53: spec.servers.capacity.calibrated: needs cores, which were measured with that request; set cores, or leave calibrated out")
	_, mistakes = Load(files("s.yaml", withSpec("servers: {capacity: {cores: 2, calibrated: {verb: list, demand: 0s}}}")), "s.yaml", Options{})
	wantMistakes(t, mistakes,
		"s.yaml:6:46: spec.servers.capacity.calibrated.resource: is missing",
		"s.yaml:6:67: spec.servers.capacity.calibrated.demand: want more than 0s")
}
