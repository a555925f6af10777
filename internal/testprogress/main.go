// Command testprogress reads the output of 'go test -json' and prints how far the tests are: a line for each
// package that has ended, a line now and then for a package that takes long, and the output of what failed. At the end it
// prints how many tests were skipped for which reason, such as a program that is not installed. Its exit status is 1 if a
// test failed or if nothing was tested.
//
// Without it, 'go test ./...' prints packages in their order, so that nothing is seen until the slowest one, which
// is the first, has ended.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if !report(os.Stdin, os.Stdout) {
		os.Exit(1)
	}
}

// event is a line of 'go test -json' (go doc test2json).
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

// every is how many tests of a package pass between two lines about it.
const every = 20

// pkg is a package that is being tested.
type pkg struct {
	outputs map[string][]string // of tests that have not ended, and of the package itself, whose name is ""
	ended   int                 // tests, among them those within others
}

// report returns whether all tests passed.
func report(in io.Reader, out io.Writer) bool {
	running := map[string]*pkg{}
	passed, failed := 0, 0
	skipped := map[string]int{} // tests, by the reason
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil && len(line) == 0 {
			break
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			out.Write(line) // of go itself
			continue
		}
		name := e.Package
		if name == "" { // the output of the compiler
			fmt.Fprint(out, e.Output)
			continue
		}
		p := running[name]
		if p == nil {
			p = &pkg{outputs: map[string][]string{}}
			running[name] = p
		}
		switch e.Action {
		case "output":
			p.outputs[e.Test] = append(p.outputs[e.Test], e.Output)
			continue
		case "pass", "fail", "skip":
		default:
			continue
		}
		if e.Action == "fail" {
			fmt.Fprint(out, strings.Join(p.outputs[e.Test], ""))
		}
		if e.Action == "skip" && e.Test != "" {
			skipped[reason(p.outputs[e.Test])]++
		}
		delete(p.outputs, e.Test)
		if e.Test != "" {
			if p.ended++; p.ended%every == 0 {
				fmt.Fprintf(out, "...\t%s\t%d tests have ended\n", name, p.ended)
			}
			continue
		}
		switch e.Action {
		case "pass":
			passed++
			fmt.Fprintf(out, "ok\t%s\t%.1fs\n", name, e.Elapsed)
		case "fail":
			failed++
			fmt.Fprintf(out, "FAIL\t%s\t%.1fs\n", name, e.Elapsed)
		}
		delete(running, name)
	}
	fmt.Fprintf(out, "%d packages passed, %d failed\n", passed, failed)
	for _, why := range slices.Sorted(maps.Keys(skipped)) {
		fmt.Fprintf(out, "skipped %d: %s\n", skipped[why], why)
	}
	return failed == 0 && passed > 0 && len(running) == 0
}

// message matches what a test has logged.
var message = regexp.MustCompile(`^\s+\S+_test\.go:\d+: (.*)\n?$`)

// reason returns why a test was skipped, which is the last message of its output.
func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		if found := message.FindStringSubmatch(line); found != nil {
			return found[1]
		}
	}
	return "no reason is given"
}
