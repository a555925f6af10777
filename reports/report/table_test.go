package report

import (
	"slices"
	"testing"

	"apfsim/reports/advice"
	"apfsim/reports/compare"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// checkDefinition checks that each form of a table has a cell under each head, and that no column of a page
// lacks a head.
func checkDefinition[R any](t *testing.T, name string, d Definition[R], row *R) {
	t.Helper()
	table := &Table{Columns: d.Columns(), Rows: [][]Cell{d.Row(row)}}
	for _, form := range []Form{HTML, Terminal, Markdown} {
		in := table.In(form)
		if len(in.Columns) != len(in.Rows[0]) {
			t.Errorf("%s: %d heads, %d cells", name, len(in.Columns), len(in.Rows[0]))
		}
		for i, c := range in.Columns {
			if form == HTML && c.Title == "" {
				t.Errorf("%s: column %d of the page has no title", name, i)
			}
			if c.Only != 0 && c.Only&form == 0 {
				t.Errorf("%s: column %d is not of form %d", name, i, form)
			}
		}
	}
	if head, record := d.Head(), d.Record(row); len(head) != len(record) {
		t.Errorf("%s: %d names in CSV, %d fields", name, len(head), len(record))
	} else if unique := slices.Compact(slices.Sorted(slices.Values(head))); len(unique) != len(head) {
		t.Errorf("%s: CSV names a column twice: %q", name, head)
	}
	for i := range d {
		if (d[i].CSV == "") != (d[i].Value == nil) || d[i].CSV == "" && d[i].Cell == nil {
			t.Errorf("%s: column %d has a name in CSV and no value, a value and no name, or no cell", name, i)
		}
	}
}

func TestDefinitions(t *testing.T) {
	// What has no samples must not stop a table from being printed.
	checkDefinition(t, "workloads", groupColumns(Column{Title: "Workload", Short: "workload"}, 1, &result.Group{Counts: metric.Counts{Refused: 1, Lost: 1}}), &result.Group{})
	checkDefinition(t, "levels", levelColumns, &result.Level{})
	checkDefinition(t, "flows", flowColumns, &flow{&result.Flow{}, 0})
	checkDefinition(t, "estimates", estimateColumns, &compare.Estimate{Name: "rejected.rate", Values: compare.RunValues{}})
	checkDefinition(t, "changes", changeColumns, &compare.Change{Name: "rejected.rate"})
}

func TestColumnsByForm(t *testing.T) {
	table := &Table{Columns: []Column{{Title: "a"}, {Title: "b", Only: HTML}, {Short: "c", Only: Terminal | Markdown}},
		Rows: [][]Cell{{Word("1"), Word("2"), Word("3")}}}
	for form, want := range map[Form]string{HTML: "12", Terminal: "13", Markdown: "13"} {
		got := ""
		for _, c := range table.In(form).Rows[0] {
			got += c.Text
		}
		if got != want {
			t.Errorf("form %d has the cells %s, want %s", form, got, want)
		}
	}
}

func TestCellLine(t *testing.T) {
	for _, c := range []struct {
		cell Cell
		want string
	}{{Cell{Text: "12 ms"}, "12 ms"}, {Cell{Text: "12", Margin: "3 ms"}, "12 ±3 ms"}, {Cell{}, ""}} {
		if got := c.cell.Line(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestSeatsAddUp(t *testing.T) {
	table := seatTable(&advice.SeatDivision{Levels: []advice.LevelSeats{{Name: "a", Nominal: 3}, {Name: "b", Nominal: 4, Queues: 8}}})
	var got []string
	for _, row := range table.Rows {
		got = append(got, row[0].Text+" "+row[3].Text+" "+row[7].Text)
	}
	if want := []string{"a 3 –", "b 4 8", "all 7 "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Without a single hit, the share is below what would rarely give none.
func TestDealtShare(t *testing.T) {
	c := &advice.Collisions{Deals: 3000}
	for hits, want := range map[int]string{0: "< 0.001", 1: "0.0003333", 3000: "1"} {
		if got := dealtCell(hits, c.Deals).Text; got != want {
			t.Errorf("%d hits: %q, want %q", hits, got, want)
		}
	}
}
