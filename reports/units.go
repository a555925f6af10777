package reports

import (
	"math"
	"strconv"
)

// duration writes nanoseconds with three significant digits: 850 ns, 3.2 ms, 12.3 s,
// 4 min 10 s.
func duration(ns float64) string {
	switch a := math.Abs(ns); {
	case ns == 0:
		return "0"
	case a < 999.5:
		return digits(ns) + " ns"
	case a < 999.5e3:
		return digits(ns/1e3) + " µs"
	case a < 999.5e6:
		return digits(ns/1e6) + " ms"
	case a < 119.5e9: // from there on three digits are those of 2 min
		return digits(ns/1e9) + " s"
	default:
		return inMinutes(ns)
	}
}

// inMinutes writes minutes and seconds, from 2 h on hours and minutes. The rounding comes before
// the division, so that there are never 60 of anything left.
func inMinutes(ns float64) string {
	sign := ""
	if ns < 0 {
		sign, ns = "-", -ns
	}
	minors, unit, majorUnit := int64(math.Round(ns/1e9)), " s", " min"
	if minors >= 2*3600 {
		minors, unit, majorUnit = int64(math.Round(ns/60e9)), " min", " h"
	}
	text := sign + strconv.FormatInt(minors/60, 10) + majorUnit
	if minor := minors % 60; minor > 0 {
		text += " " + strconv.FormatInt(minor, 10) + unit
	}
	return text
}

// quantityText writes a count: 950, 12.4 k, 1.2 M.
func quantityText(n int64) string {
	if n < 10_000 {
		return strconv.FormatInt(n, 10)
	}
	return number(float64(n))
}

// plural returns the word for so many of what.
func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}

// percent writes a share between 0 and 1, without rounding what is not quite all to all.
func percent(share float64) string {
	p := share * 100
	switch {
	case p == 0:
		return "0 %"
	case p < 0.01:
		return "<0.01 %"
	case p > 99.9 && p < 100:
		return ">99.9 %"
	}
	return digits(p) + " %"
}

// number writes a plain number with three significant digits or, below 10 k, all before the point.
func number(x float64) string {
	switch a := math.Abs(x); {
	case a < 9999.5:
		return digits(x)
	case a < 999.5e3:
		return digits(x/1e3) + " k"
	case a < 999.5e6:
		return digits(x/1e6) + " M"
	default:
		return digits(x/1e9) + " G"
	}
}

// digits writes three significant digits, without zeros at the end of a fraction and
// without an exponent for what people write without one.
func digits(x float64) string {
	if a := math.Abs(x); a >= 99.95 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	text := strconv.FormatFloat(x, 'g', 3, 64)
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		if math.Abs(f) < 1e-6 && f != 0 {
			return text
		}
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return text
}

// besideLimit writes a value with so many digits that it does not read as the limit unless it is it.
func besideLimit(value, limit float64, unit string, share bool) string {
	if text := valueText(value, unit, share); value == limit || text != valueText(limit, unit, share) {
		return text
	}
	scale, suffix := 1.0, ""
	if unit == "ns" || share {
		scale, suffix = scaleOf(max(math.Abs(value), math.Abs(limit)), unit, share)
	}
	for n := 4; n <= 17; n++ {
		if text := significant(value/scale, n); text != significant(limit/scale, n) {
			return text + suffix
		}
	}
	return strconv.FormatFloat(value, 'f', -1, 64) + " " + unit // the scaling made them equal
}

// significant writes so many significant digits and all before the point, without zeros at the
// end of a fraction and without an exponent.
func significant(x float64, n int) string {
	if math.Abs(x) >= math.Pow10(n-1) {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	text := strconv.FormatFloat(x, 'g', n, 64)
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return text
}
