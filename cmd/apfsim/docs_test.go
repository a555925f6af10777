package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// notRun are the command lines of the documentation and of the help that the tests do not
// run, and why.
var notRun = map[string]string{
	"kubectl get flowschemas,prioritylevelconfigurations -o yaml > cluster.yaml":                 "no cluster at hand",
	"kubectl get --raw /debug/api_priority_and_fairness/dump_requests":                           "no cluster at hand",
	"kubectl get --raw /metrics > before.txt":                                                    "no cluster at hand",
	"kubectl get --raw /metrics > after.txt":                                                     "no cluster at hand",
	"kubectl get --raw '/debug/api_priority_and_fairness/dump_requests?includeRequestDetails=1'": "no cluster at hand",
	"export PATH=\"$PWD/bin:$PATH\"":                                                             "the tests' own apfsim is on the path",
	"prometheus --config.file=prometheus.yml --storage.tsdb.path=data":                           "does not end by itself; TestPrometheusGuide has one",
	promtoolQuery:              "TestPrometheusGuide runs it",
	"apfsim serve":             "does not end by itself; TestServe has one",
	"apfsim serve --port 8080": "does not end by itself; TestServe has one",
	"apfsim completion bash > /etc/bash_completion.d/apfsim":                             "not into the machine's own; testdata/script/completion.txt has it",
	"apfsim sweep merge shards/* -o sweep":                                               "the shards are those of the Job above",
	"apfsim compare results/load live/load":                                              "the folder is that of a live run; testdata/script/compare_client.txt has one",
	"GOMAXPROCS=1 /usr/bin/time -v apfsim run day-of-5000-nodes --set spec.duration=24h": "takes seven minutes; TestLibrary has ten minutes of the day",
	liveMetrics: "the folder is that of a live run; testdata/script/compare_metrics.txt has metrics",
}

// slow are the beginnings of command lines that together take minutes, and whose files no other command needs. They are run
// with -long.
var slow = []string{
	"apfsim compare elephants-and-mice --set spec.duration=12s --over version=",
	"apfsim compare elephants-and-mice --set-head 'level[workload-low].handSize=8'",
	"apfsim compare results/elephants-and-mice --metrics before.txt,after.txt",
	"apfsim compare shops.yaml --config cluster.yaml --set-head 'level[workload-low].handSize=8'",
	"apfsim compare shops.yaml --config cluster.yaml --set-head 'level[workload-low].queues=256'",
	"apfsim import --fit results/kubelet-list-loop",
	"apfsim run -v elephants-and-mice --replications 10",
	"apfsim run -v elephants-and-mice --set spec.duration=20s --precision 2%",
	"apfsim run -v elephants-and-mice --set spec.duration=30s --set spec.warmup=auto",
	"apfsim run elephants-and-mice --set spec.duration=35s --set spec.warmup=15s --replications 10",
	"apfsim scenarios list --incidents",
	"apfsim sweep elephants-and-mice -q --over spec.servers.kubernetesVersion=1.27,1.28",
	"apfsim sweep operator.yaml",
	"apfsim sweep rolling-restart",
	"apfsim sweep server.yaml",
	"apfsim tune beside-agents.yaml --protect",
	"apfsim upgrade --from 1.33 --to 1.34 --with rolling-restart-without-delay",
	"apfsim upgrade cluster.yaml --from 1.33 --to 1.34 --servers 3 --with incident",
	"for v in 1.27 1.30 1.31",
	"sh names.sh",
}

// liveMetrics holds a run beside the metrics of a server that apfsim-live has loaded.
const liveMetrics = "apfsim compare results/load --metrics live/load/metrics-before.txt,live/load/metrics-after.txt"

// promtoolQuery asks the server of the guide to Prometheus.
const promtoolQuery = `promtool query instant --time=2026-01-01T00:01:00Z http://localhost:9090 "$(cat p99.promql)"`

