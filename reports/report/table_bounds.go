package report

import (
	"apfsim/reports/format"
	"apfsim/reports/result"
)

// boundsTable is the table of what the capacity leaves open of the workloads with enough requests; nil if there are none.
func boundsTable(s *result.Summary) *Table {
	if s.CapacityBounds == nil {
		return nil
	}
	column := func(title string, of func(*result.WorkloadBounds) *result.Between, text func(float64) string) ColumnOf[result.WorkloadBounds] {
		return ColumnOf[result.WorkloadBounds]{Column: Column{Title: title, Short: title}, Cell: func(w *result.WorkloadBounds) Cell {
			return Word(of(w).Text(text))
		}}
	}
	columns := Definition[result.WorkloadBounds]{
		{Column: Column{Title: "Workload", Short: "workload", Left: true}, Cell: func(w *result.WorkloadBounds) Cell { return Word(w.Name) }},
		column("rejected", func(w *result.WorkloadBounds) *result.Between { return w.Rejected }, format.Percent),
		column("latency p50", func(w *result.WorkloadBounds) *result.Between { return w.LatencyP50Ns }, format.Duration),
		column("latency p99", func(w *result.WorkloadBounds) *result.Between { return w.LatencyP99Ns }, format.Duration),
	}
	t := &Table{Name: "bounds", Title: "With all capacities that the servers may have", Caption: "Least and greatest values with the capacities that the servers may have", Columns: columns.Columns()}
	for i := range s.CapacityBounds.Workloads {
		if s.Workloads[i].Arrived >= result.FewestBounded {
			t.Rows = append(t.Rows, columns.Row(&s.CapacityBounds.Workloads[i]))
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}
