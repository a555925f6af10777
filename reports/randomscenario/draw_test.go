// Package randomscenario draws scenarios at random, for tests of what must hold of every run. A seed stands for a
// scenario, in which any features of a scenario file may meet: servers that stop, crash and are lost, calls and
// callbacks, clients that behave, stores with and without watch caches, releases, retries, traces and changes of the
// configuration.
//
// The scenarios are small, so that thousands can be run: some servers and workloads, up to some hundred requests a
// second for less than a minute and a half.
package randomscenario

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"
)

// Scenario is a random scenario: the files of which it consists.
type Scenario struct {
	Seed  uint64
	YAML  string // the scenario file
	Trace string // the file trace.jsonl beside it; "" if no workload replays one
}

// FileName is the name of the scenario file, and traceName that of its trace.
const (
	FileName  = "scenario.yaml"
	traceName = "trace.jsonl"
)

// New returns the scenario of a seed.
func New(seed uint64) *Scenario {
	d := &draw{Rand: rand.New(rand.NewPCG(seed, 0x5ca1ab1e))}
	s := &Scenario{Seed: seed}
	s.YAML = d.scenario(seed)
	s.Trace = d.trace
	return s
}

// Files returns the files in a file system.
func (s *Scenario) Files() fstest.MapFS {
	files := fstest.MapFS{FileName: {Data: []byte(s.YAML)}}
	if s.Trace != "" {
		files[traceName] = &fstest.MapFile{Data: []byte(s.Trace)}
	}
	return files
}

// Write writes the files into a folder, so that 'apfsim run' repeats the run. It returns the path of the scenario
// file.
func (s *Scenario) Write(dir string) (path string, err error) {
	for name, file := range s.Files() {
		if err := os.WriteFile(filepath.Join(dir, name), file.Data, 0o644); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, FileName), nil
}

// draw draws a scenario. What is drawn first restricts what follows.
type draw struct {
	*rand.Rand
	release  int // minor
	oldest   int // the oldest minor release of any server
	seconds  int // the length of the run
	replicas int
	apf      bool // the flow control is PriorityAndFairness
	store    bool
	capacity bool
	levels   []string // that the scenario defines
	schemas  []string // FlowSchemas that it defines and has not removed
	trace    string

	// Two of eight scenarios have writes that are wide, as many clients watch what they change. In one of them nothing
	// but the scenario gives the executions, so that they also are cut off.
	wide, given bool
}

func (d *draw) chance(p float64) bool         { return d.Float64() < p }
func (d *draw) between(least, most int) int   { return least + d.IntN(most-least+1) }
func (d *draw) pick(options ...string) string { return options[d.IntN(len(options))] }

// list collects the fields of an object, or the items of a list, in flow style.
type list []string

func (l *list) add(format string, arguments ...any) {
	*l = append(*l, fmt.Sprintf(format, arguments...))
}

func (l list) object() string { return "{" + strings.Join(l, ", ") + "}" }
func (l list) items() string  { return "[" + strings.Join(l, ", ") + "]" }

// milliseconds draws a duration between two ones, most of them much shorter than the longest.
func (d *draw) milliseconds(least, most float64) string {
	doublings := 0
	for ms := least; ms < most; ms *= 2 {
		doublings++
	}
	us := int64(least*1000) << d.IntN(doublings+1)
	return fmt.Sprintf("%dus", min(us+d.Int64N(us), int64(most*1000)))
}

// distribution draws a distribution with a mean in this range.
func (d *draw) distribution(least, most float64) string {
	mean := d.milliseconds(least, most)
	switch d.IntN(8) {
	case 0:
		return "{exponential: {mean: " + mean + "}}"
	case 1:
		return "{lognormal: {mean: " + mean + ", sigma: 1}}"
	case 2:
		return "{uniform: {min: 0s, max: " + mean + "}}"
	case 3:
		return "{gamma: {mean: " + mean + ", shape: 2}}"
	case 4:
		return "{pareto: {mean: " + mean + ", shape: 2}}"
	case 5:
		return "{empirical: {values: [0s, " + mean + "], weights: [1, 3]}}"
	}
	return mean
}

