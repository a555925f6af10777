package main

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"apfsim/document"
	"apfsim/experiment"
	"apfsim/internal/atomicfile"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
)

// gate decides whether the runs of a command pass: thresholds and expected fingerprints. It writes the
// verdicts for CI systems.
type gate struct {
	fingerprints map[string]string // the expected fingerprints of runs that have not completed, by name
	junitFile    string            // "" if no file is written
	junit        []*report.Checked
	passed       bool
}

// newGate returns the gate for the runs of the loaded scenarios, according to the flags.
func newGate(flags *runFlags, loaded []*scenario.Scenario) (*gate, error) {
	expected, err := expectedFingerprints(flags.fingerprints, loaded)
	if err != nil {
		return nil, invalid(err)
	}
	return &gate{fingerprints: expected, junitFile: flags.junit, passed: true}, nil
}

var fingerprintText = regexp.MustCompile(`^[0-9a-f]{16}$`)

// expectedFingerprints parses [NAME=]HEX for the runs of the loaded scenarios.
func expectedFingerprints(texts []string, loaded []*scenario.Scenario) (map[string]string, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	var runs []string
	for _, sc := range loaded {
		runs = append(runs, experiment.RunNames(sc)...)
	}
	expected := map[string]string{}
	for _, text := range texts {
		fail := func(format string, args ...any) (map[string]string, error) {
			return nil, fmt.Errorf("--expect-fingerprint: %q: %s", text, fmt.Sprintf(format, args...))
		}
		name, hex, named := strings.Cut(text, "=")
		if !named {
			name, hex = runs[0], text
		}
		hex = strings.ToLower(hex)
		switch {
		case !fingerprintText.MatchString(hex):
			return fail("want 16 hexadecimal digits, as in a summary")
		case !named && len(runs) > 1:
			return fail("there are %d runs; want NAME=HEX, such as %s=%s", len(runs), runs[0], hex)
		case !slices.Contains(runs, name):
			return fail("there is no run %q%s", name, document.Suggest(name, runs))
		case expected[name] != "":
			return fail("duplicate fingerprint for the run %s", name)
		}
		expected[name] = hex
	}
	return expected, nil
}

// pass adds a run that has completed.
func (g *gate) pass(s *result.Summary, stderr io.Writer) {
	want := g.fingerprints[s.Name]
	delete(g.fingerprints, s.Name)
	if want != "" && want != s.Fingerprint {
		fmt.Fprintf(stderr, "apfsim: %s: fingerprint mismatch: got %s, want %s; the run made different decisions\n", s.Name, s.Fingerprint, want)
		g.passed = false
	}
	g.passed = g.passed && s.Passed
	if g.junitFile != "" {
		g.junit = append(g.junit, report.CheckedRun(s, want))
	}
}

// failed adds a run that did not complete.
func (g *gate) failed(why *experiment.RunError) {
	g.junit = append(g.junit, report.AbortedRun(why.Name, why.Seed, why))
}

// close must be called when all runs have completed or one has failed. It writes the file for CI
// systems; if it fails, the file is unchanged.
func (g *gate) close(stderr io.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(g.fingerprints)) {
		fmt.Fprintf(stderr, "apfsim: %s: the run did not complete, so its fingerprint could not be compared with %s\n", name, g.fingerprints[name])
		g.passed = false
	}
	if g.junitFile == "" {
		return nil
	}
	file, err := atomicfile.Create(g.junitFile)
	if err == nil {
		defer file.Discard()
		if err = render.JUnit(file, g.junit); err == nil {
			err = file.Commit()
		}
	}
	if err != nil {
		return fmt.Errorf("--junit: %s could not be written and is unchanged: %w", g.junitFile, err)
	}
	return nil
}
