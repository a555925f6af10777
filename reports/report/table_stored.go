package report

import (
	"cmp"
	"slices"

	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// kindsShown is how many rows of what happened to clients, and of kinds of requests, a terminal shows.
const kindsShown = 30

// clientRow is something that has happened to the clients of a workload.
type clientRow struct {
	workload string
	*result.Noted
}

// clientTable is the table of what has happened to clients that behave; it has no rows if there are none.
func clientTable(s *result.Summary) *Table {
	columns := Definition[clientRow]{
		{Column: Column{Title: "Workload", Short: "workload", Left: true}, Cell: func(r *clientRow) Cell { return Word(r.workload) }},
		{Column: Column{Title: "What", Short: "what", Left: true}, Cell: func(r *clientRow) Cell { return Word(whatHappened(r.Noted)) }},
		{Column: Column{Title: "Count", Short: "count"}, Cell: func(r *clientRow) Cell { return countCell(r.Count) }},
		distributionColumn(Column{Title: "Median", Short: "p50"}, clientTime, median),
		distributionColumn(Column{Title: "99th", Short: "p99", Term: "percentile"}, clientTime, p99),
		distributionColumn(Column{Title: "Longest", Short: "max"}, clientTime, longest),
	}
	t := &Table{Name: "clients", Title: "Clients", Caption: "What happened to clients that behave", Brief: kindsShown, Columns: columns.Columns()}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		if w.Clients == nil {
			continue
		}
		for k := range w.Clients.Notes {
			t.Rows = append(t.Rows, columns.Row(&clientRow{w.Name, &w.Clients.Notes[k]}))
		}
	}
	return t
}

func clientTime(r *clientRow) *result.Distribution { return r.Time }

// whatHappened says in words what a metric of clients counts, and for which reasons it happened.
func whatHappened(n *result.Noted) string {
	text := n.Metric
	if m := metric.Named(n.Metric); m != nil {
		text = m.Counts()
	}
	for i, r := range n.Reasons {
		before := ", "
		if i == 0 {
			before = ": "
		}
		text += before + format.Quantity(r.Count) + " " + r.Reason
	}
	return text
}

// cacheTable is the table of what servers sent to clients of the store; it has no rows if they have none.
func cacheTable(s *result.Summary) *Table {
	columns := Definition[result.Server]{
		{Column: Column{Title: "Server", Short: "server", Left: true}, Cell: func(v *result.Server) Cell { return Word(v.Name) }},
	}
	for _, m := range slices.SortedFunc(slices.Values(metric.ServerStatistics()), func(a, b *metric.Statistic) int { return cmp.Compare(a.Server, b.Server) }) {
		cell := countCell
		if m.Unit == metric.Nanoseconds {
			cell = durationCell
		}
		columns = append(columns, ColumnOf[result.Server]{Column: Column{Title: m.Title, Short: m.Short},
			Cell: func(v *result.Server) Cell { return cell(v.Stored.Values[m.Server]) }})
	}
	t := &Table{Name: "caches", Title: "Watch caches", Caption: "What servers sent, and how far their watch caches were behind", Brief: kindsShown, Columns: columns.Columns()}
	for i := range s.Servers {
		if s.Servers[i].Stored != nil {
			t.Rows = append(t.Rows, columns.Row(&s.Servers[i]))
		}
	}
	return t
}

// requestKindTable is the table of what flow control reserved for requests beside what they took; it has no rows if
// the servers have no store.
func requestKindTable(s *result.Summary) *Table {
	columns := Definition[result.RequestKind]{
		{Column: Column{Title: "Request", Short: "request", Left: true}, Cell: func(k *result.RequestKind) Cell { return Word(k.Verb + " " + k.Resource) }},
		{Column: Column{Title: "Options", Short: "options", Left: true}, Cell: func(k *result.RequestKind) Cell { return Word(k.Options) }},
		{Column: Column{Title: "Requests", Short: "requests"}, Cell: func(k *result.RequestKind) Cell { return countCell(k.Requests) }},
		{Column: Column{Title: "Seats, most", Short: "seats"}, Cell: func(k *result.RequestKind) Cell { return countCell(int64(k.MaxSeats)) }},
		{Column: Column{Title: "Seat-seconds", Short: "seat-s"}, Cell: func(k *result.RequestKind) Cell { return number(k.SeatSeconds) }},
		{Column: Column{Title: "Processor seconds", Short: "cpu-s"}, Cell: func(k *result.RequestKind) Cell { return number(k.ProcessorSeconds) }},
		{Column: Column{Title: "Calls to etcd", Short: "etcd"}, Cell: func(k *result.RequestKind) Cell { return countCell(k.EtcdCalls) }},
		{Column: Column{Title: "Objects walked", Short: "walked"}, Cell: func(k *result.RequestKind) Cell { return countCell(k.ObjectsWalked) }},
		{Column: Column{Title: "Objects returned", Short: "returned"}, Cell: func(k *result.RequestKind) Cell { return countCell(k.ObjectsReturned) }},
		{Column: Column{Title: "Bytes", Short: "bytes"}, Cell: func(k *result.RequestKind) Cell { return countCell(k.Bytes) }},
	}
	t := &Table{Name: "request-kinds", Title: "Seats and work", Caption: "What flow control reserved for requests, and what they took", Brief: kindsShown, Columns: columns.Columns()}
	for i := range s.RequestKinds {
		t.Rows = append(t.Rows, columns.Row(&s.RequestKinds[i]))
	}
	return t
}

func number(v float64) Cell { return figure(v, format.Digits(v)) }
