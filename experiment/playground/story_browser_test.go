package playground

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"apfsim/scenarios"
)

var wholeLibrary = flag.Bool("library", false, "compare every scenario of the library with at most 500000 requests")

// prefer sets the colours that the system would.
func (b *browser) prefer(scheme string) {
	b.T.Helper()
	if _, err := chromedp.Call(b.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
		b.T.Fatal(err)
	}
}

// script runs a script in the page.
func (b *browser) script(script string) {
	b.T.Helper()
	b.Do(chromedp.Evaluate[chromedp.Void](script))
}

// idle waits until nothing runs and something was run.
func (b *browser) idle() {
	b.T.Helper()
	b.WaitFor(`document.querySelector("#cancel").hidden && document.querySelector("#status").textContent.startsWith("Simulated")`)
}

// told are the numbers of a workload that the story shows.
type told struct{ rejected, wait string }

// move moves the control of a step, and returns what the story then says of the elephants and of the mice.
func (b *browser) move(to string) (elephants, mice told) {
	b.T.Helper()
	b.script(`document.querySelector("#status").textContent = ""; { const r = document.querySelector(".move input"); r.value = "` + to + `"; r.dispatchEvent(new Event("input")); r.dispatchEvent(new Event("change")); }`)
	b.idle()
	rows := eval[[][]string](b, `[...document.querySelectorAll("#story-result tbody tr")].map(r => [...r.cells].map(c => c.textContent))`)
	if len(rows) != 2 || len(rows[0]) != 5 || rows[0][0] != "elephants" || rows[1][0] != "mice" {
		b.T.Fatalf("the story says %q", rows)
	}
	return told{rows[0][2], rows[0][4]}, told{rows[1][2], rows[1][4]}
}

// shareOf reads a share such as 12.3 %.
func shareOf(t *testing.T, text string) (share float64) {
	t.Helper()
	if _, err := fmt.Sscanf(text, "%g %%", &share); err != nil {
		t.Fatalf("%q is no share", text)
	}
	return share
}

// A person can follow the first story, and what each step says is what happens.
func TestFirstStoryInABrowser(t *testing.T) {
	url := wasmPage(t)
	b := newBrowser(t)
	b.prefer("light")
	b.Do(chromedp.EmulateViewport(1280, 900))
	b.open(url)
	next := func(step int) {
		b.script(`document.querySelector("#status").textContent = ""; document.querySelector("#story-next").click()`)
		b.WaitFor(fmt.Sprintf(`document.querySelector("#story-step").textContent.includes("step %d of 8")`, step))
		b.idle()
	}
	const none = "less than 1 ms"
	if _, mice := b.move("30"); mice.rejected != "0 %" || mice.wait != none {
		t.Errorf("seats: the mice: %v", mice)
	}
	next(2)
	if _, mice := b.move("150"); shareOf(t, mice.rejected) < 10 {
		t.Errorf("one queue: the mice: %v", mice)
	}
	next(3)
	_, one := b.move("12")
	if share := shareOf(t, one.rejected); share == 0 || share > 20 {
		t.Errorf("a queue each: the mice: %v", one)
	}
	next(4)
	if _, hand := b.move("3"); hand.rejected != "0 %" {
		t.Errorf("hands: the mice: %v", hand)
	}
	b.script(`document.querySelector("#picture .time").value = 600; document.querySelector("#picture .time").dispatchEvent(new Event("input")); document.querySelector("#flow").value = "mice"; document.querySelector("#follow").click()`)
	if text := eval[string](b, `document.querySelector("#followed").textContent`); !strings.Contains(text, " of mice ") || !strings.Contains(text, "in its hand") || !strings.Contains(text, "got a seat at ") {
		t.Errorf("the followed request: %s", text)
	}
	b.shoot("story-4")
	next(5)
	if _, mice := b.move("4"); shareOf(t, mice.rejected) == 0 {
		t.Errorf("elephants: the mice: %v", mice)
	}
	next(6)
	if elephants, _ := b.move("60"); shareOf(t, elephants.rejected) < 50 || !strings.HasSuffix(elephants.wait, " s") {
		t.Errorf("long queues: the elephants: %v", elephants)
	}
	next(7)
	if elephants, mice := b.move("100"); elephants.rejected != "0 %" || elephants.wait != none || mice.wait != none {
		t.Errorf("seats: %v, %v", elephants, mice)
	}
	b.NoComplaints()
}

