package compare

import (
	"fmt"
	"strings"
)

// ListedValues returns the statistics to be listed and a title. The number of rows is at most most,
// or unlimited if all is set, which also lists the statistics that did not change.
func ListedValues(v *Values, maxRows int, all bool) (rows []ValueRow, title string) {
	rows, changed := v.Rows()
	title = fmt.Sprintf("%d of %d names of statistics changed at some value", changed, len(rows))
	switch {
	case all:
		return rows, title + "; all are listed"
	case changed > maxRows:
		return rows[:maxRows], fmt.Sprintf("%s; the first %d are listed", title, maxRows)
	}
	return rows[:changed], title
}

// ValuesHow states how the values are compared.
func ValuesHow(v *Values) string {
	c := v.Comparisons[0]
	parts := []string{fmt.Sprintf("Each value of %s is compared with %s.", v.Parameter, v.Base), ComparedHow(c)}
	tests := 0
	for _, c := range v.Comparisons {
		tests += c.Distinct.Tested
	}
	if tests > 0 {
		parts = append(parts, fmt.Sprintf("Tests: %d, for each value at a false discovery rate of 5 %% (Benjamini-Hochberg; assumes positive dependence).", tests))
	}
	if scope := ComparedScope(c); scope != "" {
		parts = append(parts, scope)
	}
	return strings.Join(parts, " ")
}

// ValuesWarnings returns the warnings of all comparisons, each once.
func ValuesWarnings(v *Values) (all []string) {
	seen := map[string]bool{}
	for _, c := range v.Comparisons {
		for _, w := range c.Warnings {
			if !seen[w] {
				seen[w] = true
				all = append(all, w)
			}
		}
	}
	return all
}
