package tune

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing/fstest"

	"apfsim/core/classify"
	"apfsim/core/dealer"
	"apfsim/core/seats"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

// randomProblem is a scenario with random numbers, whose best answer follows from a formula.
type randomProblem struct {
	kind   string
	text   string   // of the scenario
	kinds  []string // that are allowed
	levels []string // to which requests may be moved
	seed   uint64   // the base seed, 0 for the usual one
	answer string   // the ID of the cheapest candidate that suffices, or one of the following
}

// Answers that are no candidate.
const (
	noChangeNeeded = "no change needed"
	noneSuffices   = "none suffices"
)

// aim is which answer a problem is to have.
type aim int

const (
	aChange aim = iota
	noChange
	nothing // no candidate suffices
)

// drawing draws a problem with an aim.
type drawing func(r *rand.Rand, goal aim) (p randomProblem, ok bool)

// draws are the kinds of problems. A draw returns false if the numbers it drew leave the answer to chance, which it
// decides by the formula of the kind: the answer has to hold in nearly all runs, and the next cheaper one in hardly any.
// Of kinds with several draws, these take turns.
var draws = []struct {
	name string
	goal aim
	each []drawing
}{
	{"loss", aChange, []drawing{drawLoss}},
	{"limits", aChange, []drawing{drawLimits}},
	{"queues", aChange, []drawing{drawQueues}},
	{"cap", aChange, []drawing{drawCap}},
	{"lending", aChange, []drawing{drawLending}},
	{"places", aChange, []drawing{drawPlaces}},
	{"wait", aChange, []drawing{drawWait}},
	{"own-level", aChange, []drawing{drawOwnLevel}},
	{"none", nothing, []drawing{drawWait, drawCores, drawLimits}},
	{"no-change", noChange, []drawing{drawWait, drawCap, drawLoss, drawLimits}},
}

// draw returns the problem of a number, from 0: their kinds take turns.
func draw(number int) randomProblem {
	kind, turn := draws[number%len(draws)], number/len(draws)
	r := rand.New(rand.NewPCG(uint64(number), 6))
	for {
		if p, ok := kind.each[turn%len(kind.each)](r, kind.goal); ok {
			p.kind = kind.name
			return p
		}
	}
}

// load reads the scenario.
func (p *randomProblem) load() (*scenario.Scenario, error) {
	all, wrong := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(p.text)}}, "s.yaml", loader.Options{})
	if len(wrong) > 0 {
		return nil, wrong
	}
	return all[0], nil
}

// builder writes a scenario. Its base is Mandatory: catch-all has 5 shares.
type builder struct {
	servers, duration, warmup    string
	resources                    string // a line with the field, "" without it
	stop                         string // when the clients stop, "" for the end
	objects, workload, threshold strings.Builder
}

// level adds a level that neither lends nor borrows, unless more says so. A response without queues is Reject.
func (b *builder) level(name string, shares int, queuing, more string) {
	response := "{type: Reject}"
	if queuing != "" {
		response = "{type: Queue, queuing: {" + queuing + "}}"
	}
	fmt.Fprintf(&b.objects, `    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: PriorityLevelConfiguration
      metadata: {name: %s}
      spec: {type: Limited, limited: {nominalConcurrencyShares: %d, limitResponse: %s, %s}}
`, name, shares, response, more)
}

// Fields of levels.
const (
	noBorrowing = "borrowingLimitPercent: 0"
	oneQueue    = "queues: 1, handSize: 1, queueLengthLimit: 5000"
)

// add adds a workload, whose requests get a FlowSchema to a level. Each client is a user of its own.
func (b *builder) add(name, level, user string, clients int, execution, arrivals string) {
	b.addRequest(name, level, user, clients, "verb: get, resource: configmaps, namespace: default, name: settings", execution, arrivals)
}

