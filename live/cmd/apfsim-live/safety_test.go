package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"pgregory.net/rapid"

	"apfsim/live/guard"
)

// judge is how kube-apiserver itself reads a request, which is not the code of this project.
var judge = request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// recorder records whatever arrives at a server, before anything else looks at it.
type recorder struct {
	http.Handler
	mu       sync.Mutex
	arrived  []*http.Request
	bodySize []int
}

func (c *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	c.arrived = append(c.arrived, r.Clone(r.Context()))
	c.bodySize = append(c.bodySize, len(body))
	c.mu.Unlock()
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	c.Handler.ServeHTTP(w, r)
}

// forbidden returns what may not have arrived at a server, to which writes may be meant to last, and forgets what has
// arrived.
func (c *recorder) forbidden(host string, writes bool) (wrong []string, arrived int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, r := range c.arrived {
		info, err := judge.NewRequestInfo(r)
		segments := strings.Split(strings.ToLower(r.URL.Path), "/")
		dryRun := r.URL.Query()["dryRun"]
		reads := slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, r.Method)
		why := ""
		switch {
		case err != nil:
			why = err.Error()
		case r.Host != host:
			why = "was for another host"
		case slices.Contains(segments, "debug") && segments[1] == "debug":
			why = "reads the inside of the server"
		case info.Verb == "proxy" || slices.Contains([]string{"exec", "attach", "portforward", "proxy"}, info.Subresource):
			why = "connects"
		case !info.IsResourceRequest && (slices.Contains(segments, "proxy") || slices.Contains(segments, "exec")):
			why = "connects"
		case r.Header.Get("Upgrade") != "":
			why = "changes the protocol"
		case strings.Contains(r.URL.EscapedPath(), "//") || slices.Contains(segments, "..") || slices.Contains(segments, "."):
			why = "has a path that may be cleaned"
		case reads || writes:
		case !info.IsResourceRequest:
			why = "writes without a resource"
		case len(dryRun) != 1 || dryRun[0] != "All":
			why = fmt.Sprintf("writes with dryRun=%q", dryRun)
		case r.Method == http.MethodDelete && c.bodySize[i] > 0:
			why = "deletes with the options of its body"
		case info.Resource == "serviceaccounts" && info.Subresource == "token":
			why = "issues a token"
		}
		if why != "" {
			wrong = append(wrong, fmt.Sprintf("%s %s %s: %s", r.Host, r.Method, r.RequestURI, why))
		}
	}
	arrived = len(c.arrived)
	c.arrived, c.bodySize = nil, nil
	return wrong, arrived
}

// record starts a fake server that records all that arrives, and another one to which nothing may be sent.
func record(t *testing.T) (f *fake, cluster, other *recorder, otherHost string) {
	t.Helper()
	f = startFake(t)
	cluster = &recorder{Handler: f.Config.Handler}
	f.Config.Handler = cluster
	other = &recorder{Handler: http.NotFoundHandler()}
	elsewhere := httptest.NewTLSServer(other) // with the certificate of the other servers, so that a client trusts it
	t.Cleanup(elsewhere.Close)
	return f, cluster, other, strings.TrimPrefix(elsewhere.URL, "https://")
}

