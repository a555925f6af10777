package reports

// Page is what a report shows. WriteReport makes one HTML file of it, whatever it is
// about: a run, several replications, a comparison.
type Page struct {
	Title       string
	Description []string // paragraphs
	Ran         string   // in a few words what was simulated

	Verdict  *PageVerdict // nil when there is nothing to be said first
	Findings []Finding
	Warnings []string
	Sections []Section
	Footer   string
}

// PageVerdict is what comes first: a judgement in one sentence, and what it rests on.
type PageVerdict struct {
	Mood  Mood // Neutral when nothing was to be judged
	Text  string
	Table *Table // may be nil
}

// Finding says in plain language how somebody fared.
type Finding struct {
	Group   string // heading of the findings that follow one another with the same Group
	Mood    Mood
	Subject string // a workload's, a priority level's, a flow's name
	Text    string // of which the subject is the beginning
}

// Mood marks what a finding or a cell says: Good, Bad, or neither.
type Mood string

// The moods.
const (
	Neutral Mood = ""
	Good    Mood = "good"
	Bad     Mood = "bad"
)

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
	Table   *Table
	Plot    *Plot
}

// Table is a table whose rows the reader can sort, and filter if there are many.
type Table struct {
	Name    string // in links: letters, digits and hyphens
	Caption string
	Columns []Column
	Rows    [][]Cell // each begins with the cell that names it
	First   int      // so many rows are shown until the reader asks for the others; 0: all
	Last    int      // so many rows at the end stay there: totals
	Missing string   // what is left out, in a sentence; may be empty
}

// Column is the head of a column.
type Column struct {
	Title string
	Term  string // key of its explanation in the glossary; may be empty
	Left  bool   // flush left, as words are
}

// Cell is what stands in a row below a column.
type Cell struct {
	Text   string
	Margin string  // behind the text: how far off it may be, as "± 3 ms"; may be empty
	Value  float64 // what the row sorts by, if Number is set
	Number bool
	Code   bool // text of a file or a command
	Mood   Mood
	Bar    *Bar // drawn below the text; may be nil
}

// Bar is a quantity beside another that it is measured by, both as shares of the greatest in
// their column.
type Bar struct {
	Value, Mark float64
}

// Plot is a chart that the reader explores: zooms into, and reads values from. Its JSON is
// what the page's script reads.
type Plot struct {
	Name    string    `json:"name"` // in links: letters, digits and hyphens
	Title   string    `json:"title"`
	Caption string    `json:"-"`
	X       Axis      `json:"x"`
	Y       Axis      `json:"y"`
	Linked  bool      `json:"linked"` // its x axis moves with those of the other linked plots
	Steps   bool      `json:"steps"`  // a value holds from its place up to the next one; the last place ends it
	Shaded  float64   `json:"shaded"` // up to here the background is shaded: the warm-up; 0 for nowhere
	At      figures   `json:"at"`
	Lines   []Line    `json:"lines"`
	Queues  *QueueMap `json:"queues"` // in place of lines
	Marks   []AtMark  `json:"marks,omitempty"`

	// Transposed says that the places are along y and the values of lines, with their bounds, along
	// x, as in a distribution that is known by its percentiles.
	Transposed bool `json:"transposed,omitempty"`
}

// AtMark is an upright line across a plot, whose text is read where it is.
type AtMark struct {
	At     float64 `json:"at"`
	Text   string  `json:"text"`
	Dashed bool    `json:"dashed"`
}

// Axis says what is measured along an axis.
type Axis struct {
	Label string `json:"label"`
	Unit  string `json:"unit"` // "ns" is written as a duration, "share" as a percentage, others behind the number
	Log   bool   `json:"log"`  // values at or below 0 do not appear
}

// Line is one of the lines of a plot. Low and High bound its values: an interval of
// confidence, or the least and the greatest of several runs; nil for none.
type Line struct {
	Name   string    `json:"name"`
	Style  LineStyle `json:"style"`
	Values figures   `json:"values"` // at each place; NaN where there is none
	Low    figures   `json:"low"`
	High   figures   `json:"high"`
}

// LineStyle is how a line looks. The colours are those of the page's style sheet, which has
// a light and a dark one for each.
type LineStyle struct {
	Colour int  `json:"colour"` // from 1 to lineColours; 0 is that of text
	Dashed bool `json:"dashed"` // for limits, and when colours begin anew
	Filled bool `json:"filled"` // down to 0
}

// lineColours is how many colours lines have.
const lineColours = 6

// lineStyleOf tells lines apart by their number.
func lineStyleOf(i int) LineStyle {
	return LineStyle{Colour: 1 + i%lineColours, Dashed: i/lineColours%2 == 1}
}

// QueueMap shows the lengths of queues over time, as colours.
type QueueMap struct {
	Queues  int       `json:"queues"`
	Lengths [][]int32 `json:"lengths"` // of the queues in each interval; nil where all are empty
	DealtTo []string  `json:"dealtTo"` // for each queue, whose hands it is in
}
