package judgement

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

// drawing writes a random scenario.
type drawing struct {
	*rand.Rand
	spec     strings.Builder // the lines of the spec before the workload
	workload strings.Builder
	capacity string // more fields of the servers
	truth    string // what follows the class
}

// kinds are the systems that are drawn of each class. What each is makes its truth certain, whatever its numbers are.
var kinds = map[string][]func(*drawing){
	"healthy":    {(*drawing).healthy, (*drawing).healthyLevels},
	"overloaded": {(*drawing).equals, (*drawing).elephants, (*drawing).fullQueues, (*drawing).burst, (*drawing).wideLists, (*drawing).crowd},
	"clients":    {(*drawing).burstBehindLimit, (*drawing).aboveLimit, (*drawing).leases},
	"borderline": {(*drawing).waitAtLimit, (*drawing).rejectionsAtLimit},
	"other":      {(*drawing).slowMachine, (*drawing).fewCores, (*drawing).slowWebhook, (*drawing).crash, (*drawing).slowEtcd, (*drawing).maxInFlight},
}

// text returns the scenario of a number: the kinds of its class take turns.
func drawText(class string, number int) string {
	d := &drawing{Rand: rand.New(rand.NewPCG(uint64(number), uint64(slices.Index(classes, class))))}
	kinds[class][number%len(kinds[class])](d)
	return fmt.Sprintf("apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: drawn-%[1]s-%[2]d, truth: {class: %[1]s, %[3]s}}\nspec:\n%[4]s  workload:\n%[5]s",
		class, number, d.truth, &d.spec, &d.workload)
}

// drawSystem returns the scenario of a number.
func drawSystem(t *testing.T, class string, number int) *scenario.Scenario {
	t.Helper()
	sc, err := loadText(drawText(class, number))
	if err != nil {
		t.Fatalf("%v\n%s", err, drawText(class, number))
	}
	return sc
}

// loadText loads a scenario that is no file, with assignments.
func loadText(text string, set ...string) (*scenario.Scenario, error) {
	var options loader.Options
	for _, s := range set {
		options.Set = append(options.Set, assign.Assignment{Option: "--set", Text: s})
	}
	all, wrong := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", options)
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	return all[0], nil
}

func (d *drawing) between(low, high int) int         { return low + d.IntN(high-low+1) }
func (d *drawing) uniform(low, high float64) float64 { return low + (high-low)*d.Float64() }
func (d *drawing) line(format string, values ...any) {
	fmt.Fprintf(&d.spec, "  "+format+"\n", values...)
}
func (d *drawing) client(format string, values ...any) {
	fmt.Fprintf(&d.workload, format+"\n", values...)
}
func pick[T any](d *drawing, of ...T) T { return of[d.IntN(len(of))] }

// distribution draws one with a mean, in milliseconds.
func (d *drawing) distribution(meanMs float64) string {
	switch d.IntN(7) {
	case 0:
		return fmt.Sprintf("%.4fms", meanMs)
	case 1:
		return fmt.Sprintf("{uniform: {min: %.4fms, max: %.4fms}}", meanMs/2, meanMs*1.5)
	case 2:
		return fmt.Sprintf("{lognormal: {mean: %.4fms, p99: %.4fms}}", meanMs, meanMs*d.uniform(2, 12))
	case 3:
		return fmt.Sprintf("{gamma: {mean: %.4fms, shape: %.2f}}", meanMs, d.uniform(0.4, 5))
	case 4:
		return fmt.Sprintf("{weibull: {mean: %.4fms, shape: %.2f}}", meanMs, d.uniform(0.6, 3))
	case 5:
		return fmt.Sprintf("{pareto: {mean: %.4fms, shape: %.2f}}", meanMs, d.uniform(1.5, 4))
	}
	return fmt.Sprintf("{exponential: {mean: %.4fms}}", meanMs)
}

// level adds the level apps of all service accounts, which has 95 % of the seats and neither lends nor borrows, and returns how
// many these are. Queuing is "" for a level that rejects.
func (d *drawing) level(least, most int, queuing string) (seats int) {
	total := d.between(least, most)
	seats = int(math.Ceil(float64(total) * 95 / 100))
	reads := d.between(total/2, total)
	response := "{type: Reject}"
	if queuing != "" {
		response = "{type: Queue, queuing: {" + queuing + "}}"
	}
	d.line("servers: {kubernetesVersion: %q, maxRequestsInflight: %d, maxMutatingRequestsInflight: %d%s}", fmt.Sprintf("1.%d", d.between(29, 37)), reads, total-reads, d.more())
	d.line(`config:
    base: Mandatory
    objects:
    - {apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, metadata: {name: apps}, spec: {type: Limited, limited: {nominalConcurrencyShares: 95, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: %s}}}
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: apps}
      spec: {priorityLevelConfiguration: {name: apps}, matchingPrecedence: 1000, distinguisherMethod: {type: ByUser}, rules: [{subjects: [{kind: Group, group: {name: "system:serviceaccounts"}}], resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]}]}`, response)
	return seats
}

