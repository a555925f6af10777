// Package browsertest opens pages in headless Chromium for tests, and notes what a page must not do: say something on the
// console, fail, or send a request to where it may not.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Browser is a tab of headless Chromium.
type Browser struct {
	T   *testing.T
	Ctx context.Context // of the tab, as chromedp wants it

	mu         sync.Mutex
	allowed    func(url string) bool
	complaints []string
}

// UntilItHolds waits for a condition without end: how long a page takes says nothing about it.
var UntilItHolds = chromedp.WithPollingTimeout(0)

// shared is the browser of the tests of a package. Each test has a tab in a profile of its own: a start costs more than most
// tests do.
var shared struct {
	mu  sync.Mutex
	ctx context.Context // nil until a test needs it
	end func()
}

// Main runs the tests of a package, and ends their browser.
func Main(m *testing.M) int {
	defer func() {
		if shared.end != nil {
			shared.end()
		}
	}()
	return m.Run()
}

// start returns the context of the browser of the tests, which the first of them starts.
func start(t *testing.T, program string) context.Context {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.ctx != nil {
		return shared.ctx
	}
	// Chromium leaves folders in that of temporary files. The name of one with a socket must be short.
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	for attempt := 1; ; attempt++ {
		// Without the sandbox, which root cannot have: the page is our own.
		ctx, cancel := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.WSURLReadTimeout(24*time.Hour), chromedp.Env("TMPDIR="+dir)))
		err := chromedp.Do(ctx)
		if err == nil {
			shared.ctx, shared.end = ctx, func() {
				cancel()
				os.RemoveAll(dir)
			}
			return ctx
		}
		cancel()
		if attempt == 3 { // it rarely fails to start on a busy machine, which says nothing of the page
			os.RemoveAll(dir)
			t.Fatal(err)
		}
	}
}

// New opens a tab in the browser of the tests, whose [testing.M] is run by [Main]. Its page may send requests to the addresses
// that are allowed. Without a browser, the test is skipped.
func New(t *testing.T, allowed func(url string) bool) *Browser {
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
	ctx, cancel := chromedp.NewContext(start(t, program), chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &Browser{T: t, Ctx: ctx, allowed: allowed}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(b.Ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// Allow sets to which addresses the page may send requests from now on.
func (b *Browser) Allow(allowed func(url string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allowed = allowed
}

func (b *Browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
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
		if url := e.Request.URL; !b.allowed(url) {
			complaint = "a request goes to " + url
		}
	}
	if complaint != "" {
		b.complaints = append(b.complaints, complaint)
	}
}

// NoComplaints reports what the page has done that it must not do, once.
func (b *Browser) NoComplaints() {
	b.T.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		b.T.Error(c)
	}
	b.complaints = nil
}

// Do carries out some actions.
func (b *Browser) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.T.Helper()
	if err := chromedp.Do(b.Ctx, actions...); err != nil {
		b.T.Fatal(err)
	}
}

// WaitFor waits until an expression is true.
func (b *Browser) WaitFor(expression string) {
	b.T.Helper()
	if _, err := chromedp.Run(b.Ctx, chromedp.Poll[bool](expression, UntilItHolds)); err != nil {
		b.T.Fatalf("%s: %v", expression, err)
	}
}

// Eval returns the value of an expression.
func Eval[T any](b *Browser, expression string) T {
	b.T.Helper()
	value, err := chromedp.Run(b.Ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.T.Fatalf("%s: %v", expression, err)
	}
	return value
}