func (d *draw) scenario(seed uint64) string {
	d.release = d.between(18, 37)
	d.oldest = d.release
	d.seconds = d.between(3, 75)
	d.wide, d.given = seed%4 == 0, seed%8 == 0
	d.store = d.chance(0.5) && !d.given
	d.apf = d.chance(0.85)
	var s strings.Builder
	fmt.Fprintf(&s, "# The random scenario of the seed %d.\napiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: random-%d}\nspec:\n", seed, seed)
	fmt.Fprintf(&s, "  seed: %d\n  duration: %ds\n", d.Uint64N(1000), d.seconds)
	if d.chance(0.3) {
		warmup := 1000 * d.between(1, d.seconds-1)
		if d.wide { // which ends in the middle of an interval of the series
			warmup -= 377
		}
		fmt.Fprintf(&s, "  warmup: %dms\n", warmup)
	}
	fmt.Fprintf(&s, "  servers: %s\n", d.servers())
	if d.apf {
		s.WriteString(d.config())
	}
	if events := d.events(); events != "" {
		fmt.Fprintf(&s, "  events:\n%s", events)
	}
	if d.store || d.chance(0.3) {
		fmt.Fprintf(&s, "  resources: %s\n", d.resources())
	}
	if d.store {
		fmt.Fprintf(&s, "  store: %s\n", d.storage())
	}
	s.WriteString("  workload:\n")
	for i := range d.between(1, 5) {
		fmt.Fprintf(&s, "  - %s\n", d.workload(i))
	}
	if d.wide {
		s.WriteString(d.wideWrites())
	}
	if d.chance(0.3) {
		s.WriteString("  thresholds: {\"rejected\": [\"rate < 0.9\", {threshold: \"rate < 0.95\", over: 1s}], \"wait\": [\"p99 < 10s\"], \"executed\": [\"count >= 0\"]}\n")
	}
	return s.String()
}

// wideWrites draws workloads whose writes are wide in their final phases, and can be narrowed at dispatch or cut off.
func (d *draw) wideWrites() string {
	return fmt.Sprintf(`  - {name: watchers, clients: %d, as: {user: admin, groups: ["system:masters"]}, request: {verb: watch, resource: pods, namespace: shared, watch: {duration: 60s}}, execution: 1ms, arrivals: {closed: {concurrency: 1, think: 100ms}}}
  - {name: wide-writes, clients: 3, as: {serviceAccount: "wide/w-{i}"}, request: {verb: create, resource: pods, namespace: shared}, execution: %s, arrivals: {onOff: {rate: %d/s, on: 3s, off: 11s}}}
  - {name: late-writes, clients: 3, as: {serviceAccount: "wide/w-{i}"}, request: {verb: update, resource: pods, namespace: shared, name: a, query: "timeout=500ms"}, execution: %s, arrivals: {onOff: {rate: %d/s, on: 3s, off: 11s}}}
`, d.between(10, 150), d.distribution(0.1, 500), d.between(1, 5), d.distribution(10, 2000), d.between(1, 4))
}

// version draws a release of the servers.
func (d *draw) version() string {
	return fmt.Sprintf(`"1.%d"`, d.release)
}

