package upgrade

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"apfsim/core/rules"
	"apfsim/document/yaml"
	"apfsim/experiment"
	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/network"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// Servers is how many servers are upgraded if neither the user nor a scenario with several servers says it.
const Servers = 3

// What is assumed where a scenario says nothing.
const (
	beforeNs = int64(60 * time.Second) // before the rollout
	afterNs  = int64(60 * time.Second) // after it, at least
	pauseNs  = int64(60 * time.Second) // from the stop of a server to that of the next, at least
	settleNs = int64(30 * time.Second) // the warm-up of a scenario that leaves its length to the runs
	startNs  = int64(10 * time.Second) // from the start of a server until it is ready
	closeNs  = int64(2 * time.Second)  // for how long a server waits for connections after its requests are over
)

// Settings are the flags of kube-apiserver by which a rollout is tuned, in the order in which they are minimised.
type Settings struct {
	DelayNs      int64   `json:"delayNs"`      // --shutdown-delay-duration
	GraceNs      int64   `json:"graceNs"`      // --shutdown-watch-termination-grace-period
	GoawayChance float64 `json:"goawayChance"` // --goaway-chance
}

// Workload is a scenario whose servers are upgraded one after the other.
type Workload struct {
	Scenario *scenario.Scenario
	Replay   bool     // of a log, which is the same with every seed
	Assumed  []string // sentences on what the scenario does not say

	present Settings
	rollout int   // index of the event
	atNs    int64 // when it begins, at the earliest
	probeNs int64 // interval of the load balancer's probes, 0 without any
}

// LoadOptions say how a scenario becomes that of an upgrade.
type LoadOptions struct {
	Config   []string // files of flow-control objects that replace those of the scenario
	From, To *rules.Rules
	Servers  int      // 0 for those of the scenario
	Set      []string // assignments to fields of the scenario
}

// Load reads a scenario: a file, a name of the library, or a folder that apfsim import or diagnose has written, whose
// fitted scenario is preferred to the replay of its log.
func Load(arg string, o LoadOptions) (*Workload, error) {
	file, err := experiment.InFolder(arg)
	if err != nil {
		return nil, err
	}
	given, err := experiment.LoadOne(file, loader.Options{})
	if err != nil {
		return nil, err
	}
	w := &Workload{}
	servers := cmp.Or(o.Servers, given.Spec.Servers.Replicas)
	if o.Servers == 0 && servers == 1 {
		servers = Servers
		w.Assumed = append(w.Assumed, fmt.Sprintf("The scenario has one server; its load is spread over %d (--servers).", servers))
	}
	set := append(slices.Clone(o.Set), "spec.servers.kubernetesVersion="+o.From.Version, fmt.Sprintf("spec.servers.replicas=%d", servers))
	if given.Spec.Servers.FlowControl == server.PriorityAndFairness {
		set = append(set, "spec.servers.maintenance=true")
	}
	set = append(set, w.withoutNewFlags(&given.Spec.Servers, o.From)...)
	sc, err := experiment.LoadOne(file, loader.Options{Set: assign.New("--with", set), ConfigFiles: o.Config})
	if err != nil {
		return nil, err
	}
	if _, err := sc.Spec.Servers.RulesFor(server.Version(o.To.Version)); err != nil {
		return nil, fmt.Errorf("%s: with Kubernetes %s: %w", arg, o.To.Version, err)
	}
	w.Scenario = sc
	w.Replay = slices.ContainsFunc(sc.Spec.Workload, func(l workload.Workload) bool { return l.Arrivals.Trace != nil })
	return w, w.prepare(o.To)
}

// withoutNewFlags returns the assignments that leave out the flags of the scenario that servers of the release do not have.
func (w *Workload) withoutNewFlags(s *scenario.Servers, from *rules.Rules) (set []string) {
	without := func(field, value, flag string) {
		set = append(set, "spec.servers.shutdown."+field+"="+value)
		w.Assumed = append(w.Assumed, fmt.Sprintf("Servers of %s do not have --%s, which the scenario gives.", from.Version, flag))
	}
	if s.Shutdown.WatchTerminationGracePeriod > 0 && !from.Server.WatchGracePeriod {
		without("watchTerminationGracePeriod", "0s", "shutdown-watch-termination-grace-period")
	}
	if s.Shutdown.SendRetryAfter && !from.Server.SendRetryAfter {
		without("sendRetryAfter", "false", "shutdown-send-retry-after")
	}
	return set
}

