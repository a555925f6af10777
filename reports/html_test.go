package reports

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"apfsim/core/queueset"
)

func rendersAs(t *testing.T, p Page) string {
	t.Helper()
	return string(rendered(t, func(w io.Writer) error { return WriteReport(w, p) }))
}

// What does not change from page to page is left out of the golden file.
var constant = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>|<dl class="glossary">.*?</dl>`)

func TestTheStoryAsAPage(t *testing.T) {
	r := queuedStory()
	text := rendered(t, func(w io.Writer) error { return WriteHTML(w, r) })
	golden(t, "story.html", constant.ReplaceAll(text, []byte("…")))
}

func TestReportNeedsNothingButItself(t *testing.T) {
	r := queuedStory()
	text := string(rendered(t, func(w io.Writer) error { return WriteHTML(w, r) }))
	for _, want := range []string{"2 of 3 thresholds failed", "&lt;share&gt;", "no request arrived after the warm-up",
		"default-src 'none'", "(v1.6.32)", uplotLicence} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	text = strings.ReplaceAll(text, "https://github.com/leeoniya/uPlot", "") // in the comment at the head of its script
	for _, not := range []string{"http:", "https:", " src=", "@import", "url(", "<share>", "NaN,", "ZgotmplZ"} {
		if strings.Contains(text, not) {
			t.Errorf("the page has %q", not)
		}
	}
}

func TestAPageSurvivesAnyText(t *testing.T) {
	const evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\x1b[31m\u2028"
	c := Cell{Text: evil, Margin: evil, Code: true}
	table := &Table{Name: "t", Caption: evil, Columns: []Column{{Title: evil, Left: true}, {Title: "b"}}, Rows: [][]Cell{{c, c}, {c, c}}, First: 1, Missing: evil}
	plot := &Plot{Name: "p", Title: evil, Caption: evil, X: Axis{Label: evil}, At: figures{0, 1},
		Lines: []Line{{Name: evil, Values: figures{1, math.NaN()}, Low: figures{0, math.NaN()}, High: figures{2, math.Inf(1)}}}}
	text := rendersAs(t, Page{Title: evil, Description: []string{evil}, Ran: evil, Verdict: &PageVerdict{Text: evil, Table: table},
		Findings: []Finding{{Group: evil, Subject: evil, Text: evil}}, Warnings: []string{evil}, Footer: evil,
		Sections: []Section{{Name: "s", Title: evil, Note: evil, Parts: []Part{{Heading: evil, Table: table}, {Plot: plot}}}}})
	if strings.Contains(text, "<script>alert") || strings.Contains(text, "<img") {
		t.Error("a name became an element")
	}
	if n := strings.Count(text, "</script>"); n != 2 {
		t.Errorf("%d scripts end, want 2", n)
	}
	if !strings.Contains(text, `"low":[0,null],"high":[2,null]`) {
		t.Error("the bounds of the line are not there, or are not JSON")
	}
}

// manyFlows is a run of an hour with more of everything than fits a page.
func manyFlows(flows, points, queues int) *Result {
	r := judgedStory()
	s := r.Summary
	s.DurationNs = 3600 * second
	s.Flows = nil
	for i := range flows {
		ratio := 0.9 + float64(i%300)/1000
		name := fmt.Sprintf("service-accounts/system:serviceaccount:team-%d:default", i)
		s.Flows = append(s.Flows, Flow{Group: Group{Name: name, Counts: Counts{Arrived: int64(700 + i), Rejected: int64(i % 7)},
			Wait: &Distribution{P50Ns: 1_234_567, P99Ns: 123_456_789, MaxNs: 1e9}}, PriorityLevel: "low", FlowSchema: "service-accounts",
			Hand: []int{i % 128, (i + 17) % 128, (i + 31) % 128, (i + 47) % 128, (i + 63) % 128, (i + 99) % 128}, ServiceSeatSeconds: ratio * 123.456,
			DemandSeatSeconds: 150, FairShareSeatSeconds: 123.456, Ratio: &ratio, StarvationNs: 987_654_321})
	}
	low := r.Series[2]
	low.Points, low.QueueLengths = nil, nil
	for i := range points {
		from := s.DurationNs * int64(i) / int64(points)
		low.Points = append(low.Points, Point{StartNs: from, EndNs: s.DurationNs * int64(i+1) / int64(points),
			SeatsInUse: 100 + 50*math.Sin(float64(i)), WaitingRequests: float64(i*7919%1000) / 3, CurrentLimit: 368,
			Arrived: int64(i * 31 % 977), Dispatched: int64(i * 37 % 977), Rejected: [queueset.Rejections]int64{queueset.QueueFull: int64(i % 5)}})
		lengths := make([]int32, queues)
		for q := range lengths {
			lengths[q] = int32((i + q*q) % 50)
		}
		low.QueueLengths = append(low.QueueLengths, lengths)
	}
	return r
}

func TestAReportOfManyFlowsIsModerateInSize(t *testing.T) {
	r := manyFlows(2000, 5000, 512)
	text := rendered(t, func(w io.Writer) error { return WriteHTML(w, r) })
	if len(text) > 3<<20 {
		t.Errorf("%d bytes for 2000 flows", len(text))
	}
	if n := bytes.Count(text, []byte(`<tr><th scope="row">service-accounts/`)); n != 2000 {
		t.Errorf("%d flows of 2000 in the page", n)
	}
	for _, want := range []string{"Of every 11 neighbouring values only the least and the greatest are drawn.",
		"Every 7 neighbouring intervals are drawn as one"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the page does not say: %s", want)
		}
	}
	r = manyFlows(flowsMost+1, 10, 4)
	if text := rendered(t, func(w io.Writer) error { return WriteHTML(w, r) }); !bytes.Contains(text, []byte("Left out: 1 flow, all in summary.json.")) {
		t.Error("a flow is left out without a word")
	}
}

func TestThinningKeepsEveryPeak(t *testing.T) {
	for _, n := range []int{1001, 1002, 1500, 2000, 9973} {
		p := &Plot{At: make(figures, n+1), Lines: []Line{{Values: make(figures, n+1), Low: make(figures, n+1), High: make(figures, n+1)}}}
		l := &p.Lines[0]
		for i := range p.At {
			p.At[i] = float64(i)
			l.Values[i] = float64(i * 7919 % 1009)
			if i%10 == 3 {
				l.Values[i] = math.NaN()
			}
			l.Low[i], l.High[i] = l.Values[i]-1, l.Values[i]+1
		}
		l.Values[n/3], l.Values[n/2] = 5000, -5000
		l.Low[n/2], l.High[n/3] = -6000, 6000
		thin := p.withoutPoints(1000)
		got := thin.Lines[0]
		if len(thin.At) > 1000 || len(thin.At) < 500 || len(got.Values) != len(thin.At) || len(got.Low) != len(thin.At) || len(got.High) != len(thin.At) {
			t.Fatalf("%d points become %d places, %d values", n, len(thin.At), len(got.Values))
		}
		if !slices.IsSorted(thin.At) || thin.At[0] != 0 || thin.At[len(thin.At)-1] != float64(n) {
			t.Errorf("%d points: the places are not those from 0 to %d, in order", n, n)
		}
		if !slices.Contains(got.Values, 5000) || !slices.Contains(got.Values, -5000) || !slices.Contains(got.High, 6000) || !slices.Contains(got.Low, -6000) {
			t.Errorf("%d points: a peak is lost", n)
		}
		// Each value stands near its own place.
		for i, x := range got.Values {
			if from := int(thin.At[i]); !math.IsNaN(x) && !slices.Contains(l.Values[max(0, from-25):min(n+1, from+25)], x) {
				t.Fatalf("%d points: %v at %v is from elsewhere", n, x, from)
			}
		}
		if thin.Caption == "" || p.Caption != "" || len(p.At) != n+1 {
			t.Error("thinning is not told, or changed the original")
		}
	}
	small := &Plot{At: make(figures, 1000)}
	if small.withoutPoints(1000) != small {
		t.Error("a small plot was thinned")
	}
}

func TestMergedIntervalsKeepTheLongestQueue(t *testing.T) {
	p := &Plot{At: figures{0, 1, 2, 3, 4, 5}, Queues: &QueueMap{Queues: 2, Lengths: [][]int32{{1, 9}, nil, {4, 2}, nil, nil}}}
	got := p.withoutColumns(6)
	want := "[0 2 4 5] [[1 9] [4 2] []]"
	if text := fmt.Sprint(got.At, got.Queues.Lengths); text != want {
		t.Errorf("%s, want %s", text, want)
	}
	if p.withoutColumns(10) != p {
		t.Error("a small map was merged")
	}
}

func TestFiguresAreShortAndExactEnough(t *testing.T) {
	text, err := figures{0, 1, 1.0 / 3, 1e-9, 123456789, math.NaN(), -2.5}.MarshalJSON()
	if want := "[0,1,0.333333,1e-09,1.23457e+08,null,-2.5]"; err != nil || string(text) != want {
		t.Errorf("%s (%v), want %s", text, err, want)
	}
}

func TestExceedingAgreesWithCounting(t *testing.T) {
	h := &histogram[uint64]{precision: finePrecision}
	var waits []int64
	for i := range int64(5000) {
		ns := i * i % 7001 * 1000
		waits = append(waits, ns)
		h.record(ns)
	}
	at := figures{1, 999, 1e5, 1e6, 3.3e6, 6e6, 7e6, 1e9}
	for k, got := range exceeding(h, at, 1e-6) {
		// A bucket is within 0.1 % of its values.
		more, fewer := 0, 0
		for _, ns := range waits {
			if float64(ns) > at[k]*0.999 {
				more++
			}
			if float64(ns) > at[k]*1.001 {
				fewer++
			}
		}
		if math.IsNaN(got) {
			got = 0
		}
		if got > float64(more)/5000 || got < float64(fewer)/5000 {
			t.Errorf("%v waited longer than %v, want %d to %d of 5000", got, at[k], fewer, more)
		}
	}
}

// Every statistic in the head of a column is explained, and nothing else is.
func TestGlossaryIsWhatTheTablesNeed(t *testing.T) {
	all := NewReplicator("story", 0, nil)
	for seed := range uint64(2) {
		r := queuedStory()
		r.Summary.Seed = seed
		all.Add(r.Replication())
	}
	several := all.Replications()
	c := Compare("before", several, "after", several)
	limit, err := ParseLimit("rejected.count > +5%")
	if err == nil {
		err = c.Judge([]Limit{limit})
	}
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]bool{}
	for _, p := range []Page{runPage(queuedStory()), several.page(), c.page()} {
		used := map[string]bool{}
		for _, table := range p.tables() {
			for _, c := range table.Columns {
				used[c.Term] = true
			}
			for _, row := range table.Rows {
				if len(row) != len(table.Columns) {
					t.Errorf("table %s: a row of %d cells below %d heads", table.Name, len(row), len(table.Columns))
				}
			}
		}
		delete(used, "")
		for _, term := range p.glossary() {
			explained[term.Key] = true
			delete(used, term.Key)
		}
		for key := range used {
			t.Errorf("%s is not explained", key)
		}
	}
	for _, term := range glossary {
		if !explained[term.Key] {
			t.Errorf("%s is explained and nowhere used", term.Key)
		}
	}
}

// The contrast that WCAG 2.1 wants for level AA: 4.5 for text, 3 for what else carries meaning.
func TestColoursHaveContrast(t *testing.T) {
	colours := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--(\w+): light-dark\((#\w+), (#\w+)\)`).FindAllStringSubmatch(reportStyle, -1) {
		colours[m[1]] = [2]string{m[2], m[3]}
	}
	check := func(name, on string, least float64) {
		for i, theme := range []string{"light", "dark"} {
			if got := contrast(t, colours[name][i], colours[on][i]); got < least {
				t.Errorf("%s on %s in the %s theme has a contrast of %.2f, want %v", name, on, theme, got, least)
			}
		}
	}
	for _, on := range []string{"page", "card", "hover"} {
		for _, name := range []string{"ink", "soft", "link", "good", "bad", "warn"} {
			check(name, on, 4.5)
		}
	}
	for i := range lineColours + 1 {
		check("line"+strconv.Itoa(i), "card", 3)
	}
}

