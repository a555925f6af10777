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
	"fmt"
	"iter"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/judge"
)

// Document is the contents of a report, ready to be written in any format. There is one function for each kind of
// result that makes one, such as [RunDocument]. A format shows its sections in their order; what only some formats
// show says so (Only).
type Document struct {
	Title       string   // on a page
	Name        string   // of what was simulated, on a terminal
	Ran         string   // what was simulated: scenario, duration, runs
	Setting     string   // the same in short, at the top of a page; "" for Ran
	Description []string `text:"lines"` // paragraphs

	Sides []Side   // what is compared; nil for a result that compares nothing
	How   []string // how it is compared, in sentences; a terminal has them in the place of the description
	// Headline says in one line what a comparison found. It is the title in Markdown.
	Headline string

	Answer   *Answer   // the verdict on the result as a whole, before all else; nil without one
	Replay   *Verdict  // whether a replay agrees with its log; nil if nothing was replayed
	Verdict  *Verdict  // at the top of a page; nil without thresholds or limits
	Findings []Finding // at the top of a page
	Warnings []string
	Sections []Section

	Sources     string // a sentence on the files that have all numbers
	Fingerprint string // of the decisions of a run
	Next        string // the command to type next, on a terminal; "" for none

	Data    any        // what JSON and YAML have
	Records []*Records // tables for programs: what CSV has

	Pictures   iter.Seq[*Picture] // what fills files of their own, made one after another; nil for none
	NoPictures []string           // why there are not more of them

	Samples []Samples // of a comparison of two sides, for programs that compare them
}

// Side is one of the sides of a comparison.
type Side struct {
	Name  string `text:"cell"`
	Label string `text:"code"` // its file
	Ran   string `text:"cell"`
}

// Kind says what the documents of a command are, apart from text and data. It decides which formats they have.
type Kind uint8

// The kinds.
const (
	OneTable Kind = 1 << iota // they have a single table for programs
	Quoted                    // people put their tables into other texts
	Streamed                  // there may be several, one after another
)

// Samples are the values of a statistic in the runs of both sides, without those of runs that have none.
type Samples struct {
	Name, Unit string
	Sides      [2][]float64
}

// Judgement is what a finding, a cell of a table or a verdict is marked with.
type Judgement = judge.Judgement

// The judgements. Neutral is neither good nor bad, or not judged.
const (
	Neutral = judge.Neutral
	Good    = judge.Good
	Bad     = judge.Bad
)

// Verdict is at the top of a page: a sentence, its reasons, and the table that it is based on.
type Verdict struct {
	Judgement Judgement // Neutral if nothing was judged
	Sentences []string
	Table     *Table // may be nil
}

// Text returns the sentences in one line.
func (v *Verdict) Text() string { return strings.Join(v.Sentences, " ") }

// Section is a part of a report with a heading. A page folds it, unless it is the first screen.
type Section struct {
	Name  string // in links: letters, digits and hyphens
	Title string // on a page
	Note  string // below the title on a page, may be empty
	Parts []Part
	Only  Form // the forms that show the section; 0 for all

	// Screen says that the section is what a reader sees first: a page does not fold it, puts its tables side by side, and
	// shows its notes.
	Screen bool
}

// Part is one of a table, a plot, findings, a paragraph, a list, items and a note, with an optional heading. Only pages
// show plots.
type Part struct {
	// Heading is that of a table on a page, and of findings, a list and items on a terminal. A terminal and Markdown have the
	// titles of tables.
	Heading   string
	Table     *Table
	Plot      *Plot
	Findings  []Finding // on a terminal
	Paragraph string    `text:"lines"` // on a terminal, with the lines that it has
	Tight     bool      // there is no empty line above the paragraph or the table
	List      []string  // sentences, on a terminal
	Lead      string    // what a terminal has above the items
	Items     []Item    // on a terminal
	Wrapped   bool      // the items are sentences, which are wrapped; others, such as commands, are not
	Note      string    // a sentence about the part above it, on a terminal and in Markdown
	Markdown  string    `text:"markdown"` // a paragraph that is written as Markdown, such as in the library: nothing that a reader brings may be in it
	Only      Form      // the forms that show the part; 0 for all

	// Brief is how many of its rows or sentences the first screen of a terminal has, fewer if these have no room; 0: the
	// part is not on it.
	Brief int
}

