package fit_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/experiment"
	"apfsim/experiment/fit"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
)

var unseen = flag.Int("unseen", 0, "predict greater loads from so many logs of a known server, and print how far the predictions are off")

// unseenServer is a server on two cores that collects garbage, which leaves it 1.74: processor time for 123 lists a second.
const unseenServer = `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: unseen}
spec:
  duration: 41s
  servers: {maxRequestsInflight: 40, maxMutatingRequestsInflight: 20, capacity: {cores: 2, collection: {every: 838ms, lasts: 124ms}}}
  config: {base: Suggested}
  workload:
  - name: lists
    clients: 8
    as: {serviceAccount: "reports/lister-{i}"}
    request: {verb: list, resource: configmaps, namespace: big}
    execution: {lognormal: {mean: 13.8ms, sigma: 0.35}}
    arrivals: {poisson: {rate: RATE/s}}
  - name: gets
    clients: 10
    as: {serviceAccount: "apps/app-{i}"}
    request: {verb: get, resource: configmaps, namespace: big, name: one}
    execution: {lognormal: {mean: 1.1ms, sigma: 0.5}}
    arrivals: {poisson: {rate: 4/s}}
`

// medianOfLists returns p50 of the lists in runs of a scenario with ten seeds, as the median of the runs, and its bounds likewise.
func medianOfLists(t *testing.T, sc *scenario.Scenario) (p50 float64, bounds result.Between) {
	t.Helper()
	sc.Spec.Replications = 10
	runs := experiment.Begin(context.Background(), []*scenario.Scenario{sc}, experiment.Outputs{Bounds: true}, experiment.Precision{}, silent{})
	defer runs.Stop()
	var own, least, greatest []float64
	for range sc.Spec.Replications {
		run, err := runs.Groups[0].Next()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(run.Summary.Workloads, func(g result.Group) bool { return strings.Contains(g.Name, "list") })
		own = append(own, float64(run.Summary.Workloads[i].Latency.P50Ns))
		if b := run.Summary.CapacityBounds; b != nil {
			least, greatest = append(least, b.Workloads[i].LatencyP50Ns.Least), append(greatest, b.Workloads[i].LatencyP50Ns.Greatest)
		}
	}
	middle := func(xs []float64) float64 {
		if len(xs) == 0 {
			return 0
		}
		slices.Sort(xs)
		return xs[len(xs)/2]
	}
	return middle(own), result.Between{Least: middle(least), Greatest: middle(greatest)}
}

// With the flag unseen, a row says how far a prediction of p50 of the lists is off that is made from two logs of 41 s of a server which is exactly as the
// model has it: near what the server can do, the bounds contain it, and the estimate is a guess.
func TestLoadsThatTheLogsHaveNot(t *testing.T) {
	if *unseen == 0 {
		t.Skip("only with -args -unseen N")
	}
	server := func(listsPerSecond float64) string {
		return strings.Replace(unseenServer, "RATE", fmt.Sprint(listsPerSecond/8), 1)
	}
	base := unseenServer[:strings.Index(unseenServer, "  workload:")]
	base = strings.Replace(base, ", capacity: {cores: 2, collection: {every: 838ms, lasts: 124ms}}", "", 1)
	loads := []float64{80, 97, 110, 120}
	var truth []float64
	for _, l := range loads {
		p50, _ := medianOfLists(t, load(t, server(l)))
		truth = append(truth, p50)
	}
	known, near, within := 0, make([]int, len(loads)), make([]int, len(loads))
	for seed := range uint64(*unseen) {
		other := recordText(t, server(33), 2*seed+2)
		f, _ := fitCapacity(t, recordText(t, server(57), 2*seed+1), fit.Options{Base: []byte(base), BaseFile: "base.yaml", CapacityFrom: []fit.Log{{File: "33", Open: opener(other)}}})
		if !f.Report.Capacity.Identifiable {
			continue
		}
		known++
		for k, l := range loads {
			sc := load(t, string(f.Scenario))
			for i := range sc.Spec.Workload {
				if w := &sc.Spec.Workload[i]; strings.Contains(w.Name, "list") {
					*w = w.Loaded(l / 57)
				}
			}
			p50, bounds := medianOfLists(t, sc)
			if p50 <= 1.5*truth[k] && truth[k] <= 1.5*p50 {
				near[k]++
			}
			if bounds.Least <= truth[k] && truth[k] <= bounds.Greatest {
				within[k]++
			}
		}
	}
	for k, l := range loads {
		fmt.Printf("| %.0f | %.1f | %d | %d | %d |\n", l, truth[k]/1e6, known, near[k], within[k])
	}
}
