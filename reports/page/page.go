// Package page writes reports as HTML pages that need no other file and no network.
package page

import (
	"apfsim/reports/findings"
	"apfsim/reports/judge"
	"apfsim/reports/plots"
	"apfsim/reports/tables"
)

// Page is the contents of a report. Run, Replications and Comparison return the pages of the three
// kinds of results, and Write writes one as an HTML file.
type Page struct {
	Title       string
	Description []string // paragraphs
	Ran         string   // what was simulated: scenario, duration, runs

	Replay   *Verdict // whether a replay agrees with its log; nil if nothing was replayed
	Verdict  *Verdict // nil without thresholds or limits
	Findings []findings.Finding
	Warnings []string
	Sections []Section
	Footer   string
}

// Verdict is at the top of a page: one sentence, and the table that it is based on.
type Verdict struct {
	Judgement judge.Judgement // Neutral if nothing was judged
	Text      string
	Table     *tables.Table // may be nil
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
	Table   *tables.Table
	Plot    *plots.Plot
}