func (b *builder) addRequest(name, level, user string, clients int, request, execution, arrivals string) {
	fmt.Fprintf(&b.objects, `    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: %s}
      spec:
        matchingPrecedence: 1000
        priorityLevelConfiguration: {name: %s}
        distinguisherMethod: {type: ByUser}
        rules:
        - subjects: [{kind: Group, group: {name: "system:serviceaccounts:%[1]s"}}]
          resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
`, name, level)
	fmt.Fprintf(&b.workload, `  - name: %s
    clients: %d
    as: {serviceAccount: "%[1]s/%[3]s"}
    request: {%s}
    execution: {%s}
    arrivals: {%s}
`, name, clients, user, request, execution, arrivals)
	if b.stop != "" {
		fmt.Fprintf(&b.workload, "    stop: %s\n", b.stop)
	}
}

// userOf is the name of a user that add gives to the client of a workload.
func userOf(name, user string) string { return "system:serviceaccount:" + name + ":" + user }

// goal adds a threshold.
func (b *builder) goal(name, expression string) {
	fmt.Fprintf(&b.threshold, "    %q: [%q]\n", name, expression)
}

func (b *builder) text() string {
	return fmt.Sprintf(`apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: random}
spec:
  duration: %s
  warmup: %s
  servers: {%s}%s
  config:
    base: Mandatory
    objects:
%s  workload:
%s  thresholds:
%s`, b.duration, b.warmup, b.servers, b.resources, &b.objects, &b.workload, &b.threshold)
}

const catchAllShares = 5

// between returns a random integer from low to high.
func between(r *rand.Rand, low, high int) int { return low + r.IntN(high-low+1) }

// uniform returns a random number from low to high.
func uniform(r *rand.Rand, low, high float64) float64 { return low + (high-low)*r.Float64() }

// nominalSeats returns the nominal limit of a level.
func nominalSeats(seats, shares, all int) int {
	return int(math.Ceil(float64(seats) * float64(shares) / float64(all)))
}

// moreShares returns, in their order, the shares of a level above its present ones that give other seats than fewer do.
func moreShares(total, present, others int) (all []int) {
	last := nominalSeats(total, present, max(1, present+others))
	for v := present + 1; v <= mostShares; v++ {
		if n := nominalSeats(total, v, v+others); n != last {
			last, all = n, append(all, v)
		}
	}
	return all
}

// keep says whether levels with some shares keep nine tenths of their seats when the sum of all shares changes.
func keep(total, before, after int, shares ...int) bool {
	return !slices.ContainsFunc(shares, func(s int) bool {
		return 10*nominalSeats(total, s, after) < 9*nominalSeats(total, s, before)
	})
}

// erlangB returns the part of the requests that a level with c seats and no queue rejects, at a load of a seats.
func erlangB(c int, a float64) float64 {
	b := 1.0
	for n := 1; n <= c; n++ {
		b = a * b / (float64(n) + a*b)
	}
	return b
}

// erlangC returns the part of the requests that wait if there is a queue; 1 without a steady state.
func erlangC(c int, a float64) float64 {
	if a >= float64(c) {
		return 1
	}
	b := erlangB(c, a)
	return b / (1 - a/float64(c)*(1-b))
}

// waitP99 returns the 99th percentile of the wait in order of arrival, in multiples of the mean execution:
// ln(C/0.01)/(c − a).
func waitP99(c int, a float64) float64 {
	if a >= float64(c) {
		return math.Inf(1)
	}
	return max(0, math.Log(erlangC(c, a)/0.01)/(float64(c)-a))
}

// apart says whether a level of c seats and one of c−1 have a 99th percentile above and below a limit in nearly all runs
// that take so many mean executions. The part of the requests that wait for longer has about the variance
// p(1−p)·2τ/T, where τ is the relaxation time 1/(√c − √a)².
func apart(c int, a, limit, executions float64) bool {
	far := func(c int) bool {
		p99 := waitP99(c, a)
		if p99 == 0 || math.IsInf(p99, 1) {
			return p99 > limit || erlangC(c, a) < 0.004
		}
		gap := math.Sqrt(float64(c)) - math.Sqrt(a)
		deviation := math.Sqrt(99*2/(gap*gap)/executions) / (float64(c) - a)
		return math.Abs(limit-p99) > 2*deviation
	}
	return waitP99(c, a) < limit && waitP99(c-1, a) > limit && far(c) && far(c-1)
}

