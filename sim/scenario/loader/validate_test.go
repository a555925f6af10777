package loader

import (
	"strings"
	"testing"
	"time"
)

const asks = "as: {user: a}\nrequest: {verb: get, path: /version}\n"

// Each of these is one mistake in a workload, or in the spec around it.
func TestOneMistakeEach(t *testing.T) {
	const arrives = "arrivals: {poisson: {rate: 1/s}}\n"
	const takes = "execution: 1ms\n"
	for _, c := range []struct{ workload, want string }{
		{asks + takes + "arrivals: {poisson: {rate: 0/s}}", "arrivals.poisson.rate: want more than 0/s"},
		{asks + takes + "arrivals: {poisson: {rate: null}}", "arrivals.poisson: want one of rate, total"},
		{asks + takes + "arrivals: {constant: null}", "arrivals: want one of constant, poisson, ramping, onOff, burst, closed, trace"},
		{asks + takes, "arrivals: is missing"},
		{asks + takes + "arrivals: {onOff: {rate: 1/s, on: 0s, off: 1s}}", "arrivals.onOff.on: is always 0s; want more than 0s, as the client would never send"},
		{asks + takes + "arrivals: {onOff: {rate: 1/s, on: 1s}}", "arrivals.onOff.off: is missing"},
		{asks + takes + "arrivals: {onOff: {rate: 1/s, on: null, off: 1s}}", "arrivals.onOff.on: is missing"},
		{asks + takes + "arrivals: {ramping: {stages: []}}", "arrivals.ramping.stages: is empty: want one stage at least"},
		{asks + takes + "arrivals: {ramping: {stages: [{duration: 1s, rate: 0/s}]}}", "arrivals.ramping.stages: no stage has a rate above 0/s"},
		{asks + takes + "arrivals: {ramping: {process: poison, stages: [{duration: 1s, rate: 1/s}]}}",
			`arrivals.ramping.process: "poison": want poisson, constant (did you mean "poisson"?)`},
		{asks + takes + "arrivals: {burst: {requests: 0}}", "arrivals.burst.requests: 0: want 1 to 100000000"},
		{"clients: 1000\n" + asks + takes + "arrivals: {burst: {requests: 1000000}}",
			"arrivals.burst.requests: 1000000 times 1000 clients: want at most 100000000 requests at once"},
		{asks + takes + "arrivals: {burst: {requests: 1, over: 2s, every: 1s}}",
			"arrivals.burst.over: 2s: want at most every, 1s: a burst ends before the next begins"},
		{asks + takes + "start: 30s\narrivals: {burst: {requests: 1, at: 30s}}",
			"arrivals.burst.at: 30s: want less than the length of the workload, 30s"},
		{asks + "execution: 0s\narrivals: {closed: {}}",
			"arrivals.closed: execution and think both take 0s, so that a client would send without end at one time; want more than 0s for one of them"},
		{"clients: 1000\n" + asks + takes + "arrivals: {closed: {concurrency: 1000000}}",
			"arrivals.closed.concurrency: 1000000 times 1000 clients: want at most 100000000 requests at once"},
		{"clients: 1000000\n" + asks + takes + "arrivals: {constant: {rate: 1e6/s}}",
			"arrivals: the scenario asks for about 6.0e+13 requests, 6.0e+13 of them here; want at most 2^40, about 1e12"},
		{asks + takes + "arrivals: {burst: {requests: 1000, every: 1ns}}",
			"arrivals: the scenario asks for about 6.0e+13 requests, 6.0e+13 of them here; want at most 2^40, about 1e12"},
		{asks + "execution: 1ns\narrivals: {closed: {concurrency: 1000}}",
			"arrivals: the scenario asks for about 6.0e+13 requests, 6.0e+13 of them here; want at most 2^40, about 1e12"},
		{"as: {user: u}\nrequest: {verb: get, resource: pods, name: x, matches: 3}\n" + takes + arrives,
			"request.matches: can be set with verb list, watch or deletecollection of a resource only"},
		{"as: {user: u}\nrequest: {verb: list, resource: pods, matches: -3}\n" + takes + arrives, "request.matches: -3: want 0 or more"},
		{"order: Once\n" + asks + takes + arrives, "order: Once: is the order of a list; want requests"},
		{"order: sequence\n" + asks + takes + arrives, `order: "sequence": want Weighted, Sequence, Once (did you mean "Sequence"?)`},
		{"order: Sequence\nas: {user: u}\nrequests: [{verb: get, path: /x}, {verb: get, path: /y, weight: 2}]\n" + takes + arrives,
			"requests[1].weight: 2: has no meaning with order: Sequence, which sends each in its turn"},
		{"order: Sequence\nas: {user: u}\nrequests: [{verb: get, path: /x}]\nexecution: 0s\narrivals: {closed: {}}",
			"arrivals.closed: execution and think both take 0s, so that a client would send without end at one time; want more than 0s for one of them"},
		{"clients: -1\n" + asks + takes + arrives, "clients: -1: want 0 to 10000000"},
		{"as: {user: u}\nrequest: {verb: create, resource: pods, name: x}\n" + takes + arrives,
			`request.name: "x": a create is sent to the collection, with no name in its URL; leave it out`},
		{asks + arrives, "execution: is missing; want how long the server takes to handle a request"},
		{asks + takes + arrives + "start: 60s", "start: 1m0s: want less than spec.duration, 1m0s"},
		{asks + takes + arrives + "start: 5s\nstop: 4s", "stop: 4s: want more than start, 5s"},
		{asks + takes + arrives + "stop: 61s", "stop: 1m1s: want at most spec.duration, 1m0s"},
		{asks + takes + arrives + "rateLimit: {qps: 0, burst: 1}", "rateLimit.qps: 0: want more than 0, or a negative number for no limit"},
		{asks + takes + arrives + "rateLimit: {qps: 1, burst: 0}", "rateLimit.burst: 0: want at least 1 with a limit"},
		{asks + takes + arrives + "retry: {maxRetries: -1}", "retry.maxRetries: -1: want 0 to 1000000"},
		{asks + takes + arrives + "retry: {backoff: {initial: 0s}}", "retry.backoff.initial: want more than 0s"},
		{asks + takes + arrives + "retry: {backoff: {initial: 2s, factor: 0.5}}", "retry.backoff.factor: 0.5: want 1 to 1000"},
		{asks + takes + arrives + "retry: {backoff: {initial: 2s, max: 1s}}", "retry.backoff.max: 1s: want at least initial, 2s"},
		{asks + takes + arrives + "retry: {backoff: {initial: 2s, jitter: -1}}", "retry.backoff.jitter: -1: want 0 to 1000"},
		{"request: {verb: get, path: /version}\n" + takes + arrives, "as: is missing or empty; want one of user, serviceAccount, node, anonymous"},
		{"as: {anonymous: false}\nrequest: {verb: get, path: /version}\n" + takes + arrives,
			"as: is missing or empty; want one of user, serviceAccount, node, anonymous"},
		{"as: {node: a, groups: [b]}\nrequest: {verb: get, path: /version}\n" + takes + arrives,
			"as.groups: can be set with user only; the others imply their groups"},
		{`as: {user: "u{j}"}` + "\nrequest: {verb: get, path: /version}\n" + takes + arrives,
			`as.user: "u{j}": want no braces except {i}, which is replaced by the client's index`},
		{"as: {user: a}\n" + takes + arrives, "request: is missing; want a request, requests with weights, or a behaviour"},
		{"as: {user: a}\nrequests: []\n" + takes + arrives, "requests: is empty: want one request at least"},
		{asks + "requests: [{verb: get, path: /version}]\n" + takes + arrives, "requests: cannot be set with request; want one of the two"},
		{"as: {user: a}\nrequest: {verb: get}\n" + takes + arrives, "request.resource: is missing; want a resource, or a path"},
		{"as: {user: a}\nrequest: {verb: list, path: /version}\n" + takes + arrives,
			`request.verb: "list": want get, head, post, put, patch, delete, options, connect, trace`},
		{"as: {user: a}\nrequest: {verb: get, path: version}\n" + takes + arrives, `request.path: "version": want a slash at the beginning`},
		{"as: {user: a}\nrequest: {verb: get, path: \"/version?a=b\"}\n" + takes + arrives,
			`request.path: "/version?a=b": the part after the question mark belongs in query`},
		{"as: {user: a}\nrequest: {verb: get, path: /version, namespace: b}\n" + takes + arrives,
			"request.namespace: can be set with resource only, not with path"},
		{"as: {user: a}\nrequest: {verb: list, resource: pods/log}\n" + takes + arrives,
			`request.resource: "pods/log": want no slashes, spaces or braces`},
		{"as: {user: a}\nrequest: {verb: list, resource: pods, watch: {duration: 1s}}\n" + takes + arrives,
			"request.watch: can be set with verb watch only, not with list"},
		{"as: {user: a}\nrequest: {verb: list, resource: pods, query: \"a=%zz\"}\n" + takes + arrives,
			`request.query: "a=%zz": invalid URL escape "%zz"`},
		{"as: {user: a}\nrequests: [{verb: list, resource: pods, weight: 0}]\n" + takes + arrives,
			"requests[0].weight: 0: want more than 0 and at most 1e12"},
	} {
		_, mistakes := Load(files("s.yaml", withWorkload(c.workload)), "s.yaml", Options{})
		if len(mistakes) != 1 || mistakes[0].Path+": "+mistakes[0].Message != "spec.workload[0]."+c.want {
			t.Errorf("%s\nmistakes\n%v\nwant\n%s", c.workload, mistakes, c.want)
		}
	}
	for spec, want := range map[string]string{
		"servers: {replicas: 0}":                                    "spec.servers.replicas: 0: want 1 to 100",
		"servers: {kubernetesVersion: \"\"}":                        `spec.servers.kubernetesVersion: "" is not a version of Kubernetes; want one from "1.18" to "1.38"`,
		"servers: {kubernetesVersion: 1.2}":                         `spec.servers.kubernetesVersion: "1.2" is not a supported version of Kubernetes; want one from "1.18" to "1.38"`,
		"servers: {kubernetesVersion: true}":                        `spec.servers.kubernetesVersion: is a boolean; want a version of Kubernetes, such as "1.37"`,
		"servers: {maxRequestsInflight: -1}":                        "spec.servers.maxRequestsInflight: -1: want 0 to 1073741823",
		"servers: {requestTimeout: 0s}":                             "spec.servers.requestTimeout: want more than 0s",
		"servers: {maintenance: true, flowControl: None}":           "spec.servers.maintenance: needs PriorityAndFairness, whose objects are maintained",
		"servers: {maintenancePhases: [0s]}":                        "spec.servers.maintenancePhases: needs maintenance",
		"servers: {maintenance: true, maintenancePhases: [0s, 1s]}": "spec.servers.maintenancePhases: has 2 phases for 1 servers; want one for each",
		"servers: {maintenance: true, maintenancePhases: [60s]}":    "spec.servers.maintenancePhases[0]: 1m0s: want 0s to less than 1m0s",
		"servers: {maxRequestsInflight: 0, maxMutatingRequestsInflight: 0}": "spec.servers.maxRequestsInflight: " +
			"is 0, and so is maxMutatingRequestsInflight; want more than 0 for one of them: PriorityAndFairness divides their sum",
		"resources: [{resource: pods, objects: -1}]":                              "spec.resources[0].objects: -1 is negative",
		"resources: [{resource: pods, objects: 1, averageBytes: -1}]":             "spec.resources[0].averageBytes: -1 is negative",
		"resources: [{resource: pods, objects: 1}, {resource: pods, objects: 1}]": "spec.resources[1].resource: duplicate resource pods",
		"replications: 0": "spec.replications: 0: want from 1 to 100000",
		"seed: 1.5":       "spec.seed: 1.5 is not a whole number from 0 to 2^64-1",
	} {
		_, mistakes := Load(files("s.yaml", withSpec(spec)), "s.yaml", Options{})
		if len(mistakes) != 1 || mistakes[0].Path+": "+mistakes[0].Message != want {
			t.Errorf("%s\nmistakes\n%v\nwant\n%s", spec, mistakes, want)
		}
	}
}

