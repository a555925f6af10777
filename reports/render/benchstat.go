package render

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"apfsim/reports/report"
)

// Benchstat writes the samples of one side of a document, 0 for the base and 1 for the head, with a line for each run and
// statistic. benchstat compares the files of both sides. A statistic whose value is the same in all runs of each side has
// a unit that ends in -exact, for which benchstat computes no intervals.
func Benchstat(w io.Writer, d *report.Document, side int) error {
	var exact []string
	var lines bytes.Buffer
	samples := slices.Clone(d.Samples)
	slices.SortFunc(samples, func(x, y report.Samples) int { return strings.Compare(x.Name, y.Name) })
	for i := range samples {
		s := &samples[i]
		unit := benchUnit(s.Unit)
		if isConstant(s.Sides[0]) && isConstant(s.Sides[1]) {
			unit += "-exact"
			exact = append(exact, unit)
		}
		for _, v := range s.Sides[side] {
			fmt.Fprintf(&lines, "Benchmark%s 1 %s %s\n", benchName(s.Name), strconv.FormatFloat(v, 'f', -1, 64), unit)
		}
	}
	slices.Sort(exact)
	var b bytes.Buffer
	for _, unit := range slices.Compact(exact) {
		fmt.Fprintf(&b, "Unit %s assume=exact\n", unit)
	}
	b.WriteByte('\n')
	b.Write(lines.Bytes())
	_, err := w.Write(b.Bytes())
	return err
}

func isConstant(values []float64) bool {
	return len(values) == 0 || slices.Min(values) == slices.Max(values)
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
