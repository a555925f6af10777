//go:build !js

package playground

import (
	"cmp"
	"context"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"apfsim/reports/render"
)

// pageFiles is the page, as a browser gets it. The editor is compressed: it is most of the page, and the program has it, too.
//
//go:embed page/*.html page/*.css page/*.js page/story.yaml page/codemirror/LICENSE page/codemirror/*.gz
var pageFiles embed.FS

// indexFile is the page itself. It has the name of the engine in it.
const (
	indexFile    = "page/index.html"
	workerEngine = `<meta name="engine" content="worker">`
	nativeEngine = `<meta name="engine" content="native">`
)

// NewHandler returns a handler that serves the page below /token/ and answers its calls. A request needs the token, which
// other programs and other pages do not know, and a Host of the loopback interface, which a page does not get by a name
// that it lets resolve to this machine. No response allows another origin anything.
func NewHandler(token string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{name...}", serveFile)
	mux.HandleFunc("GET /{$}", serveIndex)
	mux.HandleFunc("GET /palette.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		io.WriteString(w, render.Palette)
	})
	mux.HandleFunc("POST /call/{name}", serveCall)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cache-Control", "no-store")
		given, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		switch {
		case !isLoopback(r.Host):
			http.Error(w, "the Host is not that of this machine", http.StatusForbidden)
		case subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1:
			http.Error(w, "the token is missing or wrong; open the address that 'apfsim serve' has printed", http.StatusForbidden)
		case !sameOrigin(r):
			http.Error(w, "the request comes from another origin", http.StatusForbidden)
		default:
			r.URL.Path, r.URL.RawPath = "/"+path, ""
			mux.ServeHTTP(w, r)
		}
	})
}

// isLoopback reports whether the host of a request is an address or the name of the loopback interface.
func isLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}

// sameOrigin reports whether a request comes from the page, or from no page at all.
func sameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return false
	}
	origin := r.Header.Get("Origin")
	return origin == "" || origin == "http://"+r.Host
}

func serveIndex(w http.ResponseWriter, _ *http.Request) {
	text, err := pageFiles.ReadFile(indexFile)
	if err != nil {
		panic(err) // it is embedded
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	io.WriteString(w, strings.Replace(string(text), workerEngine, nativeEngine, 1))
}

// mediaTypes are those of the files of the page, by the endings of their names. Those of the machine could be others.
var mediaTypes = map[string]string{
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".yaml": "application/yaml",
}

// serveFile serves a file of the page. What is compressed stays so for browsers, all of which accept gzip.
func serveFile(w http.ResponseWriter, r *http.Request) {
	name := "page/" + r.PathValue("name")
	text, err := pageFiles.ReadFile(name)
	if err != nil {
		text, err = pageFiles.ReadFile(name + ".gz")
		if err == nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
		} else if err == nil {
			text, err = decompressed(text, maxLog)
		}
	}
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", cmp.Or(mediaTypes[path.Ext(name)], "text/plain; charset=utf-8"))
	w.Write(text)
}

// running lets the calls that simulate follow one another: a run needs memory, and a page ends one before it begins the next.
var running sync.Mutex

// longestUpload is how long the arguments of a call may take to arrive: those from the same machine need a second at most.
var longestUpload = 10 * time.Second

// serveCall answers a call with lines of JSON: shares of progress, then the answer. The call ends with its request.
func serveCall(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Content-Type") != "application/json" { // which no page of another origin can send without asking
		http.Error(w, "want Content-Type application/json", http.StatusUnsupportedMediaType)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	name := r.PathValue("name")
	if name == "run" || name == "compare" || name == "import" {
		running.Lock()
		defer running.Unlock()
	}
	// Only now, so that no call that waits has its arguments in memory.
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(longestUpload))
	arguments, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxArguments))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		http.Error(w, fmt.Sprintf("the arguments did not arrive within %v", longestUpload), http.StatusRequestTimeout)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	control.SetReadDeadline(time.Time{})
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines, flush := json.NewEncoder(w), control.Flush
	flush() // an error ends the call at the first progress
	answer := Call(ctx, name, arguments, everyHundredth(func(share float64) {
		if lines.Encode(map[string]float64{"share": share}) != nil || flush() != nil {
			cancel()
		}
	}))
	lines.Encode(map[string]json.RawMessage{"answer": answer})
}

// everyHundredth returns a Progress that passes on what has grown by a hundredth at least.
func everyHundredth(progress Progress) Progress {
	last := 0.0
	return func(share float64) {
		if share >= last+0.01 {
			last = share
			progress(share)
		}
	}
}