// more is set by kinds that need more fields of the servers.
func (d *drawing) more() string {
	if d.capacity == "" {
		return ""
	}
	return ", " + d.capacity
}

// Queues of drawn levels.
func (d *drawing) manyQueues() string {
	return fmt.Sprintf("queues: %d, handSize: %d, queueLengthLimit: %d", pick(d, 64, 128, 256), d.between(5, 7), d.between(40, 100))
}

const oneQueue = "queues: 1, handSize: 1, queueLengthLimit: 20000"

// gets adds clients that get objects, and ask together for so many seats on average.
func (d *drawing) gets(name, account string, clients int, seats, meanMs float64, execution string) {
	d.client(`  - name: %s
    clients: %d
    as: {serviceAccount: %q}
    request: {verb: get, resource: configmaps, namespace: a, name: c}
    execution: %s
    arrivals: {poisson: {rate: %.5f/s}}`, name, clients, account, execution, seats/(meanMs/1000)/float64(clients))
}

// healthy has one level of which less than half is used.
func (d *drawing) healthy() {
	d.truth = "status: [ok], firstCauses: [], victims: [], limited: []"
	d.line("duration: %ds", d.between(30, 60))
	seats := d.level(60, 400, d.manyQueues())
	used := d.uniform(0.05, 0.45) * float64(seats)
	parts := d.between(1, 3)
	for i := range parts {
		mean := math.Exp(d.uniform(math.Log(10), math.Log(600)))
		mean = max(mean, used/float64(parts)/500*1000) // at most 500 requests a second
		switch share := used / float64(parts); d.IntN(3) {
		case 0:
			d.client("  - {name: w%[1]d, clients: %[2]d, as: {serviceAccount: \"a%[1]d/c-{i}\"}, request: {verb: list, resource: services, namespace: a}, execution: %[3]s, arrivals: {closed: {think: %[4]s}}}",
				i, max(1, int(share)), d.distribution(mean), d.distribution(mean))
		default:
			d.gets(fmt.Sprint("w", i), fmt.Sprintf("a%d/c-{i}", i), d.between(1, 60), share, mean, d.distribution(mean))
		}
	}
}

// healthyLevels has the suggested levels, of each of which less than half is used.
func (d *drawing) healthyLevels() {
	d.truth = "status: [ok], firstCauses: [], victims: [], limited: []"
	d.line("duration: %ds\n  warmup: 20s", d.between(45, 70)) // until the limits of idle levels, which a run begins with, have been adjusted
	total := d.between(600, 1000)
	d.line("servers: {kubernetesVersion: %q, maxRequestsInflight: %d, maxMutatingRequestsInflight: %d}", fmt.Sprintf("1.%d", d.between(29, 37)), total*2/3, total/3)
	for i, l := range []struct {
		as     string
		shares float64
	}{{`{serviceAccount: "team-{i}/app"}`, 100}, {`{serviceAccount: "kube-system/c-{i}"}`, 40}, {`{user: "dev-{i}"}`, 20}, {`{user: admin, groups: ["system:masters"]}`, 40}} {
		clients, mean := d.between(5, 40), d.uniform(20, 200)
		used := d.uniform(0.05, 0.4) * l.shares / 245 * float64(total)
		d.client("  - {name: w%d, clients: %d, as: %s, request: {verb: get, resource: services, namespace: a, name: s}, execution: %s, arrivals: {poisson: {rate: %.5f/s}}}",
			i, clients, l.as, d.distribution(mean), used/(mean/1000)/float64(clients))
	}
}

// equals ask for more seats than there are.
func (d *drawing) equals() {
	d.truth = "status: [harm], firstCauses: [seats], victims: [apps], limited: []"
	d.line("duration: 60s")
	seats := d.level(10, 60, d.manyQueues())
	mean := d.uniform(50, 300)
	d.gets("apps", "team-{i}/app", d.between(5, 60), float64(seats)*d.uniform(1.4, 4), mean, d.distribution(mean))
}

