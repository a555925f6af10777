package evidence

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"apfsim/experiment/incident"
	"apfsim/reports/format"
	"apfsim/sim/scenario"
)

// drawn is a scenario that is drawn.
type drawn struct {
	text  string
	load  float64        // of the level with the highest load: what is asked for, in its nominal seats
	flows map[string]int // of each FlowSchema
}

// draw draws a scenario: one to three levels that queue and lend different parts of their seats, with one or two FlowSchemas, of which
// each has one or two kinds of clients. These send at one rate, at a rate that changes, or in bursts; some of their requests are lists
// of several seats, some are watches.
func draw(seed uint64) drawn {
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(texts ...string) string { return texts[r.IntN(len(texts))] }
	d := drawn{load: 0.5 + 0.8*r.Float64(), flows: map[string]int{}}
	var objects, workloads strings.Builder
	levels := 1 + r.IntN(3)
	shares, all := make([]int, levels), 5
	for i := range shares {
		shares[i] = 20 + r.IntN(80)
		all += shares[i]
	}
	seats := 60 + r.IntN(240)
	for i, share := range shares {
		level := fmt.Sprintf("level-%d", i)
		nominal := math.Ceil(float64(seats) * float64(share) / float64(all))
		fmt.Fprintf(&objects, "    - {apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, metadata: {name: %s}, spec: {type: Limited, limited: {nominalConcurrencyShares: %d, lendablePercent: %d, limitResponse: {type: Queue, queuing: {queues: %s, handSize: %d, queueLengthLimit: %s}}}}}\n",
			level, share, 50*r.IntN(2), pick("32", "64", "128"), 4+r.IntN(4), pick("10", "50"))
		load := d.load
		if i > 0 {
			load *= 0.3 + 0.7*r.Float64()
		}
		schemas := 1 + r.IntN(2)
		for k := range schemas {
			schema := fmt.Sprintf("schema-%d-%d", i, k)
			fmt.Fprintf(&objects, "    - {apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema, metadata: {name: %s}, spec: {matchingPrecedence: %d, priorityLevelConfiguration: {name: %s}, distinguisherMethod: {type: ByUser}, rules: [{subjects: [{kind: Group, group: {name: %s}}], resourceRules: [{verbs: [\"*\"], apiGroups: [\"*\"], resources: [\"*\"], namespaces: [\"*\"], clusterScope: true}]}]}}\n", schema, 100+10*i+k, level, schema)
			kinds := 1 + r.IntN(2)
			for n := range kinds {
				clients := 1 + r.IntN(40)
				d.flows[schema] += clients
				mean := 0.05 * math.Exp(3*r.Float64()) // 50 ms to 1 s
				request, widths := "{verb: get, resource: configmaps, namespace: default, name: a}", 1.0
				switch r.IntN(6) {
				case 0:
					request, widths = `{verb: list, resource: pods, query: "limit=3"}`, 3
				case 1:
					request = `{verb: watch, resource: pods, query: "resourceVersion=1"}`
				}
				rate := load * nominal / float64(schemas*kinds) / (mean * widths) / float64(clients)
				execution := fmt.Sprintf(pick("{exponential: {mean: %.4fs}}", "{lognormal: {mean: %.4fs, sigma: 1}}", "%.4fs"), mean)
				arrivals := fmt.Sprintf("{poisson: {rate: %.5f/s}}", rate)
				switch r.IntN(5) {
				case 0:
					arrivals = fmt.Sprintf("{constant: {rate: %.5f/s}}", rate)
				case 1:
					arrivals = fmt.Sprintf("{ramping: {process: poisson, startRate: %.5f/s, stages: [{duration: 160s, rate: %.5f/s}]}}", 0.6*rate, 1.4*rate)
				case 2:
					arrivals = fmt.Sprintf("{onOff: {rate: %.5f/s, on: {exponential: {mean: 3s}}, off: {exponential: {mean: 1s}}}}", rate*4/3)
				}
				fmt.Fprintf(&workloads, "  - {name: w-%d-%d-%d, clients: %d, as: {user: \"%s-%d-{i}\", groups: [%s]}, request: %s, execution: %s, arrivals: %s}\n",
					i, k, n, clients, schema, n, schema, request, execution, arrivals)
			}
		}
	}
	d.text = fmt.Sprintf("apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: drawn-%d}\nspec:\n  seed: %d\n  duration: 160s\n  servers: {maxRequestsInflight: %d, maxMutatingRequestsInflight: 0}\n  config:\n    base: Mandatory\n    objects:\n%s  resources: [{resource: pods, objects: 100000, averageBytes: 100000}]\n  workload:\n%s",
		seed, seed, seats, objects.String(), workloads.String())
	return d
}

