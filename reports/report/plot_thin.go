package report

import (
	"fmt"
	"math"
	"slices"
)

// Thinned returns the plot with at most so many places, all of them common to its lines. Neighbouring
// values become two, the least and the greatest in the order in which they come, so that no peak is
// lost; neighbouring bounds become the lowest and the highest. The caption says so.
func (p *Plot) Thinned(maxPoints int) *Plot {
	p = p.sampled()
	if len(p.At) <= maxPoints {
		return p
	}
	inner := len(p.At) - 1 // the last place stays as it is: steps end there
	each := (2*inner + maxPoints - 2) / (maxPoints - 1)
	out := *p
	out.At, out.Lines = nil, slices.Clone(p.Lines)
	for i := range out.Lines {
		l := &out.Lines[i]
		l.Values = thinnedValues(l.Values, inner, each)
		l.Low = thinnedBounds(l.Low, inner, each, false)
		l.High = thinnedBounds(l.High, inner, each, true)
	}
	for from := 0; from < inner; from += each {
		to := min(from+each, inner)
		out.At = append(out.At, p.At[from], p.At[(from+to)/2])
	}
	out.At = append(out.At, p.At[inner])
	out.Caption += fmt.Sprintf(" Of every %d neighbouring values, the chart shows the least and the greatest.", each)
	return &out
}

// thinnedValues keeps the least and the greatest of every so many values.
func thinnedValues(values []float64, inner, each int) []float64 {
	var out []float64
	for from := 0; from < inner; from += each {
		first, second := plottedExtremes(values[from:min(from+each, inner)])
		if first > second { // as indices
			first, second = second, first
		}
		out = append(out, values[from+first], values[from+second])
	}
	return append(out, values[inner])
}

// thinnedBounds keeps the least, or the greatest, of every so many bounds, twice.
func thinnedBounds(values []float64, inner, each int, greatest bool) []float64 {
	if values == nil {
		return nil
	}
	var out []float64
	for from := 0; from < inner; from += each {
		i, highest := plottedExtremes(values[from:min(from+each, inner)])
		if greatest {
			i = highest
		}
		out = append(out, values[from+i], values[from+i])
	}
	return append(out, values[inner])
}

// plottedExtremes returns the indices of the least and of the greatest value that is not NaN.
func plottedExtremes(values []float64) (least, greatest int) {
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

// MergedIntervals returns a map of queues that has at most about so many lengths. Neighbouring
// intervals become one, with the greatest length of each queue. The caption says so.
func (p *Plot) MergedIntervals(lengths int) *Plot {
	intervals := len(p.Queues.Lengths)
	each := (intervals*p.Queues.Queues + lengths - 1) / max(1, lengths)
	if each <= 1 {
		return p
	}
	out, queues := *p, *p.Queues
	out.Queues, out.At, queues.Lengths = &queues, nil, nil
	for from := 0; from < intervals; from += each {
		var merged []int32
		for _, lengths := range p.Queues.Lengths[from:min(from+each, intervals)] {
			for len(merged) < len(lengths) {
				merged = append(merged, 0)
			}
			for q, n := range lengths {
				merged[q] = max(merged[q], n)
			}
		}
		out.At, queues.Lengths = append(out.At, p.At[from]), append(queues.Lengths, merged)
	}
	out.At = append(out.At, p.At[intervals])
	out.Caption += fmt.Sprintf(" Every %d neighbouring intervals are drawn as one, with the greatest length of each queue.", each)
	return &out
}

// sampled returns a plot whose lines have places of their own with its lines at common places, on a
// logarithmic axis equally far apart. A value below the least one of the y axis becomes NaN.
func (p *Plot) sampled() *Plot {
	if !slices.ContainsFunc(p.Lines, func(l Line) bool { return l.At != nil }) {
		return p
	}
	out := *p
	out.Steps, out.At, out.Lines = false, logarithmicPlaces(p.X.Min, p.X.Max), slices.Clone(p.Lines)
	for i := range out.Lines {
		l := &out.Lines[i]
		l.Values = valuesAt(l, out.At)
		for k, y := range l.Values {
			if y < p.Y.Min {
				l.Values[k] = math.NaN()
			}
		}
		l.At = nil
	}
	return &out
}

// logarithmicPlaces returns 60 places for each power of ten.
func logarithmicPlaces(from, to float64) (at []float64) {
	const perDecade = 60
	for e := math.Round(math.Log10(from) * perDecade); e <= math.Round(math.Log10(to)*perDecade); e++ {
		at = append(at, math.Pow(10, e/perDecade))
	}
	return at
}

// valuesAt returns the values of a line of steps at given places, in ascending order.
func valuesAt(l *Line, at []float64) []float64 {
	values := make([]float64, len(at))
	i := 0
	for k, x := range at {
		for i+1 < len(l.At) && l.At[i+1] <= x {
			i++
		}
		values[k] = l.Values[i]
	}
	return values
}

// VisibleSteps returns the places and values of a descending line of steps that has places of its own,
// without the steps that are too small to be seen on logarithmic axes: less than 0.5 % along x and
// 1 % along y. The first value below the least one of the y axis is raised to that one, and is the last.
func (p *Plot) VisibleSteps(l *Line) (at, values []float64) {
	for i, x := range l.At {
		y := max(l.Values[i], p.Y.Min)
		k := len(at)
		if small := k > 1 && l.Values[i] > 0 && x < at[k-1]*1.005 && y > values[k-1]*0.99; !small {
			at, values = append(at, x), append(values, y)
		}
		if i > 0 && l.Values[i] < p.Y.Min {
			break
		}
	}
	return at, values
}