// prepare gives the scenario what an upgrade needs and a scenario need not have.
func (w *Workload) prepare(to *rules.Rules) error {
	spec := &w.Scenario.Spec
	s := &spec.Servers
	w.present = Settings{int64(s.Shutdown.Delay), int64(s.Shutdown.WatchTerminationGracePeriod), s.GoawayChance}
	if spec.Warmup.Auto {
		spec.Warmup = scenario.Warmup{Duration: quantity.Duration(min(settleNs, int64(spec.Duration)/2))}
	}
	if !w.Replay && s.AdjustmentPhase.After == 0 {
		s.AdjustmentPhase.Random = true // else one phase decides
	}
	if s.Startup.Duration == 0 && s.Startup.Caches == 0 {
		s.Startup.Duration = quantity.Duration(startNs)
		w.Assumed = append(w.Assumed, "The scenario has no spec.servers.startup; a server is ready "+format.Duration(float64(startNs))+" after its start.")
	}
	if s.LoadBalancer == nil && slices.ContainsFunc(spec.Workload, func(l workload.Workload) bool { return l.Through != "Service" }) {
		s.LoadBalancer = &network.LoadBalancer{Policy: network.Random,
			Probe: &network.Probe{Path: "/readyz", Interval: quantity.Duration(10 * time.Second), Failures: 2, Successes: 2}}
		w.Assumed = append(w.Assumed, "The scenario has no spec.servers.loadBalancer; one probes /readyz every 10 s, and two failed probes take a server out.")
	}
	if s.LoadBalancer != nil && s.LoadBalancer.Probe != nil {
		w.probeNs = int64(s.LoadBalancer.Probe.Interval)
	}
	if err := w.schedule(to); err != nil {
		return err
	}
	releases := result.NewReleases(spec)
	if whatIf := releases.WhatIf(); whatIf != "" {
		w.Assumed = append(w.Assumed, "The scenario has "+whatIf+", as no server of Kubernetes has.")
	}
	spec.Thresholds = nothingRefused()
	return nil
}

// schedule gives the scenario its rollout: its own one, or else one that begins after a minute.
func (w *Workload) schedule(to *rules.Rules) error {
	spec := &w.Scenario.Spec
	w.rollout = slices.IndexFunc(spec.Events, func(e scenario.Event) bool { return e.Rollout != nil })
	if w.rollout >= 0 {
		own := *spec.Events[w.rollout].Rollout
		own.KubernetesVersion = to.Version
		spec.Events = slices.Clone(spec.Events)
		spec.Events[w.rollout].Rollout = &own
		w.atNs = int64(spec.Events[w.rollout].At)
		return nil
	}
	rollout := &scenario.Rollout{Interval: quantity.Duration(pauseNs), KubernetesVersion: to.Version}
	w.atNs = int64(spec.Warmup.Duration) + beforeNs
	w.goOn()
	if w.Replay {
		rollout.Interval = 0
		left := int64(spec.Duration) - w.probeNs - int64(spec.Servers.Replicas)*w.restartNs(w.present, 0) - int64(spec.Warmup.Duration)
		if left < 0 {
			return fmt.Errorf("the log of %s lasts %s, and a rollout of %d servers takes up to %s; use the log of a longer time, or the scenario that 'apfsim import --fit' makes of it",
				w.Scenario.Metadata.Name, format.Duration(float64(spec.Duration)), spec.Servers.Replicas,
				format.Duration(float64(int64(spec.Servers.Replicas)*w.restartNs(w.present, 0)+w.probeNs)))
		}
		w.atNs = int64(spec.Warmup.Duration) + min(beforeNs, left/2)
	}
	at := slices.IndexFunc(spec.Events, func(e scenario.Event) bool { return int64(e.At) > w.atNs })
	if at < 0 {
		at = len(spec.Events)
	}
	objects := w.Scenario.Objects
	if at > 0 {
		objects = spec.Events[at-1].Objects
	}
	event := scenario.Event{At: quantity.Duration(w.atNs), ServerChange: scenario.ServerChange{Rollout: rollout}, Objects: objects}
	spec.Events, w.rollout = slices.Insert(slices.Clone(spec.Events), at, event), at
	return nil
}

