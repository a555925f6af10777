package findings

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// Run says of the stalls, each workload, each priority level and the underserved flows what
// the figures are, in fixed templates, and marks it with the verdict of the table of judgements.
func Run(s *result.Summary) []Finding {
	all := Stalls(s)
	for i := range s.Workloads {
		g := &s.Workloads[i]
		all = append(all, Finding{Group: "Workloads", Judgement: judge.Group(g), Subject: g.Name, Text: RequestsText(g)})
	}
	for i := range s.PriorityLevels {
		if l := &s.PriorityLevels[i]; !l.Idle() {
			all = append(all, Finding{Group: "Priority levels", Judgement: judge.Level(l), Subject: l.Name, Text: LevelText(l)})
		}
	}
	return append(all, FlowFindings(s)...)
}

// Stalls are about the workloads that stalled for a second or more, and the levels whose
// limit fell to 0, with the cause as far as the limits show it.
func Stalls(s *result.Summary) []Finding {
	const group = "Stalls"
	var all []Finding
	for i := range s.Workloads {
		if g := &s.Workloads[i]; judge.Stalled(g) {
			f := judge.Figures(g)
			all = append(all, Finding{Group: group, Judgement: f.Judge(), Subject: g.Name, Text: StallText(g.Stall)})
		}
	}
	for i := range s.PriorityLevels {
		if l := &s.PriorityLevels[i]; l.Arrived > 0 && l.NoSeats != nil {
			all = append(all, Finding{Group: group, Judgement: judge.Level(l), Subject: l.Name, Text: noSeatsText(l)})
		}
	}
	return all
}

// StallText says how long the longest stall was, since when, and why.
func StallText(st *result.Stall) string {
	text := fmt.Sprintf("no request was dispatched for %s, from %s to %s, while requests waited", format.Duration(float64(st.MaxNs)),
		format.Moment(st.FromNs), format.Moment(st.FromNs+st.MaxNs))
	if st.Count > 1 {
		text += fmt.Sprintf("; %d stalls of 1 s or more took %s of the time", st.Count, format.Percent(st.Share))
	}
	text += ". "
	switch {
	case st.PriorityLevel == "":
		return text + "Flow control was off."
	case st.Limit < st.NominalLimit:
		text += fmt.Sprintf("%s had lent %d of its %d seats when the stall began: its limit was %d", st.PriorityLevel,
			st.NominalLimit-st.Limit, st.NominalLimit, st.Limit)
		if st.Raised != nil {
			text += fmt.Sprintf(" until the adjustment at %s raised it to %d", format.Moment(st.Raised.AtNs), st.Raised.Limit)
		}
	default:
		text += fmt.Sprintf("The limit of %s was %d seats (nominal %d) when the stall began", st.PriorityLevel, st.Limit, st.NominalLimit)
	}
	switch {
	case st.Others > 0:
		return text + fmt.Sprintf(". It dispatched %s of other workloads during the stall.", result.RequestCount(st.Others))
	case st.Limit == 0:
		return text + ". With no seat it could dispatch no request."
	}
	return text + ". It dispatched no request during the stall: its seats were held by requests in execution, or fewer were free than the next request takes."
}

// noSeatsText says when a level's limit was 0.
func noSeatsText(l *result.Level) string {
	n := l.NoSeats
	until := "the end of the run"
	if n.ToNs != nil {
		until = format.Moment(*n.ToNs)
	}
	text := fmt.Sprintf("its limit was 0 seats from %s until %s (nominal %d), and no request could be dispatched", format.Moment(n.FromNs), until, l.Limits.Nominal)
	if n.TotalNs > n.MaxNs {
		text += fmt.Sprintf("; the limit was 0 for %s in all", format.Duration(float64(n.TotalNs)))
	}
	return text + "."
}

// RequestsText says what became of a group's requests.
func RequestsText(g *result.Group) string {
	if g.Arrived == 0 {
		return "no request arrived after the warm-up."
	}
	parts := []string{waitText(g)}
	if judge.Stalled(g) {
		parts = append(parts, fmt.Sprintf("stalled for %s from %s", format.Duration(float64(g.Stall.MaxNs)), format.Moment(g.Stall.FromNs)))
	}
	if v := g.VirtualWait; v != nil {
		if v.Wait != nil && float64(v.Wait.P99Ns) > 100e6 {
			parts = append(parts, "wait at a random moment p99 "+format.Duration(float64(v.Wait.P99Ns)))
		}
		if rate := v.RejectedRate(); rate >= 0.01 {
			parts = append(parts, fmt.Sprintf("at %s of random moments a request would be rejected", format.Percent(rate)))
		}
	}
	if g.Waiting > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s (%s) still queued at the end", format.Quantity(g.Waiting), format.Quantity(g.Arrived), format.ShareOf(g.Waiting, g.Arrived)))
	}
	return strings.Join(append(parts, rejectedText(g)), "; ") + "."
}