func TestWorkloadsThatAreRight(t *testing.T) {
	const takes = "execution: 1ms\n"
	for _, workload := range []string{
		asks + takes + "arrivals: {ramping: {process: constant, startRate: 0/s, stages: [{duration: 0s, rate: 5/m}, {duration: 10s, rate: 0/s}]}}",
		asks + takes + "arrivals: {onOff: {rate: 1/s, on: {exponential: {mean: 1s}}, off: 0s}}",
		asks + takes + "start: 10s\nstop: 60s\narrivals: {burst: {at: 5s, requests: 10, over: 1s, every: 1s}}",
		asks + "execution: 0s\narrivals: {closed: {think: 1s}}\nretry: ClientGo\nrateLimit: {qps: 0.1, burst: 1}",
		"order: Once\nas: {user: u}\nrequests: [{verb: get, path: /x}]\nexecution: 0s\narrivals: {closed: {}}", // which ends
		"as: {anonymous: true}\nrequests:\n- {verb: get, path: /healthz, execution: 1ms}\n" +
			"- {verb: watch, resource: pods, weight: 0.5, execution: 1ms, query: \"timeout=10s\", watch: {duration: 5m}}\narrivals: {poisson: {rate: 1/h}}",
	} {
		mustLoad(t, withWorkload(workload))
	}
}

