package upgrade

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/reports/advice"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// Kinds of reasons to trust an upgrade less, besides those of a run.
const (
	Assumed    = "assumed"     // the scenario does not say how servers start, or what is in front of them
	OneStep    = "one-step"    // the rollout is from the first to the last of several minor releases
	OneLog     = "one-log"     // a log has no seeds
	LessLoad   = "less-load"   // workloads end before the rollout does
	NoWorkload = "no-workload" // nothing was run
)

// judge computes the verdict: harm if something stops to work, a warning if few requests were not served, or limits or seats change for the worse, else ok.
func (a *Answer) judge() {
	v := result.NewOverall()
	a.Verdict = v
	harms, warnings := a.harms(), a.warnings()
	switch {
	case len(harms) > 0:
		v.Status = result.Harm
	case len(warnings) > 0:
		v.Status = result.Warning
	}
	said := append(harms, warnings...)
	if len(said) == 0 {
		said = []string{a.nothingHarmedText()}
	}
	v.Sentence = said[0]
	a.why = said[1:]
	if a.search != nil {
		a.takeCauses(a.search.present.first.Summary.Verdict)
	}
	a.addTrust()
}

// notServed says how many requests were not served during and after the rollout, and what that is.
func (a *Answer) notServed() (text string, status result.Status) {
	r := a.Rollout
	if r == nil {
		return "", result.OK
	}
	not := r.During.NotServed
	not.Add(&r.After.NotServed)
	n, sent := not.Total(), r.During.Sent+r.After.Sent
	if n == 0 {
		return "", result.OK
	}
	text = fmt.Sprintf("%s of %s requests %s not served during and after %s: %s", judge.ShareText(n, sent), format.Whole(sent), judge.Were(n),
		format.Counted(r.Runs, "simulated rollout"), notServedText(&not))
	if share := r.Before.share(); share > 0 {
		text += fmt.Sprintf(" (%s before it)", format.Percent(share))
	}
	return text + ".", judge.StatusOfNotServed(n, sent)
}

// harms says what stops to work, in sentences, the most important one first.
func (a *Answer) harms() (all []string) {
	if text, status := a.notServed(); status == result.Harm {
		all = append(all, text)
	}
	for i := range a.Objects {
		if o := &a.Objects[i]; o.Change == advice.Deleted && o.Used > 0 {
			all = append(all, fmt.Sprintf("%s deletes the %s %s, to which %s of the workload belong.", o.Release, o.Kind, o.Name, result.RequestCount(o.Used)))
		}
	}
	for i := range a.Versions {
		v := &a.Versions[i]
		has, it := "have", "them"
		if v.Objects == 1 {
			has, it = "has", "it"
		}
		either := ""
		if !slices.Contains(config.ServedVersions(a.options.From), v.Name) {
			either = ", so not by " + a.From + " either"
		}
		all = append(all, fmt.Sprintf("%s in the files %s %s, which is not served from %s on%s: kubectl apply refuses %s; use %s.", format.Counted(v.Objects, "object"), has, v.Name, v.RemovedIn, either, it, v.Use))
	}
	return all
}

// warnings says what changes for the worse, in sentences.
func (a *Answer) warnings() (all []string) {
	if text, status := a.notServed(); status == result.Warning {
		all = append(all, text)
	}
	if text := a.longerWaits(); text != "" {
		all = append(all, text)
	}
	var deleted, changed []string
	for i := range a.Objects {
		switch o := &a.Objects[i]; {
		case o.Change == advice.Deleted && o.Used == 0:
			deleted = append(deleted, o.Name)
		case o.Change == advice.PutRight:
			changed = append(changed, o.Name)
		}
	}
	if len(deleted) > 0 {
		all = append(all, fmt.Sprintf("The new servers delete %s; their requests belong to other FlowSchemas afterwards.", format.Listed(deleted, 4, "")))
	}
	var seats []string
	for i := range a.Rules {
		if r := &a.Rules[i]; r.Seats {
			seats = append(seats, r.Rule)
		}
	}
	if len(seats) > 0 {
		all = append(all, fmt.Sprintf("Requests take other seats: %s change.", format.Listed(seats, 4, "")))
	}
	if fewer := a.fewerSeats(); len(fewer) > 0 {
		all = append(all, fmt.Sprintf("Levels with lower limits: %s.", format.Listed(fewer, 4, "")))
	}
	if len(changed) > 0 {
		all = append(all, fmt.Sprintf("The new servers put right %s.", format.Listed(changed, 4, "")))
	}
	return all
}

