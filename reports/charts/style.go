package charts

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"apfsim/reports/report"
)

// The palette is Paul Tol's "bright". Its colours can be told apart by colour-blind readers and in
// print.
var (
	blue   = color.NRGBA{0x44, 0x77, 0xaa, 0xff}
	cyan   = color.NRGBA{0x66, 0xcc, 0xee, 0xff}
	green  = color.NRGBA{0x22, 0x88, 0x33, 0xff}
	sand   = color.NRGBA{0xcc, 0xbb, 0x44, 0xff}
	rose   = color.NRGBA{0xee, 0x66, 0x77, 0xff}
	purple = color.NRGBA{0xaa, 0x33, 0x77, 0xff}

	ink      = color.NRGBA{0x22, 0x22, 0x22, 0xff}
	soft     = color.NRGBA{0x66, 0x66, 0x66, 0xff}
	axisGrey = color.NRGBA{0xaa, 0xaa, 0xaa, 0xff}
	gridGrey = color.NRGBA{0xe4, 0xe4, 0xe4, 0xff}
	warmGrey = color.NRGBA{0xf3, 0xf0, 0xe8, 0xff} // the background of the warm-up
	paleBlue = color.NRGBA{0xb9, 0xcc, 0xe0, 0xff}
	paleGrey = color.NRGBA{0xd5, 0xd5, 0xd5, 0xff}
	white    = color.NRGBA{0xff, 0xff, 0xff, 0xff}

	palette = []color.NRGBA{blue, rose, green, sand, purple, cyan}
	dashes  = [][]vg.Length{nil, {5, 2}, {1.5, 1.5}, {6, 2, 1.5, 2}}
)

func stroke(c color.Color, width vg.Length, dash []vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width, Dashes: dash}
}

// style is how a line or mark is drawn.
type style struct {
	line  draw.LineStyle // of no width: the line is not drawn
	fill  color.Color    // down to 0; nil for none
	below bool           // whether it is drawn below the line before it
	gaps  bool           // whether values may be missing

	vertical bool // whether the line is vertical
}

func styleOf(kind report.PlotKind, index int) style {
	switch kind {
	case report.KindSeatsInUse:
		return style{line: stroke(blue, 0.9, nil), fill: paleBlue}
	case report.KindCurrentLimit:
		return style{line: stroke(ink, 1, nil)}
	case report.KindNominalLimit:
		return style{line: stroke(soft, 0.8, []vg.Length{4, 3}), below: true}
	case report.KindArrived:
		return style{fill: paleGrey}
	case report.KindDispatched:
		return style{line: stroke(blue, 1.3, nil)}
	case report.KindRejected:
		return style{line: []draw.LineStyle{stroke(rose, 1.3, nil), stroke(purple, 1.3, nil), stroke(sand, 1.3, []vg.Length{5, 2})}[index]}
	case report.KindOldestWait:
		return style{fill: paleBlue}
	case report.KindWaitP99:
		return style{line: stroke(rose, 1.3, nil), gaps: true}
	case report.KindWaitMedian:
		return style{line: stroke(blue, 1.3, nil), gaps: true}
	case report.KindMeasured:
		return style{line: stroke(blue, 1.6, nil)}
	case report.KindReplayed:
		return style{line: stroke(rose, 1.2, []vg.Length{5, 3})}
	case report.KindPredicted:
		return style{line: stroke(green, 1, []vg.Length{1.5, 2})}
	case report.KindService:
		return style{fill: blue}
	case report.KindUnderservedService:
		return style{fill: rose}
	case report.KindFairShare:
		return style{line: stroke(ink, 1.6, nil), vertical: true}
	case report.KindEvent:
		return style{line: stroke(soft, 0.9, nil), vertical: true}
	case report.KindAdjustment:
		return style{line: stroke(soft, 0.7, []vg.Length{2, 2}), vertical: true}
	}
	return style{line: stroke(palette[index%len(palette)], 1.6, dashes[index/len(palette)%len(dashes)])}
}
