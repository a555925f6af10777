package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"apfsim/reports/format"
	"apfsim/reports/result"
)

// Runs combines the verdicts of several runs of a scenario, which are added in the order of their seeds.
type Runs struct {
	verdict *result.Overall
	total   result.Group
	weights []float64 // of the causes
	runs    []judgedRun
	judged  []result.Judged // sums, of the runs in which they were judged
	grew    map[string]int  // by Of and name, in how many runs its waits or backlog grew
}

// judgedRun is the verdict on one run.
type judgedRun struct {
	seed     uint64
	status   result.Status
	sentence string
	goals    bool // a goal failed
}

// Add adds the verdict of a run.
func (a *Runs) Add(s *result.Summary) {
	v := s.Verdict
	if v == nil {
		return
	}
	if a.verdict == nil {
		a.verdict, a.grew = result.NewOverall(), map[string]int{}
	}
	a.runs = append(a.runs, judgedRun{s.Seed, v.Status, v.Sentence, len(failedGoals(s)) > 0})
	for i := range v.Judged {
		a.addJudged(&v.Judged[i])
	}
	a.total.Arrived += s.Total.Arrived
	if n := s.Total.NotServed; n != nil {
		if a.total.NotServed == nil {
			a.total.NotServed = &result.NotServed{}
		}
		a.total.NotServed.Add(n)
	}
	for i := range v.Harmed {
		a.addHarmed(&v.Harmed[i])
	}
	for i := range v.Causes {
		a.addCause(&v.Causes[i], 1/float64(i+1))
	}
	for i := range v.Try {
		r := v.Try[i]
		if !slices.ContainsFunc(a.verdict.Try, func(have result.Remedy) bool { return have.Remedy == r.Remedy && have.Sentence == r.Sentence }) {
			r.Causes = []string{}
			for _, id := range v.Try[i].Causes {
				if at := slices.IndexFunc(v.Causes, func(c result.Cause) bool { return c.ID == id }); at >= 0 {
					r.Causes = append(r.Causes, causeKey(&v.Causes[at]))
				}
			}
			a.verdict.Try = append(a.verdict.Try, r)
		}
	}
}

func (a *Runs) addJudged(j *result.Judged) {
	at := slices.IndexFunc(a.judged, func(o result.Judged) bool { return o.Of == j.Of && o.Name == j.Name && o.Limited == j.Limited })
	if at < 0 {
		at = len(a.judged)
		a.judged = append(a.judged, result.Judged{Of: j.Of, Name: j.Name, Limited: j.Limited})
	}
	o := &a.judged[at]
	o.Runs++
	o.Arrived, o.NotServed = o.Arrived+j.Arrived, o.NotServed+j.NotServed
	o.WaitP99Ns, o.StallNs = o.WaitP99Ns+j.WaitP99Ns, o.StallNs+j.StallNs
	o.OwnLimitNs, o.NeverSent, o.LeadersLost = o.OwnLimitNs+j.OwnLimitNs, o.NeverSent+j.NeverSent, o.LeadersLost+j.LeadersLost
	o.NodesNotReady, o.LostWrites, o.SlowWatches = o.NodesNotReady+j.NodesNotReady, o.LostWrites+j.LostWrites, o.SlowWatches+j.SlowWatches
	if j.Grows {
		a.grew[j.Of+j.Name]++
	}
}

// together returns the combined figures of all runs: sums of requests, means of durations, and growth if most runs have
// it. A flow that was not judged in a run counts as one without effects there.
func (a *Runs) together() []result.Judged {
	all := slices.Clone(a.judged)
	n := int64(len(a.runs))
	for i := range all {
		j := &all[i]
		j.WaitP99Ns, j.StallNs, j.OwnLimitNs = j.WaitP99Ns/n, j.StallNs/n, j.OwnLimitNs/n
		j.Arrived = j.Arrived * n / int64(j.Runs)
		j.Grows = !j.Limited && 2*a.grew[j.Of+j.Name] > len(a.runs)
	}
	return all
}

func (a *Runs) addHarmed(h *result.Harmed) {
	all := a.verdict.Harmed
	at := slices.IndexFunc(all, func(o result.Harmed) bool {
		return o.Workload == h.Workload && o.Flow == h.Flow && o.Level == h.Level && o.Name == h.Name && o.Role == h.Role
	})
	if at < 0 {
		one := *h
		one.Causes = []string{}
		a.verdict.Harmed = append(all, one)
		return
	}
	o := &all[at]
	o.Sent, o.Served, o.Open = o.Sent+h.Sent, o.Served+h.Served, o.Open+h.Open
	o.NotServed.Add(&h.NotServed)
	if h.WaitP99Ns != nil && (o.WaitP99Ns == nil || *h.WaitP99Ns > *o.WaitP99Ns) {
		o.WaitP99Ns = h.WaitP99Ns
	}
	o.FromNs, o.ToNs, o.Flows = min(o.FromNs, h.FromNs), max(o.ToNs, h.ToNs), max(o.Flows, h.Flows)
}

// causeKey is the same for the same cause in several runs.
func causeKey(c *result.Cause) string {
	return string(c.Kind) + "\x00" + c.Level + "\x00" + ofClients(c)
}

