package tune

import (
	"fmt"
	"slices"

	"apfsim/core/flowcontrol"
	"apfsim/experiment"
	"apfsim/reports/judge"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// Replays is how often a candidate is run with a log, each time with another phase of the periodic adjustments. A log is
// the same with every seed, and when its server adjusted the limits is usually not known.
const Replays = 10

// variant returns the scenario as it is run with a seed: with names of users of its own, or with another phase of the
// adjustments if a log is replayed. The first seed of the search leaves the names as the scenario has them.
func (s *search) variant(sc *scenario.Scenario, seed uint64) *scenario.Scenario {
	own := *sc
	own.Spec.Seed = seed
	base := s.present.Spec.Seed
	if s.phased {
		phaseNs := int64((seed-base)%Replays) * flowcontrol.AdjustmentPeriodNs / Replays
		own.Spec.Servers.AdjustmentPhase = server.AdjustmentPhase{After: quantity.Duration(phaseNs)}
	}
	if s.invented && seed != base {
		return withNames(&own, seed)
	}
	return &own
}

// plan returns n runs of a configuration with the seeds from first on, each to its end.
func (s *search) plan(sc *scenario.Scenario, first uint64, n int) experiment.Plan {
	return experiment.Plan{N: n, Run: func(i int) *scenario.Scenario { return s.variant(sc, first+uint64(i)) }}
}

// trialRuns is runs of a candidate with consecutive seeds. Those that are known from the journal are not made again.
type trialRuns struct {
	s        *search
	c        *Candidate
	first    uint64
	n, taken int
	runs     *experiment.Trials // nil as long as all were known
}

func (s *search) draw(c *Candidate, first uint64, n int) *trialRuns {
	return &trialRuns{s: s, c: c, first: first, n: n}
}

// next returns what the next run says, and the run itself if it was made now. The error is errBudget if the runs or the time
// are used up.
func (d *trialRuns) next() (*outcome, *experiment.Trial, error) {
	s, seed := d.s, d.first+uint64(d.taken)
	if s.journal.isUsed(d.c.ID, seed) {
		d.taken++
		return s.journal.find(d.c.ID, seed), nil, nil
	}
	if s.usedUp() {
		return nil, nil, errBudget
	}
	s.runs++
	if known := s.journal.find(d.c.ID, seed); known != nil && d.runs == nil {
		d.taken++
		return known, nil, s.journal.use(known)
	}
	if d.runs == nil {
		p := s.plan(d.c.scenarioOf(s.present), seed, d.n-d.taken)
		p.Early, p.MostEvents = true, s.mostEvents()
		p.Sent = func(i int) map[string]int64 { return s.sentWith(seed + uint64(i)) }
		d.runs = experiment.BeginTrials(s.ctx, p)
	}
	d.taken++
	run, err := d.runs.Next()
	if err != nil {
		return nil, nil, err
	}
	o, err := s.outcomeOf(d.c, run)
	if err != nil {
		return nil, nil, err
	}
	return o, run, s.journal.use(o)
}

func (d *trialRuns) stop() {
	if d.runs != nil {
		d.runs.Stop()
	}
}

// outcomeOf returns what a run says of a candidate.
func (s *search) outcomeOf(c *Candidate, run *experiment.Trial) (*outcome, error) {
	o := &outcome{Candidate: c.ID, Seed: run.Seed, Passed: run.Passed(), Failed: run.Failed(), Excess: excessOf(run), RanAway: run.RanAway}
	if o.Passed {
		var err error
		if o.Worse, err = s.protected(c, run); err != nil {
			return nil, err
		}
		o.Passed = o.Worse == ""
	}
	return o, nil
}

// excessOf returns the greatest value/limit − 1 of the goals that did not hold in a run; nil if it is not known.
func excessOf(run *experiment.Trial) *float64 {
	if run.Replication == nil {
		return nil
	}
	var most *float64
	for i := range run.Summary.Thresholds {
		if v := &run.Summary.Thresholds[i]; !v.Passed && v.Value != nil && v.Limit != 0 {
			if x := *v.Value/v.Limit - 1; most == nil || x > *most {
				most = &x
			}
		}
	}
	return most
}

// moreEvents is how many times as many events as now a run of a candidate may have.
const moreEvents = 20

// mostEvents is how many events a run of a candidate may have.
func (s *search) mostEvents() uint64 { return moreEvents * s.first[0].Events }

// runOnce makes one run of a configuration to its end.
func (s *search) runOnce(sc *scenario.Scenario, seed uint64) (*experiment.Trial, error) {
	runs := experiment.BeginTrials(s.ctx, s.plan(sc, seed, 1))
	defer runs.Stop()
	return runs.Next()
}

// presentWith returns a run of the present configuration. Those with the seeds of the search are kept.
func (s *search) presentWith(seed uint64) (*experiment.Trial, error) {
	if s.whole != nil {
		return s.whole.presentWith(seed)
	}
	base := s.present.Spec.Seed
	if seed-base >= MostRuns {
		return s.runOnce(s.present, seed)
	}
	for uint64(len(s.first)) <= seed-base {
		run, err := s.runOnce(s.present, base+uint64(len(s.first)))
		if err != nil {
			return nil, err
		}
		s.first = append(s.first, run)
	}
	return s.first[seed-base], nil
}

// countSent notes how many requests arrive in the runs of the present configuration, of workloads that send the same in
// any configuration.
func (s *search) countSent() {
	if len(s.present.Spec.Events) > 0 { // a stopped server refuses requests, which then do not arrive
		return
	}
	same := map[string]bool{}
	for i := range s.present.Spec.Workload {
		w := &s.present.Spec.Workload[i]
		same[w.Name] = sendsTheSame(w)
	}
	for _, run := range s.first {
		sent := map[string]int64{}
		for i := range run.Summary.Workloads {
			if w := &run.Summary.Workloads[i]; same[w.Name] {
				sent[w.Name] = w.Arrived
			}
		}
		s.sent = append(s.sent, sent)
	}
}

// sendsTheSame says whether what a workload sends does not depend on what it is answered.
func sendsTheSame(w *workload.Workload) bool {
	return w.Arrivals.Closed == nil && w.Behaviour == nil && w.RateLimit == nil && w.Retry.MaxRetries == 0 && !w.Added
}

// sentWith returns how many requests of workloads arrive with a seed, as far as it is known.
func (s *search) sentWith(seed uint64) map[string]int64 {
	if i := seed - s.present.Spec.Seed; i < uint64(len(s.sent)) {
		return s.sent[i]
	}
	return nil
}

// replays says whether a scenario replays a log.
func replays(sc *scenario.Scenario) bool {
	return slices.ContainsFunc(sc.Spec.Workload, func(w workload.Workload) bool { return w.Arrivals.Trace != nil })
}

// protected says why a run of a candidate is worse than that of the present configuration with the same seed; "" if no metric that
// is protected is, and no bystander.
func (s *search) protected(c *Candidate, run *experiment.Trial) (string, error) {
	bystanders := s.bystanders(c)
	if run.Seed-s.present.Spec.Seed >= MostRuns {
		bystanders = nil // the runs of a confirmation only confirm
	}
	if len(s.Protect) == 0 && len(bystanders) == 0 {
		return "", nil
	}
	other, err := s.presentWith(run.Seed)
	if err != nil {
		return "", err
	}
	values := func(n *metric.Name) (before, after float64, known bool) {
		before, note, ok := result.StatisticValue(other.Summary, n)
		after, noteAfter, okAfter := result.StatisticValue(run.Summary, n)
		return before, after, ok && okAfter && note == "" && noteAfter == ""
	}
	for _, name := range s.Protect {
		n, err := ProtectedName(name)
		if err != nil {
			return "", err
		}
		if before, after, known := values(&n); known && loses(&n, before, after) {
			return fmt.Sprintf("%s got worse", name), nil
		}
	}
	for _, w := range bystanders {
		for _, id := range []metric.Name{judge.Rejected, judge.WaitP99} {
			n := id.With(metric.TagWorkload, w)
			before, after, known := values(&n)
			if n.Metric == judge.WaitP99.Metric && !(waitsEnough(other.Summary, w) && waitsEnough(run.Summary, w)) {
				continue // chance would decide
			}
			if known && loses(&n, before, after) && (n.Metric != judge.WaitP99.Metric || after > before+bystanderNs) {
				return fmt.Sprintf("%s pays for it: %s got worse", w, n.String()), nil
			}
		}
	}
	return "", nil
}

// waitsEnough says whether a workload has as many waits in a run as a p99 needs.
func waitsEnough(s *result.Summary, workload string) bool {
	at := slices.IndexFunc(s.Workloads, func(g result.Group) bool { return g.Name == workload })
	if at < 0 {
		return false
	}
	_, n, _ := s.Workloads[at].WaitP99Ns()
	return measure.Enough(99, n)
}

// bystanderNs is how much longer a bystander may wait at the 99th percentile.
const bystanderNs = 100_000_000

// bystanders returns the workloads that a candidate is not about: they neither cause the harm, nor are they moved, nor is a goal
// about them, which says what they need. With fewer seats, nobody may pay for what is saved.
func (s *search) bystanders(c *Candidate) (all []string) {
	for i := range s.present.Spec.Workload {
		w := s.present.Spec.Workload[i].Name
		about := w == c.moves || s.problem != nil && slices.Contains(s.problem.taking, w)
		if s.problem != nil && (!about || s.fewer || c.size != nil && c.size.fewer) && !slices.Contains(s.problem.withGoals, w) {
			all = append(all, w)
		}
	}
	return all
}
