package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"apfsim/core/config"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/measure"
	"apfsim/reports/result"
)

// distributionColumn is a column of the durations that get returns, which is nil without samples.
func distributionColumn[R any](column Column, get func(*R) *result.Distribution, cell func(*result.Distribution) Cell) ColumnOf[R] {
	return ColumnOf[R]{Column: column, Cell: func(r *R) Cell {
		d := get(r)
		if d == nil {
			return noValue
		}
		return cell(d)
	}}
}

func median(d *result.Distribution) Cell  { return percentileCell(d.P50Ns, 50, d.Count) }
func p99(d *result.Distribution) Cell     { return percentileCell(d.P99Ns, 99, d.Count) }
func longest(d *result.Distribution) Cell { return durationCell(d.MaxNs) }

// percentileCell is a percentile of n durations.
func percentileCell(ns int64, percent float64, n int64) Cell {
	c := durationCell(ns)
	if !measure.Enough(percent, n) {
		c.Few = n
	}
	return c
}

func groupWait(g *result.Group) *result.Distribution    { return g.Wait }
func groupLatency(g *result.Group) *result.Distribution { return g.Latency }

// groupColumns returns the columns of groups of requests; named is the column with their names, and
// seconds the length of the window. There are columns of refused and lost requests if all requests, of
// which the groups are parts, have any.
func groupColumns(named Column, seconds float64, all *result.Group) Definition[result.Group] {
	columns := Definition[result.Group]{
		{Column: named, Cell: func(g *result.Group) Cell { return Word(g.Name) }},
		{Column: Column{Title: "Arrived", Short: "arrived", Term: "arrived"}, Cell: func(g *result.Group) Cell { return countCell(g.Arrived) }},
		{Column: Column{Title: "Executed", Short: "executed", Term: "executed"}, Cell: func(g *result.Group) Cell { return shareCell(g.Executed, g.Arrived) }},
		{Column: Column{Title: "Executed/s", Term: "executed", Only: HTML}, Cell: func(g *result.Group) Cell { return rateCell(g.Executed, seconds) }},
		{Column: Column{Title: "Rejected", Short: "rejected", Term: termRejected}, Cell: func(g *result.Group) Cell { return shareCell(g.Rejected, g.Arrived) }},
		distributionColumn(Column{Title: "Wait, median", Short: "wait p50", Term: "wait"}, groupWait, median),
		distributionColumn(Column{Title: "99th", Short: "p99", Term: "percentile"}, groupWait, p99),
		distributionColumn(Column{Title: "longest", Short: "max"}, groupWait, longest),
		{Column: Column{Title: "Random moment, 99th", Term: termVirtualWait, Only: HTML}, Cell: virtualWaitCell},
		{Column: Column{Title: "Stall", Term: termStall, Only: HTML}, Cell: stallCell},
		distributionColumn(Column{Title: "Latency, median", Short: "latency p50", Term: "latency"}, groupLatency, median),
		distributionColumn(Column{Title: "99th", Short: "p99", Term: "percentile"}, groupLatency, p99),
		distributionColumn(Column{Title: "longest", Short: "max"}, groupLatency, longest),
	}
	rejected := slices.IndexFunc(columns, func(c ColumnOf[result.Group]) bool { return c.Term == termRejected })
	if all.Lost > 0 {
		columns = slices.Insert(columns, rejected+1, ColumnOf[result.Group]{Column: Column{Title: "Lost", Short: "lost", Term: "lost"},
			Cell: func(g *result.Group) Cell { return countCell(g.Lost) }})
	}
	if all.Refused > 0 {
		columns = slices.Insert(columns, rejected+1, ColumnOf[result.Group]{Column: Column{Title: "Refused", Short: "refused", Term: termRefused},
			Cell: func(g *result.Group) Cell { return shareCell(g.Refused, g.Arrived) }})
	}
	return columns
}

// rateCell is a number of requests per second of the window.
func rateCell(n int64, seconds float64) Cell {
	if seconds <= 0 {
		return noValue
	}
	rate := float64(n) / seconds
	return figure(rate, format.Number(rate))
}

