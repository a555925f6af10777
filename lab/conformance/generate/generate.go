// Package generate draws random trials for the comparison with upstream: configurations, changes
// of them, loads and requests of all kinds. A seed determines the trial.
package generate

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"apfsim/core/flowcontrol"
	"apfsim/lab/conformance/trial"
	"apfsim/sim/trace"
)

// generator draws one trial.
type generator struct {
	*rand.Rand
	trial     *trial.Trial
	endNs     int64            // requests arrive before this time
	classes   int              // number of classes of users; the users of class k are in group-k
	lull      [2]float64       // interval without arrivals, in fractions of endNs
	queues    map[string]int32 // number of queues that each level has or had last
	noWatches bool             // so that no mutation has additional latency
	watched   int              // 1 + index of the resource with many watchers; 0 if there is none
}

// Trial returns a trial with approximately the given number of requests.
func Trial(seed uint64, requests int) *trial.Trial {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0))}
	seats := int(g.between(2, 800))
	reads := g.IntN(seats)
	g.trial = &trial.Trial{
		Name:                        fmt.Sprintf("seed-%016x", seed),
		MaxRequestsInflight:         reads,
		MaxMutatingRequestsInflight: seats - reads,
		RequestTimeoutNs:            int64(time.Minute),
		Resources:                   g.resources(),
	}
	if g.chance(0.3) {
		g.trial.RequestTimeoutNs = int64(g.between(1e9, 300e9))
	}
	g.endNs = int64(g.between(0.3e9, 120e9))
	if g.chance(0.3) {
		g.lull[0] = g.Float64()
		g.lull[1] = g.lull[0] + g.Float64()*(1-g.lull[0])
	}
	g.configuration()
	if g.chance(0.4) {
		g.changes()
	}
	g.requests(requests)
	g.samples()
	if g.chance(0.25) {
		g.hangUps()
	}
	return g.trial
}

// ForReleases returns a trial whose configuration is valid in every release, and that has no changes
// of it and no samples: those are compared with the newest release only.
func ForReleases(seed uint64, requests int) *trial.Trial {
	t := Trial(seed, requests)
	t.Changes, t.SamplesNs = nil, nil
	for _, l := range t.Objects.PriorityLevels {
		// Releases before 1.29 do not accept a level without shares.
		if limited := l.Spec.Limited; limited != nil && *limited.NominalConcurrencyShares == 0 {
			limited.NominalConcurrencyShares = ptr(int32(1))
		}
	}
	for i := range t.Requests {
		// Authentication puts every user into one of two groups. Without either, flow control panics
		// before 1.20, because the FlowSchema catch-all does not match.
		if r := &t.Requests[i]; len(r.Groups) == 0 {
			r.Groups = []string{"system:authenticated"}
		}
	}
	switch random := rand.New(rand.NewPCG(seed, 2)); random.IntN(8) {
	case 0:
		lengthen(t)
	case 1:
		createTokens(t, random)
	case 2:
		steady(t, random)
	}
	return t
}

// lengthen makes everything in a trial last longer, so that requests wait for more than a minute,
// which is the longest wait limit since 1.28.5.
func lengthen(t *trial.Trial) {
	const factor = 100
	t.RequestTimeoutNs = int64(10 * time.Minute)
	for i := range t.Requests {
		r := &t.Requests[i]
		r.ArrivalNs, r.ExecutionNs, r.WatchNs = factor*r.ArrivalNs, factor*r.ExecutionNs, factor*r.WatchNs
	}
	for i := range t.HangUps {
		t.HangUps[i].AfterNs *= factor
	}
}

// createTokens makes all watches of a trial watches of service accounts, and half of its other requests
// creations of tokens. Up to 1.25, the estimate of such a request depends on these watches. A path of
// its own, such as a proxy's, would tell a driver another kind of request, so that it is cleared.
func createTokens(t *trial.Trial, random *rand.Rand) {
	for i := range t.Requests {
		switch r := &t.Requests[i]; {
		case r.Resource == "":
		case r.Verb == "watch":
			r.APIGroup, r.Resource, r.Path = "", "serviceaccounts", ""
		case random.IntN(2) == 0:
			r.Verb, r.APIGroup, r.Resource, r.Subresource, r.Query = "create", "", "serviceaccounts", "token", ""
			r.Namespace, r.Name, r.Path = cmp.Or(r.Namespace, "ns-1"), cmp.Or(r.Name, "x-1"), ""
		}
	}
}

// hangUps lets some clients go away, most of them while their requests would still wait: the
// wait limit is a quarter of the time-out.
func (g *generator) hangUps() {
	part := g.between(0.01, 1)
	for i := range g.trial.Requests {
		if g.chance(part) {
			g.trial.HangUps = append(g.trial.HangUps, trial.HangUp{
				ID: g.trial.Requests[i].ID, AfterNs: int64(g.between(1e4, float64(g.trial.RequestTimeoutNs)/2))})
		}
	}
}

func (g *generator) chance(p float64) bool { return g.Float64() < p }

