package render

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// JUnit writes the checks of any number of runs, for CI systems, which show them as test results. Each run is a test
// suite, and each of its checks a test case. Characters in names and messages that XML does not allow become U+FFFD, and
// others that are not printable are escaped (see [format.Printable]).
//
// The types are those of go-junit-report. The result is valid according to both schemas in wide
// use: that of Ant (windyroad/JUnit-Schema) and that of the xUnit plugin of Jenkins
// (junit-10.xsd). Ant requires a date, times and a host name. They are constant, so that the same
// runs give the same bytes.
func JUnit(w io.Writer, runs []*report.Checked) error {
	var all junit.Testsuites // its totals stay 0 and are not written, because Ant's schema does not allow them
	for i, run := range runs {
		properties := []junit.Property{{Name: "seed", Value: strconv.FormatUint(run.Seed, 10)}}
		if run.Fingerprint != "" {
			properties = append(properties, junit.Property{Name: "fingerprint", Value: run.Fingerprint})
		}
		s := junit.Testsuite{
			Package: "apfsim", ID: i, Name: run.Name,
			Timestamp: "1970-01-01T00:00:00", Hostname: "localhost", Time: "0",
			Properties: &properties,
			SystemOut:  &junit.Output{}, SystemErr: &junit.Output{}, // Ant requires both
		}
		for _, c := range run.Checks {
			test := junit.Testcase{Name: c.Name, Classname: run.Name, Time: "0"}
			found := &junit.Result{Type: c.Kind, Message: c.Message, Data: c.Details}
			switch {
			case c.Aborted:
				test.Error = found
			case !c.Passed:
				test.Failure = found
			}
			s.AddTestcase(test)
		}
		all.Suites = append(all.Suites, s)
	}
	text, err := xml.MarshalIndent(&all, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(&format.PrintableWriter{Next: w}, "%s%s\n", xml.Header, text)
	return err
}