// drawLoss draws hooks that a level without queues rejects too often, by Erlang B. Apps have another level, where there
// is no room for the hooks. The answer is more shares.
func drawLoss(r *rand.Rand, goal aim) (p randomProblem, ok bool) {
	const minutes, hookMs, appMs, waitMs = 3, 50, 300, 10
	total, load := between(r, 20, 50), float64(between(r, 30, 90))/10
	enough := int(math.Ceil(load + uniform(r, 0.8, 1.8)*math.Sqrt(load)))
	limit := math.Round(1e4*math.Sqrt(erlangB(enough, load)*erlangB(enough-1, load))) / 1e4
	deviation := func(c int) float64 { return 2 * math.Sqrt(erlangB(c, load)/(load/hookMs*60_000*minutes)) }
	hooks := 100 * (enough - between(r, 2, 5)) / total
	if goal == noChange {
		hooks = 100 * (enough + 1) / total
	}
	apps := 100 - catchAllShares - hooks
	if hooks < 1 || apps < 1 || (nominalSeats(total, hooks, 100) >= enough) != (goal == noChange) ||
		limit-erlangB(enough, load) < 3*deviation(enough) || erlangB(enough-1, load)-limit < 3*deviation(enough-1) {
		return p, false
	}
	appSeats := nominalSeats(total, apps, 100)
	p.kinds, p.answer = Usual, noChangeNeeded
	if goal == aChange {
		p.answer = ""
		for _, v := range moreShares(total, hooks, 100-hooks) {
			if nominalSeats(total, v, v+100-hooks) >= enough {
				if !keep(total, 100, v+100-hooks, apps, catchAllShares) {
					break
				}
				p.answer = fmt.Sprintf("nominalConcurrencyShares of hooks %d", v)
				appSeats = nominalSeats(total, apps, v+100-hooks)
				break
			}
		}
	}
	appLoad := math.Floor(9*float64(appSeats)) / 10 // as much as does not wait
	for erlangC(appSeats, appLoad) > 0.003 {
		appLoad -= 0.1
	}
	both := load + appLoad // if the hooks are moved to the apps
	meanMs := both / (load/hookMs + appLoad/appMs)
	if p.answer == "" || appLoad < 1 || waitP99(nominalSeats(total, apps, 100), both)*meanMs < 3*waitMs {
		return p, false
	}
	b := builder{servers: fmt.Sprintf("maxRequestsInflight: %d, maxMutatingRequestsInflight: 0", total), duration: fmt.Sprintf("%dm", minutes), warmup: "5s"}
	b.level("hooks", hooks, "", noBorrowing)
	b.level("apps", apps, oneQueue, noBorrowing)
	b.add("hooks", "hooks", "app", 1, fmt.Sprintf("exponential: {mean: %dms}", hookMs), fmt.Sprintf("poisson: {rate: %.6g/s}", load/hookMs*1000))
	b.add("apps", "apps", "app-{i}", 10, fmt.Sprintf("exponential: {mean: %dms}", appMs), fmt.Sprintf("poisson: {rate: %.6g/s}", appLoad/appMs*100))
	b.goal("rejected{workload:hooks}", fmt.Sprintf("rate < %v", limit))
	b.goal("wait{workload:apps}", fmt.Sprintf("p99 < %dms", waitMs))
	p.text = b.text()
	return p, true
}

// drawLimits draws a server whose seats are too few for the only level, by Erlang C. The answer is max-requests-inflight,
// if that may be changed.
func drawLimits(r *rand.Rand, goal aim) (p randomProblem, ok bool) {
	const minutes, mutating = 5, 2
	enough := between(r, 5, 20)
	load := math.Round(10*(float64(enough)-uniform(r, 0.6, 1.4)*math.Sqrt(float64(enough)))) / 10
	ms := 50.0
	if load > 8 {
		ms = 100
	}
	limit := math.Round(ms * math.Sqrt(waitP99(enough, load)*min(waitP99(enough-1, load), 4)))
	total := enough - between(r, 1, 4)
	if goal == noChange {
		total = enough + 1
	}
	if total-mutating < 1 || limit < 1 || !apart(enough, load, limit/ms, minutes*60_000/ms) {
		return p, false
	}
	p.kinds, p.answer = append([]string{"server"}, Usual...), noneSuffices
	switch goal {
	case noChange:
		p.answer = noChangeNeeded
	case nothing:
		p.kinds = Usual
	default:
		limit := total - mutating
		for nominalSeats(limit+mutating, 95, 100) < enough {
			limit++
		}
		if limit > mostLimit*(total-mutating) {
			return p, false
		}
		p.answer = fmt.Sprintf("max-requests-inflight %d", limit)
	}
	b := builder{servers: fmt.Sprintf("maxRequestsInflight: %d, maxMutatingRequestsInflight: %d", total-mutating, mutating), duration: fmt.Sprintf("%dm", minutes), warmup: "5s"}
	b.level("all", 95, oneQueue, noBorrowing)
	b.add("apps", "all", "app-{i}", 10, fmt.Sprintf("exponential: {mean: %vms}", ms), fmt.Sprintf("poisson: {rate: %.6g/s}", load/ms*100))
	b.goal("wait", fmt.Sprintf("p99 < %vms", limit))
	b.goal("rejected", "rate == 0")
	p.text = b.text()
	return p, true
}

