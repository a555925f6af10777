package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// notRun are the command lines of the documentation and of the help that the tests do not
// run, and why.
var notRun = map[string]string{
	"kubectl get flowschemas,prioritylevelconfigurations -o yaml > cluster.yaml":     "no cluster at hand; the library's file stands in",
	"kubectl get --raw /debug/api_priority_and_fairness/dump_requests":               "no cluster at hand",
	"jq -c --slurp -f audit-to-trace.jq audit.log > incident.jsonl":                  "no audit log at hand, nor always jq",
	"apfsim run incident.yaml --config cluster.yaml -o before":                       "the reader's own incident",
	"apfsim run incident.yaml --config cluster.yaml --config proposal.yaml -o after": "the reader's own incident",
	"#!/bin/sh":                      "a script to be adapted, with all scenarios five times: too long for a test",
	"export PATH=\"$PWD/bin:$PATH\"": "the tests' own apfsim is on the path",
}

// others are programs that the documentation runs beside apfsim, and what fails where they,
// or what they need, are missing. Lines that begin with them are left out there.
var others = map[string]string{
	"promtool": "promtool --version",
	"python3":  "python3 -c 'import pandas'",
	"duckdb":   "duckdb --version",
	"sbatch":   "sinfo", // a test of its own has a cluster
}

// missing reports whether a command line needs one of the others, and it is not there.
func missing(line string) bool {
	program, _, _ := strings.Cut(line, " ")
	probe := others[program]
	return probe != "" && exec.Command("sh", "-c", probe).Run() != nil
}

// Programs that build or test this very module are not run by its tests.
var builders = regexp.MustCompile(`^(make|go|git|docker) `)

// docCommand is a command line of a document, with the output that follows it there.
type docCommand struct {
	at     string // file:line
	line   string
	output []string
}

// docCommands returns the commands of a Markdown text: in console blocks the lines behind
// "$ ", with their here-documents, and in sh blocks each line.
func docCommands(file, text string) []docCommand {
	var commands []docCommand
	block, hereDocument := "", ""
	for i, line := range strings.Split(text, "\n") {
		last := len(commands) - 1
		switch {
		case hereDocument != "":
			commands[last].line += "\n" + line
			if line == hereDocument {
				hereDocument = ""
			}
		case strings.HasPrefix(line, "```"):
			if block == "" {
				block = line
			} else {
				block = ""
			}
		case block == "```console" && strings.HasPrefix(line, "$ "), block == "```sh" && line != "":
			at := fmt.Sprintf("%s:%d", file, i+1)
			commands = append(commands, docCommand{at: at, line: strings.TrimPrefix(line, "$ ")})
			if m := regexp.MustCompile(`<<'(\w+)'`).FindStringSubmatch(line); m != nil {
				hereDocument = m[1]
			}
			if strings.HasPrefix(line, "#!") {
				block += " script"
			}
		case block == "```console":
			commands[last].output = append(commands[last].output, line)
		}
	}
	return commands
}

// scratch returns a folder with a copy of the library, as in a clone of the repository.
func scratch(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "scenarios"), os.DirFS("../../scenarios")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// runLine runs a command line and returns its stdout. What is not run leaves what it
// would have written, if that is at hand.
func runLine(t *testing.T, dir, at, line string) []byte {
	t.Helper()
	if _, known := notRun[line]; known || builders.MatchString(line) {
		if strings.HasSuffix(line, "> cluster.yaml") {
			cluster, err := os.ReadFile(filepath.Join(dir, "scenarios/config/cluster-flowcontrol.yaml"))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "cluster.yaml"), cluster, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return nil
	}
	p := newProcess(t, dir, "sh", "-c", strings.TrimPrefix(line, "bin/"))
	if status := p.wait(t); status != statusDone {
		t.Errorf("%s: %s\nexit status %d\n%s", at, line, status, p.err.String())
	}
	return p.out.Bytes()
}

// Everything that the documentation tells the reader to type works, and prints what it
// says; a line of three dots stands for any lines.
func TestDocumentation(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || testing.Short() {
		t.Skip("there is no shell, or no time")
	}
	documents := []string{"../../README.md"}
	err := filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			documents = append(documents, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range documents {
		t.Run(strings.TrimPrefix(filepath.ToSlash(file), "../../"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := scratch(t)
			for _, c := range docCommands(file, string(text)) {
				if missing(c.line) {
					t.Logf("%s: not run, for want of the program: %s", c.at, c.line)
					continue
				}
				printed := runLine(t, dir, c.at, c.line)
				if got := splitLines(printed); len(c.output) > 0 && !matches(c.output, got) {
					t.Errorf("%s: %s\nprints\n%s\nand the document says\n%s", c.at, c.line,
						strings.Join(got, "\n"), strings.Join(c.output, "\n"))
				}
			}
		})
	}
}

func splitLines(text []byte) []string {
	var all []string
	for line := range bytes.Lines(text) {
		all = append(all, strings.TrimRight(string(line), " \n"))
	}
	return all
}

// matches reports whether lines are those wanted, where "..." stands for any.
func matches(wanted, lines []string) bool {
	if len(wanted) == 0 {
		return len(lines) == 0
	}
	if wanted[0] != "..." {
		return len(lines) > 0 && strings.TrimRight(wanted[0], " ") == lines[0] && matches(wanted[1:], lines[1:])
	}
	// The shortest that will do will do: what follows is looked for up to the next dots only.
	for skipped := range len(lines) + 1 {
		next := slices.Index(wanted[1:], "...")
		if next < 0 {
			if rest := len(wanted) - 1; len(lines)-skipped == rest {
				return matches(wanted[1:], lines[skipped:])
			}
			continue
		}
		if len(lines)-skipped >= next && matches(wanted[1:1+next], lines[skipped:skipped+next]) {
			return matches(wanted[1+next:], lines[skipped+next:])
		}
	}
	return false
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		wanted, lines string
		want          bool
	}{
		{"a b", "a b", true},
		{"a", "a b", false},
		{"a b", "a", false},
		{"...", "", true},
		{"... b", "a b", true},
		{"... b", "b a b", true},
		{"... b", "b a", false},
		{"a ...", "a b c", true},
		{"a ...", "b a", false},
		{"... b ...", "a b c", true},
		{"... b c ... e", "a b x b c d e", true},
		{"... b ... b ...", "a b c", false},
	} {
		if got := matches(strings.Fields(c.wanted), strings.Fields(c.lines)); got != c.want {
			t.Errorf("%q and %q: %v", c.wanted, c.lines, got)
		}
	}
}

// The examples of every command's help work.
func TestExamplesOfTheHelp(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell")
	}
	dir := scratch(t)
	// What the examples take for granted.
	for _, name := range []string{"my-scenario.yaml", "incident.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(smallScenario), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	examples := map[string]bool{}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			if line = strings.TrimSpace(line); !examples[line] {
				runLine(t, dir, cmd.CommandPath(), line)
			}
			examples[line] = true
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRoot())
	if len(examples) < 15 {
		t.Errorf("only %d examples were found", len(examples))
	}
}