// between draws a number from low to high whose logarithm is uniformly distributed.
func (g *generator) between(low, high float64) float64 {
	return low * math.Exp(g.Float64()*math.Log(high/low))
}

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

// samples draws the times of the snapshots: shortly after every adjustment and every change, and
// random times.
func (g *generator) samples() {
	var all []int64
	for at := int64(1); at < g.endNs+2*flowcontrol.AdjustmentPeriodNs; at += flowcontrol.AdjustmentPeriodNs {
		all = append(all, at)
	}
	for _, c := range g.trial.Changes {
		all = append(all, c.AtNs+1)
	}
	for range 12 {
		all = append(all, g.Int64N(g.endNs))
	}
	slices.Sort(all)
	g.trial.SamplesNs = slices.Compact(all)
}

// class is a class of users with the same kind of load.
type class struct {
	k        int
	weight   float64        // share of all requests
	service  func() float64 // draws an execution time in nanoseconds
	users    int            // number of users
	accounts bool           // the users are service accounts
	mix      []float64      // weights of the kinds of request
	bursts   []float64      // times at which bursts begin, in fractions of endNs; nil for an even load
	spread   float64        // mean delay of a request after the beginning of its burst, in fractions of endNs
}

// requests draws the load of each class, from almost idle to three times the capacity of its
// level, and then the requests.
func (g *generator) requests(n int) {
	classes := make([]class, g.classes)
	sum := 0.0
	for k := range classes {
		c := &classes[k]
		c.k, c.weight = k, g.between(0.05, 1)
		c.users, c.accounts = int(g.between(1, 200)), g.chance(0.3)
		c.mix = g.mix()
		if g.chance(0.4) {
			c.bursts = make([]float64, 1+g.IntN(20))
			for i := range c.bursts {
				c.bursts[i] = g.Float64()
			}
			c.spread = g.between(1e-5, 0.1)
		}
		sum += c.weight
	}
	seats := float64(g.trial.MaxRequestsInflight + g.trial.MaxMutatingRequestsInflight)
	for k := range classes {
		c := &classes[k]
		c.weight /= sum
		load := g.between(0.02, 3) * seats / float64(g.classes)
		rate := c.weight * float64(n) / float64(g.endNs)
		c.service = g.serviceTime(min(max(load/rate, 1e4), 20e9))
	}
	if !g.noWatches && g.chance(0.5) {
		g.watchers()
	}
	for k := range classes {
		for range int(math.Ceil(classes[k].weight * float64(n))) {
			g.request(&classes[k])
		}
	}
	slices.SortStableFunc(g.trial.Requests, func(a, b trace.Record) int { return int(a.ArrivalNs - b.ArrivalNs) })
	last := int64(1)
	for i := range g.trial.Requests {
		r := &g.trial.Requests[i]
		r.ID = int64(i + 1)
		r.ArrivalNs = max(r.ArrivalNs, last+1)
		last = r.ArrivalNs
	}
}

// serviceTime returns a function that draws times from a random kind of distribution with a mean
// in nanoseconds.
func (g *generator) serviceTime(mean float64) func() float64 {
	switch g.IntN(4) {
	case 0:
		return func() float64 { return mean * (0.999 + 0.002*g.Float64()) }
	case 1: // a mixture of short and long times
		return func() float64 {
			return mean * pick(g, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 9.1) * g.ExpFloat64()
		}
	default:
		return func() float64 { return mean * g.ExpFloat64() }
	}
}

// arrival draws the arrival time of a request, in nanoseconds.
func (g *generator) arrival(c *class) int64 {
	x := g.Float64()
	if c.bursts != nil {
		x = c.bursts[g.IntN(len(c.bursts))] + c.spread*g.ExpFloat64()
		x -= math.Floor(x)
	}
	if g.lull[0] < x && x < g.lull[1] {
		x = g.lull[0] * g.Float64()
	}
	return 2 + int64(x*float64(g.endNs))
}

// identity sets the user and the groups of a request of the class.
func (g *generator) identity(c *class, r *trace.Record) {
	i := int(float64(c.users) * g.Float64() * g.Float64()) // users with a low number send more requests
	group := fmt.Sprintf("group-%d", c.k)
	switch {
	case g.chance(0.01):
		r.User, r.Groups = "admin", []string{"system:masters", "system:authenticated"}
	case g.chance(0.01):
		r.User, r.Groups = "system:anonymous", []string{"system:unauthenticated"}
	case g.chance(0.005):
		r.User, r.Groups = "nobody", nil
	case c.accounts:
		namespace := fmt.Sprintf("ns-%d", i%5)
		r.User = fmt.Sprintf("system:serviceaccount:%s:sa-%d", namespace, i)
		r.Groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, group, "system:authenticated"}
	default:
		r.User = fmt.Sprintf("user-%d-%d", c.k, i)
		r.Groups = []string{group, "system:authenticated"}
		if g.chance(0.05) {
			r.Groups = []string{"system:nodes", "system:authenticated"}
		}
	}
}
