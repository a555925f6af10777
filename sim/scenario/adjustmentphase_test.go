package scenario

import (
	"testing"
	"time"
)

func TestAdjustmentPhases(t *testing.T) {
	for text, want := range map[string]AdjustmentPhase{
		"0": {}, "0s": {}, "3s": {After: Duration(3 * time.Second)}, "9999ms": {After: Duration(9999 * time.Millisecond)},
		"random": {Random: true}, `"random"`: {Random: true},
	} {
		var got AdjustmentPhase
		if mistake := decode(t, text, &got); mistake != "" || got != want {
			t.Errorf("%s is %v %s, want %v", text, got, mistake, want)
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
		if mistake := decode(t, text, &got); mistake != want {
			t.Errorf("%s: %q, want %q", text, mistake, want)
		}
	}
}
