package scrape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"apfsim/reports/compare"
	"apfsim/sim/metric"
)

// runsOf returns runs of 60 s that have these statistics. The rest of a name's values, if there are fewer
// than runs, are missing.
func runsOf(n int, all map[string]compare.RunValues) *compare.Replications {
	r := &compare.Replications{Name: "story", DurationNs: 60e9, FlowControl: "PriorityAndFairness"}
	for i := range n {
		r.Seeds = append(r.Seeds, uint64(i+1))
	}
	for name, values := range all {
		r.Statistics = append(r.Statistics, compare.Estimate{Name: metric.MustParseName(name).String(), ID: metric.MustParseName(name), Values: values})
	}
	return r
}

func compareTexts(t *testing.T, runs *compare.Replications, before, after string) *Comparison {
	t.Helper()
	server, err := betweenTexts(before, after)
	if err != nil {
		t.Fatal(err)
	}
	return Compare("runs", runs, server)
}

func betweenTexts(before, after string) (*Interval, error) {
	var first *Scrape
	var err error
	if before != "" {
		if first, err = Read("before.txt", strings.NewReader(before)); err != nil {
			return nil, err
		}
	}
	last, err := Read("after.txt", strings.NewReader(after))
	if err != nil {
		return nil, err
	}
	return Between(first, last)
}

func text(c *Comparison, level, name string) string {
	for _, s := range c.Statistics {
		if s.PriorityLevel == level && s.Name == name {
			show := func(x *float64) string {
				if x == nil {
					return "-"
				}
				return fmt.Sprintf("%.4g", *x)
			}
			return fmt.Sprintf("server %s [%s %s] run %s [%s %s] difference %s %s", show(s.Server), show(s.ServerLow), show(s.ServerHigh),
				show(s.Run), show(s.RunLow), show(s.RunHigh), show(s.Difference), s.Outcome)
		}
	}
	return "missing"
}

// counter is a scrape with a number of dispatched requests.
func counter(n int) string {
	return fmt.Sprintf("apiserver_flowcontrol_dispatched_requests_total{flow_schema=\"s\",priority_level=\"l\"} %d\n", n)
}

// Three runs dispatched 90, 100 and 110 requests: with s = 10 and t(0.975, 2) = 4.30, one more run is
// expected within 100 ± 4.30·10·√(4/3) = 100 ± 49.7. A single run has no interval.
func TestOutcomesOfANumber(t *testing.T) {
	three := map[string]compare.RunValues{"wait{priorityLevel:l}.count": {90, 100, 110}}
	one := map[string]compare.RunValues{"wait{priorityLevel:l}.count": {100}}
	for _, test := range []struct {
		server int
		runs   map[string]compare.RunValues
		want   string
	}{
		{149, three, "server 149 [- -] run 100 [50.32 149.7] difference -49 within"},
		{150, three, "server 150 [- -] run 100 [50.32 149.7] difference -50 above"},
		{50, three, "server 50 [- -] run 100 [50.32 149.7] difference 50 below"},
		{100, one, "server 100 [- -] run 100 [- -] difference 0 equal"},
		{101, one, "server 101 [- -] run 100 [- -] difference -1 untested"},
		{7, map[string]compare.RunValues{"wait{priorityLevel:l}.count": {7, 7}}, "server 7 [- -] run 7 [7 7] difference 0 equal"},
		{8, map[string]compare.RunValues{"wait{priorityLevel:l}.count": {7, 7}}, "server 8 [- -] run 7 [7 7] difference -1 above"},
		{0, map[string]compare.RunValues{"wait{priorityLevel:l}.count": {math.NaN(), 0}}, "server 0 [- -] run 0 [0 0] difference 0 equal"},
	} {
		n := 0
		for _, values := range test.runs {
			n = len(values)
		}
		if got := text(compareTexts(t, runsOf(n, test.runs), "", counter(test.server)), "l", "dispatched"); got != test.want {
			t.Errorf("%d beside %v: got %s, want %s", test.server, test.runs, got, test.want)
		}
	}
}

// waits is a scrape with 10 waits of up to 5 ms, 80 of up to 20 ms, 5 of up to 1 s and 5 that are longer, of
// which so many were dispatched.
func waits(dispatched int) string {
	const labels = `{execute="true",flow_schema="s",priority_level="l"`
	return counter(dispatched) + strings.ReplaceAll(`B,le="0.005"} 10
B,le="0.02"} 90
B,le="1"} 95
B,le="+Inf"} 100
`, "B", "apiserver_flowcontrol_request_wait_duration_seconds_bucket"+labels) + "apiserver_flowcontrol_request_wait_duration_seconds_sum" + labels + "} 20\n"
}