// drawCores draws fewer cores than the load, so that more seats serve no more requests.
func drawCores(r *rand.Rand, _ aim) (p randomProblem, ok bool) {
	cores := between(r, 4, 10)
	rate := float64(cores) * uniform(r, 1.1, 1.4) / 0.05
	total := cores - between(r, 0, 2)
	b := builder{servers: fmt.Sprintf("maxRequestsInflight: %d, maxMutatingRequestsInflight: 2, capacity: {cores: %d}", total-2, cores), duration: "1m", warmup: "5s"}
	b.level("all", 95, "queues: 1, handSize: 1, queueLengthLimit: 5", noBorrowing)
	b.add("apps", "all", "app-{i}", 10, "exponential: {mean: 50ms}", fmt.Sprintf("poisson: {rate: %.6g/s}", rate/10))
	b.goal("executed{workload:apps}", fmt.Sprintf("count > %d", int(1.05*float64(cores)/0.05*55)))
	p.text, p.answer, p.kinds = b.text(), noneSuffices, Usual // another server has cores
	return p, total > 2
}

// handsInOrder returns the sizes of hands in the order in which they are tried.
func handsInOrder(queues, hand int) (all []int) {
	add := func(h int) {
		if h >= 1 && h <= queues && h != hand && dealer.EntropyBits(queues, h) <= dealer.MaxEntropyBits && !slices.Contains(all, h) {
			all = append(all, h)
		}
	}
	for d := 1; d <= handSteps; d++ {
		add(hand + d)
		add(hand - d)
	}
	add(2 * hand)
	add(hand / 2)
	return all
}

// drawQueues draws a syncer that fills all queues of its hand, which login's hand has no other queue than. The answer is
// the first hand or number of queues with which it has one.
func drawQueues(r *rand.Rand, _ aim) (p randomProblem, ok bool) {
	queues, hand, atOnce := between(r, 1, 8), between(r, 1, 3), between(r, 90, 150)
	syncer, login := fmt.Sprintf("app-%d", r.IntN(1000)), fmt.Sprintf("app-%d", r.IntN(1000))
	if hand > queues {
		return p, false
	}
	suffices := func(queues, hand int) bool {
		d, err := dealer.New(queues, hand)
		if err != nil {
			panic(err)
		}
		filled := d.Deal(classify.FlowHash("syncer", userOf("syncer", syncer)), make([]int, hand))
		own := d.Deal(classify.FlowHash("login", userOf("login", login)), make([]int, hand))
		return slices.ContainsFunc(own, func(q int) bool { return !slices.Contains(filled, q) })
	}
	if suffices(queues, hand) {
		return p, false
	}
	for _, h := range handsInOrder(queues, hand) {
		if p.answer == "" && suffices(queues, h) {
			p.answer = fmt.Sprintf("handSize of tenants %d", h)
		}
	}
	for q := queues; p.answer == "" && q <= mostQueues; q *= 2 {
		for _, more := range []int{q + q/2, 2 * q} {
			if p.answer == "" && more > queues && suffices(more, hand) {
				p.answer = fmt.Sprintf("queues of tenants %d", more)
			}
		}
	}
	b := builder{servers: "maxRequestsInflight: 12, maxMutatingRequestsInflight: 8", duration: "2m", warmup: "5s"}
	b.level("tenants", 95, fmt.Sprintf("queues: %d, handSize: %d, queueLengthLimit: 200", queues, hand), "")
	b.add("syncer", "tenants", syncer, 1, "exponential: {mean: 100ms}", fmt.Sprintf("closed: {concurrency: %d}", atOnce))
	b.add("login", "tenants", login, 1, "exponential: {mean: 20ms}", "poisson: {rate: 10/s}")
	b.goal("wait{workload:login}", "p99 < 100ms")
	b.goal("rejected", "rate == 0")
	p.text, p.kinds = b.text(), Usual
	return p, p.answer != ""
}

