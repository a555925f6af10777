package render

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"apfsim/reports/format"
	"apfsim/reports/result"
)

// JUnit holds the verdicts of any number of runs, for CI systems, which show them as test results. Each
// run is a test suite. Its test cases are the run itself, its fingerprint if one is expected, and
// each of its thresholds.
//
// The types are those of go-junit-report. The result is valid according to both schemas in wide
// use: that of Ant (windyroad/JUnit-Schema) and that of the xUnit plugin of Jenkins
// (junit-10.xsd). Ant requires a date, times and a host name. They are constant, so that the same
// runs give the same bytes.
type JUnit struct {
	// The totals of all suites stay 0 and are not written, because Ant's schema does not allow them.
	suites junit.Testsuites
}

// NewJUnit returns a report without runs.
func NewJUnit() *JUnit { return &JUnit{} }

// Add adds a run that has completed. If fingerprint is not empty, the run must have that
// fingerprint, and a test case compares them.
func (r *JUnit) Add(s *result.Summary, fingerprint string) {
	cases := []junit.Testcase{{Name: "run"}}
	if fingerprint != "" {
		c := junit.Testcase{Name: "fingerprint"}
		if s.Fingerprint != fingerprint {
			c.Failure = &junit.Result{Type: "fingerprint", Message: fmt.Sprintf("%s; want %s", s.Fingerprint, fingerprint)}
		}
		cases = append(cases, c)
	}
	for i := range s.Thresholds {
		v := &s.Thresholds[i]
		c := junit.Testcase{Name: v.Metric + ": " + v.Expression}
		if !v.Passed {
			c.Failure = &junit.Result{Type: "threshold", Message: fmt.Sprintf("%s; want %s", v.Found(), v.Expression), Data: valueAndLimit(v)}
		}
		cases = append(cases, c)
	}
	r.addSuite(s.Name, cases, junit.Property{Name: "seed", Value: strconv.FormatUint(s.Seed, 10)},
		junit.Property{Name: "fingerprint", Value: s.Fingerprint})
}

// AddFailed adds a run that did not complete, with the error that stopped it.
func (r *JUnit) AddFailed(name string, seed uint64, err error) {
	r.addSuite(name, []junit.Testcase{{Name: "run", Error: &junit.Result{Type: "run", Message: err.Error()}}},
		junit.Property{Name: "seed", Value: strconv.FormatUint(seed, 10)})
}

func (r *JUnit) addSuite(name string, cases []junit.Testcase, properties ...junit.Property) {
	s := junit.Testsuite{
		Package: "apfsim", ID: len(r.suites.Suites), Name: name,
		Timestamp: "1970-01-01T00:00:00", Hostname: "localhost", Time: "0",
		Properties: &properties,
		SystemOut:  &junit.Output{}, SystemErr: &junit.Output{}, // Ant requires both
	}
	for _, c := range cases {
		c.Classname, c.Time = name, "0"
		s.AddTestcase(c)
	}
	r.suites.Suites = append(r.suites.Suites, s)
}

// valueAndLimit returns the value and the limit of a threshold with all digits.
func valueAndLimit(v *result.Verdict) string {
	unit := ""
	if v.Unit != "" {
		unit = " " + v.Unit
	}
	value := v.Note
	if v.Value != nil {
		value = strconv.FormatFloat(*v.Value, 'f', -1, 64) + unit
	}
	return fmt.Sprintf("value %s, limit %s%s", value, strconv.FormatFloat(v.Limit, 'f', -1, 64), unit)
}

// Write writes the report. Characters in names and messages that XML does not allow become U+FFFD,
// and others that are not printable are escaped (see [format.Printable]).
func (r *JUnit) Write(w io.Writer) error {
	text, err := xml.MarshalIndent(&r.suites, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(&format.PrintableWriter{Next: w}, "%s%s\n", xml.Header, text)
	return err
}
