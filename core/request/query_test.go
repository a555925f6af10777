package request_test

import (
	"testing"

	"apfsim/core/request"
)

// The path is decoded and the query is not, as in a trace.
func TestSplitURI(t *testing.T) {
	for uri, want := range map[string][2]string{
		"/api/v1/pods?limit=500&labelSelector=a%3Db": {"/api/v1/pods", "limit=500&labelSelector=a%3Db"},
		"/healthz":                              {"/healthz", ""},
		"/api/v1/namespaces/a/pods/%2A/m?x=a?b": {"/api/v1/namespaces/a/pods/*/m", "x=a?b"},
		"http://10.0.0.1:6443/api?a=http://b":   {"/api", "a=http://b"},
		"http://10.0.0.1:6443":                  {"/", ""},
		"/proxy/http://a/b":                     {"/proxy/http://a/b", ""},
		"":                                      {"", ""},
	} {
		if path, query, err := request.SplitURI(uri); path != want[0] || query != want[1] || err != nil {
			t.Errorf("%s: got %q, %q, %v, want %q", uri, path, query, err, want)
		}
	}
	if path, query, err := request.SplitURI("/a%zz?limit=1"); path != "/a%zz" || query != "limit=1" || err == nil {
		t.Errorf("a path that cannot be decoded: got %q, %q, error %v; want it as it is written, and an error", path, query, err)
	}
}

// Only the edited values change. The others keep their spelling: without =, empty, or in URL encoding.
func TestEditQuery(t *testing.T) {
	edit := func(name, value string) (string, bool) {
		if name == "limit" {
			return "7", true
		}
		return value, name != "timeoutSeconds"
	}
	for query, want := range map[string]string{
		"":                              "",
		"limit=500&watch&a=&&b=%3d":     "limit=7&watch&a=&&b=%3d",
		"limit&timeoutSeconds=1&c":      "limit=7&c",
		"timeoutSeconds=1":              "",
		"labelSelector=a=b&limit=1":     "labelSelector=a=b&limit=7",
		"limit=1&limit=2&timeoutSecond": "limit=7&limit=7&timeoutSecond",
	} {
		if got := request.EditQuery(query, edit); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
}

// A parameter is replaced also where its name is in URL encoding, and all its repetitions are.
func TestWithParameter(t *testing.T) {
	for query, want := range map[string]string{
		"":                             "dryRun=All",
		"a=1&b=%2F":                    "a=1&b=%2F&dryRun=All",
		"dryRun=None&a=1&dryRun=x":     "a=1&dryRun=All",
		"dry%52un=None&dryRunner=x":    "dryRunner=x&dryRun=All",
		"&&a":                          "a&dryRun=All",
		"broken=%zz&%zz=1&dryRun=None": "broken=%zz&%zz=1&dryRun=All",
	} {
		if got := request.WithParameter(query, "dryRun", "All"); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
	if got := request.WithParameter("", "fieldManager", "a b"); got != "fieldManager=a+b" {
		t.Errorf("got %q; want the value in URL encoding", got)
	}
}
