// Package render writes reports in the formats that users read or feed to other programs, one format a
// file: text for terminals, HTML pages that need no other file and no network, Markdown, CSV, JSON and YAML. [Write]
// knows those that a command can print by their names. Package report decides what a document contains; a file here
// only lays it out. Package charts, which needs large libraries, draws SVG and PNG.
//
// Formats of other programs are here too: JUnit XML, the Go benchmark format that benchstat reads, and the series of a
// run as CSV.
package render

import (
	"io"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// formats are the formats in which a command can print a document.
var formats = map[string]func(io.Writer, *report.Document, format.TextOptions) error{
	"text": Text, "markdown": Markdown, "json": JSON, "yaml": YAML, "csv": CSV,
}

// Write writes a document in the format with a name.
func Write(w io.Writer, d *report.Document, name string, options format.TextOptions) error {
	write, ok := formats[name]
	if !ok {
		panic("render: there is no format " + name)
	}
	return write(w, d, options)
}
