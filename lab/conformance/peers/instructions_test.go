package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/instructions.txt instead of comparing with it")

// A run executes no more instructions than when testdata/instructions.txt was written, in each regime.
// Instructions are counted, because they are the same on a busy machine; valgrind also hides which instructions a
// processor has. With one processor and without garbage collection, two counts differ by 0.2 % at most.
func TestInstructions(t *testing.T) {
	const tolerance = 1.02
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		t.Skip("there is no valgrind")
	}
	file := filepath.Join("testdata", "instructions.txt")
	counts := map[string]float64{}
	if text, err := os.ReadFile(file); err == nil {
		for line := range strings.Lines(string(text)) {
			var regime string
			var count float64
			if _, err := fmt.Sscan(line, &regime, &count); err != nil {
				t.Fatalf("%s: %q: %v", file, line, err)
			}
			counts[regime] = count
		}
	}
	counted := regexp.MustCompile(`I\s+refs:\s+([0-9,]+)`)
	var now strings.Builder
	for _, r := range regimes {
		requests := 50_000
		if strings.Contains("DEG", r.name) { // whose clients take most of it
			requests = 10_000
		}
		cmd := exec.CommandContext(t.Context(), valgrind, "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file="+os.DevNull,
			os.Args[0], childCommand, peerApfsim, r.name, strconv.Itoa(requests), python)
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off")
		output, err := cmd.CombinedOutput()
		found := counted.FindSubmatch(output)
		if err != nil || found == nil {
			t.Fatalf("%s: %v\n%s", r.name, err, output)
		}
		count, err := strconv.ParseFloat(strings.ReplaceAll(string(found[1]), ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&now, "%s %.0f\n", r.name, count)
		ratio := count / counts[r.name]
		t.Logf("%s: %.0f instructions, %.3f of those before", r.name, count, ratio)
		if ratio > tolerance && !*rewrite {
			t.Errorf("%s: %.0f instructions, want at most %.0f; go test ./peers -run Instructions -args -rewrite accepts them", r.name, count, counts[r.name]*tolerance)
		}
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(now.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
