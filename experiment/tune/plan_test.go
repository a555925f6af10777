package tune

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"apfsim/experiment"
	"apfsim/experiment/catalogue"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

// Stories with a best option that the test finds by trying everything. Each is told twice: the second time, the servers have so
// many cores that more seats make executions slower.
var stories = []struct {
	name, text, capacity string
	catalogue            string // a name, or a text
	kinds                []string
	best, withCapacity   string
	cheapestSize         string // that holds without a change, and is not tight; "" if none is
}{
	{
		// github.com/pytorch/ci-infra/pull/447: EKS rejects creations of pods of a CI system, 0.36 % of the traffic. The tier XL
		// was asked for, and later 4XL. The CI system is one flow: of 350 pods at once at each of two servers, 300 find a place
		// in a queue of workload-low, and the others a seat that the level has not lent. To lend nothing is free.
		name: "ci", catalogue: "eks", kinds: []string{"lending", "suggested"},
		text: `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: ci}
spec:
  duration: 13s
  warmup: 0s
  servers: {replicas: 2, maxRequestsInflight: 400, maxMutatingRequestsInflight: 200}
  config: {base: Suggested}
  workload:
  - {name: runners, as: {serviceAccount: "ci/runners"}, request: {verb: create, resource: pods, namespace: ci}, execution: 100ms, arrivals: {burst: {at: 1s, requests: 700, every: 10s}}}
  - {name: apps, clients: 5, as: {serviceAccount: "apps/app-{i}"}, request: {verb: get, resource: configmaps, namespace: apps, name: settings}, execution: 10ms, arrivals: {poisson: {rate: 5/s}}}
  thresholds:
    "rejected{workload:runners}": ["rate == 0"]
    "latency{workload:runners}": ["max < 2s"]
    "rejected{workload:apps}": ["rate == 0"]
`,
		capacity: "capacity: {cores: 64}", cheapestSize: "tier-4xl",
		best: "standard + lendablePercent of workload-low 0", withCapacity: "tier-4xl",
	},
	{
		// Backups come 60 at once, and have places for 10. A server with 75 seats takes all of them. With 8 cores, the pages of
		// the web that come meanwhile then take too long.
		name: "backups", catalogue: sizesText("30: 10", "60: 20", "75: 40", "150: 60"), kinds: []string{"lending", "flowschemas"},
		text: func() string {
			b := builder{servers: "maxRequestsInflight: 20, maxMutatingRequestsInflight: 10", duration: "13s", warmup: "0s"}
			b.level("backups", 75, "queues: 1, handSize: 1, queueLengthLimit: 4", noBorrowing)
			b.level("web", 20, "queues: 64, handSize: 1, queueLengthLimit: 50", noBorrowing)
			b.add("backups", "backups", "app", 1, "constant: 100ms", "burst: {at: 1s, requests: 60, every: 10s}")
			b.add("web", "web", "app-{i}", 5, "constant: 10ms", "constant: {rate: 10/s}")
			b.goal("rejected{workload:backups}", "rate == 0")
			b.goal("rejected{workload:web}", "rate == 0")
			b.goal("latency{workload:web}", "max < 50ms")
			return b.text()
		}(),
		capacity: "capacity: {cores: 8}", cheapestSize: "150", // 75 is tight
		best: "75", withCapacity: noneSuffices,
	},
	{
		// What the cluster has holds. So does a size of half of the price: 40 requests of 100 ms at once need 40 seats to wait for
		// less than 50 ms.
		name: "healthy", catalogue: sizesText("20: 10", "44: 20", "90: 40", "180: 80"), kinds: []string{"queues", "levels", "lending"},
		text: func() string {
			b := builder{servers: "maxRequestsInflight: 60, maxMutatingRequestsInflight: 30", duration: "13s", warmup: "0s"}
			b.level("jobs", 95, oneQueue, noBorrowing)
			b.add("jobs", "jobs", "app", 1, "constant: 100ms", "burst: {at: 1s, requests: 40, every: 10s}")
			b.goal("wait{workload:jobs}", "max < 50ms")
			b.goal("rejected{workload:jobs}", "rate == 0")
			return b.text()
		}(),
		capacity: "capacity: {cores: 16}", cheapestSize: "44",
		best: "44", withCapacity: "44",
	},
}

// sizesText is a catalogue of sizes of one server, each SEATS: PRICE.
func sizesText(sizes ...string) string {
	text := "apiVersion: apfsim/v1alpha1\nkind: Catalogue\nname: own\nsource: a test\ndate: 2026-11-01\ncurrency: EUR\nper: month\nsizes:\n"
	for _, s := range sizes {
		seats, price, _ := strings.Cut(s, ": ")
		text += fmt.Sprintf("- {name: %q, seats: %s, replicas: 1, price: %s}\n", seats, seats, price)
	}
	return text
}

