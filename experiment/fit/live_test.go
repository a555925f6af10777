package fit_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"apfsim/experiment"
	"apfsim/experiment/fit"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
)

// liveLog returns the log of a kube-apiserver 1.37.1 on two processors: for 40 s, eight clients listed 1 500 ConfigMaps from the watch cache, 33 times a
// second together, while ten others (mice) got one ConfigMap, four times a second each. A line of the file has the arrival in µs, the user, and the wait
// and the execution in µs.
func liveLog(t *testing.T) string {
	t.Helper()
	file, err := os.Open("testdata/live-33-lists.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for lines := bufio.NewScanner(unzipped); lines.Scan(); {
		var user string
		var arrival, wait, execution int64
		if _, err := fmt.Sscan(lines.Text(), &arrival, &user, &wait, &execution); err != nil {
			t.Fatal(err)
		}
		verb, name, seats := "list", "", 3
		if strings.HasPrefix(user, "mouse") {
			verb, name, seats = "get", strings.Replace(user, "mouse", "big", 1), 1
		}
		fmt.Fprintf(&log, `{"arrivalNs":%d,"user":%q,"groups":["live-list"],"verb":%q,"resource":"configmaps","namespace":"big","name":%q,"path":%q,"query":%q,"waitNs":%d,"executionNs":%d,"flowSchema":"live-list","priorityLevel":"live-list","outcome":"executed","seats":%d}`+"\n",
			1000*arrival, user, verb, name, strings.TrimSuffix("/api/v1/namespaces/big/configmaps/"+name, "/"), map[string]string{"list": "resourceVersion=0"}[verb], 1000*wait, 1000*execution, seats)
	}
	return log.String()
}

// The log of the live server at 33 lists a second gives bounds of three and four times the load that contain what its clients saw then, in two runs
// each. At 136 a second the server was overloaded.
func TestBoundsContainTheLiveServer(t *testing.T) {
	type percentiles struct{ p50, p99 [2]float64 } // of latencies, in ms
	config, err := filepath.Abs("testdata/live-list.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f, capacity := fitCapacity(t, liveLog(t), fit.Options{BaseFile: "base.yaml", Base: []byte(`apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: base}
spec:
  servers: {maxRequestsInflight: 40, maxMutatingRequestsInflight: 20}
  config: {base: Suggested, files: [` + config + `]}
`)})
	if !f.Report.Capacity.Identifiable || capacity.Cores < 1.6 || capacity.Cores > 2.1 {
		t.Fatalf("%s", f.Report.Capacity)
	}
	for _, load := range []struct {
		perSecond   float64
		lists, mice percentiles
	}{
		{97, percentiles{[2]float64{24, 25}, [2]float64{156, 255}}, percentiles{[2]float64{5.4, 5.0}, [2]float64{90, 172}}},
		{136, percentiles{[2]float64{636, 597}, [2]float64{3240, 1940}}, percentiles{[2]float64{91, 79}, [2]float64{2624, 1729}}},
	} {
		bounds := boundsOf(t, f, load.perSecond/33.1)
		for name, live := range map[string]percentiles{"lister-list-configmaps": load.lists, "mouse-get-configmaps": load.mice} {
			for what, x := range map[string]struct {
				live [2]float64
				of   func(*result.WorkloadBounds) *result.Between
			}{
				"p50": {live.p50, func(b *result.WorkloadBounds) *result.Between { return b.LatencyP50Ns }},
				"p99": {live.p99, func(b *result.WorkloadBounds) *result.Between { return b.LatencyP99Ns }},
			} {
				var least, greatest []float64
				for i := range bounds {
					k := slices.IndexFunc(bounds[i].Workloads, func(b result.WorkloadBounds) bool { return b.Name == name })
					if k < 0 {
						t.Fatalf("no workload %s", name)
					}
					b := x.of(&bounds[i].Workloads[k])
					least, greatest = append(least, b.Least/1e6), append(greatest, b.Greatest/1e6)
				}
				slices.Sort(least)
				slices.Sort(greatest)
				low, high := least[len(least)/2], greatest[len(greatest)/2]
				t.Logf("%v lists/s: %s of %s is %v, within %.1f to %.1f", load.perSecond, what, name, x.live, low, high)
				for _, ms := range x.live {
					if ms < low || ms > high {
						t.Errorf("%v lists/s: %s of %s is %v ms live, and not within %.1f to %.1f ms", load.perSecond, what, name, ms, low, high)
					}
				}
			}
		}
	}
}

// boundsOf returns the bounds of runs with several seeds and so many times the lists.
func boundsOf(t *testing.T, f *fit.Fitted, times float64) (all []result.CapacityBounds) {
	t.Helper()
	sc := load(t, string(f.Scenario))
	for i := range sc.Spec.Workload {
		if w := &sc.Spec.Workload[i]; strings.Contains(w.Name, "list-") {
			*w = w.Loaded(times)
		}
	}
	sc.Spec.Replications = 5
	runs := experiment.Begin(context.Background(), []*scenario.Scenario{sc}, experiment.Outputs{Bounds: true}, experiment.Precision{}, silent{})
	defer runs.Stop()
	for range sc.Spec.Replications {
		run, err := runs.Groups[0].Next()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, *run.Summary.CapacityBounds)
	}
	return all
}
