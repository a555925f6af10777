package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// findings says of the stalls, each workload, each priority level and the underserved flows what
// the figures are, in fixed templates, and marks it with the verdict of the table of judgements.
func findings(s *Summary) []Finding {
	all := stallFindings(s)
	for i := range s.Workloads {
		g := &s.Workloads[i]
		all = append(all, Finding{Group: "Workloads", Mood: g.mood(), Subject: g.Name, Text: requestsText(g)})
	}
	for i := range s.PriorityLevels {
		if l := &s.PriorityLevels[i]; !l.idle() {
			all = append(all, Finding{Group: "Priority levels", Mood: l.mood(), Subject: l.Name, Text: levelText(l)})
		}
	}
	return append(all, flowFindings(s)...)
}

// stallFindings are about the workloads that stalled for a second or more, and the levels whose
// limit fell to 0, with the cause as far as the limits show it.
func stallFindings(s *Summary) []Finding {
	const group = "Stalls"
	var all []Finding
	for i := range s.Workloads {
		if g := &s.Workloads[i]; g.stalled() {
			f := g.figures()
			all = append(all, Finding{Group: group, Mood: f.judge(), Subject: g.Name, Text: stallText(g.Stall)})
		}
	}
	for i := range s.PriorityLevels {
		if l := &s.PriorityLevels[i]; l.Arrived > 0 && l.NoSeats != nil {
			all = append(all, Finding{Group: group, Mood: l.mood(), Subject: l.Name, Text: noSeatsText(l)})
		}
	}
	return all
}

// stalled says whether the group stalled for so long that it is worth a finding.
func (g *Group) stalled() bool { return g.Arrived > 0 && g.Stall != nil && g.Stall.MaxNs >= stallNs }

// stallText says how long the longest stall was, since when, and why.
func stallText(st *Stall) string {
	text := fmt.Sprintf("no request was dispatched for %s, from %s to %s, while requests waited", duration(float64(st.MaxNs)),
		moment(st.FromNs), moment(st.FromNs+st.MaxNs))
	if st.Count > 1 {
		text += fmt.Sprintf("; %d stalls of 1 s or more took %s of the time", st.Count, percent(st.Share))
	}
	text += ". "
	switch {
	case st.PriorityLevel == "":
		return text + "Flow control was off."
	case st.Limit < st.NominalLimit:
		text += fmt.Sprintf("%s had lent %d of its %d seats when the stall began: its limit was %d", st.PriorityLevel,
			st.NominalLimit-st.Limit, st.NominalLimit, st.Limit)
		if st.Raised != nil {
			text += fmt.Sprintf(" until the adjustment at %s raised it to %d", moment(st.Raised.AtNs), st.Raised.Limit)
		}
	default:
		text += fmt.Sprintf("The limit of %s was %d seats (nominal %d) when the stall began", st.PriorityLevel, st.Limit, st.NominalLimit)
	}
	switch {
	case st.Others > 0:
		return text + fmt.Sprintf(". It dispatched %s of other workloads during the stall.", requestCount(st.Others))
	case st.Limit == 0:
		return text + ". With no seat it could dispatch no request."
	}
	return text + ". It dispatched no request during the stall: its seats were held by requests in execution, or fewer were free than the next request takes."
}

// noSeatsText says when a level's limit was 0.
func noSeatsText(l *Level) string {
	n := l.NoSeats
	until := "the end of the run"
	if n.ToNs != nil {
		until = moment(*n.ToNs)
	}
	text := fmt.Sprintf("its limit was 0 seats from %s until %s (nominal %d), and no request could be dispatched", moment(n.FromNs), until, l.Limits.Nominal)
	if n.TotalNs > n.MaxNs {
		text += fmt.Sprintf("; the limit was 0 for %s in all", duration(float64(n.TotalNs)))
	}
	return text + "."
}

// moment writes a time of the run: "30.2 s".
func moment(ns int64) string {
	if ns == 0 {
		return "0 s"
	}
	return duration(float64(ns))
}