// A percentile of a histogram is known up to the bounds of its bucket. If five requests timed out, the 95
// others are taken to have waited the least: their p99 is the wait with rank 95.
func TestPercentilesAreBuckets(t *testing.T) {
	run := func(name string, ns float64) *compare.Replications {
		return runsOf(1, map[string]compare.RunValues{"wait{priorityLevel:l}." + name: {ns}, "wait{priorityLevel:l}.count": {100}})
	}
	for _, test := range []struct {
		dispatched int
		statistic  string
		name       string
		runNs      float64
		want       string
	}{
		{100, "wait p50", "med", 6e6, "server - [5e+06 2e+07] run 6e+06 [- -] difference 0 within"},
		{100, "wait p50", "med", 5e6, "server - [5e+06 2e+07] run 5e+06 [- -] difference 0 within"},
		{100, "wait p50", "med", 20.01e6, "server - [5e+06 2e+07] run 2.001e+07 [- -] difference 0 within"}, // a percentile of a run may be 0.1 % too high
		{100, "wait p50", "med", 22e6, "server - [5e+06 2e+07] run 2.2e+07 [- -] difference 2e+06 below"},
		{100, "wait p50", "med", 2e6, "server - [5e+06 2e+07] run 2e+06 [- -] difference -3e+06 above"},
		{100, "wait p90", "p(90)", 6e6, "server - [5e+06 2e+07] run 6e+06 [- -] difference 0 within"},
		{100, "wait p99", "p(99)", 6e9, "server - [1e+09 -] run 6e+09 [- -] difference 0 within"},
		{95, "wait p99", "p(99)", 6e6, "server - [2e+07 1e+09] run 6e+06 [- -] difference -1.4e+07 above"},
	} {
		c := compareTexts(t, run(test.name, test.runNs), "", waits(test.dispatched))
		if got := text(c, "l", test.statistic); got != test.want {
			t.Errorf("%s of %d: got %s, want %s", test.statistic, test.dispatched, got, test.want)
		}
		if warned := strings.Contains(strings.Join(c.Warnings, " "), "servers count the waits of requests that time out: of l,"); warned != (test.dispatched < 100) {
			t.Errorf("%d dispatched: warnings %q", test.dispatched, c.Warnings)
		}
	}
}

