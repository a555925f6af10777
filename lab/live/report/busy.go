package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"apfsim/lab/live/compare"
	"apfsim/live/calibrate"
	"apfsim/reports/judge"
	"apfsim/reports/report"
)

// Busy is the runs of a busy case, for which a scenario is fitted to the lightest loads and predicts the others.
type Busy struct {
	Name        string                 `json:"name"`
	Version     string                 `json:"version"` // of Kubernetes
	Curve       *calibrate.Measurement `json:"curve"`   // of what the server can do
	Runs        []*compare.BusyRun     `json:"runs"`
	LoadAverage string                 `json:"loadAverage,omitempty"` // before the runs
	Fitted      int                    `json:"fitted"`                // loads to which scenarios are fitted
	Seeds       int                    `json:"seeds"`                 // with which each of them is run
	All         bool                   `json:"all"`                   // whether all statistics are compared
}

// checks returns the comparisons of the scenarios with the loads that are heavier than those they are fitted to.
func (b *Busy) checks() (all []compare.Check) {
	for fit := range b.Runs[0].Fits {
		for load := b.Fitted; load < len(b.Runs[0].Loads); load++ {
			all = append(all, compare.BusyChecks(b.Runs, fit, load, b.All)...)
		}
	}
	return all
}

// Verdict returns whether all comparisons hold, and what does not.
func (b *Busy) Verdict() (holds bool, failed []string) {
	for _, c := range b.checks() {
		if !c.Passed {
			failed = append(failed, fmt.Sprintf("%s: %s: %s", b.Name, c.What, c.Detail))
		}
	}
	for i, r := range b.Runs {
		for _, l := range r.Loads {
			if l.Void != "" {
				failed = append(failed, fmt.Sprintf("%s: run %d, load %v is void: %s", b.Name, i+1, l.Load, l.Void))
			}
		}
	}
	return len(failed) == 0, failed
}

// busyRow is a kind of requests under one load, live and predicted by the scenarios that are fitted to one load.
type busyRow struct {
	load, requests, statistic, live string
	predicted                       []string // by fit
	missed                          []bool
}

