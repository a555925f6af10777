package server

import (
	"testing"
	"time"

	"apfsim/document/yaml"
	"apfsim/sim/quantity"
)

func TestAdjustmentPhases(t *testing.T) {
	for text, want := range map[string]AdjustmentPhase{
		"0": {}, "0s": {}, "3s": {After: quantity.Duration(3 * time.Second)}, "9999ms": {After: quantity.Duration(9999 * time.Millisecond)},
		"random": {Random: true}, `"random"`: {Random: true},
	} {
		var got AdjustmentPhase
		if mistakes := yaml.Decode("x", []byte(text), &got); len(mistakes) > 0 || got != want {
			t.Errorf("%s is %v %v, want %v", text, got, mistakes, want)
		}
	}
	const use = "use a duration from 0s to less than 10s, or random"
	for text, want := range map[string]string{
		"10s":    `10s is not within one period of the adjustments; ` + use + ` (did you mean "0s"?)`,
		"1m12s":  `1m12s is not within one period of the adjustments; ` + use + ` (did you mean "2s"?)`,
		"-3s":    `-3s is not within one period of the adjustments; ` + use + ` (did you mean "7s"?)`,
		"3":      `3 has no unit; ` + use,
		"Random": `"Random" is not supported; ` + use + ` (did you mean "random"?)`,
		"soon":   `"soon" is not supported; ` + use,
		"[3s]":   `is a list; ` + use,
		"true":   `is a boolean; ` + use,
	} {
		var got AdjustmentPhase
		if mistakes := yaml.Decode("x", []byte(text), &got); len(mistakes) == 0 || mistakes[0].Message != want {
			t.Errorf("%s: %v, want %s", text, mistakes, want)
		}
	}
}
