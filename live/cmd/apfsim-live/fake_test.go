package main

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// received is a request that the fake server has received as a part of the load.
type received struct {
	at                       time.Time
	method, url, user, body  string
	groups                   []string
	authorization, mediaType string
}

// fake is an API server on loopback that answers as a test says.
type fake struct {
	*httptest.Server
	answer  func(w http.ResponseWriter, r *http.Request) // to impersonated requests; nil: 200
	metrics func(n int) (status int, text string)        // to the n-th request for /metrics, from 1
	// measured answers to the user's own requests that ask for no document, which are those of a calibration; nil: 404.
	measured func(w http.ResponseWriter, r *http.Request)
	noNames  bool // the user may not read the objects of flow control

	mu      sync.Mutex
	load    []received
	own     []string // paths that the user of the kubeconfig file has asked for
	scrapes int
}

// limits is a text of metrics after a number of adjustments.
func limits(adjustments int) string {
	return fmt.Sprintf(`process_start_time_seconds 1.7e+09
apiserver_flowcontrol_current_limit_seats{priority_level="workload-low"} %d
apiserver_flowcontrol_dispatched_requests_total{flow_schema="global-default",priority_level="global-default"} %d
`, 100+adjustments, adjustments)
}

func startFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{metrics: func(int) (int, string) { return http.StatusOK, limits(0) }}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(f.serve))
	f.EnableHTTP2 = true
	f.StartTLS()
	t.Cleanup(f.Close)
	return f
}

// documents are what the server says about itself.
var documents = map[string]string{
	"/version": `{"gitVersion": "v1.37.1"}`,
	"/api/v1": `{"resources": [{"name": "configmaps", "kind": "ConfigMap"}, {"name": "pods", "kind": "Pod"},
		{"name": "pods/eviction", "kind": "Eviction", "group": "policy", "version": "v1"}]}`,
	"/apis/example.com":                  `{"preferredVersion": {"version": "v2"}, "versions": [{"version": "v1"}, {"version": "v2"}]}`,
	"/apis/example.com/v1":               `{"resources": [{"name": "gadgets", "kind": "OldGadget"}, {"name": "gears", "kind": "Gear"}]}`,
	"/apis/example.com/v2":               `{"resources": [{"name": "gadgets", "kind": "Gadget"}]}`,
	"/apis/flowcontrol.apiserver.k8s.io": `{"preferredVersion": {"version": "v1"}, "versions": [{"version": "v1"}]}`,
	"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas": `{"items": [
		{"metadata": {"name": "global-default", "uid": "schema-1"}, "spec": {"distinguisherMethod": {"type": "ByUser"}}},
		{"metadata": {"name": "catch-all", "uid": "schema-2"}, "spec": {}}]}`,
	"/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations": `{"items": [{"metadata": {"name": "global-default", "uid": "level-1"}}]}`,
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer secret" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"kind": "Status", "message": "Unauthorized"}`)
		return
	}
	user := r.Header.Get("Impersonate-User")
	if user == "" {
		f.mu.Lock()
		f.own = append(f.own, r.URL.Path)
		if r.URL.Path == "/metrics" {
			f.scrapes++
		}
		n := f.scrapes
		f.mu.Unlock()
		if r.URL.Path == "/metrics" {
			status, text := f.metrics(n)
			w.WriteHeader(status)
			io.WriteString(w, text)
			return
		}
		text, ok := documents[r.URL.Path]
		if !ok && f.measured != nil {
			f.mu.Lock()
			f.load = append(f.load, received{at: time.Now(), method: r.Method, url: r.URL.String()})
			f.mu.Unlock()
			w.Header().Set("X-Kubernetes-PF-FlowSchema-UID", "schema-1")
			f.measured(w, r)
			return
		}
		if f.noNames && strings.Contains(r.URL.Path, "flowschemas") {
			w.WriteHeader(http.StatusForbidden)
			text, ok = `{"message": "flowschemas is forbidden"}`, true
		}
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		io.WriteString(w, text)
		return
	}
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.load = append(f.load, received{time.Now(), r.Method, r.URL.String(), user, string(body), r.Header["Impersonate-Group"],
		r.Header.Get("Authorization"), r.Header.Get("Content-Type")})
	f.mu.Unlock()
	w.Header().Set("X-Kubernetes-PF-FlowSchema-UID", "schema-1")
	w.Header().Set("X-Kubernetes-PF-PriorityLevel-UID", "level-1")
	if f.answer != nil {
		f.answer(w, r)
		return
	}
	io.WriteString(w, `{}`)
}

// requests returns the load that was received.
func (f *fake) requests() []received {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]received(nil), f.load...)
}

// reject answers as flow control does.
func reject(w http.ResponseWriter, retryAfter string) {
	w.Header().Set("Retry-After", retryAfter)
	http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
}

// kubeconfig writes a kubeconfig file for the server, with a token, and returns its name.
func (f *fake) kubeconfig(t *testing.T, token string) string {
	t.Helper()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "test",
		"clusters": []any{map[string]any{"name": "loopback", "cluster": map[string]any{
			"server": f.URL, "certificate-authority-data": base64.StdEncoding.EncodeToString(authority)}}},
		"users": []any{map[string]any{"name": "loader", "user": map[string]any{"token": token}},
			map[string]any{"name": "other", "user": map[string]any{"token": token, "as": "somebody"}}},
		"contexts": []any{map[string]any{"name": "test", "context": map[string]any{"cluster": "loopback", "user": "loader"}},
			map[string]any{"name": "as", "context": map[string]any{"cluster": "loopback", "user": "other"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
