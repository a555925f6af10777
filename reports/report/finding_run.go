package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// runFindings returns the findings of a run: those on servers, on clients of the store and on stalls, and those on
// workloads, priority levels and flows.
func runFindings(s *result.Summary, servers, stored, stalls []Finding) []Finding {
	all := slices.Concat(servers, stored, stalls)
	for i := range s.Workloads {
		g := &s.Workloads[i]
		all = append(all, Finding{Group: "Workloads", Judgement: judge.Mark(s.Verdict, result.OfWorkload, g.Name), Subject: g.Name, Text: requestsText(s.StartNs, g)})
	}
	for i := range s.PriorityLevels {
		if l := &s.PriorityLevels[i]; !l.Idle() {
			all = append(all, Finding{Group: "Priority levels", Judgement: judge.Mark(s.Verdict, result.OfLevel, l.Name), Subject: l.Name, Text: levelText(s.StartNs, l)})
		}
	}
	return append(all, flowFindings(s)...)
}

// StallFindings returns a finding for each workload that stalled for a second or longer, for each workload and level that was
// frozen for as long, and for each level whose limit fell to 0.
func StallFindings(s *result.Summary) []Finding {
	const group = "Stalls"
	var all []Finding
	for i := range s.Workloads {
		if g := &s.Workloads[i]; judge.Stalled(g) {
			all = append(all, Finding{Group: group, Judgement: judge.Mark(s.Verdict, result.OfWorkload, g.Name), Subject: g.Name, Text: stallText(s.StartNs, g.Stall)})
		}
	}
	freezes := func(g *result.Group, how judge.Judgement) {
		if z := g.Freeze; z != nil && z.Count > 0 {
			all = append(all, Finding{Group: group, Judgement: how, Subject: g.Name, Text: freezeText(s.StartNs, z)})
		}
	}
	for i := range s.Workloads {
		freezes(&s.Workloads[i], judge.Mark(s.Verdict, result.OfWorkload, s.Workloads[i].Name))
	}
	for i := range s.PriorityLevels {
		freezes(&s.PriorityLevels[i].Group, judge.Mark(s.Verdict, result.OfLevel, s.PriorityLevels[i].Name))
	}
	for i := range s.PriorityLevels {
		if l := &s.PriorityLevels[i]; l.Arrived > 0 && l.NoSeats != nil {
			all = append(all, Finding{Group: group, Judgement: judge.Mark(s.Verdict, result.OfLevel, l.Name), Subject: l.Name, Text: noSeatsText(s.StartNs, l)})
		}
	}
	return all
}

// stallText states the longest stall and its cause, as far as the limits of the level show it.
func stallText(clock format.Clock, st *result.Stall) string {
	var p parts
	p.add("no request was dispatched for %s, from %s to %s, while requests were queued", format.Duration(float64(st.MaxNs)),
		clock.Moment(st.FromNs), clock.Moment(st.FromNs+st.MaxNs))
	if st.Count > 1 {
		p.add("stalls of 1 s or longer: %d, %s of the time", st.Count, format.Percent(st.Share))
	}
	if st.PriorityLevel == "" {
		p.add("flow control was off")
		return p.text()
	}
	limit := fmt.Sprintf("limit of %s at the start of the stall: %d seats (nominal %d", st.PriorityLevel, st.Limit, st.NominalLimit)
	if lent := st.NominalLimit - st.Limit; lent > 0 {
		limit += fmt.Sprintf(", %d lent", lent)
	}
	limit += ")"
	if st.Raised != nil {
		by := map[string]string{"": "adjustment", result.ByConfiguration: "change of the configuration", result.ByServer: "start of a server"}[st.Raised.By]
		limit += fmt.Sprintf(", raised to %d by the %s at %s", st.Raised.Limit, by, clock.Moment(st.Raised.AtNs))
	}
	p.add("%s", limit)
	others := "requests of other workloads dispatched during the stall: " + format.Quantity(st.Others)
	switch {
	case st.Others > 0:
	case st.Limit == 0:
		others += " (no seats)"
	default:
		others += " (all seats were in use, or fewer were free than the next request needs)"
	}
	p.add("%s", others)
	return p.text()
}

// freezeText states the longest freeze.
func freezeText(clock format.Clock, z *result.Freeze) string {
	var p parts
	p.add("no request was served for %s, from %s to %s, while requests were late", format.Duration(float64(z.MaxNs)),
		clock.Moment(z.FromNs), clock.Moment(z.FromNs+z.MaxNs))
	if z.Count > 1 {
		p.add("such times of 1 s or longer: %d", z.Count)
	}
	return p.text()
}

// noSeatsText states when a level's limit was 0.
func noSeatsText(clock format.Clock, l *result.Level) string {
	n := l.NoSeats
	end := "the end of the run"
	if n.ToNs != nil {
		end = clock.Moment(*n.ToNs)
	}
	var p parts
	p.add("the limit was 0 seats from %s to %s (nominal %d), so that no request was dispatched", clock.Moment(n.FromNs), end, n.NominalLimit)
	if n.TotalNs > n.MaxNs {
		p.add("total time with a limit of 0: %s", format.Duration(float64(n.TotalNs)))
	}
	return p.text()
}

