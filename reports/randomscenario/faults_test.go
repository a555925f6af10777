package randomscenario

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing/fstest"

	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

// fault is a scenario that is healthy but for one thing.
type fault struct {
	*rand.Rand
	servers, fields []string // of spec.servers, and of spec
	objects, events []string
	workloads       []string
	shares          int
}

// faults are what can be wrong, and the kinds of cause that may be named first for it. A share of a level is a seat, of 200.
var faults = []struct {
	name  string
	kinds []result.Kind
	draw  func(f *fault)
}{
	{"elephants", anyOf(result.ByDemand), func(f *fault) {
		f.level("shared", 40, queuing)
		f.workload("mice", "shared", f.number(20, 60), small, "{exponential: {mean: 10ms}}", "{poisson: {rate: 2/s}}")
		n := f.number(1, 6)
		f.workload("elephants", "shared", n, small, "{exponential: {mean: 100ms}}", fmt.Sprintf("{poisson: {rate: %.0f/s}}", f.between(600, 1500)/float64(n)))
	}},
	{"all alike", anyOf(result.BySeats), func(f *fault) {
		f.level("shared", f.number(5, 30), queuing)
		n := f.number(6, 20)
		f.workload("readers", "shared", n, small, "{exponential: {mean: 100ms}}", fmt.Sprintf("{poisson: {rate: %.0f/s}}", f.between(400, 900)/float64(n)))
	}},
	{"no seats", anyOf(result.BySeats), func(f *fault) {
		f.level("jail", 0, "{type: Reject}")
		f.workload("prisoner", "jail", f.number(1, 4), small, "100ms", fmt.Sprintf("{poisson: {rate: %.0f/s}}", f.between(20, 100)))
	}},
	{"fewer seats", anyOf(result.BySeats), func(f *fault) {
		f.level("shared", 60, queuing)
		f.workload("tenants", "shared", 20, small, "{exponential: {mean: 100ms}}", fmt.Sprintf("{poisson: {rate: %.0f/s}}", f.between(15, 22)))
		f.events = append(f.events, fmt.Sprintf("{at: 20s, apply: {objects: [%s]}}", levelObject("shared", f.number(5, 20), queuing, 0)))
	}},
	{"lent seats", anyOf(result.ByLending), func(f *fault) {
		f.levelThatLends("shared", 60, queuing, f.number(80, 95))
		f.levelThatLends("busy", 20, queuing, 0)
		f.workload("borrower", "busy", 60, small, "200ms", "{closed: {concurrency: 2, think: 10ms}}")
		f.workload("burst", "shared", 50, small, "300ms", fmt.Sprintf("{burst: {at: %.1fs, requests: %d}}", f.between(21, 27), f.number(5, 12)))
	}},
	{"wide lists", anyOf(result.ByWideLists), func(f *fault) {
		f.level("shared", 60, queuing)
		f.fields = append(f.fields, "resources: [{resource: pods, objects: 50000, averageBytes: 2000}]")
		f.workload("readers", "shared", f.number(5, 6), `{verb: list, resource: pods, query: "resourceVersion=0"}`, "{lognormal: {mean: 3s, p99: 10s}}", "{closed: {concurrency: 2, think: {exponential: {mean: 2s}}}}")
		f.workload("small", "shared", 20, small, "{exponential: {mean: 5ms}}", fmt.Sprintf("{poisson: {rate: %.0f/s}}", f.between(3, 8)))
	}},
	{"wide lists that are rejected", anyOf(result.ByWideLists), func(f *fault) {
		f.level("shared", f.number(12, 25), "{type: Reject}")
		f.fields = append(f.fields, "resources: [{resource: pods, objects: 50000, averageBytes: 2000}]")
		f.workload("readers", "shared", 2, `{verb: list, resource: pods, query: "resourceVersion=0"}`, "500ms", "{poisson: {rate: 0.3/s}}")
		f.workload("small", "shared", 20, small, "{exponential: {mean: 5ms}}", "{poisson: {rate: 5/s}}")
	}},
	{"two seats of three", anyOf(result.ByWideLists), func(f *fault) {
		f.level("shared", 3, "{type: Reject}")
		f.fields = append(f.fields, "resources: [{resource: pods, objects: 150, averageBytes: 1000}]")
		f.servers = append(f.servers, `kubernetesVersion: "1.32"`)
		f.workload("readers", "shared", f.number(2, 5), `{verb: list, resource: pods, query: "limit=500"}`, "{exponential: {mean: 20ms}}", "{closed: {think: 60ms}}")
	}},
	{"overlapping hands", anyOf(result.ByHand, result.ByDemand), func(f *fault) {
		f.level("shared", 10, "{type: Queue, queuing: {queues: 8, handSize: 1, queueLengthLimit: 20}}")
		f.workload("elephants", "shared", 3, small, "{exponential: {mean: 100ms}}", fmt.Sprintf("{poisson: {rate: %.0f/s}}", f.between(50, 150)))
		f.workload("mice", "shared", 20, small, "{exponential: {mean: 10ms}}", "{poisson: {rate: 5/s}}")
	}},
	{"slowdown", anyOf(result.ByExecution), func(f *fault) {
		f.level("shared", 40, queuing)
		f.servers = append(f.servers, "capacity: {cores: 30}")
		f.workload("tenants", "shared", 20, small, "{exponential: {mean: 50ms}}", fmt.Sprintf("{poisson: {rate: %.0f/s}}", f.between(10, 18)))
		f.events = append(f.events, fmt.Sprintf("{at: 20s, speed: {factor: %.2f}}", f.between(0.1, 0.3)), fmt.Sprintf("{at: %ds, speed: {factor: 1}}", f.number(35, 60)))
	}},
	{"slowdown with retries", anyOf(result.ByRetries, result.ByExecution), func(f *fault) {
		f.level("shared", 40, queuing)
		f.servers = append(f.servers, "capacity: {cores: 30}")
		f.workload("tenants", "shared", 40, small, "{exponential: {mean: 50ms}}", fmt.Sprintf("{poisson: {rate: %.1f/s}}, retry: {maxRetries: %d, backoff: {initial: 100ms, factor: 1}}", f.between(8, 13), f.number(50, 500)))
		f.events = append(f.events, fmt.Sprintf("{at: 20s, speed: {factor: %.2f}}", f.between(0.1, 0.4)), fmt.Sprintf("{at: %ds, speed: {factor: 1}}", f.number(30, 50)))
	}},
	{"long executions", anyOf(result.ByExecution), func(f *fault) {
		f.level("shared", 40, queuing)
		f.workload("slow", "shared", 5, "{verb: patch, resource: pods, namespace: x, name: y}", fmt.Sprintf("%ds", f.number(36, 60)), "{constant: {rate: 0.05/s}}, stop: 40s")
	}},
	{"few cores", anyOf(result.ByCores), func(f *fault) {
		f.level("shared", 150, queuing)
		f.servers = append(f.servers, fmt.Sprintf("capacity: {cores: %d}", f.number(2, 8)))
		f.workload("tenants", "shared", 40, small, "{exponential: {mean: 50ms}}", fmt.Sprintf("{poisson: {rate: %.0f/s}}", f.between(8, 15)))
	}},
	{"no memory", anyOf(result.ByMemory), func(f *fault) {
		f.level("shared", 60, queuing)
		f.servers = append(f.servers, `kubernetesVersion: "1.31"`, "memory: {limit: 8GB, base: 1GB}", "startup: {duration: 3s, restartAfter: 2s}")
		f.fields = append(f.fields, "resources: [{resource: pods, objects: 50000, averageBytes: 8000}]")
		f.workload("listers", "shared", f.number(5, 10), `{verb: list, resource: pods, query: "resourceVersion=0"}`, "4s", "{burst: {at: 20s, requests: 2}}, retry: ClientGo")
	}},
	{"slow etcd", anyOf(result.ByEtcd), func(f *fault) {
		f.level("shared", 20, queuing)
		f.fields = append(f.fields, fmt.Sprintf("store: {write: %dms, writeCapacity: {cores: 1}}", f.number(20, 40)), "resources: [{resource: configmaps, objects: 1000, averageBytes: 1000}]")
		f.workload("writers", "shared", 30, "{verb: create, resource: configmaps, namespace: x}", "", fmt.Sprintf("{poisson: {rate: %.1f/s}}", f.between(2, 4)))
	}},
	{"full network", anyOf(result.ByNetwork), func(f *fault) {
		f.level("shared", 60, queuing)
		f.servers = append(f.servers, "network: {bandwidth: 100MB}")
		f.fields = append(f.fields, "store: {}", "resources: [{resource: configmaps, objects: 1000, averageBytes: 10000}]")
		f.workload("lists", "shared", 10, `{verb: list, resource: configmaps, query: "resourceVersion=0"}`, "", fmt.Sprintf("{poisson: {rate: %.1f/s}}", f.between(2, 4)))
	}},
	{"slow webhook", anyOf(result.ByWebhook), func(f *fault) {
		f.level("shared", 20, queuing)
		f.workload("creators", "shared", 10, fmt.Sprintf("{verb: create, resource: pods, namespace: x, calls: [{name: hook, kind: ValidatingWebhook, latency: {exponential: {mean: %.1fs}}, timeout: 10s, failurePolicy: Fail}]}", f.between(1, 3)), "5ms",
			fmt.Sprintf("{poisson: {rate: %.1f/s}}", f.between(2, 5)))
	}},
	{"webhook that fails", anyOf(result.ByWebhook), func(f *fault) {
		f.level("shared", 60, queuing)
		f.workload("creators", "shared", 5, fmt.Sprintf("{verb: create, resource: pods, namespace: x, calls: [{name: hook, kind: ValidatingWebhook, latency: {exponential: {mean: %.1fs}}, timeout: 3s, failurePolicy: Fail}]}", f.between(1.5, 6)), "5ms", "{poisson: {rate: 1/s}}")
	}},
	{"crash", anyOf(result.ByStoppedServer), func(f *fault) {
		f.level("shared", 40, queuing)
		f.servers = append(f.servers, "replicas: 2")
		f.workload("connecting", "shared", 40, small, "{exponential: {mean: 200ms}}", "{poisson: {rate: 3/s}}, connection: PerRequest")
		f.events = append(f.events, fmt.Sprintf("{at: %ds, crash: {server: 0}}", f.number(15, 30)), fmt.Sprintf("{at: %ds, start: {server: 0}}", f.number(36, 50)))
	}},
	{"limit of requests in flight", anyOf(result.ByInFlightLimit), func(f *fault) {
		f.servers = append(f.servers, "flowControl: MaxInFlight")
		f.workload("flood", "shared", 10, small, "{exponential: {mean: 500ms}}", fmt.Sprintf("{poisson: {rate: %.0f/s}}", f.between(40, 80)))
	}},
}

