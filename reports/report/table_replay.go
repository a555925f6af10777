package report

import (
	"slices"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// ReplayTable is the table that compares a replay with its log, by priority level.
func ReplayTable(r *result.Replay) *Table {
	inLog := func(l *result.ReplayedLevel) *result.Distribution { return l.WaitInLog }
	inReplay := func(l *result.ReplayedLevel) *result.Distribution { return l.WaitInReplay }
	judged := func(cell func(*result.ReplayedLevel) Cell, what string) func(*result.ReplayedLevel) Cell {
		return func(l *result.ReplayedLevel) Cell {
			c := cell(l)
			if slices.Contains(l.Disagrees, what) && r.Matches != nil {
				c.Judgement = judge.Bad
			}
			return c
		}
	}
	columns := Definition[result.ReplayedLevel]{
		{Column: Column{Title: "Priority level in the log", Short: "priority level", Left: true}, Cell: func(l *result.ReplayedLevel) Cell { return Word(l.PriorityLevel) }},
		{Column: Column{Title: "Requests", Short: "requests"}, Cell: func(l *result.ReplayedLevel) Cell { return countCell(l.Requests) }},
		{Column: Column{Title: "Rejected in the log", Short: "rejected in log"}, Cell: func(l *result.ReplayedLevel) Cell { return shareCell(l.RejectedInLog, l.Requests) }},
		{Column: Column{Title: "in the replay", Short: "in replay"}, Cell: judged(func(l *result.ReplayedLevel) Cell { return shareCell(l.RejectedInReplay, l.Requests) }, "rejected")},
		distributionColumn(Column{Title: "Wait in the log, median", Short: "wait p50 in log", Term: "wait"}, inLog, median),
		distributionColumn(Column{Title: "in the replay, median", Short: "in replay"}, inReplay, median),
		distributionColumn(Column{Title: "Wait in the log, 99th", Short: "wait p99 in log", Term: "percentile"}, inLog, p99),
		distributionColumn(Column{Title: "in the replay, 99th", Short: "in replay"}, inReplay, p99),
		{Column: Column{Title: "Seat-seconds in the log", Short: "seat-s in log"}, Cell: func(l *result.ReplayedLevel) Cell {
			return figure(l.SeatSecondsInLog, format.Number(l.SeatSecondsInLog))
		}},
		{Column: Column{Title: "in the replay", Short: "in replay"}, Cell: judged(func(l *result.ReplayedLevel) Cell {
			return figure(l.SeatSecondsInReplay, format.Number(l.SeatSecondsInReplay))
		}, "seatSeconds")},
	}
	for _, i := range []int{5, 7} {
		columns[i].Cell = judged(columns[i].Cell, "wait")
	}
	t := &Table{Name: "replay", Title: "The replay beside its log", Caption: "The replay beside its log: executed and rejected requests, first attempts", Columns: columns.Columns()}
	for i := range r.Levels {
		t.Rows = append(t.Rows, columns.Row(&r.Levels[i]))
	}
	return t
}