// requestsText states the waits and the rejections of a group.
func requestsText(clock format.Clock, g *result.Group) string {
	if g.Arrived == 0 {
		return "no request arrived after the warm-up"
	}
	p := parts{waitText(g)}
	if judge.Stalled(g) {
		p.add("stalled for %s from t = %s", format.Duration(float64(g.Stall.MaxNs)), clock.Moment(g.Stall.FromNs))
	}
	if v := g.VirtualWait; v != nil {
		if v.Wait != nil && float64(v.Wait.P99Ns) > 100e6 {
			atLeast := ""
			if v.IsLowerBound(result.P99Field) {
				atLeast = "≥ "
			}
			p.add("wait at a random moment p99 %s%s", atLeast, format.Duration(float64(v.Wait.P99Ns)))
		}
		if rate := v.RejectedRate(); rate >= 0.01 {
			p.add("rejected at a random moment %s", format.Percent(rate))
		}
	}
	if g.Waiting > 0 {
		text := countText(g.Waiting, g.Arrived) + " still queued at the end"
		if q := g.StillQueued; q != nil && q.MaxNs > 0 {
			text += fmt.Sprintf(" (for %s at most)", format.Duration(float64(q.MaxNs)))
		}
		p = append(p, text)
	}
	p = append(p, rejectedText(g))
	if text := failedText(g); text != "" {
		p = append(p, text)
	}
	return p.text()
}

// failedText states how many requests were not served and not rejected either, and why; "" if there were none.
func failedText(g *result.Group) string {
	n := g.NotServed
	if n == nil || n.Total() == n.Rejected {
		return ""
	}
	var reasons []string
	for _, k := range []struct {
		name string
		n    int64
	}{{"refused", n.Refused}, {"lost", n.Lost}, {"deadline", n.Deadline}, {"error", n.Error}, {"unfinished", n.Unfinished}} {
		if k.n > 0 {
			reasons = append(reasons, k.name+" "+format.Quantity(k.n))
		}
	}
	return fmt.Sprintf("%s not served otherwise: %s", countText(n.Total()-n.Rejected, g.Arrived), strings.Join(reasons, ", "))
}

// countText writes a number of requests as a part of all.
func countText(n, all int64) string {
	return fmt.Sprintf("%s of %s (%s)", format.Quantity(n), format.Quantity(all), format.ShareOf(n, all))
}