// story returns a scenario, as JSON, with these workloads, each of which sends a few requests at the beginning.
func story(t *testing.T, workloads ...map[string]any) string {
	t.Helper()
	for i, w := range workloads {
		w["name"] = fmt.Sprintf("w%d", i)
		if w["request"] != nil || w["requests"] != nil {
			w["execution"], w["arrivals"] = "1ms", map[string]any{"burst": map[string]any{"at": "0s", "requests": 3}}
		}
		if w["as"] == nil && w["execution"] != nil {
			w["as"] = map[string]any{"user": "u"}
		}
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "apfsim/v1alpha1", "kind": "Scenario", "metadata": map[string]any{"name": "story"},
		"spec": map[string]any{"duration": "20ms", "warmup": "0s", "workload": workloads,
			"servers": map[string]any{"kubernetesVersion": "1.37", "maxRequestsInflight": 40, "maxMutatingRequestsInflight": 20}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "story.yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// traceOf writes a trace beside a scenario, with the fields of its lines, and returns a workload that sends it.
func traceOf(t *testing.T, lines ...map[string]any) (file string) {
	t.Helper()
	file = story(t, map[string]any{"arrivals": map[string]any{"trace": map[string]any{"file": "trace.jsonl"}}})
	var text []byte
	for i, fields := range lines {
		line := map[string]any{"id": i + 1, "arrivalNs": i, "user": "u", "groups": []string{}, "verb": "get", "apiGroup": "", "resource": "", "subresource": "",
			"namespace": "", "name": "", "path": "", "query": "", "executionNs": 1, "watchNs": 0}
		for name, value := range fields {
			line[name] = value
		}
		encoded, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, encoded...), '\n')
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "trace.jsonl"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// A part of an address that would end another part, such as # in a query, cannot take the dry run away from a write,
// and a path cannot become a part of the host. What connects, or reads the inside of the server, is refused however
// it is spelt. Each refusal names the place.
func TestHostileAddresses(t *testing.T) {
	f, cluster, other, otherHost := record(t)
	kubeconfig := f.kubeconfig(t, "secret")
	resource := func(verb string, more ...string) map[string]any {
		r := map[string]any{"verb": verb, "resource": "configmaps", "namespace": "a"}
		for i := 0; i < len(more); i += 2 {
			r[more[i]] = more[i+1]
		}
		return r
	}
	const sent = ""
	for _, c := range []struct {
		request map[string]any
		traced  bool
		want    string // what is printed of the reason; empty if it is sent
	}{
		{resource("create", "query", "a=b#c"), false, `story.yaml:1:`},
		{resource("create", "query", "a=b#c"), false, `such as %23`},
		{resource("delete", "name", "p#"), false, sent},
		{resource("delete", "name", "p?x="), false, sent},
		{resource("update", "name", "p/../q"), false, "has a slash"},
		{resource("delete", "name", ".."), false, "leads to another path"},
		{resource("delete", "name", "%2e%2e"), false, "percent sign"},
		{resource("create", "query", "a=b;dryRun=None"), false, "semicolon"},
		{resource("list", "query", "labelSelector=a in (b, c)"), false, sent},
		{resource("delete", "name", "p", "path", "/api/v1/namespaces/a/configmaps/p#"), true, "ends at the first ? or #"},
		{resource("delete", "name", "p", "path", "/api/v1/namespaces/a/configmaps/p?x="), true, "trace.jsonl:1: delete configmaps"},
		{resource("delete", "name", "p", "query", "y#"), true, "such as %23"},
		{resource("delete", "name", "p", "path", "/api/v1beta1/namespaces/a/configmaps/p"), true, sent},
		{map[string]any{"path": "4/x"}, true, "does not begin with a slash"},
		{map[string]any{"path": "@" + otherHost + "/x"}, true, "does not begin with a slash"},
		{map[string]any{"path": "//" + otherHost + "/x"}, true, "one slash between two parts"},
		{map[string]any{"path": "/healthz"}, true, sent},
		{map[string]any{"path": "/%64ebug/pprof"}, true, "percent sign"},
		{map[string]any{"path": "/debug/pprof"}, true, "reads the inside"},
		{map[string]any{"path": "/x/../debug/pprof"}, true, "leads to another path"},
		{map[string]any{"path": "/api/v1/namespaces/a/services/b/proxy/"}, true, "connects"},
		{map[string]any{"path": "/api/v1/namespaces/a/pods"}, true, "the server reads the path"},
		{map[string]any{"verb": "get", "path": "/api/v1/nodes/n/proxy/logs"}, false, "story.yaml:1:"},
		{resource("get", "name", "p", "path", "/api/v1/namespaces/a/pods/p/exec"), true, "connects"},
		{resource("get", "name", "p", "path", "/debug/pprof"), true, "reads the inside"},
		{resource("get", "name", "p", "path", "/api/v1/proxy/namespaces/a/services/p"), true, "connects"},
		{resource("list", "path", "/api/v1/namespaces/a/secrets"), true, `with the resource "secrets" and not "configmaps"`},
		{resource("get", "name", "p", "path", "/api/v1/namespaces/b/configmaps/p"), true, `with the namespace "b" and not "a"`},
		{resource("get", "name", "proxy"), false, sent},
		{map[string]any{"verb": "create", "resource": "serviceaccounts", "subresource": "token", "namespace": "a", "name": "b"}, false, "issues a token"},
		{map[string]any{"verb": "create", "resource": "pods", "subresource": "eviction", "namespace": "a", "name": "b"}, false, sent},
	} {
		documents["/api/v1"] = strings.Replace(documents["/api/v1"], `{"name": "pods",`, `{"name": "secrets", "kind": "Secret"}, {"name": "pods",`, 1)
		var file string
		if c.traced {
			file = traceOf(t, c.request)
		} else {
			file = story(t, map[string]any{"request": c.request})
		}
		s := call(t, t.Context(), file, "--kubeconfig", kubeconfig, "--yes")
		wrong, arrived := cluster.forbidden(strings.TrimPrefix(f.URL, "https://"), false)
		if _, n := other.forbidden(otherHost, false); n > 0 {
			wrong = append(wrong, fmt.Sprintf("another host has received %d requests", n))
		}
		if len(wrong) > 0 {
			t.Errorf("%v: it has arrived:\n%s", c.request, strings.Join(wrong, "\n"))
		}
		if c.want == sent {
			if s.status != statusDone {
				t.Errorf("%v: the exit status is %d, want %d:\n%s", c.request, s.status, statusDone, s.stderr)
			}
		} else if s.status != statusInvalid || arrived > 0 || !strings.Contains(s.stderr, c.want) {
			t.Errorf("%v: the exit status is %d and %d requests have arrived, want %d, none, and %q:\n%s", c.request, s.status, arrived, statusInvalid, c.want, s.stderr)
		}
	}
}

// pieces are what random names, queries and paths are made of: what is usual, and what has a meaning in addresses.
var (
	names     = []string{"a", "b", "p-1", "default", "system:x", "proxy", "exec", "debug", "{i}", "é", "日本"}
	hostile   = []string{"#", "?", "?x=", "%23", "%2f", "%2F..", "..", ".", "/", "//", "\\", "@", ":", ";", "&", "=", " ", "\t", "+", "%", "%64ebug", "\u0085", "\u202e", "&dryRun=None", "?dryRun=None#"}
	verbs     = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	resources = []string{"configmaps", "pods", "configmaps", "pods", "configmaps", "gadgets", "gadgets", "pods/exec", "nodes", "serviceaccounts", "namespaces"}
	below     = []string{"", "", "", "", "", "", "", "status", "exec", "attach", "proxy", "portforward", "eviction", "token", "log"}
	queries   = []string{"", "", "limit=5", "dryRun=None", "dryRun=All", "dry%52un=None", "fieldManager=x", "watch=1", "x", "fieldSelector=metadata.name=a"}
)

// text draws a text of usual pieces, with a hostile one in some cases.
func text(t *rapid.T, label string, usual []string) string {
	s := rapid.SampledFrom(usual).Draw(t, label)
	if rapid.IntRange(0, 11).Draw(t, label+" is hostile") == 0 {
		piece := rapid.SampledFrom(hostile).Draw(t, label+" has")
		at := rapid.IntRange(0, len(s)).Draw(t, label+" has it at")
		s = s[:at] + piece + s[at:]
	}
	return s
}

// drawRequest draws a request of a scenario or, with a path also for a resource, of a trace.
func drawRequest(t *rapid.T, traced bool, otherHost string) map[string]any {
	r := map[string]any{"verb": rapid.SampledFrom(verbs).Draw(t, "verb"), "query": text(t, "query", queries)}
	path := text(t, "path", []string{"/healthz", "/debug/pprof", "/version", "/api/v1/pods", "/api/v1/namespaces/a/pods/b", "/api/v1/namespaces/a/pods/b/exec",
		"/api/v1/namespaces/a/configmaps", "/apis/example.com/v2/gadgets/a", "/api/v1/namespaces/a/services/b/proxy/x", "/api/v1/proxy/nodes/a",
		"x", "@" + otherHost + "/x", "//" + otherHost + "/x", "/logs/"})
	if rapid.IntRange(0, 4).Draw(t, "for a path") == 0 {
		r["verb"], r["path"] = rapid.SampledFrom([]string{"get", "head", "post", "put", "patch", "delete", "options"}).Draw(t, "method"), path
		return r
	}
	r["resource"], r["namespace"], r["name"] = rapid.SampledFrom(resources).Draw(t, "resource"), text(t, "namespace", names), ""
	if verb := r["verb"]; verb != "list" && verb != "watch" && verb != "deletecollection" || rapid.IntRange(0, 9).Draw(t, "named") == 0 {
		r["name"] = text(t, "name", names)
	}
	r["subresource"] = rapid.SampledFrom(below).Draw(t, "subresource")
	if r["resource"] == "gadgets" {
		r[map[bool]string{true: "apiGroup", false: "group"}[traced]] = "example.com"
	}
	if traced && rapid.IntRange(0, 2).Draw(t, "with a path") == 0 {
		r["path"] = path
	}
	return r
}

// Whatever a scenario or a trace asks for, nothing arrives at another host, and nothing that connects, reads the inside of
// the server or, without --writes, writes without a dry run. Kube-apiserver's own code reads what has arrived.
func TestNothingUnsafeArrives(t *testing.T) {
	f, cluster, other, otherHost := record(t)
	kubeconfig, host := f.kubeconfig(t, "secret"), strings.TrimPrefix(f.URL, "https://")
	sent, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		traced := rapid.Bool().Draw(rt, "traced")
		requests := []map[string]any{}
		for range rapid.IntRange(1, 2).Draw(rt, "requests") {
			requests = append(requests, drawRequest(rt, traced, otherHost))
		}
		var file string
		if traced {
			file = traceOf(t, requests...)
		} else {
			var workloads []map[string]any
			for _, r := range requests {
				workloads = append(workloads, map[string]any{"request": r})
			}
			file = story(t, workloads...)
		}
		writes := rapid.IntRange(0, 3).Draw(rt, "writes") == 0
		s := call(t, t.Context(), file, "--kubeconfig", kubeconfig, "--yes", fmt.Sprintf("--writes=%t", writes))
		wrong, _ := cluster.forbidden(host, writes)
		if _, n := other.forbidden(otherHost, false); n > 0 {
			wrong = append(wrong, fmt.Sprintf("another host has received %d requests", n))
		}
		if len(wrong) > 0 {
			rt.Fatalf("it has arrived:\n%s", strings.Join(wrong, "\n"))
		}
		if s.status == statusDone {
			sent++
		} else {
			refused++
		}
	})
	t.Logf("%d were sent, %d refused", sent, refused)
	if sent == 0 || refused == 0 {
		t.Errorf("%d scenarios were sent and %d refused; want some of both, or the test shows nothing", sent, refused)
	}
}

// The transport holds all this for any request, however it was built.
func TestTransportHoldsUnsafeRequests(t *testing.T) {
	cluster := &recorder{Handler: http.NotFoundHandler()}
	server := httptest.NewServer(cluster)
	defer server.Close()
	other := &recorder{Handler: http.NotFoundHandler()}
	elsewhere := httptest.NewServer(other)
	defer elsewhere.Close()
	address, err := guard.Server(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	otherHost := strings.TrimPrefix(elsewhere.URL, "http://")
	transport := &guard.Transport{Server: address, Next: http.DefaultTransport}
	sent, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(label string, usual ...string) string { return text(rt, label, usual) }
		maybe := func(label string) bool { return rapid.IntRange(0, 9).Draw(rt, label) == 0 }
		u := &url.URL{Scheme: "http", Host: address.Host, RawQuery: draw("query", "", "dryRun=All", "dryRun=All", "dryRun=All", "dryRun=None", "a=1&dryRun=All")}
		u.Path = draw("path", "/api/v1/pods", "/apis/apps/v1/namespaces/a/deployments/b", "/api/v1/namespaces/a/pods/b/exec", "/api/v1/namespaces/a/pods/b/eviction",
			"/debug/pprof", "/version", "/api/v1/namespaces/a/configmaps/c", "/apis/apps/v1/proxy/a", "/apis/apps/v1/watch/deployments")
		if maybe("raw path") {
			u.RawPath = strings.Replace(u.Path, "d", "%64", 1)
		}
		if maybe("opaque") {
			u.Opaque = draw("opaque part", "//"+otherHost+"/x", "//"+address.Host+"/api/v1/pods?a", "/api/v1/pods#")
		}
		if maybe("elsewhere") {
			u.Host = otherHost
		}
		if maybe("with a user") {
			u.User = url.UserPassword("u", "pw")
		}
		if maybe("with a fragment") {
			u.Fragment = "x"
		}
		r := &http.Request{Method: rapid.SampledFrom([]string{"", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "get", "CONNECT", "MKCOL"}).Draw(rt, "method"), URL: u, Header: http.Header{}}
		if maybe("another host in the header") {
			r.Host = otherHost
		}
		if maybe("upgrade") {
			r.Header.Set("Upgrade", "websocket")
			r.Header.Set("Connection", "Upgrade")
		}
		if maybe("with a body") {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader("{}")), 2
		}
		answer, err := transport.RoundTrip(r)
		if err == nil {
			answer.Body.Close()
			sent++
		} else {
			refused++
		}
		wrong, _ := cluster.forbidden(address.Host, false)
		if _, n := other.forbidden(otherHost, false); n > 0 {
			wrong = append(wrong, "a request for another host")
		}
		if len(wrong) > 0 {
			rt.Fatalf("%s %s: it has arrived:\n%s", r.Method, u, strings.Join(wrong, "\n"))
		}
	})
	if sent == 0 || refused == 0 {
		t.Errorf("%d requests were sent and %d refused; want some of both, or the test shows nothing", sent, refused)
	}
}

