package serverlog

import "testing"

// The path is decoded and the query is not, as in a trace.
func TestSplitURI(t *testing.T) {
	for uri, want := range map[string][2]string{
		"/api/v1/pods?limit=500&labelSelector=a%3Db": {"/api/v1/pods", "limit=500&labelSelector=a%3Db"},
		"/healthz":                              {"/healthz", ""},
		"/api/v1/namespaces/a/pods/%2A/m?x=a?b": {"/api/v1/namespaces/a/pods/*/m", "x=a?b"},
		"/a%zz":                                 {"/a%zz", ""},
		"http://10.0.0.1:6443/api?a=http://b":   {"/api", "a=http://b"},
		"http://10.0.0.1:6443":                  {"/", ""},
		"/proxy/http://a/b":                     {"/proxy/http://a/b", ""},
		"":                                      {"", ""},
	} {
		if path, query := SplitURI(uri); path != want[0] || query != want[1] {
			t.Errorf("%s: got %q, %q, want %q", uri, path, query, want)
		}
	}
}
