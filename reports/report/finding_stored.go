package report

import (
	"fmt"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// shareOfMost is the part of what happened to clients above which the interval that had most of it is named.
const shareOfMost = 0.5

// storedFindings returns the findings on the clients of a store: informers that listed again, leases that were lost,
// nodes that were not ready, writes that were given up or overwritten, and watches that were too slow.
func storedFindings(s *result.Summary) []Finding {
	var all []Finding
	for i := range s.Workloads {
		w := &s.Workloads[i]
		if w.Clients == nil {
			continue
		}
		for _, text := range []func(*result.Summary, *result.Group) parts{relistsText, leadersText, nodesText, writesText} {
			if p := text(s, w); len(p) > 0 {
				all = append(all, Finding{Group: "Clients", Judgement: judge.Bad, Subject: w.Name, Text: p.text()})
			}
		}
	}
	for i := range s.Servers {
		if st := s.Servers[i].Stored; st != nil && st.Values[metric.SlowWatchers] > 0 {
			all = append(all, Finding{Group: "Clients", Judgement: judge.Bad, Subject: serverName(i), Text: slowText(st)})
		}
	}
	return all
}

func relistsText(s *result.Summary, w *result.Group) (p parts) {
	n := w.Clients.Noted("relists")
	if n == nil {
		return nil
	}
	var reasons []string
	relists := metric.Named("relists")
	for _, r := range n.Reasons {
		reasons = append(reasons, fmt.Sprintf("%s because %s", format.Times(r.Count), relists.Reasons[relists.ReasonIndex(r.Reason)].Help))
	}
	p.add("informers listed all their objects again %s", strings.Join(reasons, ", "))
	return append(p, mostText(s, n)...)
}

func leadersText(s *result.Summary, w *result.Group) (p parts) {
	n := w.Clients.Noted("leaderLost")
	if n == nil {
		return nil
	}
	p.add("leaders lost their leases %s, as no renewal succeeded in time", format.Times(n.Count))
	p = append(p, mostText(s, n)...)
	if gained := w.Clients.Noted("leaderless"); gained != nil && gained.Time != nil {
		p.add("longest time without a leader %s", format.Duration(float64(gained.Time.MaxNs)))
	}
	return append(p, theirRequests(w)...)
}

func nodesText(s *result.Summary, w *result.Group) (p parts) {
	n := w.Clients.Noted("nodesNotReady")
	if n == nil {
		return nil
	}
	p.add("nodes became not ready %s, as neither their leases nor their status were renewed in time", format.Times(n.Count))
	p = append(p, mostText(s, n)...)
	if ready := w.Clients.Noted("notReady"); ready != nil && ready.Time != nil {
		p.add("%s became ready again, after %s at most", format.Quantity(ready.Count), format.Duration(float64(ready.Time.MaxNs)))
	}
	return append(p, theirRequests(w)...)
}

func writesText(s *result.Summary, w *result.Group) (p parts) {
	done, writes := w.Clients.Noted("writeTime"), int64(0)
	if done != nil {
		writes = done.Count
	}
	if n := w.Clients.Noted("lostWrites"); n != nil {
		p.add("%s writes were given up", countText(n.Count, writes+n.Count))
		p = append(p, mostText(s, n)...)
		if c := w.Clients.Noted("conflicts"); c != nil {
			p.add("conflicts: %s", format.Quantity(c.Count))
		}
	}
	if n := w.Clients.Noted("overwritten"); n != nil {
		p.add("%s writes replaced what another client had written", countText(n.Count, writes))
	}
	return p
}

// theirRequests says what became of the requests of a workload, if they waited or were rejected.
func theirRequests(w *result.Group) (p parts) {
	if w.Rejected > 0 || w.Wait != nil && w.Wait.MaxNs > 0 {
		p.add("their requests: %s, %s", waitText(w), rejectedText(w))
	}
	return p
}

// mostText names the interval in which most of it happened, if one has more than its share, and what had
// happened to a server at most causeNs before its end.
func mostText(s *result.Summary, n *result.Noted) (p parts) {
	m := n.Most
	if m == nil || n.Count < 3 || float64(m.Count) < shareOfMost*float64(n.Count) {
		return nil
	}
	after := ""
	for i := range s.Timeline {
		t := &s.Timeline[i]
		if t.AtNs >= m.FromNs+result.BusiestNs {
			break
		}
		if text := clientsMoment(t); text != "" && m.FromNs-t.AtNs <= causeNs {
			after = fmt.Sprintf(", after %s (t = %s)", text, s.StartNs.Moment(t.AtNs))
		}
	}
	p.add("%s of them between %s and %s%s", format.Quantity(m.Count), s.StartNs.Moment(m.FromNs), s.StartNs.Moment(m.FromNs+result.BusiestNs), after)
	return p
}

// clientsMoment says what has happened if clients can notice it, else "".
func clientsMoment(m *result.Moment) string {
	name := serverName(m.Server)
	switch m.What {
	case result.BecameReady:
		return name + " became ready"
	case result.Gone:
		return "the process of " + name + " had ended"
	}
	return strings.Replace(momentText(m), "it ", name+" ", 1)
}

func slowText(st *result.Stored) string {
	var resources []string
	for _, r := range st.SlowWatchersOf {
		resources = append(resources, fmt.Sprintf("%s %s", r.Resource, format.Quantity(r.Count)))
	}
	return fmt.Sprintf("watches closed because their clients read too slowly: %s", strings.Join(resources, ", "))
}