// readersOwn are files that the documentation and the help take for granted, and what stands in
// for them.
var readersOwn = map[string]string{
	"alerts.yaml":        "../../integrations/prometheus/rules.yaml",
	"cluster.yaml":       "../../scenarios/config/cluster-flowcontrol.yaml",
	"proposal.yaml":      "../../scenarios/config/cluster-flowcontrol.yaml",
	"audit.log":          "testdata/audit/audit.log",
	"incident.jsonl":     "testdata/audit/incident.jsonl",
	"kube-apiserver.log": "testdata/audit/kube-apiserver.log",
	"metrics.txt":        "testdata/audit/metrics.txt",
	"incident.yaml":      "testdata/audit/incident.yaml",
	"my-scenario.yaml":   "testdata/audit/incident.yaml",
	"before.txt":         "testdata/metrics/before.txt",
	"after.txt":          "testdata/metrics/after.txt",
	"objects.yaml":       "../../scenarios/config/cluster-flowcontrol.yaml", // of the cluster of standInKubectl, as version.json
	"version.json":       "testdata/plugin/version.json",
}

// others are programs that the documentation runs beside apfsim, and what fails where they,
// or what they need, are missing. Lines that begin with them are left out there.
var others = map[string]string{
	"promtool": "promtool --version",
	"python3":  "python3 -c 'import pandas'",
	"duckdb":   "duckdb --version",
	"sbatch":   "sinfo", // a test of its own has a cluster
}

// missing returns what fails of one of the others that a command line needs; "" if nothing does.
func missing(line string) string {
	program, _, _ := strings.Cut(line, " ")
	probe := others[program]
	if probe == "" || exec.Command("sh", "-c", probe).Run() == nil {
		return ""
	}
	return probe
}

// Programs that build or test this very module are not run by its tests. apfsim-live is of another module, whose
// tests run the commands of the guide.
var builders = regexp.MustCompile(`^(make|go|git|docker|apfsim-live) `)

// installGuide is about releases.
const installGuide = "docs/install.md"

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
		case block == "```console":
			commands[last].output = append(commands[last].output, line)
		}
	}
	return commands
}

// scratch returns a folder with a copy of the library, as in a clone of the repository, and the
// reader's own files.
func scratch(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "scenarios"), os.DirFS("../../scenarios")); err != nil {
		t.Fatal(err)
	}
	for name, standIn := range readersOwn {
		text, err := os.ReadFile(standIn)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// isRun says whether a command line is run.
func isRun(line string) bool {
	_, known := notRun[line]
	later := !*long && !*rewrite && slices.ContainsFunc(slow, func(beginning string) bool { return strings.HasPrefix(line, beginning) })
	return !known && !later && !builders.MatchString(line)
}

// runLine runs a command line, if it is one that is run, and returns its stdout.
func runLine(t *testing.T, dir, at, line string) []byte {
	t.Helper()
	if !isRun(line) {
		return nil
	}
	p := newProcess(t, dir, "sh", "-c", strings.TrimPrefix(line, "bin/"))
	if status := p.wait(t); status != statusDone {
		t.Errorf("%s: %s\nexit status %d\n%s", at, line, status, p.err.String())
	}
	return p.out.Bytes()
}

// documents returns the texts of the documentation by their names.
func documents(t *testing.T) map[string]string {
	t.Helper()
	files := []string{"../../README.md"}
	pages, err := filepath.Glob("../../lab/*.md")
	files = append(files, pages...)
	err = errors.Join(err, filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimPrefix(filepath.ToSlash(file), "../../")] = string(text)
	}
	return texts
}

