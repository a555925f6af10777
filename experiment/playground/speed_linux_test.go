package playground

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

var speed = flag.Int("speed", 0, "measure `N` runs natively and in a browser, and print how long they take")

// How much processor time a run takes in a browser, as a multiple of the native one: not the time that passes, which depends on
// what else the machine does. It prints a table, and judges nothing.
func TestSpeedInABrowser(t *testing.T) {
	if *speed == 0 {
		t.Skip("-speed measures")
	}
	url := wasmPage(t)
	var table strings.Builder
	fmt.Fprintf(&table, "%-20s %8s %10s %10s %10s %8s %8s\n", "scenario", "recorded", "native", "first", "median", "first", "median")
	for _, name := range []string{"elephants-and-mice", "borrowing", "wide-lists", "events-flood", "relist-storm"} {
		var text Text
		callInto(t, "scenario", asJSON(t, Named{name}), &text)
		for _, requests := range []int{0, 20_000} {
			arguments := asJSON(t, Running{Setting{Text: text.Text}, Window{Requests: requests}})
			var native, inPage []time.Duration
			for range *speed {
				began := ownTime(t)
				var ran Ran
				callInto(t, "run", arguments, &ran)
				native = append(native, ownTime(t)-began)
			}
			b := newBrowser(t)
			b.open(url)
			for last := -time.Second; last != workerTime(t); time.Sleep(time.Second) { // until the worker of the first view has ended, and the next one waits
				last = workerTime(t)
			}
			for range *speed { // in the worker of short calls, which stays, so that its time can be read
				began := workerTime(t)
				b.script(`window.took = 0; import("./engine.js").then(m => m.engine.call("run", ` + arguments + `)).then(a => { window.took = a.errors ? -1 : 1 })`)
				b.WaitFor(`window.took !== 0`)
				inPage = append(inPage, workerTime(t)-began)
			}
			first := inPage[0]
			slices.Sort(native)
			slices.Sort(inPage)
			n, m := native[*speed/2].Seconds(), inPage[*speed/2].Seconds()
			fmt.Fprintf(&table, "%-20s %8d %8.2f s %8.2f s %8.2f s %8.1f %8.1f\n", name, requests, n, first.Seconds(), m, first.Seconds()/n, m/n)
		}
	}
	t.Log("\n" + table.String())
}

// How long the first complete view takes from the beginning of the navigation: with nothing in the browser's cache, and then with
// the files in it. It prints the times, and judges nothing.
func TestFirstViewInABrowser(t *testing.T) {
	if *speed == 0 {
		t.Skip("-speed measures")
	}
	server := httptest.NewServer(http.FileServer(http.Dir(*built))) // which lets the browser cache the files
	defer server.Close()
	var first, cached []float64
	for range *speed {
		b := newBrowser(t)
		if _, err := chromedp.Call(b.Ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
			new MutationObserver(() => { if (document.body?.dataset.ready) window.readyMs ??= performance.now() }).observe(document, {subtree: true, attributes: true})`}); err != nil {
			t.Fatal(err)
		}
		for view := range 3 {
			b.script(`window.readyMs = null; if (document.body) delete document.body.dataset.ready`)
			b.open(server.URL + "/")
			b.WaitFor(`window.readyMs > 0`)
			if ms := eval[float64](b, `window.readyMs`); view == 0 {
				first = append(first, ms)
			} else {
				cached = append(cached, ms)
			}
		}
	}
	slices.Sort(first)
	slices.Sort(cached)
	t.Logf("first view: median %.0f ms of %.0f; cached: median %.0f ms of %.0f", first[len(first)/2], first, cached[len(cached)/2], cached)
}

// ownTime returns the processor time of this process.
func ownTime(t *testing.T) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// workerTime returns the processor time of the workers of the browsers that this process has started.
func workerTime(t *testing.T) (sum time.Duration) {
	const tick = time.Second / 100
	threads, err := filepath.Glob("/proc/[0-9]*/task/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread + "/stat")
		if err != nil || !strings.Contains(string(stat), "(DedicatedWorker)") || !isDescendant(strings.Split(thread, "/")[2]) {
			continue
		}
		_, after, _ := strings.Cut(string(stat), ") ")
		for _, field := range strings.Fields(after)[11:13] { // utime and stime
			n, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			sum += time.Duration(n) * tick
		}
	}
	return sum
}

// isDescendant reports whether a process comes from this one.
func isDescendant(pid string) bool {
	for pid != "0" && pid != "" {
		if pid == strconv.Itoa(os.Getpid()) {
			return true
		}
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			return false
		}
		_, after, _ := strings.Cut(string(stat), ") ")
		pid = strings.Fields(after)[1]
	}
	return false
}
