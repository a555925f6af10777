package randomscenario

import (
	"fmt"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// noted is how often something happened to the clients of a workload in the window, and in each ten seconds.
type noted struct {
	n       int64
	byTenth map[int64]int64
}

func (c *check) notedOf(workload int, counted func(*NoteEvent) bool) noted {
	all := noted{byTenth: map[int64]int64{}}
	for i := range c.ran.Seen.Notes {
		if e := &c.ran.Seen.Notes[i]; e.Workload == workload && e.AtNs >= c.fromNs && counted(e) {
			all.n++
			all.byTenth[e.AtNs/10e9]++
		}
	}
	return all
}

// often writes how often something happened.
func often(n int64) string {
	if n == 1 {
		return "once"
	}
	return format.Quantity(n) + " times"
}

// clients checks what is said of clients of a store, by what happened to them.
func (c *check) clients(all *claims) {
	s := c.ran.Result.Summary
	for i := range s.Workloads {
		name := s.Workloads[i].Name
		if i >= len(c.ran.Scenario.Spec.Workload) {
			break // callbacks do not behave
		}
		notedAs := func(kind metric.Event) noted {
			return c.notedOf(i, func(e *NoteEvent) bool { return e.Event == kind })
		}
		relists := c.notedOf(i, func(e *NoteEvent) bool { return e.Event == metric.Listed && e.Reason != "" })
		f := all.expect(relists.n > 0, "Clients", name, "informers listed all their objects again ")
		c.busiest(f, relists)
		for cause, why := range map[string]string{metric.AfterExpired: "too old", metric.AfterTooLarge: "too new for the server", metric.AfterFailure: "list or watch had failed"} {
			n := c.notedOf(i, func(e *NoteEvent) bool { return e.Event == metric.Listed && e.Reason == cause }).n
			if n > 0 {
				why = often(n) + " because their " + strings.Replace("version was "+why, "version was list", "list", 1)
			}
			if f != nil && strings.Contains(f.Text, why) != (n > 0) {
				c.fail("workload %s: %d lists because of %q: %s", name, n, why, f.Text)
			}
		}
		lost := notedAs(metric.LeaderLost)
		c.busiest(all.expect(lost.n > 0, "Clients", name, "leaders lost their leases "+often(lost.n)), lost)
		nodes := notedAs(metric.NodeNotReady)
		c.busiest(all.expect(nodes.n > 0, "Clients", name, "nodes became not ready "+often(nodes.n)), nodes)

		given, done, replaced := notedAs(metric.WriteLost), notedAs(metric.WriteDone).n, notedAs(metric.Overwritten).n
		share := func(n, total int64) string { return format.Quantity(n) + " of " + format.Quantity(total) + " " }
		if given.n > 0 {
			f := all.expect(true, "Clients", name, " writes were given up")
			c.busiest(f, given)
			if f != nil && !strings.HasPrefix(f.Text, share(given.n, done+given.n)) {
				c.fail("workload %s: %d of %d writes were given up: %s", name, given.n, done+given.n, f.Text)
			}
		}
		if f := all.expect(replaced > 0, "Clients", name, " writes replaced what another client had written"); f != nil && !strings.Contains(f.Text, share(replaced, done)) {
			c.fail("workload %s: %d of %d writes replaced others: %s", name, replaced, done, f.Text)
		}
	}
	for i := range s.Servers {
		slow := int64(0)
		if c.ran.Seen.SlowWatches != nil {
			slow = c.ran.Seen.SlowWatches[i]
		}
		if st := s.Servers[i].Stored; st != nil && st.Values[metric.SlowWatchers] != slow {
			c.fail("server %d: %d slow watches, of all resources %d", i, st.Values[metric.SlowWatchers], slow)
		}
		all.expect(slow > 0, "Clients", subjectOf(i), "watches closed because their clients read too slowly: ")
	}
}

// busiest checks that the ten seconds are named in which at least half of something happened, if it happened three
// times, and the last moment up to their end that clients notice and that is not long before.
func (c *check) busiest(f *report.Finding, events noted) {
	if f == nil {
		return
	}
	most := int64(0)
	for _, n := range events.byTenth {
		most = max(most, n)
	}
	named := events.n >= 3 && 2*most >= events.n
	if strings.Contains(f.Text, " of them between ") != named {
		c.fail("%s: at most %d of %d in ten seconds: %s", f.Subject, most, events.n, f.Text)
	}
	if !named {
		return
	}
	for at, n := range events.byTenth {
		fromNs := at * 10e9
		text := fmt.Sprintf("%s of them between %s and %s", format.Quantity(n), format.Moment(fromNs), format.Moment(fromNs+10e9))
		for _, m := range c.moments() {
			what := strings.Replace(happened(&m), "it ", subjectOf(m.Server)+" ", 1)
			switch m.What {
			case "gone":
				what = "the process of " + subjectOf(m.Server) + " had ended"
			case "ready":
				what = subjectOf(m.Server) + " became ready"
			}
			if what != "" && m.AtNs < fromNs+result.BusiestNs && fromNs-m.AtNs <= 30e9 {
				before, _, _ := strings.Cut(text, ", after ")
				text = fmt.Sprintf("%s, after %s (t = %s)", before, what, format.Moment(m.AtNs))
			}
		}
		if n == most && (strings.HasSuffix(f.Text, text) || strings.Contains(f.Text, text+"; ")) {
			return
		}
	}
	c.fail("%s: none of the ten seconds with %d of %d is named: %s", f.Subject, most, events.n, f.Text)
}
