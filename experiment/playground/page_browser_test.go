package playground

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// axe returns the source of axe-core.
func axe(t *testing.T) string {
	t.Helper()
	packed, err := os.ReadFile("testdata/axe/axe.min.js.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	source, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// withAxe puts axe-core into each document that the browser opens from now on: the page, and the reports in its frames. The
// frames of the page have no origin by which axe-core could recognise them.
func (b *browser) withAxe() {
	b.T.Helper()
	source := axe(b.T) + `; axe.configure({ allowedOrigins: ["<unsafe_all_origins>"] });`
	if _, err := chromedp.Call(b.Ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: source}); err != nil {
		b.T.Fatal(err)
	}
}

// violations returns what axe-core finds on the page as it is, and on the reports in its frames.
func (b *browser) violations() []string {
	b.T.Helper()
	b.script(`window.found = null; axe.run(document, { resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then(r => { window.found = r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + n.target.flat().join(" ") + ": " + n.failureSummary)) }, e => { window.found = [String(e)] })`)
	b.WaitFor(`window.found !== null`)
	return eval[[]string](b, `window.found`)
}

// All files of the page together are small enough for a connection that is slow.
func TestPageIsSmall(t *testing.T) {
	wasmPage(t)
	const most = 8_000_000
	var packed bytes.Buffer
	total := 0
	err := filepath.WalkDir(*built, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		packed.Reset()
		z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		z.Write(text)
		z.Close()
		total += packed.Len()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("%d bytes with gzip", total); total > most {
		t.Errorf("the page has %d bytes with gzip; want at most %d", total, most)
	}
}

// The page fits screens of both widths, in both colours, and has no barrier that a program can find, with everything open:
// names, roles, the order of headings, contrast. The check finds one that is made.
func TestPageFitsInABrowser(t *testing.T) {
	url := wasmPage(t)
	b := newBrowser(t)
	b.withAxe()
	for _, scheme := range []string{"light", "dark"} {
		b.prefer(scheme)
		b.Do(chromedp.EmulateViewport(1280, 844))
		b.open(url)
		b.script(`{ const t = document.querySelector("#picture .time"); t.value = 500; t.dispatchEvent(new Event("input")) }`)
		b.shoot(scheme + "-1280")
		b.Do(chromedp.EmulateViewport(390, 844))
		b.shoot(scheme + "-390")
		b.script(`document.querySelectorAll("details").forEach(d => { d.open = true }); document.querySelector("#keep").click(); document.querySelector("#seeds").value = 1; document.querySelector("#comparing").click()`)
		b.WaitFor(`!document.querySelector("#compare .film").hidden && document.querySelector("#status").textContent === "Done."`)
		b.script(`document.querySelector("#explain form button").click(); document.querySelector("#collisions form button").click()`)
		b.WaitFor(`document.querySelector("#explain pre").textContent !== "" && document.querySelector("#collisions pre").textContent.includes("128") && document.querySelector("#status").textContent === "Done."`)
		for _, width := range []int64{390, 1280} {
			b.Do(chromedp.EmulateViewport(width, 844))
			b.WaitFor(fmt.Sprintf(`innerWidth === %d`, width))
			if wide := eval[int64](b, `document.documentElement.scrollWidth`); wide > width {
				t.Errorf("%s: the page is %d pixels wide, the screen %d", scheme, wide, width)
			}
			for _, v := range b.violations() {
				t.Errorf("%s, %d pixels: %s", scheme, width, v)
			}
			b.shoot(fmt.Sprintf("%s-%d-open", scheme, width))
		}
	}
	b.script(`document.querySelector("#seed").labels[0].remove(); document.querySelector("#seed").placeholder = ""`)
	b.script(`document.querySelector("#report iframe").contentDocument.body.prepend(document.createElement("input"))`)
	for _, part := range []string{"#seed", "iframe"} {
		if !slices.ContainsFunc(b.violations(), func(v string) bool { return strings.HasPrefix(v, "label: ") && strings.Contains(v, part) }) {
			t.Errorf("a field without a label in %s is not found", part)
		}
	}
	b.NoComplaints()
}
