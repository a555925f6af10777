package reports_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"apfsim/reports/charts"
	"apfsim/reports/compare"
	"apfsim/reports/findings"
	"apfsim/reports/judge"
	"apfsim/reports/measure"
	"apfsim/reports/page"
	"apfsim/reports/replicate"
	"apfsim/reports/result"
	"apfsim/reports/stats"
	"apfsim/reports/tables"
	"apfsim/sim/metric"
)

// A flow of a level with queues, in seat-seconds.
func flowWith(name string, demand, share, service float64, hand ...int) result.Flow {
	ratio := service / share
	return result.Flow{Group: result.Group{Name: "schema/" + name, Counts: result.Counts{Arrived: 100, Executed: 90, Rejected: 10, QueueFull: 10},
		Wait: &result.Distribution{P50Ns: 1_000_000, P99Ns: 3_000_000, MaxNs: 5_000_000}}, PriorityLevel: "low", FlowSchema: "schema",
		Hand: hand, DemandSeatSeconds: demand, FairShareSeatSeconds: share, ServiceSeatSeconds: service, Ratio: &ratio, QueuedIn: measure.Bitset{0b1111, 0b1}}
}

// at is a flow as before that had requests in queues at other times.
func at(queuedIn measure.Bitset, f result.Flow) result.Flow {
	f.QueuedIn = queuedIn
	return f
}

func textOf(findings []findings.Finding, subject string) string {
	for _, f := range findings {
		if f.Subject == subject {
			return f.Text
		}
	}
	return ""
}

func TestABecauseOnlyWhereHandsAndServicesShowIt(t *testing.T) {
	mouse := flowWith("user:mouse", 10, 10, 7.1, 1, 2, 3)
	for _, c := range []struct {
		story  string
		mouse  result.Flow
		others []result.Flow
		want   string // what the finding ends with
	}{
		{"two elephants cover the hand and took more than their share", mouse,
			[]result.Flow{flowWith("user:a", 200, 100, 110, 1, 2, 9), flowWith("user:b", 200, 100, 105, 3, 4, 5)},
			"Cause: every queue of its hand is also in a hand of these flows, which took more than their fair shares: a and b."},
		{"they cover it, and took what was theirs", mouse,
			[]result.Flow{flowWith("user:a", 200, 100, 100, 1, 2, 9), flowWith("user:b", 200, 100, 98, 3, 4, 5)},
			"Every queue of its hand is also in a hand of these over-demanding flows: a and b."},
		{"one queue is in no elephant's hand", mouse,
			[]result.Flow{flowWith("user:a", 200, 100, 110, 1, 2, 9)}, "queue-full 10."},
		{"who covers it asked for no more than its share, and got a little more by chance", mouse,
			[]result.Flow{flowWith("user:a", 100, 100, 102, 1, 2, 3)}, "queue-full 10."},
		{"they are at another level", mouse,
			[]result.Flow{func() result.Flow {
				f := flowWith("user:a", 200, 100, 110, 1, 2, 3)
				f.PriorityLevel = "high"
				return f
			}()}, "queue-full 10."},
		{"no hands", flowWith("user:mouse", 10, 10, 7.1),
			[]result.Flow{flowWith("user:a", 200, 100, 110, 1, 2, 3)}, "queue-full 10."},
		{"it was not backlogged", func() result.Flow {
			f := mouse
			f.Rejected, f.QueueFull, f.Wait = 0, 0, &result.Distribution{MaxNs: 5_000_000}
			return f
		}(), []result.Flow{flowWith("user:a", 200, 100, 110, 1, 2, 3)}, "0 of 100 rejected."},
		{"the one that covers most is named first", mouse,
			[]result.Flow{flowWith("user:c", 200, 100, 120, 1, 8, 9), flowWith("user:d", 200, 100, 110, 1, 2, 3)}, "took more than their fair shares: d."},
		{"the hand has two queues", flowWith("user:mouse", 10, 10, 7.1, 1, 2), []result.Flow{flowWith("user:a", 200, 100, 110, 1, 2, 9)},
			"took more than their fair shares: a."},
		{"the hand has one queue", flowWith("user:mouse", 10, 10, 7.1, 1), []result.Flow{flowWith("user:a", 200, 100, 100, 1, 2, 9)},
			" Every queue of its hand is also in a hand of these over-demanding flows: a."},
		{"one queue is covered by an elephant that was not there", mouse, []result.Flow{flowWith("user:a", 200, 100, 110, 1, 2, 9),
			at(measure.Bitset{0b11, 0b10}, flowWith("user:b", 200, 100, 105, 3, 4, 5))}, "queue-full 10."},
		{"the elephant was there in three of the five intervals", mouse, []result.Flow{at(measure.Bitset{0b11, 0b11}, flowWith("user:a", 200, 100, 110, 1, 2, 3))},
			"took more than their fair shares: a."},
		{"in half of them", at(measure.Bitset{0b11}, mouse), []result.Flow{at(measure.Bitset{0b101}, flowWith("user:a", 200, 100, 110, 1, 2, 3))},
			"took more than their fair shares: a."},
		{"before them", at(measure.Bitset{0, 0b11}, mouse), []result.Flow{at(measure.Bitset{0b1111}, flowWith("user:a", 200, 100, 110, 1, 2, 3))}, "queue-full 10."},
	} {
		s := &result.Summary{Flows: append([]result.Flow{c.mouse}, c.others...), PriorityLevels: []result.Level{{Group: result.Group{Name: "low"}}}}
		got := textOf(findings.FlowFindings(s), "schema/user:mouse")
		if !strings.HasPrefix(got, "service 71 % of its fair share of low; ") || !strings.HasSuffix(got, c.want) {
			t.Errorf("%s:\n%s\nwant … %s", c.story, got, c.want)
		}
		if strings.Contains(got, "Cause: ") != strings.Contains(c.want, "took more") {
			t.Errorf("%s: %s", c.story, got)
		}
	}
}

