// Package upgrade says what an upgrade of Kubernetes changes and harms in a cluster, and finds the smallest settings of its
// servers with which a rolling restart refuses nothing. What changes is that of the packages reports/advice, core/maintain
// and core/rules. The rolling restart is simulated; the settings are searched for by the procedures of package
// experiment/tune.
package upgrade

import (
	"context"
	"fmt"
	"time"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/experiment/tune"
	"apfsim/reports/advice"
	"apfsim/reports/format"
	"apfsim/reports/result"
)

// Options are the objects and the releases of an upgrade, and what may be restarted.
type Options struct {
	From, To    *rules.Rules
	Objects     config.Objects // that the servers of From hold
	ServerLimit int            // seats of a server
	Servers     int
	Workload    *Workload // nil for the objects and rules alone

	Probability float64             // with which a rollout refuses nothing
	Confidence  float64             // of the settings that are found
	Time        time.Duration       // after which no run of other settings is begun; 0 for no bound
	Progress    func(done, all int) // of settings; nil for none
}

// Answer says what an upgrade changes and harms: upgrade.json contains it.
type Answer struct {
	SchemaVersion string `json:"schemaVersion"`
	From          string `json:"from"` // releases of Kubernetes
	To            string `json:"to"`
	Servers       int    `json:"servers"`

	Objects  []Object                  `json:"objects"`  // that the servers of the new releases change, in the order of the releases
	Undone   []advice.MaintenanceWrite `json:"undone"`   // what the servers of From undo each minute, before the upgrade
	Contests []Contest                 `json:"contests"` // objects that servers of two releases change in turns while both run
	Versions []advice.APIVersion       `json:"versions"` // of objects in the files, which the new release does not serve
	Rules    []Rule                    `json:"rules"`    // by which requests are decided otherwise
	Levels   []advice.UpgradedLevel    `json:"levels"`   // their limits before and after

	Workload *Described `json:"workload"` // nil without one
	Rollout  *Rollout   `json:"rollout"`  // with the present settings; nil without a workload
	Settings *Found     `json:"settings"` // nil without a workload, or if none of those that were tried suffice
	Present  *Present   `json:"present"`  // the present settings; nil without a workload
	Tried    []*Tried   `json:"tried"`    // in the order in which they were tried
	Runs     int        `json:"runs"`
	// OutOfTime says that the time was over before settings were confirmed. Best are then the best so far, if any were tried.
	OutOfTime bool  `json:"outOfTime,omitempty"`
	Best      *Best `json:"best,omitempty"`

	Verdict *result.Overall `json:"verdict"`

	options *Options
	changes *advice.Upgrade
	search  *search  // nil without a workload
	why     []string // sentences after that of the verdict
}

// Object is an object that the servers of the new releases change.
type Object struct {
	advice.UpgradedObject
	Used int64  `json:"used"` // requests of the workload that belonged to this FlowSchema or priority level before the rollout
	Keep string `json:"keep"` // the command by which it stays as it is; "" if there is none
}

// Contest is an object that servers of two releases change in turns.
type Contest struct {
	advice.Contest
	Before string `json:"before"` // the older release
	After  string `json:"after"`
}

// Rule is a rule that changes.
type Rule struct {
	rules.Change
	Seats bool `json:"seats"`          // whether it says how many seats a request takes
	Work  bool `json:"work,omitempty"` // whether it says how much work the servers have, see rules.Change.OfWork
}

// Described is the workload, and how it was simulated.
type Described struct {
	Name     string   `json:"name"`
	File     string   `json:"file"`
	Replay   bool     `json:"replay"`   // of a log, which is the same in each run
	Timeline string   `json:"timeline"` // in a sentence
	Assumed  []string `json:"assumed"`  // sentences
}

// Present are the settings that the scenario has.
type Present struct {
	Settings
	tune.Holds
}

// Found are the smallest settings with which no request is refused.
type Found struct {
	Settings
	Confirmed   tune.Holds `json:"confirmed"`   // in fresh runs
	Probability *float64   `json:"probability"` // with which a rollout refuses nothing; null for a replay
	Confidence  *float64   `json:"confidence"`
	StopSeconds int64      `json:"terminationGracePeriodSeconds"` // the least with which no server is killed
	Rollout     Rollout    `json:"rollout"`                       // with these settings
	Procedure   string     `json:"procedure"`
}

// Best are the smallest settings that the runs accepted, or else those with which most runs refused nothing, in a search that
// the time has ended.
type Best struct {
	Settings
	tune.Holds             // of the runs of the search
	Fresh      *tune.Holds `json:"fresh,omitempty"` // of a confirmation that was begun
	AtLeast    *float64    `json:"atLeast"`         // probability with which a rollout refuses nothing, by the fresh runs or else the others; null for a replay

	only bool // only whether requests are refused was asked
}

// best returns the best settings of a search that was ended; nil if none were tried.
func (s *search) best() *Best {
	var best *Tried
	for _, t := range s.tried {
		switch {
		case best == nil, t.Enough && !best.Enough:
			best = t
		case t.Enough == best.Enough && (t.Enough && t.DelayNs < best.DelayNs || !t.Enough && t.Passes*best.Runs > best.Passes*t.Runs):
			best = t
		}
	}
	if best == nil {
		return nil
	}
	b := &Best{Settings: best.Settings, Holds: best.Holds, only: best.only}
	known := b.Holds
	if best.fresh.Runs > 0 {
		b.Fresh, known = &best.fresh, best.fresh
	}
	if !s.w.Replay {
		least := known.AtLeast(s.alpha)
		b.AtLeast = &least
	}
	return b
}

