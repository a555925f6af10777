package experiment

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"apfsim/core/config"
	"apfsim/reports/report"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

const small = `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: small}
spec:
  duration: 5s
  workload:
  - name: w
    as: {user: u}
    request: {verb: get, resource: pods}
    execution: 1ms
    arrivals: {poisson: {rate: 100/s}}
`

// A level that is set by a sweep is the same as one that a file has so, and all others stay.
func TestLevelsAreSetAsByAFile(t *testing.T) {
	level := func(spec string) string {
		return "apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: PriorityLevelConfiguration\nmetadata: {name: workload-low}\nspec: {type: Limited, limited: {" + spec + "}}\n"
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const events = "  events:\n  - {at: 1s, apply: {objects: {apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, metadata: {name: other}, spec: {type: Limited, limited: {limitResponse: {type: Reject}}}}}}\n"
	file := write("s.yaml", strings.Replace(small, "  workload:\n", events+"  workload:\n", 1))
	before := write("before.yaml", level("nominalConcurrencyShares: 100, lendablePercent: 90, borrowingLimitPercent: 30, limitResponse: {type: Queue, queuing: {queues: 128, handSize: 6, queueLengthLimit: 50}}"))
	after := write("after.yaml", level("nominalConcurrencyShares: 7, lendablePercent: 8, limitResponse: {type: Queue, queuing: {queues: 5, handSize: 3, queueLengthLimit: 9}}"))
	g, err := NewGrid(t.Context(), "v0", file, []string{
		"level[workload-low].nominalConcurrencyShares=1,7", `level["workload-low"].lendablePercent=8`, "level[workload-low].borrowingLimitPercent=null",
		"level[workload-low].queues=5", "level[workload-low].handSize=3", "level[workload-low].queueLengthLimit=9",
	}, loader.Options{ConfigFiles: []string{before}}, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	want, err := Load([]string{file}, loader.Options{ConfigFiles: []string{after}})
	if err != nil {
		t.Fatal(err)
	}
	got := g.Points[1]
	ignoreOrigin := cmpopts.IgnoreTypes(&config.Origin{}) // they are from different files
	if diff := cmp.Diff(want[0].Objects, got.Objects, ignoreOrigin); diff != "" {
		t.Errorf("(-file +sweep)\n%s", diff)
	}
	if diff := cmp.Diff(want[0].Spec.Events[0].Objects, got.Spec.Events[0].Objects, ignoreOrigin); diff != "" {
		t.Errorf("after the event (-file +sweep)\n%s", diff)
	}
	if cmp.Equal(g.Points[0].Objects, got.Objects, ignoreOrigin) || cmp.Equal(g.Base.Objects, got.Objects, ignoreOrigin) {
		t.Error("the points do not differ")
	}
}

// Points are read in parallel, and each has its own values beside what all are --set to.
func TestPointsDoNotMix(t *testing.T) {
	const values = 200
	over := "spec.duration="
	for i := range values {
		over += fmt.Sprintf("%ds,", i+1)
	}
	set := assign.New("--set", []string{"spec.seed=7", "spec.warmup=500ms", "spec.replications=3"})
	set = append(make([]assign.Assignment, 0, 8), set...) // with room for more
	g, err := NewGrid(t.Context(), "v0", "elephants-and-mice", []string{strings.TrimSuffix(over, ",")}, loader.Options{Set: set}, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	for i, sc := range g.Points {
		if want := time.Duration(i+1) * time.Second; time.Duration(sc.Spec.Duration) != want || sc.Spec.Seed != 7 {
			t.Errorf("point %d: %v with seed %d, want %v with 7", i, time.Duration(sc.Spec.Duration), sc.Spec.Seed, want)
		}
	}
}

// Spaces beside what separates are no matter, and of points there may be so many.
func TestOverIsTakenApart(t *testing.T) {
	all, errs := parseOver([]string{" spec.workload[mice].clients = 1 , 2", "level[workload-low].queues=8"})
	want := []report.Parameter{{Path: "spec.workload[mice].clients", Values: []string{"1", "2"}}, {Path: "level[workload-low].queues", Values: []string{"8"}}}
	if diff := cmp.Diff(want, all); diff != "" || errs != nil {
		t.Errorf("errors %v; want (-), got (+):\n%s", errs, diff)
	}
	for _, text := range []string{"spec.seed=1,2", "spec.replications=1,2"} {
		if all, errs := parseOver([]string{text}); len(all) > 0 || !strings.Contains(fmt.Sprint(errs), "must be the same at every point") {
			t.Errorf("%s: errors %v", text, errs)
		}
	}
	numbers := func(path string, n int) string {
		values := make([]string, n)
		for i := range values {
			values[i] = strconv.Itoa(i + 1)
		}
		return path + "=" + strings.Join(values, ",")
	}
	for mice, wrong := range map[int]bool{100: false, 101: true} {
		all, errs := parseOver([]string{numbers("spec.workload[elephants].clients", 100), numbers("spec.workload[mice].clients", mice)})
		if (errs != nil) != wrong || wrong && !strings.Contains(errs.Error(), "more than 10000 points") || len(all) == 1 != wrong {
			t.Errorf("100 times %d points: %d parameters, errors %v", mice, len(all), errs)
		}
	}
}

// Every text gives either a parameter or an error.
func FuzzOver(f *testing.F) {
	for _, text := range []string{"spec.workload[mice].clients=1,2", `level["workload-low"].queues=1`, "level[workload-low].handSize={,x", "spec.workload[=1", `level["=`} {
		f.Add(text)
	}
	loaded, err := Load([]string{"elephants-and-mice"}, loader.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, errs := parseOver([]string{text})
		if len(all) > 1 || len(all) == 1 == (len(errs) > 0) {
			t.Errorf("%d parameters, errors %v", len(all), errs)
		}
		valid, wrong := resolve(all, loaded[0])
		if len(valid)+len(wrong) != len(all) {
			t.Errorf("of %d parameters %d are valid, errors %v", len(all), len(valid), wrong)
		}
	})
}

// While a sweep reads its points, its files change: the scenario gains a second document, loses its
// configuration, or is gone. All points are those of the files as they were at first.
func TestFilesThatChangeWhilePointsAreRead(t *testing.T) {
	const points = 400 // more than are read ahead
	over := make([]string, points)
	for i := range over {
		over[i] = fmt.Sprintf("%ds", i+1)
	}
	const level = "apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: PriorityLevelConfiguration\nmetadata: {name: workload-low}\nspec: {type: Limited, limited: {nominalConcurrencyShares: 7, limitResponse: {type: Reject}}}\n"
	for name, change := range map[string]func(scenario, config string) error{
		"a second document": func(scenario, _ string) error {
			return os.WriteFile(scenario, []byte(small+"---"+strings.Replace(small, "name: small", "name: other", 1)), 0o666)
		},
		"no document":         func(scenario, _ string) error { return os.WriteFile(scenario, nil, 0o666) },
		"half a document":     func(scenario, _ string) error { return os.WriteFile(scenario, []byte(small[:100]), 0o666) },
		"no scenario":         func(scenario, _ string) error { return os.Remove(scenario) },
		"no configuration":    func(_, config string) error { return os.Remove(config) },
		"other configuration": func(_, config string) error { return os.WriteFile(config, []byte("kind: None"), 0o666) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file, config := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "c.yaml")
			for path, text := range map[string]string{file: small, config: level} {
				if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			g, err := NewGrid(t.Context(), "v0", file, []string{"spec.duration=" + strings.Join(over, ",")}, loader.Options{ConfigFiles: []string{config}}, func(i, n int) {
				if i == 0 {
					if err := change(file, config); err != nil {
						t.Error(err)
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
			want := []report.SweepInput{{Name: "s.yaml", SHA256: sum(small)}, {Name: "--config c.yaml", SHA256: sum(level)}}
			if diff := cmp.Diff(want, g.Sweep.Inputs); diff != "" || len(g.Points) != points {
				t.Errorf("%d points of (-want +got)\n%s", len(g.Points), diff)
			}
		})
	}
}
