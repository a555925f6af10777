package reports

import (
	"apfsim/sim/metric"
	"fmt"
	"math"
	"slices"
	"strings"
)

// statisticsFirst is how many of all statistics a page has at first.
const statisticsFirst = 50

// page returns the report of several runs.
func (r *Replications) page() Page {
	byName := r.byName()
	p := Page{
		Title: r.Name, Description: []string{r.Description}, Ran: r.ran(), Verdict: r.verdict(), Findings: r.findings(byName), Warnings: r.Warnings,
		Footer: "All numbers are in replications.json and replications.csv.",
	}
	for i := range estimateTables {
		g := &estimateTables[i]
		t := g.table(r, byName)
		if len(t.Rows) == 0 {
			continue
		}
		s := Section{Name: g.tag, Title: g.title, Parts: []Part{{Table: t}},
			Note: "Means of the runs, and percentiles of all runs’ requests together, with half of their 95 % intervals."}
		if g.tag == "workload" {
			if plot := percentilesPlot("wait", "How long requests waited", []*Replications{r}, []string{""}); plot != nil {
				s.Parts = append(s.Parts, Part{Plot: plot})
			}
		}
		p.Sections = append(p.Sections, s)
	}
	p.Sections = append(p.Sections, Section{Name: "statistics", Title: "All statistics", Parts: []Part{{Table: r.statisticsTable()}}})
	return p
}

// findings says of each workload and each priority level what the figures are, with the verdict of
// the table of judgements, and how precise the statistics are that were to be precise.
func (r *Replications) findings(byName map[string]*Estimate) []Finding {
	var all []Finding
	for i := range estimateTables {
		g := &estimateTables[i]
		g.each(r, byName, func(name string, _ []*Estimate) {
			stat := func(of metric.Name) *Estimate { return byName[named(of, g.tag, name)] }
			f := noFigures()
			wait, rejected, waiting := stat(waitP99), stat(rejectedRate), stat(waitingRate)
			f.undispatched = float64(boolean(wait == nil))
			for _, figure := range []struct {
				of   *Estimate
				into *float64
			}{{wait, &f.waitP99}, {stat(waitMax), &f.waitMax}, {rejected, &f.rejected}, {waiting, &f.waiting}, {stat(virtualP99), &f.virtualP99},
				{stat(virtualRejectedRate), &f.virtualRejected}, {stat(starvationMax), &f.starvation}} {
				if figure.of != nil {
					*figure.into = figure.of.Mean
				}
			}
			// Where nobody waited or was rejected, what flows lack of their shares lies beyond the window.
			if least := stat(leastRatio); least != nil && (f.rejected > 0 || f.waitMax > 0) {
				f.shortfall = 1 - least.Mean
			}
			stall := stat(stallMax)
			var parts []string
			if use := stat(utilisationMean); use != nil {
				parts = append(parts, "seats in use "+use.text())
			}
			parts = append(parts, wait.waited())
			if stall != nil {
				if f.stall = slices.Max(stall.Values.present()); f.stall >= stallNs {
					parts = append(parts, "longest stall of all runs "+duration(f.stall))
				}
			}
			if waiting.Mean > 0 {
				parts = append(parts, waiting.text()+" still queued at the end")
			}
			parts = append(parts, rejected.rejected())
			all = append(all, Finding{Group: g.title, Mood: f.judge(), Subject: name, Text: strings.Join(parts, "; ") + "."})
		})
	}
	if r.Precision == nil {
		return all
	}
	title := r.precisionTitle()
	for i := range r.Precision.Statistics {
		s := &r.Precision.Statistics[i]
		f := Finding{Group: title, Mood: Bad, Subject: s.Name, Text: "has no samples."}
		if e := byName[s.Name]; e != nil {
			f.Text = "is " + e.ofMean().text()
			if s.Reached != nil {
				f.Text += ", known to " + r.Precision.reached(s)
			}
			f.Text += "."
		}
		if s.Reached != nil && *s.Reached <= r.Precision.Wanted {
			f.Mood = Good
		}
		all = append(all, f)
	}
	return all
}

// What is said in plain language is about these statistics.
var (
	waitP99         = metric.Name{Metric: "wait", Stat: "p", Percentile: 99}
	rejectedRate    = metric.Name{Metric: "rejected", Stat: "rate"}
	waitingRate     = metric.Name{Metric: "waiting", Stat: "rate"}
	utilisationMean = metric.Name{Metric: "utilisation", Stat: "mean"}
	waitMax         = metric.Name{Metric: "wait", Stat: "max"}
	stallMax        = metric.Name{Metric: "stall", Stat: "max"}
	leastRatio      = metric.Name{Metric: "fairness", Stat: "leastRatio"}
	starvationMax   = metric.Name{Metric: "starvation", Stat: "max"}
	virtualP99      = metric.Name{Metric: "virtualWait", Stat: "p", Percentile: 99}

	virtualRejectedRate = metric.Name{Metric: "virtualRejected", Stat: "rate"}
)

// waited and rejected say what a statistic means for a group; nil has no samples.
func (e *Estimate) waited() string {
	switch {
	case e == nil:
		return "no request was dispatched"
	case e.Mean == 0:
		return "99 % did not wait"
	}
	return "wait p99 " + e.text()
}

func (e *Estimate) rejected() string {
	if e.Mean == 0 {
		return "0 % rejected in every run"
	}
	return e.text() + " rejected"
}

