package reports

import (
	"apfsim/sim/metric"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// WriteCSV writes a row for each statistic. What it does not have is empty.
func (r *Replications) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"statistic", "unit", "better", "n", "mean", "stddev", "low", "high", "merged", "mergedHalf"})
	for i := range r.Statistics {
		e := &r.Statistics[i]
		out.Write([]string{e.Name, e.Unit, string(e.Better), strconv.Itoa(e.N), allDigits(&e.Mean),
			allDigits(e.StdDev), allDigits(e.Low), allDigits(e.High), allDigits(e.Merged), allDigits(e.MergedHalf)})
	}
	out.Flush()
	return out.Error()
}

// allDigits writes all digits of a number, nothing if there is none.
func allDigits(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'g', -1, 64)
}

// WriteText writes the replications for people to read: means with the half-width of their
// intervals, for the workloads, the priority levels and the thresholds.
func (r *Replications) WriteText(w io.Writer, options TextOptions) error {
	t := replicationsText{newTextWriter(options), r, r.byName()}
	t.head(r.Name, r.ran(), r.Description)
	for _, g := range estimateTables {
		t.groups(&g)
	}
	fmt.Fprintln(t, t.paint(dim, "  Means of the runs, and percentiles of all runs' requests together, ± half of their 95 % intervals."))
	t.verdicts()
	t.reached()
	t.warnings(&Summary{Warnings: r.Warnings})
	_, err := w.Write(t.Bytes())
	return err
}

type replicationsText struct {
	textWriter
	*Replications
	byName map[string]*Estimate
}

// estimateTable is the groups of a tag, a row each, with some of their statistics.
type estimateTable struct {
	tag, title, head string
	sent             string // what a group does with requests
	columns          []estimateColumn
}

// estimateColumn is a statistic in a table of groups; it lacks the group's tag.
type estimateColumn struct {
	title, term string // and its key in the glossary
	of          metric.Name
}

var estimateTables = []estimateTable{
	{"workload", "Workloads", "workload", "sent", []estimateColumn{
		{"arrived/s", "arrived", metric.Name{Metric: "arrived", Stat: "perSecond"}},
		{"executed", "executed", metric.Name{Metric: "executed", Stat: "rate"}},
		{"rejected", "rejected", metric.Name{Metric: "rejected", Stat: "rate"}},
		{"wait p50", "wait", metric.Name{Metric: "wait", Stat: "med"}},
		{"wait p99", "percentile", metric.Name{Metric: "wait", Stat: "p", Percentile: 99}},
		{"latency p50", "latency", metric.Name{Metric: "latency", Stat: "med"}},
		{"latency p99", "percentile", metric.Name{Metric: "latency", Stat: "p", Percentile: 99}},
	}},
	{"priorityLevel", "Priority levels", "priority level", "got", []estimateColumn{
		{"in use", "utilisation", metric.Name{Metric: "utilisation", Stat: "mean"}},
		{"saturated", "saturated", metric.Name{Metric: "utilisation", Stat: "saturated"}},
		{"rejected", "rejected", metric.Name{Metric: "rejected", Stat: "rate"}},
		{"wait p99", "percentile", metric.Name{Metric: "wait", Stat: "p", Percentile: 99}},
		{"fairness", "jain", metric.Name{Metric: "fairness", Stat: "jain"}},
		{"starved", "starved", metric.Name{Metric: "starvation", Stat: "max"}},
	}},
}

// ran says in a few words what was simulated.
func (r *Replications) ran() string {
	text := window(r.DurationNs, r.WarmupNs, r.FlowControl)
	if phases := r.AdjustmentPhasesNs; phases != nil {
		first, last := slices.Min(phases), slices.Max(phases)
		if first == last {
			text += ", adjustment phase " + duration(float64(first))
		} else {
			text += fmt.Sprintf(", adjustment phases from %s to %s", duration(float64(first)), duration(float64(last)))
		}
	}
	return fmt.Sprintf("%d runs of %s, seeds %d to %d", len(r.Seeds), text, r.Seeds[0], r.Seeds[len(r.Seeds)-1])
}

func (t *replicationsText) groups(g *estimateTable) {
	tb := &table{left: 1}
	row := []string{g.head}
	for _, c := range g.columns {
		row = append(row, c.title)
	}
	tb.row(row...)
	g.each(t.Replications, t.byName, func(name string, estimates []*Estimate) {
		row := []string{t.name(name, 100)}
		for _, e := range estimates {
			cell := "–"
			if e != nil {
				cell = e.text()
			}
			row = append(row, cell)
		}
		tb.row(row...)
	})
	if len(tb.rows) > 1 {
		t.heading(g.title)
		t.table(tb)
	}
}

// each calls visit with each group that requests arrived at and what stands in its columns.
func (g *estimateTable) each(r *Replications, byName map[string]*Estimate, visit func(name string, estimates []*Estimate)) {
	arrived := metric.Name{Metric: "arrived", Stat: "count"}
	for _, name := range r.names(g.tag) {
		if byName[named(arrived, g.tag, name)].Mean == 0 {
			continue
		}
		estimates := make([]*Estimate, len(g.columns))
		for i, c := range g.columns {
			estimates[i] = byName[named(c.of, g.tag, name)]
		}
		visit(name, estimates)
	}
}

// byName returns the statistics by their names.
func (r *Replications) byName() map[string]*Estimate {
	all := map[string]*Estimate{}
	for i := range r.Statistics {
		all[r.Statistics[i].Name] = &r.Statistics[i]
	}
	return all
}

// named returns the name of a statistic of one group.
func named(s metric.Name, tagName, value string) string {
	s.Tags = tag(tagName, value)
	return s.String()
}

