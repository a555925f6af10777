package format

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	for ns, want := range map[float64]string{
		0: "0", 1: "1 ns", 999: "999 ns", 1000: "1 µs", 3_200_000: "3.2 ms", 12_345_678: "12.3 ms", 999_499_999: "999 ms",
		999_999_999: "1 s", 59.96e9: "60 s", 119e9: "119 s", 119.4e9: "119 s", 119.6e9: "2 min", 179.4e9: "2 min 59 s", 179.5e9: "3 min",
		250e9: "4 min 10 s", 3599.9e9: "60 min", 7199.4e9: "119 min 59 s", 7199.6e9: "2 h", 7259e9: "2 h 1 min", 10799e9: "3 h",
		3 * 3600e9: "3 h", 3*3600e9 + 60e9: "3 h 1 min", -7259e9: "-2 h 1 min",
	} {
		if got := Duration(ns); got != want {
			t.Errorf("duration(%v) = %q, want %q", ns, got, want)
		}
	}
	for x, want := range map[float64]string{19_450.039: "19.5 k", -19_450.039: "-19.5 k", 9999.4: "9999", 9999.6: "10 k", 999_499.6: "999 k", 999_500: "1 M", 1_234.5678e9: "1235 G"} {
		if got := Number(x); got != want {
			t.Errorf("number(%v) = %q, want %q", x, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 9999: "9999", 12_400: "12.4 k", 999_600: "1 M", 1_240_000: "1.24 M"} {
		if got := Quantity(n); got != want {
			t.Errorf("quantityText(%d) = %q, want %q", n, got, want)
		}
	}
	for share, want := range map[float64]string{0: "0 %", 1: "100 %", 0.00001: "<0.01 %", 0.99999: ">99.9 %", 0.4567: "45.7 %", 0.001: "0.1 %", 1.234: "123 %"} {
		if got := Percent(share); got != want {
			t.Errorf("percent(%v) = %q, want %q", share, got, want)
		}
	}
}

// Whatever is written differs from the number by no more than half of its last digit.
func TestUnitsRoundOnce(t *testing.T) {
	scales := map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9,
		"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}
	check := func(text string, x float64) {
		t.Helper()
		fields := strings.Fields(text)
		if len(fields)%2 == 1 { // no unit
			fields = append(fields, "")
		}
		sum, last := 0.0, 0.0
		for i := 0; i < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil || i > 0 && v >= 60 {
				t.Errorf("%v reads %q: %v", x, text, err)
				return
			}
			scale := scales[fields[i+1]]
			sum += v * scale
			switch {
			case i > 0:
			case fields[1] == "min" || fields[1] == "h": // rounded to what the next field counts, though none may be left
				last = scale / 60
			default:
				last = scale * min(1, math.Pow(10, math.Floor(math.Log10(max(v, 1e-9)))-2))
			}
		}
		if math.Abs(sum-x) > last/2*(1+1e-9) {
			t.Errorf("%v reads %q, which is off by %v", x, text, sum-x)
		}
	}
	for e := 0.0; e < 17; e += 0.0007 {
		check(Duration(math.Pow(10, e)), math.Pow(10, e))
		check(Number(math.Pow(10, e-4)), math.Pow(10, e-4))
	}
	for _, edge := range []float64{1e3, 1e6, 1e9, 10e9, 60e9, 100e9, 119.5e9, 120e9, 180e9, 3600e9, 7140e9, 7200e9, 7260e9, 10800e9, 86400e9} {
		for off := -1.0; off <= 1; off += 0.001 {
			check(Duration(edge*(1+off/1e4)), edge*(1+off/1e4))
			check(Duration(edge*(1+off/1e2)), edge*(1+off/1e2))
		}
	}
	for _, edge := range []float64{100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e9, 1e10} {
		for off := -1.0; off <= 1; off += 0.001 {
			check(Number(edge*(1+off/1e2)), edge*(1+off/1e2))
		}
	}
}

// Times of a run that replays a log are times of day, with the date on another day than the first.
func TestClock(t *testing.T) {
	c := Clock(time.Date(2026, 11, 22, 23, 59, 30, 0, time.UTC).UnixNano())
	for ns, want := range map[int64]string{0: "23:59:30Z", 29_900_000_000: "23:59:59Z", 30_000_000_000: "2026-11-23 00:00:00Z"} {
		if got := c.Moment(ns); got != want {
			t.Errorf("%d ns is at %s, want %s", ns, got, want)
		}
	}
	if got := Clock(0).Moment(1_500_000_000); got != "1.5 s" {
		t.Errorf("without a clock, 1.5 s is %s", got)
	}
}

func TestSlug(t *testing.T) {
	for text, want := range map[string]string{"Mice": "mice", "a/b: c": "a-b-c", "--x--": "x", "Ä": "", strings.Repeat("ab", 40): strings.Repeat("ab", 30)} {
		if got := Slug(text); got != want {
			t.Errorf("the slug of %q is %q, want %q", text, got, want)
		}
	}
}