// Run answers what an upgrade changes and harms.
func Run(ctx context.Context, o Options) (*Answer, error) {
	changes, err := advice.CompareReleases(advice.UpgradeInput{From: o.From, To: o.To, Objects: o.Objects, ServerLimit: o.ServerLimit})
	if err != nil {
		return nil, err
	}
	a := &Answer{SchemaVersion: result.SchemaVersion, From: changes.From, To: changes.To, Servers: o.Servers, Objects: []Object{}, Undone: []advice.MaintenanceWrite{},
		Contests: []Contest{}, Versions: changes.APIVersions, Rules: []Rule{}, Levels: changes.Levels, Tried: []*Tried{}, options: &o, changes: changes}
	for _, r := range changes.Rules {
		a.Rules = append(a.Rules, Rule{r, r.OfSeats(), r.OfWork()})
	}
	a.maintain(advice.ExamineMaintenance(advice.MaintenanceInput{From: o.From, To: o.To, Objects: o.Objects, Servers: o.Servers}))
	if o.Workload != nil {
		if err := a.simulateRollout(ctx); err != nil {
			return nil, err
		}
	}
	for i := range a.Objects {
		a.Objects[i].Used = a.used(&a.Objects[i])
	}
	a.judge()
	return a, nil
}

// maintain takes what the servers write: what those of the present release undo, the commands that keep objects, and what
// changes in turns.
func (a *Answer) maintain(m *advice.Maintenance) {
	keep := map[[2]string]string{}
	for i := range m.Releases {
		p := &m.Releases[i]
		for _, w := range p.Writes {
			if i == 0 {
				a.Undone = append(a.Undone, w)
			} else {
				keep[[2]string{w.Kind, w.Name}] = w.Keep
			}
		}
		for _, c := range p.Contests {
			a.Contests = append(a.Contests, Contest{c, m.Releases[i-1].Release, p.Release})
		}
	}
	if a.Servers == 1 {
		a.Contests = []Contest{}
	}
	for _, o := range a.changes.Objects {
		a.Objects = append(a.Objects, Object{UpgradedObject: o, Keep: keep[[2]string{o.Kind, o.Name}]})
	}
}

// simulateRollout simulates the rollout, and searches for the settings.
func (a *Answer) simulateRollout(ctx context.Context) error {
	s := newSearch(ctx, a.options)
	a.search = s
	if err := s.tryPresent(); err != nil {
		return err
	}
	err := s.walk()
	if err != nil && err != errTime {
		return err
	}
	if a.OutOfTime = err == errTime; a.OutOfTime {
		a.Best = s.best()
	}
	w := s.w
	a.Runs = s.runs
	a.Tried = append(a.Tried, s.tried...)
	a.Rollout, a.Present = &s.present.rollout, &Present{w.present, s.present.Holds}
	a.Workload = &Described{Name: w.Scenario.Metadata.Name, File: w.Scenario.File, Replay: w.Replay, Timeline: a.timeline(), Assumed: append([]string{}, w.Assumed...)}
	if f := &s.found; f.Settings != nil {
		a.Settings = &Found{Settings: *f.Settings, Confirmed: f.Holds, StopSeconds: (w.stopNs(*f.Settings) + 1e9 - 1) / 1e9, Rollout: f.rollout, Procedure: a.procedure()}
		if !w.Replay {
			a.Settings.Probability, a.Settings.Confidence = &s.Probability, &s.Confidence
		}
	}
	return nil
}

// used returns how many requests of the workload belonged to an object before the rollout.
func (a *Answer) used(o *Object) (n int64) {
	if a.Rollout == nil {
		return 0
	}
	if o.Kind == "FlowSchema" {
		return a.Rollout.used[o.Name]
	}
	for _, s := range a.search.w.Scenario.Objects.FlowSchemas {
		if s.Spec.PriorityLevelConfiguration.Name == o.Name {
			n += a.Rollout.used[s.Name]
		}
	}
	return n
}

// timeline says what was simulated.
func (a *Answer) timeline() string {
	w, r := a.search.w, &a.search.present.rollout
	seconds := func(x float64) string { return format.Duration(x * 1e9) }
	text := fmt.Sprintf("%s before the rollout, %s from the first stop until the last server is ready, %s after it; each of %s stops, starts again with Kubernetes %s and becomes ready before the next one stops",
		seconds(r.Before.Seconds), seconds(r.During.Seconds), seconds(r.After.Seconds), format.Counted(w.Scenario.Spec.Servers.Replicas, "server"), a.To)
	if interval := w.Scenario.Spec.Events[w.rollout].Rollout.Interval; interval > 0 {
		text += ", at least " + format.Duration(float64(interval)) + " later"
	}
	switch {
	case w.probeNs == 0:
	case w.Replay:
		text += fmt.Sprintf("; the first stop is at %d moments between two probes of the load balancer", replays)
	default:
		text += "; the first stop is at a random moment between two probes of the load balancer"
	}
	return text + "."
}

// procedure says how the settings were found.
func (a *Answer) procedure() string {
	s := a.search
	if s.w.Replay {
		return fmt.Sprintf("A log has no seeds: each setting is run for %d phases of the adjustments and of the probes, and suffices if nothing is refused in any. The delay is bisected, then graces and chances are tried in ascending order.", replays)
	}
	test := tune.NewTest(s.alpha, s.beta)
	return fmt.Sprintf("The delay is bisected in steps of 1 s up to 30 s, then graces and chances are tried in ascending order, each by an SPRT between %v and %v with an error of %.2g for a rejection; the first settings that are accepted are confirmed with fresh seeds, number j with an error of %.2g/(j(j+1)).",
		test.P0, test.P1, s.beta, s.alpha)
}