const (
	queuing = "{type: Queue, queuing: {queues: 64, handSize: 6, queueLengthLimit: 50}}"
	small   = "{verb: get, resource: configmaps, namespace: x, name: y}"
)

func anyOf(all ...result.Kind) []result.Kind { return all }

func (f *fault) number(least, most int) int        { return least + f.IntN(most-least+1) }
func (f *fault) between(low, high float64) float64 { return low + f.Float64()*(high-low) }

func levelObject(name string, shares int, response string, lends int) string {
	return object("PriorityLevelConfiguration", name, fmt.Sprintf("{type: Limited, limited: {nominalConcurrencyShares: %d, lendablePercent: %d, borrowingLimitPercent: %d, limitResponse: %s}}",
		shares, lends, map[bool]int{true: 0, false: 400}[lends == 0 && name != "busy"], response))
}

// level adds a priority level for the service accounts of a namespace of the same name, which neither lends nor borrows.
func (f *fault) level(name string, shares int, response string) {
	f.levelThatLends(name, shares, response, 0)
}

func (f *fault) levelThatLends(name string, shares int, response string, lends int) {
	f.shares += shares
	f.objects = append(f.objects, levelObject(name, shares, response, lends),
		object("FlowSchema", name, fmt.Sprintf(`{priorityLevelConfiguration: {name: %s}, matchingPrecedence: %d, distinguisherMethod: {type: ByUser}, rules: [{subjects: [{kind: Group, group: {name: "system:serviceaccounts:%s"}}], resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]}]}`,
			name, 1000+len(f.objects), name)))
}