func virtualWaitCell(g *result.Group) Cell {
	if g.VirtualWait == nil || g.VirtualWait.Wait == nil {
		return noValue
	}
	c := p99(g.VirtualWait.Wait)
	if g.VirtualWait.IsLowerBound(result.P99Field) {
		c.Text = "≥ " + c.Text
	}
	return c
}

func stallCell(g *result.Group) Cell {
	if g.Stall == nil || g.Arrived == 0 {
		return noValue
	}
	return durationCell(g.Stall.MaxNs)
}

func windowSeconds(s *result.Summary) float64 { return float64(s.DurationNs-s.WarmupNs) / 1e9 }

// workloadTable is the table of a run's workloads and, if there are several, of all requests.
func workloadTable(s *result.Summary) *Table {
	t := groups(s.Workloads, groupColumns(Column{Title: "Workload", Short: "workload", Left: true}, windowSeconds(s), &s.Total))
	t.Name, t.Title, t.Caption, t.Reserved = "workloads", "Workloads", "Workloads: requests, waits and latencies", 84
	if s.Total.Refused > 0 {
		t.Reserved += 9
	}
	if s.Total.Lost > 0 {
		t.Reserved += 7
	}
	if len(s.Workloads) > 1 {
		total := s.Total
		total.Name = "all"
		t.Rows = append(t.Rows, groupColumns(Column{}, windowSeconds(s), &s.Total).Row(&total))
		t.Last = 1
	}
	return t
}

// flowSchemaTable is the table of a run's FlowSchemas.
func flowSchemaTable(s *result.Summary) *Table {
	columns := slices.DeleteFunc(groupColumns(Column{Title: "FlowSchema", Left: true}, windowSeconds(s), &s.Total), func(c ColumnOf[result.Group]) bool {
		return c.Term == termVirtualWait || c.Term == termStall || c.Term == termRefused // these are of workloads alone
	})
	t := groups(s.FlowSchemas, columns)
	t.Name, t.Caption = "flow-schemas", "FlowSchemas: requests, waits and latencies"
	return t
}

func groups(groups []result.Group, columns Definition[result.Group]) *Table {
	t := &Table{Columns: columns.Columns()}
	for i := range groups {
		t.Rows = append(t.Rows, columns.Row(&groups[i]))
	}
	return t
}

// levelColumns are the columns of priority levels.
var levelColumns = Definition[result.Level]{
	{Column: Column{Title: "Level", Short: "priority level", Left: true}, Cell: func(l *result.Level) Cell { return Word(l.Name) }},
	{Column: Column{Title: "Nominal", Term: "nominal", Only: HTML}, Cell: nominalCell},
	{Column: Column{Title: "Bounds", Term: "bounds", Only: HTML}, Cell: boundsCell},
	{Column: Column{Title: "Peak", Term: "peak", Only: HTML},
		Cell: func(l *result.Level) Cell { return figure(float64(l.PeakSeats), strconv.Itoa(l.PeakSeats)) }},
	{Column: Column{Short: "limit", Only: Terminal}, Cell: limitCell},
	{Column: Column{Title: "In use", Short: "in use", Term: "utilisation"}, Cell: inUseCell},
	{Column: Column{Title: "Saturated", Short: "saturated", Term: "saturated"}, Cell: saturatedCell},
	{Column: Column{Title: "Waiting", Short: "waiting", Term: "waiting"},
		Cell: func(l *result.Level) Cell { return figure(l.MeanWaiting, format.Digits(l.MeanWaiting)) }},
	{Column: Column{Title: "Arrived", Short: "arrived", Term: "arrived"}, Cell: func(l *result.Level) Cell { return countCell(l.Arrived) }},
	{Column: Column{Title: "Rejected", Short: "rejected", Term: termRejected}, Cell: func(l *result.Level) Cell { return shareCell(l.Rejected, l.Arrived) }},
	distributionColumn(Column{Title: "Wait, 99th", Short: "wait p99", Term: "percentile"}, func(l *result.Level) *result.Distribution { return l.Wait }, p99),
	{Column: Column{Title: "Flows", Short: "flows", Term: "flow"}, Cell: flowCountCell},
	{Column: Column{Title: "Fairness", Short: "fairness", Term: "jain"}, Cell: fairnessCell},
	{Column: Column{Title: "Starved", Short: "starved", Term: "starved"}, Cell: starvedCell},
}

