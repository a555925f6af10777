package render

import (
	"strconv"

	"apfsim/reports/advice"
	"apfsim/reports/report"
)

// upgradeColumns are the limits of a priority level before and after an upgrade.
var upgradeColumns = report.Definition[advice.UpgradedLevel]{
	{Column: report.Column{Short: "priority level", Left: true}, Cell: func(l *advice.UpgradedLevel) report.Cell { return report.Word(l.Name) }},
	changeColumn("shares", func(l *advice.LevelSeats) int { return int(l.Shares) }),
	changeColumn("nominal", func(l *advice.LevelSeats) int { return l.Nominal }),
	changeColumn("lower", func(l *advice.LevelSeats) int { return l.Lower }),
	changeColumn("upper", func(l *advice.LevelSeats) int { return l.Upper }),
	changeColumn("seat cap", func(l *advice.LevelSeats) int { return l.SeatCap }),
}

// changeColumn is a column with a value before and after an upgrade, or one value if both are equal.
// A dash stands for a level that does not exist, and for the seat cap of a level that has none.
func changeColumn(head string, get func(*advice.LevelSeats) int) report.ColumnOf[advice.UpgradedLevel] {
	value := func(l *advice.LevelSeats) string {
		if l == nil || head == "seat cap" && get(l) == 0 {
			return "–"
		}
		return strconv.Itoa(get(l))
	}
	return report.ColumnOf[advice.UpgradedLevel]{Column: report.Column{Short: head}, Cell: func(l *advice.UpgradedLevel) report.Cell {
		return report.Word(change(value(l.Before), value(l.After)))
	}}
}

// change is a value before and after a change, or one value if both are equal.
func change(before, after string) string {
	if before == after {
		return before
	}
	return before + " → " + after
}

// upgradeLevels is the table of the limits of priority levels before and after an upgrade.
func upgradeLevels(u *advice.Upgrade) *report.Table {
	t := &report.Table{Columns: upgradeColumns.Columns()}
	for i := range u.Levels {
		t.Rows = append(t.Rows, upgradeColumns.Row(&u.Levels[i]))
	}
	return t
}