func waitText(g *result.Group) string {
	d := g.Wait
	if d == nil {
		return fmt.Sprintf("none of %s was dispatched", result.RequestCount(g.Arrived))
	}
	text := fmt.Sprintf("wait p99 %s, max %s", format.Duration(float64(d.P99Ns)), format.Duration(float64(d.MaxNs)))
	switch {
	case d.MaxNs == 0:
		text = "no wait"
	case d.P99Ns == 0:
		text = fmt.Sprintf("99 %% did not wait, max %s", format.Duration(float64(d.MaxNs)))
	}
	if g.Waiting > 0 || g.RejectedWait != nil && g.RejectedWait.MaxNs > 0 {
		text += " (dispatched requests)"
	}
	return text
}

func rejectedText(g *result.Group) string {
	if g.Rejected == 0 {
		return fmt.Sprintf("0 of %s rejected", format.Quantity(g.Arrived))
	}
	var reasons []string
	for _, k := range []struct {
		name string
		n    int64
	}{{"queue-full", g.QueueFull}, {"concurrency-limit", g.ConcurrencyLimit}, {"time-out", g.TimedOut}} {
		if k.n > 0 {
			reasons = append(reasons, k.name+" "+format.Quantity(k.n))
		}
	}
	text := fmt.Sprintf("%s of %s (%s) rejected: %s", format.Quantity(g.Rejected), format.Quantity(g.Arrived), format.ShareOf(g.Rejected, g.Arrived), strings.Join(reasons, ", "))
	if d := g.RejectedWait; d != nil && d.MaxNs > 0 {
		text += fmt.Sprintf(", after a wait of at most %s", format.Duration(float64(d.MaxNs)))
	}
	return text
}

func LevelText(l *result.Level) string {
	text := ""
	if u := l.Utilisation; u != nil && u.Mean != nil {
		text = fmt.Sprintf("seats in use %s (mean), saturated %s of the time; ", format.Percent(*u.Mean), format.Percent(u.Saturated))
	}
	return text + RequestsText(&l.Group) + fairnessText(l)
}

// fairnessText says how the level's service compares with the fair shares of its flows. What a
// flow would have sent had it not waited for answers is in no share, so beside a starved flow
// nobody is said to have had its share.
func fairnessText(l *result.Level) string {
	f := l.Fairness
	if f == nil || f.Flows < 2 || l.Rejected == 0 && !judge.Waited(&l.Group) {
		return ""
	}
	text := fmt.Sprintf(" Jain’s index %.3f over %s flows", f.Jain, format.Quantity(int64(f.Flows)))
	if f.LeastRatio < judge.UnderservedRatio {
		text += fmt.Sprintf("; least service %s of the fair share", judge.ShareText(f.LeastRatio))
	} else {
		least := math.Floor(min(f.LeastRatio, 1)*1000) / 10 // at least what is said
		text += fmt.Sprintf("; every flow was served at least %s %% of its fair share", format.Digits(least))
	}
	if st := l.Starvation; st != nil && st.MaxNs >= result.StallNs {
		text += fmt.Sprintf(", which counts only what was sent: %s had requests waiting and none dispatched for %s", st.Flow, format.Duration(float64(st.MaxNs)))
	}
	return text + "."
}

// mostUnderserved is how many of the underserved flows have a finding each.
const mostUnderserved = 8

