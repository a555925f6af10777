// Mutants measures how much the tests of a package notice. It draws random mutants of the package, which are small
// changes of its source, and runs the tests on each of them. A mutant whose tests pass has survived: either a test is
// missing, or the change makes no difference. It prints each survivor and the score, which is the share of the others.
//
//	mutants [-n 100] [-seed 1] [-again survivors.txt] ./core/seats
//
// The source is never changed: the changed files are an overlay of the build. The same seed draws the same mutants of
// the same source. The tests are those of the package and of the packages in dependants, with -short.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() { os.Exit(run(os.Stdout, os.Stderr, os.Args[1:])) }

// run is the whole program; it returns the exit status.
func run(stdout, stderr io.Writer, args []string) int {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("C", ".", "the `folder` of the module")
	n := flags.Int("n", 100, "how many mutants are drawn")
	seed := flags.Uint64("seed", 1, "the seed of the draw")
	page := flags.String("equivalent", "", "a Markdown `file` with a table of equivalent mutants, which are not counted")
	again := flags.String("again", "", "a `file` with the output of an earlier run with the same source and seed: only its survivors are run")
	timeout := flags.Duration("timeout", 5*time.Second, "how much longer than ten times its usual time a test may take")
	verbose := flags.Bool("v", false, "print killed mutants too")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() != 1 || *n < 1:
		fmt.Fprintln(stderr, "mutants: name one package, and a positive number of mutants")
		return 2
	}
	err := measure(stdout, options{*dir, flags.Arg(0), *n, *seed, *page, *again, *timeout, *verbose})
	if err != nil {
		fmt.Fprintln(stderr, "mutants:", err)
		return 1
	}
	return 0
}

type options struct {
	dir, path string
	n         int
	seed      uint64
	page      string
	again     string
	timeout   time.Duration
	verbose   bool
}

// survived is the verdict on a mutant whose tests pass, if it is not known to be equivalent.
const survived = "SURVIVED"

// measure prints the survivors and the score of a package.
func measure(out io.Writer, o options) error {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	o.dir = dir
	program, err := load(o.dir, o.path)
	if err != nil {
		return err
	}
	known, err := equivalents(o.page)
	if err != nil {
		return err
	}
	tests, err := testsOf(o.dir, program)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)

	mutants := program.draw(o.n, o.seed)
	if o.again != "" {
		earlier, err := os.ReadFile(o.again)
		if err != nil {
			return err
		}
		mutants = slices.DeleteFunc(mutants, func(m *mutant) bool {
			return !strings.Contains(string(earlier), survived+"\t"+m.describe(o.dir)+"\n")
		})
	}
	by := make([]string, len(mutants)) // the package whose tests killed a mutant, or ""
	for _, batch := range batches(mutants) {
		if err := judge(o, scratch, tests, program.overlay(mutants, batch), mutants[batch[0]-1].function != nil, batch, by); err != nil {
			return err
		}
	}
	killed, equivalent := 0, 0
	for i, m := range mutants {
		verdict := survived
		switch {
		case by[i] != "":
			killed++
			verdict = "killed by " + by[i]
		case known[equivalentKey(program.ImportPath, m.name, m.change())]:
			equivalent++
			verdict = "equivalent"
		}
		if by[i] == "" || o.verbose {
			fmt.Fprintf(out, "%s\t%s\n", verdict, m.describe(o.dir))
		}
	}
	counted := len(mutants) - equivalent
	fmt.Fprintf(out, "%s: %d of %d mutants killed (%.0f %%), %d equivalent; seed %d\n", program.ImportPath, killed, counted,
		100*float64(killed)/float64(max(counted, 1)), equivalent, o.seed)
	return nil
}

// judge runs the tests of one package after another on the mutants of a batch, as long as some survive, and sets
// which package killed a mutant. The mutants of the batch are within functions or not.
func judge(o options, scratch string, tests []test, overlay map[string]string, within bool, batch []int, by []string) error {
	for i := range tests {
		t := &tests[i]
		built := false
		for _, number := range batch {
			if by[number-1] != "" {
				continue
			}
			if !built {
				if err := t.prepare(o.dir, scratch, overlay, within); err != nil {
					return err
				}
				built = true
			}
			passed, _, err := t.run(number, o.timeout+10*t.usual)
			if err != nil {
				return err
			}
			if !passed {
				by[number-1] = t.pkg.ImportPath
			}
		}
	}
	return nil
}

// test is the test program of a package.
type test struct {
	pkg    listed
	skip   string // a pattern of tests that are too slow; "" for none
	binary string
	usual  time.Duration // without a mutant
}

// testsOf returns the test programs that are run: the package's own, and those of its dependants.
func testsOf(dir string, p *program) ([]test, error) {
	_, name, _ := strings.Cut(p.ImportPath, "/")
	var tests []test
	for _, tested := range slices.Concat([]string{name}, dependants[name]) {
		found, err := list(dir, "./"+tested)
		if err != nil {
			return nil, err
		}
		if len(found[0].TestGoFiles)+len(found[0].XTestGoFiles) > 0 {
			tests = append(tests, test{pkg: found[0], skip: slow[tested]})
		}
	}
	return tests, nil
}

// build compiles a test program with an overlay.
func (t *test) build(dir, scratch string, files map[string]string) error {
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	write := func(name string, data []byte) (string, error) {
		path := filepath.Join(scratch, name)
		return path, os.WriteFile(path, data, 0o666)
	}
	for path, text := range files {
		replacement, err := write(filepath.Base(path), []byte(text))
		if err != nil {
			return err
		}
		overlay.Replace[path] = replacement
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	config, err := write("overlay.json", data)
	if err != nil {
		return err
	}
	t.binary = filepath.Join(scratch, "package.test")
	command := exec.Command("go", "test", "-c", "-vet=off", "-overlay", config, "-o", t.binary, t.pkg.ImportPath)
	command.Dir = dir
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s does not compile with its mutants: %w\n%s", t.pkg.ImportPath, err, text)
	}
	return nil
}

