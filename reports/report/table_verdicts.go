package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// A table of verdicts begins with a mark on a terminal and in Markdown; on a page it has a column
// of verdicts in words. The mark and the words are from one cell.

// passedCell is the verdict in words.
func passedCell(passed bool, holds, fails string) Cell {
	if passed {
		return Cell{Text: "✓ " + holds, Judgement: judge.Good}
	}
	return Cell{Text: "✗ " + fails, Judgement: judge.Bad}
}

// markOf returns the first column, with the mark of the verdict that cell returns.
func markOf[R any](cell func(*R) Cell) ColumnOf[R] {
	return ColumnOf[R]{Column: Column{Left: true, Only: Terminal | Markdown}, Cell: func(r *R) Cell {
		c := cell(r)
		c.Text, _, _ = strings.Cut(c.Text, " ")
		return c
	}}
}

// metricWidth is how many characters of a threshold's metric a terminal shows.
const metricWidth = 50

// thresholdColumns are the columns of the verdicts on the thresholds of a run.
var thresholdColumns = Definition[result.Verdict]{
	markOf(thresholdVerdict),
	{Column: Column{Title: "Threshold", Term: "threshold", Left: true, Width: metricWidth},
		Cell: func(v *result.Verdict) Cell { return Cell{Text: v.Metric, Code: true} }},
	{Column: Column{Title: "Verdict", Left: true, Only: HTML}, Cell: thresholdVerdict},
	{Column: Column{Title: "Wanted", Left: true}, Cell: func(v *result.Verdict) Cell { return Cell{Text: v.Expression, Code: true} }},
	{Column: Column{Title: "Found", Only: HTML}, Cell: foundCell},
	{Column: Column{Only: Terminal}, Cell: func(v *result.Verdict) Cell { return Word(v.ValueText()) }},
	{Column: Column{Left: true, Only: Terminal}, Cell: windowsCell},
}

// thresholdVerdict is neither good nor bad for what was expected to happen and did.
func thresholdVerdict(v *result.Verdict) Cell {
	if v.Passed && v.Kind == metric.Expect {
		return Word("✓ as expected")
	}
	return passedCell(v.Passed, "holds", "failed")
}

func foundCell(v *result.Verdict) Cell {
	if v.Value == nil {
		return Word(v.Found())
	}
	return figure(*v.Value, v.Found())
}

func windowsCell(v *result.Verdict) Cell {
	if v.Windows == nil {
		return Cell{}
	}
	return Word(v.Windows.Text())
}

// thresholdsBrief is how many thresholds the first screen of a terminal has.
const thresholdsBrief = 6

// thresholdTable is the table of the verdicts on a run's thresholds, those that failed first. Its title is the verdict on the
// run.
func thresholdTable(s *result.Summary) *Table {
	t := &Table{Name: "thresholds", Caption: "Thresholds", Columns: thresholdColumns.Columns(), NoHead: true}
	failed := 0
	for _, passed := range []bool{false, true} {
		for i := range s.Thresholds {
			if v := &s.Thresholds[i]; v.Passed == passed {
				t.Rows = append(t.Rows, thresholdColumns.Row(v))
			}
		}
		if !passed {
			failed = len(t.Rows)
		}
	}
	t.Title = thresholdsTitle(failed, len(s.Thresholds), "")
	return t
}

// thresholdsTitle is the verdict on all thresholds; where follows it if they hold.
func thresholdsTitle(failed, all int, where string) string {
	if failed > 0 {
		return fmt.Sprintf("Thresholds: %d of %d failed", failed, all)
	}
	return "Thresholds: all hold" + where
}

// replicated is the verdict on a threshold in several runs.
type replicated struct {
	*compare.RunsVerdict
	runs int
}