// ranInPage runs a scenario as the page does, and returns the answer without its page.
func (b *browser) ranInPage(arguments Running) (ran Ran) {
	b.T.Helper()
	b.script(`window.ran = null; import("./engine.js").then(m => m.engine.call("run", ` + asJSON(b.T, arguments) + `, () => {}, new AbortController().signal)).then(a => { a.page = ""; window.ran = JSON.stringify(a) }, e => { window.ran = JSON.stringify({errors: [{message: String(e)}]}) })`)
	b.WaitFor(`window.ran !== null`)
	text := eval[string](b, `window.ran`)
	if all := errorsOf(b.T, []byte(text)); len(all) > 0 {
		b.T.Fatal(all)
	}
	if err := json.Unmarshal([]byte(text), &ran); err != nil {
		b.T.Fatal(err)
	}
	return ran
}

// A browser makes the same decisions as the program, and keeps no worker of a run that has ended.
func TestFingerprintsInABrowser(t *testing.T) {
	url := wasmPage(t)
	b := newBrowser(t)
	b.open(url)
	names := []string{"finalizer-story", "zero-shares", "lent-seats", "webhook-deadlock"}
	if *wholeLibrary {
		names = scenarios.Names()
	}
	compared := 0
	for _, name := range names {
		var text Text
		callInto(t, "scenario", asJSON(t, Named{name}), &text)
		all, err := (&Setting{Text: text.Text}).load()
		if err != nil {
			t.Fatal(err)
		}
		for _, sc := range all {
			arguments := Running{Setting: Setting{Text: text.Text, Name: sc.Metadata.Name}, Recording: Window{Requests: 100}}
			var native Ran
			callInto(t, "run", asJSON(t, arguments), &native)
			arrived := int64(0)
			for _, w := range native.Workloads {
				arrived += w.Arrived
			}
			if arrived > 500_000 {
				t.Logf("%s has %d requests", sc.Metadata.Name, arrived)
				continue
			}
			compared++
			native.Page = ""
			if ran := b.ranInPage(arguments); asJSON(t, ran) != asJSON(t, native) {
				t.Errorf("%s: in the browser %s, natively %s", sc.Metadata.Name, ran.Fingerprint, native.Fingerprint)
			}
		}
	}
	t.Logf("compared %d scenarios", compared)
	for asked := 1; ; asked++ { // a browser ends a worker some time after it was told to
		targets, err := chromedp.Targets(b.Ctx)
		if err != nil {
			t.Fatal(err)
		}
		workers := 0
		for _, target := range targets {
			if target.Type == "worker" {
				workers++
			}
		}
		if workers <= 2 {
			t.Logf("asked %d times", asked)
			break
		}
		if asked == 100_000 {
			t.Fatalf("%d workers are left; want that of short calls and that of the next run", workers)
		}
	}
	b.NoComplaints()
}

// Texts of strangers are shown as texts, and stop nothing: in a scenario, in a dropped file and in a link.
func TestHostileTextsInABrowser(t *testing.T) {
	url := wasmPage(t)
	b := newBrowser(t)
	b.open(url)
	const attack = `<img src=x onerror='top.hacked=1'><script>top.hacked=1</script>`
	text := strings.NewReplacer("  description: >-\n", "  description: >-\n    "+attack+"\n", "name: Mice,", `name: "`+attack+`",`, "elephant-{i}/web", `elephant-{i}/web"></style><script>top.hacked=1</script>`).Replace(storyText(t))
	text = strings.Replace(text, `as: {serviceAccount: "elephant-{i}/web"></style><script>top.hacked=1</script>"}`, `as: {user: "`+attack+`", groups: ["system:serviceaccounts"]}`, 1)
	drop := func(name, content string) {
		b.script(`document.querySelector("#dropped").textContent = ""; { const d = new DataTransfer(); d.items.add(new File([` + asJSON(t, content) + `], "` + name + `")); document.dispatchEvent(new DragEvent("drop", { dataTransfer: d, bubbles: true, cancelable: true })); }`)
		b.WaitFor(`document.querySelector("#dropped").textContent !== ""`)
	}
	b.script(`document.querySelector("#status").textContent = ""`)
	drop("scenario.yaml", strings.Replace(text, "  - name: elephants\n", "  - name: elephants\n    start: 0s\n", 1))
	if said := eval[string](b, `document.querySelector("#dropped").textContent`); !strings.Contains(said, "is a scenario") {
		t.Errorf("the page says %q", said)
	}
	b.WaitFor(`document.querySelector("#cancel").hidden`)
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	for name, content := range map[string]string{
		"bomb.yaml": bomb, "deep.yaml": strings.Repeat("[", 100_000), "binary": "\x00\xff\xfe", "empty": "",
		"log.jsonl": `{"kind":"Event","apiVersion":"audit.k8s.io/v1","requestURI":"` + attack + `"}`,
		"deep.log":  `{"auditID":` + strings.Repeat(`{"a":`, 100_000),
		"objects":   "apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: FlowSchema\nmetadata: {name: \"" + attack + "\"}\n",
	} {
		drop(name, content)
		if said := eval[string](b, `document.querySelector("#dropped").textContent`); !strings.Contains(said, "cannot be used") {
			t.Errorf("%s: the page says %q", name, said)
		}
	}
	hostile := strings.NewReplacer("kubectl/v1.37.0", attack, "node-7", `</script>`+attack, "service-accounts", "]]>"+attack).Replace(logOf(t, "audit.log"))
	b.script(`document.querySelector("#status").textContent = ""`)
	drop("<img src=x onerror=top.hacked=1>.log", hostile)
	if said := eval[string](b, `document.querySelector("#dropped").textContent`); !strings.Contains(said, "of which this scenario replays") {
		t.Errorf("the page says %q", said)
	}
	b.WaitFor(`document.querySelector("#cancel").hidden`)
	if hash := eval[string](b, `location.hash`); hash != "" {
		t.Errorf("after a log, the address has %s", hash)
	}
	for _, link := range []string{"#AAAA", "#%%%", "#" + strings.Repeat("A", 10_000)} {
		b.Do(chromedp.Navigate("about:blank"))
		b.open(url + link)
	}
	if eval[bool](b, `"hacked" in window`) {
		t.Error("a script of a text was run")
	}
	b.NoComplaints()
}

