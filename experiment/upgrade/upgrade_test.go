package upgrade

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/experiment/tune"
	"apfsim/internal/atomicfile"
	"apfsim/reports/advice"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

func release(t *testing.T, version string) *rules.Rules {
	t.Helper()
	r, err := rules.For(version)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// upgradeOf returns the options of an upgrade of a new cluster of the older release.
func upgradeOf(t *testing.T, from, to string) Options {
	t.Helper()
	o := Options{From: release(t, from), To: release(t, to), ServerLimit: 600, Servers: 3, Probability: 0.9, Confidence: 0.95}
	o.Objects = config.Suggested(o.From)
	return o
}

// with adds a workload: a scenario of the library or of a file, with fewer clients where the test does not need them.
func (o Options) with(t *testing.T, arg string, set ...string) Options {
	t.Helper()
	w, err := Load(arg, LoadOptions{From: o.From, To: o.To, Set: set, Servers: 2})
	if err != nil {
		t.Fatal(err)
	}
	o.Workload, o.Objects, o.Servers = w, w.Scenario.Objects, w.Scenario.Spec.Servers.Replicas
	return o
}

var long = flag.Bool("long", false, "search the shutdown settings of more rollouts")

// withoutDelay is the rollout of the library whose servers stop at once, with probes every two seconds. Its answer is that of
// several tests.
func withoutDelay(t *testing.T) Options {
	return upgradeOf(t, "1.36", "1.37").with(t, "rolling-restart-without-delay", append([]string{"spec.servers.loadBalancer.probe.interval=2s"}, few...)...)
}

var ofWithoutDelay *Answer

func answerWithoutDelay(t *testing.T) *Answer {
	t.Helper()
	if ofWithoutDelay == nil {
		ofWithoutDelay = answer(t, withoutDelay(t))
	}
	return ofWithoutDelay
}

func answer(t *testing.T, o Options) *Answer {
	t.Helper()
	a, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// few makes the rolling restarts of the library smaller: two servers, a tenth of the clients, and no time but what they need.
var few = []string{"spec.workload[controllers].clients=6", "spec.workload[controllers].arrivals.closed.think.exponential.mean=100ms", "spec.workload[watchers].clients=30", "spec.servers.replicas=2",
	"spec.duration=1m", "spec.events=[{at: 20s, rollout: {}}]"}

// share returns the part of n fresh rollouts in which no request is refused with a delay, and with any of the graces and
// chances that a search could choose.
func share(t *testing.T, o *Options, delay time.Duration, n int) float64 {
	t.Helper()
	s := newSearch(t.Context(), o)
	best := 0.0
	for _, c := range []Settings{{int64(delay), 0, 0}, {int64(delay), int64(10 * time.Second), 0.02}} {
		runs := s.begin(c, s.goals, 1<<50, n, true)
		defer runs.Stop()
		held := 0
		for range n {
			run, err := runs.Next()
			if err != nil {
				t.Fatal(err)
			}
			if passed(run, len(s.goals)) {
				held++
			}
		}
		best = max(best, float64(held)/float64(n))
	}
	return best
}

// A server must serve until the load balancer has noticed that it stops. With probes every i seconds, two of which must
// fail, and a stop at a random moment between two of them, that takes i to 2·i seconds: a delay of d is long enough with
// the probability d/i − 1. The answer is the smallest delay that is long enough in nearly all rollouts: the one before it
// refuses requests, whatever the other settings.
func TestSmallestDelayIsThatOfTheSimulatedRollouts(t *testing.T) {
	check := func(t *testing.T, o Options, a *Answer, want time.Duration, n int) {
		t.Helper()
		if a.Settings == nil || a.Settings.Settings != (Settings{DelayNs: int64(want)}) {
			t.Fatalf("want a delay of %v; got %+v", want, a.Settings)
		}
		if found := share(t, &o, want, n); found < 0.95 {
			t.Errorf("the delay that was found refuses requests: %v of the rollouts hold", found)
		}
		if below := share(t, &o, want-time.Second, n); below > 0.9 {
			t.Errorf("a delay that is a second shorter refuses nothing in %v of the rollouts", below)
		}
	}
	t.Run("rolling-restart-without-delay/2s", func(t *testing.T) {
		n := 20
		if *long {
			n = 30
		}
		check(t, withoutDelay(t), answerWithoutDelay(t), 4*time.Second, n)
	})
	t.Run("rolling-restart/4s", func(t *testing.T) {
		if !*long {
			t.Skip("takes long: only with -long")
		}
		o := upgradeOf(t, "1.36", "1.37").with(t, "rolling-restart", append([]string{"spec.servers.loadBalancer.probe.interval=4s"}, few...)...)
		check(t, o, answer(t, o), 8*time.Second, 30)
	})
}

// The present settings of the library's stories: one refuses nothing, the other does.
func TestPresentSettingsAreJudged(t *testing.T) {
	right := answer(t, upgradeOf(t, "1.36", "1.37").with(t, "rolling-restart", few...))
	if right.Verdict.Status != result.OK || right.Present.Passes != right.Present.Runs || right.Rollout.During.NotServed.Total() > 0 {
		t.Errorf("a rollout with the right delay: %s, %+v", right.Verdict.Sentence, right.Rollout.During.NotServed)
	}
	wrong := answerWithoutDelay(t)
	if wrong.Verdict.Status != result.Harm || wrong.Present.Passes > 0 || wrong.Rollout.During.NotServed.Refused == 0 {
		t.Errorf("a rollout without a delay: %s, %+v", wrong.Verdict.Sentence, wrong.Rollout.During.NotServed)
	}
	if n := wrong.Rollout.Before.NotServed.Total(); n > 0 {
		t.Errorf("%d requests were not served before the rollout", n)
	}
	if try := wrong.Verdict.Try; len(try) == 0 || try[0].Remedy != result.ShutdownSettings || !try[0].Proved {
		t.Errorf("what may help: %+v", try)
	}
}

// A load balancer that probes /healthz does not notice that a server stops before it no longer listens: no delay helps.
func TestNoDelaySufficesWithoutReadiness(t *testing.T) {
	o := upgradeOf(t, "1.36", "1.37").with(t, "rolling-restart", append([]string{"spec.servers.loadBalancer.probe.path=/healthz"}, few...)...)
	a := answer(t, o)
	if a.Settings != nil || a.Verdict.Status != result.Harm {
		t.Fatalf("%s %s; settings %+v", a.Verdict.Status, a.Verdict.Sentence, a.Settings)
	}
	if why := strings.Join(a.Document().Answer.Why, " "); !strings.Contains(why, "let it probe /readyz") {
		t.Errorf("the answer does not say why: %s", why)
	}
}

// A log has no seeds: settings suffice if nothing is refused at ten phases, with no claim of a probability. With executions
// of a second, a server that stops refuses the requests that come in this second, until the load balancer has noticed: two
// probes, 10 s apart.
func TestReplaysHaveNoProbability(t *testing.T) {
	dir := t.TempDir()
	var log strings.Builder
	for i := range 2400 {
		fmt.Fprintf(&log, `{"arrivalNs": %d, "executionNs": 1000000000, "user": "app", "verb": "get", "resource": "configmaps", "namespace": "app", "name": "settings"}`+"\n", i*100_000_000)
	}
	for name, text := range map[string]string{"trace.jsonl": log.String(), "scenario.yaml": "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: replay}\n" +
		"spec: {duration: 240s, servers: {replicas: 2}, workload: [{name: recorded, arrivals: {trace: {file: trace.jsonl}}}]}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	a := answer(t, upgradeOf(t, "1.36", "1.37").with(t, dir))
	if f := a.Settings; f == nil || f.Probability != nil || f.Confirmed != (tune.Holds{Passes: replays, Runs: replays}) || f.DelayNs < int64(18*time.Second) || f.DelayNs > int64(20*time.Second) {
		t.Errorf("settings: %+v", f)
	}
	if a.Verdict.Status != result.Harm || !a.Workload.Replay || a.Rollout.Runs != replays {
		t.Errorf("%s; %d runs", a.Verdict.Sentence, a.Rollout.Runs)
	}
}

// The parts are those of config diff and upgrade --only-objects.
func TestPartsAreThoseOfTheOtherCommands(t *testing.T) {
	for _, c := range [][2]string{{"1.25", "1.34"}, {"1.33", "1.34"}, {"1.36", "1.37"}, {"1.21", "1.30"}} {
		o := upgradeOf(t, c[0], c[1])
		a := answer(t, o)
		diff, err := advice.CompareReleases(advice.UpgradeInput{From: o.From, To: o.To, Objects: o.Objects, ServerLimit: o.ServerLimit})
		if err != nil {
			t.Fatal(err)
		}
		var objects []advice.UpgradedObject
		for _, object := range a.Objects {
			objects = append(objects, object.UpgradedObject)
		}
		var changed []rules.Change
		for _, r := range a.Rules {
			changed = append(changed, r.Change)
		}
		if !reflect.DeepEqual(append([]advice.UpgradedObject{}, objects...), diff.Objects) || !reflect.DeepEqual(append([]rules.Change{}, changed...), diff.Rules) ||
			!reflect.DeepEqual(a.Versions, diff.APIVersions) || !reflect.DeepEqual(a.Levels, diff.Levels) {
			t.Errorf("%s to %s: the answer differs from config diff", c[0], c[1])
		}
		m := advice.ExamineMaintenance(advice.MaintenanceInput{From: o.From, To: o.To, Objects: o.Objects, Servers: o.Servers})
		if len(a.Undone) != len(m.Releases[0].Writes) {
			t.Errorf("%s to %s: %d writes of the present servers; want %d", c[0], c[1], len(a.Undone), len(m.Releases[0].Writes))
		}
		var contests []advice.Contest
		for _, p := range m.Releases {
			contests = append(contests, p.Contests...)
		}
		if len(a.Contests) != len(contests) {
			t.Errorf("%s to %s: %d contests; want %d", c[0], c[1], len(a.Contests), len(contests))
		}
	}
}

// What the verdict of an upgrade without a workload is: nothing changes, something changes, or files are refused.
func TestVerdictOfTheObjects(t *testing.T) {
	same := answer(t, upgradeOf(t, "1.36", "1.37"))
	if same.Verdict.Status != result.OK {
		t.Errorf("1.36 to 1.37: %s %s", same.Verdict.Status, same.Verdict.Sentence)
	}
	lists := answer(t, upgradeOf(t, "1.33", "1.34"))
	if lists.Verdict.Status != result.Warning || !strings.Contains(lists.Verdict.Sentence, "endpoint-controller") {
		t.Errorf("1.33 to 1.34: %s %s", lists.Verdict.Status, lists.Verdict.Sentence)
	}
	o := upgradeOf(t, "1.28", "1.32")
	file := filepath.Join(t.TempDir(), "level.yaml")
	text := "apiVersion: flowcontrol.apiserver.k8s.io/v1beta3\nkind: PriorityLevelConfiguration\nmetadata:\n  name: own\n  annotations: {apf.kubernetes.io/autoupdate-spec: \"false\"}\n" +
		"spec: {type: Limited, limited: {nominalConcurrencyShares: 10, limitResponse: {type: Reject}}}\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	loaded := loader.LoadConfig(o.From, scenario.BaseSuggested, []string{file})
	o.Objects = loaded.Objects
	old := answer(t, o)
	if old.Verdict.Status != result.Harm || len(old.Versions) != 1 || old.Versions[0].RemovedIn != "1.32" {
		t.Errorf("v1beta3 in 1.32: %s %s", old.Verdict.Status, old.Verdict.Sentence)
	}
	dir := t.TempDir()
	var set atomicfile.Set
	if err := old.Write(&set, dir); err != nil {
		t.Fatal(err)
	}
	if err := set.Commit(); err != nil {
		t.Fatal(err)
	}
	again := loader.LoadConfig(o.To, scenario.BaseMandatory, []string{filepath.Join(dir, ObjectsFile)})
	own := again.Objects.PriorityLevel("own")
	if len(again.Errors) > 0 || own == nil || own.Origin.APIVersion != old.Versions[0].Use || own.Origin.Annotations[config.AutoupdateAnnotation] != "false" {
		t.Errorf("%s: %v, %+v", ObjectsFile, again.Errors, own)
	}
}

// elections are leader elections by ConfigMap, whose FlowSchema servers of 1.34 delete.
const elections = `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: elections}
spec:
  duration: 30s
  servers: {replicas: 2, shutdown: {delay: 25s, watchTerminationGracePeriod: 1s}}
  workload:
  - name: elections
    clients: 5
    as: {serviceAccount: "kube-system/controller-{i}"}
    request: {verb: update, resource: configmaps, namespace: kube-system, name: "controller-{i}"}
    execution: 5ms
    arrivals: {constant: {rate: 1/s}}
    stop: 29s
`

// An object that requests of the workload belong to disappears. Workloads that send until just before the end of a
// scenario without a rollout send on until the end of the rollout.
func TestUsedObjectsThatDisappearAreHarm(t *testing.T) {
	file := filepath.Join(t.TempDir(), "elections.yaml")
	if err := os.WriteFile(file, []byte(elections), 0o666); err != nil {
		t.Fatal(err)
	}
	a := answer(t, upgradeOf(t, "1.33", "1.34").with(t, file))
	if a.Verdict.Status != result.Harm || !strings.Contains(a.Verdict.Sentence, "workload-leader-election") {
		t.Errorf("%s %s", a.Verdict.Status, a.Verdict.Sentence)
	}
	at := slices.IndexFunc(a.Objects, func(o Object) bool { return o.Name == "workload-leader-election" })
	if at < 0 || a.Objects[at].Used == 0 {
		t.Errorf("objects: %+v", a.Objects)
	}
	if during, before := a.Rollout.During.perSecond(), a.Rollout.Before.perSecond(); during < before*0.9 {
		t.Errorf("%v requests a second during the rollout, and %v before it", during, before)
	}
}

// The phases of a run have together what its summary has.
func TestPhasesAddUpToTheSummary(t *testing.T) {
	o := upgradeOf(t, "1.36", "1.37").with(t, "rolling-restart-without-delay", few...)
	s := newSearch(t.Context(), &o)
	runs := s.begin(o.Workload.present, s.goals, 7, 1, false)
	defer runs.Stop()
	run, err := runs.Next()
	if err != nil {
		t.Fatal(err)
	}
	var r Rollout
	r.add(o.Workload.Scenario, run.Phases)
	not := r.Before.NotServed
	not.Add(&r.During.NotServed)
	not.Add(&r.After.NotServed)
	total := &run.Summary.Total
	if sent := r.Before.Sent + r.During.Sent + r.After.Sent; sent != total.Arrived || not.Refused != total.Refused || not.Rejected != total.Rejected || not.Lost != total.Lost {
		t.Errorf("phases have %d requests, %+v; the summary has %d, %+v", sent, not, total.Arrived, total.Counts)
	}
	seconds := r.Before.Seconds + r.During.Seconds + r.After.Seconds
	if want := float64(run.Summary.DurationNs-run.Summary.WarmupNs) / 1e9; seconds < want-1e-6 || seconds > want+1e-6 {
		t.Errorf("the phases last %v s together; want %v", seconds, want)
	}
}

// The same input gives the same bytes.
func TestAnswersAreReproducible(t *testing.T) {
	text := func(a *Answer) []byte {
		b, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if first := text(answerWithoutDelay(t)); !bytes.Equal(first, text(answer(t, withoutDelay(t)))) {
		t.Error("two answers differ")
	}
}
