package report

import (
	"strconv"

	"apfsim/reports/advice"
)

// seatColumns are the columns of the seats of priority levels. What a level does not have is 0 in
// the data: seats of one request, queues.
var seatColumns = Definition[advice.LevelSeats]{
	{Column: Column{Short: "priority level", Left: true}, Cell: func(l *advice.LevelSeats) Cell { return Word(l.Name) }},
	{Column: Column{Short: "response", Left: true}, Cell: func(l *advice.LevelSeats) Cell { return Word(l.Response) }},
	seatColumn("shares", func(l *advice.LevelSeats) int { return int(l.Shares) }),
	seatColumn("nominal", func(l *advice.LevelSeats) int { return l.Nominal }),
	seatColumn("lower", func(l *advice.LevelSeats) int { return l.Lower }),
	seatColumn("upper", func(l *advice.LevelSeats) int { return l.Upper }),
	optionalSeatColumn("seat cap", func(l *advice.LevelSeats) int { return l.SeatCap }),
	optionalSeatColumn("queues", func(l *advice.LevelSeats) int { return int(l.Queues) }),
	optionalSeatColumn("hand size", func(l *advice.LevelSeats) int { return int(l.HandSize) }),
	optionalSeatColumn("queue length limit", func(l *advice.LevelSeats) int { return int(l.QueueLengthLimit) }),
	{Column: Column{Short: "reachable"}, Cell: func(l *advice.LevelSeats) Cell {
		if l.Reachable == nil {
			return noValue
		}
		return figure(float64(*l.Reachable), strconv.Itoa(*l.Reachable))
	}},
}

func seatColumn(head string, get func(*advice.LevelSeats) int) ColumnOf[advice.LevelSeats] {
	return ColumnOf[advice.LevelSeats]{Column: Column{Short: head}, Cell: func(l *advice.LevelSeats) Cell {
		return figure(float64(get(l)), strconv.Itoa(get(l)))
	}}
}

func optionalSeatColumn(head string, get func(*advice.LevelSeats) int) ColumnOf[advice.LevelSeats] {
	column := seatColumn(head, get)
	always := column.Cell
	column.Cell = func(l *advice.LevelSeats) Cell {
		if get(l) == 0 {
			return noValue
		}
		return always(l)
	}
	return column
}

// SeatsDocument returns the report of how a server's seats are divided among its priority levels.
func SeatsDocument(s *advice.SeatDivision) *Document {
	d := &Document{Data: s}
	d.add(Section{Parts: []Part{{Table: seatTable(s)}}})
	return d
}

// seatTable is the table of the seats of priority levels, and below them their sum.
func seatTable(s *advice.SeatDivision) *Table {
	t := &Table{Columns: seatColumns.Columns(), Last: 1}
	sum := 0
	for i := range s.Levels {
		sum += s.Levels[i].Nominal
		t.Rows = append(t.Rows, seatColumns.Row(&s.Levels[i]))
	}
	total := make([]Cell, len(seatColumns))
	total[0], total[3] = Word("all"), figure(float64(sum), strconv.Itoa(sum))
	t.Rows = append(t.Rows, total)
	return t
}