// What is left out is there, and commands stand where they are found.
func TestNoCommandIsOverlooked(t *testing.T) {
	left := maps.Clone(notRun)
	for _, beginning := range slow {
		left[beginning] = "slow"
	}
	found := func(line string) {
		maps.DeleteFunc(left, func(known, why string) bool { return line == known || why == "slow" && strings.HasPrefix(line, known) })
	}
	indented := regexp.MustCompile(`(?m)^(\t| {4,})(\$ |(apfsim|bin/apfsim|docker|duckdb|export|git|go|jq|kubectl|make|prometheus|promtool|python3|sbatch|sh) ).*`)
	fenced := regexp.MustCompile("(?ms)^```.*?^```")
	for file, text := range documents(t) {
		for _, c := range docCommands(file, text) {
			found(c.line)
		}
		if line := indented.FindString(fenced.ReplaceAllString(text, "")); line != "" {
			t.Errorf("%s: an indented command is not run; want a block between ```: %s", file, line)
		}
	}
	forEachCommand(newRoot(), func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			found(strings.TrimSpace(line))
		}
	})
	for line := range left {
		t.Errorf("notRun or slow: no document has %s", line)
	}
}

// Everything that the documentation tells the reader to type works, and prints what it
// says; a line of three dots stands for any lines.
func TestDocumentation(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || testing.Short() {
		t.Skip("there is no shell, or no time")
	}
	for file, text := range documents(t) {
		if file == installGuide {
			continue // TestInstallGuide runs its commands
		}
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			dir := scratch(t)
			rewritten := text
			for _, c := range docCommands(file, text) {
				if probe := missing(c.line); probe != "" {
					t.Run(c.at, func(t *testing.T) { t.Skipf("a command of the documentation is not run: %s fails", probe) })
					continue
				}
				got := splitLines(runLine(t, dir, c.at, c.line))
				if isRun(c.line) && len(c.output) > 0 && !matches(c.output, got) {
					if *rewrite {
						rewritten = strings.Replace(rewritten, strings.Join(c.output, "\n"), strings.Join(rewrittenOutput(c.output, got), "\n"), 1)
						continue
					}
					t.Errorf("%s: %s\nprints\n%s\nand the document says\n%s", c.at, c.line,
						strings.Join(got, "\n"), strings.Join(c.output, "\n"))
				}
			}
			if rewritten != text {
				if err := os.WriteFile(filepath.Join("..", "..", file), []byte(rewritten), 0o666); err != nil {
					t.Fatal(err)
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
			if remaining := len(wanted) - 1; len(lines)-skipped == remaining {
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

// rewrittenOutput returns the lines that a document shows instead of those wanted. Each run of lines between dots becomes
// the run of as many lines that has most words in common with it, behind those before.
func rewrittenOutput(wanted, lines []string) []string {
	if !slices.Contains(wanted, "...") {
		return lines
	}
	var all []string
	for len(wanted) > 0 {
		if wanted[0] == "..." {
			all, wanted = append(all, "..."), wanted[1:]
			continue
		}
		n := slices.Index(append(slices.Clone(wanted), "..."), "...")
		best, most := 0, -1
		for at := range max(0, len(lines)-n+1) {
			if common := commonWords(wanted[:n], lines[at:at+n]); common > most {
				best, most = at, common
			}
		}
		all = append(all, lines[best:min(best+n, len(lines))]...)
		wanted, lines = wanted[n:], lines[min(best+n, len(lines)):]
	}
	return all
}

// commonWords counts the words that lines have in common with the same lines of others.
func commonWords(a, b []string) (n int) {
	for i := range a {
		words := strings.Fields(b[i])
		for _, w := range strings.Fields(a[i]) {
			if slices.Contains(words, w) {
				n++
			}
		}
	}
	return n
}

func TestRewrittenOutput(t *testing.T) {
	for _, c := range []struct{ wanted, lines, want string }{
		{"a 1|b 2", "a 3|b 4|c 5", "a 3|b 4|c 5"},
		{"...|b 2|...", "a 1|b 4|c 5", "...|b 4|..."},
		{"a 1|...|c 2|d 3", "a 9|b 9|c 9|d 9", "a 9|...|c 9|d 9"},
	} {
		got := rewrittenOutput(strings.Split(c.wanted, "|"), strings.Split(c.lines, "|"))
		if strings.Join(got, "|") != c.want {
			t.Errorf("%q of %q: %q, want %q", c.wanted, c.lines, got, c.want)
		}
	}
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

var long = flag.Bool("long", false, "run the examples, commands and scenarios that take minutes, too")

// The examples of every command's help work.
func TestExamplesOfTheHelp(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell")
	}
	dir := scratch(t)
	examples := map[string]bool{}
	forEachCommand(newRoot(), func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			slow := slices.Contains([]string{"tune", "plan", "upgrade"}, cmd.Name()) // minutes; other tests run such commands
			if line = strings.TrimSpace(line); !examples[line] && (*long || !slow) {
				runLine(t, dir, cmd.CommandPath(), line)
			}
			examples[line] = true
		}
	})
	if len(examples) < 15 {
		t.Errorf("only %d examples were found", len(examples))
	}
}

// An import makes of an audit log the trace that it says. audit.log is made up: with a wait taken
// off, somebody impersonated, a path, a request without an end, a rejected one and watches of every
// kind. live.log has lines of a real kube-apiserver, cut out of the middle of its log.
func TestAuditLogBecomesTrace(t *testing.T) {
	for log, want := range map[string]string{"audit.log": "incident.jsonl", "live.log": "live.jsonl"} {
		t.Run(log, func(t *testing.T) {
			got := traceOfAuditLog(t, log)
			if *rewrite {
				if err := os.WriteFile(filepath.Join("testdata", "audit", want), got, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(splitLines(readTestdata(t, want)), splitLines(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A watch executes for as long as its initialisation takes, never for its lifetime, and a
// rejected request as long as others of its kind: otherwise the replay has an outage that
// there was not. Time 0 is not the arrival of a watch that was open before.
func TestTraceOfAnAuditLogInventsNoOutage(t *testing.T) {
	type record struct {
		ArrivalNs, ExecutionNs, WatchNs int64
		Verb, Query                     string
	}
	read := func(log string) (records []record) {
		for _, line := range splitLines(traceOfAuditLog(t, log)) {
			var r record
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			records = append(records, r)
		}
		return records
	}
	const ms = 1_000_000
	made := read("audit.log")
	if len(made) != 11 {
		t.Fatalf("%d requests, want 11", len(made))
	}
	for at, want := range map[int]record{
		0: {0, 0, 20_000 * ms, "watch", "watch=true&resourceVersion=5"},               // open for ten minutes before
		4: {1000 * ms, 799_500_000, 0, "list", ""},                                    // rejected; the list that was executed took as long
		7: {5000 * ms, 20 * ms, 49_980 * ms, "watch", "watch=true&resourceVersion=5"}, // no line tells when it started
		8: {6000 * ms, 30 * ms, 49_970 * ms, "watch", "watch=true&resourceVersion=5"}, // it lasts on when the log ends
		9: {7000 * ms, 30 * ms, 0, "watch", "watch=true&resourceVersion=5"},           // rejected
	} {
		if made[at] != want {
			t.Errorf("audit.log: request %d is %+v, want %+v", at, made[at], want)
		}
	}
	open, lasting := 0, 0
	for _, r := range read("live.log") {
		if r.ExecutionNs > 50*ms || r.ArrivalNs > 2000*ms {
			t.Errorf("live.log: %+v: the server took less than 50 ms for each request of these two seconds", r)
		}
		if r.Verb == "watch" && r.ArrivalNs == 0 {
			open++
		}
		if r.WatchNs > 0 && r.ArrivalNs > 0 {
			lasting++
		}
	}
	if open != 3 || lasting != 6 {
		t.Errorf("live.log: %d watches were open before and %d without an end last on, want 3 and 6", open, lasting)
	}
}

// traceOfAuditLog returns the trace that an import makes of a log of testdata/audit.
func traceOfAuditLog(t *testing.T, log string) []byte {
	t.Helper()
	dir := t.TempDir()
	if status := execute([]string{"import", filepath.Join("testdata", "audit", log), "-o", dir}, io.Discard, os.Stderr); status != statusDone {
		t.Fatalf("exit status %d", status)
	}
	trace, err := os.ReadFile(filepath.Join(dir, "trace.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func readTestdata(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "audit", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
