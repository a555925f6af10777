package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// sections returns what follows each heading of the second level, by the heading.
func sections(text string) map[string]string {
	all := map[string]string{}
	for _, section := range strings.Split(text, "\n## ")[1:] {
		heading, body, _ := strings.Cut(section, "\n")
		all[heading] = body
	}
	return all
}

var (
	codeSpan = regexp.MustCompile("`[^`\n]+`")
	flagName = regexp.MustCompile(`--[a-z][a-z-]*`)
)

// The reference and the README have every command, the reference every flag, and no other.
func TestReferenceHasEveryCommandAndFlag(t *testing.T) {
	all := documents(t)
	reference := sections(all["docs/reference/commands.md"])
	for _, command := range newRoot().Commands() {
		if command.Name() == "help" {
			continue
		}
		calls := regexp.MustCompile(regexp.QuoteMeta(command.CommandPath()) + `\b`)
		if !command.Hidden && !calls.MatchString(sections(all["README.md"])["Commands"]) {
			t.Errorf("README.md, Commands: there is no %s", command.CommandPath())
		}
		var described string
		for heading, body := range reference {
			if calls.MatchString(heading) {
				described = body
			}
		}
		if described == "" {
			t.Errorf("docs/reference/commands.md: there is no section on %s", command.CommandPath())
			continue
		}
		code := strings.Join(codeSpan.FindAllString(described, -1), " ")
		flags := map[string]bool{"help": true, "no-descriptions": true} // as in any program
		forEachCommand(command, func(cmd *cobra.Command) {
			if !regexp.MustCompile(`\b`+cmd.Name()+`\b`).MatchString(code+command.Name()) || cmd.Short == "" {
				t.Errorf("docs/reference/commands.md, %s: there is no %s", command.CommandPath(), cmd.CommandPath())
			}
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if !flags[f.Name] && !slices.Contains(flagName.FindAllString(code, -1), "--"+f.Name) {
					t.Errorf("docs/reference/commands.md, %s: there is no --%s", command.CommandPath(), f.Name)
				}
				flags[f.Name] = true
			})
		})
		for line := range strings.Lines(described) {
			cell, isRow := strings.CutPrefix(line, "| `")
			cell, _, _ = strings.Cut(cell, " | ")
			for _, name := range flagName.FindAllString(cell, -1) {
				if isRow && !flags[name[2:]] {
					t.Errorf("docs/reference/commands.md, %s: it has no flag %s", command.CommandPath(), name)
				}
			}
		}
	}
}

// Every document is in the index, and every link leads somewhere.
func TestDocumentsAreLinked(t *testing.T) {
	all := documents(t)
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	linked := map[string]bool{"docs/README.md": true, "README.md": true}
	for name, text := range all {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			path, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(path, "://") {
				continue
			}
			target := name
			if path != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(name), path))
			}
			if name == "docs/README.md" || name == "lab/README.md" {
				linked[target] = true
			}
			if _, err := os.Stat(filepath.Join("../..", target)); err != nil {
				t.Errorf("%s: %s: %v", name, m[1], err)
			}
			if anchor != "" && !slices.Contains(anchors(all[target]), anchor) {
				t.Errorf("%s: %s: there is no such heading; there are %q", name, m[1], anchors(all[target]))
			}
		}
	}
	for name := range all {
		if !linked[name] {
			t.Errorf("docs/README.md does not link to %s", name)
		}
	}
}

// anchors returns those of the headings, as GitHub makes them.
func anchors(text string) (all []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		kept := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		all = append(all, strings.ReplaceAll(kept, " ", "-"))
	}
	return all
}

// busyScenario has something to show in every file and chart.
const busyScenario = `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: busy}
spec:
  duration: 6s
  workload:
  - name: many
    clients: 4
    as: {serviceAccount: "many/a-{i}"}
    request: {verb: list, resource: pods, namespace: many}
    execution: {exponential: {mean: 200ms}}
    arrivals: {poisson: {rate: 300/s}}
  - name: few
    clients: 4
    as: {serviceAccount: "few/a-{i}"}
    request: {verb: create, resource: pods, namespace: few}
    execution: 10ms
    arrivals: {poisson: {rate: 10/s}}
  - name: watchers
    as: {user: w}
    request: {verb: watch, resource: pods, namespace: few, watch: {duration: 1s}}
    execution: 10ms
    arrivals: {poisson: {rate: 10/s}}
  thresholds:
    "rejected{workload:few}": ["rate >= 0", {threshold: rate >= 0, over: 2s}]
`

// exports are command lines that together write every kind of file there is, and every answer
// in JSON.
var exports = []string{
	"run busy.yaml -o one --requests --dump-at 3s --junit junit.xml --openmetrics metrics.om --events events.json --events-window 3s:4s",
	"run busy.yaml -o several --replications 3",
	"compare several/busy busy.yaml --seed 7 --replications 3 -o comparison --bench bench --fail-on 'arrived > +500%'",
	"sweep busy.yaml --over spec.workload[0].clients=2,4 --over spec.workload[1].clients=2,4 --replications 2 -o sweep",
	"explain --node n --verb update --resource pods --format json > explain.json",
	"config seats --format json > seats.json",
	"collisions --deals 10 --format json > collisions.json",
}