// FlowFindings are about the underserved flows, and the over-demanding ones that were not.
func FlowFindings(s *result.Summary) []Finding {
	var hurt []*result.Flow
	for _, f := range judge.WorstFlows(s, len(s.Flows)) {
		if judge.Underserved(f) {
			hurt = append(hurt, f)
		}
	}
	// Those that asked for no more than their share come first: they are hurt by others.
	slices.SortStableFunc(hurt, func(a, b *result.Flow) int {
		return cmp.Compare(judge.Boolean(judge.OverDemanding(a)), judge.Boolean(judge.OverDemanding(b)))
	})
	const group = "Underserved flows"
	var all []Finding
	for _, f := range hurt[:min(len(hurt), mostUnderserved)] {
		all = append(all, Finding{Group: group, Judgement: judge.Bad, Subject: f.Name, Text: flowText(f) + reason(s, f)})
	}
	if more := len(hurt) - mostUnderserved; more > 0 {
		all = append(all, Finding{Group: group, Judgement: judge.Bad, Subject: format.Counted(more, "more flow"), Text: "see the table of flows, which lists underserved flows first."})
	}
	for i := range s.PriorityLevels {
		level := s.PriorityLevels[i].Name
		var of []*result.Flow
		for i := range s.Flows {
			if f := &s.Flows[i]; f.PriorityLevel == level && judge.OverDemanding(f) && !judge.Underserved(f) && (f.Rejected > 0 || judge.Waited(&f.Group)) {
				of = append(of, f)
			}
		}
		if len(of) > 0 {
			all = append(all, Finding{Group: "Over-demanding flows, served about their fair share or more", Subject: result.Names(of, 3, of[0].Name), Text: greedyText(of)})
		}
	}
	return all
}

func flowText(f *result.Flow) string {
	text := ""
	if f.Ratio != nil {
		text = fmt.Sprintf("service %s of its fair share of %s", judge.ShareText(*f.Ratio), f.PriorityLevel)
		if judge.OverDemanding(f) && f.FairShareSeatSeconds > 0 {
			text += fmt.Sprintf(" (demand %s times the share)", format.Digits(f.DemandSeatSeconds/f.FairShareSeatSeconds))
		}
		text += "; "
	}
	if f.StarvationNs >= result.StallNs {
		text += fmt.Sprintf("requests waiting and none dispatched for %s; ", format.Duration(float64(f.StarvationNs)))
	}
	return text + RequestsText(&f.Group)
}

func greedyText(flows []*result.Flow) string {
	var asked, got []float64
	var all result.Group
	for _, f := range flows {
		asked, got = append(asked, f.DemandSeatSeconds/f.FairShareSeatSeconds), append(got, judge.Ratio(f))
		all.Rejected, all.Arrived = all.Rejected+f.Rejected, all.Arrived+f.Arrived
	}
	return fmt.Sprintf("demand %s times the fair share of %s, service %s of the fair share; %s of %s (%s) rejected.", span(asked, format.Number),
		flows[0].PriorityLevel, span(got, judge.ShareText), format.Quantity(all.Rejected), format.Quantity(all.Arrived), format.ShareOf(all.Rejected, all.Arrived))
}

// span writes the least and the greatest value: "2 to 3", or only one where both read the same.
func span(values []float64, text func(float64) string) string {
	least, most := text(slices.Min(values)), text(slices.Max(values))
	if least == most {
		return least
	}
	return least + " to " + most
}

// reason says why a flow was hurt, as far as the hands, the services and the time show it: when
// every queue of its hand is in the hands of flows that asked for more than their fair share and
// had requests in queues when it had, its requests waited behind theirs. That is the cause only if
// these even took more than their fair share. Else it says nothing.
func reason(s *result.Summary, f *result.Flow) string {
	backlogged := f.Rejected > 0 || f.Wait != nil && f.Wait.P50Ns > 0
	if len(f.Hand) == 0 || !backlogged {
		return ""
	}
	var took, asked []*result.Flow
	for i := range s.Flows {
		g := &s.Flows[i]
		if g == f || g.Name == f.Name || g.PriorityLevel != f.PriorityLevel || !judge.OverDemanding(g) || !judge.QueuedTogether(g, f) {
			continue
		}
		asked = append(asked, g)
		if g.ServiceSeatSeconds > judge.OverDemandingRatio*g.FairShareSeatSeconds {
			took = append(took, g)
		}
	}
	if by := cover(f.Hand, took); by != nil {
		return " Cause: every queue of its hand is also in a hand of these flows, which took more than their fair shares: " + result.Names(by, 4, f.Name) + "."
	}
	if by := cover(f.Hand, asked); by != nil {
		return " Every queue of its hand is also in a hand of these over-demanding flows: " + result.Names(by, 4, f.Name) + "."
	}
	return ""
}

// cover returns few of the flows in whose hands together all the queues are, nil if there is
// one that is in none: in turn the flow with the most queues that are still missing, and
// of several the one with the greatest service.
func cover(queues []int, flows []*result.Flow) []*result.Flow {
	missing := slices.Clone(queues)
	var by []*result.Flow
	for len(missing) > 0 {
		var best *result.Flow
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
