package render

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
)

// Benchstat writes the values of one side, base or head, with a line for each run and statistic. benchstat
// compares the files of both sides. A statistic whose value is the same in all runs of each side has
// a unit that ends in -exact, for which benchstat computes no intervals.
func Benchstat(c *compare.Comparison, w io.Writer, head bool) error {
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

func isConstant(v compare.RunValues) bool {
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

// benchName returns a statistic's name in the form that the format requires: without spaces, and with
// an upper-case letter first.
func benchName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, name)
	return strings.ToUpper(name[:1]) + name[1:]
}
