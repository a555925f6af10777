package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// The first screen of a run: one picture, who was harmed, who filled the seats, what may help, and how far the figures can
// be trusted.

// setting says in short what was simulated.
func setting(s *result.Summary) string {
	servers := max(1, len(s.Servers))
	parts := []string{format.Counted(servers, "server"), format.Window(s.DurationNs, s.WarmupNs, s.WarmupBy, s.FlowControl), fmt.Sprintf("seed %d", s.Seed)}
	if release := s.Releases.Text(); release != "" {
		parts = slices.Insert(parts, 0, release)
	}
	return strings.Join(parts, " · ")
}

func runScreen(r *result.Result) Section {
	s := Section{Name: "verdict", Title: "Verdict", Screen: true}
	v := r.Summary.Verdict
	if v == nil || v.Status == "" {
		return s
	}
	for _, p := range screenPlots(r) {
		s.Parts = append(s.Parts, Part{Plot: p, Only: HTML})
	}
	s.Parts = append(s.Parts, harmedParts(v, unharmed(r.Summary))...)
	s.Parts = append(s.Parts, tablePart(filledTable(r.Summary), "")...)
	s.Parts = append(s.Parts, remedyParts(v)...)
	s.Parts = append(s.Parts, trustPart(v))
	return s
}

// DiagnosisScreen returns the first screen of a diagnosis: plots of the log, who was harmed, who filled the seats in the replay
// unless that is nil, and what may help.
func DiagnosisScreen(v *result.Overall, plots []*Plot, replayed *result.Summary) Section {
	s := Section{Name: "screen", Title: "Verdict", Screen: true, Only: HTML | Brief}
	for _, p := range plots {
		s.Parts = append(s.Parts, Part{Plot: p, Only: HTML})
	}
	s.Parts = append(s.Parts, harmedParts(v, nil)...)
	if replayed != nil {
		s.Parts = append(s.Parts, tablePart(filledTable(replayed), "")...)
	}
	s.Parts = append(s.Parts, remedyParts(v)...)
	s.Parts = append(s.Parts, trustPart(v))
	return s
}

func replicationsScreen(r *compare.Replications) Section {
	s := Section{Name: "verdict", Title: "Verdict", Screen: true}
	v := r.Verdict
	if v == nil || v.Status == "" {
		return s
	}
	s.Parts = append(s.Parts, harmedOfRuns(r)...)
	s.Parts = append(s.Parts, remedyParts(v)...)
	s.Parts = append(s.Parts, trustPart(v))
	return s
}

// harmedOfRuns are the tables of who was harmed and limited in several runs, with intervals. Flows of a log have none.
func harmedOfRuns(r *compare.Replications) (all []Part) {
	v := r.Verdict
	if slices.ContainsFunc(v.Harmed, func(h result.Harmed) bool { return h.Name != h.Workload }) {
		return harmedParts(v, nil)
	}
	var columns []Column
	for _, c := range harmedColumns(v) { // the name, what was not served, and the wait
		if !c.Column.Wide {
			columns = append(columns, c.Column)
		}
	}
	byName := r.ByName()
	of := func(statistic metric.Name, workload string) Cell {
		id := statistic.With("workload", workload)
		return estimateCell(byName[id.String()])
	}
	add := func(t *Table, brief int, names []string) {
		for _, name := range names[:min(len(names), harmedShown)] {
			t.Rows = append(t.Rows, []Cell{Word(name), of(judge.NotServed, name), of(judge.WaitP99, name)})
		}
		if more := len(names) - len(t.Rows); more > 0 {
			t.Missing = "Not shown: " + format.Counted(more, "workload") + "."
		}
		if len(names) > 0 {
			all = append(all, Part{Table: t, Brief: brief})
		}
	}
	for _, list := range harmedLists {
		var names []string
		for i := range v.Harmed {
			if h := &v.Harmed[i]; (h.Role == result.WasLimited) == (list.role == result.WasLimited) {
				names = append(names, h.Workload)
			}
		}
		add(&Table{Name: list.name, Title: list.title, Caption: list.title + ", with intervals", Columns: columns, Reserved: 40}, list.brief, names)
	}
	if len(all) == 0 {
		add(waitedTable(columns), waitedBrief, r.Names("workload"))
	}
	return all
}

// unharmed returns the workloads that waited and were not harmed, those with the longest waits first.
func unharmed(s *result.Summary) (all []result.Harmed) {
	for i := range s.Workloads {
		g := &s.Workloads[i]
		if g.Arrived == 0 || slices.ContainsFunc(s.Verdict.Harmed, func(h result.Harmed) bool { return h.Workload == g.Name }) {
			continue
		}
		if ns, _, ok := g.WaitP99Ns(); ok && ns > 0 {
			all = append(all, result.Harmed{Workload: g.Name, Name: g.Name, Sent: g.Arrived, WaitP99Ns: &ns})
		}
	}
	slices.SortStableFunc(all, func(a, b result.Harmed) int { return -cmp.Compare(*a.WaitP99Ns, *b.WaitP99Ns) })
	return all
}

// seatConsumer is a row of who filled the seats: the flows of a workload, one flow, or the others.
type seatConsumer struct {
	name, whole       string
	flows             int
	used, asked, fair float64 // seat-seconds
	ofUse             float64 // its part of the seat-seconds that were used at the level
}