func nominalCell(l *result.Level) Cell {
	if l.Type == config.TypeExempt {
		return noValue
	}
	return figure(float64(l.Limits.Nominal), strconv.Itoa(l.Limits.Nominal))
}

func boundsCell(l *result.Level) Cell {
	if l.Type == config.TypeExempt {
		return noValue
	}
	return figure(float64(l.Limits.Upper), fmt.Sprintf("%d–%d", l.Limits.Lower, l.Limits.Upper))
}

// limitCell has the nominal limit and, where they differ, the limit when the run ended.
func limitCell(l *result.Level) Cell {
	c := nominalCell(l)
	if c.Number && l.Limits.Current != l.Limits.Nominal {
		c.Text = fmt.Sprintf("%d→%d", l.Limits.Nominal, l.Limits.Current)
	}
	return c
}

func inUseCell(l *result.Level) Cell {
	if l.Utilisation == nil || l.Utilisation.Mean == nil {
		return noValue
	}
	return percentCell(*l.Utilisation.Mean)
}

func saturatedCell(l *result.Level) Cell {
	if l.Utilisation == nil {
		return noValue
	}
	return percentCell(l.Utilisation.Saturated)
}

// flowCountCell counts the flows with demand.
func flowCountCell(l *result.Level) Cell {
	if l.Fairness == nil {
		return countCell(0)
	}
	return countCell(int64(l.Fairness.Flows))
}

func fairnessCell(l *result.Level) Cell {
	if l.Fairness == nil {
		return noValue
	}
	return figure(l.Fairness.Jain, fmt.Sprintf("%.3f", l.Fairness.Jain))
}

func starvedCell(l *result.Level) Cell {
	if l.Starvation == nil {
		return noValue
	}
	return durationCell(l.Starvation.MaxNs)
}

// levelTable is the table of the priority levels that requests arrived at. Its Missing names the
// others.
func levelTable(s *result.Summary) *Table {
	t := &Table{Name: "levels", Title: "Priority levels", Caption: "Priority levels; limits and peak in seats",
		Columns: levelColumns.Columns(), Reserved: 95}
	var idle []string
	for i := range s.PriorityLevels {
		l := &s.PriorityLevels[i]
		if l.Idle() {
			idle = append(idle, l.Name)
			continue
		}
		t.Rows = append(t.Rows, levelColumns.Row(l))
	}
	if len(idle) > 0 {
		t.Missing = "No requests: " + strings.Join(idle, ", ") + "."
	}
	return t
}

// flowNameCell is the short name of a flow, with its whole name.
func flowNameCell(f *result.Flow) Cell {
	c := Word(f.ShortName())
	if c.Text != f.Name {
		c.Whole = f.Name
	}
	return c
}

// flow is a row of a table of flows.
type flow struct {
	*result.Flow
	greatestRatio float64 // of all flows in the table
}

