package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// forEachCommand calls f for each command that the help lists, the program itself first.
func forEachCommand(cmd *cobra.Command, f func(cmd *cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			forEachCommand(sub, f)
		}
	}
}

// Each command has a page, which has each of its flags and is set without a warning.
func TestManPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	var stdout, stderr bytes.Buffer
	if status := execute([]string{"man", dir}, &stdout, &stderr); status != statusDone {
		t.Fatalf("exit status %d: %s", status, &stderr)
	}
	_, noGroff := exec.LookPath("groff")
	if noGroff != nil {
		t.Run("groff", func(t *testing.T) { t.Skip("groff is not installed") })
	}
	pages := map[string]string{}
	for _, path := range regular(t, dir) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(path)] = string(text)
		if noGroff != nil {
			continue
		}
		warnings, err := exec.Command("groff", "-man", "-Tutf8", "-z", "-ww", path).CombinedOutput()
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v: %s", path, err, warnings)
		}
	}
	n := 0
	forEachCommand(newRoot(), func(cmd *cobra.Command) {
		n++
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		page := strings.ReplaceAll(pages[name], `\-`, "-")
		if !strings.Contains(page, "\n"+cmd.CommandPath()) && !strings.Contains(page, "fB"+cmd.CommandPath()) {
			t.Errorf("%s does not say how the command is called: %q", name, page)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(page, "--"+f.Name+`\fP`) {
				t.Errorf("%s has no --%s", name, f.Name)
			}
		})
	})
	if len(pages) != n {
		t.Errorf("%d pages for %d commands", len(pages), n)
	}
}

func TestManPagesWrongUsage(t *testing.T) {
	dir := folderWithScenario(t)
	for _, c := range []struct {
		status int
		args   []string
		want   string
	}{
		{statusInvalid, []string{"man"}, "apfsim: want the folder to write to\n"},
		{statusInvalid, []string{"man", ""}, "apfsim: the name of the folder is empty\n"},
		{statusInvalid, []string{"man", filepath.Join(dir, "small.yaml", "man")}, "small.yaml is a file; want a folder\n"},
	} {
		var stdout, stderr bytes.Buffer
		if status := execute(c.args, &stdout, &stderr); status != c.status || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("apfsim %q: exit status %d: %s", c.args, status, &stderr)
		}
	}
}