// A log is read with what is dropped beside it, and again with the controls: the configuration, the metrics, the time zone
// and the fit.
func TestLogInABrowser(t *testing.T) {
	url := wasmPage(t)
	b := newBrowser(t)
	b.open(url)
	// said returns what the page says of the files, after the run of a log.
	said := func() string {
		b.WaitFor(`document.querySelector("#dropped").textContent !== ""`)
		text := eval[string](b, `document.querySelector("#dropped").textContent`)
		if strings.Contains(text, "this scenario") {
			b.idle()
		}
		return text
	}
	drop := func(names ...string) string {
		var add strings.Builder
		for _, name := range names {
			text := clusterObjects
			if name != "objects.yaml" {
				text = logOf(t, name)
			}
			fmt.Fprintf(&add, `d.items.add(new File([%s], %q, { lastModified: Date.UTC(2026, 9, 3) }));`, asJSON(t, text), name)
		}
		b.script(`document.querySelector("#dropped").textContent = document.querySelector("#status").textContent = ""; { const d = new DataTransfer(); ` + add.String() + ` document.dispatchEvent(new DragEvent("drop", { dataTransfer: d, bubbles: true, cancelable: true })); }`)
		return said()
	}
	again := func(change string) string {
		b.script(`document.querySelector("#dropped").textContent = document.querySelector("#status").textContent = ""; ` + change + `; document.querySelector("#again").click()`)
		return said()
	}
	read := func() string { return eval[string](b, `document.querySelector("#imported pre").textContent`) }
	const replays, yours = "of which this scenario replays", "The configuration is that of your cluster."
	if said := drop("metrics.txt"); !strings.Contains(said, "drop both together") {
		t.Errorf("metrics alone: %q", said)
	}
	if said := drop("kube-apiserver.log"); !strings.Contains(said, replays) || strings.Contains(said, yours) || strings.Contains(read(), "metrics.txt") {
		t.Errorf("a log: %q\n%s", said, read())
	}
	if said := drop("objects.yaml"); !strings.Contains(said, replays) || !strings.Contains(said, yours) {
		t.Errorf("objects after the log: %q", said)
	}
	if said := drop("metrics.txt"); !strings.Contains(said, yours) || !strings.Contains(read(), "metrics.txt") {
		t.Errorf("metrics after the log: %q\n%s", said, read())
	}
	from := func() string { return eval[string](b, `document.querySelector("#description").textContent`) }
	utc := from()
	again(`document.querySelector("#zone").value = "-02:00"`)
	if zoned := from(); zoned == utc {
		t.Errorf("in both zones: %s", zoned)
	}
	if said := again(`document.querySelector("#zone").value = "noon"`); !strings.Contains(said, "cannot be used: the time zone") {
		t.Errorf("a wrong time zone: %q", said)
	}
	if said := again(`document.querySelector("#zone").value = ""; document.querySelector("#fit").checked = true`); !strings.Contains(said, "to which this scenario is fitted") || !strings.Contains(read(), "The fitted scenario has") {
		t.Errorf("the fit: %q\n%s", said, read())
	}
	if said := drop("audit.log", "objects.yaml", "metrics.txt"); !strings.Contains(said, "is fitted") || !strings.Contains(said, yours) || !strings.Contains(read(), "metrics.txt") {
		t.Errorf("all together: %q\n%s", said, read())
	}
	b.shoot("log")
	b.NoComplaints()
}

