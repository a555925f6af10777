package quantity

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"apfsim/document"
	"apfsim/document/yaml"
)

func unknown(t *testing.T, text string) (Unknown, document.Errors) {
	t.Helper()
	docs, wrong := yaml.Parse("", []byte(text))
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	var u Unknown
	d := document.Decoder{}
	d.Decode(docs[0].Root, "u", &u)
	return u, d.Errors
}

// What is drawn is from the range, in the notation of its ends, and reaches its halves equally often.
func TestDrawsOfUnknowns(t *testing.T) {
	for text, check := range map[string]func(string) (inRange, upper bool){
		"{uniform: {min: 8, max: 63}}": func(s string) (bool, bool) {
			i, err := strconv.Atoi(s)
			return err == nil && i >= 8 && i <= 63, i > 35
		},
		"{uniform: {min: 0.5, max: 2}}": func(s string) (bool, bool) {
			f, err := strconv.ParseFloat(s, 64)
			return err == nil && f >= 0.5 && f <= 2, f > 1.25
		},
		"{logUniform: {min: 200ms, max: 2s}}": func(s string) (bool, bool) {
			n := document.Node{Kind: document.String, Text: s}
			var t Duration
			d := document.Decoder{}
			d.Decode(&n, "", &t)
			return len(d.Errors) == 0 && t >= 200e6 && t <= 2e9, t > 632456e3
		},
		"{logUniform: {min: 16GiB, max: 64GiB}}": func(s string) (bool, bool) {
			i, err := strconv.ParseInt(s, 10, 64)
			return err == nil && i >= 16<<30 && i <= 64<<30, i > 32<<30
		},
		"{empirical: {values: ['1.21', '1.22']}}":                  func(s string) (bool, bool) { return s == "1.21" || s == "1.22", s == "1.22" },
		"{empirical: {values: [a, b, c], weights: [0.5, 1, 1.5]}}": func(s string) (bool, bool) { return s == "a" || s == "b" || s == "c", s == "c" },
	} {
		u, wrong := unknown(t, text)
		if len(wrong) > 0 {
			t.Errorf("%s: %v", text, wrong)
			continue
		}
		r := rand.New(rand.NewPCG(1, 2))
		const n = 2000
		upper := 0
		for range n {
			s := u.Draw(r)
			in, up := check(s)
			if !in {
				t.Fatalf("%s: drew %s", text, s)
			}
			if up {
				upper++
			}
		}
		if upper < n/2-150 || upper > n/2+150 {
			t.Errorf("%s: %d of %d draws are in the upper half", text, upper, n)
		}
	}
}

func TestMistakesInUnknowns(t *testing.T) {
	for text, want := range map[string]string{
		"8":                                "u: is a number; want a distribution",
		"{}":                               "u: want one of uniform, logUniform, empirical",
		"{uniform: {min: 8}}":              "u.uniform.max: is missing",
		"{uniform: {min: 64, max: 8}}":     "u.uniform: min 64 is more than max 8",
		"{uniform: {min: 8, max: 1s}}":     "u.uniform: min 8 is a whole number and max 1s is a duration; want two values of one kind",
		"{uniform: {min: few, max: 8}}":    `u.uniform.min: "few": want a number`,
		"{logUniform: {min: 0s, max: 8s}}": "u.logUniform.min: 0s: want more than 0",
		"{empirical: {values: []}}":        "u.empirical.values: is empty",
		"{empirical: {values: [1], weights: [1, 2]}}": "u.empirical.weights: 1 values have 2 weights",
		"{empirical: {values: [1], weights: [0]}}":    "u.empirical.weights: want weights of more than 0",
		"{normal: {mean: 8}}":                         "unknown field",
	} {
		if _, wrong := unknown(t, text); len(wrong) != 1 || !strings.Contains(wrong[0].Path+": "+wrong[0].Message, want) {
			t.Errorf("%s: %v, want %s", text, wrong, want)
		}
	}
}