// What a server answers, and what a kubeconfig file calls its contexts and users, cannot change the state of a
// terminal, and neither can the files of the results when they are printed.
func TestNothingPrintedControlsTerminals(t *testing.T) {
	const evil = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202e"
	f := startFake(t)
	quoted, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	defer func(before string) { documents["/version"] = before }(documents["/version"])
	documents["/version"] = `{"gitVersion": ` + string(quoted) + `}`
	f.noNames = true
	f.metrics = func(int) (int, string) { return http.StatusForbidden, `{"message": ` + string(quoted) + `}` }
	f.answer = func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"message": "cannot impersonate `+strings.Trim(string(quoted), `"`)+`"}`)
	}
	kubeconfig := f.kubeconfig(t, "secret")
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.NewReplacer("\u009b", `\u009b`, "\u202e", `\u202e`).Replace(string(quoted)) // YAML has no control characters as they are
	text = []byte(strings.ReplaceAll(string(text), `"loader"`, name))
	if err := os.WriteFile(kubeconfig, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s := call(t, t.Context(), scenarioFile(t, "1h", reader), "--kubeconfig", kubeconfig, "--yes") // the first answer ends the run
	s.want(t, statusFailed, `user \u001b]0;owned`, `cannot impersonate \u001b`)
	all := map[string]string{"standard output": s.stdout, "standard error": s.stderr}
	err = filepath.WalkDir(s.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for name, text := range all {
		if strings.ContainsAny(text, "\x1b\x07\u009b\u202e") {
			t.Errorf("%s has control characters:\n%q", name, text)
		}
	}
}