func (d *draw) servers() string {
	var s list
	d.replicas = 1
	if d.chance(0.45) {
		d.replicas = d.between(2, 4)
		s.add("replicas: %d", d.replicas)
	}
	if d.replicas > 1 && d.chance(0.2) {
		var each list
		for range d.replicas {
			minor := d.between(max(18, d.release-2), d.release)
			d.oldest = min(d.oldest, minor)
			each.add(`"1.%d"`, minor)
		}
		s.add("kubernetesVersion: %s", each.items())
	} else {
		s.add("kubernetesVersion: %s", d.version())
	}
	inflight := d.between(1, 60)
	if d.wide && inflight > 20 {
		inflight *= 10 // a request may take 15 % of a level's seats
	}
	s.add("maxRequestsInflight: %d", inflight)
	s.add("maxMutatingRequestsInflight: %d", d.between(0, 30))
	if !d.apf {
		s.add("flowControl: %s", d.pick("MaxInFlight", "MaxInFlight", "None"))
	}
	if d.chance(0.3) {
		s.add("requestTimeout: %s", d.pick("1s", "5s", "20s", "240s"))
	}
	if d.apf && d.chance(0.5) {
		s.add("adjustmentPhase: %s", d.pick("random", "2s", "9999ms"))
	}
	if d.apf && d.chance(0.15) {
		s.add("maintenance: true")
	}
	if d.capacity = d.chance(0.35) && !d.given; d.capacity {
		var c list
		cores := d.between(1, 8)
		c.add("cores: %d", cores)
		if d.chance(0.3) {
			c.add("contention: %s, coherency: %s", d.pick("0", "0.05", "0.5"), d.pick("0", "0.001", "0.05"))
		}
		if d.chance(0.3) {
			c.add("speed: [{at: %ds, factor: %s}]", d.between(0, d.seconds-1), d.pick("0.01", "0.3", "2"))
		}
		if !d.store && d.chance(0.3) {
			c.add("watchEvent: %s", d.pick("1ms", "50us"))
		}
		s.add("capacity: %s", c.object())
	}
	if d.chance(0.15) {
		s.add("memory: {limit: %s, base: 1MB}", d.pick("3MB", "30MB", "1GB"))
	}
	if d.chance(0.15) && !d.given {
		s.add("handover: %s", d.distribution(0.1, 50))
	}
	if d.chance(0.4) {
		var stop list
		if d.chance(0.5) {
			stop.add("delay: %s", d.milliseconds(1, 10000))
		}
		if d.oldest >= 23 && d.chance(0.5) {
			stop.add("sendRetryAfter: true")
		}
		if d.oldest >= 27 && d.chance(0.5) {
			stop.add("watchTerminationGracePeriod: %s", d.milliseconds(100, 20000))
		}
		if d.chance(0.3) {
			stop.add("hooks: %s", d.milliseconds(1, 5000))
		}
		if d.chance(0.1) {
			stop.add("hookError: true")
		}
		if d.chance(0.5) {
			stop.add("killAfter: %s", d.milliseconds(100, 30000))
		}
		if d.chance(0.2) {
			stop.add("watchLeak: %d, audit: %s", d.between(0, 3), d.milliseconds(1, 1000))
		}
		s.add("shutdown: %s", stop.object())
	}
	if d.chance(0.5) {
		var start list
		objects := d.between(0, 3)
		start.add("duration: %ds, objects: %ds", objects+d.between(0, 5), objects)
		if d.chance(0.5) {
			start.add("caches: %ds", d.between(0, 10))
		}
		if d.chance(0.7) {
			start.add("restartAfter: %s", d.milliseconds(100, 10000))
		}
		s.add("startup: %s", start.object())
	}
	if d.chance(0.3) {
		balancer := list{"policy: " + d.pick("Random", "RoundRobin", "LeastConnections")}
		if d.chance(0.6) {
			balancer.add("probe: {path: %s, interval: %s, failures: %d}", d.pick("/readyz", "/healthz", "/livez"), d.pick("1s", "10s", "130ms"), d.between(1, 3))
		}
		s.add("loadBalancer: %s", balancer.object())
	}
	if d.chance(0.15) {
		s.add("goawayChance: %s", d.pick("0.001", "0.02"))
	}
	return s.object()
}

func (d *draw) config() string {
	if d.chance(0.25) {
		return "" // the objects of a new cluster
	}
	objects := d.objects()
	if d.wide { // it lends its seats, so that the limit is lower than what was estimated by its nominal one
		objects = append(objects, object("PriorityLevelConfiguration", "wide", "{type: Limited, limited: {nominalConcurrencyShares: 200, lendablePercent: 100, limitResponse: {type: Queue, queuing: {queues: 8, handSize: 3, queueLengthLimit: 50}}}}"),
			object("FlowSchema", "wide", `{priorityLevelConfiguration: {name: wide}, matchingPrecedence: 2, distinguisherMethod: {type: ByUser}, rules: [{subjects: [{kind: ServiceAccount, serviceAccount: {namespace: wide, name: "*"}}], resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"]}]}]}`))
	}
	return fmt.Sprintf("  config:\n    base: %s\n    objects:\n%s", d.pick("Suggested", "Mandatory"), indent(objects, "    "))
}

func indent(lines []string, by string) string {
	var s strings.Builder
	for _, l := range lines {
		s.WriteString(by + "- " + l + "\n")
	}
	return s.String()
}

// objects draws priority levels and FlowSchemas.
func (d *draw) objects() (all []string) {
	for i := range d.between(1, 3) {
		name := fmt.Sprintf("level-%d", i)
		d.levels = append(d.levels, name)
		all = append(all, d.level(name))
		d.schemas = append(d.schemas, fmt.Sprintf("schema-%d", i))
		all = append(all, d.flowSchema(d.schemas[i], name))
	}
	if d.chance(0.3) {
		all = append(all, d.flowSchema("more", d.pick(append(d.levels, "exempt", "catch-all")...)))
	}
	return all
}

// object returns an object of flow control.
func object(kind, name, spec string) string {
	return fmt.Sprintf("{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: %s, metadata: {name: %s}, spec: %s}", kind, name, spec)
}

