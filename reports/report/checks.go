package report

import (
	"fmt"
	"strconv"

	"apfsim/reports/result"
)

// Checked is a run with the checks that it passed or failed, for programs.
type Checked struct {
	Name        string
	Seed        uint64
	Fingerprint string // "" if the run did not complete
	Checks      []Check
}

// Check is one thing that was checked.
type Check struct {
	Name    string
	Passed  bool
	Aborted bool   // it could not be checked, because the run did not complete
	Kind    string // of a check that did not pass: run, fingerprint or threshold
	Message string // why it did not pass
	Details string // the numbers with all digits; may be empty
}

// CheckedRun returns the checks of a run that has completed: the run itself, its fingerprint if one is expected, and each
// of its thresholds.
func CheckedRun(s *result.Summary, fingerprint string) *Checked {
	c := &Checked{Name: s.Name, Seed: s.Seed, Fingerprint: s.Fingerprint, Checks: []Check{{Name: "run", Passed: true}}}
	if fingerprint != "" {
		c.Checks = append(c.Checks, Check{Name: "fingerprint", Passed: s.Fingerprint == fingerprint, Kind: "fingerprint",
			Message: fmt.Sprintf("%s; want %s", s.Fingerprint, fingerprint)})
	}
	for i := range s.Thresholds {
		v := &s.Thresholds[i]
		c.Checks = append(c.Checks, Check{Name: v.Metric + ": " + v.Expression, Passed: v.Passed, Kind: "threshold",
			Message: fmt.Sprintf("%s; want %s", v.Found(), v.Expression), Details: valueAndLimit(v)})
	}
	return c
}

// AbortedRun returns the check of a run that did not complete, with the error that stopped it.
func AbortedRun(name string, seed uint64, err error) *Checked {
	return &Checked{Name: name, Seed: seed, Checks: []Check{{Name: "run", Aborted: true, Kind: "run", Message: err.Error()}}}
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
