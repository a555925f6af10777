package reports_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"apfsim/core/queueset"
	"apfsim/reports/advice"
	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/reports/scrape"
	"apfsim/sim/metric"
)

func rendersAs(t *testing.T, p *report.Document) string {
	t.Helper()
	return string(rendered(t, func(w io.Writer) error { return render.HTML(w, p) }))
}

// What does not change from page to page is left out of the golden file.
var constant = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>|<dl class="glossary">.*?</dl>`)

func TestTheStoryAsAPage(t *testing.T) {
	r := queuedStory()
	text := rendered(t, func(w io.Writer) error { return render.HTML(w, report.RunDocument(r)) })
	golden(t, "story.html", constant.ReplaceAll(text, []byte("…")))
}

func TestReportNeedsNothingButItself(t *testing.T) {
	r := queuedStory()
	text := string(rendered(t, func(w io.Writer) error { return render.HTML(w, report.RunDocument(r)) }))
	for _, want := range []string{"Thresholds: 2 of 3 failed", "&lt;share&gt;", "no request arrived after the warm-up",
		"default-src 'none'", "(v1.6.32)", render.UplotLicence} {
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
	c := report.Cell{Text: evil, Margin: evil, Code: true}
	table := &report.Table{Name: "t", Caption: evil, Columns: []report.Column{{Title: evil, Left: true}, {Title: "b"}}, Rows: [][]report.Cell{{c, c}, {c, c}}, First: 1, Missing: evil}
	plot := &report.Plot{Name: "p", Title: evil, Caption: evil, X: report.Axis{Label: evil}, At: []float64{0, 1},
		Lines: []report.Line{{Name: evil, Values: []float64{1, math.NaN()}, Low: []float64{0, math.NaN()}, High: []float64{2, math.Inf(1)}}}}
	text := rendersAs(t, &report.Document{Title: evil, Description: []string{evil}, Ran: evil, Verdict: &report.Verdict{Sentences: []string{evil}, Table: table},
		Findings: []report.Finding{{Group: evil, Subject: evil, Text: evil}}, Warnings: []string{evil}, Sources: evil,
		Sections: []report.Section{{Name: "s", Title: evil, Note: evil, Parts: []report.Part{{Heading: evil, Table: table}, {Plot: plot}}}}})
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
func manyFlows(flows, points, queues int) *result.Result {
	r := judgedStory()
	s := r.Summary
	s.DurationNs = 3600 * second
	s.Flows = nil
	for i := range flows {
		ratio := 0.9 + float64(i%300)/1000
		name := fmt.Sprintf("service-accounts/system:serviceaccount:team-%d:default", i)
		s.Flows = append(s.Flows, result.Flow{Group: result.Group{Name: name, Counts: metric.Counts{Arrived: int64(700 + i), Rejected: int64(i % 7)},
			Wait: &result.Distribution{P50Ns: 1_234_567, P99Ns: 123_456_789, MaxNs: 1e9}}, PriorityLevel: "low", FlowSchema: "service-accounts",
			Hand: []int{i % 128, (i + 17) % 128, (i + 31) % 128, (i + 47) % 128, (i + 63) % 128, (i + 99) % 128}, ServiceSeatSeconds: ratio * 123.456,
			DemandSeatSeconds: 150, FairShareSeatSeconds: 123.456, Ratio: &ratio, StarvationNs: 987_654_321})
	}
	low := r.Series[2]
	low.Points, low.QueueLengths = nil, nil
	for i := range points {
		from := s.DurationNs * int64(i) / int64(points)
		low.Points = append(low.Points, result.Point{StartNs: from, EndNs: s.DurationNs * int64(i+1) / int64(points),
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
	text := rendered(t, func(w io.Writer) error { return render.HTML(w, report.RunDocument(r)) })
	if len(text) > 3<<20 {
		t.Errorf("%d bytes for 2000 flows", len(text))
	}
	if n := bytes.Count(text, []byte(`<tr><th scope="row">service-accounts/`)); n != 2000 {
		t.Errorf("%d flows of 2000 in the page", n)
	}
	for _, want := range []string{"Of every 11 neighbouring values, the chart shows the least and the greatest.",
		"Every 7 neighbouring intervals are drawn as one"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the page does not say: %s", want)
		}
	}
	r = manyFlows(5001, 10, 4)
	if text := rendered(t, func(w io.Writer) error { return render.HTML(w, report.RunDocument(r)) }); !bytes.Contains(text, []byte("Left out: 1 flow, all in summary.json.")) {
		t.Error("a flow is left out without a word")
	}
}

// Every statistic in the head of a column is explained, and nothing else is.
func TestGlossaryIsWhatTheTablesNeed(t *testing.T) {
	all := compare.NewReplicator("story", 0, nil)
	for seed := range uint64(2) {
		r := queuedStory()
		r.Summary.Seed = seed
		all.Add(collect.NewReplication(r))
	}
	several := all.Replications()
	c := compare.Compare("before", several, "after", several)
	limit, err := compare.ParseLimit("rejected.count > +5%")
	if err == nil {
		err = c.Judge([]compare.Limit{limit})
	}
	if err != nil {
		t.Fatal(err)
	}
	runs, metrics := crowdedOn(t, "1.37", 2)
	beside := scrape.Compare("crowded", runs, between(t, nil, readScrape(t, "metrics.txt", metrics)))
	servers, _ := runServers(t, strings.Replace(threeServers, "    replicas: 3\n", "    replicas: 3\n    capacity: {cores: 4}\n    memory: {base: 1GiB}\n", 1))
	explained := map[string]bool{}
	for _, p := range []*report.Document{report.RunDocument(queuedStory()), report.RunDocument(servers), report.ReplicationsDocument(several), report.ComparisonDocument(c, false), report.BesideServerDocument(beside, false)} {
		used := map[string]bool{}
		for _, table := range p.Tables() {
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
		for _, term := range p.Glossary() {
			explained[term.Key] = true
			delete(used, term.Key)
		}
		for key := range used {
			t.Errorf("%s is not explained", key)
		}
	}
	// Those of clients with a rate limit and of leaders, which none of these results has.
	ofClients := []string{"clientLatency", "limiterWait", "neverSent", "leaderLost"}
	for _, term := range report.Glossary {
		if !explained[term.Key] && !slices.Contains(ofClients, term.Key) {
			t.Errorf("%s is explained and nowhere used", term.Key)
		}
	}
}

func TestVerdictOnSeveralRuns(t *testing.T) {
	r := &compare.Replications{Seeds: []uint64{1, 2}}
	for _, c := range []struct {
		passed bool
		want   string
	}{
		{true, "Thresholds: all hold in every run"}, {true, "Thresholds: all hold in every run"}, {false, "Thresholds: 1 of 3 failed"},
	} {
		r.Thresholds = append(r.Thresholds, compare.RunsVerdict{Metric: "rejected", Expression: "rate == 0", Passed: c.passed, Values: compare.RunValues{0, 0}})
		if got := report.ReplicationsDocument(r).Verdict.Text(); got != c.want {
			t.Errorf("%d thresholds: %q, want %q", len(r.Thresholds), got, c.want)
		}
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "seats", 1: "seat", 2: "seats"} {
		if got := format.Plural(n, "seat"); got != want {
			t.Errorf("%d %s", n, got)
		}
	}
	e := advice.Explanation{Flow: &advice.ExplainedFlow{}, Seats: &advice.ExplainedSeats{NominalLimit: 1}}
	if text := e.Text(false); !strings.Contains(text, "nominal limit  1 seat\n") {
		t.Error(text)
	}
}

// A hand's queues are compared by the work in them, as the server does (core/queueset).
func TestGlossaryOnHands(t *testing.T) {
	for _, term := range report.Glossary {
		if term.Key == "hand" && !strings.Contains(term.Text, "least work waiting, in seat-seconds") {
			t.Error(term.Text)
		}
	}
}
