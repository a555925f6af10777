// Package plots defines the data of the charts that reports show.
package plots

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"apfsim/reports/format"
)

// Figures are numbers whose JSON has more digits than a screen can show, but no more; NaN
// is null.
type Figures []float64

// MarshalJSON implements json.Marshaler.
func (f Figures) MarshalJSON() ([]byte, error) {
	if f == nil {
		return []byte("null"), nil
	}
	b := []byte{'['}
	for i, x := range f {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendFloat(b, format.RoundTo(x, 6), 'g', -1, 64)
		}
	}
	return append(b, ']'), nil
}

// A page opens at once only if it is not too large: a line has at most so many points, and
// the maps of queues together have at most so many cells.
const (
	MostPoints = 1000
	MostCells  = 400_000
)

// WithoutPoints returns the plot with at most so many points a line. Neighbours become two
// points, their least and their greatest value in the order in which these come, so that
// no peak is lost; of bounds, the lowest and the highest.
func (p *Plot) WithoutPoints(most int) *Plot {
	if len(p.At) <= most {
		return p
	}
	inner := len(p.At) - 1 // the last place stays as it is: steps end there
	each := (2*inner + most - 2) / (most - 1)
	out := *p
	out.At, out.Lines = nil, slices.Clone(p.Lines)
	for i := range out.Lines {
		l := &out.Lines[i]
		l.Values = pairs(l.Values, inner, each)
		l.Low = extremes(l.Low, inner, each, func(lo, _ float64) float64 { return lo })
		l.High = extremes(l.High, inner, each, func(_, hi float64) float64 { return hi })
	}
	for from := 0; from < inner; from += each {
		to := min(from+each, inner)
		out.At = append(out.At, p.At[from], p.At[(from+to)/2])
	}
	out.At = append(out.At, p.At[inner])
	out.Caption += fmt.Sprintf(" Of every %d neighbouring values only the least and the greatest are drawn.", each)
	return &out
}

// pairs puts the least and the greatest of every so many values in the place of them all.
func pairs(values Figures, inner, each int) Figures {
	var out Figures
	for from := 0; from < inner; from += each {
		least, greatest := rangeOf(values[from:min(from+each, inner)])
		if least > greatest { // as indices
			least, greatest = greatest, least
		}
		out = append(out, values[from+least], values[from+greatest])
	}
	return append(out, values[inner])
}

func extremes(values Figures, inner, each int, of func(least, greatest float64) float64) Figures {
	if values == nil {
		return nil
	}
	var out Figures
	for from := 0; from < inner; from += each {
		least, greatest := rangeOf(values[from:min(from+each, inner)])
		x := of(values[from+least], values[from+greatest])
		out = append(out, x, x)
	}
	return append(out, values[inner])
}

// rangeOf returns where the least and the greatest of the values are, NaN left out.
func rangeOf(values []float64) (least, greatest int) {
	for i, x := range values {
		if math.IsNaN(values[least]) || x < values[least] {
			least = i
		}
		if math.IsNaN(values[greatest]) || x > values[greatest] {
			greatest = i
		}
	}
	return least, greatest
}

// WithoutColumns returns a map of queues with at most so many cells. Neighbouring intervals
// become one, with the greatest length of each queue.
func (p *Plot) WithoutColumns(cells int) *Plot {
	columns := len(p.Queues.Lengths)
	each := (columns*p.Queues.Queues + cells - 1) / max(1, cells)
	if each <= 1 {
		return p
	}
	out, queues := *p, *p.Queues
	out.Queues, out.At, queues.Lengths = &queues, nil, nil
	for from := 0; from < columns; from += each {
		var merged []int32
		for _, lengths := range p.Queues.Lengths[from:min(from+each, columns)] {
			for len(merged) < len(lengths) {
				merged = append(merged, 0)
			}
			for q, n := range lengths {
				merged[q] = max(merged[q], n)
			}
		}
		out.At, queues.Lengths = append(out.At, p.At[from]), append(queues.Lengths, merged)
	}
	out.At = append(out.At, p.At[columns])
	out.Caption += fmt.Sprintf(" Every %d neighbouring intervals are drawn as one, with the longest that each queue was.", each)
	return &out
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
	At      Figures   `json:"at"`
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
	Values Figures   `json:"values"` // at each place; NaN where there is none
	Low    Figures   `json:"low"`
	High   Figures   `json:"high"`
}

// LineStyle is how a line looks. The colours are those of the page's style sheet, which has
// a light and a dark one for each.
type LineStyle struct {
	Colour int  `json:"colour"` // from 1 to lineColours; 0 is that of text
	Dashed bool `json:"dashed"` // for limits, and when colours begin anew
	Filled bool `json:"filled"` // down to 0
}

// LineColours is how many colours lines have.
const LineColours = 6

// lineStyleOf tells lines apart by their number.
func lineStyleOf(i int) LineStyle {
	return LineStyle{Colour: 1 + i%LineColours, Dashed: i/LineColours%2 == 1}
}

// QueueMap shows the lengths of queues over time, as colours.
type QueueMap struct {
	Queues  int       `json:"queues"`
	Lengths [][]int32 `json:"lengths"` // of the queues in each interval; nil where all are empty
	DealtTo []string  `json:"dealtTo"` // for each queue, whose hands it is in
}
