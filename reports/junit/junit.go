// Package junit writes the verdicts on thresholds as JUnit XML.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"

	"apfsim/reports/result"
)

// Report is the verdicts of runs as test results, in the XML of JUnit that CI systems read: a
// suite for each run, and in it a test for the run itself and for each of its thresholds. It
// is valid by both schemas in wide use, that of Ant's reports (windyroad/JUnit-Schema) and
// that of Jenkins' xunit plugin (junit-10.xsd). The date, the times and the host that the first
// of them wants are always the same, so that the same runs give the same bytes.
type Report struct {
	XMLName xml.Name     `xml:"testsuites"` // without counts, which the first schema does not allow
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Package    string          `xml:"package,attr"`
	ID         int             `xml:"id,attr"` // counts from 0
	Name       string          `xml:"name,attr"`
	Timestamp  string          `xml:"timestamp,attr"`
	Hostname   string          `xml:"hostname,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Time       int             `xml:"time,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
	Out        string          `xml:"system-out"` // both empty, and wanted
	Err        string          `xml:"system-err"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"` // the run's name
	Name    string        `xml:"name,attr"`
	Time    int           `xml:"time,attr"`
	Failure *junitProblem `xml:"failure"`
	Error   *junitProblem `xml:"error"`
}

type junitProblem struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// New returns the results of no runs.
func New() *Report { return &Report{} }

// Add adds a run that has come to its end. If its fingerprint was to be a certain one, that
// is a test as well; "" is any.
func (j *Report) Add(s *result.Summary, fingerprint string) {
	cases := []junitCase{{Name: "run"}}
	if fingerprint != "" {
		c := junitCase{Name: "fingerprint"}
		if s.Fingerprint != fingerprint {
			c.Failure = &junitProblem{Type: "fingerprint", Message: fmt.Sprintf("%s; want %s", s.Fingerprint, fingerprint)}
		}
		cases = append(cases, c)
	}
	for i := range s.Thresholds {
		v := &s.Thresholds[i]
		c := junitCase{Name: v.Metric + ": " + v.Expression}
		if !v.Passed {
			c.Failure = &junitProblem{Type: "threshold", Message: fmt.Sprintf("%s; want %s", v.Found(), v.Expression), Text: figures(v)}
		}
		cases = append(cases, c)
	}
	j.add(s.Name, cases, junitProperty{"seed", strconv.FormatUint(s.Seed, 10)}, junitProperty{"fingerprint", s.Fingerprint})
}

// AddFailed adds a run that did not come to its end, and why.
func (j *Report) AddFailed(name string, seed uint64, why error) {
	j.add(name, []junitCase{{Name: "run", Error: &junitProblem{Type: "run", Message: why.Error()}}},
		junitProperty{"seed", strconv.FormatUint(seed, 10)})
}

func (j *Report) add(name string, cases []junitCase, properties ...junitProperty) {
	s := junitSuite{Package: "apfsim", ID: len(j.Suites), Name: name, Timestamp: "1970-01-01T00:00:00", Hostname: "localhost",
		Tests: len(cases), Properties: properties, Cases: cases}
	for i := range cases {
		cases[i].Class = name
		if cases[i].Failure != nil {
			s.Failures++
		}
		if cases[i].Error != nil {
			s.Errors++
		}
	}
	j.Suites = append(j.Suites, s)
}

// figures writes value and limit in full.
func figures(v *result.Verdict) string {
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

// Write writes the results. Characters that XML does not have become U+FFFD.
func (j *Report) Write(w io.Writer) error {
	text, err := xml.MarshalIndent(j, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}
