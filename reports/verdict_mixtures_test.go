package reports_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"apfsim/reports/result"
)

// mixture is a scenario with two causes of harm, each at a priority level of its own.
type mixture struct {
	r         *rand.Rand
	servers   []string // fields
	objects   strings.Builder
	workloads strings.Builder
	events    []string
	resources string
	levels    int
	shares    int
}

// between returns a random number in a range.
func (m *mixture) between(low, high float64) float64 { return low + m.r.Float64()*(high-low) }

// level adds a priority level with so many shares, each of which is a seat, and the fields for the service accounts of a namespace of the same name, and returns the name.
func (m *mixture) level(shares int, fields string) string {
	m.levels++
	m.shares += shares
	fields = fmt.Sprintf("nominalConcurrencyShares: %d, %s", shares, fields)
	name := fmt.Sprintf("level-%d", m.levels)
	fmt.Fprintf(&m.objects, `
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: PriorityLevelConfiguration
      metadata: {name: %s}
      spec:
        type: Limited
        limited: {%s}
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: %s}
      spec:
        matchingPrecedence: %d
        priorityLevelConfiguration: {name: %s}
        distinguisherMethod: {type: ByUser}
        rules:
        - subjects: [{kind: Group, group: {name: "system:serviceaccounts:%s"}}]
          resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]`,
		name, fields, name, 1000+m.levels, name, name)
	return name
}

// queuing is what a level with a queue for many flows has.
const queuing = "limitResponse: {type: Queue, queuing: {queues: 64, handSize: 6, queueLengthLimit: 50}}"

// workload adds a workload of service accounts of a namespace.
func (m *mixture) workload(name, namespace string, clients int, rest string) {
	fmt.Fprintf(&m.workloads, "\n  - {name: %s, clients: %d, as: {serviceAccount: \"%s/%s-{i}\"}, %s}", name, clients, namespace, name, rest)
}

// small is a request for one seat.
const small = "request: {verb: get, resource: configmaps, namespace: x, name: y}"

// quiet adds clients that ask for little at a level.
func (m *mixture) quiet(namespace string) {
	m.workload("quiet-"+namespace, namespace, 10, small+", execution: {exponential: {mean: 10ms}}, arrivals: {poisson: {rate: 2/s}}")
}

// ingredients are causes that can be mixed with others. Each adds what leads to it. A share is a seat, of 120.
var ingredients = map[result.Kind]func(*mixture){
	result.ByDemand: func(m *mixture) {
		l := m.level(40, fmt.Sprintf("lendablePercent: 0, borrowingLimitPercent: 0, %s", queuing))
		n := 1 + m.r.IntN(4)
		m.workload("greedy", l, n, fmt.Sprintf("%s, execution: {exponential: {mean: 100ms}}, arrivals: {poisson: {rate: %.0f/s}}", small, m.between(700, 1500)/float64(n)))
		m.quiet(l)
	},
	result.ByLending: func(m *mixture) {
		l := m.level(40, fmt.Sprintf("lendablePercent: %.0f, borrowingLimitPercent: 0, %s", m.between(75, 90), queuing))
		// The seats that it lends go to another level that has work for them.
		other := m.level(10, "lendablePercent: 0, "+queuing)
		m.workload("borrower", other, 40, small+", execution: 100ms, arrivals: {closed: {concurrency: 1, think: 1ms}}")
		m.workload("burst", l, 50, fmt.Sprintf("%s, execution: 200ms, arrivals: {burst: {at: %.1fs, requests: %d}}", small, 20.5+m.between(0, 3), 16+m.r.IntN(10)))
	},
	result.BySeats: func(m *mixture) {
		l := m.level(0, "lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Reject}")
		m.workload("jailed", l, 1, fmt.Sprintf("%s, execution: 100ms, arrivals: {poisson: {rate: %.0f/s}}", small, m.between(30, 300)))
	},
	result.ByWideLists: func(m *mixture) {
		l := m.level(60, "lendablePercent: 0, borrowingLimitPercent: 0, "+queuing)
		m.resources = "\n  resources: [{resource: pods, objects: 50000, averageBytes: 2000}]"
		m.workload("readers", l, 5+m.r.IntN(2), "request: {verb: list, resource: pods, query: \"resourceVersion=0\"}, execution: {lognormal: {mean: 3s, p99: 10s}}, arrivals: {closed: {concurrency: 2, think: {exponential: {mean: 2s}}}}")
		m.workload("small", l, 20, small+fmt.Sprintf(", execution: {exponential: {mean: 5ms}}, arrivals: {poisson: {rate: %.0f/s}}", m.between(3, 8)))
	},
	result.ByStoppedServer: func(m *mixture) {
		l := m.level(20, "lendablePercent: 0, "+queuing)
		m.events = append(m.events, fmt.Sprintf("{at: %.1fs, crash: {server: 0}}, {at: %.1fs, start: {server: 0}}", m.between(20, 30), m.between(36, 50)))
		m.workload("connecting", l, 20, small+", execution: {exponential: {mean: 10ms}}, connection: PerRequest, arrivals: {poisson: {rate: 3/s}}")
	},
	result.ByWebhook: func(m *mixture) {
		l := m.level(40, "lendablePercent: 0, "+queuing)
		m.workload("creators", l, 5, fmt.Sprintf("request: {verb: create, resource: pods, namespace: x, calls: [{name: hook, kind: ValidatingWebhook, latency: {exponential: {mean: %.1fs}}, timeout: 3s, failurePolicy: Fail}]}, execution: 5ms, arrivals: {poisson: {rate: %.1f/s}}",
			m.between(1.5, 6), m.between(0.5, 1.5)))
	},
	result.ByExecution: func(m *mixture) {
		l := m.level(40, "lendablePercent: 0, "+queuing)
		m.workload("slow", l, 5, fmt.Sprintf("request: {verb: patch, resource: pods, namespace: x, name: y}, execution: %.0fs, arrivals: {constant: {rate: %.2f/s}}, stop: 40s", m.between(36, 60), m.between(0.02, 0.06)))
	},
	result.ByMemory: func(m *mixture) {
		m.servers = append(m.servers, "kubernetesVersion: \"1.31\"", "memory: {limit: 8GB, base: 1GB}", "startup: {duration: 3s, restartAfter: 2s}")
		l := m.level(60, "lendablePercent: 0, "+queuing)
		m.resources = "\n  resources: [{resource: pods, objects: 50000, averageBytes: 8000}]"
		m.workload("listers", l, 5+m.r.IntN(5), "request: {verb: list, resource: pods, query: \"resourceVersion=0\"}, execution: 4s, arrivals: {burst: {at: 20s, requests: 2}}, retry: ClientGo")
	},
}