// requestsText says what became of a group's requests.
func requestsText(g *Group) string {
	if g.Arrived == 0 {
		return "no request arrived after the warm-up."
	}
	parts := []string{waitText(g)}
	if g.stalled() {
		parts = append(parts, fmt.Sprintf("stalled for %s from %s", duration(float64(g.Stall.MaxNs)), moment(g.Stall.FromNs)))
	}
	if v := g.VirtualWait; v != nil {
		if v.Wait != nil && float64(v.Wait.P99Ns) > 100e6 {
			parts = append(parts, "wait at a random moment p99 "+duration(float64(v.Wait.P99Ns)))
		}
		if rate := v.rejectedRate(); rate >= 0.01 {
			parts = append(parts, fmt.Sprintf("at %s of random moments a request would be rejected", percent(rate)))
		}
	}
	if g.Waiting > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s (%s) still queued at the end", quantityText(g.Waiting), quantityText(g.Arrived), shareOf(g.Waiting, g.Arrived)))
	}
	return strings.Join(append(parts, rejectedText(g)), "; ") + "."
}

func waitText(g *Group) string {
	d := g.Wait
	if d == nil {
		return fmt.Sprintf("none of %s was dispatched", requestCount(g.Arrived))
	}
	text := fmt.Sprintf("wait p99 %s, max %s", duration(float64(d.P99Ns)), duration(float64(d.MaxNs)))
	switch {
	case d.MaxNs == 0:
		text = "no wait"
	case d.P99Ns == 0:
		text = fmt.Sprintf("99 %% did not wait, max %s", duration(float64(d.MaxNs)))
	}
	if g.Waiting > 0 || g.RejectedWait != nil && g.RejectedWait.MaxNs > 0 {
		text += " (dispatched requests)"
	}
	return text
}

func rejectedText(g *Group) string {
	if g.Rejected == 0 {
		return fmt.Sprintf("0 of %s rejected", quantityText(g.Arrived))
	}
	var reasons []string
	for _, k := range []struct {
		name string
		n    int64
	}{{"queue-full", g.QueueFull}, {"concurrency-limit", g.ConcurrencyLimit}, {"time-out", g.TimedOut}} {
		if k.n > 0 {
			reasons = append(reasons, k.name+" "+quantityText(k.n))
		}
	}
	text := fmt.Sprintf("%s of %s (%s) rejected: %s", quantityText(g.Rejected), quantityText(g.Arrived), shareOf(g.Rejected, g.Arrived), strings.Join(reasons, ", "))
	if d := g.RejectedWait; d != nil && d.MaxNs > 0 {
		text += fmt.Sprintf(", after a wait of at most %s", duration(float64(d.MaxNs)))
	}
	return text
}

// requestCount writes a number of requests: "1 request", "24.4 k requests".
func requestCount(n int64) string {
	if n == 1 {
		return "1 request"
	}
	return quantityText(n) + " requests"
}

func levelText(l *Level) string {
	text := ""
	if u := l.Utilisation; u != nil && u.Mean != nil {
		text = fmt.Sprintf("seats in use %s (mean), saturated %s of the time; ", percent(*u.Mean), percent(u.Saturated))
	}
	return text + requestsText(&l.Group) + fairnessText(l)
}

// fairnessText says how the level's service compares with the fair shares of its flows. What a
// flow would have sent had it not waited for answers is in no share, so beside a starved flow
// nobody is said to have had its share.
func fairnessText(l *Level) string {
	f := l.Fairness
	if f == nil || f.Flows < 2 || l.Rejected == 0 && !l.waited() {
		return ""
	}
	text := fmt.Sprintf(" Jain’s index %.3f over %s flows", f.Jain, quantityText(int64(f.Flows)))
	if f.LeastRatio < hurtRatio {
		text += fmt.Sprintf("; least service %s of the fair share", ofShare(f.LeastRatio))
	} else {
		least := math.Floor(min(f.LeastRatio, 1)*1000) / 10 // at least what is said
		text += fmt.Sprintf("; every flow was served at least %s %% of its fair share", digits(least))
	}
	if st := l.Starvation; st != nil && st.MaxNs >= stallNs {
		text += fmt.Sprintf(", which counts only what was sent: %s had requests waiting and none dispatched for %s", st.Flow, duration(float64(st.MaxNs)))
	}
	return text + "."
}

// A flow is underserved if it got less than hurtRatio of its fair share or starved for hurtStarvedNs,
// and over-demanding if it asked for more than greedyRatio times that share.
const (
	hurtRatio     = 0.95
	hurtStarvedNs = 5_000_000_000
	greedyRatio   = 1.01
)

