package tune

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/experiment/fit/check"
	"apfsim/reports/format"
	"apfsim/reports/result"
)

// The kinds of reasons to trust an answer less, beside those of the package result.
const (
	modelOnly     = "model"          // no interval covers how well the scenario describes the cluster
	noCapacity    = "no-capacity"    // seats cost nothing in the scenario
	inventedNames = "invented-names" // the change deals new hands, which follow from names that the scenario invents
)

// trust returns the reasons to trust the answer less. c is the candidate that it shows, nil without one.
func (a *Answer) trust(c *Candidate) []result.Trust {
	all := []result.Trust{}
	add := func(id, sentence string) { all = append(all, result.Trust{ID: id, Sentence: sentence}) }
	spec := &a.search.present.Spec
	for _, t := range a.ofRuns {
		t.Sentence = strings.ToUpper(t.Sentence[:1]) + strings.TrimSuffix(t.Sentence[1:], ".") + "."
		all = append(all, t)
	}
	if f := a.search.Fit; f != nil {
		add(result.BeyondFit, fitText(f))
		rejected := int64(0)
		for i := range f.Workloads {
			rejected += f.Workloads[i].Rejected
		}
		if rejected > 0 {
			add(result.DrawnExecutions, fmt.Sprintf("%s of the log were rejected, so that their executions are drawn from those of others.", result.RequestCount(rejected)))
		}
	}
	if !spec.Servers.Capacity.IsSet() {
		add(noCapacity, "The scenario has no capacity: executions take as long however many there are, so that more seats cost nothing in it. On a server they may.")
	}
	if (spec.Servers.AdjustmentPhase.Random || a.search.phased) && !a.given("servers", "adjustmentPhase") && a.lends() {
		add(result.PhaseUnknown, "Nothing says when the servers adjust the limits of levels that lend, so that each run draws it.")
	}
	if !a.given("servers", "kubernetesVersion") {
		add(result.VersionAssumed, fmt.Sprintf("The scenario names no release of Kubernetes: %s is assumed.", spec.Servers.KubernetesVersion.At(0)))
	}
	if names := a.invented(); c != nil && c.deals() && len(names) > 0 {
		add(inventedNames, "The change deals new hands, which follow from the names of FlowSchemas and users. If the scenario invents those of "+
			format.Listed(names, mostNames, "")+", try others: the gain may be luck.")
	}
	if a.search.replayed {
		add(modelOnly, "One log is one run: the change holds for this log, and no probability says whether it does for another one.")
	} else {
		add(modelOnly, "The probability is that of runs of this scenario. How well the scenario describes the cluster is another question.")
	}
	return all
}

// fitText says how well a scenario describes the log that it is fitted to.
func fitText(f *check.Report) string {
	text := fmt.Sprintf("The scenario is fitted to a log of %s", result.RequestCount(f.Requests))
	if f.LeftOut > 0 {
		text += fmt.Sprintf(", of which it leaves out %s", format.Quantity(f.LeftOut))
	}
	if c := f.Check; c != nil {
		text += fmt.Sprintf("; %d of %s of the log are in the range of its runs", c.Within, format.Counted(len(c.Rows), "statistic"))
	}
	if f.Check != nil {
		if caution := f.Check.Caution(); caution != "" {
			text += ". " + strings.ToUpper(caution[:1]) + caution[1:]
		}
	}
	return text + ". What the log does not show, such as another division of the seats or another load, goes beyond the fit."
}

// mostNames is how many workloads a sentence names.
const mostNames = 5

// given says whether the text of the scenario has a field of the spec.
func (a *Answer) given(path ...string) bool {
	if a.search.present.Document == nil {
		return false
	}
	node := a.search.present.Document.Root.Get("spec")
	for _, name := range path {
		node = node.Get(name)
	}
	return node != nil
}

// lends says whether a level lends seats.
func (a *Answer) lends() bool {
	for _, l := range a.search.present.Objects.PriorityLevels {
		if l.Spec.Limited != nil && l.Spec.LendablePercent() > 0 {
			return true
		}
	}
	return false
}

// deals says whether flows get other hands with the candidate: those of a FlowSchema that is new or has another distinguisher,
// and of a level with other numbers of queues.
func (c *Candidate) deals() bool {
	return slices.ContainsFunc(c.Changes, func(ch Change) bool {
		return ch.Kind == "FlowSchema" || strings.HasSuffix(ch.Path, ".queues") || strings.HasSuffix(ch.Path, ".handSize")
	})
}

// invented returns the workloads whose clients have numbers in their names, which are the same in all runs: those of nodes,
// and all if no names are drawn anew.
func (a *Answer) invented() (names []string) {
	for i := range a.search.present.Spec.Workload {
		w := &a.search.present.Spec.Workload[i]
		if w.As.Invented() && !a.search.invented || w.As.Node != w.As.NodeOf(0) {
			names = append(names, w.Name)
		}
	}
	return names
}
