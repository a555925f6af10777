package compare

import (
	"cmp"
	"slices"

	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// Values compares runs of one scenario at several values of a parameter: those at each value with
// those at one of them, the base. It is what comparison.json contains if there are more than two
// sides.
type Values struct {
	SchemaVersion string   `json:"schemaVersion"`
	Parameter     string   `json:"parameter"` // its path
	Base          string   `json:"base"`      // its value in the base
	Values        []string `json:"values"`    // all, that of the base included
	Passed        bool     `json:"passed"`    // whether no limit is exceeded at any value

	// Comparisons are those of the base with each other value, in the order of the values. Each is
	// tested by itself, so that at most one in twenty of its changes is expected to be a false alarm.
	Comparisons []*Comparison `json:"comparisons"`
}

// CompareValues compares the runs at each value with those at the value with the index base. There
// are at least two values.
func CompareValues(parameter string, values []string, base int, runs []*Replications, only ...Glob) *Values {
	v := &Values{SchemaVersion: result.SchemaVersion, Parameter: parameter, Base: values[base], Values: values, Passed: true}
	for i, value := range values {
		if i != base {
			v.Comparisons = append(v.Comparisons, Compare(v.label(v.Base), runs[base], v.label(value), runs[i], only...))
		}
	}
	return v
}

func (v *Values) label(value string) string { return v.Parameter + "=" + value }

// Judge adds a verdict for each limit to each comparison; see [Comparison.Judge].
func (v *Values) Judge(limits []Limit) error {
	for _, c := range v.Comparisons {
		if err := c.Judge(limits); err != nil {
			return err
		}
		v.Passed = v.Passed && c.Passed
	}
	return nil
}

// Ran states the scenario and the runs that all values have in common.
func (v *Values) Ran() string {
	base := *v.BaseSide()
	for _, c := range v.Comparisons {
		base.Releases = base.Releases.Common(&c.Head.Releases)
	}
	return SideText(&base)
}

// BaseSide returns the side that the others are compared with.
func (v *Values) BaseSide() *Side { return &v.Comparisons[0].Base }

// HeadValues returns the values other than that of the base, one for each comparison.
func (v *Values) HeadValues() []string {
	return slices.DeleteFunc(slices.Clone(v.Values), func(value string) bool { return value == v.Base })
}

// ValueRow is one statistic at all values.
type ValueRow struct {
	ID      metric.Name
	Name    string
	Changes []*Change // one for each comparison; nil without samples on both sides
}

// Any returns the change at the first value that has samples.
func (r *ValueRow) Any() *Change {
	return r.Changes[slices.IndexFunc(r.Changes, func(c *Change) bool { return c != nil })]
}

// changed returns the largest of the changes that are listed under the name of the row, nil if
// there are none.
func (r *ValueRow) changed() (largest *Change) {
	for _, c := range r.Changes {
		if c != nil && c.Outcome == Changed && c.SameAs == "" && (largest == nil || c.RelativeSize() > largest.RelativeSize()) {
			largest = c
		}
	}
	return largest
}

// Rows returns the statistics that have samples in the base and at another value: first those that
// changed at some value, the largest change first, and then the others by name. The number of the
// changed ones is returned as well.
func (v *Values) Rows() (rows []ValueRow, changed int) {
	at := map[string]int{}
	for i, c := range v.Comparisons {
		for k := range c.Changes {
			ch := &c.Changes[k]
			row, known := at[ch.Name]
			if !known {
				row = len(rows)
				at[ch.Name] = row
				rows = append(rows, ValueRow{ID: ch.ID, Name: ch.Name, Changes: make([]*Change, len(v.Comparisons))})
			}
			rows[row].Changes[i] = ch
		}
	}
	slices.SortStableFunc(rows, func(a, b ValueRow) int {
		x, y := a.changed(), b.changed()
		if x == nil || y == nil {
			return cmp.Or(compareBool(x == nil, y == nil), cmp.Compare(a.Name, b.Name))
		}
		return cmp.Or(compareListed(x, y), cmp.Compare(a.Name, b.Name))
	})
	for changed < len(rows) && rows[changed].changed() != nil {
		changed++
	}
	return rows, changed
}

// Judged counts the improvements and the regressions among the numbers of a comparison.
func (c *Comparison) Judged() (improvements, regressions int) {
	for i := range c.Changes {
		switch ch := &c.Changes[i]; {
		case ch.SameAs != "":
		case ch.Judgement == Improvement:
			improvements++
		case ch.Judgement == Regression:
			regressions++
		}
	}
	return improvements, regressions
}

// Total returns how many numbers a comparison has, each counted once.
func (c *Comparison) Total() int { return c.Distinct.Tested + c.Distinct.Untested + c.Exact }
