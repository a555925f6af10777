package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// findings say in plain language how each workload, each priority level and the flows that
// fared worst came off.
func findings(s *Summary) []Finding {
	var all []Finding
	for i := range s.Workloads {
		g := &s.Workloads[i]
		all = append(all, Finding{Group: "Workloads", Mood: moodOf(g), Subject: g.Name, Text: requestsSentence(g)})
	}
	for i := range s.PriorityLevels {
		if l := &s.PriorityLevels[i]; !l.idle() {
			all = append(all, Finding{Group: "Priority levels", Mood: moodOf(&l.Group), Subject: l.Name, Text: levelSentence(l)})
		}
	}
	return append(all, flowFindings(s)...)
}

// manyWaiting is the share of a group's requests that may still wait at the end of the run before
// it is told: some that have just arrived are no news.
const manyWaiting = 0.01

func (g *Group) manyWaiting() bool { return float64(g.Waiting) > manyWaiting*float64(g.Arrived) }

func moodOf(g *Group) Mood {
	switch {
	case g.Rejected > 0, g.Wait == nil && g.Waiting > 0:
		return Bad
	case g.Wait != nil && g.Wait.P99Ns == 0 && !g.manyWaiting():
		return Good
	}
	return Neutral
}

// requestsSentence says what became of a group's requests, as a sentence whose subject is the
// group: "waited 3 ms at p99, 12 ms at most; no request was rejected."
func requestsSentence(g *Group) string {
	if g.Arrived == 0 {
		return "sent no request after the warm-up."
	}
	return outcome(g, "", "sent requests; ")
}

// outcome says what became of requests, which are its subject: all of them by one name, or those
// dispatched by another, where some that were not have waited as well.
func outcome(g *Group, all, of string) string {
	subject := all
	if g.Wait != nil && (g.Waiting > 0 || g.RejectedWait != nil && g.RejectedWait.MaxNs > 0) {
		subject = of + "those dispatched "
	}
	clauses := []string{subject + waitClause(g.Wait)}
	if g.manyWaiting() {
		clauses = append(clauses, fmt.Sprintf("%s still waited at the end", partOf(g.Waiting, g.Arrived)))
	}
	return strings.Join(append(clauses, rejectionClause(g)), "; ") + "."
}

func waitClause(d *Distribution) string {
	switch {
	case d == nil:
		return "never got a seat"
	case d.MaxNs == 0:
		return "never waited"
	case d.P99Ns == 0:
		return fmt.Sprintf("hardly waited (0 at p99, %s at most)", duration(float64(d.MaxNs)))
	}
	return fmt.Sprintf("waited %s at p99, %s at most", duration(float64(d.P99Ns)), duration(float64(d.MaxNs)))
}

func rejectionClause(g *Group) string {
	if g.Rejected == 0 {
		return "no request was rejected"
	}
	reasons, kinds := []string{}, []struct {
		name string
		n    int64
	}{{"queue full", g.QueueFull}, {"concurrency limit", g.ConcurrencyLimit}, {"time-out", g.TimedOut}}
	for _, k := range kinds {
		switch {
		case k.n == g.Rejected:
			reasons = append(reasons, k.name)
		case k.n > 0:
			reasons = append(reasons, k.name+" "+shareOf(k.n, g.Arrived))
		}
	}
	verb, after := "were", ""
	if g.Rejected == 1 {
		verb = "was"
	}
	if d := g.RejectedWait; d != nil && d.MaxNs > 0 {
		after = " after up to " + duration(float64(d.MaxNs))
		if d.MinNs == d.MaxNs {
			after = " after " + duration(float64(d.MaxNs))
		}
	}
	return fmt.Sprintf("%s %s rejected%s (%s)", partOf(g.Rejected, g.Arrived), verb, after, strings.Join(reasons, ", "))
}

// partOf says how many of the requests that arrived these are: "50 % of 10 requests".
func partOf(n, arrived int64) string {
	return fmt.Sprintf("%s of %s %s", shareOf(n, arrived), quantity(arrived), requestsWord(arrived))
}

func requestsWord(n int64) string {
	if n == 1 {
		return "request"
	}
	return "requests"
}

