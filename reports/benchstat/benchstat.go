// Package benchstat writes the statistics of a comparison in the Go benchmark format, which
// benchstat reads.
package benchstat

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"apfsim/reports/compare"
	"apfsim/reports/stats"
)

// Write writes one side's values in the format of Go's benchmarks, a line for each run
// and statistic, for benchstat to compare with the other side's. What is the same in every
// run of a side has a unit of its own, for which benchstat does no statistics.
func Write(c *compare.Comparison, w io.Writer, head bool) error {
	var b bytes.Buffer
	exact := map[string]bool{}
	var lines bytes.Buffer
	changes := slices.Clone(c.Changes)
	slices.SortFunc(changes, func(x, y compare.Change) int { return strings.Compare(x.Name, y.Name) })
	for i := range changes {
		ch := &changes[i]
		unit := benchUnit(ch.Unit)
		if isConstant(ch.BaseEstimate) && isConstant(ch.HeadEstimate) {
			unit += "-exact"
			exact[unit] = true
		}
		values := ch.BaseEstimate
		if head {
			values = ch.HeadEstimate
		}
		for _, v := range values {
			if !math.IsNaN(v) {
				fmt.Fprintf(&lines, "Benchmark%s 1 %s %s\n", benchName(ch.Name), strconv.FormatFloat(v, 'f', -1, 64), unit)
			}
		}
	}
	units := make([]string, 0, len(exact))
	for unit := range exact {
		units = append(units, unit)
	}
	slices.Sort(units)
	for _, unit := range units {
		fmt.Fprintf(&b, "Unit %s assume=exact\n", unit)
	}
	b.WriteByte('\n')
	b.Write(lines.Bytes())
	_, err := w.Write(b.Bytes())
	return err
}

func isConstant(v stats.Values) bool {
	present := v.Present()
	return len(present) == 0 || slices.Min(present) == slices.Max(present)
}

func benchUnit(unit string) string {
	switch unit {
	case "":
		return "ratio"
	case "ns":
		return "ns/op"
	}
	return unit
}

// benchName returns the name as a benchmark may have it: no spaces, and an upper-case letter first.
func benchName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, name)
	return strings.ToUpper(name[:1]) + name[1:]
}
