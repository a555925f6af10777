package server

import (
	"testing"
	"time"

	"apfsim/document"
	"apfsim/document/yaml"
	"apfsim/sim/quantity"
)

// decode reads a YAML value into a value of its type, and returns the first error.
func decode(t *testing.T, text string, into any) string {
	t.Helper()
	docs, wrong := yaml.Parse("", []byte(text))
	if len(docs) != 1 {
		t.Fatalf("%q: %v", text, wrong)
	}
	var d document.Decoder
	d.Decode(docs[0].Root, "x", into)
	if len(d.Errors) == 0 {
		return ""
	}
	return d.Errors.Sorted()[0].Message
}

func TestAdjustmentPhases(t *testing.T) {
	for text, want := range map[string]AdjustmentPhase{
		"0": {}, "0s": {}, "3s": {After: quantity.Duration(3 * time.Second)}, "9999ms": {After: quantity.Duration(9999 * time.Millisecond)},
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