func levelSentence(l *Level) string {
	text := ""
	if u := l.Utilisation; u != nil && u.Mean != nil {
		saturated := "never saturated"
		if u.Saturated > 0 {
			saturated = "saturated " + percent(u.Saturated) + " of the time"
		}
		text = fmt.Sprintf("had %s of its seats in use and was %s; ", percent(*u.Mean), saturated)
	}
	switch {
	case l.Arrived == 0 && text == "":
		text = "got no request after the warm-up."
	case l.Arrived == 0:
		text += "it got no request after the warm-up."
	case text == "":
		text = requestsSentence(&l.Group)
	default:
		text += outcome(&l.Group, "its requests ", "of its requests ")
	}
	// Where nobody waited or was rejected, what the flows lack of their shares lies beyond the window.
	f, served := l.Fairness, l.Rejected == 0 && !l.waited()
	switch {
	case f == nil || f.Flows < 2 || served:
	case f.LeastRatio < hurtRatio:
		text += fmt.Sprintf(" Jain’s index of fairness among its %s flows is %.3f; the one that fared worst got %s of its fair share.", quantity(int64(f.Flows)), f.Jain, ofShare(f.LeastRatio))
	case f.LeastRatio < 0.9995:
		least := math.Floor(f.LeastRatio*1000) / 10 // at least what is said
		text += fmt.Sprintf(" Each of its %s flows got at least %s %% of its fair share.", quantity(int64(f.Flows)), digits(least))
	default:
		text += fmt.Sprintf(" Each of its %s flows got its fair share.", quantity(int64(f.Flows)))
	}
	return text
}

// A flow is hurt if it got less than hurtRatio of its fair share, and it is greedy if it asked for
// more than greedyRatio times that share.
const (
	hurtRatio   = 0.95
	greedyRatio = 1.01
)

// hurtNamed is how many of the flows that were hurt have a finding each.
const hurtNamed = 8

func (f *Flow) greedy() bool { return f.DemandSeatSeconds > greedyRatio*f.FairShareSeatSeconds }

// hurt says whether a flow whose requests waited or were rejected got less than its fair share, or
// had requests rejected though it asked for no more than that. One that neither waited nor was
// rejected is not hurt: what its last requests take beyond the end of the run is no loss.
func (f *Flow) hurt() bool {
	return f.Rejected > 0 && !f.greedy() || (f.Rejected > 0 || f.waited()) && f.ratio() < hurtRatio
}

// ratio returns the service as a part of the fair share. Where the level served nobody, nobody has
// a share either: then it is 0.
func (f *Flow) ratio() float64 {
	switch {
	case f.Ratio != nil:
		return *f.Ratio
	case f.DemandSeatSeconds > 0:
		return 0
	}
	return 1
}

// waited says whether requests are known to have waited and were not rejected.
func (g *Group) waited() bool { return g.Waiting > 0 || g.Wait != nil && g.Wait.MaxNs > 0 }

// flowFindings are about the flows that were hurt, and those that asked for too much.
func flowFindings(s *Summary) []Finding {
	var hurt []*Flow
	for _, f := range worst(s, len(s.Flows)) {
		if f.hurt() {
			hurt = append(hurt, f)
		}
	}
	// Those that asked for no more than their share come first: they are hurt by others.
	slices.SortStableFunc(hurt, func(a, b *Flow) int { return cmp.Compare(boolean(a.greedy()), boolean(b.greedy())) })
	const group = "Flows that were hurt"
	var all []Finding
	for _, f := range hurt[:min(len(hurt), hurtNamed)] {
		all = append(all, Finding{Group: group, Mood: Bad, Subject: f.Name, Text: hurtSentence(f) + reason(s, f)})
	}
	if more := len(hurt) - hurtNamed; more > 0 {
		all = append(all, Finding{Group: group, Mood: Bad, Subject: counted(more, "more flow"),
			Text: "got less than " + fairShares(more) + " or had requests rejected; the table of flows begins with those that were hurt."})
	}
	for i := range s.PriorityLevels {
		level := s.PriorityLevels[i].Name
		var of []*Flow
		for i := range s.Flows {
			if f := &s.Flows[i]; f.PriorityLevel == level && f.greedy() && !f.hurt() && (f.Rejected > 0 || f.waited()) {
				of = append(of, f)
			}
		}
		if len(of) > 0 {
			all = append(all, Finding{Group: "Flows that asked for more than their fair share, and got about that or more", Subject: names(of, 3, of[0].Name), Text: greedySentence(of)})
		}
	}
	return all
}

func hurtSentence(f *Flow) string {
	text := ""
	if f.Ratio != nil {
		text = fmt.Sprintf("got %s of its fair share of %s; ", ofShare(*f.Ratio), f.PriorityLevel)
	}
	if f.greedy() && f.FairShareSeatSeconds > 0 {
		text += fmt.Sprintf("it asked for %s times that share; ", digits(f.DemandSeatSeconds/f.FairShareSeatSeconds))
	}
	if text == "" {
		return requestsSentence(&f.Group)
	}
	return text + outcome(&f.Group, "", "of its requests ")
}

func greedySentence(flows []*Flow) string {
	var asked, got []float64
	var all Group
	for _, f := range flows {
		asked, got = append(asked, f.DemandSeatSeconds/f.FairShareSeatSeconds), append(got, f.ratio())
		all.Rejected, all.Arrived = all.Rejected+f.Rejected, all.Arrived+f.Arrived
	}
	rejected := "no request was rejected"
	if all.Rejected > 0 {
		rejected = partOf(all.Rejected, all.Arrived) + " were rejected"
	}
	return fmt.Sprintf("asked for %s times %s of %s, and got %s of that; %s.", span(asked, number), fairShares(len(flows)), flows[0].PriorityLevel,
		span(got, ofShare), rejected)
}