// prepare builds a test program with the mutants of a batch. The first time, it runs the tests without a mutant. If the
// mutants are within functions, that is the same program, because a function with many branches must not fail by itself.
func (t *test) prepare(dir, scratch string, overlay map[string]string, within bool) error {
	known := t.usual > 0
	if !known && !within {
		if err := t.build(dir, scratch, nil); err != nil {
			return err
		}
		if err := t.calibrate(); err != nil {
			return err
		}
	}
	if err := t.build(dir, scratch, overlay); err != nil || known || !within {
		return err
	}
	return t.calibrate()
}

// calibrate runs the tests without a mutant: they must pass, and tests with a mutant get a time-out of this duration.
func (t *test) calibrate() error {
	begin := time.Now()
	passed, output, err := t.run(0, time.Hour)
	if err != nil || !passed {
		return fmt.Errorf("the tests of %s fail without a mutant: %v\n%s", t.pkg.ImportPath, err, output)
	}
	t.usual = time.Since(begin)
	return nil
}

// memory is how much address space a test may have, in KiB: a mutant can append forever.
const memory = 8 << 20

// run runs the tests with a mutant. A test that takes longer than timeout fails.
func (t *test) run(number int, timeout time.Duration) (passed bool, output []byte, err error) {
	args := []string{"-c", fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, memory), t.binary, "-test.short", "-test.failfast", "-test.skip", t.skip}
	if slices.Contains(slices.Concat(t.pkg.TestImports, t.pkg.XTestImports), "pgregory.net/rapid") {
		args = append(args, "-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=0s")
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	command := exec.CommandContext(ctx, "sh", args...)
	command.WaitDelay = time.Second
	command.Dir = t.pkg.Dir
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, number))
	output, err = command.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); exited || ctx.Err() != nil {
		return false, output, nil
	}
	return err == nil, output, err
}

// equivalents returns the keys of the mutants in a table of Markdown with the columns package, function, change and
// reason, the first three as code.
func equivalents(page string) (map[string]bool, error) {
	known := map[string]bool{}
	if page == "" {
		return known, nil
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.Split(strings.Trim(strings.ReplaceAll(strings.TrimSpace(line), `\|`, "\x00"), "|"), "|")
		if len(parts) != 4 || !strings.Contains(parts[2], "`") {
			continue
		}
		for i, part := range parts {
			parts[i] = strings.ReplaceAll(strings.Trim(strings.TrimSpace(part), "`"), "\x00", "|")
		}
		known[equivalentKey(parts[0], parts[1], parts[2])] = true
	}
	return known, nil
}

// equivalentKey identifies a mutant without its line, which changes with the text above it.
func equivalentKey(path, function, change string) string {
	return strings.TrimPrefix(path, "apfsim/") + "\n" + function + "\n" + change
}

// dependants are the packages whose tests find mutants of a package beside its own. They are run one after another,
// until one fails.
var dependants = map[string][]string{
	"core/classify":    {"core/config", "core/flowcontrol", "core/filter", "core/estimate", "lint"},
	"core/config":      {"core/classify", "core/maintain", "lint"},
	"core/dealer":      {"core/queueset", "core/config"},
	"core/estimate":    {"core/filter", "core/queueset", "sim/registry"},
	"core/filter":      {"sim/server"},
	"core/flowcontrol": {"core/filter", "sim/server"},
	"core/queueset":    {"core/flowcontrol", "core/filter"},
	"core/request":     {"core/classify", "core/estimate", "sim/registry", "sim/trace", "sim/trace/logfile"},
	"core/rules":       {"core/classify", "core/estimate", "core/queueset", "core/flowcontrol", "core/filter", "core/maintain", "sim/registry"},
	"core/seats":       {"core/flowcontrol", "core/filter", "core/queueset"},
	"experiment/fit":   {"experiment/fit/shape"},
	"reports/collect":  {"reports/result", "reports", "reports/randomscenario"},
	"sim/network":      {"sim"},
	"sim/registry":     {"sim"},
	"sim/server":       {"sim/network", "sim/scenario/loader", "sim"},
	"sim/workload":     {"sim/scenario/loader", "sim"},
}

// slow are patterns of tests that take seconds, by package. No mutant is worth them.
var slow = map[string]string{
	"core/config":    "^TestVeryManyErrors$",
	"experiment/fit": "^(TestBurstsAreThoseOfTheLog|TestPoissonHasNoBursts|TestBackoffsOfClients|TestNoBackoffWithoutRetries)$",
	"sim": "^(TestErlang.*|TestProcessorSharing|TestLossSystemWithCapacity|TestClosedLoop.*|TestPollaczekKhinchine|TestMachineRepairman|" +
		"TestSharesAfterARollingRestart|TestStoreWhateverHappens|TestStability|TestConnections.*|Test.*Allocate.*Nothing|TestReplayOfMoreKindsThanAreRemembered|TestC[1-5].*|TestServiceListsACrashedServer)$",
	"reports": "^(TestLogsThatStay|TestDumpsAreWhatTheRequestLogSays|TestAFileThatCannotBeWrittenIsNamed|Test.*Screens|" +
		"TestFilesOf.*|TestRunAfterOneThatWasKilled|TestSteadyStateIsTold|TestMetricsAreWhatTheRequestLogSays|" +
		"TestQueueLengthsAreThoseOfTheRequestLog|TestTooManyFlowsAreLeftOut|TestResultsAreRead|TestSamplesAreInOrder)$",
}
