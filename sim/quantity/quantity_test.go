package quantity

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"apfsim/document/yaml"

	"pgregory.net/rapid"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"60s": time.Minute, "1h30m": 90 * time.Minute, "500us": 500 * time.Microsecond, "1.5s": 1500 * time.Millisecond, "0": 0,
	} {
		var got Duration
		if mistakes := yaml.Decode("x", []byte(text), &got); len(mistakes) > 0 || time.Duration(got) != want {
			t.Errorf("%s is %v %v, want %v", text, got, mistakes, want)
		}
	}
	for text, want := range map[string]string{
		"60":       "60 has no unit; want a duration such as 60s or 1h30m",
		"60sec":    `"60sec" is not a duration; want one such as 60s or 1h30m`,
		"-1s":      "-1s is negative; want a duration of 0s or more",
		"1000000h": "1000000h is more than a hundred years",
		"[1s]":     "is a list; want a duration such as 60s or 1h30m",
		"true":     "is a boolean; want a duration such as 60s or 1h30m",
		".nan":     ".nan has no unit; want a duration such as 60s or 1h30m",
	} {
		var got Duration
		if mistakes := yaml.Decode("x", []byte(text), &got); len(mistakes) == 0 || mistakes[0].Message != want {
			t.Errorf("%s: %v, want %s", text, mistakes, want)
		}
	}
}

func TestInstants(t *testing.T) {
	for text, want := range map[string]time.Time{
		`"2026-11-22T14:03:00Z"`:         time.Date(2026, 11, 22, 14, 3, 0, 0, time.UTC),
		"2026-11-22T15:03:00.5+01:00":    time.Date(2026, 11, 22, 14, 3, 0, 5e8, time.UTC),
		"2026-11-22T14:03:00.000000001Z": time.Date(2026, 11, 22, 14, 3, 0, 1, time.UTC),
	} {
		var got Instant
		if mistakes := yaml.Decode("x", []byte(text), &got); len(mistakes) > 0 || int64(got) != want.UnixNano() {
			t.Errorf("%s is %v %v, want %v", text, got, mistakes, want)
		}
	}
	for text, want := range map[string]string{
		"14:03:00":             `"14:03:00" is not a time; want one such as 2026-11-22T14:03:00Z`,
		"1960-01-01T00:00:00Z": "1960-01-01T00:00:00Z is not between 1970 and 2200",
		"[x]":                  "is a list; want a time such as 2026-11-22T14:03:00Z",
		"true":                 "is a boolean; want a time such as 2026-11-22T14:03:00Z",
	} {
		var got Instant
		if mistakes := yaml.Decode("x", []byte(text), &got); len(mistakes) == 0 || mistakes[0].Message != want {
			t.Errorf("%s: %v, want %s", text, mistakes, want)
		}
	}
}

func TestDurationsAreReadAsTheyAreWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Duration(rapid.Int64Range(0, int64(Longest)).Draw(t, "ns"))
		var got Duration
		if mistakes := yaml.Decode("x", []byte(want.String()), &got); len(mistakes) > 0 || got != want {
			t.Fatalf("%v was read as %v %v", want, got, mistakes)
		}
	})
}

func TestRates(t *testing.T) {
	for text, want := range map[string]float64{"100/s": 100, "5/m": 5.0 / 60, "10/h": 10.0 / 3600, "0.5 / s": 0.5, "1e3/s": 1000} {
		var got Rate
		if mistakes := yaml.Decode("x", []byte(text), &got); len(mistakes) > 0 || math.Abs(float64(got)-want) > 1e-12 {
			t.Errorf("%s is %v %v, want %v", text, got, mistakes, want)
		}
	}
	for text, want := range map[string]string{
		"100":     "100 has no unit; want a rate such as 100/s, per second, or /m or /h",
		"100/d":   `"100/d" is not a rate; want one such as 100/s, 5/m or 10/h`,
		"100s":    `"100s" is not a rate; want one such as 100/s, 5/m or 10/h`,
		"nan/s":   `"nan/s" is not a rate; want one such as 100/s, 5/m or 10/h`,
		"-1/s":    "-1/s is negative; want a rate of 0/s or more",
		"inf/s":   "inf/s is more than 1e9/s, one per nanosecond",
		"1e10/s":  "1e10/s is more than 1e9/s, one per nanosecond",
		"{a: 1}":  "is an object; want a rate such as 100/s",
		"1/s/s/s": `"1/s/s/s" is not a rate; want one such as 100/s, 5/m or 10/h`,
	} {
		var got Rate
		if mistakes := yaml.Decode("x", []byte(text), &got); len(mistakes) == 0 || mistakes[0].Message != want {
			t.Errorf("%s: %v, want %s", text, mistakes, want)
		}
	}
}