// drawCap draws lists that take all seats, because each is wide. The answer is the first hand with which they are narrow
// enough that the apps have free seats.
func drawCap(r *rand.Rand, goal aim) (p randomProblem, ok bool) {
	const shares, all, free = 75, 75 + catchAllShares, 4
	const queues = 32
	total, lists := between(r, 40, 80), 2*between(r, 3, 5)
	hand := lists - between(r, 0, 3)
	if goal == noChange {
		hand = lists + between(r, 0, 2)
	}
	decided := true // for the hands up to the answer
	suffices := func(seatsOfLevel, hand int) bool {
		left := seatsOfLevel - lists*seats.Cap(0.15, seatsOfLevel, hand)
		decided = decided && (left < 0 || left >= free)
		return left >= free
	}
	now := nominalSeats(total, shares, all)
	p.kinds = Usual
	switch {
	case suffices(now, hand):
		p.answer = noChangeNeeded
	default:
		for _, v := range moreShares(total, shares, catchAllShares) {
			if p.answer == "" && keep(total, all, v+catchAllShares, catchAllShares) && suffices(nominalSeats(total, v, v+catchAllShares), hand) {
				p.answer = fmt.Sprintf("nominalConcurrencyShares of readers %d", v)
			}
		}
		for _, h := range handsInOrder(queues, hand) {
			if p.answer == "" && suffices(now, h) {
				p.answer = fmt.Sprintf("handSize of readers %d", h)
			}
		}
	}
	if p.answer == "" || !decided || (goal == noChange) != (p.answer == noChangeNeeded) {
		return p, false
	}
	b := builder{servers: fmt.Sprintf("maxRequestsInflight: %d, maxMutatingRequestsInflight: 20", total-20), duration: "3m", warmup: "5s",
		resources: "\n  resources: [{resource: pods, objects: 50000, averageBytes: 2000}]"}
	b.level("readers", shares, fmt.Sprintf("queues: %d, handSize: %d, queueLengthLimit: 50", queues, hand), "")
	b.addRequest("reports", "readers", "reader-{i}", lists/2, `verb: list, resource: pods, query: "resourceVersion=0"`, "constant: 3s", "closed: {concurrency: 2}")
	b.add("apps", "readers", "app-{i}", 20, "exponential: {mean: 5ms}", "poisson: {rate: 5/s}")
	b.goal("wait{workload:apps}", "p99 < 10ms")
	b.goal("rejected", "rate == 0")
	p.text = b.text()
	return p, true
}

// lent returns how many seats a level with a smoothed demand gets of an idle level that lends, beside catch-all:
// the targets of all are multiplied with the same factor, and an idle one aims at its lower limit.
func lent(total int, demand float64, lender, lendable, catchAll int) int {
	low := lender - int(math.Round(float64(lender)*float64(lendable)/100))
	return int(math.Round(float64(total) * demand / (demand + float64(low) + float64(catchAll))))
}

