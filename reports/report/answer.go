package report

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// Answer is the verdict on a result as a whole, which every form of a document shows first.
type Answer struct {
	Status    string // in capitals
	Judgement Judgement
	Sentence  string
	Decided   string   // the sentence on the figure that the status follows from; "" if there is none
	Why       []string // the sentences of the first causes
}

// whyShown is how many causes stand below the sentence of a verdict.
const whyShown = 3

// AnswerOf returns the first lines of a document, nil without a verdict.
func AnswerOf(v *result.Overall) *Answer {
	if v == nil || v.Status == "" {
		return nil
	}
	how := map[result.Status]Judgement{result.Harm: judge.Bad, result.OK: judge.Good}[v.Status]
	a := &Answer{Status: strings.ToUpper(string(v.Status)), Judgement: how, Sentence: v.Sentence}
	if c := v.Decided; c != nil && (v.Status != result.OK || c.Near) && !strings.Contains(v.Sentence, strings.TrimSuffix(c.Sentence, ".")) {
		a.Decided = strings.TrimSuffix(c.Sentence, ".") + "."
		if strings.HasPrefix(a.Decided, "the ") { // else it begins with a number, or a name
			a.Decided = capitalized(a.Decided)
		}
	}
	for i := range v.Causes[:min(len(v.Causes), whyShown)] {
		if text := causeSentence(&v.Causes[i]); text != v.Sentence {
			a.Why = append(a.Why, text)
		}
	}
	return a
}

// VerdictSection returns who was harmed, why, and what may help. It has no parts if there is nothing to say.
func VerdictSection(v *result.Overall) Section {
	s := Section{Name: "verdict", Title: "Verdict"}
	if v == nil {
		return s
	}
	s.Parts = append(harmedParts(v, nil), tablePart(causeTable(v), "")...)
	s.Parts = append(s.Parts, remedyParts(v)...)
	return s
}

// harmedShown is how many rows of who was harmed, of who was limited, and of who waited have a place.
const harmedShown = 6

// The lists of who was harmed, of which a document has those with rows, and who waited if it has none of them. brief is how
// many rows the first screen of a terminal has.
var harmedLists = []struct {
	role        result.Role
	name, title string
	brief       int
}{{result.Victim, "harmed", "Who was harmed", 5}, {result.WasLimited, "limited", "Who was limited", 3}}

// waitedTable is the table of who waited, without rows.
func waitedTable(columns []Column) *Table {
	return &Table{Name: "harmed", Title: "Who waited", Caption: "Workloads: nobody was harmed", Columns: columns, Reserved: 40}
}

// waitedBrief is how many rows of who waited the first screen of a terminal has.
const waitedBrief = 4

// harmedColumns are the columns of who was harmed.
func harmedColumns(v *result.Overall) Definition[result.Harmed] {
	columns := Definition[result.Harmed]{
		{Column: Column{Title: "Who", Short: "who", Left: true}, Cell: func(h *result.Harmed) Cell {
			c := Word(h.Name)
			if h.Flow != h.Name {
				c.Whole = h.Flow
			}
			return c
		}},
		{Column: Column{Title: "Priority level", Short: "level", Left: true, Wide: true}, Cell: func(h *result.Harmed) Cell { return Word(h.Level) }},
		{Column: Column{Title: "Sent", Short: "sent", Term: "arrived", Wide: true}, Cell: func(h *result.Harmed) Cell { return countCell(h.Sent) }},
		{Column: Column{Title: "Not served", Short: "not served", Term: "notServed"}, Cell: func(h *result.Harmed) Cell { return notServedCell(h.NotServed.Total(), h.Sent) }},
		{Column: Column{Title: "Wait p99", Short: "wait p99", Term: "percentile"}, Cell: func(h *result.Harmed) Cell {
			if h.WaitP99Ns == nil {
				return noValue
			}
			if h.WaitP99HighNs != nil { // the bounds of a bucket
				return Cell{Text: format.Duration(float64(*h.WaitP99Ns)) + " to " + format.Duration(float64(*h.WaitP99HighNs)), Value: float64(*h.WaitP99Ns), Number: true}
			}
			return durationCell(*h.WaitP99Ns)
		}},
		{Column: Column{Title: "From", Short: "from", Wide: true}, Cell: func(h *result.Harmed) Cell { return momentCell(v, h, h.FromNs) }},
		{Column: Column{Title: "To", Short: "to", Wide: true}, Cell: func(h *result.Harmed) Cell { return momentCell(v, h, h.ToNs) }},
	}
	if slices.ContainsFunc(v.Harmed, func(h result.Harmed) bool { return h.OwnLimitNs > 0 }) {
		own := Column{Title: "Own limit p99", Short: "own limit p99", Term: "limiterWait"}
		columns = slices.Insert(columns, 5, Definition[result.Harmed]{{Column: own, Cell: func(h *result.Harmed) Cell { return durationCell(h.OwnLimitNs) }}}...)
	}
	return columns
}

// notServedCell is how many requests were not served, and their part of those that were sent.
func notServedCell(n, sent int64) Cell {
	c := countCell(n)
	if n > 0 && sent > 0 { // of how many, is not always known
		c.Text += " (" + format.ShareOf(n, sent) + ")"
	}
	return c
}