// fillersShown is how many rows of who filled the seats have a place.
const fillersShown = 6

var seatConsumerColumns = Definition[seatConsumer]{
	{Column: Column{Title: "Who", Short: "who", Left: true}, Cell: func(f *seatConsumer) Cell { return Cell{Text: f.name, Whole: f.whole} }},
	{Column: Column{Title: "Flows", Short: "flows", Term: "flow"}, Cell: func(f *seatConsumer) Cell { return countCell(int64(f.flows)) }},
	{Column: Column{Title: "Of use", Short: "of use", Term: "service"}, Cell: func(f *seatConsumer) Cell { return percentCell(f.ofUse) }},
	{Column: Column{Title: "Demand, % of fair share", Short: "demand, % of fair share", Term: "demandOfShare"}, Cell: func(f *seatConsumer) Cell {
		if f.fair == 0 {
			return noValue
		}
		return percentCell(f.asked / f.fair)
	}},
}

// filledLevel returns the level whose seats matter: of those who were harmed most, of the first cause, or the one that was
// used most.
func filledLevel(s *result.Summary) *result.Level {
	named := func(name string) *result.Level {
		for i := range s.PriorityLevels {
			if l := &s.PriorityLevels[i]; l.Name == name && l.Utilisation != nil && !l.Idle() {
				return l
			}
		}
		return nil
	}
	for i := range s.Verdict.Harmed {
		if l := named(s.Verdict.Harmed[i].Level); l != nil {
			return l
		}
	}
	for i := range s.Verdict.Causes {
		if l := named(s.Verdict.Causes[i].Level); l != nil {
			return l
		}
	}
	var most *result.Level
	for i := range s.PriorityLevels {
		l := &s.PriorityLevels[i]
		if l.Idle() || l.Utilisation == nil || l.Utilisation.Mean == nil {
			continue
		}
		if most == nil || *l.Utilisation.Mean > *most.Utilisation.Mean {
			most = l
		}
	}
	return most
}

// filledTable is the table of who filled the seats of a level: the workloads, or the flows if there is only one. It has no
// rows if no level has seats.
func filledTable(s *result.Summary) *Table {
	t := &Table{Name: "filled", Columns: seatConsumerColumns.Columns(), Reserved: 48}
	l := filledLevel(s)
	if l == nil {
		return t
	}
	t.Title = "Who filled the seats of " + l.Name
	t.Caption = t.Title
	rows := seatConsumers(s, l.Name)
	for i := range rows {
		t.Rows = append(t.Rows, seatConsumerColumns.Row(&rows[i]))
	}
	if mean := inUseCell(l); mean.Number {
		t.Missing = fmt.Sprintf("%s of its seats were in use; it was full for %s of the time.", mean.Text, format.Percent(l.Utilisation.Saturated))
	}
	return t
}

func seatConsumers(s *result.Summary, level string) []seatConsumer {
	workloads := map[string]bool{}
	for i := range s.Flows {
		if f := &s.Flows[i]; f.PriorityLevel == level && f.Workload != "" {
			workloads[f.Workload] = true
		}
	}
	var rows []seatConsumer
	at := map[string]int{} // of a workload
	others := seatConsumer{name: "others"}
	add := func(to *seatConsumer, f *result.Flow, n int) {
		to.flows += n
		to.used, to.asked, to.fair = to.used+f.ServiceSeatSeconds, to.asked+f.DemandSeatSeconds, to.fair+f.FairShareSeatSeconds
	}
	total := 0.0
	for i := range s.Flows {
		f := &s.Flows[i]
		if f.PriorityLevel != level {
			continue
		}
		total += f.ServiceSeatSeconds
		row := seatConsumer{name: f.ShortName(), whole: f.Name}
		if len(workloads) > 1 && f.Workload != "" {
			k, known := at[f.Workload]
			if known {
				add(&rows[k], f, 1)
				continue
			}
			at[f.Workload] = len(rows)
			row = seatConsumer{name: f.Workload}
		}
		add(&row, f, 1)
		rows = append(rows, row)
	}
	for i := range s.OtherFlows {
		if o := &s.OtherFlows[i]; o.PriorityLevel == level {
			total += o.ServiceSeatSeconds
			add(&others, &o.Flow, o.Number)
		}
	}
	slices.SortStableFunc(rows, func(a, b seatConsumer) int {
		return -cmp.Or(cmp.Compare(a.used, b.used), cmp.Compare(a.asked, b.asked))
	})
	if room := fillersShown - 1; len(rows) > fillersShown || others.flows > 0 && len(rows) > room {
		for i := room; i < len(rows); i++ {
			r := &rows[i]
			others.flows, others.used, others.asked, others.fair = others.flows+r.flows, others.used+r.used, others.asked+r.asked, others.fair+r.fair
		}
		rows = rows[:room]
	}
	if others.flows > 0 {
		rows = append(rows, others)
	}
	for i := range rows {
		if r := &rows[i]; total > 0 {
			r.ofUse = r.used / total
			if r.whole == r.name {
				r.whole = ""
			}
		}
	}
	return rows
}