// drawLending draws apps that need seats of an idle reserve, by the division of the seats and Erlang C. The answer is the
// first lendablePercent that leaves them enough.
func drawLending(r *rand.Rand, _ aim) (p randomProblem, ok bool) {
	const minutes, ms = 5, 100
	total := between(r, 30, 50)
	apps := between(r, 20, 40)
	reserve := 100 - catchAllShares - apps
	appSeats, lender, catchAll := nominalSeats(total, apps, 100), nominalSeats(total, reserve, 100), nominalSeats(total, catchAllShares, 100)
	load := math.Round(10*(float64(appSeats)+uniform(r, 0, 10))) / 10
	limit := math.Round(uniform(r, 5, 100)) / ms
	far := func(c int) (suffices, clear bool) {
		if c <= appSeats {
			return false, true
		}
		p99 := waitP99(c, load)
		return p99 < limit, p99 < limit/1.6 && erlangC(c, load) < 0.5 || p99 > limit*1.6
	}
	now, _ := far(appSeats)
	if now || waitP99(appSeats, load) < 2*limit || load > 18 || erlangB(lender, load)*load/ms*60_000*minutes < 8 {
		return p, false
	}
	for percent := 10; p.answer == "" && percent <= 100; percent += 10 {
		sum := appSeats + lender + catchAll
		low, clear1 := far(lent(sum, load+0.9*math.Sqrt(load), lender, percent, catchAll))
		high, clear2 := far(lent(sum, load+1.6*math.Sqrt(load), lender, percent, catchAll))
		if low != high || !clear1 || !clear2 {
			return p, false
		}
		if low {
			p.answer = fmt.Sprintf("lendablePercent of reserve %d", percent)
		}
	}
	b := builder{servers: fmt.Sprintf("maxRequestsInflight: %d, maxMutatingRequestsInflight: 0, adjustmentPhase: random", total), duration: fmt.Sprintf("%dm", minutes), warmup: "1m"}
	b.level("apps", apps, oneQueue, "")
	b.level("reserve", reserve, "", noBorrowing+", lendablePercent: 0")
	b.add("apps", "apps", "app", 1, fmt.Sprintf("exponential: {mean: %dms}", ms), fmt.Sprintf("poisson: {rate: %.6g/s}", load/ms*1000))
	b.goal("wait{workload:apps}", fmt.Sprintf("p99 < %vms", limit*ms))
	b.goal("rejected{workload:apps}", "rate == 0")
	p.text, p.kinds = b.text(), Usual
	return p, p.answer != ""
}

// drawPlaces draws bursts of one flow. A level takes c + h·L of them. The answer is the least queueLengthLimit, or
// another level that has as many seats.
func drawPlaces(r *rand.Rand, _ aim) (p randomProblem, ok bool) {
	total, jobs, hand, length, burst := between(r, 40, 100), between(r, 5, 40), between(r, 1, 6), between(r, 2, 20), between(r, 20, 200)
	other := 100 - catchAllShares - jobs
	seatsOfJobs := nominalSeats(total, jobs, 100)
	needed := (burst - seatsOfJobs + hand - 1) / hand
	switch {
	case burst <= nominalSeats(total, other, 100):
		p.answer, p.levels = "move jobs to other", []string{"other"}
	case needed <= length*mostLengths:
		p.answer = fmt.Sprintf("queueLengthLimit of jobs %d", needed)
	}
	if p.answer == "" || needed <= length {
		return p, false
	}
	b := builder{servers: fmt.Sprintf("maxRequestsInflight: %d, maxMutatingRequestsInflight: 20", total-20), duration: "1m", warmup: "0s"}
	b.level("jobs", jobs, fmt.Sprintf("queues: 64, handSize: %d, queueLengthLimit: %d", hand, length), noBorrowing)
	b.level("other", other, "", noBorrowing)
	b.add("jobs", "jobs", "app", 1, "constant: 100ms", fmt.Sprintf("burst: {at: 1s, requests: %d, every: 20s}", burst))
	b.goal("rejected{workload:jobs}", "rate == 0")
	p.text, p.kinds = b.text(), Usual
	return p, true
}

