package playground

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var (
	built = flag.String("built", "../../dist/playground", "the `folder` that make playground has written")
	shots = flag.String("shots", "", "write screenshots to this `folder`")
)

// browser is a headless Chromium with the page.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu         sync.Mutex
	origin     string
	complaints []string
}

// newBrowser starts a browser. Without one, the test is skipped.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	switch {
	case testing.Short():
		t.Skip("a browser takes seconds to start")
	case program == "":
		t.Skip("Chromium is not installed")
	}
	b := &browser{t: t}
	for attempt := 1; ; attempt++ {
		// Without the sandbox, which root cannot have: the page is our own.
		ctx, cancel := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.WSURLReadTimeout(24*time.Hour)))
		b.ctx = ctx
		err := chromedp.Listen(ctx, b.hear)
		if err == nil {
			t.Cleanup(cancel)
			break
		}
		cancel()
		if attempt == 3 { // it rarely fails to start on a busy machine, which says nothing of the page
			t.Fatal(err)
		}
	}
	if _, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// hear notes what a page must not do: say something on the console, fail, or send a request elsewhere.
func (b *browser) hear(event any) {
	complaint := ""
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		complaint = fmt.Sprint("the console says ", e.Type, " ", len(e.Args))
		for _, a := range e.Args {
			complaint += " " + string(a.Value) + a.Description
		}
	case *runtime.EventExceptionThrown:
		complaint = "an exception: " + e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			complaint += " " + e.ExceptionDetails.Exception.Description
		}
	case *log.EventEntryAdded:
		complaint = "the log says " + e.Entry.Text
	case *network.EventRequestWillBeSent:
		b.mu.Lock()
		origin := b.origin
		b.mu.Unlock()
		if url := e.Request.URL; !strings.HasPrefix(url, origin) && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "about:") {
			complaint = "a request goes to " + url
		}
	}
	if complaint != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.complaints = append(b.complaints, complaint)
	}
}

func (b *browser) noComplaints() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		b.t.Error(c)
	}
	b.complaints = nil
}

// untilItHolds waits for a condition without end: how long a page takes says nothing about it.
var untilItHolds = chromedp.WithPollingTimeout(40 * time.Second)

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	for _, a := range actions {
		if _, err := chromedp.Run(b.ctx, a); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *browser) waitFor(condition string) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[bool](condition, untilItHolds)); err != nil {
		b.t.Fatalf("%s: %v; the page says %q; %q", condition, err, eval[string](b, `document.querySelector("#status").textContent`), b.complaints)
	}
}

func eval[T any](b *browser, script string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return value
}

// wasmPage serves the page of this tree with the program that make playground has built.
func wasmPage(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(*built, "apfsim.wasm")); err != nil {
		t.Skip("there is no program for a browser; make playground builds it")
	}
	page, program := http.FileServerFS(PageFiles()), http.FileServer(http.Dir(*built))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "wasm") {
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
	b.t.Helper()
	b.mu.Lock()
	b.origin = url[:strings.LastIndex(url, "/")+1]
	b.mu.Unlock()
	b.do(chromedp.Navigate(url))
	b.waitFor(`document.body && document.body.dataset.ready === "true"`)
}

func (b *browser) shoot(name string) {
	b.t.Helper()
	if *shots == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), bytes.Clone(picture), 0o666); err != nil {
		b.t.Fatal(err)
	}
}
