package tune

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"apfsim/experiment"
	"apfsim/sim/scenario"
)

// counted is a scenario whose configurations hold with a known probability: requests arrive at random, and none ends before
// the run does. They are all served if there are no more of them than seats, so that a run holds with the probability that
// a Poisson number is at most the number of seats, and not 0: a goal about no request does not hold. A level with queues
// does not help, because those that wait time out.
type counted struct {
	mean                float64 // of the number of requests
	total, jobs, others int     // seats, and the shares of the level and of all other levels
}

func (c *counted) problem() randomProblem {
	b := builder{servers: fmt.Sprintf("maxRequestsInflight: %d, maxMutatingRequestsInflight: 0", c.total), duration: "26s", warmup: "0s", stop: "10s"}
	b.level("jobs", c.jobs, "", noBorrowing)
	b.level("others", c.others-catchAllShares, "", noBorrowing)
	b.add("jobs", "jobs", "app", 1, "constant: 50s", fmt.Sprintf("poisson: {rate: %.6g/s}", c.mean/10))
	b.add("others", "others", "app", 1, "constant: 5ms", "constant: {rate: 1/s}")
	b.goal("rejected{workload:jobs}", "count == 0")
	return randomProblem{text: b.text(), kinds: []string{"lending", "levels"}}
}

// probability returns with which probability a run holds.
func (c *counted) probability(seats int) float64 {
	sum, term := 0.0, math.Exp(-c.mean)
	for n := 1; n <= seats; n++ {
		term *= c.mean / float64(n)
		sum += term
	}
	return sum
}

// solve lets tune solve the problem with a base seed.
func (c *counted) solve(t *testing.T, seed uint64) *Answer {
	t.Helper()
	p := c.problem()
	p.seed = seed
	a, _ := solveRandom(t, p)
	return a
}

// seatsWith returns the seats of jobs with what an answer selected: at their level, or at one of their own.
func (c *counted) seatsWith(a *Answer) int {
	sc := a.smallest().scenarioOf(a.search.present)
	level := sc.Objects.FlowSchema("jobs").Spec.PriorityLevelConfiguration.Name
	return seatsOf(divide(a.search.problem, sc), level).Nominal
}

// A change whose runs hold with a probability of 0.85 is not confirmed, even if it holds in nine of the first ten.
func TestNineOfTenIsNotEnough(t *testing.T) {
	c := counted{mean: 4.25, total: 6, jobs: 20, others: 80}
	if p := c.probability(c.total); math.Abs(p-0.85) > 0.01 {
		t.Fatalf("all seats hold with a probability of %.3f, want 0.85", p)
	}
	// The same with all seats at once, whose runs have the same arrivals as those of the candidate with most shares.
	all := counted{mean: c.mean, total: c.total, jobs: 95 * 20, others: 20}
	wide := all.problem()
	sc, err := wide.load()
	if err != nil {
		t.Fatal(err)
	}
	nines := 0
	for seed := uint64(1); nines < 3; seed += 1000 {
		plan := experiment.Plan{N: 10, Early: true, Run: func(i int) *scenario.Scenario {
			own := *sc
			own.Spec.Seed = seed + uint64(i)
			return &own
		}}
		runs, passes := experiment.BeginTrials(t.Context(), plan), 0
		for range 10 {
			run, err := runs.Next()
			if err != nil {
				t.Fatal(err)
			}
			if run.Passed() {
				passes++
			}
		}
		runs.Stop()
		if passes < 9 {
			continue
		}
		nines++
		if a := c.solve(t, seed); a.Selected != nil {
			t.Errorf("seed %d: selected %s", seed, a.Selected.ID)
		}
	}
}

// more says how many seats more than the least that hold with a probability the selected change has.
func (c *counted) more(a *Answer, probability float64) int {
	least := 0
	for c.probability(least) < probability {
		least++
	}
	return c.seatsWith(a) - least
}

// Of many searches, at most as many select a change that holds less often than promised as the confidence allows.
func TestPromisedProbability(t *testing.T) {
	searches, runs, short, none := max(2, *randomProblems), 0, 0, 0
	var dearer [5]int // by how many seats more than the least with a probability of 0.97
	for n := range searches {
		r := rand.New(rand.NewPCG(uint64(n), 7))
		c := counted{mean: uniform(r, 6, 15), total: 25, others: 96, jobs: 4}
		a := c.solve(t, uint64(1+1000*n))
		runs += a.Runs
		switch {
		case a.Selected == nil:
			none++
		case c.more(a, promised) < 0:
			short++
		default:
			dearer[max(0, min(len(dearer)-1, c.more(a, 0.97)))]++
		}
	}
	t.Logf("of %d searches with %d runs each, %d select nothing, and %d what holds less often than promised; the others, by how many seats more they take than a change that holds with 0.97: %d", searches, runs/searches, none, short, dearer)
	if expected := 0.05 * float64(searches); float64(short) > expected+2*math.Sqrt(expected) || none > 0 {
		t.Error("want at most 5 % that hold less often than promised, and none that selects nothing")
	}
}