func (r *Replications) verdict() *PageVerdict {
	if len(r.Thresholds) == 0 {
		return nil
	}
	t := &Table{Name: "thresholds", Caption: "Thresholds", Columns: []Column{{Title: "Threshold", Term: "threshold", Left: true},
		{Title: "Verdict", Left: true}, {Title: "Wanted", Left: true}, {Title: "Found", Left: true}}}
	failed := 0
	for i := range r.Thresholds {
		v := &r.Thresholds[i]
		verdict := Cell{Text: "✓ holds", Mood: Good}
		if !v.Passed {
			failed++
			verdict = Cell{Text: fmt.Sprintf("✗ failed in %d of %d runs", len(v.FailedSeeds), len(r.Seeds)), Mood: Bad}
		}
		t.Rows = append(t.Rows, []Cell{{Text: v.Metric, Code: true}, verdict, {Text: v.Expression, Code: true}, word(v.found())})
	}
	var text string
	switch n := len(r.Thresholds); {
	case failed > 0:
		text = fmt.Sprintf("%d of %d %s failed", failed, n, plural(n, "threshold"))
	case n == 1:
		text = "The threshold holds in every run"
	default:
		text = fmt.Sprintf("All %d thresholds hold in every run", n)
	}
	return &PageVerdict{Mood: passedMood(failed == 0), Text: text, Table: t}
}

func (g *estimateTable) table(r *Replications, byName map[string]*Estimate) *Table {
	t := &Table{Name: g.tag, Caption: g.title, Columns: []Column{{Title: capitalized(g.head), Left: true}}}
	for _, c := range g.columns {
		t.Columns = append(t.Columns, Column{Title: capitalized(c.title), Term: c.term})
	}
	g.each(r, byName, func(name string, estimates []*Estimate) {
		row := []Cell{word(name)}
		for _, e := range estimates {
			row = append(row, e.cell())
		}
		t.Rows = append(t.Rows, row)
	})
	return t
}

func (e *Estimate) cell() Cell {
	if e == nil {
		return absent
	}
	text, margin, suffix := e.parts()
	c := figure(e.Mean, text+suffix)
	if e.Merged != nil {
		c.Value = *e.Merged
	}
	if margin != "" {
		c.Text, c.Margin = text, "± "+margin+suffix
	}
	return c
}

func (r *Replications) statisticsTable() *Table {
	t := &Table{Name: "statistics", Caption: "Statistics by name, as thresholds call them", First: statisticsFirst,
		Columns: []Column{{Title: "Statistic", Left: true}, {Title: "Runs"}, {Title: "Mean", Term: "interval"}, {Title: "Least"}, {Title: "Most"}, {Title: "Merged", Term: "merged"}}}
	for i := range r.Statistics {
		if len(t.Rows) == flowsMost {
			t.Missing = fmt.Sprintf("Left out: %s, all in replications.json.", counted(len(r.Statistics)-flowsMost, "statistic"))
			break
		}
		e := &r.Statistics[i]
		share := isShare(idOf(e.Name))
		value := func(x float64) Cell { return figure(x, valueText(x, e.Unit, share)) }
		low, high := math.Inf(1), math.Inf(-1)
		for _, x := range e.Values.present() {
			low, high = min(low, x), max(high, x)
		}
		merged := absent
		if e.Merged != nil {
			merged = value(*e.Merged)
		}
		t.Rows = append(t.Rows, []Cell{{Text: e.Name, Code: true}, countCell(int64(e.N)), e.ofMean().cell(), value(low), value(high), merged})
	}
	return t
}

// tailShares are the shares of requests above the percentiles that there are.
var tailShares = []struct {
	share float64
	of    metric.Name
}{
	{0.5, metric.Name{Stat: "med"}}, {0.1, metric.Name{Stat: "p", Percentile: 90}},
	{0.05, metric.Name{Stat: "p", Percentile: 95}}, {0.01, metric.Name{Stat: "p", Percentile: 99}},
	{0.001, metric.Name{Stat: "p", Percentile: 99.9}},
}

// percentilesPlot draws the percentiles of a duration for each workload, with their
// intervals, and for each of the sides with its name; nil when all are 0 or absent.
func percentilesPlot(metricName, title string, sides []*Replications, names []string) *Plot {
	p := &Plot{Name: metricName, Title: title,
		Caption:    "For each workload the share of its requests above a time: lower and further left is better. The points are the median, p90, p95, p99 and p99.9, means of the runs with their 95 % intervals.",
		Transposed: true, X: Axis{Label: "longer than", Unit: "ns", Log: true}, Y: Axis{Label: "share of requests", Unit: "share", Log: true}}
	for i := len(tailShares) - 1; i >= 0; i-- {
		p.At = append(p.At, tailShares[i].share)
	}
	workload := 0
	number := map[string]int{}
	for side, r := range sides {
		byName := r.byName()
		for _, name := range r.names("workload") {
			line := Line{Name: name}
			if names[side] != "" {
				line.Name += ", " + names[side]
			}
			positive := false
			for i := len(tailShares) - 1; i >= 0; i-- {
				of := tailShares[i].of
				of.Metric = metricName
				mean, low, high := math.NaN(), math.NaN(), math.NaN()
				if e := byName[named(of, "workload", name)]; e != nil {
					mean, low, high = e.Mean, e.Mean, e.Mean
					if e.High != nil {
						low, high = max(*e.Low, 0), *e.High
					}
					positive = positive || mean > 0
				}
				line.Values, line.Low, line.High = append(line.Values, mean), append(line.Low, low), append(line.High, high)
			}
			if !positive {
				continue
			}
			if _, known := number[name]; !known {
				number[name] = workload
				workload++
			}
			line.Style = lineStyleOf(number[name])
			line.Style.Dashed = len(sides) > 1 && side == 0
			p.Lines = append(p.Lines, line)
		}
	}
	if len(p.Lines) == 0 {
		return nil
	}
	return p
}
