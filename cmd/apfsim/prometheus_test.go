package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"apfsim/experiment/output"
	"apfsim/reports/result"
)

// prometheus is a Prometheus server of its own, with the samples of an OpenMetrics file.
type prometheus struct{ address string }

// startPrometheus imports the file as promtool does, and serves it until the test ends.
func startPrometheus(t *testing.T, dir, file string) *prometheus {
	t.Helper()
	for _, program := range []string{"promtool", "prometheus"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed; Debian has it in the package prometheus", program)
		}
	}
	blocks := newProcess(t, dir, "promtool", "tsdb", "create-blocks-from", "openmetrics", file, "data")
	if status := blocks.wait(t); status != 0 {
		t.Fatalf("promtool: exit status %d\n%s%s", status, &blocks.out, &blocks.err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	server := newProcess(t, dir, "prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address="+address)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	until(t, "Prometheus is ready", func() bool {
		response, err := http.Get("http://" + address + "/-/ready")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	return &prometheus{address}
}

// query returns what an expression comes to at a time, by the label.
func (p *prometheus) query(t *testing.T, at time.Time, label, expression string) map[string]float64 {
	t.Helper()
	response, err := http.Get("http://" + p.address + "/api/v1/query?" +
		url.Values{"query": {expression}, "time": {at.Format(time.RFC3339Nano)}}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Error string
		Data  struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Error != "" {
		t.Fatalf("%s: %v %s", expression, err, answer.Error)
	}
	values := map[string]float64{}
	for _, r := range answer.Data.Result {
		value, err := strconv.ParseFloat(r.Value[1].(string), 64)
		if err != nil {
			t.Fatal(err)
		}
		values[r.Metric[label]] = value
	}
	return values
}

// A Prometheus server that has imported the metrics answers what the summary says.
func TestPrometheusSaysWhatTheSummarySays(t *testing.T) {
	dir := scratch(t)
	p := newProcess(t, dir, "apfsim", "run", "elephants-and-mice", "--set", "spec.warmup=0s", "--openmetrics", "metrics.om", "-o", "out")
	if status := p.wait(t); status != statusDone && status != statusThreshold {
		t.Fatalf("exit status %d\n%s", status, &p.err)
	}
	var summary result.Summary
	text, err := os.ReadFile(filepath.Join(dir, "out", "elephants-and-mice", "summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &summary); err != nil {
		t.Fatal(err)
	}
	server := startPrometheus(t, dir, "metrics.om")
	end := output.Epoch.Add(time.Duration(summary.DurationNs))
	query := func(expression string) map[string]float64 {
		return server.query(t, end, "priority_level", strings.ReplaceAll(expression, "APF", "apiserver_flowcontrol"))
	}
	const selected = `{job="apiserver",instance="elephants-and-mice"}`

	dispatched := query("sum by (priority_level) (APF_dispatched_requests_total" + selected + ")")
	rejected := query("sum by (priority_level) (APF_rejected_requests_total" + selected + ")")
	executing := query("sum by (priority_level) (APF_current_executing_requests)")
	waiting := query("sum by (priority_level) (APF_current_inqueue_requests)")
	nominal := query("APF_nominal_limit_seats")
	busy := query("APF_priority_level_seat_utilization_count") // nanoseconds
	quantile := map[string]map[string]float64{}
	for _, q := range []string{"0.5", "0.99"} {
		quantile[q] = query("histogram_quantile(" + q + `, sum by (priority_level, le) (APF_request_wait_duration_seconds_bucket{execute="true"}))`)
	}
	rate := query("rate(APF_dispatched_requests_total[50s])")
	seen := 0
	for _, l := range summary.PriorityLevels {
		for what, pair := range map[string][2]float64{
			"requests rejected": {rejected[l.Name], float64(l.Rejected)},
			"executing":         {executing[l.Name], float64(l.Executing)},
			"waiting":           {waiting[l.Name], float64(l.Waiting)},
			"dispatched":        {dispatched[l.Name], float64(l.Executed + l.Executing)},
			"nominal limit":     {nominal[l.Name], float64(l.Limits.Nominal)},
			"nanoseconds":       {busy[l.Name], float64(summary.DurationNs)},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%s: %s: Prometheus says %v, the summary %v", l.Name, what, pair[0], pair[1])
			}
		}
		if l.TimedOut > 0 || l.Executed == 0 {
			continue // time-outs are among the server's waits, and not among the summary's
		}
		seen++
		for q, ns := range map[string]int64{"0.5": l.Wait.P50Ns, "0.99": l.Wait.P99Ns} {
			inSummary := time.Duration(ns).Seconds()
			if got := quantile[q][l.Name]; bucket(got) != bucket(inSummary) {
				t.Errorf("%s: quantile %s of the wait: Prometheus says %v s, the summary %v s", l.Name, q, got, inSummary)
			}
		}
		if rate[l.Name] <= 0 {
			t.Errorf("%s: a rate of %v dispatches a second", l.Name, rate[l.Name])
		}
	}
	if seen == 0 || rejected["workload-low"] == 0 {
		t.Error("the run has nothing to compare")
	}
}

// The guide's commands do as it says, at the address of a server of the test's own.
func TestPrometheusGuide(t *testing.T) {
	const file = "docs/guides/own-cluster.md"
	dir := scratch(t)
	var server *prometheus
	for _, c := range docCommands(file, sections(documents(t)[file])["Prometheus"]) {
		switch {
		case strings.HasPrefix(c.line, "promtool tsdb"):
			server = startPrometheus(t, dir, "metrics.om")
		case c.line == promtoolQuery:
			got := splitLines(runLine(t, dir, c.at, strings.ReplaceAll(c.line, "localhost:9090", server.address)))
			slices.Sort(got) // a server answers in any order
			if !matches(c.output, got) {
				t.Errorf("%s: prints\n%s\nand the guide says\n%s", c.at, strings.Join(got, "\n"), strings.Join(c.output, "\n"))
			}
		default:
			runLine(t, dir, c.at, c.line)
		}
	}
}

// bucket returns which of the server's buckets of durations a number of seconds is in.
func bucket(seconds float64) int {
	i, _ := slices.BinarySearch([]float64{0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30}, seconds)
	return i
}