// A server counts the waits of requests that time out. The mean wait of a run is put together alike: two
// dispatched requests that waited 1 s and two time-outs of 4 s are four waits of 2.5 s, however many
// requests were rejected without a wait.
func TestMeanWaitHasTimeOuts(t *testing.T) {
	runs := runsOf(1, map[string]compare.RunValues{"wait{priorityLevel:l}.count": {2}, "wait{priorityLevel:l}.mean": {1e9}, "rejected{priorityLevel:l}.count": {8},
		"rejectedWait{priorityLevel:l}.mean": {1e9}, "timedOut{priorityLevel:l}.count": {2}})
	if got, want := text(compareTexts(t, runs, "", waits(2)), "l", "wait mean"), "server 2e+08 [- -] run 2.5e+09 [- -] difference 2.3e+09 untested"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The metrics of a real server are read: one that queued, rejected and timed out at one level.
func TestRealServer(t *testing.T) {
	live, err := os.ReadFile("testdata/live.txt")
	if err != nil {
		t.Fatal(err)
	}
	server, err := betweenTexts("", string(live))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range server.Levels {
		got := fmt.Sprintf("%g dispatched, %v, %g waits, %g executed, limits %g and %g, %g seats in use, demand %g", g.Dispatched, g.Rejected,
			g.Waits.Count(), g.Execution.Count, g.Nominal.After, g.Current.After, g.Executing.After, g.DemandHigh.After)
		want := map[string]string{
			"exempt":     "2227 dispatched, map[], 0 waits, 2226 executed, limits 0 and 1, 1 seats in use, demand 1",
			"live-list":  "1081 dispatched, map[], 1081 waits, 1081 executed, limits 60 and 60, 0 seats in use, demand 150",
			"live-small": "323 dispatched, map[queue-full:173 time-out:74], 397 waits, 317 executed, limits 6 and 6, 6 seats in use, demand 41",
		}[g.Name]
		if got != want {
			t.Errorf("%s: %s, want %s", g.Name, got, want)
		}
	}
	if len(server.Levels) != 3 || len(server.Warnings) != 1 {
		t.Errorf("%d levels, warnings %q", len(server.Levels), server.Warnings)
	}
}

// What cannot be the scrapes of one server is refused, and the error says why.
func TestScrapesThatAreRefused(t *testing.T) {
	const name = "apiserver_flowcontrol_dispatched_requests_total"
	for _, test := range []struct{ before, after, want string }{
		{counter(5), counter(4), "after.txt: is not a later scrape of the process of before.txt; the server may have restarted, or the files may be in the wrong order: " +
			name + `{flow_schema="s",priority_level="l"} is 4 and was 5`},
		{counter(5), strings.Replace(counter(5), "\"l\"", "\"m\"", 1), `{flow_schema="s",priority_level="l"} is missing and was 5`},
		{counter(5) + "process_start_time_seconds 7\n", counter(5) + "process_start_time_seconds 1e4\n", "process_start_time_seconds is 10000 and was 7"},
		{"", "up 1\n", "after.txt: has no value of " + name + "; want what a kube-apiserver"},
		{"up 1\n", counter(1), "before.txt: has no value of " + name},
		{"", name + " 5\n", name + "{} has no label priority_level"},
		{"", name + `{priority_level="l"} -5`, `is -5; want 0 or more`},
		{"", name + `{priority_level="l"} NaN`, `is NaN; want 0 or more`},
		{"", counter(1) + `apiserver_flowcontrol_request_wait_duration_seconds_bucket{execute="true",flow_schema="s",priority_level="l",le="x"} 5`, `le="x"; want a number`},
		{"", name + "{priority_level=\"l\",instance=\"a\"} 5\n" + name + "{priority_level=\"l\",instance=\"b\"} 5\n",
			`{priority_level="l"} is there for several servers, {instance="a"} and {instance="b"}; want one server's metrics`},
	} {
		if _, err := betweenTexts(test.before, test.after); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q and %q: got %v, want %s", test.before, test.after, err, test.want)
		}
	}
}

// What a release does not report is said, and so are levels that the scenario does not have.
func TestWarnings(t *testing.T) {
	c := compareTexts(t, runsOf(1, nil), counter(3), counter(5))
	for _, want := range []string{
		"after.txt has no priority_level_seat_utilization (from 1.25 on), nominal_limit_seats (from 1.18 on), current_limit_seats (from 1.26 on), current_executing_seats (from 1.22 on) and demand_seats_high_watermark (from 1.26 on)",
		"the scenario does not have the priority level l, where the server had requests; use the server's configuration with --config",
	} {
		found := false
		for _, warning := range c.Warnings {
			found = found || warning == want
		}
		if !found {
			t.Errorf("warnings %q, want %s", c.Warnings, want)
		}
	}
}

// Whatever scrapes contain, they are refused or compared, and the result can be written as JSON.
func FuzzBetween(f *testing.F) {
	f.Add([]byte(counter(3)), []byte(waits(7)))
	f.Add([]byte(""), []byte(waits(7)+"apiserver_flowcontrol_nominal_limit_seats{priority_level=\"l\"} NaN\n"))
	f.Add([]byte(""), []byte(counter(1)+"apiserver_flowcontrol_request_execution_seconds_sum{priority_level=\"l\"} 1e308\napiserver_flowcontrol_request_execution_seconds_sum{priority_level=\"l\",type=\"a\"} 1e308\n"))
	runs := runsOf(2, map[string]compare.RunValues{"wait{priorityLevel:l}.count": {5, 7}, "wait{priorityLevel:l}.med": {5e6, 7e6}, "arrived{priorityLevel:l}.count": {5, 7}})
	f.Fuzz(func(t *testing.T, before, after []byte) {
		server, err := betweenTexts(string(before), string(after))
		if err != nil {
			return
		}
		c := Compare("runs", runs, server)
		first, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := json.Marshal(Compare("runs", runs, server)); !bytes.Equal(first, again) {
			t.Error("two comparisons differ")
		}
		if listed, _ := c.Listed(true); len(listed) == 0 {
			t.Error("nothing is listed")
		}
	})
}
