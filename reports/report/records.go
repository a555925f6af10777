package report

import (
	"iter"
	"slices"
	"strconv"

	"apfsim/reports/format"
)

// Records are the rows of a table for programs: every number has all its digits, and units have columns.
type Records struct {
	Name string // of their file, without extension
	Head []string
	Rows iter.Seq[[]string] // made one after another; each is valid until the next
}

// Records returns the rows of a table for programs.
func (d Definition[R]) Records(name string, rows []R) *Records {
	return d.recordsOf(name, each(rows, func(_ int, r *R) *R { return r }))
}

func (d Definition[R]) recordsOf(name string, rows iter.Seq[*R]) *Records {
	return &Records{name, d.Head(), func(yield func([]string) bool) {
		for r := range rows {
			if !yield(d.Record(r)) {
				return
			}
		}
	}}
}

// joined returns the rows of several tables, one below the other. The columns are those of the first table and those that
// only others have. Fields for which a table has no column are empty.
func joined(name string, tables ...*Records) *Records {
	all := &Records{Name: name}
	for _, t := range tables {
		for _, column := range t.Head {
			if !slices.Contains(all.Head, column) {
				all.Head = append(all.Head, column)
			}
		}
	}
	all.Rows = func(yield func([]string) bool) {
		for _, t := range tables {
			row, places := make([]string, len(all.Head)), make([]int, len(t.Head))
			for i, column := range t.Head {
				places[i] = slices.Index(all.Head, column)
			}
			for record := range t.Rows {
				for i, field := range record {
					row[places[i]] = field
				}
				if !yield(row) {
					return
				}
			}
		}
	}
	return all
}

// each returns the row that a function makes of each element of a slice, one after another.
func each[T, R any](all []T, row func(int, *T) *R) iter.Seq[*R] {
	return func(yield func(*R) bool) {
		for i := range all {
			if !yield(row(i, &all[i])) {
				return
			}
		}
	}
}

// textField is a column that only CSV has.
func textField[R any](name string, value func(*R) string) ColumnOf[R] {
	return ColumnOf[R]{CSV: name, Value: value}
}

func countField[R any](name string, count func(*R) int64) ColumnOf[R] {
	return textField(name, func(r *R) string { return strconv.FormatInt(count(r), 10) })
}

func decimalField[R any](name string, value func(*R) float64) ColumnOf[R] {
	return textField(name, func(r *R) string { return format.Decimal(value(r)) })
}

// gaugeField is a column with a reading that is 0 where there is none.
func gaugeField[R any](name string, value func(*R) float64) ColumnOf[R] {
	return textField(name, func(r *R) string {
		if x := value(r); x != 0 {
			return format.Decimal(x)
		}
		return ""
	})
}

// secondsField is a column with a time, which is in nanoseconds in the data.
func secondsField[R any](name string, ns func(*R) int64) ColumnOf[R] {
	return decimalField(name, func(r *R) float64 { return float64(ns(r)) / 1e9 })
}
