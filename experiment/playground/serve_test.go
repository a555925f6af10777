package playground

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const token = "SECRET"

// request sends a request to the handler.
func request(t *testing.T, method, target string, change func(*http.Request)) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(`{}`))
	r.Host = "127.0.0.1:1234"
	r.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	NewHandler(token).ServeHTTP(w, r)
	return w.Result()
}

// Only the page itself, on this machine and with the token, is answered.
func TestOnlyThePageIsAnswered(t *testing.T) {
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, c := range []struct {
		name, method, target string
		change               func(*http.Request)
		want                 int
	}{
		{"the page", "GET", "/SECRET/", nil, 200},
		{"a file", "GET", "/SECRET/page.js", nil, 200},
		{"a call", "POST", "/SECRET/call/library", nil, 200},
		{"by name", "POST", "/SECRET/call/library", host("localhost:1234"), 200},
		{"by IPv6", "POST", "/SECRET/call/library", host("[::1]:1234"), 200},
		{"by the page", "POST", "/SECRET/call/library", header("Origin", "http://127.0.0.1:1234"), 200},
		{"by the page, as browsers say", "POST", "/SECRET/call/library", header("Sec-Fetch-Site", "same-origin"), 200},
		{"no such file", "GET", "/SECRET/other", nil, 404},
		{"a file outside", "GET", "/SECRET/../playground.go", nil, 307}, // to where it has no token,
		{"a call by GET", "GET", "/SECRET/call/library", nil, 404},
		{"no token", "GET", "/", nil, 403},
		{"a file without token", "GET", "/page.js", nil, 403},
		{"a part of the token", "POST", "/SECRE/call/library", nil, 403},
		{"a longer token", "POST", "/SECRETS/call/library", nil, 403},
		{"a name that resolves to this machine", "POST", "/SECRET/call/library", host("rebind.example:1234"), 403},
		{"another machine", "GET", "/SECRET/", host("192.168.0.1"), 403},
		{"no Host", "GET", "/SECRET/", host(""), 403},
		{"another page", "POST", "/SECRET/call/library", header("Origin", "http://evil.example"), 403},
		{"another port", "POST", "/SECRET/call/library", header("Origin", "http://127.0.0.1:4321"), 403},
		{"a page without an origin", "POST", "/SECRET/call/library", header("Origin", "null"), 403},
		{"another site", "GET", "/SECRET/", header("Sec-Fetch-Site", "cross-site"), 403},
		{"a form", "POST", "/SECRET/call/library", header("Content-Type", "text/plain"), 415},
		{"a preflight", "OPTIONS", "/SECRET/call/library", header("Origin", "http://evil.example"), 403},
	} {
		response := request(t, c.method, c.target, c.change)
		if response.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d", c.name, response.StatusCode, c.want)
		}
		for name := range response.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: the response has %s", c.name, name)
			}
		}
	}
}

// The served page calls the program, and its policy is that of the static one.
func TestServedPageCallsTheProgram(t *testing.T) {
	text, err := io.ReadAll(request(t, "GET", "/SECRET/", nil).Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{nativeEngine, "default-src 'none'", "connect-src 'self'"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the page has no %s", part)
		}
	}
}

// The editor is served compressed to who takes that, and otherwise as it is; other files are as they are.
func TestServedFiles(t *testing.T) {
	served := func(name, encoding string) (text []byte, h http.Header) {
		response := request(t, "GET", "/SECRET/"+name, func(r *http.Request) { r.Header.Set("Accept-Encoding", encoding) })
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatal(name, response.Status, err)
		}
		return text, response.Header
	}
	const editor = "codemirror/codemirror.js"
	packed, h := served(editor, "gzip, deflate, br")
	plain, without := served(editor, "")
	text, err := decompressed(packed, maxLog)
	if err != nil || h.Get("Content-Encoding") != "gzip" || without.Get("Content-Encoding") != "" || len(packed) >= len(plain) || !bytes.Equal(text, plain) {
		t.Errorf("%d bytes in %q, and %d in %q, %v", len(packed), h.Get("Content-Encoding"), len(plain), without.Get("Content-Encoding"), err)
	}
	for name, kind := range map[string]string{"page.css": "text/css", editor: "text/javascript", "page.js": "text/javascript", "codemirror/LICENSE": "text/plain"} {
		if text, h := served(name, "gzip"); !strings.HasPrefix(h.Get("Content-Type"), kind) || len(text) < 1000 {
			t.Errorf("%s: %d bytes of %s", name, len(text), h.Get("Content-Type"))
		}
	}
}

// A call whose arguments do not arrive does not keep others waiting.
func TestArgumentsThatDoNotArrive(t *testing.T) {
	defer func(before time.Duration) { longestUpload = before }(longestUpload)
	longestUpload = time.Millisecond
	server := httptest.NewServer(NewHandler(token))
	defer server.Close()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprintf(connection, "POST /SECRET/call/run HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{", connection.RemoteAddr())
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil || response.StatusCode != http.StatusRequestTimeout {
		t.Fatalf("%v, %v", response, err)
	}
	running.Lock()
	defer running.Unlock()
}

// A call answers with its progress and its answer, and ends when the page does not wait for it any more.
func TestServedCalls(t *testing.T) {
	server := httptest.NewServer(NewHandler(token))
	defer server.Close()
	call := func(ctx context.Context, arguments string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, "POST", server.URL+"/SECRET/call/run", strings.NewReader(arguments))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		return http.DefaultClient.Do(r)
	}
	arguments := asJSON(t, Running{Setting{Text: storyText(t), Set: []string{"spec.workload[elephants].arrivals.poisson.rate=300/s", "spec.workload[elephants].clients=8"}}, Window{}})
	response, err := call(t.Context(), arguments)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	last, answered := 0.0, false
	for lines := json.NewDecoder(bufio.NewReader(response.Body)); lines.More(); {
		var line struct {
			Share  float64
			Answer *Ran
		}
		if err := lines.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if line.Answer != nil {
			answered = len(line.Answer.Fingerprint) == 16
		} else if line.Share <= last || line.Share > 1 {
			t.Errorf("share %v after %v", line.Share, last)
		}
		last = line.Share
	}
	if !answered {
		t.Error("no answer")
	}
	// A run of a year, of which the page waits for the first line.
	ctx, cancel := context.WithCancel(t.Context())
	endless, err := call(ctx, strings.Replace(arguments, "duration: 20s", "duration: 8760h", 1))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	endless.Body.Close()
	running.Lock() // which the call holds until it has ended
	defer running.Unlock()
}
