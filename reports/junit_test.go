package reports_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	gojunit "github.com/jstemmer/go-junit-report/v2/junit"

	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/sim/metric"
)

var junitSchema = flag.String("junit-schema", filepath.Join("testdata", "junit.xsd"), "XML Schema for JUnit output, as an absolute path")

// junitStory has a run whose thresholds pass, one whose thresholds fail, and one that did not complete.
func junitStory(w io.Writer) error {
	holds := storyResult(thresholdOf("arrived", "arrived", nil, "count", ">", 1, metric.NoUnit)).Summary
	holds.Name = "holds"
	runs := []*report.Checked{report.CheckedRun(holds, holds.Fingerprint)}
	s := storyResult(
		thresholdOf("wait{workload:mice}", "wait", tags("workload", "mice"), "max", "<", 2e9, metric.Nanoseconds),
		over(10, thresholdOf(`wait{flow:"<&>`+"\x01\xff"+`"}`, "wait", nil, "max", "<", 2e9, metric.Nanoseconds)),
		thresholdOf("wait{workload:unheard}", "wait", tags("workload", "unheard"), "max", "<", 4e9, metric.Nanoseconds),
		thresholdOf("arrived", "arrived", nil, "count", "==", 7, metric.NoUnit)).Summary
	runs = append(runs, report.CheckedRun(s, "0123456789abcdef"), report.AbortedRun("cut-short", 3, errors.New("cut-short: the disk is full\nand more")))
	return render.JUnit(w, runs)
}

func TestJUnitOfTheStory(t *testing.T) {
	golden(t, "junit.xml", rendered(t, junitStory))
}

// The counts of a suite are those of its tests.
func TestJUnitCounts(t *testing.T) {
	var back gojunit.Testsuites
	if err := xml.Unmarshal(rendered(t, junitStory), &back); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][3]int{{3, 0, 0}, {6, 4, 0}, {1, 0, 1}} {
		s := back.Suites[i]
		var got [3]int
		for _, c := range s.Testcases {
			got[0]++
			if c.Failure != nil {
				got[1]++
			}
			if c.Error != nil {
				got[2]++
			}
		}
		if got != want || [3]int{s.Tests, s.Failures, s.Errors} != want {
			t.Errorf("%s: has %v tests, failures and errors, its attributes say %v, want %v", s.Name, got, [3]int{s.Tests, s.Failures, s.Errors}, want)
		}
		if s.ID != i {
			t.Errorf("%s: id %d, want %d", s.Name, s.ID, i)
		}
	}
}

func TestJUnitIsValid(t *testing.T) {
	program, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("xmllint is not installed; it is part of libxml2")
	}
	file := filepath.Join(t.TempDir(), "junit.xml")
	check := func(text []byte) error {
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(program, "--noout", "--nonet", "--schema", *junitSchema, file).CombinedOutput()
		if err != nil {
			return errors.New(string(out))
		}
		return nil
	}
	text := rendered(t, junitStory)
	if err := check(text); err != nil {
		t.Error(err)
	}
	for _, wrong := range [][2]string{{"testcase", "test"}, {` tests="3"`, ""}, {` name="holds"`, ""}} {
		if check(bytes.ReplaceAll(text, []byte(wrong[0]), []byte(wrong[1]))) == nil {
			t.Errorf("with %q instead of %q it is valid too", wrong[1], wrong[0])
		}
	}
}
