package reports_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"apfsim/experiment/tune"
	"apfsim/reports/render"
	"apfsim/sim/scenario/loader"
)

// answered returns the answer of a search with some kinds of changes on a scenario of the tests of tune.
func answered(t *testing.T, kinds ...string) *tune.Answer {
	t.Helper()
	all, mistakes := loader.Load(os.DirFS("../experiment/tune/testdata"), "5-wide-lists.yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	a, err := tune.Run(t.Context(), tune.Options{Scenario: all[0], Kinds: kinds, Probability: 0.8, Confidence: 0.8, Budget: 400})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What a reader must see of an answer without scrolling, on a screen of 1440 × 900: sentences on what is missing.
const missingOfAnswer = `(() => {
  const missing = [], inSight = e => e && e.getBoundingClientRect().bottom <= 900;
  for (const [what, selector] of [["the answer", ".answer b"], ["the proof", ".why li"], ["the picture", ".picture"], ["the goals", "#table-goals"],
    ["who gains and who loses", "#table-effects"], ["what changes", "#table-what-changes"]])
    if (!inSight(document.querySelector(selector))) missing.push(what);
  return missing;
})()`

// The decision is on the first screen of a page of an answer, whether a change was found or none suffices; the folded page is at
// most two screens high, four on a telephone; and a checker finds nothing serious that would keep anyone from reading it.
func TestPageOfAnAnswerInABrowser(t *testing.T) {
	b := newBrowser(t)
	axe := axeScript(t)
	for _, page := range []struct {
		status string
		*tune.Answer
	}{{"CHANGE", answered(t, "queues")}, {"NONE SUFFICES", answered(t, "flowschemas")}} {
		status, a := page.status, page.Answer
		b.openFolded(func(w io.Writer) error { return render.HTML(w, a.Document()) })
		if got := eval[string](b, `document.querySelector(".answer b").textContent`); got != status {
			t.Errorf("the page says %s, want %s", got, status)
		}
		for _, size := range []struct{ width, height, screens int64 }{{390, 844, 4}, {1440, 900, 2}} {
			b.Do(chromedp.EmulateViewport(size.width, size.height))
			if height := eval[int64](b, `document.documentElement.scrollHeight`); height > size.screens*size.height {
				t.Errorf("%s: at %d × %d the folded page has %d pixels", status, size.width, size.height, height)
			}
			b.fits(t, status, size.width)
		}
		if missing := eval[[]string](b, missingOfAnswer); len(missing) > 0 {
			t.Errorf("%s: the first screen does not have %s", status, strings.Join(missing, ", "))
		}
		for _, scheme := range []string{"light", "dark"} {
			b.prefer(scheme)
			b.accessible(t, status+", "+scheme, axe)
		}
	}
	b.NoComplaints()
	if axe == "" {
		t.Skip("axe-core cannot be fetched, so that accessibility is not checked")
	}
}
