package scenario

import (
	"math"
	"strings"
	"testing"
	"time"

	"apfsim/document"
	"apfsim/document/yaml"

	"pgregory.net/rapid"
)

// decode reads a YAML value into a value of its type, and returns the first mistake.
func decode(t interface{ Fatalf(string, ...any) }, text string, into any) string {
	docs, mistakes := yaml.Parse("", []byte(text))
	if len(docs) != 1 {
		t.Fatalf("%q: %v", text, mistakes)
	}
	var d document.Decoder
	d.Decode(docs[0].Root, "x", into)
	if len(d.Errors) == 0 {
		return ""
	}
	return d.Errors.Sorted()[0].Message
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"60s": time.Minute, "1h30m": 90 * time.Minute, "500us": 500 * time.Microsecond, "1.5s": 1500 * time.Millisecond, "0": 0,
	} {
		var got Duration
		if mistake := decode(t, text, &got); mistake != "" || time.Duration(got) != want {
			t.Errorf("%s is %v %s, want %v", text, got, mistake, want)
		}
	}
	for text, want := range map[string]string{
		"60":       "60 has no unit; want a duration such as 60s or 1h30m",
		"60sec":    `"60sec" is no duration; want one such as 60s or 1h30m`,
		"-1s":      "-1s is negative; want a duration of 0s or more",
		"1000000h": "1000000h is more than a hundred years",
		"[1s]":     "is a list; want a duration such as 60s or 1h30m",
		"true":     "is a boolean; want a duration such as 60s or 1h30m",
		".nan":     ".nan has no unit; want a duration such as 60s or 1h30m",
	} {
		var got Duration
		if mistake := decode(t, text, &got); mistake != want {
			t.Errorf("%s: %q, want %q", text, mistake, want)
		}
	}
}

func TestDurationsAreReadAsTheyAreWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Duration(rapid.Int64Range(0, int64(longest)).Draw(t, "ns"))
		var got Duration
		if mistake := decode(t, want.String(), &got); mistake != "" || got != want {
			t.Fatalf("%v was read as %v %s", want, got, mistake)
		}
	})
}

