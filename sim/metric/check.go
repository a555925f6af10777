package metric

import (
	"regexp"
	"slices"
	"strings"

	"apfsim/document"
	"apfsim/sim/quantity"
)

// Run holds the properties of a run that are known before it begins, for the check of its thresholds.
type Run struct {
	// FlowControl is how the servers limit requests if it is not PriorityAndFairness, as messages
	// call it; "" if it is.
	FlowControl string
	// Judged is the time between warm-up and end; 0 or less if that is an error of its own.
	Judged quantity.Duration
	// Values are the values of the tags whose values are known. Those of a tag that is not there
	// are not checked.
	Values map[string][]string
}

// Check returns what is wrong with the thresholds for a run: metrics, tags and values that do
// not exist, and windows that do not fit. Warnings are about thresholds that are valid.
func (ts Thresholds) Check(run *Run) (errors, warnings document.Errors) {
	for i := range ts {
		if t := &ts[i]; t.overPath != "" && Named(t.Metric) != nil {
			t.checkWindows(run, &errors, &warnings)
		}
	}
	// The errors of a metric are reported once, not with each of its expressions.
	lastKey, last := "", (*Metric)(nil)
	for i := range ts {
		t := &ts[i]
		m, called := entryOf(t.Metric, t.Stat)
		if t.keyPath == lastKey && m == last {
			continue
		}
		lastKey, last = t.keyPath, m
		t.checkMetric(m, called, run, func(format string, args ...any) {
			errors.Add(t.keyPosition, t.keyPath, format, args...)
		})
	}
	return errors, warnings
}

var statusText = regexp.MustCompile(`^([1-5][0-9][0-9]|` + NoAnswer + `)$`)

// checkMetric checks the metric and the tags of t.
func (t *Threshold) checkMetric(m *Metric, called string, run *Run, fail func(format string, args ...any)) {
	if m == nil {
		fail("unknown metric %s%s", t.Metric, document.Hint(t.Metric, names()))
		return
	}
	if m.FlowControl && run.FlowControl != "" {
		fail("there is no %s with flowControl %s", called, run.FlowControl)
		return
	}
	if m.Required != "" && t.Tag(m.Required) == "" {
		fail("%s requires the tag %s, as in %s", called, m.Required, m.requiredExample())
	}
	for _, tag := range t.Tags {
		if !slices.Contains(m.Tags, tag.Name) {
			fail("%s has no tag %s%s", called, tag.Name, document.Hint(tag.Name, m.Tags))
			continue
		}
		key := keyOf(tag.Name)
		if key.FlowControl && run.FlowControl != "" {
			fail("there is no %s with flowControl %s", tag.Name, run.FlowControl)
			continue
		}
		values, known := run.Values[tag.Name]
		if tag.Name == TagReason {
			values, known = m.reasonNames(), true
		}
		if tag.Name == TagStatus && !statusText.MatchString(tag.Value) {
			fail("%q is not a status of HTTP; want a number such as %s, or %s", document.Abridge(tag.Value), key.Example, NoAnswer)
		}
		if known && !slices.Contains(values, tag.Value) {
			fail("there is no %s %q%s", tag.Name, document.Abridge(tag.Value), document.Hint(tag.Value, values))
		}
	}
}

// mostWindows bounds the number of windows that a run is divided into.
const mostWindows = 100_000

// checkWindows checks the windows that a threshold must hold in.
func (t *Threshold) checkWindows(run *Run, errors, warnings *document.Errors) {
	fail := func(format string, args ...any) { errors.Add(t.overPosition, t.overPath, format, args...) }
	judged := run.Judged
	m, called := entryOf(t.Metric, t.Stat)
	switch {
	case m.WholeRun:
		var others []string
		for i := range registry {
			if !registry[i].WholeRun {
				others = append(others, registry[i].Name)
			}
		}
		fail("%s is measured over the whole run alone; want it without over, or one of %s", called, strings.Join(others, ", "))
	case t.Over <= 0:
		fail("want more than 0s; without over, a threshold is for the run as a whole")
	case judged <= 0: // an error of its own
	case t.Over > judged:
		fail("%v is more than the %v between warm-up and end; want at most that", t.Over, judged)
	case judged/t.Over > mostWindows:
		fail("%v divides the %v between warm-up and end into %d windows; want at most %d: %v or more",
			t.Over, judged, judged/t.Over, mostWindows, (judged+mostWindows-1)/mostWindows)
	case judged%t.Over != 0:
		warnings.Add(t.overPosition, t.overPath, "%v does not divide the %v between warm-up and end; the last %v are in no window and are not evaluated",
			t.Over, judged, judged%t.Over)
	}
}