// goOn lets workloads send on during the rollout that send until just before the end of the scenario: those of a fitted one
// stop when their last request was logged.
func (w *Workload) goOn() {
	spec := &w.Scenario.Spec
	if w.Replay {
		return
	}
	spec.Workload = slices.Clone(spec.Workload)
	for i := range spec.Workload {
		if stop := &spec.Workload[i].Stop; *stop >= spec.Duration-spec.Duration/10 {
			*stop = 0
		}
	}
	w.Assumed = append(w.Assumed, fmt.Sprintf("The scenario has no rollout; its workloads go on after its duration, %s, until the rollout is over.", format.Duration(float64(spec.Duration))))
}

// nothingRefused are the goals of a rollout.
func nothingRefused() (goals metric.Thresholds) {
	const text = `{refused: ["count == 0"], lost: ["count == 0"], rejected: ["count == 0"]}`
	if wrong := yaml.Decode("goals", []byte(text), &goals); len(wrong) > 0 {
		panic("upgrade: " + wrong.Error())
	}
	return goals
}

// The indices of the goals. That nothing is rejected is a goal only if nothing is without the rollout.
const (
	refusedGoal = iota
	lostGoal
	rejectedGoal
)

// restartNs returns how long the restart of a server takes at most, and at least the interval of the rollout.
func (w *Workload) restartNs(s Settings, intervalNs int64) int64 {
	servers := &w.Scenario.Spec.Servers
	stopNs := w.stopNs(s)
	if kill := int64(servers.Shutdown.KillAfter); kill > 0 {
		stopNs = min(stopNs, kill)
	}
	return max(intervalNs, stopNs+int64(max(servers.Startup.Duration, servers.Startup.Objects, servers.Startup.Caches)))
}

// stopNs returns how long a server takes to stop at most: the least terminationGracePeriodSeconds with which it is not
// killed.
func (w *Workload) stopNs(s Settings) int64 {
	shutdown := &w.Scenario.Spec.Servers.Shutdown
	return max(s.DelayNs, int64(shutdown.Hooks)) + max(int64(w.Scenario.Spec.Servers.RequestTimeout), s.GraceNs) + closeNs + int64(shutdown.Audit)
}

// scenarioOf returns the scenario of a run with some settings. Run i of a search begins its rollout at a random moment
// between two probes; run i of a replay begins it, and adjusts the limits of the levels, at the i-th of replays phases.
func (w *Workload) scenarioOf(s Settings, goals metric.Thresholds, first uint64, i int) *scenario.Scenario {
	own := *w.Scenario
	spec := &own.Spec
	spec.Thresholds = goals
	spec.Servers.Shutdown.Delay = quantity.Duration(s.DelayNs)
	spec.Servers.Shutdown.WatchTerminationGracePeriod = quantity.Duration(s.GraceNs)
	spec.Servers.GoawayChance = s.GoawayChance
	var phaseNs int64
	switch {
	case w.Replay:
		phaseNs = w.probeNs * int64(i) / replays
		spec.Servers.AdjustmentPhase = server.AdjustmentPhase{After: quantity.Duration(int64(i) * int64(time.Second))}
	default:
		spec.Seed = first + uint64(i)
		if w.probeNs > 0 {
			var stream random.Stream
			stream.Open(spec.Seed, "", 0, "begin of the rollout")
			phaseNs = stream.Int64N(w.probeNs)
		}
		interval := int64(spec.Events[w.rollout].Rollout.Interval)
		endNs := w.atNs + w.probeNs + int64(spec.Servers.Replicas)*w.restartNs(s, interval) + afterNs
		spec.Duration = max(spec.Duration, quantity.Duration(endNs))
	}
	spec.Events = slices.Clone(spec.Events)
	spec.Events[w.rollout].At = quantity.Duration(w.atNs + phaseNs)
	return &own
}

// errNoRollout is the error of a run whose rollout is not over at its end.
var errNoRollout = errors.New("upgrade: the rollout was not over at the end of the run; give the scenario a longer duration")