func (f *fault) workload(name, namespace string, clients int, request, execution, arrivals string) {
	if execution != "" { // else it follows from what is stored
		execution = ", execution: " + execution
	}
	f.workloads = append(f.workloads, fmt.Sprintf("{name: %s, clients: %d, as: {serviceAccount: \"%s/%s-{i}\"}, request: %s%s, arrivals: %s}", name, clients, namespace, name, request, execution, arrivals))
}

// newFault draws a scenario with a fault.
func newFault(which int, seed uint64) string {
	f := &fault{Rand: rand.New(rand.NewPCG(seed, uint64(which)))}
	f.level("quiet", 40, queuing)
	f.workload("quiet", "quiet", 10, small, "{exponential: {mean: 10ms}}", "{poisson: {rate: 5/s}}")
	faults[which].draw(f)
	return f.text(fmt.Sprintf("fault-%d-%d", which, seed), seed)
}

// newHealthy draws a scenario whose levels use less than half of their seats, whatever their executions are, and in which nothing
// happens and no client has a limit.
func newHealthy(seed uint64) string {
	f := &fault{Rand: rand.New(rand.NewPCG(seed, 1000))}
	for i := range f.number(1, 4) {
		name, seats := fmt.Sprint("level-", i), f.number(20, 45)
		f.level(name, seats, queuing)
		parts := f.number(1, 3)
		for k := range parts {
			used, ms, clients := f.between(0.05, 0.45)*float64(seats)/float64(parts), math.Exp(f.between(math.Log(5), math.Log(800))), f.number(1, 40)
			ms = max(ms, used/200*1000) // at most 200 requests a second
			f.workload(fmt.Sprintf("w-%d-%d", i, k), name, clients, small, (&draw{Rand: f.Rand}).distribution(ms, 1.1*ms), fmt.Sprintf("{poisson: {rate: %.4f/s}}", used/(1.1*ms/1000)/float64(clients)))
		}
	}
	return f.text(fmt.Sprintf("healthy-%d", seed), seed)
}