// momentCell is when harm begins or ends. What was not harmed has no such time.
func momentCell(v *result.Overall, h *result.Harmed, ns int64) Cell {
	if h.ToNs == 0 {
		return noValue
	}
	return figure(float64(ns), v.Moment(ns))
}

// harmedParts are the tables of who was harmed and of who was limited or, if nobody was, that of others.
func harmedParts(v *result.Overall, others []result.Harmed) (all []Part) {
	columns := harmedColumns(v)
	add := func(t *Table, brief int, rows []*result.Harmed) {
		for _, h := range rows[:min(len(rows), harmedShown)] {
			t.Rows = append(t.Rows, columns.Row(h))
		}
		if more := len(rows) - len(t.Rows); more > 0 {
			t.Missing = fmt.Sprintf("Not shown: %d more.", more)
		}
		if len(rows) > 0 {
			all = append(all, Part{Table: t, Brief: brief})
		}
	}
	for _, list := range harmedLists {
		var rows []*result.Harmed
		for i := range v.Harmed {
			if h := &v.Harmed[i]; (h.Role == result.WasLimited) == (list.role == result.WasLimited) {
				rows = append(rows, h)
			}
		}
		add(&Table{Name: list.name, Title: list.title, Caption: list.title, Columns: columns.Columns(), Reserved: 40}, list.brief, rows)
	}
	if len(all) == 0 {
		var rows []*result.Harmed
		for i := range others {
			rows = append(rows, &others[i])
		}
		add(waitedTable(columns.Columns()), waitedBrief, rows)
	}
	return all
}

// causesShown is how many changes have a place, and remediesBrief how many of them on the first screen of a terminal.
const (
	causesShown   = 5
	remediesBrief = 3
)

var causeColumns = Definition[result.Cause]{
	{Column: Column{Title: "Cause", Short: "cause", Left: true}, Cell: func(c *result.Cause) Cell { return Word(strings.ReplaceAll(string(c.Kind), "-", " ")) }},
	{Column: Column{Title: "What happened", Short: "what happened", Left: true}, Cell: func(c *result.Cause) Cell {
		return Word(causeSentence(c))
	}},
}

// causeSentence is the sentence of a cause, marked if it is concluded from a replay that is not trusted.
func causeSentence(c *result.Cause) string {
	if c.Untrusted {
		return "(not trusted) " + c.Sentence
	}
	return c.Sentence
}

// CauseSection has all causes, if there are more of them than stand below the verdict's sentence. Terminals and Markdown
// have only these.
func CauseSection(v *result.Overall) Section {
	s := Section{Name: "causes", Title: "Causes", Only: HTML}
	if v == nil || len(v.Causes) <= whyShown {
		return s
	}
	s.Parts = tablePart(causeTable(v), "")
	return s
}

func causeTable(v *result.Overall) *Table {
	t := &Table{Name: "causes", Caption: "Causes, the most important one first", Columns: causeColumns.Columns()}
	for i := range v.Causes {
		t.Rows = append(t.Rows, causeColumns.Row(&v.Causes[i]))
	}
	return t
}

var remedyColumns = Definition[result.Remedy]{
	{Column: Column{Title: "Change", Short: "change", Left: true}, Cell: func(r *result.Remedy) Cell { return Word(r.Sentence) }},
	{Column: Column{Title: "Tried", Short: "tried", Left: true}, Cell: triedCell},
}

func triedCell(r *result.Remedy) Cell {
	if r.Proved {
		return Cell{Text: "helps", Judgement: judge.Good}
	}
	if r.Tried {
		return Word("does not help enough")
	}
	if r.Remedy == result.NoChange {
		return noValue // it says what to find out, or that nothing helps
	}
	return Word("not tried")
}

const remedyTitle = "What may help"

// remedyParts are the changes that may help: a table, and sentences on a terminal, whose lines are too short for a table.
func remedyParts(v *result.Overall) []Part {
	t := &Table{Name: "try", Title: remedyTitle, Caption: "Changes that may help", Columns: remedyColumns.Columns()}
	var sentences []string
	for i := range v.Try[:min(len(v.Try), causesShown)] {
		r := &v.Try[i]
		t.Rows = append(t.Rows, remedyColumns.Row(r))
		tried := triedCell(r)
		if tried.Text != noValue.Text {
			sentences = append(sentences, r.Sentence+" ("+tried.Text+")")
		} else {
			sentences = append(sentences, r.Sentence)
		}
	}
	if len(v.Try) == 0 {
		switch {
		case slices.ContainsFunc(v.Trust, func(t result.Trust) bool { return t.ID == result.ReplayDiffers }):
			t.Missing = "No change is proposed, because the replay is not trusted."
		case v.Status == result.OK:
			t.Missing = "Nothing has to be changed."
		case v.Status == result.Unknown:
			t.Missing = "Nothing can be said before more is known."
		default:
			t.Missing = "No change is known that would help."
		}
		sentences = []string{t.Missing}
	}
	return []Part{{Table: t, Only: HTML | Markdown}, {Heading: remedyTitle, List: sentences, Only: Terminal, Brief: remediesBrief}}
}

// trustPart is the line on how far the figures can be trusted.
func trustPart(v *result.Overall) Part {
	text := "no reason was found to doubt the figures."
	if notes := v.Notes(); len(notes) > 0 {
		text = strings.TrimSuffix(strings.Join(notes, "; "), ".") + "."
	}
	return Part{Note: "Trust: " + text}
}