// replicatedColumns are the columns of the verdicts on the thresholds of several runs.
var replicatedColumns = Definition[replicated]{
	markOf(replicatedVerdict),
	{Column: Column{Title: "Threshold", Term: "threshold", Left: true, Width: metricWidth},
		Cell: func(v *replicated) Cell { return Cell{Text: v.Metric, Code: true} }},
	{Column: Column{Title: "Verdict", Left: true, Only: HTML}, Cell: replicatedVerdict},
	{Column: Column{Title: "Wanted", Left: true}, Cell: func(v *replicated) Cell { return Cell{Text: v.Expression, Code: true} }},
	{Column: Column{Title: "Found", Left: true, Only: HTML}, Cell: replicatedFound},
	{Column: Column{Only: Terminal}, Cell: replicatedFound},
}

func replicatedVerdict(v *replicated) Cell {
	return passedCell(v.Passed, "holds", fmt.Sprintf("failed in %d of %d runs", len(v.FailedSeeds), v.runs))
}

func replicatedFound(v *replicated) Cell { return Word(foundInRuns(v.RunsVerdict)) }

// replicatedThresholdTable is the table of the verdicts on the thresholds of several runs, those that failed first.
func replicatedThresholdTable(r *compare.Replications) *Table {
	t := &Table{Name: "thresholds", Caption: "Thresholds", Columns: replicatedColumns.Columns(), NoHead: true}
	failed := 0
	for _, passed := range []bool{false, true} {
		for i := range r.Thresholds {
			if v := &r.Thresholds[i]; v.Passed == passed {
				t.Rows = append(t.Rows, replicatedColumns.Row(&replicated{v, len(r.Seeds)}))
			}
		}
		if !passed {
			failed = len(t.Rows)
		}
	}
	t.Title = thresholdsTitle(failed, len(r.Thresholds), " in every run")
	return t
}

// foundInRuns writes the least and the greatest value, and the first seeds of the runs that failed.
func foundInRuns(v *compare.RunsVerdict) string {
	text := metric.NoSamples
	if present := v.Values.Present(); len(present) > 0 {
		share := format.InPercent(v.Expression)
		low, high := format.BesideLimit(slices.Min(present), v.Limit, v.Unit, share), format.BesideLimit(slices.Max(present), v.Limit, v.Unit, share)
		if text = low; low != high {
			text += " to " + high
		}
		if v.Merged != nil && low != high {
			text = format.BesideLimit(*v.Merged, v.Limit, v.Unit, share) + ", in a run " + text
		}
	}
	if v.Passed {
		return text
	}
	const most = 5
	seeds := make([]string, 0, most)
	for _, seed := range v.FailedSeeds[:min(most, len(v.FailedSeeds))] {
		seeds = append(seeds, strconv.FormatUint(seed, 10))
	}
	text += "; fails with " + format.Plural(len(v.FailedSeeds), "seed") + " " + strings.Join(seeds, ", ")
	if more := len(v.FailedSeeds) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// limitColumns are the columns of the verdicts on the limits of a comparison.
var limitColumns = Definition[compare.LimitVerdict]{
	markOf(limitVerdict),
	{Column: Column{Title: "Limit", Short: "limit", Term: "limit", Left: true},
		Cell: func(v *compare.LimitVerdict) Cell { return Cell{Text: v.Expression, Code: true} }},
	{Column: Column{Title: "Verdict", Left: true, Only: HTML}, Cell: limitVerdict},
	{Column: Column{Title: "Change", Short: "change", Only: HTML | Markdown}, Cell: limitChange},
	{Column: Column{Left: true, Only: Terminal}, Cell: limitChange},
}

func limitVerdict(v *compare.LimitVerdict) Cell {
	return passedCell(v.Passed, "not significantly exceeded", "exceeded")
}

func limitChange(v *compare.LimitVerdict) Cell { return Word(compare.LimitText(v)) }

// limitTable is the table of the verdicts on a comparison's limits.
func limitTable(c *compare.Comparison) *Table {
	t := &Table{Name: "limits", Title: compare.LimitsTitle(c), Caption: "Limits of change", Columns: limitColumns.Columns(), NoHead: true}
	for i := range c.Limits {
		t.Rows = append(t.Rows, limitColumns.Row(&c.Limits[i]))
	}
	return t
}