// rows returns the statistics of all loads.
func (b *Busy) rows() (rows []busyRow) {
	for i := range b.Runs[0].Loads {
		load := fmt.Sprintf("%v: %.0f/s", b.Runs[0].Loads[i].Load, b.Runs[0].Loads[i].PerSecond)
		for _, kind := range b.Runs[0].Loads[i].Live {
			requests := fmt.Sprintf("%s: %.0f/s", kind.Kind, kind.PerSecond)
			for _, s := range busyStatistics {
				row := busyRow{load: load, requests: requests, statistic: s.name}
				load, requests = "", ""
				var live []float64
				void := 0
				for _, r := range b.Runs {
					if r.Loads[i].Void != "" {
						void++
					} else if k := compare.FindBusy(r.Loads[i].Live, kind.Kind); k != nil {
						live = append(live, s.value(k))
					}
				}
				row.live = s.spread(live)
				if void > 0 {
					row.live = strings.TrimSpace(fmt.Sprintf("%s (%d void)", row.live, void))
				}
				for fit := range b.Runs[0].Fits {
					var predicted, bounds []float64
					for _, r := range b.Runs {
						if f := &r.Fits[fit]; f.Failed == "" {
							if k := compare.FindBusy(f.Predictions[i], kind.Kind); k != nil {
								predicted = append(predicted, s.value(k))
								bounds = append(bounds, s.value(compare.FindBusy(f.Least[i], kind.Kind)), s.value(compare.FindBusy(f.Most[i], kind.Kind)))
							}
						}
					}
					missed := false
					for _, c := range compare.BusyChecks(b.Runs, fit, i, b.All) {
						missed = missed || i >= b.Fitted && !c.Passed && strings.HasSuffix(c.What, kind.Kind+" "+s.name)
					}
					row.predicted, row.missed = append(row.predicted, s.spread(predicted)+s.bounds(bounds)), append(row.missed, missed)
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// busyStatistic is a statistic of a busy case.
type busyStatistic struct {
	name  string
	value func(*compare.BusyStats) float64
	text  func(float64) string
}

var busyStatistics = []busyStatistic{
	{"p50", func(s *compare.BusyStats) float64 { return float64(s.P50) }, durationText},
	{"p99", func(s *compare.BusyStats) float64 { return float64(s.P99) }, durationText},
	{"wait p99", func(s *compare.BusyStats) float64 { return float64(s.WaitP99) }, durationText},
	{"execution mean", func(s *compare.BusyStats) float64 { return float64(s.Execution) }, durationText},
	{"rejected", func(s *compare.BusyStats) float64 { return s.Rejected }, shareText},
	{"other errors", func(s *compare.BusyStats) float64 { return s.Failed }, shareText},
}

func shareText(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

func durationText(ns float64) string { return milliseconds(time.Duration(ns)) }

// spread returns the middle value, and the least and the most if they differ.
func (s *busyStatistic) spread(xs []float64) string {
	if len(xs) == 0 {
		return "-"
	}
	xs = slices.Sorted(slices.Values(xs))
	middle, low, high := s.text(xs[len(xs)/2]), s.text(xs[0]), s.text(xs[len(xs)-1])
	if low == high {
		return middle
	}
	return fmt.Sprintf("%s [%s]", middle, s.between(low, high))
}

func (s *busyStatistic) between(low, high string) string {
	return strings.TrimSuffix(strings.TrimSuffix(low, " ms"), " %") + ".." + high
}

// bounds returns the least and the greatest of the values, to follow their middle.
func (s *busyStatistic) bounds(xs []float64) string {
	if len(xs) == 0 || slices.Min(xs) == slices.Max(xs) {
		return ""
	}
	return fmt.Sprintf(", all %s", s.between(s.text(slices.Min(xs)), s.text(slices.Max(xs))))
}

// busyFitRow is what a log says of the capacity.
type busyFitRow struct{ run, load, capacity string }

// Document returns the report of the case.
func (b *Busy) Document() *report.Document {
	d := &report.Document{Name: b.Name, Ran: machine(b.Version) + " Load average before the runs: " + b.LoadAverage + "."}
	add := func(p report.Part) { d.Sections = append(d.Sections, report.Section{Parts: []report.Part{p}}) }
	if b.Curve != nil {
		columns := report.Definition[calibrate.Step]{
			column("clients", false, func(s *calibrate.Step) string { return fmt.Sprint(s.Clients) }),
			column("requests/s", false, func(s *calibrate.Step) string { return fmt.Sprintf("%.1f ± %.1f", s.PerSecond, 1.96*s.Error) }),
			column("execution mean", false, func(s *calibrate.Step) string {
				if s.Execution == nil {
					return "-"
				}
				return durationText(*s.Execution)
			}),
			column("latency mean", false, func(s *calibrate.Step) string { return durationText(float64(s.Latency.MeanNs)) }),
			column("p50", false, func(s *calibrate.Step) string { return durationText(float64(s.Latency.P50Ns)) }),
			column("p99", false, func(s *calibrate.Step) string { return durationText(float64(s.Latency.P99Ns)) }),
		}
		note := fmt.Sprintf("Closed loops of the administrator, until %s.", b.Curve.Stopped)
		if c := b.Curve.Fitted; c != nil {
			note += " " + c.Text
		}
		add(report.Part{Table: tableOf(b.Name+": what the server can do", columns, b.Curve.Steps), Note: note})
	}
	columns := report.Definition[busyRow]{
		column("load", true, func(r *busyRow) string { return r.load }),
		column("requests", true, func(r *busyRow) string { return r.requests }),
		column("statistic", true, func(r *busyRow) string { return r.statistic }),
		column("live", false, func(r *busyRow) string { return r.live }),
	}
	for fit := range b.Runs[0].Fits {
		c := column("predicted from "+b.Runs[0].Fits[fit].Name(), false, func(r *busyRow) string { return "" })
		c.Cell = func(r *busyRow) report.Cell {
			if r.missed[fit] {
				return report.Cell{Text: r.predicted[fit] + " (outside)", Judgement: judge.Bad}
			}
			return report.Word(r.predicted[fit])
		}
		columns = append(columns, c)
	}
	add(report.Part{Table: tableOf(b.Name+": live and predicted", columns, b.rows()),
		Note: fmt.Sprintf("Runs: %d; the middle one [the least..the most]. A prediction is the median of %d seeds, and all are the least and the greatest of all seeds, with the capacity and with the ends of its interval. Outside: the tolerance does not hold in a run.", len(b.Runs), b.Seeds)})
	var fits []busyFitRow
	for i, r := range b.Runs {
		for _, f := range r.Fits {
			text := f.Capacity
			if f.Disagrees != "" {
				text += ". Not like the log: " + f.Disagrees
			}
			if f.Failed != "" {
				text += "; not predicted: " + f.Failed
			}
			fits = append(fits, busyFitRow{fmt.Sprint(i + 1), f.Name(), text})
		}
	}
	add(report.Part{Table: tableOf(b.Name+": what the logs say", report.Definition[busyFitRow]{
		column("run", false, func(r *busyFitRow) string { return r.run }),
		column("fitted to", false, func(r *busyFitRow) string { return r.load }),
		column("capacity", true, func(r *busyFitRow) string { return r.capacity }),
	}, fits)})
	if holds, failed := b.Verdict(); holds {
		add(report.Part{Only: report.Terminal, Paragraph: fmt.Sprintf("All %d comparisons hold.", len(b.checks()))})
	} else {
		add(report.Part{Only: report.Terminal, Heading: "What does not hold", List: failed})
	}
	return d
}

// Begin takes note of the machine before the runs.
func (b *Busy) Begin() { b.LoadAverage = loadAverage() }

// WriteFile writes the results of a case as JSON.
func (b *Busy) WriteFile(file string) error { return writeFile(file, b) }

// ReadBusy reads the results of a busy case.
func ReadBusy(file string) (*Busy, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	b := new(Busy)
	if err := json.Unmarshal(text, b); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return b, nil
}

func writeFile(file string, results any) error {
	text, err := json.MarshalIndent(results, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
