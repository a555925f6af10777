package tune

import (
	"cmp"
	"context"
	"slices"

	"apfsim/experiment"
	"apfsim/experiment/catalogue"
	"apfsim/reports/judge"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// Plan is the answer to the question what to buy, beside what is free: plan.json contains it.
type Plan struct {
	SchemaVersion string               `json:"schemaVersion"`
	Catalogue     *catalogue.Catalogue `json:"catalogue"`
	Options       []*Option            `json:"options"`  // the cheapest first
	Selected      *int                 `json:"selected"` // index of the cheapest option that holds and is not tight, if there is one; null if none holds
	OutOfBudget   bool                 `json:"outOfBudget,omitempty"`
	Candidates    int                  `json:"candidates"` // of all sizes together
	Runs          int                  `json:"runs"`

	Answer *Answer `json:"answer"` // on the selected option, or if none holds on the present servers: what tune.json has

	main     *search
	show     func(done, all int) // of the options
	about    string              // the workload whose waits are shown; "" for all
	capacity bool
	changes  int // sizes of which changes were searched
}

// Outcome says what is known of an option.
type Outcome string

// The outcomes.
const (
	OptionHolds Outcome = "holds"
	OptionTight Outcome = "tight" // holds, but not with more load or longer executions
	OptionFails Outcome = "fails"
	OptionOpen  Outcome = "open" // not decided, because it does not matter or because the budget was used up
)

// Option is something that can be done: nothing, a change of flow control, another size, or both.
type Option struct {
	Size    string   `json:"size"`    // in the catalogue; "" of servers of which it has none
	Present bool     `json:"present"` // whether the cluster has this size
	Changed bool     `json:"changed"` // whether flow control is changed
	Servers int      `json:"servers"`
	Seats   int      `json:"seats"` // of all servers together
	Price   *float64 `json:"price"` // null if it is not known

	Outcome Outcome `json:"outcome"`
	Holds           // in fresh runs if it holds
	Because string  `json:"because"` // the outcome is open, or no change suffices; "" otherwise

	Change  *Candidate `json:"change"` // with the size, if it is another one; null of the present configuration, and without one that holds
	Wait    *float64   `json:"waitP99Ns"`
	Latency *float64   `json:"latencyP99Ns"` // null without a capacity, which is what makes it depend on the seats

	at   *size
	key  int // in the order of the prices; −1 of present servers of unknown price
	done *found
}

// RunPlan finds the cheapest of the present servers and the sizes of a catalogue with which the goals hold, with and without a
// change of flow control. Each size is a candidate of one search: it is decided with the seeds of the others, and confirmed
// with fresh ones. Its changes are those that Run finds for a cluster of this size.
//
// Without a capacity, more seats cannot be worse, so that a size within one that fails is not run.
func RunPlan(ctx context.Context, o Options, c *catalogue.Catalogue) (*Plan, error) {
	s, asked, err := prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := checkSizes(s.present, c); err != nil {
		return nil, err
	}
	needed, err := s.examine(asked)
	if err == nil {
		err = s.keepServed()
	}
	if err == nil {
		err = s.openJournal()
	}
	if err == nil {
		err = s.list()
	}
	if err != nil {
		return nil, err
	}
	defer s.journal.close()
	s.sized = true
	p := &Plan{SchemaVersion: result.SchemaVersion, Catalogue: c, main: s, show: o.Progress, capacity: s.present.Spec.Servers.Capacity.IsSet()}
	p.about = p.workload()
	if !needed {
		s.all = nil // nothing has to be changed at this size
	}
	if err := p.decide(needed); err != nil {
		return nil, err
	}
	return p, p.complete(needed)
}

// workload returns the workload of the first goal that fails, or else of the first goal.
func (p *Plan) workload() string {
	goals := p.main.present.Spec.Thresholds
	for _, i := range p.main.failing {
		if w := goals[i].Tag(metric.TagWorkload); w != "" {
			return w
		}
	}
	if len(goals) == 0 {
		return ""
	}
	return goals[0].Tag(metric.TagWorkload)
}

// decide decides about all options.
func (p *Plan) decide(needed bool) error {
	s := p.main
	spec := &s.present.Spec.Servers
	now := &Option{Present: true, at: &size{requests: spec.MaxRequestsInflight, mutating: spec.MaxMutatingRequestsInflight, servers: spec.Replicas}, key: -1,
		Outcome: OptionHolds, Holds: s.held}
	if needed {
		now.Outcome = OptionFails
	}
	var alone []*Option
	for i := range p.Catalogue.Sizes {
		z := &p.Catalogue.Sizes[i]
		at := sizeOf(z, spec)
		if now.key < 0 && at.isOf(spec) {
			now.Size, now.key, now.Price = z.Name, i, z.Price
			alone = append(alone, now)
			continue
		}
		alone = append(alone, &Option{Size: z.Name, Price: z.Price, at: at, key: i, Outcome: OptionOpen})
	}
	if now.key < 0 {
		alone = slices.Insert(alone, 0, now)
	}
	p.Options = alone
	if needed {
		p.progress(s)
		if err := p.change(now, s); err != nil {
			return err
		}
	}
	if err := p.alone(alone, now); err != nil {
		return err
	}
	return p.changesOf(alone)
}

// progress makes a search of changes say how far all of them are.
func (p *Plan) progress(s *search) {
	show := p.show
	if show == nil {
		return
	}
	own, before, left := *s.Options, p.Candidates, len(p.Catalogue.Sizes)-p.changes
	own.Progress = func(done, all int) { show(before+done, before+all+left) }
	s.Options = &own
}

// alone decides about the sizes without a change, the cheapest first, until one holds.
func (p *Plan) alone(all []*Option, now *Option) error {
	s := p.main
	enough := func(o *Option) bool { return o.Outcome == OptionHolds && (o != now || now.key >= 0) }
	for i, o := range all {
		if o.Present {
			continue
		}
		if at := slices.IndexFunc(all[:i], enough); at >= 0 {
			o.Because = "costs more than " + all[at].name() + ", which holds"
			if !p.Catalogue.Priced() {
				o.Because = "not needed: " + all[at].name() + " holds"
			}
			continue
		}
		if at := slices.IndexFunc(all, func(f *Option) bool { return p.atMost(o, f) && f.Outcome == OptionFails }); at >= 0 {
			o.Outcome, o.Because = OptionFails, "not run: no more seats than "+all[at].name()
			continue
		}
		if s.usedUp() {
			o.Because, p.OutOfBudget = "not run: "+p.usedUpText(), true
			continue
		}
		c := p.candidate(o, nil)
		s.beta = s.alpha / float64(len(all))
		err := s.decide(c)
		var done *confirmation
		if err == nil && s.trialsOf(c).Decision == Accepted {
			done, err = s.confirm(c)
		}
		if err != nil && err != errBudget {
			return err
		}
		known := s.trialsOf(c)
		o.Holds = Holds{known.Passes, known.Runs}
		switch {
		case err == errBudget:
			o.Because, p.OutOfBudget = "not confirmed: "+p.usedUpText(), true
		case done == nil:
			o.Outcome, o.Because = OptionFails, known.Because
			if g := s.worstGoal(known); g != "" {
				o.Because = "fails " + s.shortGoal(g)
			}
		default:
			robust, err := s.isRobust(c)
			if err != nil {
				return err
			}
			o.holds(&found{c: c, confirmation: done}, robust)
		}
	}
	return nil
}

// usedUpText says what ended the search.
func (p *Plan) usedUpText() string {
	if p.main.late {
		return "the time was over"
	}
	return "the budget was used up"
}

// atMost says whether what an option fails follows from another one: it has not more seats, and the scenario lets more seats
// cost nothing.
func (p *Plan) atMost(o, other *Option) bool {
	return o != other && !p.capacity && p.main.present.Spec.Store == nil && o.at.within(other.at)
}

// holds notes that an option holds.
func (o *Option) holds(f *found, robust bool) {
	o.done, o.Change, o.Holds, o.Outcome, o.Because = f, f.c, f.Holds, OptionHolds, ""
	if !robust {
		o.Outcome, o.Because = OptionTight, "does not hold with 1.1 times the load or 1.25 times the executions"
	}
}

// changesOf searches changes of flow control for sizes that do not hold without one, and that cost less than what holds. If more
// seats cannot be worse, the dearest of them comes first: if no change suffices there, none does at a smaller size.
func (p *Plan) changesOf(all []*Option) error {
	least := len(p.Catalogue.Sizes) // key of the cheapest that holds
	for _, o := range p.Options {
		if o.Outcome == OptionHolds {
			least = min(least, o.key)
		}
	}
	var wanted []*Option
	for _, o := range all {
		if !o.Present && o.key < least && o.Outcome == OptionFails {
			wanted = append(wanted, o)
		}
	}
	descending := !p.capacity && p.main.present.Spec.Store == nil
	if descending {
		slices.Reverse(wanted)
	}
	for _, o := range wanted {
		if at := slices.IndexFunc(p.Options, func(f *Option) bool { return f.Changed && f.Outcome == OptionFails && p.atMost(o, f) }); at >= 0 {
			continue
		}
		if p.main.usedUp() {
			p.OutOfBudget = true
			return nil
		}
		s, err := p.searchAt(o)
		if err == nil && s == nil {
			continue
		}
		if err == nil {
			err = p.change(o, s)
		}
		if err != nil {
			return err
		}
		if with := p.Options[len(p.Options)-1]; with.Outcome == OptionHolds && !descending {
			return nil // what costs more does not matter
		}
	}
	return nil
}

// searchAt returns a search of changes for servers of another size, in which the goals of the present ones have to hold; nil if
// they hold there in the runs of this search.
func (p *Plan) searchAt(o *Option) (*search, error) {
	main := p.main
	s := &search{Options: main.Options, ctx: main.ctx, began: main.began, alpha: main.alpha, replayed: main.replayed, phased: main.phased, invented: main.invented,
		whole: main, fewer: o.at.fewer, runs: main.runs, attempts: main.attempts, results: map[*Candidate]*trials{}}
	s.present = (&Candidate{size: o.at}).scenarioOf(main.present)
	needed, err := s.examine(len(s.present.Spec.Thresholds))
	if err != nil || !needed {
		main.runs = s.runs
		return nil, err
	}
	s.journal = &journal{known: map[trialKey]*outcome{}, isIn: map[trialKey]bool{}}
	if err := s.list(); err != nil {
		return nil, err
	}
	p.progress(s)
	return s, nil
}

// change searches a change of flow control for servers of a size, and adds the option with it.
func (p *Plan) change(o *Option, s *search) error {
	p.changes++
	p.Candidates += len(s.all)
	with := &Option{Size: o.Size, Present: o.Present, Changed: true, Price: o.Price, at: o.at, key: o.key, Outcome: OptionFails}
	p.Options = append(slices.Clone(p.Options), with)
	f, err := s.walk()
	if err != nil && err != errBudget {
		return err
	}
	p.main.runs, p.main.attempts, p.main.late = s.runs, s.attempts, p.main.late || s.late
	switch {
	case f == nil && err == errBudget:
		with.Outcome, with.Because, p.OutOfBudget = OptionOpen, "no change was found until "+p.usedUpText(), true
	case f == nil:
		with.Because = "no change of flow control suffices"
	case s == p.main:
		with.holds(f, f.robust)
	default:
		s.newAnswer(true).explainChanges(f.c)
		own := *f
		own.c = p.candidate(o, f.c)
		if t := f.tight; t != nil {
			own.tight = &found{c: p.candidate(o, t.c), confirmation: t.confirmation}
		}
		with.holds(&own, f.robust)
	}
	return nil
}

// candidate returns the candidate with the size of an option, and with a change unless it is nil.
func (p *Plan) candidate(o *Option, change *Candidate) *Candidate {
	c := &Candidate{ID: "size " + o.Size, Remedy: result.MoreReplicas, Sentence: "Take the size " + o.Size + ".", size: o.at, kind: "server", Cost: Cost{Class: ServerLimits}}
	if change != nil {
		c.ID, c.Remedy, c.Sentence = c.ID+" + "+change.ID, change.Remedy, c.Sentence+" "+change.Sentence
		c.objects, c.moves, c.from, c.Cost.Moved, c.Cost.Steps = change.objects, change.moves, change.from, change.Cost.Moved, change.Cost.Steps
		c.limit = change.limit
	}
	c.family = &family{name: c.ID, all: []*Candidate{c}}
	p.main.problem.describe(c)
	for i := range c.Changes {
		if change == nil {
			break
		}
		if known := change.changeOf(&c.Changes[i]); known != nil {
			c.Changes[i].Because = known.Because
		}
	}
	return c
}

// complete orders the options, selects one, and completes the answer on it.
func (p *Plan) complete(needed bool) (err error) {
	slices.SortStableFunc(p.Options, func(a, b *Option) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(map[bool]int{true: 1}[a.Changed], map[bool]int{true: 1}[b.Changed]))
	})
	at := slices.IndexFunc(p.Options, func(o *Option) bool { return o.Outcome == OptionHolds })
	if at < 0 {
		at = slices.IndexFunc(p.Options, func(o *Option) bool { return o.Outcome == OptionTight })
	}
	a := p.main.newAnswer(needed)
	p.Answer, a.OutOfBudget = a, p.OutOfBudget
	for _, o := range p.Options {
		if err := p.measure(o); err != nil {
			return err
		}
	}
	switch {
	case at < 0:
		err = a.completeWithoutCandidate()
	case p.Options[at].done == nil:
		err = a.unneeded()
	default:
		a.Needed = true
		err = a.confirmed(p.Options[at].done)
	}
	if at >= 0 {
		p.Selected = &at
	}
	a.eliminated()
	a.Runs = p.main.runs
	p.Runs = a.Runs
	return err
}

