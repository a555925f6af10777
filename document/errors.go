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

// String returns file:line:column, without the parts that are unknown.
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

// Error is one error in an input: its position, its field, and a message. The message says what
// is wrong and, after a semicolon, what is expected: "9 is out of range; want 1 to 8". A message
// about a misspelt name ends with a suggestion.
type Error struct {
	Position
	Path    string // the field, for example spec.workload[0].clients; "" for the whole document
	Message string
}

// Error returns the error on one line.
func (e Error) Error() string {
	var parts []string
	if at := e.Position.String(); at != "" {
		parts = append(parts, at)
	}
	if e.Path != "" {
		parts = append(parts, e.Path)
	}
	return strings.Join(append(parts, e.Message), ": ")
}

// Errors are all errors in an input. A valid input has none.
type Errors []Error

// Error returns a line for each error, in the order of Sorted.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es.Sorted() {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns es as an error, or nil if es is empty.
func (es Errors) Err() error {
	if len(es) == 0 {
		return nil
	}
	return es
}

// Add appends an error.
func (es *Errors) Add(at Position, path, format string, args ...any) {
	*es = append(*es, Error{Position: at, Path: path, Message: fmt.Sprintf(format, args...)})
}

// Sorted returns the errors in the order of file, line and column. Errors with the same position
// keep their order.
func (es Errors) Sorted() Errors {
	sorted := slices.Clone(es)
	slices.SortStableFunc(sorted, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return sorted
}

// Suggest returns text that suggests the name closest to a misspelt name, for example
// ` (did you mean "clients"?)`, or "" if no name is similar. A name is similar if its edit distance
// from the misspelt one is at most max(1, length/3), where case does not matter.
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

// editDistance returns the smallest number of insertions, deletions, substitutions and swaps of
// adjacent characters that turn a into b (optimal string alignment distance), or limit if the
// number is at least limit.
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
