package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Numbers with the same unit are in proportion, other values at equal distances.
func TestPlacesOfValues(t *testing.T) {
	for values, want := range map[string]string{
		"1 4 16":         "[1 4 16] true",
		"4 6 8":          "[4 6 8] false",
		"80ms 200ms":     "[80 200] false",
		"0.5 100":        "[0.5 100] true",
		"0 100":          "[0 100] false",
		"-1 1":           "[-1 1] false",
		"500ms 1s":       "[0 1] false",
		"1m30s 2m30s":    "[0 1] false",
		"a b":            "[0 1] false",
		"1 1.0":          "[0 1] false",
		"1e999 2":        "[0 1] false",
		"null 10":        "[0 1] false",
		"100/s 50/s 1/s": "[100 50 1] true",
	} {
		p := Parameter{Values: strings.Fields(values)}
		at, logarithmic := p.Positions()
		if got := fmt.Sprint(at, logarithmic); got != want {
			t.Errorf("%s: %s, want %s", values, got, want)
		}
	}
}

func TestNamesOfChartsDiffer(t *testing.T) {
	s := &Sweep{Charts: []string{"wait{workload:a-b}.max", "wait{workload:a_b}.max", "wait{workload:a b}.max", `wait{workload:"ü/../"}.max`,
		"wait{workload:" + strings.Repeat("x", 300) + "1}.max", "wait{workload:" + strings.Repeat("x", 300) + "2}.max"}}
	names := s.ChartNames()
	for i, name := range names {
		if slices.Contains(names[:i], name) || len(name) > 110 || strings.ContainsAny(name, "/\\. ") {
			t.Errorf("%q", names)
		}
	}
}
