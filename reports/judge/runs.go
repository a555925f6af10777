package judge

import (
	"cmp"
	"fmt"
	"slices"

	"apfsim/reports/format"
	"apfsim/reports/result"
)

// Runs combines the verdicts of several runs of a scenario, which are added in the order of their seeds.
type Runs struct {
	runs, bad int // how many there are, and how many have the worst status
	verdict   *result.Overall
	total     result.Group
	weights   []float64 // of the causes
	worst     string    // the sentence of the first run with the worst status
}

// Add adds the verdict of a run.
func (a *Runs) Add(s *result.Summary) {
	v := s.Verdict
	if v == nil {
		return
	}
	a.runs++
	if a.verdict == nil {
		a.verdict = result.NewOverall()
		a.verdict.Status = v.Status
		a.worst = v.Sentence
	}
	switch {
	case v.Status.Worse(a.verdict.Status):
		a.verdict.Status, a.bad, a.worst = v.Status, 1, v.Sentence
	case v.Status == a.verdict.Status:
		a.bad++
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

func (a *Runs) addHarmed(h *result.Harmed) {
	all := a.verdict.Harmed
	at := slices.IndexFunc(all, func(o result.Harmed) bool { return o.Workload == h.Workload && o.Flow == h.Flow && o.Level == h.Level })
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
func causeKey(c *result.Cause) string { return string(c.Kind) + "\x00" + c.Level }

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
func (a *Runs) N() int { return a.runs }

// Verdict returns the verdict on all runs, nil if none has one: the worst status, the sums of who was harmed, with the
// longest wait p99 of a run, and the causes by their places in the runs, each as the first run has it that has it.
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
	slices.SortStableFunc(v.Harmed, func(x, y result.Harmed) int { return -cmp.Compare(x.NotServed.Total(), y.NotServed.Total()) })
	for i := range v.Harmed {
		v.Harmed[i].Causes = []string{}
	}
	relate(&v)
	v.Sentence = a.sentence(&v)
	return &v
}

func (a *Runs) sentence(v *result.Overall) string {
	if a.runs == 1 {
		return a.worst
	}
	if n := a.total.NotServed; v.Status == result.Harm && n.Total() > 0 {
		total, how := howNotServed(n)
		why := ""
		if len(v.Causes) > 0 && n.Unfinished < n.Total() { // else the runs ended before these requests did
			why = ": " + Clause(&v.Causes[0])
		}
		in := fmt.Sprintf("all %d runs", a.runs)
		if a.bad < a.runs {
			in = fmt.Sprintf("%d runs, %d of which have harm,", a.runs, a.bad)
		}
		return fmt.Sprintf("%s of %s requests of %s %s %s%s.", ShareText(total, a.total.Arrived), format.Whole(a.total.Arrived), in, Were(total), how, why)
	}
	if a.bad == a.runs {
		return fmt.Sprintf("In all %d runs, as in the first: %s", a.runs, a.worst)
	}
	return fmt.Sprintf("In %d of %d runs, as in the first of them: %s", a.bad, a.runs, a.worst)
}