// flowColumns are the columns of flows. On a terminal the ratio comes after the service and the
// share that it is made of.
var flowColumns = Definition[flow]{
	{Column: Column{Title: "Flow", Short: "flow", Term: "flow", Left: true}, Cell: func(f *flow) Cell { return flowNameCell(f.Flow) }},
	{Column: Column{Title: "Level", Short: "level", Left: true, Width: 16}, Cell: func(f *flow) Cell { return Word(f.PriorityLevel) }},
	{Column: Column{Title: "Of fair share", Term: "ratio", Only: HTML}, Cell: ratioCell},
	{Column: Column{Title: "Arrived", Short: "arrived", Term: "arrived"}, Cell: func(f *flow) Cell { return countCell(f.Arrived) }},
	{Column: Column{Title: "Rejected", Short: "rejected", Term: termRejected}, Cell: func(f *flow) Cell { return shareCell(f.Rejected, f.Arrived) }},
	distributionColumn(Column{Title: "Wait, median", Term: "wait", Only: HTML}, func(f *flow) *result.Distribution { return f.Wait }, median),
	distributionColumn(Column{Title: "99th", Term: "percentile", Only: HTML}, func(f *flow) *result.Distribution { return f.Wait }, p99),
	{Column: Column{Title: "Starved", Term: "starved", Only: HTML}, Cell: flowStarvedCell},
	{Column: Column{Title: "Demand", Short: "demand", Term: "demand"}, Cell: func(f *flow) Cell { return seatSecondsCell(f.DemandSeatSeconds) }},
	{Column: Column{Title: "Fair share", Short: "share", Term: "share"}, Cell: func(f *flow) Cell { return seatSecondsCell(f.FairShareSeatSeconds) }},
	{Column: Column{Title: "Service", Short: "service", Term: "service"}, Cell: func(f *flow) Cell { return seatSecondsCell(f.ServiceSeatSeconds) }},
	{Column: Column{Short: "of share", Only: Terminal}, Cell: ratioCell},
	{Column: Column{Short: "starved", Only: Terminal}, Cell: flowStarvedCell},
	{Column: Column{Title: "Hand", Term: "hand", Left: true, Only: HTML}, Cell: handCell},
}

func ratioCell(f *flow) Cell {
	if f.Ratio == nil {
		return noValue
	}
	c := figure(*f.Ratio, judge.RatioText(*f.Ratio))
	c.Bar = &CellBar{Value: *f.Ratio / max(1, f.greatestRatio), Mark: 1 / max(1, f.greatestRatio)}
	return c
}

func flowStarvedCell(f *flow) Cell { return durationCell(f.StarvationNs) }

func handCell(f *flow) Cell {
	if len(f.Hand) == 0 {
		return noValue
	}
	queues := slices.Sorted(slices.Values(f.Hand))
	return Word(strings.Trim(strings.Join(strings.Fields(fmt.Sprint(queues)), ", "), "[]"))
}

// flowTable is the table of the listed flows: the underserved ones first, then the others by demand.
func flowTable(s *result.Summary) *Table {
	flows := judge.WorstFlows(s, len(s.Flows))
	isWorst := map[*result.Flow]bool{}
	for _, f := range flows {
		isWorst[f] = true
	}
	worst := len(flows)
	for i := range s.Flows {
		if f := &s.Flows[i]; !isWorst[f] {
			flows = append(flows, f)
		}
	}
	slices.SortStableFunc(flows[worst:], func(a, b *result.Flow) int { return -cmp.Compare(a.DemandSeatSeconds, b.DemandSeatSeconds) })
	missing := ""
	left := max(0, len(flows)-mostRows)
	flows = flows[:len(flows)-left]
	if others, _ := s.Others(""); others > 0 {
		missing = fmt.Sprintf("Left out: %s. summary.json has %s, and sums of the others; apfsim run --flows writes all to flows.csv.",
			format.Counted(left+others, "flow"), format.Counted(len(s.Flows), "flow"))
	} else if left > 0 {
		missing = fmt.Sprintf("Left out: %s, all in summary.json.", format.Counted(left, "flow"))
	}
	t := newFlowTable(flows)
	t.Name, t.Caption = "flows", "Flows, underserved ones first; demand, fair share and service in seat-seconds"
	t.First, t.Missing = firstRows, missing
	return t
}

// worstFlowTable is the table of the most flows that are underserved or had rejections, for a terminal.
func worstFlowTable(s *result.Summary, maxFlows int) *Table {
	t := newFlowTable(judge.WorstFlows(s, maxFlows))
	t.Title = "Underserved flows, and others with rejections"
	return t
}

func newFlowTable(flows []*result.Flow) *Table {
	t := &Table{Columns: flowColumns.Columns(), Reserved: 80}
	greatest := 0.0
	for _, f := range flows {
		if f.Ratio != nil {
			greatest = max(greatest, *f.Ratio)
		}
	}
	for _, f := range flows {
		t.Rows = append(t.Rows, flowColumns.Row(&flow{f, greatest}))
	}
	return t
}