// drawWait draws bursts that wait for longer than a quarter of the request timeout: the last of n requests waits for
// (⌈n/c⌉ − 1) executions. The answer is more shares, or, if that takes too many seats from all others, those of a level that needs
// few.
func drawWait(r *rand.Rand, goal aim) (p randomProblem, ok bool) {
	total, jobs, burst, timeout, execution := between(r, 30, 80), between(r, 5, 30), between(r, 60, 400), 20*between(r, 1, 3), uniform(r, 0.5, 3)
	execution = math.Round(10*execution) / 10
	wait := float64(timeout) / 4
	other := 100 - catchAllShares - jobs
	decided := true
	suffices := func(c int) bool {
		longest := float64((burst+c-1)/c-1) * execution
		decided = decided && math.Abs(longest-wait) > 0.05
		return longest < wait
	}
	p.kinds, p.answer = Usual, noneSuffices
	if suffices(nominalSeats(total, jobs, 100)) {
		p.answer = noChangeNeeded
	} else {
		for _, v := range moreShares(total, jobs, 100-jobs) {
			if !keep(total, 100, v+100-jobs, other, catchAllShares) {
				break
			}
			if suffices(nominalSeats(total, v, v+100-jobs)) {
				p.answer = fmt.Sprintf("nominalConcurrencyShares of jobs %d", v)
				break
			}
		}
		for d := 1; p.answer == noneSuffices && d < other; d++ {
			if suffices(nominalSeats(total, jobs+d, 100)) {
				p.answer = fmt.Sprintf("shares of jobs from other %d", d)
			}
		}
	}
	want := map[aim]string{noChange: noChangeNeeded, nothing: noneSuffices}[goal]
	if want == "" && (p.answer == noChangeNeeded || p.answer == noneSuffices) || want != "" && p.answer != want || !decided || burst <= nominalSeats(total, other, 100) {
		return p, false
	}
	b := builder{servers: fmt.Sprintf("maxRequestsInflight: %d, maxMutatingRequestsInflight: 20, requestTimeout: %ds", total-20, timeout), duration: "2m", warmup: "0s"}
	b.level("jobs", jobs, oneQueue, noBorrowing)
	b.level("other", other, "", noBorrowing)
	b.add("other", "other", "app", 1, "constant: 5ms", "constant: {rate: 1/s}")
	b.add("jobs", "jobs", "app", 1, fmt.Sprintf("constant: %vs", execution), fmt.Sprintf("burst: {at: 1s, requests: %d, every: 60s}", burst))
	b.goal("rejected{workload:jobs}", "rate == 0")
	p.text = b.text()
	return p, true
}

// drawOwnLevel draws a flood that fills the only queue of a level. The answer is a level of its own for login, with
// as many seats as Erlang C says, which all levels give, or, if that is too much, the level of the flood; hands and queues must not be changed.
func drawOwnLevel(r *rand.Rand, _ aim) (p randomProblem, ok bool) {
	const minutes, ms = 5, 50
	total, enough := between(r, 20, 40), between(r, 3, 9)
	load := math.Round(10*(float64(enough)-uniform(r, 0.6, 1.4)*math.Sqrt(float64(enough)))) / 10
	if load < 0.5 {
		return p, false
	}
	limit := math.Round(ms * math.Sqrt(max(0.01, waitP99(enough, load))*min(waitP99(enough-1, load), 4)))
	if limit < 5 || !apart(enough, load, limit/ms, minutes*60_000/ms) {
		return p, false
	}
	for _, v := range moreShares(total, 0, 100) {
		if nominalSeats(total, v, v+100) >= enough && keep(total, 100, v+100, 95, catchAllShares) {
			p.answer = fmt.Sprintf("own-level login %d", v)
			break
		}
	}
	for v := 1; p.answer == ""; v++ {
		if nominalSeats(total, v, 100) >= enough {
			p.answer = fmt.Sprintf("own-level login from shared %d", v)
		}
	}
	b := builder{servers: fmt.Sprintf("maxRequestsInflight: %d, maxMutatingRequestsInflight: 0", total), duration: fmt.Sprintf("%dm", minutes), warmup: "5s"}
	b.level("shared", 95, oneQueue, "")
	b.add("flood", "shared", "app-{i}", 3, "constant: 1s", fmt.Sprintf("closed: {concurrency: %d}", between(r, 20, 40)))
	b.add("login", "shared", "app", 1, fmt.Sprintf("exponential: {mean: %dms}", ms), fmt.Sprintf("poisson: {rate: %.6g/s}", load/ms*1000))
	b.goal("wait{workload:login}", fmt.Sprintf("p99 < %vms", limit))
	b.goal("rejected", "rate == 0")
	p.text, p.kinds = b.text(), []string{"flowschemas", "lending", "levels"}
	return p, p.answer != ""
}