func contrast(t *testing.T, a, b string) float64 {
	luminance := func(hex string) float64 {
		hex = strings.TrimPrefix(hex, "#")
		if len(hex) == 3 {
			hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
		}
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			c := float64(n) / 255
			if c <= 0.03928 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// One threshold is not all thresholds.
func TestVerdictsAgreeInNumber(t *testing.T) {
	r := &Replications{Seeds: []uint64{1, 2}}
	for n, want := range []string{"", "The threshold holds in every run", "All 2 thresholds hold in every run"} {
		if n > 0 {
			r.Thresholds = append(r.Thresholds, ReplicatedVerdict{Metric: "rejected", Expression: "rate == 0", Passed: true, Values: Values{0, 0}})
			if got := r.verdict().Text; got != want {
				t.Errorf("%d: %q, want %q", n, got, want)
			}
		}
	}
	for n, want := range map[int]string{0: "seats", 1: "seat", 2: "seats"} {
		if got := plural(n, "seat"); got != want {
			t.Errorf("%d %s", n, got)
		}
	}
	var text strings.Builder
	e := Explanation{Flow: &FlowExplanation{}, Seats: &SeatExplanation{NominalLimit: 1}}
	if err := e.WriteText(&text, false); err != nil || !strings.Contains(text.String(), "nominal limit  1 seat\n") {
		t.Errorf("%v: %s", err, text.String())
	}
}

// A hand's queues are compared by the work in them, as the server does (core/queueset).
func TestGlossaryOnHands(t *testing.T) {
	for _, term := range glossary {
		if term.Key == "hand" && !strings.Contains(term.Text, "least work waiting, in seat-seconds") {
			t.Error(term.Text)
		}
	}
}