// hurtNamed is how many of the underserved flows have a finding each.
const hurtNamed = 8

func (f *Flow) greedy() bool { return f.DemandSeatSeconds > greedyRatio*f.FairShareSeatSeconds }

// hurt says whether a flow is underserved: its requests waited or were rejected, and it got less
// than its fair share; or some were rejected though it asked for no more than that; or none was
// dispatched for long. One that neither waited nor was rejected is not: what its last requests
// take beyond the end of the run is no loss.
func (f *Flow) hurt() bool {
	return f.starvedLong() > 0 || f.Rejected > 0 && !f.greedy() || (f.Rejected > 0 || f.waited()) && f.ratio() < hurtRatio
}

// starvedLong returns for how long the flow starved if that makes it underserved, else 0.
func (f *Flow) starvedLong() int64 {
	if f.StarvationNs < hurtStarvedNs {
		return 0
	}
	return f.StarvationNs
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

// flowFindings are about the underserved flows, and the over-demanding ones that were not.
func flowFindings(s *Summary) []Finding {
	var hurt []*Flow
	for _, f := range worst(s, len(s.Flows)) {
		if f.hurt() {
			hurt = append(hurt, f)
		}
	}
	// Those that asked for no more than their share come first: they are hurt by others.
	slices.SortStableFunc(hurt, func(a, b *Flow) int { return cmp.Compare(boolean(a.greedy()), boolean(b.greedy())) })
	const group = "Underserved flows"
	var all []Finding
	for _, f := range hurt[:min(len(hurt), hurtNamed)] {
		all = append(all, Finding{Group: group, Mood: Bad, Subject: f.Name, Text: flowText(f) + reason(s, f)})
	}
	if more := len(hurt) - hurtNamed; more > 0 {
		all = append(all, Finding{Group: group, Mood: Bad, Subject: counted(more, "more flow"), Text: "see the table of flows, which lists underserved flows first."})
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
			all = append(all, Finding{Group: "Over-demanding flows, served about their fair share or more", Subject: names(of, 3, of[0].Name), Text: greedyText(of)})
		}
	}
	return all
}

func flowText(f *Flow) string {
	text := ""
	if f.Ratio != nil {
		text = fmt.Sprintf("service %s of its fair share of %s", ofShare(*f.Ratio), f.PriorityLevel)
		if f.greedy() && f.FairShareSeatSeconds > 0 {
			text += fmt.Sprintf(" (demand %s times the share)", digits(f.DemandSeatSeconds/f.FairShareSeatSeconds))
		}
		text += "; "
	}
	if f.StarvationNs >= stallNs {
		text += fmt.Sprintf("requests waiting and none dispatched for %s; ", duration(float64(f.StarvationNs)))
	}
	return text + requestsText(&f.Group)
}

func greedyText(flows []*Flow) string {
	var asked, got []float64
	var all Group
	for _, f := range flows {
		asked, got = append(asked, f.DemandSeatSeconds/f.FairShareSeatSeconds), append(got, f.ratio())
		all.Rejected, all.Arrived = all.Rejected+f.Rejected, all.Arrived+f.Arrived
	}
	return fmt.Sprintf("demand %s times the fair share of %s, service %s of the fair share; %s of %s (%s) rejected.", span(asked, number),
		flows[0].PriorityLevel, span(got, ofShare), quantityText(all.Rejected), quantityText(all.Arrived), shareOf(all.Rejected, all.Arrived))
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
// had requests in queues when it had, its requests waited behind theirs. That is the cause only if
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
		return " Cause: every queue of its hand is also in a hand of these flows, which took more than their fair shares: " + names(by, 4, f.Name) + "."
	}
	if by := cover(f.Hand, asked); by != nil {
		return " Every queue of its hand is also in a hand of these over-demanding flows: " + names(by, 4, f.Name) + "."
	}
	return ""
}

// thereWith says whether a flow had requests in queues in at least half of the intervals in which
// another had, or had requests rejected.
func (f *Flow) thereWith(other *Flow) bool {
	n := other.queuedIn.count()
	return n > 0 && 2*f.queuedIn.shared(other.queuedIn) >= n
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
