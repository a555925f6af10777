// Package report makes reports: one Document for each result, with the tables, plots and findings that show it.
// Package render writes a document in any of its formats, and package charts draws the pictures.
//
// A table is defined once: a [Definition] lists its columns and says how each of them gets its cell from a row's
// data. Text, HTML, Markdown and CSV print the same definition; a column that only some of these forms have says
// so (Only). A [Plot] has the data of a chart: the lines, the points, the axes and the captions; a line says by
// its kind what it shows, and those who draw it choose colours and strokes. A [Finding] states in a fixed template
// what is noteworthy.
//
// A file whose name begins with table, plot or finding has those of one kind of result.
package report

import (
	"apfsim/reports/judge"
)

// Document is the contents of a report. There is one function for each kind of result that makes one, such as
// [RunDocument].
type Document struct {
	Title       string
	Description []string // paragraphs
	Ran         string   // what was simulated: scenario, duration, runs

	Replay   *Verdict // whether a replay agrees with its log; nil if nothing was replayed
	Verdict  *Verdict // nil without thresholds or limits
	Findings []Finding
	Warnings []string
	Sections []Section
	Footer   string
}

// Verdict is at the top of a page: one sentence, and the table that it is based on.
type Verdict struct {
	Judgement judge.Judgement // Neutral if nothing was judged
	Text      string
	Table     *Table // may be nil
}

// Section is a part of a page with a heading. The top of the page links to it.
type Section struct {
	Name  string // in links: letters, digits and hyphens
	Title string
	Note  string // below the title, may be empty
	Parts []Part
}

// Part is a table or a plot, with an optional heading.
type Part struct {
	Heading string
	Table   *Table
	Plot    *Plot
}
