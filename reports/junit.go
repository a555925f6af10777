package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
)

// JUnit is the verdicts of runs as test results, in the XML of JUnit that CI systems read: a
// suite for each run, and in it a test for the run itself and for each of its thresholds. The
// format is that of Jenkins' junit-10.xsd. It has neither dates nor times, so that the same
// runs give the same bytes.
type JUnit struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"` // the run's name
	Name    string        `xml:"name,attr"`
	Failure *junitProblem `xml:"failure"`
	Error   *junitProblem `xml:"error"`
}

type junitProblem struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// NewJUnit returns the results of no runs.
func NewJUnit() *JUnit { return &JUnit{Name: "apfsim"} }

// Add adds a run that has come to its end. If its fingerprint was to be a certain one, that
// is a test as well; "" is any.
func (j *JUnit) Add(s *Summary, fingerprint string) {
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
			c.Failure = &junitProblem{Type: "threshold", Message: fmt.Sprintf("%s; want %s", v.found(), v.Expression), Text: v.figures()}
		}
		cases = append(cases, c)
	}
	j.add(s.Name, cases, junitProperty{"seed", strconv.FormatUint(s.Seed, 10)}, junitProperty{"fingerprint", s.Fingerprint})
}

// AddFailed adds a run that did not come to its end, and why.
func (j *JUnit) AddFailed(name string, seed uint64, why error) {
	j.add(name, []junitCase{{Name: "run", Error: &junitProblem{Type: "run", Message: why.Error()}}},
		junitProperty{"seed", strconv.FormatUint(seed, 10)})
}

func (j *JUnit) add(name string, cases []junitCase, properties ...junitProperty) {
	s := junitSuite{Name: name, Tests: len(cases), Cases: cases, Properties: properties}
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
	j.Tests += s.Tests
	j.Failures += s.Failures
	j.Errors += s.Errors
}

// figures writes value and limit in full.
func (v *Verdict) figures() string {
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
func (j *JUnit) Write(w io.Writer) error {
	text, err := xml.MarshalIndent(j, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}
