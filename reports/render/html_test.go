package render

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"apfsim/reports/report"
)

// The contrast that WCAG 2.1 wants for level AA: 4.5 for text, 3 for what else carries meaning.
func TestColoursHaveContrast(t *testing.T) {
	colours := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--(\w+): light-dark\((#\w+), (#\w+)\)`).FindAllStringSubmatch(Palette, -1) {
		colours[m[1]] = [2]string{m[2], m[3]}
	}
	check := func(name, on string, least float64) {
		for i, theme := range []string{"light", "dark"} {
			if got := contrast(t, colours[name][i], colours[on][i]); got < least {
				t.Errorf("%s on %s in the %s theme has a contrast of %.2f, want %v", name, on, theme, got, least)
			}
		}
	}
	for _, on := range []string{"page", "card", "hover"} {
		for _, name := range []string{"ink", "soft", "link", "good", "bad", "warn"} {
			check(name, on, 4.5)
		}
	}
	for i := range lineColours + 1 {
		check("line"+strconv.Itoa(i), "card", 3)
	}
}

func TestFiguresAreShortAndExactEnough(t *testing.T) {
	text, err := figures{0, 1, 1.0 / 3, 1e-9, 123456789, math.NaN(), -2.5}.MarshalJSON()
	if want := "[0,1,0.333333,1e-09,1.23457e+08,null,-2.5]"; err != nil || string(text) != want {
		t.Errorf("%s (%v), want %s", text, err, want)
	}
}

func contrast(t *testing.T, a, b string) float64 {
	luminance := func(hex string) float64 {
		hex = strings.TrimPrefix(hex, "#")
		if len(hex) == 3 {
			hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
		}
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			c := float64(n) / 255
			if c <= 0.03928 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// What is drawn in one plot can be told apart.
func TestStylesOfAPlotDiffer(t *testing.T) {
	for _, plot := range [][]report.Line{
		{{Kind: report.KindSeatsInUse}, {Kind: report.KindCurrentLimit}, {Kind: report.KindNominalLimit}},
		{{Kind: report.KindArrived}, {Kind: report.KindDispatched}, {Kind: report.KindRejected}, {Kind: report.KindRejected, Index: 1}, {Kind: report.KindRejected, Index: 2}},
		{{Kind: report.KindOldestWait}, {Kind: report.KindWaitP99}, {Kind: report.KindWaitMedian}},
		{{Kind: report.KindCategory}, {Kind: report.KindCategory, Index: 5}, {Kind: report.KindCategory, Index: 6}, {Kind: report.KindCategory, Index: 11}},
		{{Kind: report.KindPercentile}, {Kind: report.KindBasePercentile}, {Kind: report.KindPercentile, Index: 1}, {Kind: report.KindBasePercentile, Index: 1}},
	} {
		for i := range plot {
			for k := range plot[:i] {
				if styleOf(&plot[i]) == styleOf(&plot[k]) {
					t.Errorf("lines %v and %v look alike", plot[i], plot[k])
				}
			}
		}
	}
}
