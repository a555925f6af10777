package reports_test

import (
	"math"
	"strings"
	"testing"

	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// The statistics of the one server of a run are those of all requests, and are not listed again. They have both
// names, though.
func TestStatisticsOfOneServerAreListedOnce(t *testing.T) {
	r, _ := runServers(t, strings.Replace(passedOn, "servers: {", "servers: {goawayChance: 0.001, ", 1))
	if len(r.Summary.Servers) != 1 {
		t.Fatalf("%d servers in the summary", len(r.Summary.Servers))
	}
	all := result.Statistics(r.Summary)
	count := 0
	for i := range all {
		if all[i].Name.Tag(metric.TagServer) == "" {
			continue
		}
		if count++; all[i].Name.Metric != "ready" {
			t.Errorf("%v is listed", all[i].Name)
		}
	}
	if count != 1 {
		t.Errorf("%d statistics of the server are listed", count)
	}
	for name, want := range map[string]float64{
		"arrived{server:0}.count": 601, "latency{server:0}.p(99)": 1_996_000_000,
		"utilisation{priorityLevel:sole,server:0}.peak": 101, "ready{server:0}.share": 1,
	} {
		if i, err := result.FindStatistic(all, name); err != nil || math.Abs(all[i].Value-want) > want/1000 {
			t.Errorf("%s is not %v; error %v", name, want, err)
		}
	}
	if _, err := result.FindStatistic(all, "arrived{server:1}.count"); err == nil || !strings.Contains(err.Error(), `there is no server "1"`) {
		t.Errorf("error %v of a server that there is not", err)
	}
}
