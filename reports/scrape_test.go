package reports_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"apfsim/experiment/output"
	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/record"
	"apfsim/reports/result"
	"apfsim/reports/scrape"
	"apfsim/sim"
	"apfsim/sim/scenario/loader"
)

// crowdedOn runs the crowded scenario without a warm-up, which metrics do not have, on a release of
// Kubernetes with the seeds from 1 to n. It returns the runs and the metrics of the first one, in the
// OpenMetrics format with a sample every 10 s.
func crowdedOn(t *testing.T, version string, n int) (*compare.Replications, string) {
	t.Helper()
	all := compare.NewReplicator("crowded", 0, nil)
	text := ""
	for i := range n {
		spec := strings.Replace(crowded, "  warmup: 5s\n", fmt.Sprintf("  seed: %d\n", i+1), 1)
		spec = strings.Replace(spec, "servers: {", "servers: {kubernetesVersion: \""+version+"\", ", 1)
		scenarios, mistakes := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(spec)}}, "s.yaml", loader.Options{})
		if err := mistakes.Err(); err != nil {
			t.Fatal(err)
		}
		sc := scenarios[0]
		run := sim.New(sc)
		c := collect.New(sc, run.Server, result.Interval(int64(sc.Spec.Duration)))
		run.Observe(c.Observer())
		metrics := &bytes.Buffer{}
		m := record.NewOpenMetrics(metrics, sc, run.Servers(), output.Epoch, 10_000_000_000)
		run.Observe(m.Observer())
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		all.Add(&collect.Replication{Summary: c.Result().Summary})
		if i == 0 {
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			text = metrics.String()
		}
	}
	return all.Replications(), text
}

// scrapeAt returns the samples of one time of a run, as a server serves them.
func scrapeAt(metrics string, second float64) string {
	var b strings.Builder
	for line := range strings.Lines(metrics) {
		line = strings.TrimSuffix(line, "\n")
		space := strings.LastIndexByte(line, ' ')
		if at, err := strconv.ParseFloat(line[space+1:], 64); err == nil && at == float64(output.Epoch.Unix())+second {
			b.WriteString(line[:space] + "\n")
		}
	}
	return b.String()
}

