package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An earlier comparison is made again without a server: first of what a server has answered, then of what it has not.
func TestAgain(t *testing.T) {
	dir := t.TempDir()
	for from, to := range map[string]string{"../../../../scenarios/traces/apply.jsonl": "trace.jsonl", "../../apicalls/testdata/apply.jsonl": "live.jsonl"} {
		text, err := os.ReadFile(filepath.FromSlash(from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	if status := run(context.Background(), &stdout, &stderr, []string{"-again", dir}); status != 0 || !strings.Contains(stdout.String(), "87 calls, 87 compared, 0 differences") {
		t.Errorf("exit status %d, %s%s", status, &stdout, &stderr)
	}
	file := filepath.Join(dir, "live.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(`"id":2,"status":409,"statusReason":"Conflict"`), []byte(`"id":2,"status":200`), 1)
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	stdout.Reset()
	status := run(context.Background(), &stdout, &stderr, []string{"-again", dir})
	if status != 1 || !strings.Contains(stdout.String(), "call 2 patch ") || !strings.Contains(stdout.String(), "differs in status, statusReason") {
		t.Errorf("exit status %d, %s%s", status, &stdout, &stderr)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range []string{"-replay", "trace.jsonl", "-again -replay x", "-record x", "-calls 0", "-no-such-flag"} {
		var stdout, stderr bytes.Buffer
		if status := run(context.Background(), &stdout, &stderr, strings.Fields(args)); status != 2 || stderr.Len() == 0 {
			t.Errorf("%s: exit status %d, %s", args, status, &stderr)
		}
	}
}