// elephants are few and ask for more than the seats, mice are many and ask for little.
func (d *drawing) elephants() {
	d.truth = "status: [warning], firstCauses: [demand], victims: [], limited: [elephants]"
	d.line("duration: 60s")
	seats := d.level(50, 120, fmt.Sprintf("queues: %d, handSize: %d, queueLengthLimit: 50", pick(d, 128, 256), d.between(6, 7)))
	mean := d.uniform(50, 200)
	d.gets("elephants", "batch/elephant-{i}", d.between(1, 2), float64(seats)*d.uniform(1.6, 4), mean, fmt.Sprintf("{exponential: {mean: %.3fms}}", mean))
	d.gets("mice", "team-{i}/app", d.between(30, 100), float64(seats)*0.06, 15, d.distribution(15))
}

// fullQueues has an elephant that fills all queues.
func (d *drawing) fullQueues() {
	d.truth = "status: [harm], firstCauses: [hand, demand], victims: [mice], limited: [elephant]"
	d.line("duration: 60s")
	queues := d.between(2, 6)
	seats := d.level(15, 60, fmt.Sprintf("queues: %d, handSize: %[1]d, queueLengthLimit: %d", queues, d.between(20, 60)))
	mean := d.uniform(50, 200)
	d.gets("elephant", "batch/elephant", 1, float64(seats)*d.uniform(2, 4), mean, fmt.Sprintf("{exponential: {mean: %.3fms}}", mean))
	d.gets("mice", "team-{i}/app", d.between(20, 60), float64(seats)*0.06, 15, d.distribution(15))
}

// burst is one of equal clients, which takes the level four seconds or more.
func (d *drawing) burst() {
	d.truth = "status: [harm], firstCauses: [seats, demand], victims: [operators], limited: []"
	d.line("duration: 60s")
	seats := d.level(15, 60, "queues: 128, handSize: 8, queueLengthLimit: 100")
	clients, mean := d.between(20, 60), d.uniform(40, 200)
	each := int(math.Ceil(float64(seats) * d.uniform(4, 10) / (mean / 1000) / float64(clients)))
	d.client("  - {name: operators, clients: %d, as: {serviceAccount: \"ops/op-{i}\"}, request: {verb: get, resource: configmaps, namespace: ops, name: c}, execution: {exponential: {mean: %.3fms}}, arrivals: {burst: {at: %ds, requests: %d}}}",
		clients, mean, d.between(1, 20), each)
}

// wideLists occupy a level several times over, and small requests wait behind them.
func (d *drawing) wideLists() {
	d.truth = "status: [harm], firstCauses: [wide-lists, demand], victims: [small], limited: [reports]" // without them, and if they were narrow, nobody waits
	d.line("duration: 90s")
	total := d.between(110, 140)
	d.line("servers: {maxRequestsInflight: %d, maxMutatingRequestsInflight: %d}", total*2/3, total-total*2/3)
	d.line("resources: [{resource: pods, objects: %d, averageBytes: %d}]", d.between(20000, 80000), d.between(1500, 4000))
	d.client("  - {name: reports, clients: %d, as: {serviceAccount: \"reports/reader-{i}\"}, request: {verb: list, resource: pods, query: \"resourceVersion=0\"}, execution: {lognormal: {mean: %.2fs, p99: 12s}}, arrivals: {closed: {concurrency: 3, think: {exponential: {mean: 2s}}}}}",
		d.between(7, 10), d.uniform(2.5, 4))
	d.client("  - {name: small, clients: %d, as: {serviceAccount: \"team-{i}/app\"}, request: {verb: get, resource: configmaps, namespace: \"team-{i}\", name: c}, execution: {exponential: {mean: 5ms}}, arrivals: {poisson: {rate: %.2f/s}}}",
		d.between(25, 50), d.uniform(3, 6))
}

// crowd is many small clients of one namespace.
func (d *drawing) crowd() {
	d.truth = "status: [harm], firstCauses: [demand, seats], victims: [apps, jobs], limited: []"
	d.line("duration: 60s")
	seats := d.level(15, 60, d.manyQueues())
	mean := d.uniform(60, 200)
	jobs, apps := d.between(100, 250), d.between(8, 15)
	each := float64(seats) * d.uniform(1.8, 3.5) / float64(jobs)
	d.gets("jobs", "batch/job-{i}", jobs, each*float64(jobs), mean, fmt.Sprintf("{exponential: {mean: %.3fms}}", mean))
	d.gets("apps", "team-{i}/app", apps, each*float64(apps), mean, fmt.Sprintf("{exponential: {mean: %.3fms}}", mean))
}