// Item is a line with details below it.
type Item struct {
	Text    string
	Details []string
}

// In returns the document with only the sections, parts and columns of a form.
func (d *Document) In(form Form) *Document {
	in := *d
	in.Sections = nil
	for _, s := range d.Sections {
		if !s.Only.has(form) {
			continue
		}
		var parts []Part
		for _, p := range s.Parts {
			if p.Only.has(form) {
				if p.Table != nil {
					p.Table = p.Table.In(form)
				}
				parts = append(parts, p)
			}
		}
		s.Parts = parts
		in.Sections = append(in.Sections, s)
	}
	if d.Verdict != nil && d.Verdict.Table != nil {
		verdict := *d.Verdict
		verdict.Table = verdict.Table.In(form)
		in.Verdict = &verdict
	}
	return &in
}

// Brief returns the document as the first screen of a terminal has it: the answer, and the parts that have a place there,
// each with as many rows or sentences fewer as less says, but at least one.
func (d *Document) Brief(less int) *Document {
	b := *d
	b.Description, b.Fingerprint, b.Sections = nil, "", nil
	if b.Name == "" {
		b.Name = d.Title
	}
	if d.Answer != nil {
		answer := *d.Answer
		answer.Why = answer.Why[:min(len(answer.Why), max(whyShown-less, 1))]
		b.Answer = &answer
	}
	for _, s := range d.Sections {
		if !s.Only.has(Terminal | Brief) {
			continue
		}
		var parts []Part
		for _, p := range s.Parts {
			if p.Brief == 0 || !p.Only.has(Terminal|Brief) {
				continue
			}
			most := max(p.Brief-less, 1)
			if all := len(p.List); all > most {
				p.List, p.Heading = p.List[:most], firstOfAll(p.Heading, most, all)
			}
			if p.Table != nil {
				t := *p.Table.In(Terminal)
				if all := len(t.Rows); all > most {
					t.Rows, t.Title = t.Rows[:most], firstOfAll(t.Title, most, all)
				}
				t.Missing, p.Table = "", &t
			}
			parts = append(parts, p)
		}
		s.Parts = parts
		b.add(s)
	}
	return &b
}

// firstOfAll adds to a heading how much of a list is shown.
func firstOfAll(heading string, shown, all int) string {
	return fmt.Sprintf("%s (%d of %d; -v shows all)", heading, shown, all)
}

// Printed returns the document without what only files have: plots, pictures and tables for programs, which need most of
// the memory.
func (d *Document) Printed() *Document {
	printed := *d
	printed.Records, printed.Pictures, printed.Sections = nil, nil, nil
	for _, s := range d.Sections {
		s.Parts = slices.DeleteFunc(slices.Clone(s.Parts), func(p Part) bool { return p.Plot != nil })
		printed.add(s)
	}
	return &printed
}

// add adds a section, unless it has no parts.
func (d *Document) add(s Section) {
	if len(s.Parts) > 0 {
		d.Sections = append(d.Sections, s)
	}
}

// Hint says on a page what a folded section contains: how many rows its first table has, or how many charts there are.
func (s *Section) Hint() string {
	charts := 0
	for i := range s.Parts {
		switch p := &s.Parts[i]; {
		case p.Table != nil:
			return format.Whole(int64(len(p.Table.Rows) - p.Table.Last))
		case p.Plot != nil:
			charts++
		}
	}
	if charts == 0 {
		return ""
	}
	return format.Counted(charts, "chart")
}

// tablePart is the part with a table, if it has rows.
func tablePart(t *Table, heading string) []Part {
	if len(t.Rows) == 0 {
		return nil
	}
	return []Part{{Heading: heading, Table: t}}
}

// plotParts are the parts with plots; the first one has the heading.
func plotParts(plots []*Plot, heading string) []Part {
	parts := make([]Part, len(plots))
	for i, p := range plots {
		parts[i].Plot = p
	}
	if len(parts) > 0 {
		parts[0].Heading = heading
	}
	return parts
}

// titled returns the table with a title.
func (t Table) titled(title string) *Table {
	t.Title = title
	return &t
}
