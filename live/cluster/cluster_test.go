package cluster

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"apfsim/live/guard"
)

// kubeconfig writes a kubeconfig file for a server and returns its name.
func kubeconfig(t *testing.T, server, more string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"apiVersion": "v1", "kind": "Config", "current-context": "test",
	"clusters": [{"name": "c", "cluster": {"server": "` + server + `"` + more + `}}],
	"users": [{"name": "loader", "user": {"token": "secret"}}],
	"contexts": [{"name": "test", "context": {"cluster": "c", "user": "loader"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A password in an address is refused, and no error contains it, also where the address is broken in another way.
func TestPasswordsInAddresses(t *testing.T) {
	for _, c := range []struct{ server, more, want string }{
		{"https://me:hunter2@127.0.0.1:6443", "", "has a user or a password"},
		{"https://hunter2@127.0.0.1:6443", "", "has a user or a password"},
		{"me:hunter2@127.0.0.1:6443", "", "has a user or a password"},
		{"https://me:hunter2@127.0.0.1:port", "", "is not the address of a server"},
		{"ftp://me:hunter2@127.0.0.1", "", "is not the address of a server"},
		{"https://127.0.0.1:6443/?password=hunter2", "", "has a query or a fragment"},
		{"https://127.0.0.1:6443/a/../hunter2#", "", "has a query or a fragment"},
		{"https://127.0.0.1:6443", `, "proxy-url": "http://me:hunter2@proxy:port"`, "proxy-url: is not the address of a proxy"},
		{"https://127.0.0.1:6443", `, "proxy-url": "gopher://me:hunter2@proxy"`, "proxy-url: is not the address of a proxy"},
	} {
		_, err := Open(kubeconfig(t, c.server, c.more), "", false)
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s%s: got %v, want %q without the password", c.server, c.more, err, c.want)
		}
	}
}

// A proxy is named without its password, also when it cannot be reached, and does not get the credentials for a server
// without TLS.
func TestProxy(t *testing.T) {
	const proxy = `, "proxy-url": "http://me:hunter2@127.0.0.1:1"`
	c, err := Open(kubeconfig(t, "https://127.0.0.1:2", proxy), "", false)
	if err != nil || c.Proxy != "http://127.0.0.1:1" {
		t.Fatalf("got %+v, %v", c, err)
	}
	if _, err := c.Version(t.Context()); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v, want an error without the password", err)
	}
	if _, err := Open(kubeconfig(t, "http://127.0.0.1:2", proxy), "", false); err == nil || !strings.Contains(err.Error(), "could read the credentials") {
		t.Errorf("got %v, want that the proxy could read the credentials", err)
	}
}

// A small answer that is large when it is uncompressed is not read to its end, and neither is a kubeconfig file that
// cannot be one.
func TestReadingIsBounded(t *testing.T) {
	var packed bytes.Buffer
	out := gzip.NewWriter(&packed)
	if _, err := io.CopyN(out, zeros{}, 8<<20); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(packed.Bytes())
	}))
	defer server.Close()
	c, err := Open(kubeconfig(t, server.URL, ""), "", false)
	if err != nil {
		t.Fatal(err)
	}
	if c.maxBytes != guard.MostAnswer {
		t.Errorf("up to %d bytes are read, want %d", c.maxBytes, guard.MostAnswer)
	}
	c.maxBytes = 1 << 20
	text, err := c.Metrics(t.Context())
	if want := "GET /metrics: the answer has more than 1048576 bytes"; len(text) > 0 || err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%d bytes and %v, want %q", len(text), err, want)
	}
	c.maxBytes = 8 << 20
	if text, err := c.Metrics(t.Context()); len(text) != 8<<20 || err != nil {
		t.Errorf("%d bytes and %v, want all %d", len(text), err, 8<<20)
	}
	file := filepath.Join(t.TempDir(), "zeros")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, mostFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, "", false); !errors.As(err, new(guard.TooLong)) {
		t.Errorf("got %v, want that the file is too long", err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// The path of a server's address comes before all others, and a version that the server names is a part of a path.
func TestPaths(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.RequestURI)
		io.WriteString(w, `{"preferredVersion": {"version": "v1?x=/../debug"}, "gitVersion": "v1.37.1"}`)
	}))
	defer server.Close()
	c, err := Open(kubeconfig(t, server.URL+"/k8s/clusters/a/", ""), "", false)
	if err != nil {
		t.Fatal(err)
	}
	if version, err := c.Version(t.Context()); version != "v1.37.1" || err != nil {
		t.Errorf("got %q, %v", version, err)
	}
	if _, err := c.FlowControl(t.Context()); !errors.Is(err, guard.ErrRefused) {
		t.Errorf("got %v, want %v", err, guard.ErrRefused)
	}
	if want := "/k8s/clusters/a/version /k8s/clusters/a/apis/flowcontrol.apiserver.k8s.io"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
