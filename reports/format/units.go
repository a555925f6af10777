// Package format writes durations, counts, shares and tables as people read them. It knows
// nothing of what they mean.
package format

import (
	"math"
	"strconv"
	"strings"
)

// ValueText writes a statistic's value.
func ValueText(x float64, unit string, share bool) string {
	switch {
	case unit == "ns":
		return Duration(x)
	case share:
		return Percent(x)
	}
	return Number(x)
}

func Signed(figure string) string {
	if strings.HasPrefix(figure, "-") {
		return "−" + figure[1:]
	}
	return "+" + figure
}

// Seconds writes a duration to the nanosecond.
func Seconds(ns int64) string { return trimmed(strconv.FormatFloat(float64(ns)/1e9, 'f', 9, 64)) }

// Decimal writes a number to the last digit that matters here.
func Decimal(x float64) string {
	return trimmed(strconv.FormatFloat(x, 'f', 6, 64))
}

// trimmed leaves out the zeros at the end of a fraction.
func trimmed(text string) string {
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	if text[len(text)-1] == '.' {
		text = text[:len(text)-1]
	}
	return text
}

// RoundTo rounds to so many significant digits.
func RoundTo(x float64, digits int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}

// AllDigits writes all digits of a number, nothing if there is none.
func AllDigits(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'g', -1, 64)
}

// ScaleOf returns what numbers of so much are counted in, and how that is written.
func ScaleOf(most float64, unit string, share bool) (scale float64, suffix string) {
	switch {
	case share:
		return 0.01, " %"
	case unit == "ns" && most < 1e3:
		return 1, " ns"
	case unit == "ns" && most < 1e6:
		return 1e3, " µs"
	case unit == "ns" && most < 1e9:
		return 1e6, " ms"
	case unit == "ns":
		return 1e9, " s"
	case most < 10_000:
		return 1, ""
	case most < 1e6:
		return 1e3, " k"
	default:
		return 1e6, " M"
	}
}

// Rounded writes a margin with two digits, and the value as far as the margin goes, but
// not beyond the sixth decimal.
func Rounded(value, margin float64) (string, string) {
	switch {
	case margin == 0:
		return Digits(value), "0"
	case margin < 5e-7: // six decimals of it would be zeros
		return Digits(value), strconv.FormatFloat(margin, 'g', 2, 64)
	}
	decimals := min(max(1-int(math.Floor(math.Log10(margin))), 0), 6)
	return strconv.FormatFloat(value, 'f', decimals, 64), strconv.FormatFloat(margin, 'f', decimals, 64)
}

// Moment writes a time of the run: "30.2 s".
func Moment(ns int64) string {
	if ns == 0 {
		return "0 s"
	}
	return Duration(float64(ns))
}

// Listed lists the first names and counts the others. What a name has in common with the
// one that was read before is left out, up to a separator.
func Listed(names []string, most int, before string) string {
	var list []string
	for _, name := range names {
		if name == before {
			list = append(list, name)
		} else {
			list = append(list, name[commonLength(name, before):])
		}
	}
	if len(list) > most+1 {
		list = append(list[:most:most], Counted(len(list)-most, "other"))
	}
	switch n := len(list); n {
	case 0:
		return ""
	case 1:
		return list[0]
	default:
		return strings.Join(list[:n-1], ", ") + " and " + list[n-1]
	}
}

// commonLength returns how long the beginning is that two names have in common, up to and
// with a separator.
func commonLength(a, b string) int {
	length := 0
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			break
		}
		if strings.IndexByte("/:", a[i]) >= 0 {
			length = i + 1
		}
	}
	return length
}

func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Number(float64(n)) + " " + what + "s"
}

// Duration writes nanoseconds with three significant digits: 850 ns, 3.2 ms, 12.3 s,
// 4 min 10 s.
func Duration(ns float64) string {
	switch a := math.Abs(ns); {
	case ns == 0:
		return "0"
	case a < 999.5:
		return Digits(ns) + " ns"
	case a < 999.5e3:
		return Digits(ns/1e3) + " µs"
	case a < 999.5e6:
		return Digits(ns/1e6) + " ms"
	case a < 119.5e9: // from there on three digits are those of 2 min
		return Digits(ns/1e9) + " s"
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

// Quantity writes a count: 950, 12.4 k, 1.2 M.
func Quantity(n int64) string {
	if n < 10_000 {
		return strconv.FormatInt(n, 10)
	}
	return Number(float64(n))
}

// Plural returns the word for so many of what.
func Plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}

// Percent writes a share between 0 and 1, without rounding what is not quite all to all.
func Percent(share float64) string {
	p := share * 100
	switch {
	case p == 0:
		return "0 %"
	case p < 0.01:
		return "<0.01 %"
	case p > 99.9 && p < 100:
		return ">99.9 %"
	}
	return Digits(p) + " %"
}

// Number writes a plain number with three significant digits or, below 10 k, all before the point.
func Number(x float64) string {
	switch a := math.Abs(x); {
	case a < 9999.5:
		return Digits(x)
	case a < 999.5e3:
		return Digits(x/1e3) + " k"
	case a < 999.5e6:
		return Digits(x/1e6) + " M"
	default:
		return Digits(x/1e9) + " G"
	}
}

// Digits writes three significant digits, without zeros at the end of a fraction and
// without an exponent for what people write without one.
func Digits(x float64) string {
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

// BesideLimit writes a value with so many digits that it does not read as the limit unless it is it.
func BesideLimit(value, limit float64, unit string, share bool) string {
	if text := ValueText(value, unit, share); value == limit || text != ValueText(limit, unit, share) {
		return text
	}
	scale, suffix := 1.0, ""
	if unit == "ns" || share {
		scale, suffix = ScaleOf(max(math.Abs(value), math.Abs(limit)), unit, share)
	}
	for n := 4; n <= 17; n++ {
		if text := Significant(value/scale, n); text != Significant(limit/scale, n) {
			return text + suffix
		}
	}
	return strconv.FormatFloat(value, 'f', -1, 64) + " " + unit // the scaling made them equal
}

// Significant writes so many significant digits and all before the point, without zeros at the
// end of a fraction and without an exponent.
func Significant(x float64, n int) string {
	if math.Abs(x) >= math.Pow10(n-1) {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	text := strconv.FormatFloat(x, 'g', n, 64)
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return text
}
