package charts

import (
	"bytes"
	"strings"
	"testing"

	"apfsim/reports/report"
)

// Three plots take two rows of two columns. Each has its subject and an axis of its own unit, and the legend has a name
// once, however many lines and plots have it.
func TestTiles(t *testing.T) {
	var plots []*report.Plot
	for i, subject := range []string{"mice", "elephant", "hasty"} {
		longest := []float64{2e6, 4e9, 3e9}[i]
		plots = append(plots, &report.Plot{Subject: subject, Transposed: true, At: []float64{0, 0.5, 0.99},
			X: report.Axis{Label: "wait", Unit: "ns"}, Y: report.Axis{Label: "requests", Unit: "share", Max: 1},
			Lines: []report.Line{{Name: "live", Kind: report.KindMeasured, Values: []float64{0, longest / 2, longest}},
				{Name: "live", Kind: report.KindMeasured, Values: []float64{0, longest / 3, longest}},
				{Name: "prediction", Kind: report.KindPredicted, Values: []float64{0, longest / 4, longest}}}})
	}
	one, three := New(report.TilesPicture("waits", "Waits", 2, plots[:1])), New(report.TilesPicture("waits", "Waits", 2, plots))
	if rows := (three.height - headHeight(three.legend)) / (one.height - headHeight(one.legend)); rows != 2 {
		t.Errorf("three plots are %g times as high as one, want 2", rows)
	}
	var svg bytes.Buffer
	if err := three.WriteSVG(&svg); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{">mice<": 1, ">elephant<": 1, ">hasty<": 1, ">live<": 1, ">prediction<": 1, ">wait (ms)<": 1, ">wait (s)<": 2, ">100 %<": 3} {
		if n := strings.Count(svg.String(), text); n != want {
			t.Errorf("%d times %s, want %d", n, text, want)
		}
	}
}
