package document

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Position is a place in a file.
type Position struct {
	File         string
	Line, Column int // from 1; 0 when unknown
}

// String returns file:line:column, without what is not known.
func (p Position) String() string {
	s := p.File
	if p.Line > 0 {
		if s != "" {
			s += ":"
		}
		s += strconv.Itoa(p.Line)
		if p.Column > 0 {
			s += ":" + strconv.Itoa(p.Column)
		}
	}
	return s
}

// Error is one thing that is wrong with an input: where, in which field, and what was
// found against what was expected.
type Error struct {
	Position
	Path    string // the field, as spec.workload[0].clients; "" for the whole
	Message string
}

// Error returns the mistake on one line.
func (m Error) Error() string {
	var parts []string
	if at := m.Position.String(); at != "" {
		parts = append(parts, at)
	}
	if m.Path != "" {
		parts = append(parts, m.Path)
	}
	return strings.Join(append(parts, m.Message), ": ")
}

// Errors are all that is wrong with an input. The empty value means that nothing is.
type Errors []Error

// Error returns a line for each mistake, in the order of their places.
func (ms Errors) Error() string {
	lines := make([]string, len(ms))
	for i, m := range ms.Sorted() {
		lines[i] = m.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns the mistakes as an error, nil when there are none.
func (ms Errors) Err() error {
	if len(ms) == 0 {
		return nil
	}
	return ms
}

// Add appends a mistake.
func (ms *Errors) Add(at Position, path, format string, args ...any) {
	*ms = append(*ms, Error{Position: at, Path: path, Message: fmt.Sprintf(format, args...)})
}

// Sorted returns the mistakes in the order of file, line and column; those of one place
// stay in the order in which they were found.
func (ms Errors) Sorted() Errors {
	sorted := slices.Clone(ms)
	slices.SortStableFunc(sorted, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return sorted
}

// Suggest returns the sentence that proposes the one of names nearest to a misspelt
// name, as " (did you mean \"clients\"?)", or "" when none is near.
func Suggest(misspelt string, names []string) string {
	best, distance := "", 1+max(1, len(misspelt)/3)
	for _, name := range names {
		d := editDistance(strings.ToLower(misspelt), strings.ToLower(name), distance)
		if d < distance {
			best, distance = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// editDistance counts the insertions, deletions, substitutions and swaps of neighbours
// that turn a into b (optimal string alignment), or returns limit if there are as many.
func editDistance(a, b string, limit int) int {
	if max(len(a), len(b))-min(len(a), len(b)) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit)
}
