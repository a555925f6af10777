// Package page writes reports as HTML pages that need no other file and no network.
package page

import (
	"apfsim/reports/findings"
	"apfsim/reports/judge"
	"apfsim/reports/plots"
	"apfsim/reports/tables"
)

// Page is what a report shows. WriteReport makes one HTML file of it, whatever it is
// about: a run, several replications, a comparison.
type Page struct {
	Title       string
	Description []string // paragraphs
	Ran         string   // in a few words what was simulated

	Verdict  *Verdict // nil when there is nothing to be said first
	Findings []findings.Finding
	Warnings []string
	Sections []Section
	Footer   string
}

// Verdict is what comes first: a judgement in one sentence, and what it rests on.
type Verdict struct {
	Judgement judge.Judgement // Neutral when nothing was to be judged
	Text      string
	Table     *tables.Table // may be nil
}

// Section is a headed part of a page, with a link at its top.
type Section struct {
	Name  string // in links: letters, digits and hyphens
	Title string
	Note  string // below the title; may be empty
	Parts []Part
}

// Part is a heading, a table or a plot, or the first of them followed by one of the others.
type Part struct {
	Heading string
	Table   *tables.Table
	Plot    *plots.Plot
}