// separate are pairs that are no mixture of two causes: both are about the end of processes.
func separate(a, b result.Kind) bool {
	return (a == result.ByMemory || b == result.ByMemory) && (a == result.ByStoppedServer || b == result.ByStoppedServer || a == result.ByWideLists || b == result.ByWideLists)
}

// drawMixture returns a scenario with two causes.
func drawMixture(seed uint64) (text string, causes [2]result.Kind) {
	m := &mixture{r: rand.New(rand.NewPCG(seed, 31))}
	var kinds []result.Kind
	for k := range ingredients {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	for {
		causes = [2]result.Kind{kinds[m.r.IntN(len(kinds))], kinds[m.r.IntN(len(kinds))]}
		if causes[0] < causes[1] && !separate(causes[0], causes[1]) {
			break
		}
	}
	m.servers = []string{"maxRequestsInflight: 80", "maxMutatingRequestsInflight: 40"}
	for _, k := range causes {
		ingredients[k](m)
	}
	m.level(115-m.shares, "lendablePercent: 0, "+queuing) // catch-all has 5
	events := ""
	if len(m.events) > 0 {
		events = "\n  events: [" + strings.Join(m.events, ", ") + "]"
	}
	return fmt.Sprintf(`
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: mixture-%d}
spec:
  seed: %d
  duration: 90s
  warmup: 5s
  servers: {%s}
  config:
    base: Mandatory
    objects:%s%s%s
  workload:%s
`, seed, seed, strings.Join(m.servers, ", "), m.objects.String(), m.resources, events, m.workloads.String()), causes
}

// Of random mixtures of two causes, these are the first two that the verdict names, in nine of ten at least.
func TestVerdictsOfMixtures(t *testing.T) {
	n := some(20, 100)
	right := 0
	for seed := range n {
		text, want := drawMixture(uint64(seed + 1))
		r, _ := runServers(t, text)
		v := r.Summary.Verdict
		var got []result.Kind
		for i := range v.Causes[:min(2, len(v.Causes))] {
			got = append(got, v.Causes[i].Kind)
		}
		slices.Sort(got)
		if slices.Equal(got, want[:]) {
			right++
			continue
		}
		t.Logf("mixture %d of %v: %s", seed+1, want, v.Sentence)
		for i := range v.Causes {
			c := &v.Causes[i]
			t.Logf("    %s %s %v: %s", c.ID, c.Level, c.Workloads, c.Sentence)
		}
	}
	t.Logf("both causes are the first two in %d of %d mixtures", right, n)
	if right*10 < n*9 {
		t.Errorf("both causes are the first two in %d of %d mixtures, want 90 %%", right, n)
	}
}