func TestFindingsSayWhoWasHurtAndWhoAskedForTooMuch(t *testing.T) {
	s := &result.Summary{PriorityLevels: []result.Level{{Group: result.Group{Name: "low"}}}, Flows: []result.Flow{
		flowWith("user:a", 200, 100, 110, 1), flowWith("user:b", 300, 100, 96, 2), flowWith("user:c", 250, 100, 80, 3), flowWith("user:d", 10, 10, 9.9, 4)}}
	var got []string
	for _, f := range findings.FlowFindings(s) {
		got = append(got, f.Subject+" "+f.Text)
	}
	want := []string{
		"schema/user:d service 99 % of its fair share of low; wait p99 3 ms, max 5 ms; 10 of 100 (10 %) rejected: queue-full 10.",
		"schema/user:c service 80 % of its fair share of low (demand 2.5 times the share); wait p99 3 ms, max 5 ms; 10 of 100 (10 %) rejected: queue-full 10.",
		"schema/user:a and b demand 2 to 3 times the fair share of low, service 96 % to 110 % of the fair share; 20 of 200 (10 %) rejected.",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestRequestsInPlainWords(t *testing.T) {
	timedOut := func(leastNs int64) *result.Distribution {
		return &result.Distribution{MinNs: leastNs, MaxNs: 2_000_000_000}
	}
	waits := func(p99Ns, maxNs int64) *result.Distribution { return &result.Distribution{P99Ns: p99Ns, MaxNs: maxNs} }
	for _, c := range []struct {
		g    result.Group
		want string
		mood judge.Mood
	}{
		{result.Group{}, "no request arrived after the warm-up.", judge.Neutral},
		{result.Group{Counts: result.Counts{Arrived: 5, Executed: 5}, Wait: waits(0, 0)}, "no wait; 0 of 5 rejected.", judge.Good},
		{result.Group{Counts: result.Counts{Arrived: 5, Executed: 5}, Wait: waits(0, 3_000_000)}, "99 % did not wait, max 3 ms; 0 of 5 rejected.", judge.Good},
		{result.Group{Counts: result.Counts{Arrived: 5, Executed: 5}, Wait: waits(3_000_000, 4_000_000)}, "wait p99 3 ms, max 4 ms; 0 of 5 rejected.", judge.Good},
		{result.Group{Counts: result.Counts{Arrived: 1, Rejected: 1, TimedOut: 1}, RejectedWait: timedOut(2_000_000_000)},
			"none of 1 request was dispatched; 1 of 1 (100 %) rejected: time-out 1, after a wait of at most 2 s.", judge.Bad},
		{result.Group{Counts: result.Counts{Arrived: 10, Executed: 5, Rejected: 5, TimedOut: 1, QueueFull: 4}, Wait: waits(0, 0), RejectedWait: timedOut(0)},
			"no wait (dispatched requests); 5 of 10 (50 %) rejected: queue-full 4, time-out 1, after a wait of at most 2 s.", judge.Bad},
		{result.Group{Counts: result.Counts{Arrived: 10, Executed: 5, Rejected: 5, QueueFull: 5}, Wait: waits(3_000_000, 4_000_000), RejectedWait: &result.Distribution{}},
			"wait p99 3 ms, max 4 ms; 5 of 10 (50 %) rejected: queue-full 5.", judge.Bad},
		{result.Group{Counts: result.Counts{Arrived: 1_000_000, Executed: 999_999, Rejected: 1, QueueFull: 1}, Wait: waits(0, 0), RejectedWait: &result.Distribution{}},
			"no wait; 1 of 1 M (<0.01 %) rejected: queue-full 1.", judge.Neutral},
		{result.Group{Counts: result.Counts{Arrived: 40, Executed: 16, Waiting: 24}, Wait: waits(0, 0)}, "no wait (dispatched requests); 24 of 40 (60 %) still queued at the end; 0 of 40 rejected.", judge.Bad},
		{result.Group{Counts: result.Counts{Arrived: 40, Waiting: 40}}, "none of 40 requests was dispatched; 40 of 40 (100 %) still queued at the end; 0 of 40 rejected.", judge.Bad},
		{result.Group{Counts: result.Counts{Arrived: 100, Executed: 99, Waiting: 1}, Wait: waits(0, 0)}, "no wait (dispatched requests); 1 of 100 (1 %) still queued at the end; 0 of 100 rejected.", judge.Good},
		// A closed loop that stood still: what it sent did not wait, but for twenty requests.
		{result.Group{Counts: result.Counts{Arrived: 10_000, Executed: 10_000}, Wait: waits(0, 10_600_000_000), Stall: &result.Stall{MaxNs: 10_600_000_000, FromNs: 30_000_000_000},
			VirtualWait: &result.VirtualWait{Probes: 1000, Wait: waits(10_100_000_000, 10_500_000_000)}},
			"99 % did not wait, max 10.6 s; stalled for 10.6 s from 30 s; wait at a random moment p99 10.1 s; 0 of 10 k rejected.", judge.Bad},
		{result.Group{Counts: result.Counts{Arrived: 100, Executed: 100}, Wait: waits(0, 0), VirtualWait: &result.VirtualWait{Probes: 1000, Rejected: 20, Wait: waits(0, 0)}},
			"no wait; at 2 % of random moments a request would be rejected; 0 of 100 rejected.", judge.Bad},
	} {
		if got := findings.RequestsText(&c.g); got != c.want || judge.OfGroup(&c.g) != c.mood {
			t.Errorf("%q %q, want %q %q", got, judge.OfGroup(&c.g), c.want, c.mood)
		}
	}
}

// waitingOnly is the flow when nothing of it was rejected.
func waitingOnly(f result.Flow) result.Flow {
	f.Rejected, f.QueueFull, f.Executed = 0, 0, f.Arrived
	return f
}

func TestFlowsThatAskedForMoreThanTheirShare(t *testing.T) {
	noWait := waitingOnly(flowWith("user:e", 300, 100, 100))
	noWait.Wait = &result.Distribution{}
	for _, c := range []struct {
		flows []result.Flow
		want  string
	}{
		{[]result.Flow{waitingOnly(flowWith("user:a", 200, 100, 150)), flowWith("user:b", 300, 100, 95)},
			"schema/user:a and b demand 2 to 3 times the fair share of low, service 95 % to 150 % of the fair share; 10 of 200 (5 %) rejected."},
		{[]result.Flow{waitingOnly(flowWith("user:a", 172, 100, 100))},
			"schema/user:a demand 1.72 times the fair share of low, service 100 % of the fair share; 0 of 100 (0 %) rejected."},
		{[]result.Flow{noWait}, ""}, // what it asked for, it had
	} {
		got := ""
		for _, f := range findings.FlowFindings(&result.Summary{PriorityLevels: []result.Level{{Group: result.Group{Name: "low"}}}, Flows: c.flows}) {
			got += f.Subject + " " + f.Text
		}
		if got != c.want {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
}

// Where nothing of a level is served, nobody has a share of it; who waits there is hurt all the same.
func TestWhoIsHurt(t *testing.T) {
	unserved := flowWith("user:a", 10, 10, 0)
	unserved.Counts, unserved.Wait, unserved.Ratio, unserved.FairShareSeatSeconds = result.Counts{Arrived: 5, Waiting: 5}, nil, nil, 0
	idle := unserved
	idle.Counts, idle.DemandSeatSeconds = result.Counts{Arrived: 5, Executed: 5}, 0
	short := flowWith("user:a", 10, 10, 9.4955)
	unhurt := waitingOnly(short)
	unhurt.Wait = &result.Distribution{}
	for _, c := range []struct {
		what string
		f    result.Flow
		want string
	}{
		{"nothing is served", unserved, "none of 5 requests was dispatched; 5 of 5 (100 %) still queued at the end; 0 of 5 rejected."},
		{"nothing is asked for", idle, ""},
		{"nearly its share", short, "service 94.95 % of its fair share of low; wait p99 3 ms, max 5 ms; 10 of 100 (10 %) rejected: queue-full 10."},
		{"less than its share, without a wait", unhurt, ""},
	} {
		s := &result.Summary{PriorityLevels: []result.Level{{Group: result.Group{Name: "low"}}}, Flows: []result.Flow{c.f}}
		if got := textOf(findings.FlowFindings(s), "schema/user:a"); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// Bars are of the same colours wherever a flow is drawn: from below the limit at which it is hurt.
func TestServiceBelowTheFairShareIsDrawnAsSuch(t *testing.T) {
	svg := func(service float64) string {
		s := &result.Summary{Flows: []result.Flow{flowWith("user:a", 200, 100, service), flowWith("user:b", 200, 100, 105)}}
		return string(rendered(t, charts.ServiceChart(&result.Result{Summary: s}, &result.Level{Group: result.Group{Name: "low"}}).WriteSVG))
	}
	short, enough := svg(94.9), svg(95)
	if got := strings.Count(short, "#EE6677") - strings.Count(enough, "#EE6677"); got != 1 {
		t.Errorf("%d bars more are drawn as short with 94.9 %% of the fair share than with 95 %%, want 1", got)
	}
	if !strings.Contains(short, "service below 95 % of fair share") {
		t.Error("the legend does not say what is short")
	}
}

// Nine or ten were hurt, of which eight have a finding each. The table of flows begins with them, by
// their exact ratios, though elephants got less of theirs.
func TestFlowsThatWereHurtStandFirst(t *testing.T) {
	for more, want := range []string{1: "1 more flow see the table of flows, which lists underserved flows first.",
		2: "2 more flows see the table of flows, which lists underserved flows first."} {
		if more == 0 {
			continue
		}
		s := &result.Summary{PriorityLevels: []result.Level{{Group: result.Group{Name: "low"}}}, Flows: []result.Flow{flowWith("user:elephant", 300, 100, 96)}}
		var names []string
		for i := range findings.HurtNamed + more {
			name := fmt.Sprintf("user:%d", 9-i)
			names = append(names, "schema/"+name)
			s.Flows = append(s.Flows, flowWith(name, 100, 100, 99-float64(i)/100))
		}
		slices.Reverse(names)
		names = append(names, "schema/user:elephant")
		var got []string
		for _, row := range tables.Flows(s).Rows {
			got = append(got, row[0].Text)
		}
		if !slices.Equal(got, names) {
			t.Errorf("%q, want %q", got, names)
		}
		all := findings.FlowFindings(s)
		if f := all[findings.HurtNamed]; f.Subject+" "+f.Text != want {
			t.Errorf("%s %s, want %s", f.Subject, f.Text, want)
		}
	}
}

func TestLevelsInPlainWords(t *testing.T) {
	mean := 0.5
	level := func(leastRatio float64, maxWaitNs int64) *result.Level {
		return &result.Level{Group: result.Group{Counts: result.Counts{Arrived: 5, Executed: 5}, Wait: &result.Distribution{P99Ns: maxWaitNs, MaxNs: maxWaitNs}},
			Utilisation: &result.Utilisation{Mean: &mean, Saturated: 0.25}, Fairness: &result.Fairness{Flows: 3, Jain: 0.8, LeastRatio: leastRatio}}
	}
	starved := level(1, 1000)
	starved.Starvation = &result.Starvation{MaxNs: 10_600_000_000, Flow: "schema/f"}
	waiting := level(0, 0)
	waiting.Counts = result.Counts{Arrived: 5, Executed: 3, Waiting: 2}
	const use = "seats in use 50 % (mean), saturated 25 % of the time; "
	const waits = use + "wait p99 1 µs, max 1 µs; 0 of 5 rejected. Jain’s index 0.800 over 3 flows; "
	for _, c := range []struct {
		l    *result.Level
		want string
		mood judge.Mood
	}{
		{level(0.5, 0), use + "no wait; 0 of 5 rejected.", judge.Good}, // what is short of the share is served after the window
		{level(0.5, 1000), waits + "least service 50 % of the fair share.", judge.Bad},
		{level(0.6, 1000), waits + "least service 60 % of the fair share.", judge.Neutral},
		{level(0.96, 1000), waits + "every flow was served at least 96 % of its fair share.", judge.Good},
		{level(0.953999, 1000), waits + "every flow was served at least 95.3 % of its fair share.", judge.Good},
		{level(0.9994, 1000), waits + "every flow was served at least 99.9 % of its fair share.", judge.Good},
		{level(0.94999, 1000), waits + "least service 94.999 % of the fair share.", judge.Neutral},
		{level(1.2, 1000), waits + "every flow was served at least 100 % of its fair share.", judge.Good},
		{starved, waits + "every flow was served at least 100 % of its fair share, which counts only what was sent: " +
			"schema/f had requests waiting and none dispatched for 10.6 s.", judge.Bad},
		{&result.Level{PeakSeats: 1}, "no request arrived after the warm-up.", judge.Neutral},
		{&result.Level{PeakSeats: 1, Utilisation: &result.Utilisation{Mean: &mean, Saturated: 0.25}}, use + "no request arrived after the warm-up.", judge.Neutral},
		{waiting, use + "no wait (dispatched requests); 2 of 5 (40 %) still queued at the end; 0 of 5 rejected. " +
			"Jain’s index 0.800 over 3 flows; least service 0 % of the fair share.", judge.Bad},
	} {
		if got := findings.LevelText(c.l); got != c.want || judge.OfLevel(c.l) != c.mood {
			t.Errorf("%q %q, want %q %q", got, judge.OfLevel(c.l), c.want, c.mood)
		}
	}
}

// replicationsOf is five runs with these values of statistics, by name.
func replicationsOf(statistics ...replicate.Estimate) *replicate.Replications {
	r := &replicate.Replications{Name: "x", Seeds: []uint64{1, 2, 3, 4, 5}}
	for _, s := range statistics {
		e := replicate.EstimateOf(s.Values)
		e.ID = metric.MustParseName(s.Name)
		e.Name, e.Unit, e.Better, e.PriorityLevel = s.Name, s.Unit, s.Better, s.PriorityLevel
		r.Statistics = append(r.Statistics, e)
	}
	return r
}

func estimatesOf(tag string, waitNs, rejected stats.Values) []replicate.Estimate {
	return []replicate.Estimate{{Name: "arrived{" + tag + "}.count", Values: stats.Values{9, 9, 9, 9, 9}}, {Name: "waiting{" + tag + "}.rate", Values: stats.Values{0, 0, 0, 0, 0}},
		{Name: "wait{" + tag + "}.p(99)", Unit: "ns", Better: metric.Lower, Values: waitNs}, {Name: "rejected{" + tag + "}.rate", Better: metric.Lower, Values: rejected}}
}

func linesOf(findings []findings.Finding) string {
	var lines []string
	for _, f := range findings {
		lines = append(lines, string(f.Mood)+"|"+f.Subject+" "+f.Text)
	}
	return strings.Join(lines, "\n")
}

// Values with mean 3 and standard deviation 1 in five runs have the interval ± 2.776/√5 = 1.2.
func TestReplicationsInPlainWords(t *testing.T) {
	none, part := stats.Values{0, 0, 0, 0, 0}, stats.Values{0.2, 0.2, 0.3, 0.4, 0.4}
	all := estimatesOf("workload:a", stats.Values{2e6, 2e6, 3e6, 4e6, 4e6}, none)
	all = append(all, estimatesOf("workload:b", none, none)...)
	all = append(all, estimatesOf("priorityLevel:low", stats.Values{5e6, 5e6, 5e6, 5e6, 5e6}, part)...)
	all = append(all, replicate.Estimate{Name: "utilisation{priorityLevel:low}.mean", Values: part})
	absent := stats.Values{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	all = append(all, slices.Delete(estimatesOf("priorityLevel:stuck", absent, part), 2, 3)...)
	all = append(all, replicate.Estimate{Name: "utilisation{priorityLevel:stuck}.mean", Values: part})
	r := replicationsOf(all...)
	reached := 0.4
	r.Precision = &replicate.Precision{Wanted: 0.1, Statistics: []replicate.PrecisionResult{{Name: "wait{workload:a}.p(99)", Reached: &reached}, {Name: "wait{workload:c}.p(99)"}}}
	want := `good|a wait p99 3.0 ±1.2 ms; 0 % rejected in every run.
good|b 99 % did not wait; 0 % rejected in every run.
bad|low seats in use 30 ±12 %; wait p99 5 ms; 30 ±12 % rejected.
bad|stuck seats in use 30 ±12 %; no request was dispatched; 30 ±12 % rejected.
bad|wait{workload:a}.p(99) is 3.0 ±1.2 ms, known to 40 %.
bad|wait{workload:c}.p(99) has no samples.`
	if got := linesOf(findings.OfReplications(r, tables.EstimatesByName(r))); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Those dispatched did not wait, but others still did when the runs ended; or none was dispatched.
func TestReplicationsTellWhoStillWaits(t *testing.T) {
	none := stats.Values{0, 0, 0, 0, 0}
	all := append(estimatesOf("workload:a", none, none), estimatesOf("workload:b", none, none)...)
	all[1].Values = stats.Values{0.6, 0.6, 0.6, 0.6, 0.6}
	all[5].Values = stats.Values{0.01, 0.01, 0.01, 0.01, 0.01}
	all = append(all, estimatesOf("workload:c", nil, none)...)
	all[9].Values = stats.Values{1, 1, 1, 1, 1}
	all = slices.Delete(all, 10, 11)
	r := replicationsOf(all...)
	want := `bad|a 99 % did not wait; 60 % still queued at the end; 0 % rejected in every run.
good|b 99 % did not wait; 1 % still queued at the end; 0 % rejected in every run.
bad|c no request was dispatched; 100 % still queued at the end; 0 % rejected in every run.`
	if got := linesOf(findings.OfReplications(r, tables.EstimatesByName(r))); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestComparisonsInPlainWords(t *testing.T) {
	none, once, noisy := stats.Values{0, 0, 0, 0, 0}, stats.Values{2e6, 2e6, 3e6, 4e6, 4e6}, stats.Values{4e6, 2e6, 3e6, 2e6, 4e6}
	// The differences 4, 4, 6, 8 and 8 ms have the interval 6 ± 2.483 ms: 83 % of 3 ms, 28 % of 9 ms.
	thrice := stats.Values{6e6, 6e6, 9e6, 12e6, 12e6}
	side := func(a, b stats.Values, flow replicate.Estimate) *replicate.Replications {
		all := append(estimatesOf("workload:a", a, none), estimatesOf("workload:b", b, stats.Values{0.1, 0.1, 0.1, 0.1, 0.1})...)
		return replicationsOf(append(all, flow)...)
	}
	flow := func(v stats.Values) replicate.Estimate {
		return replicate.Estimate{Name: "wait{flow:s/f}.p(99)", Unit: "ns", Better: metric.Lower, PriorityLevel: "low", Values: v}
	}
	for _, c := range []struct {
		base, head *replicate.Replications
		want       string
	}{
		{side(once, once, flow(once)), side(thrice, noisy, flow(thrice)), `bad|a waited 9 ms at p99, up from 3 ms (+200 ±83 %); no request was rejected on either side.
|b waited 3 ms at p99 and 3 ms in the base, no change that these runs can tell; 10 % of the requests were rejected, exactly as in the base.
bad|s/f waited longer at p99.`},
		{side(thrice, none, flow(thrice)), side(once, none, flow(once)), `good|a waited 3 ms at p99, down from 9 ms (−67 ±28 %); no request was rejected on either side.
|b did not wait at p99 on either side; 10 % of the requests were rejected, exactly as in the base.
good|s/f waited less at p99.`},
	} {
		if got := linesOf(findings.OfComparison(compare.Compare("base", c.base, "head", c.head))); got != c.want {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
}

// What has samples on one side alone, or on none, is said of that side.
func TestOneSideInPlainWords(t *testing.T) {
	none, some := stats.Values{0, 0, 0, 0, 0}, stats.Values{2e6, 2e6, 3e6, 4e6, 4e6}
	part := stats.Values{0.2, 0.2, 0.2, 0.2, 0.2}
	without := func(tag string) []replicate.Estimate { return slices.Delete(estimatesOf(tag, none, none), 2, 3) } // none dispatched
	idle := func(tag string) []replicate.Estimate {
		return []replicate.Estimate{{Name: "arrived{" + tag + "}.count", Values: none}}
	}
	use := func(name string, v stats.Values) []replicate.Estimate {
		return []replicate.Estimate{{Name: "utilisation{priorityLevel:" + name + "}.mean", Values: v}}
	}
	base := replicationsOf(slices.Concat(estimatesOf("workload:gone", some, none), without("workload:stuck"), without("workload:late"), estimatesOf("workload:early", some, none),
		idle("workload:quiet"), idle("workload:nobody"), estimatesOf("priorityLevel:low", some, none), use("low", part), without("priorityLevel:shut"), use("shut", part),
		idle("priorityLevel:high"), use("high", none))...)
	head := replicationsOf(slices.Concat(estimatesOf("workload:new", some, none), without("workload:stuck"), estimatesOf("workload:late", some, none), without("workload:early"),
		estimatesOf("workload:quiet", some, none), idle("workload:nobody"), idle("priorityLevel:low"), use("low", none), without("priorityLevel:shut"), use("shut", part),
		estimatesOf("priorityLevel:high", some, none), use("high", part))...)
	want := `|gone sent requests in the base alone.
|stuck had no request dispatched on either side; no request was rejected on either side.
|late had no request dispatched in the base; no request was rejected on either side.
|early had no request dispatched in the head; no request was rejected on either side.
|quiet sent requests in the head alone.
|new sent requests in the head alone.
|low had 0 % of its seats in use and 20 % in the base, no change that these runs can tell; it got requests in the base alone.
|shut had 20 % of its seats in use, exactly as in the base; it had no request dispatched on either side; no request was rejected on either side.
|high had 20 % of its seats in use and 0 % in the base, no change that these runs can tell; it got requests in the head alone.`
	if got := linesOf(findings.OfComparison(compare.Compare("base", base, "head", head))); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// What flows have in common is said of one as of several.
func TestFlowsInPlainWords(t *testing.T) {
	few, many := stats.Values{0.1, 0.1, 0.2, 0.2, 0.1}, stats.Values{0.5, 0.6, 0.7, 0.8, 0.5}
	side := func(a, b stats.Values) *replicate.Replications {
		return replicationsOf(replicate.Estimate{Name: "rejected{flow:s/f}.rate", Better: metric.Lower, PriorityLevel: "low", Values: a},
			replicate.Estimate{Name: "rejected{flow:s/g}.rate", Better: metric.Lower, PriorityLevel: "low", Values: b})
	}
	if got, want := linesOf(findings.OfComparison(compare.Compare("base", side(few, many), "head", side(many, few)))), `bad|s/f had a greater share of requests rejected.
good|s/g had a smaller share of requests rejected.`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// The column of changes sorts as the table is listed: what grows from nothing before all else.
func TestChangesSortAsListed(t *testing.T) {
	side := func(rates ...float64) *replicate.Replications {
		var all []replicate.Estimate
		for i, x := range rates {
			all = append(all, replicate.Estimate{Name: fmt.Sprintf("retries{workload:w-%d}.rate", i), Values: stats.Values{x, x, x, x, x, x}})
		}
		r := replicationsOf(all...)
		r.Seeds = append(r.Seeds, 6)
		return r
	}
	c := compare.Compare("base", side(1, 0, 2, 4, 0), "head", side(3, 0.001, 1, 5, 0))
	values := map[string]float64{}
	last := math.Inf(1)
	table := tables.Changes("changes", "", c.Changes)
	for _, row := range table.Rows {
		values[row[0].Text] = row[3].Value
		if size := math.Abs(row[3].Value); size > last {
			t.Errorf("%s, %v, stands behind one of %v", row[0].Text, size, last)
		} else {
			last = size
		}
	}
	for name, want := range map[string]float64{"0": 2, "1": math.MaxFloat64, "2": -0.5, "3": 0.25, "4": 0} {
		if got := values["retries{workload:w-"+name+"}.rate"]; got != want {
			t.Errorf("w-%s sorts by %v, want %v", name, got, want)
		}
	}
	if text := rendersAs(t, page.OfComparison(c)); !strings.Contains(text, `data-v="1.79769e+308"`) {
		t.Error("the page has another value to sort by")
	}
}