func (d *draw) level(name string) string {
	response := "{type: Reject}"
	if d.chance(0.75) {
		queues := d.pick("1", "2", "8", "64")
		hand := map[string]int{"1": 1, "2": 1, "8": 3, "64": 4}[queues]
		response = fmt.Sprintf("{type: Queue, queuing: {queues: %s, handSize: %d, queueLengthLimit: %s}}", queues, hand, d.pick("1", "5", "50", "10000"))
	}
	least := 0
	if min(d.oldest, d.release-1) < 30 {
		least = 1 // older servers refuse 0
	}
	limited := list{fmt.Sprintf("nominalConcurrencyShares: %d", d.between(least, 100)), "limitResponse: " + response}
	if d.chance(0.7) {
		limited.add("lendablePercent: %d", d.between(0, 100))
	}
	if d.chance(0.5) {
		limited.add("borrowingLimitPercent: %d", d.between(0, 400))
	}
	return object("PriorityLevelConfiguration", name, "{type: Limited, limited: "+limited.object()+"}")
}

func (d *draw) flowSchema(name, level string) string {
	var spec list
	spec.add("priorityLevelConfiguration: {name: %s}", level)
	spec.add("matchingPrecedence: %d", d.between(2, 9000))
	if how := d.pick("ByUser", "ByNamespace", ""); how != "" {
		spec.add("distinguisherMethod: {type: %s}", how)
	}
	subject := d.pick(`{kind: Group, group: {name: "*"}}`, `{kind: Group, group: {name: "system:authenticated"}}`, `{kind: User, user: {name: "u-0"}}`,
		`{kind: ServiceAccount, serviceAccount: {namespace: ns-0, name: "*"}}`, `{kind: Group, group: {name: "system:nodes"}}`)
	verbs := d.pick(`["*"]`, `["*"]`, "[get, list, watch]", "[create, update, patch, delete]")
	rule := fmt.Sprintf(`{subjects: [%s], resourceRules: [{verbs: %s, apiGroups: ["*"], resources: [%s], namespaces: ["*"], clusterScope: true}]`,
		subject, verbs, d.pick(`"*"`, `"*"`, "pods, configmaps", "events"))
	if verbs == `["*"]` && d.chance(0.5) {
		rule += `, nonResourceRules: [{verbs: ["*"], nonResourceURLs: ["*"]}]`
	}
	spec.add("rules: [%s}]", rule)
	return object("FlowSchema", name, spec.object())
}

// events draws what happens during the run.
func (d *draw) events() string {
	if d.chance(0.35) {
		return ""
	}
	var all []string
	at := 0
	for range d.between(1, 6) {
		at += d.IntN(d.seconds * 400)
		if at >= d.seconds*1000 {
			break
		}
		event := list{fmt.Sprintf("at: %dms", at)}
		server := d.IntN(d.replicas)
		switch what := d.IntN(10); {
		case what <= 1:
			event.add("stop: {server: %d}", server)
		case what <= 3:
			event.add("crash: {server: %d}", server)
		case what <= 5:
			event.add("lose: {server: %d}", server)
		case what == 6:
			event.add("start: {server: %d%s}", server, d.upgrade())
		case what == 7:
			event.add("rollout: {interval: %ds%s}", d.between(1, 20), d.upgrade())
		case what == 8 && d.capacity:
			event.add("speed: {server: %d, factor: %s}", server, d.pick("0.01", "0.5", "3"))
		case what == 9 && d.apf:
			event.add("apply: %s", d.change())
		default:
			event.add("start: {server: %d}", server)
		}
		all = append(all, event.object())
	}
	return indent(all, "  ")
}

// upgrade draws another release, or none.
func (d *draw) upgrade() string {
	if d.chance(0.5) {
		return ""
	}
	return fmt.Sprintf(`, kubernetesVersion: "1.%d"`, d.between(max(18, d.release-1), min(37, d.release+2)))
}

// change draws a change of the configuration.
func (d *draw) change() string {
	var objects list
	for i := range d.between(1, 2) {
		objects = append(objects, d.level(fmt.Sprintf("level-%d", 2*d.IntN(2)+i)))
		objects = append(objects, d.flowSchema(fmt.Sprintf("changed-%d", i), d.pick(append(d.levels, "exempt", "catch-all", "gone")...)))
	}
	apply := list{"objects: " + objects.items()}
	if n := len(d.schemas); n > 0 && d.chance(0.3) {
		apply.add("remove: [{kind: FlowSchema, name: %s}]", d.schemas[n-1])
		d.schemas = d.schemas[:n-1]
	}
	return apply.object()
}