const ofClient = "status: [harm], firstCauses: [client-limit], victims: [%s], limited: [], mustNotAdvise: [flow-control]"

// burstBehindLimit is a burst of which the last request waits for its own limit for 4 s or more.
func (d *drawing) burstBehindLimit() {
	d.truth = fmt.Sprintf(ofClient, "agent")
	d.line("duration: 60s")
	qps, burst := d.between(3, 30), d.between(5, 40)
	d.client("  - {name: agent, clients: %d, as: {serviceAccount: \"ops/agent-{i}\"}, request: {verb: get, path: /apis/example.org/v1}, execution: %s, arrivals: {burst: {at: 2s, requests: %d}}, rateLimit: {qps: %d, burst: %d}}",
		d.between(1, 5), d.distribution(5), burst+int(float64(qps)*d.uniform(4, 30))+1, qps, burst)
	d.client("  - {name: others, clients: 10, as: {user: \"dev-{i}\"}, request: {verb: get, resource: services, namespace: a, name: s}, execution: %s, arrivals: {poisson: {rate: 1/s}}}", d.distribution(10))
}

// aboveLimit is a client that wants more than it may send, all the time.
func (d *drawing) aboveLimit() {
	d.truth = fmt.Sprintf(ofClient, "agent")
	d.line("duration: 60s")
	qps := d.between(5, 30)
	d.client("  - {name: agent, clients: %d, as: {serviceAccount: \"ops/agent-{i}\"}, request: {verb: get, resource: secrets, namespace: ops, name: s}, execution: %s, arrivals: {poisson: {rate: %.2f/s}}, rateLimit: {qps: %d, burst: %d}}",
		d.between(1, 5), d.distribution(10), float64(qps)*d.uniform(1.4, 3), qps, 2*qps)
}

// leases of one process want at least twice as many renewals as its limit lets through.
func (d *drawing) leases() {
	d.truth = fmt.Sprintf(ofClient, "leases")
	d.line("duration: 150s\n  warmup: 30s\n  store: {}")
	qps := d.between(4, 8)
	d.client("  - {name: leases, clients: %d, as: {serviceAccount: ops/agent}, behaviour: {leaderElection: {lease: \"ops/lease-{i}\", candidates: 1, leaseDuration: 15s, renewDeadline: 5s, retryPeriod: 2s}}, rateLimit: {qps: %d, burst: %d, shared: agent}}",
		qps*d.between(7, 10), qps, 2*qps)
}

// waitAtLimit has bursts in one queue, whose waits do not depend on the seed: p99 is 98 executions.
func (d *drawing) waitAtLimit() {
	under, limit := d.IntN(2) == 0, pick(d, 1000.0, 100.0)
	seats := 0
	d.line("duration: 60s")
	seats = d.level(10, 30, oneQueue)
	status := map[bool]map[float64]string{true: {1000: "warning", 100: "ok"}, false: {1000: "harm, warning", 100: "warning, ok"}}[under][limit]
	d.truth = fmt.Sprintf("status: [%s], victims: [apps], limited: []", status)
	p99 := limit * d.uniform(0.85, 0.95)
	if !under {
		p99 = limit * d.uniform(1.06, 1.2)
	}
	d.client("  - {name: apps, clients: %d, as: {serviceAccount: \"team-{i}/app\"}, request: {verb: get, resource: configmaps, namespace: a, name: c}, execution: %.5fms, arrivals: {burst: {at: 2s, requests: 100, every: %ds}}}",
		seats, p99/98, d.between(5, 15))
}

// rejectionsAtLimit has bursts without a queue, of each of which one request is rejected.
func (d *drawing) rejectionsAtLimit() {
	d.line("duration: 61s")
	under := d.IntN(2) == 0
	least, most, status := 1150, 1400, "warning"
	if !under {
		least, most, status = 600, 900, "harm, warning"
	}
	seats := d.level(least, most, "")
	d.truth = fmt.Sprintf("status: [%s], victims: [apps], limited: []", status)
	d.client("  - {name: apps, as: {serviceAccount: team/app}, request: {verb: get, resource: configmaps, namespace: a, name: c}, execution: %dms, arrivals: {burst: {at: 1s, requests: %d, every: 2s}}}",
		d.between(5, 500), seats+1)
}

const ofOther = "status: [harm], firstCauses: [%s], victims: [%s], limited: [], mustNotAdvise: [flow-control]"