// fairShares is what so many flows have.
func fairShares(n int) string {
	if n == 1 {
		return "its fair share"
	}
	return "their fair shares"
}

// span writes the least and the greatest value: "2 to 3", or only one where both read the same.
func span(values []float64, text func(float64) string) string {
	least, most := text(slices.Min(values)), text(slices.Max(values))
	if least == most {
		return least
	}
	return least + " to " + most
}

// ofShare writes a ratio of service and fair share, with so many digits that it does not read as
// the limit below which a flow is hurt unless it is it.
func ofShare(ratio float64) string {
	if ratio < hurtRatio {
		return besideLimit(ratio, hurtRatio, "", true)
	}
	return percent(ratio)
}

// reason says why a flow was hurt, as far as the hands, the services and the time show it: when
// every queue of its hand is in the hands of flows that asked for more than their fair share and
// had requests in queues when it had, its requests waited behind theirs. It is a because only if
// these even took more than their fair share. Else it says nothing.
func reason(s *Summary, f *Flow) string {
	backlogged := f.Rejected > 0 || f.Wait != nil && f.Wait.P50Ns > 0
	if len(f.Hand) == 0 || !backlogged {
		return ""
	}
	var took, asked []*Flow
	for i := range s.Flows {
		g := &s.Flows[i]
		if g == f || g.Name == f.Name || g.PriorityLevel != f.PriorityLevel || !g.greedy() || !g.thereWith(f) {
			continue
		}
		asked = append(asked, g)
		if g.ServiceSeatSeconds > greedyRatio*g.FairShareSeatSeconds {
			took = append(took, g)
		}
	}
	if by := cover(f.Hand, took); by != nil {
		return fmt.Sprintf(" This is because %s, which took more than %s.", alsoInHands(f, by), fairShares(len(by)))
	}
	if by := cover(f.Hand, asked); by != nil {
		return " " + capitalized(fmt.Sprintf("%s, which asked for more than %s.", alsoInHands(f, by), fairShares(len(by))))
	}
	return ""
}

// thereWith says whether a flow had requests in queues in at least half of the intervals in which
// another had, or had requests rejected.
func (f *Flow) thereWith(other *Flow) bool {
	n := other.queuedIn.count()
	return n > 0 && 2*f.queuedIn.shared(other.queuedIn) >= n
}

func alsoInHands(f *Flow, by []*Flow) string {
	queues, are, hands := fmt.Sprintf("all %d queues", len(f.Hand)), "are", "hands"
	switch len(f.Hand) {
	case 1:
		queues, are = "the only queue", "is"
	case 2:
		queues = "both queues"
	}
	if len(by) == 1 {
		hands = "hand"
	}
	return fmt.Sprintf("%s of its hand %s also in the %s of %s", queues, are, hands, names(by, 4, f.Name))
}

// cover returns few of the flows in whose hands together all the queues are, nil if there is
// one that is in none: in turn the flow with the most queues that are still missing, and
// of several the one with the greatest service.
func cover(queues []int, flows []*Flow) []*Flow {
	missing := slices.Clone(queues)
	var by []*Flow
	for len(missing) > 0 {
		var best *Flow
		most := 0
		for _, f := range flows {
			n := 0
			for _, q := range missing {
				if slices.Contains(f.Hand, q) {
					n++
				}
			}
			if n > most || n > 0 && n == most && cmp.Compare(f.ServiceSeatSeconds, best.ServiceSeatSeconds) > 0 {
				best, most = f, n
			}
		}
		if best == nil {
			return nil
		}
		by = append(by, best)
		missing = slices.DeleteFunc(missing, func(q int) bool { return slices.Contains(best.Hand, q) })
	}
	return by
}

// names lists the first flows by name, see listed.
func names(flows []*Flow, most int, before string) string {
	var all []string
	for _, f := range flows {
		all = append(all, f.Name)
	}
	return listed(all, most, before)
}

// listed lists the first names and counts the others. What a name has in common with the
// one that was read before is left out, up to a separator.
func listed(names []string, most int, before string) string {
	var list []string
	for _, name := range names {
		if name == before {
			list = append(list, name)
		} else {
			list = append(list, name[commonLength(name, before):])
		}
	}
	if len(list) > most+1 {
		list = append(list[:most:most], counted(len(list)-most, "other"))
	}
	switch n := len(list); n {
	case 0:
		return ""
	case 1:
		return list[0]
	default:
		return strings.Join(list[:n-1], ", ") + " and " + list[n-1]
	}
}

// commonLength returns how long the beginning is that two names have in common, up to and
// with a separator.
func commonLength(a, b string) int {
	length := 0
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			break
		}
		if strings.IndexByte("/:", a[i]) >= 0 {
			length = i + 1
		}
	}
	return length
}
