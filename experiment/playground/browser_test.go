package playground

import (
	"bytes"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"apfsim/internal/browsertest"
)

var (
	built = flag.String("built", "../../dist/playground", "the `folder` that make playground has written")
	shots = flag.String("shots", "", "write screenshots to this `folder`")
)

// browser is a headless Chromium with the page.
type browser struct{ *browsertest.Browser }

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// newBrowser opens a tab of the browser. Without one, the test is skipped.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	return &browser{browsertest.New(t, func(string) bool { return false })} // open allows the page its own files
}

func eval[T any](b *browser, expression string) T {
	b.T.Helper()
	return browsertest.Eval[T](b.Browser, expression)
}

// wasmPage serves the page of this tree with the program that make playground has built.
func wasmPage(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(*built, "apfsim.wasm")); err != nil {
		t.Skip("there is no program for a browser; make playground builds it")
	}
	page, program := http.NewServeMux(), http.FileServer(http.Dir(*built))
	page.HandleFunc("GET /{name...}", serveFile)
	page.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, pageFiles, indexFile) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "wasm") || strings.HasSuffix(r.URL.Path, "/palette.css") {
			program.ServeHTTP(w, r)
		} else {
			page.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// open opens a page and waits until its first run is complete.
func (b *browser) open(url string) {
	b.T.Helper()
	origin := url[:strings.LastIndex(url, "/")+1]
	b.Allow(func(to string) bool {
		return strings.HasPrefix(to, origin) || strings.HasPrefix(to, "data:") || strings.HasPrefix(to, "about:")
	})
	b.Do(chromedp.Navigate(url))
	b.WaitFor(`document.body && document.body.dataset.ready === "true"`)
}

func (b *browser) shoot(name string) {
	b.T.Helper()
	if *shots == "" {
		return
	}
	picture, err := chromedp.Run(b.Ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.T.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), bytes.Clone(picture), 0o666); err != nil {
		b.T.Fatal(err)
	}
}