func TestRates(t *testing.T) {
	for text, want := range map[string]float64{"100/s": 100, "5/m": 5.0 / 60, "10/h": 10.0 / 3600, "0.5 / s": 0.5, "1e3/s": 1000} {
		var got Rate
		if mistake := decode(t, text, &got); mistake != "" || math.Abs(float64(got)-want) > 1e-12 {
			t.Errorf("%s is %v %s, want %v", text, got, mistake, want)
		}
	}
	for text, want := range map[string]string{
		"100":     "100 has no unit; want a rate such as 100/s, per second, or /m or /h",
		"100/d":   `"100/d" is no rate; want one such as 100/s, 5/m or 10/h`,
		"100s":    `"100s" is no rate; want one such as 100/s, 5/m or 10/h`,
		"nan/s":   `"nan/s" is no rate; want one such as 100/s, 5/m or 10/h`,
		"-1/s":    "-1/s is negative; want a rate of 0/s or more",
		"inf/s":   "inf/s is more than 1e9/s, one a nanosecond",
		"1e10/s":  "1e10/s is more than 1e9/s, one a nanosecond",
		"{a: 1}":  "is an object; want a rate such as 100/s",
		"1/s/s/s": `"1/s/s/s" is no rate; want one such as 100/s, 5/m or 10/h`,
	} {
		var got Rate
		if mistake := decode(t, text, &got); mistake != want {
			t.Errorf("%s: %q, want %q", text, mistake, want)
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
		if mistake := decode(t, text, &got); mistake != "" || math.Abs(got.MeanNs()/1e6-wantMs) > 1e-9 {
			t.Errorf("%s: mean %v %s, want %v ms", text, got.Distribution, mistake, wantMs)
		}
	}
	for text, want := range map[string]string{
		"5":                                   "5 has no unit; want a duration such as 60s or 1h30m",
		"[5ms]":                               "is a list; want a duration or a distribution, as {exponential: {mean: 5ms}}",
		"{}":                                  "want one of constant, uniform, exponential, lognormal, gamma, weibull, pareto, empirical",
		"{exponential: {}}":                   "is missing",
		"{exponential: {mean: 0s}}":           "mean 0s: want more than 0",
		"{lognormal: {mean: 1ms, p99: 15ms}}": "mean 1ms, p99 15ms: p99 is 15 times the mean; want more than 1 and at most 14.97 times",
		"{lognormal: {mean: 1ms}}":            "want either p99 or sigma beside the mean",
		"{lognormal: {mean: 1ms, p99: 2ms, sigma: 1}}":  "want either p99 or sigma beside the mean",
		"{pareto: {mean: 1ms, shape: 1}}":               "shape 1: want more than 1 and at most 1e+06",
		"{uniform: {min: 2s, max: 1s}}":                 "min 2s, max 1s: want 0 <= min <= max",
		"{constant: 1s, uniform: {min: 0, max: 1s}}":    "has constant and uniform: want one of them",
		"{empirical: {values: []}}":                     "there are no values: want one at least",
		"{empirical: {values: [1s, 2s], weights: [1]}}": "2 values have 1 weights: want as many, or none",
		"{gama: {mean: 1s, shape: 1}}":                  `unknown field (did you mean "gamma"?)`,
		"{gamma: {mean: 1s, shape: .inf}}":              ".inf is not a finite number",
	} {
		var got Distribution
		if mistake := decode(t, text, &got); mistake != want {
			t.Errorf("%s: %q, want %q", text, mistake, want)
		}
	}
}

func TestIdentitiesBringTheirGroups(t *testing.T) {
	for _, c := range []struct {
		as, user, groups string
	}{
		{"{user: alice}", "alice", "system:authenticated"},
		{`{user: "u-{i}", groups: ["g-{i}", dev]}`, "u-7", "g-7 dev system:authenticated"},
		{"{user: root, groups: [system:authenticated, system:masters]}", "root", "system:authenticated system:masters"},
		{`{serviceAccount: "tenant-{i}/default"}`, "system:serviceaccount:tenant-7:default",
			"system:serviceaccounts system:serviceaccounts:tenant-7 system:authenticated"},
		{`{node: "node-{i}"}`, "system:node:node-7", "system:nodes system:authenticated"},
		{"{anonymous: true}", "system:anonymous", "system:unauthenticated"},
	} {
		var id Identity
		if mistake := decode(t, c.as, &id); mistake != "" {
			t.Errorf("%s: %s", c.as, mistake)
		}
		if user, groups := id.For(7); user != c.user || strings.Join(groups, " ") != c.groups {
			t.Errorf("%s is %s in %v, want %s in %s", c.as, user, groups, c.user, c.groups)
		}
	}
}

func TestRequestsHaveKubernetesPaths(t *testing.T) {
	for _, c := range []struct{ request, want string }{
		{"{verb: list, resource: pods}", "/api/v1/pods"},
		{`{verb: get, resource: pods, namespace: "ns-{i}", name: "p-{i}", subresource: status}`, "/api/v1/namespaces/ns-7/pods/p-7/status"},
		{"{verb: update, group: coordination.k8s.io, resource: leases, namespace: a, name: b}",
			"/apis/coordination.k8s.io/v1/namespaces/a/leases/b"},
		{"{verb: get, resource: nodes, name: n}", "/api/v1/nodes/n"},
		{"{verb: get, resource: namespaces, namespace: a, name: a}", "/api/v1/namespaces/a"},
		{`{verb: get, path: "/healthz/{i}"}`, "/healthz/7"},
	} {
		var r Request
		if mistake := decode(t, c.request, &r); mistake != "" {
			t.Errorf("%s: %s", c.request, mistake)
		}
		a, _ := r.Attributes(&Identity{User: "alice"}, 7)
		if a.Path != c.want || a.User != "alice" {
			t.Errorf("%s: path %s of %s, want %s", c.request, a.Path, a.User, c.want)
		}
	}
}

func TestRetries(t *testing.T) {
	for text, want := range map[string]Retry{
		"None":            {},
		"ClientGo":        {MaxRetries: 10},
		"{}":              {MaxRetries: 10},
		"{maxRetries: 3}": {MaxRetries: 3},
		"{backoff: {initial: 1s, max: 30s, jitter: 0.1}}": {MaxRetries: 10,
			Backoff: &Backoff{Initial: Duration(time.Second), Factor: 2, Max: Duration(30 * time.Second), Jitter: 0.1}},
	} {
		var got Retry
		mistake := decode(t, text, &got)
		if mistake != "" || got.MaxRetries != want.MaxRetries || (got.Backoff == nil) != (want.Backoff == nil) ||
			got.Backoff != nil && *got.Backoff != *want.Backoff {
			t.Errorf("%s is %+v %s, want %+v", text, got, mistake, want)
		}
	}
	var got Retry
	want := `"clientgo": want None, ClientGo or an object with maxRetries and backoff (did you mean "ClientGo"?)`
	if mistake := decode(t, "clientgo", &got); mistake != want {
		t.Errorf("%q, want %q", mistake, want)
	}
}
