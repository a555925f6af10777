package report

import (
	"fmt"
	"strings"
	"time"

	"apfsim/live/compare"
)

// statistic is one row of a kind's part of the table.
type statistic struct {
	name string
	of   func(*compare.Stats) float64
	text func(float64) string
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

// rows returns the table of all cases, with a header. Live and replay are the mean of the runs that are not void,
// with the least and the most.
func (r *Results) rows() [][]string {
	rows := [][]string{{"case", "requests", "statistic", "live", "replay of the measured times", "prediction, same seed", "other seeds"}}
	for i := range r.Cases {
		c := &r.Cases[i]
		valid := c.valid()
		if len(valid) == 0 {
			rows = append(rows, []string{c.Name, "", "all runs are void", "", "", "", ""})
			continue
		}
		name := c.Name
		for _, kind := range valid[0].Live {
			who := fmt.Sprintf("%s: %d at %s", kind.Kind, kind.Requests, kind.Level)
			for _, st := range statistics {
				var live, replay, others []float64
				for _, run := range valid {
					live = append(live, st.of(compare.Find(run.Live, kind.Level, kind.Kind)))
					replay = append(replay, st.of(compare.Find(run.Replay, kind.Level, kind.Kind)))
				}
				for _, seed := range c.OtherSeeds {
					others = append(others, st.of(compare.Find(seed, kind.Level, kind.Kind)))
				}
				prediction := st.of(compare.Find(c.Prediction, kind.Level, kind.Kind))
				if st.name != "executed" && most(live) < 0.5e6 && most(replay) < 0.5e6 && prediction < 0.5e6 && !isWait(st) && most(live)+most(replay)+prediction == 0 {
					continue // nothing was rejected for this reason
				}
				if isWait(st) && st.name != "wait mean" && st.name != "wait p99" && max(most(live), most(replay), prediction) < 1e6 {
					continue // nothing waited
				}
				rows = append(rows, []string{name, who, st.name, spread(live, st.text), spread(replay, st.text), st.text(prediction), between(others, st.text)})
				name, who = "", ""
			}
		}
	}
	return rows
}

func isWait(s statistic) bool { return strings.HasPrefix(s.name, "wait") }

func least(xs []float64) float64 {
	m := xs[0]
	for _, x := range xs {
		m = min(m, x)
	}
	return m
}

func most(xs []float64) float64 {
	m := xs[0]
	for _, x := range xs {
		m = max(m, x)
	}
	return m
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// spread returns the mean, and the least and the most if they differ.
func spread(xs []float64, text func(float64) string) string {
	m, from, to := text(mean(xs)), text(least(xs)), text(most(xs))
	if from == to {
		return m
	}
	return fmt.Sprintf("%s [%s..%s]", m, strings.TrimSuffix(from, " ms"), to)
}

func between(xs []float64, text func(float64) string) string {
	if len(xs) == 0 {
		return ""
	}
	from, to := text(least(xs)), text(most(xs))
	if from == to {
		return from
	}
	return fmt.Sprintf("%s..%s", strings.TrimSuffix(from, " ms"), to)
}

// Table returns the table as text.
func (r *Results) Table() string {
	rows := r.rows()
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += fmt.Sprintf("%-*s  ", widths[i], cell)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