func TestDistributions(t *testing.T) {
	for text, wantMs := range map[string]float64{
		"5ms":                                                5,
		"{constant: 5ms}":                                    5,
		"{uniform: {min: 2ms, max: 4ms}}":                    3,
		"{exponential: {mean: 5ms}}":                         5,
		"{lognormal: {mean: 80ms, p99: 400ms}}":              80,
		"{lognormal: {mean: 80ms, sigma: 1.5}}":              80,
		"{gamma: {mean: 5ms, shape: 2}}":                     5,
		"{weibull: {mean: 5ms, shape: 0.5}}":                 5,
		"{pareto: {mean: 5ms, shape: 1.5}}":                  5,
		"{empirical: {values: [1ms, 3ms]}}":                  2,
		"{empirical: {values: [1ms, 3ms], weights: [3, 1]}}": 1.5,
	} {
		var got Distribution
		if mistakes := yaml.Decode("x", []byte(text), &got); len(mistakes) > 0 || math.Abs(got.MeanNs()/1e6-wantMs) > 1e-9 {
			t.Errorf("%s: mean %v %v, want %v ms", text, got.Distribution, mistakes, wantMs)
		}
	}
	for text, want := range map[string]string{
		"5":                                   "5 has no unit; want a duration such as 60s or 1h30m",
		"[5ms]":                               "is a list; want a duration or a distribution, as {exponential: {mean: 5ms}}",
		"{}":                                  "want one of constant, uniform, exponential, lognormal, gamma, weibull, pareto, empirical",
		"{exponential: {}}":                   "is missing",
		"{exponential: {mean: 0s}}":           "mean 0s: want more than 0",
		"{lognormal: {mean: 1ms, p99: 15ms}}": "mean 1ms, p99 15ms: p99 is 15 times the mean; want more than 1 and at most 14.97 times",
		"{lognormal: {mean: 1ms}}":            "want either p99 or sigma with the mean",
		"{lognormal: {mean: 1ms, p99: 2ms, sigma: 1}}":  "want either p99 or sigma with the mean",
		"{pareto: {mean: 1ms, shape: 1}}":               "shape 1: want more than 1 and at most 1e+06",
		"{uniform: {min: 2s, max: 1s}}":                 "min 2s, max 1s: want 0 <= min <= max",
		"{constant: 1s, uniform: {min: 0, max: 1s}}":    "has constant and uniform: want one of them",
		"{empirical: {values: []}}":                     "the list of values is empty; want at least one",
		"{empirical: {values: [1s, 2s], weights: [1]}}": "2 values have 1 weights; want one weight for each value, or none",
		"{gama: {mean: 1s, shape: 1}}":                  `unknown field (did you mean "gamma"?)`,
		"{gamma: {mean: 1s, shape: .inf}}":              ".inf is not a finite number",
	} {
		var got Distribution
		if mistakes := yaml.Decode("x", []byte(text), &got); len(mistakes) == 0 || mistakes[0].Message != want {
			t.Errorf("%s: %v, want %s", text, mistakes, want)
		}
	}
}

// The schema takes a field for required when its tag lacks omitempty, the decoder when it is
// tagged as required: both must agree.
func TestTagsAgreeOnWhatIsRequired(t *testing.T) {
	kind := reflect.TypeFor[DistributionKinds]()
	for i := range kind.NumField() {
		typ := kind.Field(i).Type.Elem()
		if typ.Kind() != reflect.Struct {
			continue
		}
		for j := range typ.NumField() {
			f := typ.Field(j)
			if required := f.Tag.Get("document") == "required"; required == strings.HasSuffix(f.Tag.Get("json"), ",omitempty") {
				t.Errorf("%v.%s: the tags disagree", typ, f.Name)
			}
		}
	}
}