func (a *Runs) addCause(c *result.Cause, weight float64) {
	all := a.verdict.Causes
	at := slices.IndexFunc(all, func(o result.Cause) bool { return causeKey(&o) == causeKey(c) })
	if at < 0 {
		a.verdict.Causes, a.weights = append(all, *c), append(a.weights, weight)
		return
	}
	a.weights[at] += weight
	all[at].FromNs, all[at].ToNs = min(all[at].FromNs, c.FromNs), max(all[at].ToNs, c.ToNs)
}

// N returns how many runs there are.
func (a *Runs) N() int { return len(a.runs) }

// Verdict returns the verdict on all runs, nil if none has one: the status of their figures together, the sums of who was harmed,
// with the longest wait p99 of a run, and the causes by their places in the runs, each as the first run has it that has it.
// A goal must hold in every run. If the figures do not decide, as of runs whose replays disagree with their log, most runs do.
func (a *Runs) Verdict() *result.Overall {
	if a.verdict == nil {
		return nil
	}
	v := *a.verdict
	order := make([]int, len(v.Causes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int { return -cmp.Compare(a.weights[i], a.weights[k]) })
	count, ids := map[result.Kind]int{}, map[string]string{}
	causes := []result.Cause{}
	for _, i := range order {
		c := v.Causes[i]
		count[c.Kind]++
		c.ID = fmt.Sprintf("%s-%d", c.Kind, count[c.Kind])
		ids[causeKey(&c)] = c.ID
		causes = append(causes, c)
	}
	v.Causes, v.Try, v.Harmed = causes, slices.Clone(v.Try), slices.Clone(v.Harmed)
	for i := range v.Try {
		var named []string
		for _, key := range v.Try[i].Causes {
			named = append(named, ids[key])
		}
		v.Try[i].Causes = named
	}
	slices.SortStableFunc(v.Harmed, func(x, y result.Harmed) int {
		return cmp.Or(cmp.Compare(y.Role, x.Role), -cmp.Compare(x.NotServed.Total(), y.NotServed.Total()))
	})
	v.Judged = a.together()
	a.decide(&v)
	for i := range v.Harmed {
		v.Harmed[i].Causes = []string{}
	}
	relate(&v)
	v.Sentence = a.sentence(&v)
	return &v
}

// decide sets the status of all runs.
func (a *Runs) decide(v *result.Overall) {
	count := map[result.Status]int{}
	for _, r := range a.runs {
		count[r.status]++
		if r.goals {
			v.Status = result.Harm
		}
	}
	if v.Status == result.Harm {
		return
	}
	v.Status, v.Decided = Decide(v.Judged)
	if 2*count[result.Unknown] > len(a.runs) || v.Status == result.OK && count[result.Unknown] > 0 {
		v.Status, v.Decided = result.Unknown, nil
	}
	if len(a.runs) == 1 || len(v.Judged) == 0 { // results of programs that did not write what was judged
		v.Status = a.runs[0].status
		for _, r := range a.runs {
			if r.status.Worse(v.Status) {
				v.Status = r.status
			}
		}
	}
}

// otherwise names the runs that have another status.
func (a *Runs) otherwise(status result.Status) string {
	var seeds []string
	var other result.Status
	for _, r := range a.runs {
		if r.status != status {
			seeds, other = append(seeds, strconv.FormatUint(r.seed, 10)), r.status
		}
	}
	switch {
	case len(seeds) == 0:
		return ""
	case len(seeds) == 1:
		return fmt.Sprintf(" The run with seed %s alone is %s.", seeds[0], other)
	}
	return fmt.Sprintf(" %d of %d runs have another status, such as that with seed %s, which is %s.", len(seeds), len(a.runs), seeds[len(seeds)-1], other)
}

func (a *Runs) sentence(v *result.Overall) string {
	first := a.runs[0]
	for _, r := range a.runs {
		if r.status == v.Status {
			first = r
			break
		}
	}
	n, all := a.total.NotServed, fmt.Sprintf("all %d runs", len(a.runs))
	switch {
	case len(a.runs) == 1:
		return first.sentence
	case v.Status == result.OK && n.Total() == 0:
		return fmt.Sprintf("All %s requests of %s were served.%s", format.Whole(a.total.Arrived), all, a.otherwise(v.Status))
	case n.Total() > 0 && slices.ContainsFunc(v.Harmed, func(h result.Harmed) bool { return h.Role == result.Victim }):
		total, how := howNotServed(n)
		why := ""
		if len(v.Causes) > 0 && v.Status != result.OK {
			why = ": " + Clause(&v.Causes[0])
		}
		return fmt.Sprintf("%s of %s requests of %s %s %s%s.%s", ShareText(total, a.total.Arrived), format.Whole(a.total.Arrived), all, Were(total), how, why, a.otherwise(v.Status))
	}
	text := a.otherwise(v.Status)
	if text == "" {
		return fmt.Sprintf("In %s, as in the first: %s", all, first.sentence)
	}
	return fmt.Sprintf("The run with seed %d: %s%s", first.seed, first.sentence, text)
}
