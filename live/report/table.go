package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"apfsim/live/compare"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
)

// statistic is one row of a kind's part of the table.
type statistic struct {
	name  string
	value func(*compare.Stats) float64
	text  func(float64) string
}

var statistics = []statistic{
	{"executed", func(s *compare.Stats) float64 { return float64(s.Executed) }, count},
	{"queue-full", func(s *compare.Stats) float64 { return float64(s.QueueFull) }, count},
	{"time-out", func(s *compare.Stats) float64 { return float64(s.TimeOut) }, count},
	{"wait mean", func(s *compare.Stats) float64 { return float64(s.WaitMean) }, milliseconds},
	{"wait p50", func(s *compare.Stats) float64 { return float64(s.WaitP50) }, milliseconds},
	{"wait p90", func(s *compare.Stats) float64 { return float64(s.WaitP90) }, milliseconds},
	{"wait p99", func(s *compare.Stats) float64 { return float64(s.WaitP99) }, milliseconds},
}

func count(x float64) string { return fmt.Sprintf("%.0f", x) }

func milliseconds(ns float64) string {
	if ms := ns / float64(time.Millisecond); ms < 99.95 {
		return fmt.Sprintf("%.1f ms", ms)
	} else {
		return fmt.Sprintf("%.0f ms", ms)
	}
}

// newTable returns a table; the columns from the first number on are flush right.
func newTable(title string, firstNumber int, columns ...string) *report.Table {
	t := &report.Table{Title: title}
	for i, name := range columns {
		t.Columns = append(t.Columns, report.Column{Title: name, Short: name, Left: i < firstNumber})
	}
	return t
}

// addRow adds a row of words and numbers to a table.
func addRow(t *report.Table, cells ...string) {
	row := make([]report.Cell, len(cells))
	for i, text := range cells {
		row[i] = report.Word(text)
	}
	t.Rows = append(t.Rows, row)
}

// statisticTable returns the table of all cases. Live and replay are the mean of the runs that are not void,
// with the least and the most.
func (r *Results) statisticTable() *report.Table {
	t := newTable("", 3, "case", "requests", "statistic", "live", "replay of the measured times", "prediction, same seed", "other seeds")
	for i := range r.Cases {
		c := &r.Cases[i]
		valid := c.valid()
		if len(valid) == 0 {
			addRow(t, c.Name, "", "all runs are void", "", "", "", "")
			continue
		}
		name := c.Name
		for _, kind := range valid[0].Live {
			who := fmt.Sprintf("%s: %d at %s", kind.Kind, kind.Requests, kind.Level)
			for _, st := range statistics {
				var live, replay, others []float64
				for _, run := range valid {
					live = append(live, st.value(compare.Find(run.Live, kind.Level, kind.Kind)))
					replay = append(replay, st.value(compare.Find(run.Replay, kind.Level, kind.Kind)))
				}
				for _, seed := range c.OtherSeeds {
					others = append(others, st.value(compare.Find(seed, kind.Level, kind.Kind)))
				}
				prediction := st.value(compare.Find(c.Prediction, kind.Level, kind.Kind))
				if st.name != "executed" && slices.Max(live) < 0.5e6 && slices.Max(replay) < 0.5e6 && prediction < 0.5e6 && !isWait(st) && slices.Max(live)+slices.Max(replay)+prediction == 0 {
					continue // nothing was rejected for this reason
				}
				if isWait(st) && st.name != "wait mean" && st.name != "wait p99" && max(slices.Max(live), slices.Max(replay), prediction) < 1e6 {
					continue // nothing waited
				}
				addRow(t, name, who, st.name, spread(live, st.text), spread(replay, st.text), st.text(prediction), between(others, st.text))
				name, who = "", ""
			}
		}
	}
	return t
}

func isWait(s statistic) bool { return strings.HasPrefix(s.name, "wait") }

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// spread returns the mean, and the least and the most if they differ.
func spread(xs []float64, text func(float64) string) string {
	m, from, to := text(mean(xs)), text(slices.Min(xs)), text(slices.Max(xs))
	if from == to {
		return m
	}
	return fmt.Sprintf("%s [%s..%s]", m, strings.TrimSuffix(from, " ms"), to)
}

func between(xs []float64, text func(float64) string) string {
	if len(xs) == 0 {
		return ""
	}
	from, to := text(slices.Min(xs)), text(slices.Max(xs))
	if from == to {
		return from
	}
	return fmt.Sprintf("%s..%s", strings.TrimSuffix(from, " ms"), to)
}

// WriteTable writes the table of all cases for a terminal.
func (r *Results) WriteTable(w io.Writer) error {
	d := &report.Document{Sections: []report.Section{{Parts: []report.Part{{Table: r.statisticTable()}}}}}
	return render.Text(w, d, format.TextOptions{})
}
