package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"apfsim/lab/live/compare"
	"apfsim/reports/judge"
	"apfsim/reports/report"
)

// statistic is one row of a kind's part of the table.
type statistic struct {
	name  string
	wait  bool
	value func(*compare.Stats) float64
}

var statistics = []statistic{
	{"executed", false, func(s *compare.Stats) float64 { return float64(s.Executed) }},
	{"queue-full", false, func(s *compare.Stats) float64 { return float64(s.QueueFull) }},
	{"time-out", false, func(s *compare.Stats) float64 { return float64(s.TimeOut) }},
	{"wait mean", true, func(s *compare.Stats) float64 { return float64(s.WaitMean) }},
	{"wait p50", true, func(s *compare.Stats) float64 { return float64(s.WaitP50) }},
	{"wait p90", true, func(s *compare.Stats) float64 { return float64(s.WaitP90) }},
	{"wait p99", true, func(s *compare.Stats) float64 { return float64(s.WaitP99) }},
}

func (s *statistic) text(x float64) string {
	if s.wait {
		return milliseconds(time.Duration(x))
	}
	return fmt.Sprintf("%.0f", x)
}

// milliseconds writes durations that stand below each other in one unit.
func milliseconds(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	if ms < 99.95 {
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

// tableOf returns a table with a row for each of some values.
func tableOf[R any](title string, columns report.Definition[R], rows []R) *report.Table {
	t := &report.Table{Title: title, Columns: columns.Columns()}
	for i := range rows {
		t.Rows = append(t.Rows, columns.Row(&rows[i]))
	}
	return t
}

// column returns a column with one head in all forms.
func column[R any](title string, left bool, text func(*R) string) report.ColumnOf[R] {
	return report.ColumnOf[R]{Column: report.Column{Title: title, Short: title, Left: left}, Cell: func(r *R) report.Cell { return report.Word(text(r)) }}
}

// statisticRow is one statistic of a kind of requests. Only the first row of a case and of a kind names it.
type statisticRow struct {
	caseName, who      string
	statistic          string
	live, replay       string // the mean of the runs that are not void, with the least and the most
	prediction, others string
}

var statisticColumns = report.Definition[statisticRow]{
	column("case", true, func(r *statisticRow) string { return r.caseName }),
	column("requests", true, func(r *statisticRow) string { return r.who }),
	column("statistic", true, func(r *statisticRow) string { return r.statistic }),
	column("live", false, func(r *statisticRow) string { return r.live }),
	column("replay of the measured times", false, func(r *statisticRow) string { return r.replay }),
	column("prediction, same seed", false, func(r *statisticRow) string { return r.prediction }),
	column("other seeds", false, func(r *statisticRow) string { return r.others }),
}

// statisticRows returns the statistics of all cases.
func (r *Results) statisticRows() (rows []statisticRow) {
	for i := range r.Cases {
		c := &r.Cases[i]
		valid := c.valid()
		if len(valid) == 0 {
			rows = append(rows, statisticRow{caseName: c.Name, statistic: "all runs are void"})
			continue
		}
		name := c.Name
		for _, kind := range valid[0].Live {
			who := fmt.Sprintf("%s: %d at %s", kind.Kind, kind.Requests, kind.Level)
			for k := range statistics {
				s := &statistics[k]
				value := func(all []*compare.Stats) float64 { return s.value(compare.Find(all, kind.Level, kind.Kind)) }
				var live, replay, others []float64
				for _, run := range valid {
					live, replay = append(live, value(run.Live)), append(replay, value(run.Replay))
				}
				for _, seed := range c.OtherSeeds {
					others = append(others, value(seed))
				}
				prediction := value(c.Prediction)
				switch most := max(slices.Max(live), slices.Max(replay), prediction); {
				case !s.wait && s.name != "executed" && most == 0: // nothing was rejected for this reason
				case s.wait && s.name != "wait mean" && s.name != "wait p99" && most < float64(time.Millisecond): // nothing waited
				default:
					rows = append(rows, statisticRow{name, who, s.name, s.spread(live), s.spread(replay), s.text(prediction), s.between(others)})
					name, who = "", ""
				}
			}
		}
	}
	return rows
}

// spread returns the mean, and the least and the most if they differ.
func (s *statistic) spread(xs []float64) string {
	text, mean := s.between(xs), s.text(stat.Mean(xs, nil))
	if !strings.Contains(text, "..") {
		return mean
	}
	return fmt.Sprintf("%s [%s]", mean, text)
}

// between returns the least and the most, or one of them if they have the same text.
func (s *statistic) between(xs []float64) string {
	if len(xs) == 0 {
		return ""
	}
	from, to := s.text(slices.Min(xs)), s.text(slices.Max(xs))
	if from == to {
		return from
	}
	return fmt.Sprintf("%s..%s", strings.TrimSuffix(from, " ms"), to)
}

// limitRow is a level whose limit moves in a run.
type limitRow struct{ caseName, level, after, limits string }

var limitColumns = report.Definition[limitRow]{
	column("case", true, func(r *limitRow) string { return r.caseName }),
	column("level", true, func(r *limitRow) string { return r.level }),
	column("after", true, func(r *limitRow) string { return r.after }),
	column("limits", true, func(r *limitRow) string { return r.limits }),
}

// limitRows returns the limits that the server set, of the first run of each case that is not void.
func (r *Results) limitRows() (rows []limitRow) {
	for i := range r.Cases {
		c := &r.Cases[i]
		valid := c.valid()
		if len(valid) == 0 {
			continue
		}
		for all := valid[0].Adjustments; len(all) > 0; {
			n := slices.IndexFunc(all, func(l Limits) bool { return l.Level != all[0].Level })
			if n < 0 {
				n = len(all)
			}
			var at, limits []string
			moves := false
			for _, l := range all[:n] {
				at = append(at, fmt.Sprint(l.At.Round(100*time.Millisecond)))
				limits = append(limits, fmt.Sprintf("%d / %d", l.Live, l.Replay))
				moves = moves || l.Live != all[0].Live
			}
			if moves {
				rows = append(rows, limitRow{c.Name, all[0].Level, strings.Join(at, ", "), strings.Join(limits, ", ")})
			}
			all = all[n:]
		}
	}
	return rows
}

// runRow is a run with its name.
type runRow struct {
	name string
	*Run
}

// runRows returns all runs.
func (r *Results) runRows() (rows []runRow) {
	for i := range r.Cases {
		for k := range r.Cases[i].Runs {
			rows = append(rows, runRow{fmt.Sprintf("%s %d", r.Cases[i].Name, k+1), &r.Cases[i].Runs[k]})
		}
	}
	return rows
}

// runColumns are what was measured of a run besides its statistics.
var runColumns = report.Definition[runRow]{
	column("run", true, func(r *runRow) string { return r.name }),
	column("result", true, func(r *runRow) string { return r.verdict() }),
	measuredColumn("sender late, p90", "sender late, p90", func(r *runRow) string { return milliseconds(r.LateP90) }),
	measuredColumn("webhook overhead, calibrated", "webhook overhead, calibrated", func(r *runRow) string { return milliseconds(r.Overhead) }),
	measuredColumn("webhook overhead, p50", "p50", func(r *runRow) string { return milliseconds(r.OverheadP50) }),
	measuredColumn("webhook overhead, p90", "p90", func(r *runRow) string { return milliseconds(r.OverheadP90) }),
	measuredColumn("wait without a queue, p50", "wait without a queue, p50", func(r *runRow) string { return milliseconds(r.NoiseP50) }),
	measuredColumn("wait without a queue, p99", "p99", func(r *runRow) string { return milliseconds(r.NoiseP99) }),
	measuredColumn("hand-over", "hand-over", func(r *runRow) string {
		if r.Handover == 0 {
			return ""
		}
		return milliseconds(r.Handover)
	}),
	measuredColumn("same outcome in the replay", "same outcome in the replay", func(r *runRow) string { return fmt.Sprintf("%.1f %%", 100*r.SameOutcome) }),
	measuredColumn("load average", "load average", func(r *runRow) string { return r.LoadAverage }),
	{Column: report.Column{Title: "spec.servers of a scenario", Short: "spec.servers of a scenario", Left: true},
		Cell: func(r *runRow) report.Cell { return report.Cell{Text: r.Servers(), Code: true} }},
}

// measuredColumn returns a column of numbers, whose short head continues that of the column before it.
func measuredColumn(title, short string, text func(*runRow) string) report.ColumnOf[runRow] {
	c := column(title, false, text)
	c.Short = short
	return c
}

// fitColumns are how well scenarios predict the runs whose logs they are fitted to.
var fitColumns = report.Definition[runRow]{
	column("run", true, func(r *runRow) string { return r.name }),
	column("statistics", false, func(r *runRow) string { return fmt.Sprint(r.Fit.Statistics) }),
	column("within the intervals", false, func(r *runRow) string { return fmt.Sprint(r.Fit.Within) }),
	column("share", false, func(r *runRow) string {
		return fmt.Sprintf("%.1f %%", 100*float64(r.Fit.Within)/float64(max(1, r.Fit.Statistics)))
	}),
	column("stated", false, func(r *runRow) string { return fmt.Sprintf("%.0f %%", 100*r.Fit.Coverage) }),
}

// checkRow is a comparison of a run.
type checkRow struct {
	caseName string
	compare.Check
}

var checkColumns = report.Definition[checkRow]{
	{Column: report.Column{Title: "Result", Short: "result", Left: true, Only: report.Terminal}, Cell: func(r *checkRow) report.Cell {
		if r.Passed {
			return report.Word("ok")
		}
		return report.Cell{Text: "FAILED", Judgement: judge.Bad}
	}},
	markdownColumn(column("case", true, func(r *checkRow) string { return r.caseName })),
	column("comparison", true, func(r *checkRow) string { return r.What }),
	column("of the first run", true, func(r *checkRow) string { return r.Detail }),
}

func markdownColumn(c report.ColumnOf[checkRow]) report.ColumnOf[checkRow] {
	c.Only = report.Markdown
	return c
}

// checkRows returns the comparisons of the first run of each case that is not void.
func (r *Results) checkRows() (rows []checkRow) {
	for i := range r.Cases {
		if valid := r.Cases[i].valid(); len(valid) > 0 {
			rows = append(rows, valid[0].checkRows(r.Cases[i].Name)...)
		}
	}
	return rows
}

func (r *Run) checkRows(name string) (rows []checkRow) {
	for _, c := range r.Checks {
		rows = append(rows, checkRow{name, c})
	}
	return rows
}