// A link has what is set, and leads to the same run.
func TestLinkInABrowser(t *testing.T) {
	url := wasmPage(t)
	b := newBrowser(t)
	b.open(url)
	b.script(`document.querySelector("#scenario").value = "zero-shares"; document.querySelector("#scenario").dispatchEvent(new Event("change"))`)
	b.WaitFor(`document.querySelector("#story").hidden && document.querySelector("#description").textContent.includes("zero")`)
	b.script(`document.querySelector("#status").textContent = ""; { const s = document.querySelector("#seed"); s.value = "42"; s.dispatchEvent(new Event("input")); document.querySelector("#run").click() }`)
	b.idle()
	status, link := eval[string](b, `document.querySelector("#status").textContent`), ""
	b.script(`document.querySelector("#share").click()`)
	b.WaitFor(`!document.querySelector("#status").textContent.startsWith("Simulated")`)
	link = eval[string](b, `location.hash`)
	b.Do(chromedp.Navigate("about:blank"))
	b.open(url + link)
	again := eval[string](b, `document.querySelector("#status").textContent`)
	_, want, _ := strings.Cut(status, "with seed 42.")
	if _, got, _ := strings.Cut(again, "with seed 42."); got != want || want == "" || eval[string](b, `document.querySelector("#scenario").value`) != "zero-shares" {
		t.Errorf("the link %s leads to %q, want %q", link, again, status)
	}
	b.NoComplaints()
}

// Two settings move beside each other on a wide screen, and below each other on a narrow one: one slider, the same time.
func TestComparisonInABrowser(t *testing.T) {
	url := wasmPage(t)
	b := newBrowser(t)
	b.Do(chromedp.EmulateViewport(1280, 900))
	b.open(url)
	b.script(`document.querySelector("#compare").open = true; document.querySelector("#keep").click()`)
	b.move("30")
	b.script(`document.querySelector("#seeds").value = 2; document.querySelector("#comparing").click()`)
	b.WaitFor(`document.querySelectorAll("#compare figure").length === 2 && !document.querySelector("#compare .film").hidden && document.querySelector("#status").textContent === "Done."`)
	type placed struct{ Left, Top, Width float64 }
	places := func() []placed {
		return eval[[]placed](b, `[...document.querySelectorAll("#compare canvas")].map(c => c.getBoundingClientRect()).map(r => ({left: r.left, top: r.top, width: r.width}))`)
	}
	moments := func() []string {
		return eval[[]string](b, `[...document.querySelectorAll("#compare .moment")].map(m => m.textContent)`)
	}
	at := func() (together string) {
		for i, m := range moments() {
			time, _, _ := strings.Cut(m, ":")
			if i > 0 && time != together {
				t.Errorf("the pictures show %s and %s", together, time)
			}
			together = time
		}
		return together
	}
	if got := eval[[]string](b, `[...document.querySelectorAll("#compare figcaption")].map(c => c.textContent)`); strings.Join(got, "|") != "A: first-story|B: first-story with Mice 30" {
		t.Errorf("captions %q", got)
	}
	if p := places(); p[0].Top != p[1].Top || p[1].Left < p[0].Left+p[0].Width {
		t.Errorf("on a wide screen: %v", p)
	}
	b.script(`{ const s = document.querySelector("#compare .time"); s.value = 500; s.dispatchEvent(new Event("input")) }`)
	before := at()
	if m := moments(); m[0] == m[1] {
		t.Errorf("both show %s", m[0])
	}
	b.script(`document.querySelector("#compare .step").click()`)
	after := at()
	if before == after {
		t.Errorf("a step stays at %s", after)
	}
	b.script(`document.querySelector("#compare .play").click()`)
	b.WaitFor(`!document.querySelector("#compare .moment").textContent.startsWith("` + after + `")`)
	b.script(`document.querySelector("#compare .play").click()`)
	at()
	b.shoot("comparison-1280")
	b.Do(chromedp.EmulateViewport(390, 844))
	b.WaitFor(`innerWidth === 390`)
	if p := places(); p[0].Left != p[1].Left || p[1].Top <= p[0].Top || p[0].Left+p[0].Width > 390 {
		t.Errorf("on a narrow screen: %v", p)
	}
	b.shoot("comparison-390")
	b.NoComplaints()
}
