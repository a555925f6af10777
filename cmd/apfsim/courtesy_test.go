package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// having returns the names of the commands that have a flag.
func having(flag string) (names []string) {
	forEachCommand(newRoot(), func(cmd *cobra.Command) {
		if cmd.Flags().Lookup(flag) != nil {
			names = append(names, cmd.Name())
		}
	})
	return names
}

// working are a command line of each command that shows progress.
var working = map[string]string{
	"run":        "apfsim run small.yaml --set spec.duration=1h",
	"list":       "apfsim scenarios list --incidents palark",
	"compare":    "apfsim compare small.yaml --set-head spec.seed=7 --replications 2 --set spec.duration=1h",
	"sweep":      "apfsim sweep small.yaml --over spec.workload[0].clients=1,2 --set spec.duration=1h -o $(mktemp -d -p .)",
	"import":     "apfsim run small.yaml -q --requests -o rec > rec.txt && apfsim import --fit rec/small --scenario small.yaml --replications 9 -o $(mktemp -d -p .)",
	"merge":      "apfsim sweep merge $(yes 'shards/0 shards/1' | head -n 100) -o $(mktemp -d -p .)",
	"tune":       "! apfsim tune small.yaml --goal 'latency{workload:w}: p(99) < 1us' --budget 20",
	"plan":       "! apfsim plan small.yaml --catalogue gce --goal 'latency{workload:w}: p(99) < 1us' --budget 20",
	"upgrade":    "apfsim upgrade --from 1.36 --with small.yaml --servers 1",
	"alerts":     "echo '{groups: [{name: g, rules: [{alert: A, expr: up == 0}]}]}' > rules.yaml; apfsim alerts rules.yaml small.yaml --set spec.duration=1h",
	"collisions": "apfsim collisions --deals 2000",
}

// Every command that has --quiet shows how far it is, and nothing of it with --quiet.
func TestQuietOnATerminal(t *testing.T) {
	for _, name := range having("quiet") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line := working[name]
			if line == "" {
				t.Fatal("no command line to try")
			}
			dir := folderWithShards(t)
			screen := func(line string) string {
				t.Helper()
				p := onTerminal(t, dir, "stty cols 80; export "+progressAtOnce+"=1; "+line)
				if status := p.wait(t); status != statusDone {
					t.Fatalf("%s: exit status %d: %s", line, status, &p.out)
				}
				return p.out.String()
			}
			if shown := screen(line); !strings.Contains(shown, " left ") {
				t.Fatalf("%s: no progress: %q", line, shown)
			}
			// A display writes over itself.
			shown := strings.ReplaceAll(screen(line+" --quiet"), "\r\n", "\n")
			if strings.Contains(shown, " left ") || strings.Contains(shown, "\r") {
				t.Errorf("%s --quiet: %q", line, shown)
			}
		})
	}
}

// coloured are a command line of each command that prints in colour.
var coloured = map[string]string{
	"run":     "apfsim run small.yaml",
	"compare": "apfsim compare small.yaml --set-head spec.workload[0].clients=3",
	"sweep":   "apfsim sweep small.yaml --over spec.workload[0].clients=1,2 -o $(mktemp -d -p .)",
	"merge":   "apfsim sweep merge swept -o $(mktemp -d -p .)",
}

// Every command that has --no-color prints in colour, but not with it, nor with NO_COLOR set,
// nor to a pipe.
func TestNoColourOnATerminal(t *testing.T) {
	dir := folderWithScenario(t)
	if p := newProcess(t, dir, "sh", "-c", strings.ReplaceAll(coloured["sweep"], "$(mktemp -d -p .)", "swept")); p.wait(t) != statusDone {
		t.Fatal(p.err.String())
	}
	for _, name := range having("no-color") {
		if coloured[name] == "" {
			t.Errorf("%s: no command line to try", name)
			continue
		}
		for line, want := range map[string]bool{
			"unset NO_COLOR; " + coloured[name]:                 true,
			"unset NO_COLOR; " + coloured[name] + " --no-color": false,
			"unset NO_COLOR; " + coloured[name] + " | cat":      false,
			"export NO_COLOR=1; " + coloured[name]:              false,
			"export NO_COLOR=; " + coloured[name]:               true, // no-color.org: "when present and not an empty string"
		} {
			p := onTerminal(t, dir, line)
			if status := p.wait(t); status != statusDone {
				t.Fatalf("%s: exit status %d: %s", line, status, &p.out)
			}
			if strings.Contains(p.out.String(), "\x1b[") != want {
				t.Errorf("%s: coloured %v, want %v: %q", line, !want, want, &p.out)
			}
		}
	}
}

// Whichever command or flag is misspelt, the message says what it was taken for.
func TestEveryNameIsSuggested(t *testing.T) {
	suggestion := regexp.MustCompile(`^apfsim: unknown (?:command ".*" of .*|flag \S+) \(did you mean "(.+)"\?\)\n`)
	tried := 0
	try := func(name string, args ...string) {
		t.Helper()
		tried++
		var stdout, stderr bytes.Buffer
		status := execute(args, &stdout, &stderr)
		m := suggestion.FindStringSubmatch(stderr.String())
		if status != statusInvalid || m == nil || m[1] != name || stdout.Len() > 0 {
			t.Errorf("apfsim %q: exit status %d: %s", args, status, &stderr)
		}
	}
	forEachCommand(newRoot(), func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		if len(path) > 0 && cmd.CommandPath() != "apfsim sweep merge" { // a misspelt one is a scenario for sweep
			try(cmd.Name(), append(append([]string(nil), path[:len(path)-1]...), doubled(cmd.Name()))...)
		}
		cmd.InitDefaultHelpFlag()
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			try("--"+f.Name, append(append([]string(nil), path...), "--"+doubled(f.Name))...)
		})
	})
	if tried < 80 {
		t.Errorf("only %d names were tried", tried)
	}
}

// doubled returns a name with its last letter typed twice.
func doubled(name string) string { return name + name[len(name)-1:] }
