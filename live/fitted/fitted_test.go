package fitted

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The logs of a real server are fitted, and the scenario predicts most of what they say.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	logs := filepath.Join("..", "..", "sim", "trace", "logfile", "testdata")
	state := filepath.Join("..", "..", "cmd", "apfsim", "testdata", "live")
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
	r, err := Check(context.Background(), Logs{Dir: dir, Audit: "audit.log", HTTP: "kube-apiserver.log", Metrics: "after.metrics", Config: "config.yaml",
		From: from, To: from.Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	if r.Coverage != 0.95 || r.Statistics < 100 || r.Within < r.Statistics*9/10 || r.Within+len(r.Outside) != r.Statistics {
		t.Errorf("%+v", r)
	}
	// Nothing arrived a year later.
	if _, err := Check(context.Background(), Logs{Dir: dir, Audit: "audit.log", HTTP: "kube-apiserver.log", Metrics: "after.metrics",
		From: from.AddDate(1, 0, 0), To: from.AddDate(1, 0, 1)}); err == nil {
		t.Error("no error without requests")
	}
}