// names returns the groups of a tag.
func (r *Replications) names(tagName string) []string {
	var names []string
	for i := range r.Statistics {
		id := idOf(r.Statistics[i].Name)
		if id.Metric == "arrived" && id.Stat == "count" && len(id.Tags) == 1 && id.Tags[0].Name == tagName {
			names = append(names, id.Tags[0].Value)
		}
	}
	return names
}

// idOf takes the name of a statistic apart.
func idOf(name string) metric.Name {
	id, err := metric.ParseName(name)
	if err != nil {
		panic("reports: " + err.Error()) // names are checked where they come from
	}
	return id
}

// parts writes the estimate as it is shown: a percentile of all runs' requests, else the
// mean; the half-width of the interval, "" for none; and what both are counted in.
func (e *Estimate) parts() (figure, margin, suffix string) {
	value, half := e.Mean, e.Half()
	if e.Merged != nil {
		value, half = *e.Merged, 0
		if e.MergedHalf != nil {
			half = *e.MergedHalf
		}
	}
	share := isShare(idOf(e.Name))
	scale, suffix := scaleOf(max(math.Abs(value), half), e.Unit, share)
	switch {
	case value == 0 && half == 0 && !share:
		return "0", "", ""
	case half == 0:
		return digits(value / scale), "", suffix
	}
	figure, margin = rounded(value/scale, half/scale)
	return figure, margin, suffix
}

// ofMean returns the estimate of the mean of the runs, which the interval is that of, and
// not the percentile of all requests.
func (e *Estimate) ofMean() *Estimate {
	mean := *e
	mean.Merged, mean.MergedHalf = nil, nil
	return &mean
}

func (e *Estimate) text() string {
	figure, margin, suffix := e.parts()
	if margin != "" {
		figure += " ±" + margin
	}
	return figure + suffix
}

// isShare says whether the statistic is read as a percentage.
func isShare(id metric.Name) bool {
	return id.Stat == "rate" && id.Metric != "retries" || id.Metric == "utilisation" && id.Stat != "peak"
}

// scaleOf returns what numbers of so much are counted in, and how that is written.
func scaleOf(most float64, unit string, share bool) (scale float64, suffix string) {
	switch {
	case share:
		return 0.01, " %"
	case unit == "ns" && most < 1e3:
		return 1, " ns"
	case unit == "ns" && most < 1e6:
		return 1e3, " µs"
	case unit == "ns" && most < 1e9:
		return 1e6, " ms"
	case unit == "ns":
		return 1e9, " s"
	case most < 10_000:
		return 1, ""
	case most < 1e6:
		return 1e3, " k"
	default:
		return 1e6, " M"
	}
}

// rounded writes a margin with two digits, and the value as far as the margin goes, but
// not beyond the sixth decimal.
func rounded(value, margin float64) (string, string) {
	switch {
	case margin == 0:
		return digits(value), "0"
	case margin < 5e-7: // six decimals of it would be zeros
		return digits(value), strconv.FormatFloat(margin, 'g', 2, 64)
	}
	decimals := min(max(1-int(math.Floor(math.Log10(margin))), 0), 6)
	return strconv.FormatFloat(value, 'f', decimals, 64), strconv.FormatFloat(margin, 'f', decimals, 64)
}

func (t *replicationsText) verdicts() {
	if len(t.Thresholds) == 0 {
		return
	}
	failed := 0
	tb := &table{left: 3}
	for i := range t.Thresholds {
		v := &t.Thresholds[i]
		mark := "✓"
		if !v.Passed {
			failed++
			mark = "✗"
		}
		tb.row(mark, shorten(printable(v.Metric), 50), printable(v.Expression), v.found())
	}
	title := "Thresholds: all hold in every run"
	if failed > 0 {
		title = fmt.Sprintf("Thresholds: %d of %d failed", failed, len(t.Thresholds))
	}
	t.heading(title)
	t.judged(tb, func(row int) bool { return t.Thresholds[row].Passed })
}

// found writes the least and the greatest value, and the runs that failed.
func (v *ReplicatedVerdict) found() string {
	text := noSamples
	if present := v.Values.present(); len(present) > 0 {
		share := inPercent(v.Expression)
		low, high := besideLimit(slices.Min(present), v.Limit, v.Unit, share), besideLimit(slices.Max(present), v.Limit, v.Unit, share)
		if text = low; low != high {
			text += " to " + high
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
	text += "; fails with " + plural(len(v.FailedSeeds), "seed") + " " + strings.Join(seeds, ", ")
	if more := len(v.FailedSeeds) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (r *Replications) precisionTitle() string {
	text, but := "reached", ""
	if !r.Precision.Met {
		text, but = "not reached", ", the most there may be"
	}
	// All digits that were asked for, so that what was reached never reads as what was not.
	return fmt.Sprintf("Precision of %s %% %s with %d runs%s", significant(r.Precision.Wanted*100, 15), text, len(r.Seeds), but)
}

// reached writes how precise a statistic is.
func (p *Precision) reached(s *PrecisionResult) string {
	if s.Reached == nil {
		return "–"
	}
	return besideLimit(*s.Reached, p.Wanted, "", true)
}

func (t *replicationsText) reached() {
	p := t.Precision
	if p == nil {
		return
	}
	t.heading(t.precisionTitle())
	tb := &table{left: 1}
	for i := range p.Statistics {
		s := &p.Statistics[i]
		text := noSamples
		if e := t.byName[s.Name]; e != nil {
			text = e.ofMean().text()
		}
		tb.row(printable(s.Name), text, p.reached(s))
	}
	t.table(tb)
}
