package report

import (
	"slices"
	"testing"

	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/server"
)

// failing returns a summary of two servers with a timeline and a failure.
func failing(f result.Failure, timeline ...result.Moment) *result.Summary {
	even := result.Server{Group: result.Group{Counts: metric.Counts{Arrived: 50}}, Stage: "ready"}
	return &result.Summary{DurationNs: 100e9, Total: result.Group{Counts: metric.Counts{Arrived: 100}},
		Servers: []result.Server{even, even}, Timeline: timeline, Failures: []result.Failure{f}}
}

func moment(atSeconds int64, index int, from, to server.Stage) result.Moment {
	return result.NewMoment(atSeconds*1e9, index, from, to)
}

// Failures are put down to the last thing before them that can be their cause, if it is not long ago.
func TestFailuresAndTheirCauses(t *testing.T) {
	rejected := result.Failure{FromNs: 63e9, ToNs: 70e9, Rejected: 1200, Refused: 30}
	stopped, ready := moment(60, 1, server.Ready, server.Stopping), moment(61, 0, server.Starting, server.Ready)
	for name, c := range map[string]struct {
		s    *result.Summary
		want []string
	}{
		"stopped":           {failing(rejected, stopped), []string{"server 1: rejections and refusals began 3 s after it was told to stop (t = 60 s) and lasted 7 s: 1200 rejected, 30 refused"}},
		"ready is no cause": {failing(rejected, stopped, ready), []string{"server 1: rejections and refusals began 3 s after it was told to stop (t = 60 s) and lasted 7 s: 1200 rejected, 30 refused"}},
		"long ago":          {failing(rejected, moment(30, 1, server.Ready, server.Stopping)), nil},
		"later":             {failing(rejected, moment(64, 1, server.Ready, server.Stopping)), nil},
		"crashed":           {failing(result.Failure{FromNs: 60e9, ToNs: 61e9, Lost: 5}, moment(60, 0, server.Ready, server.Off)), []string{"server 0: losses began when it crashed (t = 60 s) and lasted 1 s: 5 lost"}},
		"ended in order":    {failing(rejected, moment(62, 0, server.Draining, server.Off)), []string{"server 0: rejections and refusals began 1 s after its process had ended (t = 62 s) and lasted 7 s: 1200 rejected, 30 refused"}},
		"a change of speed": {failing(rejected, result.Moment{AtNs: 60e9, Server: result.AllServers, What: "speed × 0.4"}), []string{"all servers: rejections and refusals began 3 s after the change to speed × 0.4 (t = 60 s) and lasted 7 s: 1200 rejected, 30 refused"}},
	} {
		var got []string
		for _, f := range ServerFindings(c.s) {
			got = append(got, f.Subject+": "+f.Text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A server is named that has much more than its share, that nobody came back to, or that is slow.
func TestServersThatStandOut(t *testing.T) {
	connections := func(n int) *int { return &n }
	s := &result.Summary{DurationNs: 300e9, Total: result.Group{Counts: metric.Counts{Arrived: 100}},
		Servers: []result.Server{
			{Group: result.Group{Counts: metric.Counts{Arrived: 60}}, Stage: "ready", Connections: connections(75), MostConnectionsShare: 0.75, MostConnectionsShareAtNs: 130e9},
			{Group: result.Group{Counts: metric.Counts{Arrived: 25}}, Stage: "ready", Connections: connections(25), SlowNs: 12e9, LeastSpeed: 0.08, MostInService: 600,
				Collapse: &result.Collapse{AtNs: 90e9, ExecutedPerSecond: 1322, InService: 446, BestAtNs: 20e9, BestExecutedPerSecond: 3312, BestInService: 120}},
			{Group: result.Group{Counts: metric.Counts{Arrived: 15}}, Stage: "ready", Connections: connections(0)},
		},
		Timeline: []result.Moment{moment(160, 2, server.Starting, server.Ready)},
	}
	want := []string{
		"server 0: 75 % of all connections at t = 2 min 10 s; an even share is 33.3 %",
		"server 0: 60 % of all requests; an even share is 33.3 %",
		"server 1: speed of execution below 50 % for 12 s, least 8 %; 600 requests in service at most",
		"server 1: throughput collapsed: 1322/s with 446 in service (t = 90 s), after 3312/s with 120 in service (t = 20 s)",
		"server 2: 0 of 100 connections at the end, 2 min 20 s after it had become ready (t = 2 min 40 s)",
	}
	var got []string
	for _, f := range ServerFindings(s) {
		got = append(got, f.Subject+": "+f.Text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q,\nwant %q", got, want)
	}
	s.Servers[2].Connections = connections(12)
	if n := len(ServerFindings(s)); n != len(want)-1 {
		t.Errorf("%d findings with 12 of 112 connections", n)
	}
	if found := ServerFindings(&result.Summary{}); found != nil {
		t.Errorf("%v without servers", found)
	}
}