// measure fills in what an option has: its seats, and the waits in some runs with the seeds of the search.
func (p *Plan) measure(o *Option) error {
	s := p.main
	o.Servers, o.Seats = o.at.servers, o.at.servers*o.at.each()
	if o.Outcome == OptionOpen || o.Changed && o.Change == nil || o.Runs == 0 {
		return nil
	}
	runs := s.first[:min(len(s.first), closestRuns)]
	if !o.Present || o.Changed {
		if s.over() {
			return nil
		}
		c := o.Change
		if c == nil {
			c = p.candidate(o, nil)
		}
		var err error
		if runs, err = s.complete(c, s.present.Spec.Seed, make([]*experiment.Trial, closestRuns)); err != nil {
			return err
		}
		s.runs += closestRuns
	}
	all := newSample(s.present)
	for _, run := range runs {
		if run.Replication != nil {
			all.add(run)
		}
	}
	if all.runs == 0 {
		return nil
	}
	byName := all.Replications().ByName()
	value := func(n metric.Name) *float64 {
		if p.about != "" {
			n = n.With(metric.TagWorkload, p.about)
		}
		e := byName[n.String()]
		if e == nil {
			return nil
		}
		x, _, _ := e.Printed()
		return &x
	}
	o.Wait = value(judge.WaitP99)
	if p.capacity {
		o.Latency = value(parsed("latency.p(99)"))
	}
	return nil
}

// name says which size an option has.
func (o *Option) name() string { return cmp.Or(o.Size, "what the cluster has") }