func TestWatchesLastAsServersEndThem(t *testing.T) {
	s := mustLoad(t, withWorkload("as: {user: a}\nrequest: {verb: watch, resource: pods}\nexecution: 1ms\narrivals: {burst: {requests: 1}}"))
	if got := s.Spec.Workload[0].Requests[0].Watch.Duration.MeanNs(); got != float64(45*time.Minute) {
		t.Errorf("a watch lasts %v on average, want 45 minutes", time.Duration(got))
	}
}

func TestClientsOfAllWorkloadsCount(t *testing.T) {
	text := withWorkload("clients: 6000000\n" + asks + "execution: 1ms\narrivals: {burst: {requests: 1}}")
	_, workload, _ := strings.Cut(text, "  workload:\n")
	_, mistakes := Load(files("s.yaml", text+strings.Replace(workload, "mice", "rats", 1)), "s.yaml", Options{})
	wantMistakes(t, mistakes, "s.yaml:15:14: spec.workload[1].clients: 6000000: "+
		"with the workloads above these are 12000000 clients; want at most 10000000 in all")
}

// What a client accepts makes a difference only where answers have costs.
func TestEncodingWithoutAStoreIsWarnedOf(t *testing.T) {
	const fields = asks + "execution: 1ms\narrivals: {closed: {}}\nencoding: Protobuf\ncompression: None"
	s := mustLoad(t, withWorkload(fields))
	wantMistakes(t, s.Warnings, "s.yaml:13:15: spec.workload[0].encoding: has no effect without spec.store, by whose costs an answer is encoded",
		"s.yaml:14:18: spec.workload[0].compression: has no effect without spec.store, by whose costs an answer is compressed")
	s = mustLoad(t, withWorkload("as: {user: u}\nrequest: {verb: list, resource: pods, namespace: n, matches: 3}\nexecution: 1ms\narrivals: {closed: {}}"))
	wantMistakes(t, s.Warnings, "s.yaml:10:66: spec.workload[0].request.matches: has no effect without spec.store: the seats of a list follow from all objects of its resource, as a server counts them")
}

// Bursts of one request have nothing to spread, and clients do not take turns.
func TestBurstOfOneRequestOverAWhileIsWarnedOf(t *testing.T) {
	const fields = "clients: 9\nas: {user: u}\nrequest: {verb: get, resource: pods}\nexecution: 1ms\n"
	s := mustLoad(t, withWorkload(fields+"arrivals: {burst: {requests: 1, over: 2s}}"))
	wantMistakes(t, s.Warnings, "s.yaml:13:43: spec.workload[0].arrivals.burst.over: 2s: has no effect, as each client sends one request, and all clients send at the same time; want constant with a stop for clients that send one after another")
	if s := mustLoad(t, withWorkload(fields+"arrivals: {burst: {requests: 2, over: 2s}}")); len(s.Warnings) > 0 {
		t.Error(s.Warnings)
	}
}