// planOf returns the plan of a story.
func planOf(t *testing.T, text, sizes string, kinds []string) *Plan {
	t.Helper()
	return once("plan"+text+sizes, func() *Plan {
		all, wrong := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", loader.Options{})
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		c, err := catalogue.Load(sizes)
		if strings.Contains(sizes, "\n") {
			c, err = catalogue.Parse("sizes.yaml", []byte(sizes))
		}
		if err != nil {
			t.Fatal(err)
		}
		p, err := RunPlan(t.Context(), Options{Scenario: all[0], Kinds: kinds, Probability: promised, Confidence: 0.95, Budget: 4000}, c)
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

// id names the cheapest option that holds, tight or not.
func (p *Plan) id() string {
	for _, o := range p.Options {
		if o.Outcome != OptionHolds && o.Outcome != OptionTight {
			continue
		}
		if !o.Changed {
			return o.Size
		}
		c := o.Change
		if o.done.tight != nil {
			c = o.done.tight.c
		}
		_, change, found := strings.Cut(c.ID, " + ")
		if !found {
			change = c.ID
		}
		return o.Size + " + " + change
	}
	return noneSuffices
}

// exhaust runs every size with every change that a search at this size has, and returns the cheapest that holds.
func exhaust(t *testing.T, p *Plan) string {
	t.Helper()
	sizes := p.Catalogue.Sizes
	for i := range sizes {
		o := &Option{Size: sizes[i].Name, at: sizeOf(&sizes[i], &p.main.present.Spec.Servers)}
		s, err := p.searchAt(o)
		if err != nil {
			t.Fatal(err)
		}
		if s == nil {
			return o.Size
		}
		for _, c := range s.all {
			if holdsAlways(t, c.scenarioOf(s.present)) {
				return o.Size + " + " + c.ID
			}
		}
	}
	return noneSuffices
}

// holdsAlways says whether the goals of a scenario hold in nearly all of some runs.
func holdsAlways(t *testing.T, sc *scenario.Scenario) bool {
	t.Helper()
	const n, most = 30, 2
	runs := experiment.BeginTrials(t.Context(), experiment.Plan{N: n, Early: true, Run: func(i int) *scenario.Scenario {
		own := *sc
		own.Spec.Seed = 7000 + uint64(i)
		return &own
	}})
	defer runs.Stop()
	failed := 0
	for range n {
		run, err := runs.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !run.Passed() {
			if failed++; failed > most {
				return false
			}
		}
	}
	return true
}

func TestPlanFindsWhatTryingAllFinds(t *testing.T) {
	for _, story := range stories {
		for _, capacity := range []string{"", story.capacity} {
			t.Run(story.name+"/"+capacity, func(t *testing.T) {
				text, want, alone := story.text, story.best, story.cheapestSize
				if capacity != "" {
					text, want = strings.Replace(text, "servers: {", "servers: {"+capacity+", ", 1), story.withCapacity
				}
				p := planOf(t, text, story.catalogue, story.kinds)
				if got := p.id(); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				if got := exhaust(t, p); got != want {
					t.Errorf("trying all: got %s, want %s", got, want)
				}
				for _, o := range p.Options {
					if !o.Changed && !o.Present && o.Outcome == OptionHolds && o.Size != alone {
						t.Errorf("%s holds without a change; want %s", o.Size, alone)
					}
				}
				if t.Failed() {
					for _, o := range p.Options {
						t.Logf("%s changed %v: %s %+v %s", o.Size, o.Changed, o.Outcome, o.Holds, o.Because)
					}
				}
			})
		}
	}
}

// A wait goal that holds, without one about rejections: the goal that is added to it is one of the present runs, too.
func TestPlanKeepsWhatIsServedNow(t *testing.T) {
	b := builder{servers: "maxRequestsInflight: 20, maxMutatingRequestsInflight: 10", duration: "13s", warmup: "0s"}
	b.level("jobs", 95, oneQueue, noBorrowing)
	b.add("jobs", "jobs", "app", 1, "constant: 100ms", "burst: {at: 1s, requests: 20, every: 10s}")
	b.goal("wait{workload:jobs}", "max < 50ms")
	p := planOf(t, b.text(), sizesText("15: 10", "30: 20", "60: 40"), []string{"lending"})
	if p.id() != "30" {
		t.Errorf("got %s, want the present size", p.id())
	}
	goals := p.Answer.Thresholds
	if len(goals) != 2 || goals[1].Goal != "rejected{workload:jobs}: rate <= 0.001" || goals[1].Before.Passes != goals[1].Before.Runs || goals[1].Before.Runs != p.Answer.Present.Runs {
		t.Errorf("goals: %+v", goals)
	}
}
