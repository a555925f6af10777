package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

var manFolder = flag.String("man", "", "folder to which the man pages are written, with the date SOURCE_DATE_EPOCH")

// forEachCommand calls f for each command that the help lists, the program itself first.
func forEachCommand(cmd *cobra.Command, f func(cmd *cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			forEachCommand(sub, f)
		}
	}
}

// manPages returns the page of each command, by its file name.
func manPages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	forEachCommand(newRoot(), func(cmd *cobra.Command) {
		cmd.DisableAutoGenTag = true // the tag would contain the current date
		var page bytes.Buffer
		if err := doc.GenMan(cmd, &doc.GenManHeader{Section: "1", Source: "apfsim " + buildVersion(), Manual: "apfsim"}, &page); err != nil {
			t.Fatal(err)
		}
		pages[strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"] = page.String()
	})
	return pages
}

// Each command has a page, which has each of its flags and is set without a warning.
func TestManPages(t *testing.T) {
	dir := *manFolder
	if dir == "" {
		dir = t.TempDir()
	}
	_, noGroff := exec.LookPath("groff")
	if noGroff != nil {
		t.Run("groff", func(t *testing.T) { t.Skip("groff is not installed") })
	}
	pages := manPages(t)
	for name, text := range pages {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if noGroff != nil {
			continue
		}
		warnings, err := exec.Command("groff", "-man", "-Tutf8", "-z", "-ww", path).CombinedOutput()
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v: %s", path, err, warnings)
		}
	}
	forEachCommand(newRoot(), func(cmd *cobra.Command) {
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
}
