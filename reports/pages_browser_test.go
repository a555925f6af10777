package reports_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"apfsim/reports/collect"
	"apfsim/reports/judge"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/scenarios"
	"apfsim/sim"
	"apfsim/sim/scenario/loader"

	"apfsim/internal/browsertest"
)

// eachOfTheLibrary simulates some scenarios of the library; all of them with -long.
func eachOfTheLibrary(t *testing.T, do func(r *result.Result)) {
	t.Helper()
	names := []string{"crash-and-reconnect", "elephants-and-mice", "lent-seats", "webhook-deadlock"}
	if *long {
		names = scenarios.Names()
	}
	for _, name := range names {
		all, mistakes := loader.Load(scenarios.Files, scenarios.File(name), loader.Options{})
		if err := mistakes.Err(); err != nil {
			t.Fatal(err)
		}
		for _, sc := range all {
			if scenarios.IsIncident(name) && len(sc.Spec.Thresholds) == 0 { // it has figures, and no story
				continue
			}
			run := sim.New(sc)
			m := collect.Measure(run, result.Interval(int64(sc.Spec.Duration)))
			if err := run.Execute(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			r := m.Result()
			judge.Verdict(r)
			do(r)
		}
	}
}

// What is wrong with the first screen of the page that is shown: sentences.
const wrongScreen = `(() => {
  const wrong = [], all = s => [...document.querySelectorAll(s)], status = document.querySelector(".answer b")?.textContent;
  if (!status) return ["no verdict"];
  if (!all(".picture figure, .picture .constant").length) wrong.push("no picture");
  // What happened to a client by itself, or to watches, is the sentence of the verdict.
  const own = /for its own limit|own rate limit|watches of .* were closed/.test(document.querySelector(".answer").textContent);
  if ((status === "HARM" || status === "WARNING") && !own && !all(".why li").length) wrong.push("no cause");
  if (![...all(".screen h2")].some(h => h.textContent === "What may help")) wrong.push("no next step");
  for (const table of all("table")) {
    const seen = new Map();
    for (const name of table.querySelectorAll("tbody th")) {
      const whole = name.title || name.textContent, row = name.textContent + " " + [...name.parentElement.querySelectorAll("td.left")].map(c => c.textContent).join(" ");
      if (seen.has(row) && seen.get(row) !== whole) wrong.push("two rows are called " + row);
      seen.set(row, whole);
    }
  }
  return wrong;
})()`

// The page of a scenario of the library is at most two screens high when it is folded, four on a telephone; its first
// screen has a picture, a cause and a next step, and a checker finds nothing serious that would keep anyone from reading it.
func TestPagesOfTheLibraryInABrowser(t *testing.T) {
	b := newBrowser(t)
	axe := axeScript(t)
	eachOfTheLibrary(t, func(r *result.Result) {
		name := r.Summary.Name
		b.openFolded(func(w io.Writer) error { return render.HTML(w, report.RunDocument(r)) })
		for _, size := range []struct{ width, height, screens int64 }{{1440, 900, 2}, {390, 844, 4}} {
			b.Do(chromedp.EmulateViewport(size.width, size.height))
			if height := eval[int64](b, `document.documentElement.scrollHeight`); height > size.screens*size.height {
				t.Errorf("%s: at %d × %d the folded page has %d pixels", name, size.width, size.height, height)
			}
			b.fits(t, name, size.width)
		}
		for _, wrong := range eval[[]string](b, wrongScreen) {
			t.Errorf("%s: %s", name, wrong)
		}
		b.accessible(t, name, axe)
	})
	b.NoComplaints()
	if axe == "" {
		t.Skip("axe-core cannot be fetched, so that accessibility is not checked")
	}
}

// accessible reports the serious and critical faults that axe-core finds in the page that is shown.
func (b *browser) accessible(t *testing.T, name, axe string) {
	t.Helper()
	if axe == "" {
		return
	}
	b.Do(chromedp.Evaluate[chromedp.Void](axe + "; window.faults = null; axe.run({resultTypes: ['violations']}).then(r => { window.faults = " +
		`r.violations.filter(v => v.impact === "serious" || v.impact === "critical").map(v => v.id + ": " + v.nodes.slice(0, 3).map(n => n.target.join(" ")).join(", ")) })`))
	if _, err := chromedp.Run(b.Ctx, chromedp.Poll[bool](`window.faults !== null`, browsertest.UntilItHolds)); err != nil {
		t.Fatal(err)
	}
	for _, fault := range eval[[]string](b, `window.faults`) {
		t.Errorf("%s: accessibility: %s", name, fault)
	}
}

// axe-core checks pages for accessibility (MPL 2.0). It is not part of the project; the test fetches it once.
const (
	axeURL = "https://registry.npmjs.org/axe-core/-/axe-core-4.11.0.tgz"
	axeSum = "e9e5863c33a874f09bc01acd9234b7e3c871479f5eef8802fa582544465e6d01" // SHA-256 of axe.min.js
)

// axeScript returns the checker, "" if it cannot be fetched.
func axeScript(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	file := filepath.Join(cache, "apfsim-test", "axe-"+axeSum[:12]+".js")
	text, err := os.ReadFile(file)
	if err != nil {
		if text, err = fetchAxe(); err != nil {
			t.Log(err)
			return ""
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err == nil {
			os.WriteFile(file, text, 0o666)
		}
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != axeSum {
		os.Remove(file)
		t.Fatalf("%s is not what it was: its sum is %x", axeURL, sum)
	}
	return string(text)
}

func fetchAxe() ([]byte, error) {
	answer, err := http.Get(axeURL)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", axeURL, answer.Status)
	}
	packed, err := gzip.NewReader(answer.Body)
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(packed); ; {
		header, err := files.Next()
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(header.Name, "/axe.min.js") {
			return io.ReadAll(files)
		}
	}
}
