package guard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// What counts is what the server understands, and not how it is spelt.
func TestRefused(t *testing.T) {
	for request, want := range map[string]string{
		"GET /version":                               "",
		"GET /":                                      "",
		"GET /healthz/":                              "",
		"GET /api/v1/pods?limit=5":                   "",
		"GET /api/v1/namespaces/proxy/pods/exec":     "", // names may be anything
		"GET /api/v1/namespaces/exec":                "",
		"GET /api/v1/namespaces/a/pods/b/log":        "",
		"GET /api/v1/watch/namespaces/a/pods/b":      "",
		"GET /debug/pprof":                           "reads the inside",
		"GET /%64ebug/pprof":                         "reads the inside",
		"GET /Debug":                                 "reads the inside",
		"GET //debug/pprof":                          "one slash between",
		"GET /x/../debug/pprof":                      "another path",
		"GET /x/%2e%2e/debug/pprof":                  "another path",
		"GET /%2564ebug/pprof":                       "percent sign",
		"GET /x%2fdebug":                             "a slash",
		"GET /x%0ay":                                 "control character",
		"GET /api/v1/nodes/n/proxy/metrics":          "connects",
		"GET /api/v1/nodes/n/pro%78y":                "connects",
		"GET /api/v1/proxy/nodes/n":                  "connects",
		"GET /api/v1/watch/namespaces/a/pods/b/exec": "connects",
		"GET /apis/x.example.com/v1/namespaces/a/things/b/c/exec": "connects",
		"GET /x/portforward": "connects",
		"POST /api/v1/namespaces/a/pods/b/attach?dryRun=All":                   "connects",
		"POST /api/v1/namespaces/a/pods?dryRun=All":                            "",
		"POST /api/v1/namespaces/a/pods":                                       "dryRun=All once",
		"POST /api/v1/namespaces/a/pods?dryRun=":                               "dryRun=All once",
		"POST /api/v1/namespaces/a/pods?dryRun=all":                            "dryRun=All once",
		"POST /api/v1/namespaces/a/pods?DryRun=All":                            "dryRun=All once",
		"POST /api/v1/namespaces/a/pods?dryRun=All&dry%52un=None":              "dryRun=All once",
		"POST /api/v1/namespaces/a/pods?dryRun=All&dryRun=All":                 "dryRun=All once",
		"POST /api/v1/namespaces/a/pods?a=b;dryRun=All":                        "not in URL encoding",
		"POST /api/v1/namespaces/a/pods?dryRun=All&%zz":                        "not in URL encoding",
		"POST /api/v1/namespaces/a/serviceaccounts/b/token?dryRun=All":         "issues a token",
		"POST /apis/authorization.k8s.io/v1/subjectaccessreviews?dryRun=All":   "",
		"POST /openapi?dryRun=All":                                             "without a resource",
		"DELETE /apis/apps/v1/namespaces/a/deployments?dryRun=All":             "",
		"CONNECT /api/v1/pods":                                                 "not an HTTP method",
		"get /api/v1/pods":                                                     "not an HTTP method",
		"PUT /api/v1/namespaces/a/finalize?dryRun=All&fieldManager=dryRun=All": "",
	} {
		method, address, _ := strings.Cut(request, " ")
		path, query, _ := strings.Cut(address, "?")
		u := &url.URL{RawPath: path, RawQuery: query}
		var err error
		if u.Path, err = url.PathUnescape(path); err != nil {
			t.Fatal(err)
		}
		understood, err := Read(method, u)
		if err == nil {
			err = understood.Refused(false)
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", request, err, want)
		}
		if err == nil && understood.Refused(true) != nil {
			t.Errorf("%s: is refused with writes, and not without", request)
		}
	}
}

// The address of a server may have a path, but nothing that would change what comes after it.
func TestServer(t *testing.T) {
	for address, want := range map[string]string{
		"https://a.example.com:6443":        "https://a.example.com:6443",
		"https://a.example.com:/":           "https://a.example.com",
		"https://[::1]:6443/k8s/clusters/b": "https://[::1]:6443/k8s/clusters/b",
		"https://a.example.com/b/../c":      "",
		"https://a.example.com//b":          "",
		"https://a.example.com/b%2fc":       "",
		"https://a.example.com?b":           "",
		"https://a.example.com#":            "",
		"https://me@a.example.com":          "",
		"a.example.com:6443":                "",
		"https:///b":                        "",
	} {
		switch server, err := Server(address); {
		case (err == nil) != (want != ""):
			t.Errorf("%s: got %v, want %q", address, err, want)
		case err == nil && server.String() != want:
			t.Errorf("%s: got %s, want %s", address, server, want)
		}
	}
	server, err := Server("https://a.example.com:/b/")
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodGet, Under(server, Path("api", "v1", "pods")).String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Transport{Server: server}).Check(r); err != nil || r.URL.Path != "/b/api/v1/pods" {
		t.Errorf("%s: %v", r.URL, err)
	}
	r.URL.Path = "/other/api/v1/pods"
	if err := (&Transport{Server: server}).Check(r); err == nil {
		t.Error("a path outside that of the server passes")
	}
}

// A request that was built from another address than that of the server, or whose body decides what it does, does not
// pass. Writes that are meant to last do.
func TestTransport(t *testing.T) {
	server, err := Server("https://127.0.0.1:6443")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, address, body, header string
		writes                        bool
		want                          string
	}{
		{"GET", "https://127.0.0.1:6443/version", "", "", false, ""},
		{"GET", "https://127.0.0.1:64434/x", "", "", false, "another host"},
		{"GET", "http://127.0.0.1:6443/version", "", "", false, "another host"},
		{"GET", "https://me:pw@127.0.0.1:6443/version", "", "", false, "names a host"},
		{"GET", "https://127.0.0.1:6443/version#x", "", "", false, "ends an address"},
		{"GET", "https://127.0.0.1:6443/version", "", "Upgrade", false, "another request"},
		{"GET", "https://127.0.0.1:6443/version", "", "X-HTTP-Method-Override", false, "another request"},
		{"DELETE", "https://127.0.0.1:6443/api/v1/namespaces/a/pods/b?dryRun=All", "", "", false, ""},
		{"DELETE", "https://127.0.0.1:6443/api/v1/namespaces/a/pods/b?dryRun=All", "{}", "", false, "has a body"},
		{"DELETE", "https://127.0.0.1:6443/api/v1/namespaces/a/pods/b", "{}", "", true, ""},
		{"POST", "https://127.0.0.1:6443/api/v1/namespaces/a/pods/b/exec", "{}", "", true, "connects"},
	} {
		r, err := http.NewRequest(c.method, c.address, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if c.header != "" {
			r.Header.Set(c.header, "x")
		}
		err = (&Transport{Server: server, Writes: c.writes}).Check(r)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: got %v, want %q", c.method, c.address, err, c.want)
		}
	}
}
