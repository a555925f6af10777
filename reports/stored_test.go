package reports_test

import (
	"testing"

	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// storming is informers of a busy resource and, without bookmarks, of a quiet one, writers, and two servers
// that restart.
const storming = `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: storming}
spec:
  duration: 3m
  warmup: 10s
  servers: {replicas: 2}
  events: [{at: 1m, crash: {server: 0}}, {at: 61s, start: {server: 0}}, {at: 2m, crash: {server: 1}}, {at: 121s, start: {server: 1}}]
  store: {}
  resources: [{resource: pods, objects: 1000, averageBytes: 2000}]
  workload:
  - name: agents
    clients: 10
    as: {serviceAccount: "kube-system/agent-{i}"}
    behaviour: {informer: {resource: configmaps, namespace: shared, start: List}}
  - name: writers
    clients: 4
    as: {user: "writer-{i}"}
    behaviour: {writer: {resource: configmaps, namespace: shared, with: Put, retryOnConflict: Default, every: 200ms}}
  - name: quiet
    clients: 10
    as: {serviceAccount: "kube-system/quiet-{i}"}
    behaviour: {informer: {resource: pods, start: List, bookmarks: false}}
  - name: readers
    as: {user: reader}
    request: {verb: list, resource: pods, query: limit=100}
    arrivals: {poisson: {rate: 5/s}}
  thresholds:
    "conflicts{workload:writers}": ["count > 0"]
    "eventDelay{workload:agents}": ["max >= 2ms"]
    "staleness{server:1}": ["mean >= 2ms"]
`

// What has happened to clients, and what servers have sent, has the same value in the summary, as a statistic, and
// summed up over time.
func TestStatisticsOfClientsAndCaches(t *testing.T) {
	run := resultOf(t, storming)
	s := run.Summary
	if !s.Passed {
		t.Errorf("thresholds: %+v", s.Thresholds)
	}
	all := result.Statistics(s)
	value := func(name string) float64 {
		t.Helper()
		i, err := result.FindStatistic(all, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return -1
		}
		return all[i].Value
	}
	same := func(name string, want int64) {
		t.Helper()
		if got := value(name); got != float64(want) {
			t.Errorf("%s is %v, and %d in the summary", name, got, want)
		}
	}
	agents, writers := s.Workloads[0].Clients, s.Workloads[1].Clients
	relists := s.Workloads[2].Clients.Noted("relists")
	if relists == nil || len(relists.Reasons) == 0 {
		t.Fatalf("nobody relists: %+v", s.Workloads[2].Clients)
	}
	same("relists{workload:quiet}.count", relists.Count)
	for _, r := range relists.Reasons {
		same("relists{workload:quiet,reason:"+r.Reason+"}.count", r.Count)
	}
	same("eventDelay{workload:agents}.p(99)", agents.Noted("eventDelay").Time.P99Ns)
	same("conflicts{workload:writers}.count", writers.Noted("conflicts").Count)
	same("writeTime{workload:writers}.max", writers.Noted("writeTime").Time.MaxNs)
	same("lostWrites{workload:agents}.count", 0)
	for _, tagged := range []struct {
		tag string
		*result.Stored
	}{{"", s.Total.Stored}, {"{server:0}", s.Servers[0].Stored}, {"{server:1}", s.Servers[1].Stored}} {
		same("bytesSent"+tagged.tag+".count", tagged.Values[metric.BytesSent])
		same("watchEvents"+tagged.tag+".count", tagged.Values[metric.WatchEvents])
		same("staleness"+tagged.tag+".max", tagged.Values[metric.StalenessMax])
		same("etcdCalls"+tagged.tag+".count", tagged.Values[metric.EtcdCalls])
	}
	if sum := s.Servers[0].Stored.Values[metric.BytesSent] + s.Servers[1].Stored.Values[metric.BytesSent]; sum != s.Total.Stored.Values[metric.BytesSent] || sum == 0 {
		t.Errorf("the servers have sent %d bytes, and all %d", sum, s.Total.Stored.Values[metric.BytesSent])
	}
	for _, n := range s.Total.Clients.Notes {
		count, maxNs := int64(0), int64(0)
		for _, series := range run.ClientSeries {
			for i := range series.Points {
				if p := &series.Points[i]; series.Metric == n.Metric && p.StartNs >= s.WarmupNs {
					count, maxNs = count+p.Count, max(maxNs, p.MaxNs)
				}
			}
		}
		if count != n.Count || n.Time != nil && maxNs != n.Time.MaxNs {
			t.Errorf("%s over time: %d, longest %d; in the summary %d, %+v", n.Metric, count, maxNs, n.Count, n.Time)
		}
	}
	for i, series := range run.ServerSeries {
		events, stalest := int64(0), int64(0)
		for k := range series.Points {
			if p := &series.Points[k]; p.StartNs >= s.WarmupNs {
				events, stalest = events+p.WatchEvents, max(stalest, p.StalenessNs)
			}
		}
		if stored := s.Servers[i].Stored; events != stored.Values[metric.WatchEvents] || stalest < stored.Values[metric.StalenessMean] || stalest > stored.Values[metric.StalenessMax] {
			t.Errorf("server %d over time: %d events, staleness up to %d ns; in the summary %+v", i, events, stalest, stored)
		}
	}
	if s.Workloads[3].Clients != nil {
		t.Error("readers do not behave")
	}
	if len(s.RequestKinds) < 4 || s.RequestKinds[0].SeatSeconds < s.RequestKinds[1].SeatSeconds {
		t.Errorf("kinds of requests: %+v", s.RequestKinds)
	}
}
