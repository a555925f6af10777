package report

import (
	"slices"
	"testing"

	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/server"
)

// What happened to clients is named with where and why most of it happened, and what became of their requests.
func TestStored(t *testing.T) {
	noted := func(metric string, n int64, most *result.Busiest) result.Noted {
		return result.Noted{Metric: metric, Count: n, Most: most}
	}
	took := func(metric string, n, maxNs int64) result.Noted {
		return result.Noted{Metric: metric, Count: n, Time: &result.Distribution{MaxNs: maxNs}}
	}
	relists := noted("relists", 40, &result.Busiest{FromNs: 60e9, Count: 30})
	relists.Reasons = []result.ReasonCount{{Reason: "expired", Count: 39}, {Reason: "failure", Count: 1}}
	group := func(name string, g result.Group, notes ...result.Noted) result.Group {
		g.Name, g.Clients = name, &result.Clients{Notes: notes}
		return g
	}
	busy := result.Group{Counts: metric.Counts{Arrived: 100, Rejected: 6, TimedOut: 6}, Wait: &result.Distribution{P99Ns: 1e9, MaxNs: 2e9}}
	s := &result.Summary{
		Timeline: []result.Moment{moment(20, 0, server.Starting, server.Ready), moment(58, 1, server.Starting, server.Ready), moment(100, 0, server.Draining, server.Off)},
		Workloads: []result.Group{
			{Name: "without clients"},
			group("quiet", result.Group{}, took("listTime", 5, 1e9)),
			group("agents", result.Group{}, relists),
			group("leaders", busy, noted("leaderLost", 1, &result.Busiest{FromNs: 30e9, Count: 1}), took("leaderless", 2, 25e9)),
			group("kubelets", result.Group{}, noted("nodesNotReady", 8, &result.Busiest{FromNs: 120e9, Count: 7}), took("notReady", 7, 90e9)),
			group("writers", result.Group{}, noted("conflicts", 50, nil), noted("lostWrites", 10, &result.Busiest{FromNs: 0, Count: 4}), noted("overwritten", 3, nil), took("writeTime", 90, 1e9)),
		},
		Servers: []result.Server{{}, {Group: result.Group{Stored: &result.Stored{Values: [metric.ServerValues]int64{metric.SlowWatchers: 12}, SlowWatchersOf: []result.ResourceCount{{Resource: "pods", Count: 10}, {Resource: "leases.coordination.k8s.io", Count: 2}}}}}},
	}
	want := []string{
		"agents: informers listed all their objects again 39 times because their version was too old, once because their list or watch had failed; 30 of them between 60 s and 70 s, after server 1 became ready (t = 58 s)",
		"leaders: leaders lost their leases once, as no renewal succeeded in time; longest time without a leader 25 s; their requests: wait p99 1 s, max 2 s, 6 of 100 (6 %) rejected: time-out 6",
		"kubelets: nodes became not ready 8 times, as neither their leases nor their status were renewed in time; 7 of them between 2 min and 2 min 10 s, after the process of server 0 had ended (t = 100 s); 7 became ready again, after 90 s at most",
		"writers: 10 of 100 (10 %) writes were given up; conflicts: 50; 3 of 90 (3.33 %) writes replaced what another client had written",
		"server 1: watches closed because their clients read too slowly: pods 10, leases.coordination.k8s.io 2",
	}
	var got []string
	for _, f := range storedFindings(s) {
		got = append(got, f.Subject+": "+f.Text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q,\nwant %q", got, want)
	}
}
