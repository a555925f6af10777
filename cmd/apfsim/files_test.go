package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"apfsim/experiment"
	"apfsim/experiment/output"
	"apfsim/experiment/upgrade"
	"apfsim/reports/files"
)

// Every flag that names a file or a folder is one of these. Who adds a flag adds it to the paths of its
// command, too, which refuse outputs that are inputs, and a case to testdata/script/overwrite.txt.
func TestFlagsOfFilesAreKnown(t *testing.T) {
	known := []string{
		"apfsim alerts --config", "apfsim collisions --chart",
		"apfsim compare --add-config", "apfsim compare --add-config-base", "apfsim compare --add-config-head", "apfsim compare --bench", "apfsim compare --config", "apfsim compare --config-base", "apfsim compare --config-head", "apfsim compare --metrics", "apfsim compare --out",
		"apfsim config diff --config", "apfsim config lint --metrics", "apfsim diagnose --config", "apfsim diagnose --metrics", "apfsim diagnose --out", "apfsim explain --add-config", "apfsim explain --config",
		"apfsim import --capacity-from", "apfsim import --config", "apfsim import --metrics", "apfsim import --out", "apfsim import --scenario",
		"apfsim sweep merge --out",
		"apfsim run --add-config", "apfsim run --config", "apfsim run --events", "apfsim run --junit", "apfsim run --openmetrics", "apfsim run --out",
		"apfsim sweep --add-config", "apfsim sweep --config", "apfsim sweep --out",
		"apfsim plan --catalogue", "apfsim plan --out", "apfsim tune --out", "apfsim upgrade --out",
	}
	var found []string
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			switch name, _ := pflag.UnquoteUsage(f); {
			case name == "FILE", name == "DIR", name == "BEFORE,AFTER":
				found = append(found, cmd.CommandPath()+" --"+f.Name)
			}
		})
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRoot())
	slices.Sort(found)
	for _, name := range found {
		if !slices.Contains(known, name) {
			t.Errorf("%s names a file that no test knows", name)
		}
	}
	for _, name := range known {
		if !slices.Contains(found, name) {
			t.Errorf("there is no %s", name)
		}
	}
}

// All files that a command writes to its folder are among those that it declares. Otherwise, one of them
// could be an input.
func TestWrittenFilesAreDeclared(t *testing.T) {
	dir := t.TempDir()
	scenario := filepath.Join(dir, "small.yaml")
	text := "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: small}\nspec:\n  duration: 1s\n  servers: {replicas: 2}\n  workload:\n" +
		"  - {name: w, as: {user: u}, request: {verb: get, resource: pods}, execution: 1ms, arrivals: {closed: {think: 100ms}}}\n"
	if err := os.WriteFile(scenario, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	everything := experiment.Outputs{Requests: true, Flows: true, DumpsNs: []int64{0}}
	for _, c := range []struct {
		folder string // within DIR
		names  []string
		args   []string
	}{
		{"small", everything.Names(), []string{"run", scenario, "--requests", "--flows", "--dump-at", "1s", "-o", "DIR"}},
		{"small", new(experiment.Outputs).Names(), []string{"run", scenario, "--replications", "2", "-o", "DIR"}},
		{"small-seed-1", new(experiment.Outputs).Names(), []string{"run", scenario, "--replications", "2", "-o", "DIR"}},
		{"", output.Written.Comparison, []string{"compare", scenario, "--set-head", "spec.seed=2", "--replications", "2", "-o", "DIR"}},
		{"", output.Written.Bench, []string{"compare", scenario, "--set-head", "spec.seed=2", "--replications", "2", "--bench", "DIR"}},
		{"", output.Written.Sweep, []string{"sweep", scenario, "--over", "spec.workload[w].clients=1,2", "--chart", "latency.p(99)", "-o", "DIR"}},
		{"", upgrade.Files, []string{"upgrade", "--from", "1.36", "--with", scenario, "-o", "DIR"}},
		{"fitted", fitFiles, []string{"import", "../../sim/trace/logfile/testdata/audit-lists.jsonl", "--fit", "--replications", "0", "-o", "DIR"}},
	} {
		out := t.TempDir()
		var stdout, stderr bytes.Buffer
		if status := execute(append(slices.Clone(c.args[:len(c.args)-1]), out), &stdout, &stderr); status != statusDone {
			t.Fatalf("%q: exit status %d: %s", c.args, status, &stderr)
		}
		written := 0
		filepath.WalkDir(filepath.Join(out, c.folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				t.Error(err)
			} else if !entry.IsDir() {
				written++
				var p files.Paths
				p.Read(path)
				p.WriteFolder("--out", filepath.Join(out, c.folder), c.names...)
				if err := p.Check(); err == nil || !strings.Contains(err.Error(), "would be overwritten") {
					t.Errorf("%q: %s is not declared", c.args, path)
				}
			}
			return nil
		})
		if written < 2 {
			t.Errorf("%q: wrote %d files", c.args, written)
		}
	}
}
