package fitted

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"apfsim/lab/live/outcome"
)

// logged copies the logs of a real server, of a minute, to a folder.
func logged(t *testing.T) Logs {
	t.Helper()
	dir := t.TempDir()
	logs := filepath.Join("..", "..", "..", "sim", "trace", "logfile", "testdata")
	state := filepath.Join("..", "..", "..", "cmd", "apfsim", "testdata", "live")
	for name, from := range map[string]string{"audit.log": filepath.Join(logs, "audit-lists.jsonl"), "kube-apiserver.log": filepath.Join(logs, "httplog-lists.log"),
		"after.metrics": filepath.Join(state, "metrics.txt"), "config.yaml": filepath.Join(state, "cluster.yaml")} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	from := time.Date(2026, 11, 21, 22, 53, 48, 0, time.UTC)
	return Logs{Dir: dir, Audit: "audit.log", HTTP: "kube-apiserver.log", Metrics: "after.metrics", Config: "config.yaml", From: from, To: from.Add(time.Minute)}
}

// The logs of a real server are fitted, and the scenario predicts most of what they say.
func TestCheck(t *testing.T) {
	logs := logged(t)
	r, err := Check(context.Background(), logs)
	if err != nil {
		t.Fatal(err)
	}
	if r.Coverage != 0.95 || r.Statistics < 100 || r.Within < r.Statistics*9/10 || r.Within+len(r.Outside) != r.Statistics {
		t.Errorf("%+v", r)
	}
	// Nothing arrived a year later.
	logs.From, logs.To = logs.From.AddDate(1, 0, 0), logs.To.AddDate(1, 0, 0)
	if _, err := Check(context.Background(), logs); err == nil {
		t.Error("no error without requests")
	}
}

// fiftySeconds are servers that have a load of 50 s.
var fiftySeconds = Servers{MaxRequestsInflight: 400, MaxMutatingRequestsInflight: 200, Stop: 50 * time.Second, Duration: 55 * time.Second}

// A capacity that was measured is that of the model, which is run with both ends of its interval as well.
func TestModelOfMeasuredCapacity(t *testing.T) {
	m, err := Fit(context.Background(), logged(t), fiftySeconds, "model", "{cores: 1.5, interval: {cores: {low: 1.4, high: 1.6}}}")
	if err != nil {
		t.Fatal(err)
	}
	if m.Known { // the log does not say when requests began to execute
		t.Errorf("%q; want executions that are not demands", m.Capacity)
	}
	sc, err := outcome.Load(m.file)
	if err != nil {
		t.Fatal(err)
	}
	if c := sc.Spec.Servers.Capacity; c == nil || c.Cores != 1.5 {
		t.Errorf("%+v", c)
	}
	estimate, ends, err := m.Run(context.Background(), 3, "list", 1)
	if err != nil || len(ends) != 2 {
		t.Fatalf("%d ends, %v", len(ends), err)
	}
	took := func(run []outcome.Outcome) (sum int64) {
		for i := range run {
			sum += run[i].FinishNs - run[i].ArrivalNs
		}
		return sum
	}
	if least, middle, greatest := took(ends[0]), took(estimate), took(ends[1]); least <= middle || middle <= greatest {
		t.Errorf("requests take %d ns with the least capacity, %d with the estimate, and %d with the greatest", least, middle, greatest)
	}
}

// A model predicts the requests of another load: those with the verb arrive as often as is asked for, and the others as before.
func TestModel(t *testing.T) {
	m, err := Fit(context.Background(), logged(t), fiftySeconds, "model", "")
	if err != nil {
		t.Fatal(err)
	}
	if m.Known || !strings.HasPrefix(m.Capacity, "capacity: unknown, because ") {
		t.Errorf("%v, %q; want no capacity, because the log shows no busy moment", m.Known, m.Capacity)
	}
	count := func(load float64) map[string]int {
		run, _, err := m.Run(context.Background(), 3, "list", load)
		if err != nil {
			t.Fatal(err)
		}
		counts := map[string]int{}
		for i := range run {
			counts[run[i].Verb]++
			if run[i].ArrivalNs > int64(50*time.Second) {
				t.Fatalf("%s at %d ns; want none after 50s", run[i].Verb, run[i].ArrivalNs)
			}
		}
		return counts
	}
	once, thrice := count(1), count(3)
	if n := float64(thrice["list"]) / float64(once["list"]); once["list"] < 50 || n < 2.3 || n > 3.7 {
		t.Errorf("%d lists, and %d with three times the load", once["list"], thrice["list"])
	}
	if once["get"] == 0 || once["get"] != thrice["get"] {
		t.Errorf("%d and %d gets; want as many", once["get"], thrice["get"])
	}
	if _, _, err := m.Run(context.Background(), 3, "patch", 2); err == nil || !strings.Contains(err.Error(), "no workload has requests with the verb patch") {
		t.Error(err)
	}
}
