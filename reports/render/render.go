// Package render writes reports in the formats that users read or feed to other programs, one format a
// file: text for terminals, HTML pages that need no other file and no network, Markdown, CSV, JSON and YAML. [Write]
// knows those that a command can print by their names. Package report decides what a document contains; a file here
// only lays it out. Package charts, which needs large libraries, draws SVG and PNG.
//
// Formats of other programs are here too: JUnit XML and the Go benchmark format that benchstat reads.
package render

import (
	"io"
	"slices"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// formats are the formats in which a command can print a document, in the order of help texts. Documents must be of the
// kinds of a format.
var formats = []struct {
	name  string
	write func(io.Writer, *report.Document, format.TextOptions) error
	kinds report.Kind
}{
	{"text", Text, 0},
	{"markdown", Markdown, report.Quoted},
	{"json", JSON, 0},
	{"yaml", YAML, report.Streamed},
	{"csv", CSV, report.OneTable},
}

// Names returns the names of the formats that documents of some kinds have. Those that a command wants to name first come
// first.
func Names(kinds report.Kind, first ...string) []string {
	for _, f := range formats {
		if kinds&f.kinds == f.kinds && !slices.Contains(first, f.name) {
			first = append(first, f.name)
		}
	}
	return first
}

// Write writes a document in the format with a name.
func Write(w io.Writer, d *report.Document, name string, options format.TextOptions) error {
	for _, f := range formats {
		if f.name == name {
			return f.write(w, d, options)
		}
	}
	panic("render: there is no format " + name)
}
