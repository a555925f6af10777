package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"apfsim/experiment"
)

// A panic is a failure, and not wrong usage, and says what to report.
func TestPanicSaysWhatToReport(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(*cobra.Command, []string) error
		want []string
	}{
		"of a command": {func(*cobra.Command, []string) error { panic("invariant broken") },
			[]string{"apfsim: internal error: invariant broken\n", "error: invariant broken\ngoroutine "}},
		"of a run": {func(*cobra.Command, []string) error {
			return fmt.Errorf("a run failed: %w", &experiment.Panic{Run: "mice", Seed: 7, Value: "invariant broken", Stack: []byte("the stack")})
		}, []string{"apfsim: mice: internal error: invariant broken\n", "run: mice, seed 7\nerror: invariant broken\nthe stack"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := newRoot()
			root.AddCommand(&cobra.Command{Use: "panic", RunE: c.run})
			var stdout, stderr bytes.Buffer
			if status := executeRoot(root, []string{"panic", "a b"}, &stdout, &stderr); status != statusFailed {
				t.Errorf("exit status %d, want %d", status, statusFailed)
			}
			for _, want := range append(c.want, "Please report it", "version: "+buildVersion()+", ", `command: apfsim ["panic" "a b"]`) {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("the message does not contain %q:\n%s", want, &stderr)
				}
			}
		})
	}
}