func readScrape(t *testing.T, name, text string) *scrape.Scrape {
	t.Helper()
	s, err := scrape.Read(name, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func between(t *testing.T, before, after *scrape.Scrape) *scrape.Interval {
	t.Helper()
	server, err := scrape.Between(before, after)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// unequal returns the names of the statistics that are not equal or, of percentiles, not in their
// buckets.
func unequal(c *scrape.Comparison) (names []string) {
	for _, s := range c.Statistics {
		switch s.Outcome {
		case scrape.Above, scrape.Below, scrape.Untested:
			names = append(names, s.PriorityLevel+s.FlowSchema+" "+s.Name)
		}
	}
	return names
}

func find(t *testing.T, c *scrape.Comparison, level, name string) scrape.Statistic {
	t.Helper()
	for _, s := range c.Statistics {
		if s.PriorityLevel == level && s.Name == name {
			return s
		}
	}
	t.Fatalf("%s has no %s", level, name)
	return scrape.Statistic{}
}

// A run has the numbers of its own metrics, on every release: those of requests exactly, and percentiles
// in their buckets. Its metrics are one scrape, of a server that has just started, in the format of
// OpenMetrics, of Prometheus, and packed.
func TestRunBesideItsOwnMetrics(t *testing.T) {
	for _, version := range []string{"1.19", "1.23", "1.25", "1.27", "1.28", "1.37"} {
		runs, text := crowdedOn(t, version, 1)
		last := scrapeAt(text, 40)
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write([]byte(last))
		z.Close()
		for format, text := range map[string]string{"OpenMetrics": text, "Prometheus": last, "gzip": packed.String()} {
			c := scrape.Compare("crowded", runs, between(t, nil, readScrape(t, "metrics.txt", text)))
			if names := unequal(c); len(names) > 0 {
				t.Errorf("%s, %s: %s differ", version, format, strings.Join(names, ", "))
			}
			for _, name := range []string{"dispatched", "rejected: queue-full", "rejected: time-out", "wait mean", "execution mean", "nominal limit"} {
				if s := find(t, c, "workload-low", name); s.Outcome != scrape.Equal || *s.Server == 0 {
					t.Errorf("%s, %s: %s is %+v", version, format, name, s)
				}
			}
			for _, name := range []string{"wait p50", "wait p90", "wait p99"} {
				s := find(t, c, "workload-low", name)
				if s.Outcome != scrape.Within || *s.ServerHigh <= *s.ServerLow || *s.Run > 1.001**s.ServerHigh || *s.Run < *s.ServerLow || *s.Difference != 0 {
					t.Errorf("%s, %s: %s is %+v", version, format, name, s)
				}
			}
			if s := find(t, c, "exempt", "dispatched"); s.Outcome != scrape.Equal || *s.Server == 0 {
				t.Errorf("%s, %s: the exempt level dispatched %+v", version, format, s)
			}
			if known := c.Server.LengthNs != nil; known != (version >= "1.25") || known && *c.Server.LengthNs != 40e9 {
				t.Errorf("%s, %s: the length is %v", version, format, c.Server.LengthNs)
			}
		}
	}
}

// One number that differs is found: a dispatched request more, of a FlowSchema and therefore of its level.
func TestChangedNumberIsFound(t *testing.T) {
	runs, text := crowdedOn(t, "1.37", 1)
	last := scrapeAt(text, 40)
	from := strings.Index(last, "apiserver_flowcontrol_dispatched_requests_total{flow_schema=\"service-accounts\"")
	line, _, _ := strings.Cut(last[from:], "\n")
	space := strings.LastIndexByte(line, ' ')
	count, err := strconv.ParseFloat(line[space+1:], 64)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(last, line, fmt.Sprintf("%s %g", line[:space], count+1), 1)
	c := scrape.Compare("crowded", runs, between(t, nil, readScrape(t, "metrics.txt", changed)))
	if got, want := strings.Join(unequal(c), ", "), "workload-low dispatched, service-accounts dispatched"; got != want {
		t.Errorf("%s differ, want %s", got, want)
	}
	if s := find(t, c, "workload-low", "dispatched"); *s.Difference != -1 || s.Outcome != scrape.Untested {
		t.Errorf("got %+v", s)
	}
}

// What a server did in two halves of a time adds up to what it did in all of it.
func TestIntervalsAddUp(t *testing.T) {
	_, text := crowdedOn(t, "1.37", 1)
	half, end := readScrape(t, "half.txt", scrapeAt(text, 20)), readScrape(t, "end.txt", scrapeAt(text, 40))
	first, second, both := between(t, nil, half), between(t, half, end), between(t, nil, end)
	for i, all := range both.Levels {
		a, b := first.Levels[i], second.Levels[i]
		if a.Name != all.Name || a.Dispatched+b.Dispatched != all.Dispatched || a.Waits.Count()+b.Waits.Count() != all.Waits.Count() ||
			a.Rejected["time-out"]+b.Rejected["time-out"] != all.Rejected["time-out"] || a.Utilisation.Count+b.Utilisation.Count != all.Utilisation.Count {
			t.Errorf("%s: %+v and %+v are not %+v", all.Name, a, b, all)
		}
	}
	if *second.LengthNs != 20e9 || second.Before != "half.txt" || len(second.Warnings) != 1 || !strings.Contains(second.Warnings[0], " requests queued at the first scrape: ") || len(first.Warnings) != 1 {
		t.Errorf("the second half lasts %d ns, from %s; warnings %v and %v", *second.LengthNs, second.Before, first.Warnings, second.Warnings)
	}
	if _, err := scrape.Between(end, half); err == nil || !strings.Contains(err.Error(), "half.txt: is not a later scrape of the process of end.txt; the server may have restarted, or the files may be in the wrong order: apiserver_flowcontrol_") {
		t.Errorf("scrapes in the wrong order: %v", err)
	}
}

// Several runs have an interval in which one more is expected. The first of them is within, and a server
// that dispatched half as many requests is not.
func TestServerBesideSeveralRuns(t *testing.T) {
	runs, text := crowdedOn(t, "1.37", 5)
	end := readScrape(t, "end.txt", scrapeAt(text, 40))
	c := scrape.Compare("crowded", runs, between(t, nil, end))
	if s := find(t, c, "workload-low", "dispatched"); s.Runs != 5 || s.Outcome != scrape.Within || !(*s.RunLow < *s.Run && *s.Run < *s.RunHigh) {
		t.Errorf("the first run is %+v", s)
	}
	c = scrape.Compare("crowded", runs, between(t, readScrape(t, "half.txt", scrapeAt(text, 20)), end))
	if s := find(t, c, "workload-low", "dispatched"); s.Outcome != scrape.Below || *s.Difference <= 0 || c.Outside == 0 {
		t.Errorf("half of the first run is %+v", s)
	}
	if !strings.Contains(strings.Join(c.Warnings, "\n"), "the server was observed for 20 s, and the statistics of the run are of 40 s") {
		t.Errorf("warnings: %q", c.Warnings)
	}
}
