package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/reports/judge"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// A flow of a level with queues, in seat-seconds.
func flowWith(name string, demand, share, service float64, hand ...int) result.Flow {
	ratio := service / share
	return result.Flow{Group: result.Group{Name: "schema/" + name, Counts: metric.Counts{Arrived: 100, Executed: 90, Rejected: 10, QueueFull: 10},
		Wait: &result.Distribution{P50Ns: 1_000_000, P99Ns: 3_000_000, MaxNs: 5_000_000}}, PriorityLevel: "low", FlowSchema: "schema",
		Hand: hand, DemandSeatSeconds: demand, FairShareSeatSeconds: share, ServiceSeatSeconds: service, Ratio: &ratio, QueuedIn: measure.Bitset{0b1111, 0b1}}
}

// at is a flow as before that had requests in queues at other times.
func at(queuedIn measure.Bitset, f result.Flow) result.Flow {
	f.QueuedIn = queuedIn
	return f
}

func textOf(all []Finding, subject string) string {
	for _, f := range all {
		if f.Subject == subject {
			return f.Text
		}
	}
	return ""
}

func TestCausesOfUnderservedFlows(t *testing.T) {
	mouse := flowWith("user:mouse", 10, 10, 7.1, 1, 2, 3)
	for _, c := range []struct {
		story  string
		mouse  result.Flow
		others []result.Flow
		want   string // what the finding ends with
	}{
		{"two elephants cover the hand and took more than their share", mouse,
			[]result.Flow{flowWith("user:a", 200, 100, 110, 1, 2, 9), flowWith("user:b", 200, 100, 105, 3, 4, 5)},
			"cause: every queue of its hand is shared with flows that were served more than their fair share (2): schema/user:a, schema/user:b"},
		{"they cover it, and took what was theirs", mouse,
			[]result.Flow{flowWith("user:a", 200, 100, 100, 1, 2, 9), flowWith("user:b", 200, 100, 98, 3, 4, 5)},
			"; every queue of its hand is shared with over-demanding flows (2): schema/user:a, schema/user:b"},
		{"one queue is in no elephant's hand", mouse,
			[]result.Flow{flowWith("user:a", 200, 100, 110, 1, 2, 9)}, "queue-full 10"},
		{"a flow that covers it is not over-demanding, and was served slightly more than its share by chance", mouse,
			[]result.Flow{flowWith("user:a", 100, 100, 102, 1, 2, 3)}, "queue-full 10"},
		{"they are at another level", mouse,
			[]result.Flow{func() result.Flow {
				f := flowWith("user:a", 200, 100, 110, 1, 2, 3)
				f.PriorityLevel = "high"
				return f
			}()}, "queue-full 10"},
		{"no hands", flowWith("user:mouse", 10, 10, 7.1),
			[]result.Flow{flowWith("user:a", 200, 100, 110, 1, 2, 3)}, "queue-full 10"},
		{"it was not backlogged", func() result.Flow {
			f := mouse
			f.Rejected, f.QueueFull, f.Wait = 0, 0, &result.Distribution{MaxNs: 5_000_000}
			return f
		}(), []result.Flow{flowWith("user:a", 200, 100, 110, 1, 2, 3)}, "0 of 100 rejected"},
		{"the one that covers most is named first", mouse,
			[]result.Flow{flowWith("user:c", 200, 100, 120, 1, 8, 9), flowWith("user:d", 200, 100, 110, 1, 2, 3)}, "served more than their fair share (1): schema/user:d"},
		{"the hand has two queues", flowWith("user:mouse", 10, 10, 7.1, 1, 2), []result.Flow{flowWith("user:a", 200, 100, 110, 1, 2, 9)},
			"served more than their fair share (1): schema/user:a"},
		{"the hand has one queue", flowWith("user:mouse", 10, 10, 7.1, 1), []result.Flow{flowWith("user:a", 200, 100, 100, 1, 2, 9)},
			"; every queue of its hand is shared with over-demanding flows (1): schema/user:a"},
		{"one queue is covered by an elephant that was not there", mouse, []result.Flow{flowWith("user:a", 200, 100, 110, 1, 2, 9),
			at(measure.Bitset{0b11, 0b10}, flowWith("user:b", 200, 100, 105, 3, 4, 5))}, "queue-full 10"},
		{"the elephant was there in three of the five intervals", mouse, []result.Flow{at(measure.Bitset{0b11, 0b11}, flowWith("user:a", 200, 100, 110, 1, 2, 3))},
			"served more than their fair share (1): schema/user:a"},
		{"in half of them", at(measure.Bitset{0b11}, mouse), []result.Flow{at(measure.Bitset{0b101}, flowWith("user:a", 200, 100, 110, 1, 2, 3))},
			"served more than their fair share (1): schema/user:a"},
		{"before them", at(measure.Bitset{0, 0b11}, mouse), []result.Flow{at(measure.Bitset{0b1111}, flowWith("user:a", 200, 100, 110, 1, 2, 3))}, "queue-full 10"},
	} {
		s := &result.Summary{Flows: append([]result.Flow{c.mouse}, c.others...), PriorityLevels: []result.Level{{Group: result.Group{Name: "low"}}}}
		got := textOf(flowFindings(s), "schema/user:mouse")
		if !strings.HasPrefix(got, "service 71 % of its fair share of low; ") || !strings.HasSuffix(got, c.want) {
			t.Errorf("%s:\n%s\nwant … %s", c.story, got, c.want)
		}
		if strings.Contains(got, "cause: ") != strings.Contains(c.want, "served more") {
			t.Errorf("%s: %s", c.story, got)
		}
	}
}