// text writes the scenario.
func (f *fault) text(name string, seed uint64) string {
	f.level("rest", 195-f.shares, queuing) // catch-all has 5
	var s strings.Builder
	fmt.Fprintf(&s, "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: %s}\nspec:\n  seed: %d\n  duration: 70s\n  warmup: 5s\n", name, seed)
	fmt.Fprintf(&s, "  servers: {maxRequestsInflight: 130, maxMutatingRequestsInflight: 70%s}\n", strings.Join(append([]string{""}, f.servers...), ", "))
	if !strings.Contains(s.String(), "MaxInFlight}") {
		fmt.Fprintf(&s, "  config:\n    base: Mandatory\n    objects:\n%s", indent(f.objects, "    "))
	}
	if len(f.events) > 0 {
		fmt.Fprintf(&s, "  events:\n%s", indent(f.events, "  "))
	}
	for _, field := range f.fields {
		fmt.Fprintf(&s, "  %s\n", field)
	}
	fmt.Fprintf(&s, "  workload:\n%s", indent(f.workloads, "  "))
	return s.String()
}

// loadText reads a scenario.
func loadText(text string) (*scenario.Scenario, error) {
	loaded, mistakes := loader.Load(fstest.MapFS{FileName: {Data: []byte(text)}}, FileName, loader.Options{})
	if err := mistakes.Err(); err != nil {
		return nil, err
	}
	return loaded[0], nil
}
