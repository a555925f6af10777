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
	"apfsim/reports/junit"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
)

// gate keeps what the exit status of a command's runs depends on, and tells a CI system.
type gate struct {
	fingerprints map[string]string // expected of runs that have not ended yet, by their names
	junitFile    string            // "" for none
	junit        *junit.Report
	passed       bool
}

// newGate returns the gate that the flags ask for, for the runs of the scenarios loaded.
func newGate(flags *runFlags, loaded []*scenario.Scenario) (*gate, error) {
	expected, err := expectedFingerprints(flags.fingerprints, loaded)
	if err != nil {
		return nil, invalid(err)
	}
	return &gate{fingerprints: expected, junitFile: flags.junit, junit: junit.New(), passed: true}, nil
}

var fingerprintText = regexp.MustCompile(`^[0-9a-f]{16}$`)

// expectedFingerprints reads [NAME=]HEX for the runs of the scenarios loaded.
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
			return fail("want 16 hexadecimal digits, as a summary prints them")
		case !named && len(runs) > 1:
			return fail("there are %d runs; want NAME=HEX, as %s=%s", len(runs), runs[0], hex)
		case !slices.Contains(runs, name):
			return fail("no run is called %q%s", name, document.Suggest(name, runs))
		case expected[name] != "":
			return fail("there is one for %s already", name)
		}
		expected[name] = hex
	}
	return expected, nil
}

// pass judges a run that has come to its end.
func (g *gate) pass(s *result.Summary, stderr io.Writer) {
	want := g.fingerprints[s.Name]
	delete(g.fingerprints, s.Name)
	if want != "" && want != s.Fingerprint {
		fmt.Fprintf(stderr, "apfsim: %s: the fingerprint is %s, expected was %s: something was decided otherwise\n", s.Name, s.Fingerprint, want)
		g.passed = false
	}
	g.passed = g.passed && s.Passed
	if g.junitFile != "" {
		g.junit.Add(s, want)
	}
}

// failed notes a run that did not come to its end.
func (g *gate) failed(why *experiment.RunError) {
	g.junit.AddFailed(why.Name, why.Seed, why)
}

// close ends the gate when all runs have ended, or one has failed, and writes the file for
// the CI system, whole or not at all.
func (g *gate) close(stderr io.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(g.fingerprints)) {
		fmt.Fprintf(stderr, "apfsim: %s: was not run to its end; its fingerprint was to be %s\n", name, g.fingerprints[name])
		g.passed = false
	}
	if g.junitFile == "" {
		return nil
	}
	file, err := atomicfile.Create(g.junitFile)
	if err == nil {
		defer file.Discard()
		if err = g.junit.Write(file); err == nil {
			err = file.Commit()
		}
	}
	if err != nil {
		return fmt.Errorf("--junit: %s could not be written and is left as it was: %w", g.junitFile, err)
	}
	return nil
}