func TestFlowFindings(t *testing.T) {
	s := &result.Summary{PriorityLevels: []result.Level{{Group: result.Group{Name: "low"}}}, Flows: []result.Flow{
		flowWith("user:a", 200, 100, 110, 1), flowWith("user:b", 300, 100, 96, 2), flowWith("user:c", 250, 100, 80, 3), flowWith("user:d", 10, 10, 9.9, 4)}}
	var got []string
	for _, f := range flowFindings(s) {
		got = append(got, f.Subject+" "+f.Text)
	}
	want := []string{
		"schema/user:d service 99 % of its fair share of low; wait p99 3 ms, max 5 ms; 10 of 100 (10 %) rejected: queue-full 10",
		"schema/user:c service 80 % of its fair share of low (demand 2.5 times the fair share); wait p99 3 ms, max 5 ms; 10 of 100 (10 %) rejected: queue-full 10",
		"low flows (2): schema/user:a, schema/user:b; demand 2 to 3 times the fair share; service 96 % to 110 % of the fair share; 20 of 200 (10 %) rejected",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestRequestsText(t *testing.T) {
	timedOut := func(leastNs int64) *result.Distribution {
		return &result.Distribution{MinNs: leastNs, MaxNs: 2_000_000_000}
	}
	waits := func(p99Ns, maxNs int64) *result.Distribution { return &result.Distribution{P99Ns: p99Ns, MaxNs: maxNs} }
	for _, c := range []struct {
		g         result.Group
		want      string
		judgement judge.Judgement
	}{
		{result.Group{}, "no request arrived after the warm-up", judge.Neutral},
		{result.Group{Counts: metric.Counts{Arrived: 5, Executed: 5}, Wait: waits(0, 0)}, "no wait; 0 of 5 rejected", judge.Good},
		{result.Group{Counts: metric.Counts{Arrived: 5, Executed: 5}, Wait: waits(0, 3_000_000)}, "99 % did not wait, max 3 ms; 0 of 5 rejected", judge.Good},
		{result.Group{Counts: metric.Counts{Arrived: 5, Executed: 5}, Wait: waits(3_000_000, 4_000_000)}, "wait p99 3 ms, max 4 ms; 0 of 5 rejected", judge.Good},
		{result.Group{Counts: metric.Counts{Arrived: 1, Rejected: 1, TimedOut: 1}, RejectedWait: timedOut(2_000_000_000)},
			"0 of 1 dispatched; 1 of 1 (100 %) rejected: time-out 1 (wait max 2 s)", judge.Neutral},
		{result.Group{Counts: metric.Counts{Arrived: 10, Executed: 5, Rejected: 5, TimedOut: 1, QueueFull: 4}, Wait: waits(0, 0), RejectedWait: timedOut(0)},
			"no wait (dispatched requests); 5 of 10 (50 %) rejected: queue-full 4, time-out 1 (wait max 2 s)", judge.Bad},
		{result.Group{Counts: metric.Counts{Arrived: 10, Executed: 5, Rejected: 5, QueueFull: 5}, Wait: waits(3_000_000, 4_000_000), RejectedWait: &result.Distribution{}},
			"wait p99 3 ms, max 4 ms; 5 of 10 (50 %) rejected: queue-full 5", judge.Bad},
		{result.Group{Counts: metric.Counts{Arrived: 1_000_000, Executed: 999_999, Rejected: 1, QueueFull: 1}, Wait: waits(0, 0), RejectedWait: &result.Distribution{}},
			"no wait; 1 of 1 M (<0.01 %) rejected: queue-full 1", judge.Neutral},
		{result.Group{Counts: metric.Counts{Arrived: 40, Executed: 16, Waiting: 24}, Wait: waits(0, 0)}, "no wait (dispatched requests); 24 of 40 (60 %) still queued at the end; 0 of 40 rejected", judge.Good},
		{result.Group{Counts: metric.Counts{Arrived: 40, Waiting: 40}}, "0 of 40 dispatched; 40 of 40 (100 %) still queued at the end; 0 of 40 rejected", judge.Good},
		{result.Group{Counts: metric.Counts{Arrived: 100, Executed: 99, Waiting: 1}, Wait: waits(0, 0)}, "no wait (dispatched requests); 1 of 100 (1 %) still queued at the end; 0 of 100 rejected", judge.Good},
		// A closed loop that stood still: what it sent did not wait, but for twenty requests.
		{result.Group{Counts: metric.Counts{Arrived: 10_000, Executed: 10_000}, Wait: waits(0, 10_600_000_000), Stall: &result.Stall{MaxNs: 10_600_000_000, FromNs: 30_000_000_000},
			VirtualWait: &result.VirtualWait{Probes: 1000, Wait: waits(10_100_000_000, 10_500_000_000)}},
			"99 % did not wait, max 10.6 s; stalled for 10.6 s from t = 30 s; wait at a random moment p99 10.1 s; 0 of 10 k rejected", judge.Bad},
		{result.Group{Counts: metric.Counts{Arrived: 100, Executed: 100}, Wait: waits(0, 0), VirtualWait: &result.VirtualWait{Probes: 1000, Rejected: 20, Wait: waits(0, 0)}},
			"no wait; rejected at a random moment 2 %; 0 of 100 rejected", judge.Good},
	} {
		if got := requestsText(0, &c.g); got != c.want || judge.Group(&c.g) != c.judgement {
			t.Errorf("%q %q, want %q %q", got, judge.Group(&c.g), c.want, c.judgement)
		}
	}
}

// waitingOnly is the flow when nothing of it was rejected.
func waitingOnly(f result.Flow) result.Flow {
	f.Rejected, f.QueueFull, f.Executed = 0, 0, f.Arrived
	return f
}

func TestOverDemandingFlows(t *testing.T) {
	noWait := waitingOnly(flowWith("user:e", 300, 100, 100))
	noWait.Wait = &result.Distribution{}
	for _, c := range []struct {
		flows []result.Flow
		want  string
	}{
		{[]result.Flow{waitingOnly(flowWith("user:a", 200, 100, 150)), flowWith("user:b", 300, 100, 95)},
			"low flows (2): schema/user:a, schema/user:b; demand 2 to 3 times the fair share; service 95 % to 150 % of the fair share; 10 of 200 (5 %) rejected"},
		{[]result.Flow{waitingOnly(flowWith("user:a", 172, 100, 100))},
			"low flows (1): schema/user:a; demand 1.72 times the fair share; service 100 % of the fair share; 0 of 100 (0 %) rejected"},
		{[]result.Flow{noWait}, ""}, // what it asked for, it had
	} {
		got := ""
		for _, f := range flowFindings(&result.Summary{PriorityLevels: []result.Level{{Group: result.Group{Name: "low"}}}, Flows: c.flows}) {
			got += f.Subject + " " + f.Text
		}
		if got != c.want {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
}

// If a level serves no flow, there are no fair shares; flows whose requests wait are underserved nevertheless.
func TestUnderservedFlows(t *testing.T) {
	unserved := flowWith("user:a", 10, 10, 0)
	unserved.Counts, unserved.Wait, unserved.Ratio, unserved.FairShareSeatSeconds = metric.Counts{Arrived: 5, Waiting: 5}, nil, nil, 0
	idle := unserved
	idle.Counts, idle.DemandSeatSeconds = metric.Counts{Arrived: 5, Executed: 5}, 0
	short := flowWith("user:a", 10, 10, 9.4955)
	withoutWait := waitingOnly(short)
	withoutWait.Wait = &result.Distribution{}
	for _, c := range []struct {
		what string
		f    result.Flow
		want string
	}{
		{"nothing is served", unserved, "0 of 5 dispatched; 5 of 5 (100 %) still queued at the end; 0 of 5 rejected"},
		{"nothing is asked for", idle, ""},
		{"nearly its share", short, "service 94.95 % of its fair share of low; wait p99 3 ms, max 5 ms; 10 of 100 (10 %) rejected: queue-full 10"},
		{"less than its share, without a wait", withoutWait, ""},
	} {
		s := &result.Summary{PriorityLevels: []result.Level{{Group: result.Group{Name: "low"}}}, Flows: []result.Flow{c.f}}
		if got := textOf(flowFindings(s), "schema/user:a"); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// Nine or ten flows are underserved, of which eight have a finding each. The table of flows begins with them, by
// their exact ratios, though elephants got less of theirs.
func TestUnderservedFlowsAreListedFirst(t *testing.T) {
	for more, want := range []string{1: "other underserved flows (1) at the top of the table of flows",
		2: "other underserved flows (2) at the top of the table of flows"} {
		if more == 0 {
			continue
		}
		s := &result.Summary{PriorityLevels: []result.Level{{Group: result.Group{Name: "low"}}}, Flows: []result.Flow{flowWith("user:elephant", 300, 100, 96)}}
		var names []string
		for i := range mostUnderserved + more {
			name := fmt.Sprintf("user:%d", 9-i)
			names = append(names, "schema/"+name)
			s.Flows = append(s.Flows, flowWith(name, 100, 100, 99-float64(i)/100))
		}
		slices.Reverse(names)
		names = append(names, "schema/user:elephant")
		var got []string
		for _, row := range flowTable(s).Rows {
			got = append(got, row[0].Text)
		}
		if !slices.Equal(got, names) {
			t.Errorf("%q, want %q", got, names)
		}
		all := flowFindings(s)
		if f := all[mostUnderserved]; f.Subject+" "+f.Text != want {
			t.Errorf("%s %s, want %s", f.Subject, f.Text, want)
		}
	}
}

func TestLevelText(t *testing.T) {
	mean := 0.5
	level := func(leastRatio float64, maxWaitNs int64) *result.Level {
		return &result.Level{Group: result.Group{Counts: metric.Counts{Arrived: 5, Executed: 5}, Wait: &result.Distribution{P99Ns: maxWaitNs, MaxNs: maxWaitNs}},
			Utilisation: &result.Utilisation{Mean: &mean, Saturated: 0.25}, Fairness: &result.Fairness{Flows: 3, Jain: 0.8, LeastRatio: leastRatio}}
	}
	starved := level(1, 1000)
	starved.Starvation = &result.Starvation{MaxNs: 10_600_000_000, Flow: "schema/f"}
	waiting := level(0, 0)
	waiting.Counts = metric.Counts{Arrived: 5, Executed: 3, Waiting: 2}
	const use = "seats in use 50 % (mean), saturated 25 % of the time; "
	const waits = use + "wait p99 1 µs, max 1 µs; 0 of 5 rejected; Jain's index 0.800 (3 flows); lowest service of a flow "
	for _, c := range []struct {
		l    *result.Level
		want string
	}{
		{level(0.5, 0), use + "no wait; 0 of 5 rejected"}, // what is short of the share is served after the window
		{level(0.5, 1000), waits + "50 % of its fair share"},
		{level(0.6, 1000), waits + "60 % of its fair share"},
		{level(0.96, 1000), waits + "96 % of its fair share"},
		{level(0.953999, 1000), waits + "95.3 % of its fair share"},
		{level(0.9994, 1000), waits + "99.9 % of its fair share"},
		{level(0.94999, 1000), waits + "94.999 % of its fair share"},
		{level(1.2, 1000), waits + "100 % of its fair share"},
		{starved, waits + "100 % of its fair share; longest starvation 10.6 s (schema/f)"},
		{&result.Level{PeakSeats: 1}, "no request arrived after the warm-up"},
		{&result.Level{PeakSeats: 1, Utilisation: &result.Utilisation{Mean: &mean, Saturated: 0.25}}, use + "no request arrived after the warm-up"},
		{waiting, use + "no wait (dispatched requests); 2 of 5 (40 %) still queued at the end; 0 of 5 rejected; " +
			"Jain's index 0.800 (3 flows); lowest service of a flow 0 % of its fair share"},
	} {
		if got := levelText(0, c.l); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestCausesOfStalls(t *testing.T) {
	for _, c := range []struct {
		stall result.Stall
		want  string
	}{
		{result.Stall{Limit: 56, NominalLimit: 245, Others: 7, Raised: &result.LimitChange{AtNs: 40e9, Limit: 245}},
			"56 seats (nominal 245, 189 lent), raised to 245 by the adjustment at 40 s; requests of other workloads dispatched during the stall: 7"},
		{result.Stall{Limit: 56, NominalLimit: 245},
			"56 seats (nominal 245, 189 lent); requests of other workloads dispatched during the stall: 0 (all seats were in use, or fewer were free than the next request needs)"},
		{result.Stall{Limit: 0, NominalLimit: 3, Raised: &result.LimitChange{AtNs: 40e9, Limit: 3}},
			"0 seats (nominal 3, 3 lent), raised to 3 by the adjustment at 40 s; requests of other workloads dispatched during the stall: 0 (no seats)"},
		{result.Stall{Limit: 300, NominalLimit: 245, Others: 1}, "300 seats (nominal 245); requests of other workloads dispatched during the stall: 1"},
	} {
		c.stall.MaxNs, c.stall.FromNs, c.stall.Count, c.stall.PriorityLevel = 10e9, 30e9, 1, "low"
		want := "no request was dispatched for 10 s, from 30 s to 40 s, while requests were queued; limit of low at the start of the stall: " + c.want
		if got := stallText(0, &c.stall); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}