// slowMachine has a fraction of its speed for a while, with which it cannot do what it is asked for.
func (d *drawing) slowMachine() {
	d.truth = fmt.Sprintf(ofOther, "execution", "apps")
	d.line("duration: 60s")
	cores := d.between(8, 30)
	d.capacity = fmt.Sprintf("capacity: {cores: %d}", cores)
	d.level(4*cores, 6*cores, d.manyQueues())
	at := d.between(10, 25)
	d.line("events: [{at: %ds, speed: {factor: %.3f}}, {at: %ds, speed: {factor: 1}}]", at, d.uniform(0.05, 0.15), at+d.between(15, 25))
	mean := d.uniform(20, 80)
	d.gets("apps", "team-{i}/app", d.between(20, 60), float64(cores)*d.uniform(0.35, 0.6), mean, fmt.Sprintf("{exponential: {mean: %.3fms}}", mean))
}

// fewCores are fewer than the executions need.
func (d *drawing) fewCores() {
	d.truth = fmt.Sprintf(ofOther, "cores", "apps")
	d.line("duration: 60s")
	cores := d.between(3, 10)
	d.capacity = fmt.Sprintf("capacity: {cores: %d}", cores)
	d.level(6*cores, 12*cores, d.manyQueues())
	mean := d.uniform(20, 80)
	d.gets("apps", "team-{i}/app", d.between(20, 60), float64(cores)*d.uniform(1.5, 2.5), mean, fmt.Sprintf("{exponential: {mean: %.3fms}}", mean))
}

// slowWebhook takes so long that creations occupy all seats.
func (d *drawing) slowWebhook() {
	d.truth = fmt.Sprintf(ofOther, "webhook", "controllers")
	d.line("duration: 60s")
	seats := d.level(20, 60, d.manyQueues())
	latency := d.uniform(4, 8)
	clients := d.between(15, 40)
	d.client("  - {name: controllers, clients: %d, as: {serviceAccount: \"team-{i}/c\"}, request: {verb: create, resource: pods, namespace: a, calls: [{name: policy, kind: %s, latency: {uniform: {min: %.2fs, max: %.2fs}}}]}, execution: %s, arrivals: {poisson: {rate: %.4f/s}}}",
		clients, pick(d, "ValidatingWebhook", "MutatingWebhook"), latency-1, latency+1, d.distribution(10), float64(seats)*d.uniform(1.5, 2.5)/latency/float64(clients))
}

// crash ends the only server for a while.
func (d *drawing) crash() {
	d.truth = fmt.Sprintf(ofOther, "stopped-server", "apps")
	d.line("duration: 60s")
	seats := d.level(60, 200, d.manyQueues())
	at := d.between(10, 30)
	d.line("events: [{at: %ds, crash: {server: 0}}, {at: %ds, start: {server: 0}}]", at, at+d.between(5, 20))
	mean := d.uniform(10, 80)
	d.gets("apps", "team-{i}/app", d.between(10, 40), min(float64(seats)*d.uniform(0.1, 0.4), 0.5*mean), mean, d.distribution(mean))
}

// slowEtcd commits fewer transactions than clients want.
func (d *drawing) slowEtcd() {
	d.truth = fmt.Sprintf(ofOther, "etcd", "writers")
	write := d.between(10, 40)
	d.line("duration: 60s\n  warmup: 5s\n  store: {write: %dms, writeCapacity: {cores: 1}}", write)
	clients := d.between(20, 60)
	d.client("  - {name: writers, clients: %d, as: {serviceAccount: \"team-{i}/w\"}, request: {verb: create, resource: configmaps, namespace: a}, arrivals: {poisson: {rate: %.4f/s}}}",
		clients, 1000/float64(write)*d.uniform(1.5, 2.5)/float64(clients))
	d.client("  - {name: readers, clients: 20, as: {user: \"dev-{i}\"}, request: {verb: get, resource: services, namespace: a, name: s}, arrivals: {poisson: {rate: 2/s}}}")
}

// maxInFlight is a limit without queues, below what is asked for.
func (d *drawing) maxInFlight() {
	d.truth = "status: [harm], firstCauses: [in-flight-limit], victims: [apps], limited: [], mustNotAdvise: [shares, transfer, own-level, hand-size, queues, queue-length, lending, borrowing, list-level, merge-flows, move]"
	limit := d.between(10, 40)
	d.line("duration: 60s\n  servers: {flowControl: MaxInFlight, maxRequestsInflight: %d, maxMutatingRequestsInflight: 20}", limit)
	mean := d.uniform(50, 200)
	d.gets("apps", "team-{i}/app", d.between(10, 60), float64(limit)*d.uniform(1.5, 3), mean, d.distribution(mean))
}
