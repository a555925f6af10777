package report

import "apfsim/reports/result"

// aggregatedServerTable is the table of a run's aggregated servers: what their own flow control did with the
// requests that were passed on to them.
func aggregatedServerTable(s *result.Summary) *Table {
	columns := Definition[result.Group]{
		{Column: Column{Title: "Aggregated server", Short: "aggregated server", Left: true}, Cell: func(g *result.Group) Cell { return Word(g.Name) }},
		{Column: Column{Title: "Arrived", Short: "arrived", Term: "arrived"}, Cell: func(g *result.Group) Cell { return countCell(g.Arrived) }},
		{Column: Column{Title: "Dispatched", Short: "dispatched"}, Cell: func(g *result.Group) Cell { return countCell(g.Executed + g.Executing) }},
		{Column: Column{Title: "Rejected", Short: "rejected", Term: termRejected}, Cell: func(g *result.Group) Cell { return shareCell(g.Rejected, g.Arrived) }},
		{Column: Column{Title: "queue-full", Short: "queue-full"}, Cell: func(g *result.Group) Cell { return countCell(g.QueueFull) }},
		{Column: Column{Title: "concurrency-limit", Short: "concurrency-limit"}, Cell: func(g *result.Group) Cell { return countCell(g.ConcurrencyLimit) }},
		{Column: Column{Title: "time-out", Short: "time-out"}, Cell: func(g *result.Group) Cell { return countCell(g.TimedOut) }},
		distributionColumn(Column{Title: "Wait, median", Short: "wait p50", Term: "wait"}, groupWait, median),
		distributionColumn(Column{Title: "99th", Short: "p99", Term: "percentile"}, groupWait, p99),
		distributionColumn(Column{Title: "longest", Short: "max"}, groupWait, longest),
	}
	t := &Table{Name: "aggregated-servers", Title: "Aggregated servers", Caption: "Aggregated servers: requests at their own flow control", Columns: columns.Columns()}
	for i := range s.AggregatedServers {
		t.Rows = append(t.Rows, columns.Row(&s.AggregatedServers[i]))
	}
	return t
}
