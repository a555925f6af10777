package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
	yamlv3 "go.yaml.in/yaml/v3"
)

var rewrite = flag.Bool("rewrite", false, "rewrite what the scripts compare the output with")

// The tests run apfsim as a program of its own: it stands in their PATH.
// progressAtOnce is the environment variable with which the program shows its progress from the beginning.
const progressAtOnce = "APFSIM_TEST_PROGRESS_AT_ONCE"

func TestMain(m *testing.M) {
	if os.Getenv(progressAtOnce) != "" {
		quietFor = 0
	}
	testscript.Main(m, map[string]func(){"apfsim": main, pluginProgram: main, "kubectl": standInKubectl})
}

// The scripts have, beside the commands of package testscript:
//
//	status N PROGRAM ARGUMENT...   run a program that ends with exit status N
//	fields LOG                     print which fields the lines of a request log have
//	same-decisions LOG LOG         compare two request logs but for who sent the requests
//	traffic LOG WORKLOAD FILE      write what a workload has sent, whatever became of it
//	same-files DIR DIR             compare two folders, byte by byte
//	same-values JSON YAML          compare what two texts mean
//	last-samples METRICS FILE      write the last sample of each series
//	fits N                         check that the last output has at most N lines of 80 columns
//	fingerprint VARIABLE           set a variable to the fingerprint in the last output
//
// $SCENARIOS is the folder of the library, $LOGS has logs of a real kube-apiserver, and $LIVE its
// configuration and metrics.
func TestScripts(t *testing.T) {
	library, err := filepath.Abs("../../scenarios")
	if err != nil {
		t.Fatal(err)
	}
	live, err := filepath.Abs("testdata/live")
	if err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Abs("../../sim/trace/logfile/testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *rewrite,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SCENARIOS", library)
			env.Setenv("LIVE", live)
			env.Setenv("LOGS", logs)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status":         status,
			"fields":         fields,
			"same-decisions": sameDecisions,
			"traffic":        trafficCommand,
			"same-files":     sameFiles,
			"same-values":    sameValues,
			"last-samples":   lastSamples,
			"fits":           fits,
			"fingerprint":    fingerprint,
		},
	})
}

func want(ts *testscript.TestScript, neg bool, args []string, n int) {
	if neg || len(args) != n {
		ts.Fatalf("want %d arguments and no negation", n)
	}
}

func status(ts *testscript.TestScript, neg bool, args []string) {
	wanted, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if neg || got != wanted {
		ts.Fatalf("exit status %d, want %d", got, wanted)
	}
}

func lines(ts *testscript.TestScript, file string) []string {
	return strings.Split(strings.TrimSuffix(ts.ReadFile(file), "\n"), "\n")
}

// fields prints each field with the outcomes of which it goes along: always, or not.
func fields(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	type key struct{ field, outcome string }
	counts := map[string]int{}
	with := map[key]int{}
	names := map[string]bool{}
	for _, line := range lines(ts, args[0]) {
		var values map[string]json.RawMessage
		ts.Check(json.Unmarshal([]byte(line), &values))
		outcome := strings.Trim(string(values["outcome"]), `"`)
		counts[outcome]++
		for name := range values {
			names[name] = true
			with[key{name, outcome}]++
		}
	}
	for _, name := range sorted(names) {
		fmt.Fprint(ts.Stdout(), name, ":")
		for _, outcome := range sorted(counts) {
			switch n := with[key{name, outcome}]; n {
			case 0:
			case counts[outcome]:
				fmt.Fprint(ts.Stdout(), " ", outcome)
			default:
				fmt.Fprintf(ts.Stdout(), " (%s)", outcome)
			}
		}
		fmt.Fprintln(ts.Stdout())
	}
}

func sorted[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// decision returns a line of a request log without what it says of the client's side.
func decision(line string) string {
	for _, field := range []string{`"workload":`, `"client":`, `"attempt":`} {
		if begin := strings.Index(line, field); begin >= 0 {
			line = line[:begin] + line[begin+strings.IndexByte(line[begin:], ',')+1:]
		}
	}
	return line
}

func sameDecisions(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	a, b := lines(ts, args[0]), lines(ts, args[1])
	for i := range min(len(a), len(b)) {
		if x, y := decision(a[i]), decision(b[i]); x != y {
			ts.Fatalf("line %d:\n%s\n%s", i+1, x, y)
		}
	}
	if len(a) != len(b) {
		ts.Fatalf("%d lines and %d", len(a), len(b))
	}
	fmt.Fprintln(ts.Stdout(), len(a), "requests")
}

func trafficCommand(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 3)
	var all strings.Builder
	for _, line := range lines(ts, args[0]) {
		if !strings.Contains(line, fmt.Sprintf(`,"workload":%q,`, args[1])) {
			continue
		}
		_, sent, _ := strings.Cut(line, ",") // without the id, which counts all requests
		fmt.Fprintln(&all, sent[:strings.Index(sent, `,"workload":`)])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(all.String()), 0o666))
}

func sameFiles(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	a, b := filesIn(ts, args[0]), filesIn(ts, args[1])
	if !slices.Equal(sorted(a), sorted(b)) {
		ts.Fatalf("the files differ:\n%q\n%q", sorted(a), sorted(b))
	}
	for _, name := range sorted(a) {
		if !bytes.Equal(a[name], b[name]) {
			ts.Fatalf("%s differs", name)
		}
		fmt.Fprintln(ts.Stdout(), filepath.ToSlash(name))
	}
}

func lastSamples(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	var last []string
	seen := map[string]bool{}
	for _, line := range slices.Backward(lines(ts, args[0])) {
		if series := line[:strings.LastIndexByte(line, '}')+1]; series == "" || !seen[series] {
			seen[series] = true
			last = append(last, line)
		}
	}
	slices.Reverse(last)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Join(last, "\n")+"\n"), 0o666))
}

func fits(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	most, err := strconv.Atoi(args[0])
	ts.Check(err)
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\n"), "\n")
	if len(lines) > most || len(lines) < 5 {
		ts.Fatalf("%d lines, want at most %d", len(lines), most)
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > 80 {
			ts.Fatalf("%d columns: %s", n, line)
		}
	}
}

func filesIn(ts *testscript.TestScript, dir string) map[string][]byte {
	all := map[string][]byte{}
	root := ts.MkAbs(dir)
	ts.Check(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err == nil {
			all[name], err = os.ReadFile(path)
		}
		return err
	}))
	return all
}

func sameValues(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	var a, b any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &a))
	ts.Check(yamlv3.Unmarshal([]byte(ts.ReadFile(args[1])), &b))
	asJSON, err := json.Marshal(b)
	ts.Check(err)
	b = nil
	ts.Check(json.Unmarshal(asJSON, &b))
	if !reflect.DeepEqual(a, b) {
		ts.Fatalf("%s and %s differ", args[0], args[1])
	}
}

var printedFingerprint = regexp.MustCompile(`(?m)^Fingerprint ([0-9a-f]{16})$`)

func fingerprint(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1)
	found := printedFingerprint.FindStringSubmatch(ts.ReadFile("stdout"))
	if found == nil {
		ts.Fatalf("no fingerprint was printed")
	}
	ts.Setenv(args[0], found[1])
}
