package render

import (
	"math"
	"slices"
	"strconv"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// A page opens at once only if it is not too large. These limit the places of a plot, and the lengths
// in all maps of queues together.
const (
	maxPlaces  = 1000
	maxLengths = 400_000
)

func plotsOf(sections []report.Section) []*report.Plot {
	plots := []*report.Plot{}
	for _, s := range sections {
		for _, part := range s.Parts {
			if part.Plot != nil {
				plots = append(plots, part.Plot)
			}
		}
	}
	return plots
}

// thinned returns the sections with plots that are not too large. The caption of a plot says what was
// left out of it.
func thinned(sections []report.Section) []report.Section {
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
				*p = (*p).MergedIntervals(maxLengths / maps)
			} else {
				*p = (*p).Thinned(maxPlaces)
			}
		}
	}
	return sections
}

// drawing is a plot as report.js reads it.
type drawing struct {
	Name       string         `json:"name"`
	Title      string         `json:"title"`
	X          drawnAxis      `json:"x"`
	Y          drawnAxis      `json:"y"`
	Linked     bool           `json:"linked"`
	Steps      bool           `json:"steps"`
	Shaded     float64        `json:"shaded"` // the background up to here
	At         figures        `json:"at"`
	Lines      []drawnLine    `json:"lines"`
	Queues     *drawnQueueMap `json:"queues"`
	Marks      []drawnMark    `json:"marks,omitempty"`
	Transposed bool           `json:"transposed,omitempty"`
}

type drawnAxis struct {
	Label string      `json:"label"`
	Unit  string      `json:"unit"`
	Log   bool        `json:"log"`
	Ticks []drawnTick `json:"ticks,omitempty"`

	// Of times of day: that at 0 and the unit, in milliseconds.
	Clock  float64 `json:"clock,omitempty"`
	UnitMs float64 `json:"unitMs,omitempty"`
}

// drawnTick is a marked value.
type drawnTick struct {
	At    float64 `json:"at"`
	Label string  `json:"label"`
}

type drawnLine struct {
	Name   string     `json:"name"`
	Style  drawnStyle `json:"style"`
	Values figures    `json:"values"`
	Low    figures    `json:"low"`
	High   figures    `json:"high"`
}

// drawnStyle is how a line looks. The style sheet has a light and a dark variant of each colour.
type drawnStyle struct {
	Colour int  `json:"colour"` // from 1 to lineColours; 0 is the colour of text
	Dashed bool `json:"dashed"`
	Filled bool `json:"filled"` // down to 0
}

type drawnQueueMap struct {
	Queues  int       `json:"queues"`
	Lengths [][]int32 `json:"lengths"`
	DealtTo []string  `json:"dealtTo"`
}

type drawnMark struct {
	At     float64 `json:"at"`
	Text   string  `json:"text"`
	Dashed bool    `json:"dashed"`
}

// drawingOf returns a plot as report.js reads it. The plot's lines have common places.
func drawingOf(p *report.Plot) drawing {
	axis := func(a report.Axis) drawnAxis {
		drawn := drawnAxis{Label: a.Label, Unit: a.Unit, Log: a.Log}
		if a.Clock != 0 {
			drawn.Clock, drawn.UnitMs = float64(a.Clock)/1e6, a.UnitNs/1e6
		}
		for _, t := range a.Ticks {
			drawn.Ticks = append(drawn.Ticks, drawnTick{t.At, t.Label})
		}
		return drawn
	}
	d := drawing{Name: p.Name, Title: p.Title, X: axis(p.X), Y: axis(p.Y), Linked: p.Linked, Steps: p.Steps, Shaded: p.Warmup, At: p.At, Transposed: p.Transposed}
	for i := range p.Lines {
		l := &p.Lines[i]
		d.Lines = append(d.Lines, drawnLine{l.Name, styleOf(l), l.Values, l.Low, l.High})
	}
	if m := p.Queues; m != nil {
		d.Queues = &drawnQueueMap{m.Queues, m.Lengths, m.DealtTo}
	}
	for _, m := range p.Marks {
		d.Marks = append(d.Marks, drawnMark{m.At, m.Text, m.Kind == report.KindAdjustment})
	}
	return d
}

// lineColours is how many colours lines have beside that of text.
const lineColours = 6

func styleOf(l *report.Line) drawnStyle {
	category := 1 + l.Index%lineColours
	switch l.Kind {
	case report.KindCategory:
		return drawnStyle{Colour: category, Dashed: l.Index/lineColours%2 == 1}
	case report.KindPercentile:
		return drawnStyle{Colour: category}
	case report.KindBasePercentile:
		return drawnStyle{Colour: category, Dashed: true}
	case report.KindSeatsInUse:
		return drawnStyle{Colour: 1, Filled: true}
	case report.KindNominalLimit:
		return drawnStyle{Dashed: true}
	case report.KindArrived, report.KindOldestWait:
		return drawnStyle{Filled: true}
	case report.KindDispatched, report.KindWaitMedian:
		return drawnStyle{Colour: 1}
	case report.KindRejected:
		return drawnStyle{Colour: 2 + l.Index}
	case report.KindWaiting:
		return drawnStyle{Colour: 4, Filled: true}
	case report.KindJainIndex:
		return drawnStyle{Colour: 3}
	case report.KindWaitP99:
		return drawnStyle{Colour: 2}
	case report.KindMeasured:
		return drawnStyle{Colour: 1}
	case report.KindReplayed:
		return drawnStyle{Colour: 2, Dashed: true}
	case report.KindPredicted:
		return drawnStyle{Colour: 3, Dashed: true}
	}
	return drawnStyle{}
}

// figures are numbers whose JSON has as many digits as a screen can show. NaN is null.
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
			b = strconv.AppendFloat(b, format.RoundTo(x, 6), 'g', -1, 64)
		}
	}
	return append(b, ']'), nil
}
