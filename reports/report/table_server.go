package report

import (
	"fmt"
	"math"
	"slices"

	"apfsim/reports/format"
	"apfsim/reports/scrape"
	"apfsim/sim/metric"
)

// serverColumns are the columns of runs beside a server. Each table is of one priority level or
// FlowSchema, which CSV has in columns.
var serverColumns = Definition[scrape.Statistic]{
	{CSV: "priorityLevel", Value: func(s *scrape.Statistic) string { return s.PriorityLevel }},
	{CSV: "flowSchema", Value: func(s *scrape.Statistic) string { return s.FlowSchema }},
	{Column: Column{Title: "Statistic", Short: "statistic", Left: true}, Cell: func(s *scrape.Statistic) Cell { return Word(s.Name) },
		CSV: "statistic", Value: func(s *scrape.Statistic) string { return s.Name }},
	{CSV: "unit", Value: func(s *scrape.Statistic) string { return string(s.Unit) }},
	{Column: Column{Title: "Server", Short: "server"}, Cell: serverCell,
		CSV: "server", Value: func(s *scrape.Statistic) string { return format.AllDigits(s.Server) }},
	{CSV: "serverBefore", Value: func(s *scrape.Statistic) string { return format.AllDigits(s.ServerBefore) }},
	{CSV: "serverLow", Value: func(s *scrape.Statistic) string { return format.AllDigits(s.ServerLow) }},
	{CSV: "serverHigh", Value: func(s *scrape.Statistic) string { return format.AllDigits(s.ServerHigh) }},
	{CSV: "runs", Value: func(s *scrape.Statistic) string { n := float64(s.Runs); return format.AllDigits(&n) }},
	{Column: Column{Title: "Run", Short: "run"}, Cell: func(s *scrape.Statistic) Cell { return serverFigure(s, s.Run) },
		CSV: "run", Value: func(s *scrape.Statistic) string { return format.AllDigits(s.Run) }},
	{Column: Column{Title: "Interval of the runs", Short: "interval", Term: "prediction"}, Cell: predictionCell,
		CSV: "runLow", Value: func(s *scrape.Statistic) string { return format.AllDigits(s.RunLow) }},
	{CSV: "runHigh", Value: func(s *scrape.Statistic) string { return format.AllDigits(s.RunHigh) }},
	{Column: Column{Title: "Run − server", Short: "run − server"}, Cell: serverDifference,
		CSV: "difference", Value: func(s *scrape.Statistic) string { return format.AllDigits(s.Difference) }},
	{CSV: "relative", Value: func(s *scrape.Statistic) string { return format.AllDigits(s.Relative) }},
	{Column: Column{Title: "The server is", Short: "the server is", Term: "beside", Left: true}, Cell: func(s *scrape.Statistic) Cell { return Word(outcomeWord[s.Outcome]) },
		CSV: "outcome", Value: func(s *scrape.Statistic) string { return string(s.Outcome) }},
}

var outcomeWord = map[scrape.Outcome]string{
	scrape.Equal: "equal", scrape.Within: "within", scrape.Above: "above", scrape.Below: "below", scrape.Untested: "different",
}

// besideServerTables returns the tables of runs beside a server: one for each priority level and FlowSchema that is
// listed.
func besideServerTables(c *scrape.Comparison, all bool) (tables []*Table) {
	listed, idle := c.Listed(all)
	columns := serverColumns
	if len(c.Run.Seeds) == 1 { // a single run has no interval
		columns = slices.DeleteFunc(slices.Clone(columns), func(column ColumnOf[scrape.Statistic]) bool { return column.CSV == "runLow" })
	}
	for i, s := range listed {
		t := &Table{Name: fmt.Sprintf("server-%d", i+1), Title: s.Title, Columns: columns.Columns()}
		t.Caption = t.Title + ": the server, and the run"
		for k := range s.Statistics {
			t.Rows = append(t.Rows, columns.Row(&s.Statistics[k]))
		}
		tables = append(tables, t)
	}
	if len(tables) > 0 && len(idle) > 0 {
		tables[len(tables)-1].Missing = "No requests on either side: " + format.Listed(idle, len(idle), "") + "."
	}
	return tables
}

// serverText writes a number of a statistic. Counts of requests have all their digits, so that a
// difference is visible.
func serverText(s *scrape.Statistic, x float64) string {
	if s.Unit == metric.Requests || s.Unit == metric.Seats {
		return format.Decimal(math.Round(10*x) / 10)
	}
	return format.ValueText(x, string(s.Unit), s.Unit == metric.NoUnit)
}

func serverFigure(s *scrape.Statistic, x *float64) Cell {
	if x == nil {
		return noValue
	}
	return figure(*x, serverText(s, *x))
}

// serverCell is a number of the server: of a gauge that has changed, both values; of a percentile, the
// bounds of its bucket.
func serverCell(s *scrape.Statistic) Cell {
	switch {
	case s.ServerLow != nil && s.ServerHigh == nil:
		return figure(*s.ServerLow, "over "+serverText(s, *s.ServerLow))
	case s.ServerLow != nil && *s.ServerLow < *s.ServerHigh:
		return figure(*s.ServerHigh, serverText(s, *s.ServerLow)+" to "+serverText(s, *s.ServerHigh))
	case s.ServerLow != nil:
		return figure(*s.ServerLow, serverText(s, *s.ServerLow))
	case s.Server != nil && s.ServerBefore != nil && *s.Server != *s.ServerBefore:
		return figure(*s.Server, serverText(s, *s.ServerBefore)+"→"+serverText(s, *s.Server))
	}
	return serverFigure(s, s.Server)
}

func predictionCell(s *scrape.Statistic) Cell {
	if s.RunLow == nil || s.RunHigh == nil {
		return Cell{}
	}
	return figure(*s.RunLow, serverText(s, *s.RunLow)+" to "+serverText(s, *s.RunHigh))
}

func serverDifference(s *scrape.Statistic) Cell {
	switch {
	case s.Difference == nil:
		return Cell{}
	case *s.Difference == 0 || s.Outcome == scrape.Equal:
		return figure(0, "0")
	case s.Relative == nil:
		return figure(*s.Difference, format.Signed(serverText(s, *s.Difference)))
	}
	return figure(*s.Relative, format.Signed(format.Digits(100**s.Relative))+" %")
}