func waitText(g *result.Group) string {
	d := g.Wait
	if d == nil {
		return fmt.Sprintf("0 of %s dispatched", format.Quantity(g.Arrived))
	}
	text := fmt.Sprintf("wait p99 %s, max %s", format.Duration(float64(d.P99Ns)), format.Duration(float64(d.MaxNs)))
	switch {
	case d.MaxNs == 0 && (g.StillQueued == nil || g.StillQueued.MaxNs == 0):
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
	text := fmt.Sprintf("%s rejected: %s", countText(g.Rejected, g.Arrived), strings.Join(reasons, ", "))
	if d := g.RejectedWait; d != nil && d.MaxNs > 0 {
		text += fmt.Sprintf(" (wait max %s)", format.Duration(float64(d.MaxNs)))
	}
	return text
}

// levelText states the use of a level's seats, its requests, and the fairness among its flows.
func levelText(clock format.Clock, l *result.Level) string {
	var p parts
	if u := l.Utilisation; u != nil && u.Mean != nil {
		p.add("seats in use %s (mean), saturated %s of the time", format.Percent(*u.Mean), format.Percent(u.Saturated))
	}
	p = append(p, requestsText(clock, &l.Group))
	f := l.Fairness
	if f == nil || f.Flows < 2 || l.Rejected == 0 && !judge.Waited(&l.Group) {
		return p.text()
	}
	lowest := judge.RatioText(f.LeastRatio)
	if f.LeastRatio >= judge.UnderservedRatio { // rounded down, so that no flow was served less
		lowest = format.Digits(math.Floor(min(f.LeastRatio, 1)*1000)/10) + " %"
	}
	p.add("Jain's index %.3f (%s flows)", f.Jain, format.Quantity(int64(f.Flows)))
	p.add("lowest service of a flow %s of its fair share", lowest)
	// The fair share is computed from the requests that were sent. A closed loop that starves sends
	// none, so its service can equal its fair share.
	if st := l.Starvation; st != nil && st.MaxNs >= result.StallNs {
		p.add("longest starvation %s (%s)", format.Duration(float64(st.MaxNs)), st.Flow)
	}
	return p.text()
}

// mostUnderserved is how many underserved flows get a finding of their own.
const mostUnderserved = 8

// mostListed is how many flows are named in a list.
const mostListed = 4

// flowFindings returns a finding for each of the worst underserved flows, and for each level one for
// the over-demanding flows that are not underserved.
func flowFindings(s *result.Summary) []Finding {
	// Flows that are not over-demanding come first: other flows are the cause of their low service.
	var flows, overDemanding []*result.Flow
	for _, f := range judge.WorstFlows(s, len(s.Flows)) {
		switch {
		case !judge.Underserved(f):
		case judge.OverDemanding(f):
			overDemanding = append(overDemanding, f)
		default:
			flows = append(flows, f)
		}
	}
	flows = append(flows, overDemanding...)
	const group = "Underserved flows"
	var all []Finding
	for _, f := range flows[:min(len(flows), mostUnderserved)] {
		all = append(all, Finding{Group: group, Judgement: judge.Bad, Subject: f.ShortName(), Text: flowFindingText(s, f)})
	}
	_, more := s.Others("") // of the flows that are not listed
	more += max(0, len(flows)-mostUnderserved)
	if more > 0 {
		all = append(all, Finding{Group: group, Judgement: judge.Bad, Subject: fmt.Sprintf("other underserved flows (%d)", more), Text: "at the top of the table of flows"})
	}
	for i := range s.PriorityLevels {
		level := s.PriorityLevels[i].Name
		var served []*result.Flow
		for i := range s.Flows {
			if f := &s.Flows[i]; f.PriorityLevel == level && judge.OverDemanding(f) && !judge.Underserved(f) && (f.Rejected > 0 || judge.Waited(&f.Group)) {
				served = append(served, f)
			}
		}
		if len(served) > 0 {
			all = append(all, Finding{Group: "Over-demanding flows that are not underserved", Subject: level, Text: overDemandingText(s, level, served)})
		}
	}
	return all
}

// flowFindingText states what share of the fair share an underserved flow got, what became of its requests,
// and the cause if it is known.
func flowFindingText(s *result.Summary, f *result.Flow) string {
	var p parts
	if f.Ratio != nil {
		service := fmt.Sprintf("service %s of its fair share of %s", judge.RatioText(*f.Ratio), f.PriorityLevel)
		if judge.OverDemanding(f) && f.FairShareSeatSeconds > 0 {
			service += fmt.Sprintf(" (demand %s times the fair share)", format.Digits(f.DemandSeatSeconds/f.FairShareSeatSeconds))
		}
		p.add("%s", service)
	}
	if f.StarvationNs >= result.StallNs {
		p.add("starved for %s", format.Duration(float64(f.StarvationNs)))
	}
	p = append(p, requestsText(s.StartNs, &f.Group))
	if text := causeText(s, f); text != "" {
		p = append(p, text)
	}
	return p.text()
}

func overDemandingText(s *result.Summary, level string, flows []*result.Flow) string {
	var demand, service []float64
	var sum result.Group
	for _, f := range flows {
		demand, service = append(demand, f.DemandSeatSeconds/f.FairShareSeatSeconds), append(service, judge.Ratio(f))
		sum.Rejected, sum.Arrived = sum.Rejected+f.Rejected, sum.Arrived+f.Arrived
	}
	among := ""
	if others, _ := s.Others(level); others > 0 {
		among = fmt.Sprintf(" (%s of the level are not listed and not counted here)", format.Counted(others, "flow"))
	}
	return fmt.Sprintf("flows %s%s; demand %s times the fair share; service %s of the fair share; %s rejected", listed(flowNames(flows), mostListed), among,
		rangeText(demand, format.Number), rangeText(service, judge.RatioText), countText(sum.Rejected, sum.Arrived))
}

func flowNames(flows []*result.Flow) []string {
	names := make([]string, len(flows))
	for i, f := range flows {
		names[i] = f.ShortName()
	}
	return names
}

// rangeText writes the least and the greatest value, only one if both have the same text.
func rangeText(values []float64, text func(float64) string) string {
	least, greatest := text(slices.Min(values)), text(slices.Max(values))
	if least == greatest {
		return least
	}
	return least + " to " + greatest
}

// causeText states why a flow is underserved if its hand shows it, else "". Its requests wait
// behind those of over-demanding flows if every queue of its hand is in the hand of such a flow that had
// requests queued at the same time. It is called the cause only if flows whose service exceeds
// their fair share are sufficient to cover the hand.
func causeText(s *result.Summary, f *result.Flow) string {
	backlogged := f.Rejected > 0 || f.Wait != nil && f.Wait.P50Ns > 0
	if len(f.Hand) == 0 || !backlogged {
		return ""
	}
	var overServed, overDemanding []*result.Flow
	for i := range s.Flows {
		g := &s.Flows[i]
		if g == f || g.Name == f.Name || g.PriorityLevel != f.PriorityLevel || !judge.OverDemanding(g) || !judge.QueuedTogether(g, f) {
			continue
		}
		overDemanding = append(overDemanding, g)
		if g.ServiceSeatSeconds > judge.OverDemandingRatio*g.FairShareSeatSeconds {
			overServed = append(overServed, g)
		}
	}
	if cover := judge.CoverOf(f.Hand, overServed); cover != nil {
		return "cause: every queue of its hand is shared with flows that were served more than their fair share " + listed(flowNames(cover), mostListed)
	}
	if cover := judge.CoverOf(f.Hand, overDemanding); cover != nil {
		return "every queue of its hand is shared with over-demanding flows " + listed(flowNames(cover), mostListed)
	}
	return ""
}