// longerWaits says that requests wait longer during or after the rollout than is good; "" if they do not.
func (a *Answer) longerWaits() string {
	if a.Rollout == nil || a.Rollout.Before.WaitP99Ns == nil {
		return ""
	}
	before := *a.Rollout.Before.WaitP99Ns
	for _, p := range []struct {
		when string
		*Phase
	}{{"during", &a.Rollout.During}, {"after", &a.Rollout.After}} {
		if ns := p.WaitP99Ns; ns != nil && *ns > judge.GoodWaitNs && *ns > before {
			return fmt.Sprintf("The wait p99 is %s %s the rollout, and %s before it.", format.Duration(float64(*ns)), p.when, format.Duration(float64(before)))
		}
	}
	return ""
}

// fewerSeats returns the levels one of whose limits falls.
func (a *Answer) fewerSeats() (all []string) {
	for i := range a.Levels {
		l := &a.Levels[i]
		b := l.Before
		switch {
		case b == nil:
		case l.After == nil:
			all = append(all, l.Name+" is gone")
		case l.After.Nominal < b.Nominal:
			all = append(all, fmt.Sprintf("%s %d → %d seats", l.Name, b.Nominal, l.After.Nominal))
		case l.After.Lower < b.Lower:
			all = append(all, fmt.Sprintf("%s at least %d → %d seats", l.Name, b.Lower, l.After.Lower))
		case l.After.Upper < b.Upper:
			all = append(all, fmt.Sprintf("%s at most %d → %d seats", l.Name, b.Upper, l.After.Upper))
		case l.After.SeatCap > 0 && l.After.SeatCap < b.SeatCap:
			all = append(all, fmt.Sprintf("%s at most %d → %d seats of a request", l.Name, b.SeatCap, l.After.SeatCap))
		}
	}
	return all
}

// nothingHarmedText is the sentence of an upgrade that harms nothing.
func (a *Answer) nothingHarmedText() string {
	if a.Rollout == nil {
		return "The objects, their API versions, the limits of the levels and the seats of requests stay as they are."
	}
	sent := a.Rollout.During.Sent + a.Rollout.After.Sent
	return fmt.Sprintf("All %s requests of %s were served; objects, API versions, limits and seats stay as they are.", format.Whole(sent), format.Counted(a.Rollout.Runs, "simulated rollout"))
}

// notServedText says why requests were not served.
func notServedText(n *result.NotServed) string {
	var parts []string
	for _, p := range []struct {
		n    int64
		text string
	}{{n.Refused, "refused"}, {n.Lost, "lost"}, {n.Rejected, "rejected"}, {n.Deadline, "past their deadline"}, {n.Error, "answered with an error"}, {n.Unfinished, "unfinished"}} {
		if p.n > 0 {
			parts = append(parts, format.Whole(p.n)+" "+p.text)
		}
	}
	return strings.Join(parts, ", ")
}

// takeCauses takes who was harmed, and why, from a run of the present settings.
func (a *Answer) takeCauses(of *result.Overall) {
	if of == nil || of.Status != result.Harm || a.Verdict.Status != result.Harm {
		return
	}
	v := a.Verdict
	v.Harmed, v.Causes, v.Try = of.Harmed, of.Causes, of.Try
	if f := a.Settings; f != nil && a.Present.Passes < a.Present.Runs {
		r := result.Remedy{Remedy: result.ShutdownSettings, Sentence: "Start the servers with " + flags(f.Settings) + ".", Causes: []string{}, Proved: true}
		for i := range v.Causes {
			if v.Causes[i].Kind == result.ByStoppedServer {
				r.Causes = append(r.Causes, v.Causes[i].ID)
			}
		}
		v.Try = append([]result.Remedy{r}, slices.DeleteFunc(slices.Clone(v.Try), func(t result.Remedy) bool { return t.Remedy == result.MoreReplicas })...)
	}
}

// addTrust says how far to trust the answer.
func (a *Answer) addTrust() {
	add := func(id, sentence string) {
		a.Verdict.Trust = append(a.Verdict.Trust, result.Trust{ID: id, Sentence: sentence})
	}
	if a.Workload == nil {
		add(NoWorkload, "no workload was given (--with), so that nothing is known of requests during the rollout")
		return
	}
	for _, sentence := range a.Workload.Assumed {
		add(Assumed, strings.TrimSuffix(sentence, "."))
	}
	if during, before := a.Rollout.During.perSecond(), a.Rollout.Before.perSecond(); during < before/2 {
		add(LessLoad, fmt.Sprintf("during the rollout, %s requests a second are sent, and %s before it: workloads of the scenario end earlier", format.Number(during), format.Number(before)))
	}
	if n := len(rules.Upgrade(a.options.From, a.options.To)); n > 1 {
		add(OneStep, fmt.Sprintf("the rollout that was simulated is from %s to %s in one step; the upgrade has %d, one for each minor release", a.From, a.To, n))
	}
	if a.Workload.Replay {
		add(OneLog, "the replay of a log is the same with every seed, and each of its requests has a connection of its own, so that the settings are proved for this log alone, and a cluster may need larger ones")
	}
}
