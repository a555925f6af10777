package reports

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// figures are numbers whose JSON has more digits than a screen can show, but no more; NaN
// is null.
type figures []float64

// MarshalJSON implements json.Marshaler.
func (f figures) MarshalJSON() ([]byte, error) {
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
			b = strconv.AppendFloat(b, roundTo(x, 6), 'g', -1, 64)
		}
	}
	return append(b, ']'), nil
}

// roundTo rounds to so many significant digits.
func roundTo(x float64, digits int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}

// A page opens at once only if it is not too large: a line has at most so many points, and
// the maps of queues together have at most so many cells.
const (
	mostPoints = 1000
	mostCells  = 400_000
)

func plotsOf(sections []Section) []*Plot {
	plots := []*Plot{}
	for _, s := range sections {
		for _, part := range s.Parts {
			if part.Plot != nil {
				plots = append(plots, part.Plot)
			}
		}
	}
	return plots
}

// thinned returns the sections with plots that are not too large. The caption of one that
// was says what was done to it.
func thinned(sections []Section) []Section {
	maps := 0
	for _, p := range plotsOf(sections) {
		if p.Queues != nil {
			maps++
		}
	}
	sections = slices.Clone(sections)
	for i := range sections {
		sections[i].Parts = slices.Clone(sections[i].Parts)
		for k := range sections[i].Parts {
			if p := &sections[i].Parts[k].Plot; *p == nil {
				continue
			} else if (*p).Queues != nil {
				*p = (*p).withoutColumns(mostCells / maps)
			} else {
				*p = (*p).withoutPoints(mostPoints)
			}
		}
	}
	return sections
}

// withoutPoints returns the plot with at most so many points a line. Neighbours become two
// points, their least and their greatest value in the order in which these come, so that
// no peak is lost; of bounds, the lowest and the highest.
func (p *Plot) withoutPoints(most int) *Plot {
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
func pairs(values figures, inner, each int) figures {
	var out figures
	for from := 0; from < inner; from += each {
		least, greatest := rangeOf(values[from:min(from+each, inner)])
		if least > greatest { // as indices
			least, greatest = greatest, least
		}
		out = append(out, values[from+least], values[from+greatest])
	}
	return append(out, values[inner])
}

func extremes(values figures, inner, each int, of func(least, greatest float64) float64) figures {
	if values == nil {
		return nil
	}
	var out figures
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

// withoutColumns returns a map of queues with at most so many cells. Neighbouring intervals
// become one, with the greatest length of each queue.
func (p *Plot) withoutColumns(cells int) *Plot {
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
