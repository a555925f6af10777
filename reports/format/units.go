// Package format writes numbers, durations, counts and shares as text, shortens and wraps text, and
// writes JSON. Duration, Number, Percent and Quantity have three significant digits; AllDigits,
// Decimal and Seconds are for files that programs read. It knows nothing about what the values mean.
package format

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// ValueText writes a value in a unit: nanoseconds ("ns") as a duration, a share as a percentage, and
// everything else as a number without its unit.
func ValueText(x float64, unit string, share bool) string {
	switch {
	case unit == "ns":
		return Duration(x)
	case share:
		return Percent(x)
	}
	return Number(x)
}

// Signed puts a sign before a number's text, with U+2212 as minus.
func Signed(figure string) string {
	if strings.HasPrefix(figure, "-") {
		return "−" + figure[1:]
	}
	return "+" + figure
}

// Seconds writes nanoseconds as seconds, with all digits.
func Seconds(ns int64) string { return trimmed(strconv.FormatFloat(float64(ns)/1e9, 'f', 9, 64)) }

// Decimal writes a number with up to six decimals.
func Decimal(x float64) string {
	return trimmed(strconv.FormatFloat(x, 'f', 6, 64))
}

// trimmed removes the zeros at the end of a fraction.
func trimmed(text string) string {
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	if text[len(text)-1] == '.' {
		text = text[:len(text)-1]
	}
	return text
}

// RoundTo rounds to a number of significant digits.
func RoundTo(x float64, digits int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}

// AllDigits writes a number so that reading it gives the same number; nil gives "".
func AllDigits(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'g', -1, 64)
}

// ScaleOf returns the unit in which values up to the largest are written: its size, and the suffix that is
// written behind a value divided by that size.
func ScaleOf(largest float64, unit string, share bool) (scale float64, suffix string) {
	switch {
	case share:
		return 0.01, " %"
	case unit == "ns" && largest < 1e3:
		return 1, " ns"
	case unit == "ns" && largest < 1e6:
		return 1e3, " µs"
	case unit == "ns" && largest < 1e9:
		return 1e6, " ms"
	case unit == "ns":
		return 1e9, " s"
	case largest < 10_000:
		return 1, ""
	case largest < 1e6:
		return 1e3, " k"
	default:
		return 1e6, " M"
	}
}

// Rounded writes a margin with two significant digits and the value with as many decimals, at most
// six.
func Rounded(value, margin float64) (string, string) {
	switch {
	case margin == 0:
		return Digits(value), "0"
	case margin < 5e-7: // its first six decimals are zeros
		return Digits(value), strconv.FormatFloat(margin, 'g', 2, 64)
	}
	decimals := min(max(1-int(math.Floor(math.Log10(margin))), 0), 6)
	return strconv.FormatFloat(value, 'f', decimals, 64), strconv.FormatFloat(margin, 'f', decimals, 64)
}

// Clock is the time of day at time 0 of a run that replays a log, in nanoseconds since 1970; 0 for other runs.
type Clock int64

// Moment writes a time of the run: as a time of day if there is one, such as 14:03:07Z, with the date if that is not the date of
// the beginning, else as [Moment] does.
func (c Clock) Moment(ns int64) string {
	if c == 0 {
		return Moment(ns)
	}
	start, at := time.Unix(0, int64(c)).UTC(), time.Unix(0, int64(c)+ns).UTC()
	if start.Format(time.DateOnly) != at.Format(time.DateOnly) {
		return at.Format("2006-01-02 15:04:05Z")
	}
	return at.Format("15:04:05Z")
}

// Moment writes a time of the run, as "30.2 s" or "0 s".
func Moment(ns int64) string {
	if ns == 0 {
		return "0 s"
	}
	return Duration(float64(ns))
}

// Listed lists the first names and counts the others. It leaves out the beginning that a name has
// in common with the name before, up to a separator, unless they are equal.
func Listed(names []string, maxNames int, before string) string {
	var list []string
	for _, name := range names {
		if name == before {
			list = append(list, name)
		} else {
			list = append(list, name[commonLength(name, before):])
		}
	}
	if len(list) > maxNames+1 {
		list = append(list[:maxNames:maxNames], Counted(len(list)-maxNames, "other"))
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

// commonLength returns the length of the beginning that two names have in common, up to and
// including a separator.
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

// Counted writes a count and what is counted: "1 run", "12 runs".
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
	case a < 119.5e9: // from here on, three digits are 2 min
		return Digits(ns/1e9) + " s"
	default:
		return inMinutes(ns)
	}
}

// inMinutes writes minutes and seconds, and from 2 h on hours and minutes. It rounds before it
// divides, so that the result never has 60 seconds or 60 minutes.
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

// Plural returns the singular or, unless n is 1, the plural of a regular noun.
func Plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}

// Percent writes a share as a percentage: 1 as "100 %", and a share just below it as ">99.9 %".
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

// Number writes a number with three significant digits and a prefix: k, M or G. Below 10 k it has all
// digits before the point.
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

// Digits writes three significant digits and all digits before the point, without zeros at the end of
// a fraction. Only numbers below a millionth have an exponent.
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

// BesideLimit writes a value with as many digits as it takes to differ from the limit's text, unless
// the value equals the limit.
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
	return strconv.FormatFloat(value, 'f', -1, 64) + " " + unit // divided by the scale they are equal
}

// Significant writes n significant digits and all digits before the point, without zeros at the
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

// PercentTick writes a share as a percentage on an axis, where 0 is "0 %" and nothing is below 0.01 %.
func PercentTick(share float64) string { return Digits(share*100) + " %" }

// Times writes how often something happened: "once", "3 times".
func Times(n int64) string {
	if n == 1 {
		return "once"
	}
	return Whole(n) + " times"
}

// Whole writes a count with all digits, in groups of three from 10 000 on: 9500, 84 520.
func Whole(n int64) string {
	text := strconv.FormatInt(n, 10)
	if n < 10_000 {
		return text
	}
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + " " + text[at:]
	}
	return text
}

// longestSlug bounds the length of slugs.
const longestSlug = 60

// Slug returns a text in small letters, digits and dashes, as the names of objects and files have it; "" of one with none of
// them.
func Slug(text string) string {
	var b strings.Builder
	dash := false
	for _, c := range strings.ToLower(text) {
		if '0' <= c && c <= '9' || 'a' <= c && c <= 'z' {
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(c)
			dash = false
		} else {
			dash = true
		}
		if b.Len() >= longestSlug {
			break
		}
	}
	return b.String()
}