// printed are those of them that are no files but answers: of which command.
var printed = map[string]string{"explain.json": "apfsim explain", "seats.json": "apfsim config seats", "collisions.json": "apfsim collisions"}

// Every file that a command writes is described in the reference, with the columns of its
// table, or its fields and the version of its schema.
func TestReferenceHasEveryFile(t *testing.T) {
	noWindows(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "busy.yaml"), []byte(busyScenario), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, line := range exports {
		p := newProcess(t, dir, "sh", "-c", "apfsim "+line)
		if status := p.wait(t); status != statusDone {
			t.Fatalf("apfsim %s: exit status %d: %s", line, status, &p.err)
		}
	}
	var reference strings.Builder
	for name, text := range documents(t) {
		if strings.HasPrefix(name, "docs/reference/") {
			reference.WriteString(text)
		}
	}
	described := map[string]bool{}
	for _, span := range codeSpan.FindAllString(reference.String(), -1) {
		span = strings.Trim(span, "`")
		described[span] = true
		described[filepath.Base(span)] = true // as of dumps/TIME/dump_queues.csv
	}
	seen := map[string]bool{}
	for _, path := range regular(t, dir) {
		name, _ := filepath.Rel(dir, path)
		if name == "busy.yaml" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		base, kind := filepath.Base(name), filepath.Ext(name)
		for _, c := range []struct{ pattern, described string }{ // names that vary
			{`^sweep/charts/.*(\.svg|\.png)$`, "STATISTIC$1"},
			{`^sweep/runs/point-\d+-seed-\d+.csv$`, "point-POINT-seed-SEED.csv"},
			{`^.*/charts/(queues|service)-.*$`, "$1-LEVEL"},
			{`^.*/charts/(.*)\.(?:svg|png)$`, "$1"},
		} {
			if varies := regexp.MustCompile(c.pattern); varies.MatchString(filepath.ToSlash(name)) {
				base = varies.ReplaceAllString(filepath.ToSlash(name), c.described)
				break
			}
		}
		switch name { // those that the user names, in formats of others
		case "junit.xml", "metrics.om", "events.json":
			base, kind = map[string]string{".xml": "--junit FILE", ".om": "--openmetrics FILE", ".json": "--events FILE"}[kind], ""
		}
		if command, ok := printed[name]; ok {
			base = command
		}
		if kind == ".json" && !bytes.Contains(text, []byte(`"schemaVersion": "apfsim/v1alpha1",`)) {
			t.Errorf("%s has no schemaVersion", name)
		}
		if !described[base] {
			t.Errorf("docs/reference does not describe %s", name)
		}
		for _, field := range fieldsOf(t, name, kind, text) {
			if strings.HasPrefix(field, "spec.") { // a parameter of the sweep
				continue
			}
			if !described[field] && !seen[base+field] {
				t.Errorf("docs/reference does not describe %q of %s", field, name)
			}
			seen[base+field] = true
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d fields and columns were found", len(seen))
	}
}

// fieldsOf returns the fields or columns of a result file, if it has such.
func fieldsOf(t *testing.T, name, kind string, text []byte) (fields []string) {
	t.Helper()
	switch {
	case kind == ".csv" && !strings.Contains(name, "dump_"): // the dumps are the API server's own
		header, err := csv.NewReader(bytes.NewReader(text)).Read()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return header
	case kind == ".json" || kind == ".jsonl":
		for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
			var value any
			if err := d.Decode(&value); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			fields = append(fields, keys(value)...)
			slices.Sort(fields)
			fields = slices.Compact(fields)
		}
	}
	return fields
}

// keys returns the names of all fields below a value of JSON.
func keys(value any) (names []string) {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			names = append(append(names, name), keys(field)...)
		}
	case []any:
		for _, item := range v {
			names = append(names, keys(item)...)
		}
	}
	return names
}

// The first commands that a reader of the README sees are the two that show that the program works, and they are targets.
func TestReadmeBeginsWithRunAndTest(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(readme), "```sh\n")
	block, _, _ = strings.Cut(block, "```")
	var commands []string
	for line := range strings.Lines(block) {
		command, _, _ := strings.Cut(line, "#")
		commands = append(commands, strings.TrimSpace(command))
	}
	if want := []string{"make run", "make test"}; !slices.Equal(commands, want) {
		t.Errorf("README.md begins with the commands %q, want %q", commands, want)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range commands {
		if target := strings.TrimPrefix(command, "make "); !strings.Contains(string(makefile), "\n"+target+":") {
			t.Errorf("the Makefile has no target %s", target)
		}
	}
}