func parsed(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	sc, err := incident.Load(map[string][]byte{incident.ScenarioFile: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// silent shows no progress.
func silent(string) format.Progress { return nil }

// score is how many figures of how many come back.
type score struct{ of, good int }

func (s *score) add(t *testing.T, good bool, format string, args ...any) {
	s.of++
	if good {
		s.good++
		return
	}
	t.Logf(format, args...)
}

// What is known of drawn scenarios comes back from their metrics, alone or with the objects and the flows: rates, seats in use and
// rejections of the levels.
func TestDrawnScenariosComeBack(t *testing.T) {
	n := uint64(3)
	if *long {
		n = 40
	}
	for _, given := range []bool{true, false} {
		var rates, ran, seats, rejections, agree score
		for seed := uint64(1); seed <= n; seed++ {
			d := draw(seed)
			sc := parsed(t, d.text)
			o := observe(t, sc)
			options := ImportOptions{Files: o.series(everything), Name: "again", Progress: silent}
			if given {
				options.Objects, options.Flows = &sc.Objects, d.flows
			}
			r, err := Import(context.Background(), options)
			if err != nil {
				t.Fatal(seed, err)
			}
			truth, seconds := o.result.Summary, o.toS-o.fromS
			for _, w := range r.Workloads {
				for _, g := range truth.FlowSchemas {
					if g.Name == w.FlowSchema {
						want := float64(g.Arrived) / seconds
						rates.add(t, math.Abs(w.Rate-want) <= 0.02*want, "%d: rate of %s: %g, want %g", seed, w.FlowSchema, w.Rate, want)
					}
				}
			}
			run := r.Runs[r.Chosen]
			for i := range truth.PriorityLevels {
				l := &truth.PriorityLevels[i]
				if l.Arrived == 0 {
					continue
				}
				rejected, want, tolerance := 0.0, 0.0, 0.0 // those in the time of the series
				for _, f := range run.Figures {
					if f.PriorityLevel != l.Name {
						continue
					}
					switch {
					case f.Name == "requests":
						want := float64(l.Arrived)
						ran.add(t, math.Abs(f.Run-want) <= max(0.02*want, 3*math.Sqrt(want*4/3)), "%d: requests of %s: %g, want %g", seed, l.Name, f.Run, want)
					case f.Name == "seats in use":
						want := l.ServiceSeatSeconds / seconds
						seats.add(t, math.Abs(f.Run-want) <= 0.03*want, "%d, load %.2f: seats of %s: %.2f, want %.2f (%.1f %%; %.2f in the series)", seed, d.load, l.Name, f.Run, want, 100*(f.Run/want-1), f.Series)
					case strings.HasPrefix(f.Name, "rejected"):
						rejected, want, tolerance = rejected+f.Run, want+f.Series, tolerance+f.deviations
					}
				}
				if want+rejected > 0 {
					back := math.Abs(rejected-want) <= max(0.1*want, tolerance, 3*math.Sqrt(want+rejected/3))
					if !back && run.Agrees {
						t.Errorf("%d: rejected of %s: %.0f, want %.0f, and the run is said to agree", seed, l.Name, rejected, want)
					}
					rejections.add(t, back, "%d, load %.2f: rejected of %s: %.0f ± %.0f, want %.0f of %d", seed, d.load, l.Name, rejected, tolerance, want, l.Arrived)
				}
			}
			agree.add(t, run.Agrees, "%d, load %.2f: %s", seed, d.load, strings.Join(r.verdict(), " "))
		}
		t.Logf("objects and flows given: %v. Within the tolerance: rates %d of %d, requests of runs %d of %d, seats in use %d of %d, rejections %d of %d; %d of %d runs agree with their series",
			given, rates.good, rates.of, ran.good, ran.of, seats.good, seats.of, rejections.good, rejections.of, agree.good, agree.of)
		// All should come back. Of rejections, those do not that follow from bursts shorter than an interval, or from seats that were borrowed
		// because of what happened before: see lab/tests.md.
		if rates.good < rates.of || ran.good < ran.of || given && (10*seats.good < 9*seats.of || 10*rejections.good < 7*rejections.of) {
			t.Error("too few figures come back")
		}
	}
}
