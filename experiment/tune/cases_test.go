package tune

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A configuration whose goals hold needs no change.
func TestNoChangeNeeded(t *testing.T) {
	c := counted{mean: 8, total: 60, jobs: 50, others: 50}
	a := c.solve(t, 1)
	if a.Needed || a.Selected != nil || a.Present.Passes != a.Present.Runs {
		t.Errorf("needed %v, selected %v, held in %+v; want no change, and all runs to hold", a.Needed, a.Selected, a.Present)
	}
}

// Goals that hold with executions of a smaller load say nothing about this load, with which they may take longer.
func TestLoadThatTheExecutionsAreNotOf(t *testing.T) {
	for average, want := range map[string]string{"0.9": "NO CHANGE NEEDED", "0.4": "NOT KNOWN"} {
		b := builder{servers: "maxRequestsInflight: 60, maxMutatingRequestsInflight: 0, capacity: {average: " + average + "}", duration: "20s", warmup: "0s"}
		b.level("jobs", 95, "", noBorrowing)
		b.add("jobs", "jobs", "app", 1, "exponential: {mean: 10ms}", "poisson: {rate: 100/s}")
		b.goal("rejected{workload:jobs}", "rate == 0")
		a, _ := solveRandom(t, randomProblem{text: b.text(), kinds: Usual})
		if got := a.Document().Answer; a.Needed || got.Status != want || slices.Contains(got.Why, slower) != (want == "NOT KNOWN") {
			t.Errorf("an average of %s: needed %v, %+v; want %s", average, a.Needed, got, want)
		}
	}
}

// With fewer cores than the load, no number of seats suffices, and with a capacity, the scenario shows it: more servers do, and
// without them nothing does.
func TestFewerCoresThanTheLoad(t *testing.T) {
	var p randomProblem
	for n, ok := uint64(1), false; !ok || !strings.Contains(p.text, "{cores: 4}"); n++ { // which has the fewest requests
		p, ok = drawCores(rand.New(rand.NewPCG(n, 2)), nothing)
	}
	if a, v := solveRandom(t, p); v.said != noneSuffices || a.Closest == nil {
		t.Errorf("got %s and the closest %v, want that none suffices", v.said, a.Closest)
	}
	p.kinds = []string{"server"}
	a, v := solveRandom(t, p)
	if !strings.HasPrefix(v.said, "replicas ") {
		t.Errorf("got %s, want more servers", v.said)
	}
	for _, e := range a.Eliminated {
		if strings.HasPrefix(e.ID, "max-requests-inflight ") && e.Passes > 0 {
			t.Errorf("%s held in %d of %d runs, though there are no more cores", e.ID, e.Passes, e.After)
		}
	}
	before, after, _ := strings.Cut(p.text, ", capacity: {")
	_, after, _ = strings.Cut(after, "}")
	p.text = before + after
	if _, v := solveRandom(t, p); !strings.HasPrefix(v.said, "max-requests-inflight ") {
		t.Errorf("without a capacity: got %s, want more seats", v.said)
	}
}

// shiftedBursts is a level whose bursts another level has the seats for, unless the requests there arrive just after them.
func shiftedBursts(goals ...string) randomProblem {
	b := builder{servers: "maxRequestsInflight: 80, maxMutatingRequestsInflight: 20", duration: "25s", warmup: "0s"}
	b.level("jobs", 20, "queues: 64, handSize: 1, queueLengthLimit: 10", noBorrowing)
	b.level("other", 75, "", noBorrowing)
	b.add("jobs", "jobs", "app", 1, "constant: 100ms", "burst: {at: 1s, requests: 40, every: 10s}")
	b.add("other", "other", "app", 1, "constant: 100ms", "burst: {at: 1050ms, requests: 50, every: 10s}")
	for _, name := range goals {
		b.goal(name, "rate == 0")
	}
	return randomProblem{text: b.text(), kinds: Usual, levels: []string{"other"}}
}

// shiftedAnswer is the answer of these bursts, which tests share.
func shiftedAnswer(t *testing.T, goals ...string) *Answer {
	t.Helper()
	return once(strings.Join(goals, " "), func() *Answer {
		a, _ := solveRandom(t, shiftedBursts(goals...))
		return a
	})
}

// A cheaper change that harms another workload does not win, whether a goal is about that workload or not.
func TestGoalsOfOtherWorkloads(t *testing.T) {
	for _, c := range []struct {
		goals []string
		want  string
	}{
		{[]string{"rejected{workload:jobs}"}, "queueLengthLimit of jobs 20"},
		{[]string{"rejected{workload:jobs}", "rejected{workload:other}"}, "queueLengthLimit of jobs 20"}, // 20 + 1·20 = 40
	} {
		if said := shiftedAnswer(t, c.goals...).name(); said != c.want {
			t.Errorf("%v: got %s, want %s", c.goals, said, c.want)
		}
	}
}

// A search whose budget ends during the confirmation selects nothing, and does not say that none suffices.
func TestBudgetEndsConfirmation(t *testing.T) {
	goals := []string{"rejected{workload:jobs}", "rejected{workload:other}"}
	p, whole := shiftedBursts(goals...), shiftedAnswer(t, goals...)
	sc, err := p.load()
	if err != nil {
		t.Fatal(err)
	}
	var a *Answer
	for budget := whole.Runs * 2 / 3; a == nil || a.Selected != nil; budget -= 60 { // until it ends before the first is confirmed
		if a, err = Run(t.Context(), Options{Scenario: sc, Kinds: p.kinds, Levels: p.levels, Probability: promised, Confidence: 0.95, Budget: budget}); err != nil {
			t.Fatal(err)
		}
	}
	if !a.OutOfBudget || a.Closest == nil || a.Closest.ID != whole.smallest().ID {
		t.Fatalf("out of budget %v, closest %+v; want the closest %s", a.OutOfBudget, a.Closest, whole.smallest().ID)
	}
	if got := a.Document().Answer; !strings.Contains(got.Sentence, "budget") {
		t.Errorf("got the sentence %q, want that the budget ended the search", got.Sentence)
	}
}

// The answer is repeated with both ends of the interval of the capacity. The jobs
// of a burst need 3 s of a core: eight cores execute them in 0.4 s, and two in 1.5 s, so that the last ones wait too long.
func TestAnswerIsRepeatedWithTheEndsOfTheCapacity(t *testing.T) {
	b := builder{servers: "maxRequestsInflight: 8, maxMutatingRequestsInflight: 2, capacity: {cores: 8, interval: {cores: {low: 2}}}", duration: "25s", warmup: "0s"}
	b.level("jobs", 10, "queues: 64, handSize: 1, queueLengthLimit: 10", noBorrowing)
	b.add("jobs", "jobs", "app", 1, "constant: 100ms", "burst: {at: 1s, requests: 30, every: 10s}")
	b.goal("rejected{workload:jobs}", "rate == 0")
	b.goal("wait{workload:jobs}", "max < 1s")
	a, _ := solveRandom(t, randomProblem{text: b.text(), kinds: Usual})
	got := map[string]bool{}
	for _, b := range a.Breaks {
		got[b.What] = b.Holds
	}
	if least, ok := got["the least capacity of its interval"]; !ok || least {
		t.Errorf("with the least capacity: %v, %v; want that it does not hold", least, ok)
	}
	if greatest, ok := got["the greatest capacity of its interval"]; !ok || !greatest {
		t.Errorf("with the greatest capacity: %v, %v; want that it holds", greatest, ok)
	}
}
