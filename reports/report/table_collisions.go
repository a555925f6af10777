package report

import (
	"fmt"
	"strconv"
	"strings"

	"apfsim/reports/advice"
)

// collisionRow is a deck: a row of the table with the games dealt.
type collisionRow struct {
	*advice.Collisions
	index int
}

// collisionColumns returns the columns of a collision table: one for each number of elephants
// and, if games were dealt, one for what came of them beside it. In CSV that is the number of games
// in which the mouse's hand was occupied, elsewhere their share.
func collisionColumns(c *advice.Collisions) Definition[collisionRow] {
	number := func(title, short, name string, get func(*collisionRow) int) ColumnOf[collisionRow] {
		return ColumnOf[collisionRow]{Column: Column{Title: title, Short: short},
			Cell: func(r *collisionRow) Cell { return figure(float64(get(r)), strconv.Itoa(get(r))) },
			CSV:  name, Value: func(r *collisionRow) string { return strconv.Itoa(get(r)) }}
	}
	d := Definition[collisionRow]{
		number("HandSize", "hand size", "handSize", func(r *collisionRow) int { return r.Rows[r.index].HandSize }),
		number("Queues", "queues", "queues", func(r *collisionRow) int { return r.Rows[r.index].Queues }),
	}
	for i, n := range c.Elephants {
		head := fmt.Sprintf("%d elephants", n)
		if n == 1 {
			head = strings.TrimSuffix(head, "s")
		}
		value := func(r *collisionRow) string {
			return strconv.FormatFloat(r.Rows[r.index].Probabilities[i], 'g', -1, 64)
		}
		d = append(d, ColumnOf[collisionRow]{Column: Column{Title: head, Short: head},
			Cell: func(r *collisionRow) Cell { return figure(r.Rows[r.index].Probabilities[i], value(r)) },
			CSV:  fmt.Sprintf("elephants%d", n), Value: value})
		if c.Deals > 0 {
			d = append(d, ColumnOf[collisionRow]{Column: Column{Title: "dealt", Short: "dealt"},
				Cell: func(r *collisionRow) Cell { return dealtCell(r.Hits[r.index][i], r.Deals) },
				CSV:  fmt.Sprintf("hits%d", n), Value: func(r *collisionRow) string { return strconv.Itoa(r.Hits[r.index][i]) }})
		}
	}
	return d
}

// CollisionDocument returns the report of a collision table. Exact values have all their digits.
func CollisionDocument(c *advice.Collisions) *Document {
	rows := make([]collisionRow, len(c.Rows))
	for i := range rows {
		rows[i] = collisionRow{c, i}
	}
	columns := collisionColumns(c)
	t := &Table{Columns: columns.Columns(), Compact: true}
	for i := range rows {
		t.Rows = append(t.Rows, columns.Row(&rows[i]))
	}
	d := &Document{Data: c, Records: []*Records{columns.Records("collisions", rows)},
		Pictures: pictures(func() *Picture { return collisionPicture(c) })}
	d.add(Section{Parts: []Part{{Table: t}}})
	return d
}

// dealtCell is the share of the games in which the mouse's hand was occupied.
func dealtCell(hits, games int) Cell {
	n := float64(games)
	if hits == 0 {
		// With a probability of 3/n, n games without a hit still happen one time in twenty.
		return Word("< " + strconv.FormatFloat(3/n, 'g', 1, 64))
	}
	return figure(float64(hits)/n, strconv.FormatFloat(float64(hits)/n, 'g', 4, 64))
}
