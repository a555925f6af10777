package evidence

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/experiment/incident"
	"apfsim/reports/result"
)

// state is what a server with one busy priority level reports at a moment.
type state struct {
	start             int64   // of the process, seconds since 1970
	ran               float64 // seconds
	served, queueFull int
	late              int // of those served, how many waited for 1 to 2 s
	limit             float64
}

// text returns the metrics, with further labels of a collector and a time in milliseconds, if there is one.
func (s *state) text(labels string, atMs int64) string {
	end := ""
	if atMs > 0 {
		end = fmt.Sprintf(" %d", atMs)
	}
	var b strings.Builder
	add := func(name, own string, value float64) {
		all := strings.Trim(own+","+labels, ",")
		fmt.Fprintf(&b, "%s{%s} %g%s\n", name, all, value, end)
	}
	const f, group = "apiserver_flowcontrol_", `flow_schema="service-accounts",priority_level="workload-low"`
	add("process_start_time_seconds", "", float64(s.start))
	add(f+"dispatched_requests_total", group, float64(s.served))
	if s.queueFull > 0 { // a counter appears with its first event
		add(f+"rejected_requests_total", group+`,reason="queue-full"`, float64(s.queueFull))
	}
	for _, le := range []string{"0", "1"} {
		add(f+"request_wait_duration_seconds_bucket", group+`,execute="true",le="`+le+`"`, float64(s.served-s.late))
	}
	for _, le := range []string{"2", "+Inf"} {
		add(f+"request_wait_duration_seconds_bucket", group+`,execute="true",le="`+le+`"`, float64(s.served))
	}
	add(f+"request_wait_duration_seconds_count", group+`,execute="true"`, float64(s.served))
	const level = `priority_level="workload-low"`
	add(f+"priority_level_seat_utilization_count", level+`,phase="executing"`, s.ran*1e9)
	add(f+"priority_level_seat_utilization_sum", level+`,phase="executing"`, s.ran*0.5e9)
	add(f+"priority_level_seat_utilization_bucket", level+`,phase="executing",le="0.99"`, s.ran*0.9e9)
	add(f+"nominal_limit_seats", level, 245)
	add(f+"current_limit_seats", level, s.limit)
	return b.String()
}

func diagnosed(t *testing.T, files ...File) *Diagnosis {
	t.Helper()
	d, err := Diagnose(context.Background(), files)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// begin is when the process of the stories started.
const begin = 1_700_000_000

// Two scrapes, a minute apart: 600 requests were served and 6 rejected in between, the first ones of the process.
func TestTwoScrapes(t *testing.T) {
	before, after := state{begin, 100, 1000, 0, 0, 245}, state{begin, 160, 1600, 6, 60, 245}
	d := diagnosed(t, textFile("a", before.text("", 0)), textFile("b", after.text("", 0)))
	v := d.Verdict
	if v.Status != result.Harm || len(v.Harmed) != 1 || v.Harmed[0].Sent != 606 || v.Harmed[0].NotServed.Rejected != 6 {
		t.Errorf("got %s and %+v, want harm, and 6 of 606 rejected", v.Status, v.Harmed)
	}
	s := d.Schemas[0]
	if s.Rate == nil || *s.Rate != 10.1 || *s.WaitP99[0] != 1 || *s.WaitP99[1] != 2 {
		t.Errorf("got %+v, want 10.1 requests per second and a wait p99 of 1 to 2 s", s)
	}
	if l := d.Levels[0]; *l.Used != 0.5 || *l.Full < 0.0999 || *l.Full > 0.1001 {
		t.Errorf("got %+v, want half of the seats used and the level full for a tenth of the time", l)
	}
	if d.From != "2023-11-14T22:15:00Z" || d.To != "2023-11-14T22:16:00Z" {
		t.Errorf("got %s to %s, want the times of the scrapes, which follow from how long the process ran", d.From, d.To)
	}
	other := diagnosed(t, textFile("b", after.text("", 0)), textFile("a", before.text("", 0)))
	if other.Verdict.Sentence != v.Sentence || !slices.ContainsFunc(other.warnings, func(w string) bool { return strings.Contains(w, "another order") }) {
		t.Errorf("in the wrong order: got %q and %q, want the same and a warning", other.Verdict.Sentence, other.warnings)
	}
}

// The same scrape twice is one, and one scrape says only what happened since the start of the process.
func TestOneScrape(t *testing.T) {
	s := state{begin, 160, 1600, 6, 60, 245}
	d := diagnosed(t, textFile("a", s.text("", 0)), textFile("b", s.text("", 0)))
	if !strings.Contains(d.Verdict.Sentence, "6 of the 1606 requests of workload-low were rejected since the start of the server") || len(d.warnings) != 1 {
		t.Errorf("got %q and %q", d.Verdict.Sentence, d.warnings)
	}
	if !slices.ContainsFunc(d.unknown, func(text string) bool { return strings.HasPrefix(text, "When it happened") }) {
		t.Errorf("got %q, want that it is not known when it happened", d.unknown)
	}
}

// Behind one address there are two servers, of which each answered once. Their counters have nothing to do with each other.
func TestScrapesOfTwoServersAreNotSubtracted(t *testing.T) {
	a, b := state{begin, 100, 1000, 0, 0, 245}, state{begin + 5000, 160, 1600, 0, 0, 245}
	d := diagnosed(t, textFile("a", a.text("", 0)), textFile("b", b.text("", 0)))
	if d.Verdict.Status != result.Unknown || !strings.Contains(d.Verdict.Sentence, "different processes") {
		t.Errorf("got %s %q, want unknown", d.Verdict.Status, d.Verdict.Sentence)
	}
	if len(d.Schemas) != 2 || d.Schemas[0].Instance == d.Schemas[1].Instance {
		t.Errorf("got %+v, want a row for each server", d.Schemas)
	}
	b.queueFull = 600
	if d = diagnosed(t, textFile("a", a.text("", 0)), textFile("b", b.text("", 0))); d.Verdict.Status != result.Harm || !strings.Contains(d.Verdict.Sentence, "at server 2") {
		t.Errorf("got %s %q, want harm at one of them", d.Verdict.Status, d.Verdict.Sentence)
	}
}

// series is 10 minutes of samples, of which the fourth interval has rejections.
func overTime() (all []state) {
	for i := range 20 {
		s := state{begin, 100 + 30*float64(i), 1000 + 300*i, 0, 0, 245}
		if i >= 4 {
			s.queueFull = 30
		}
		all = append(all, s)
	}
	return all
}

func atMs(s *state) int64 { return begin*1000 + int64(s.ran*1000) }

// The same series, in every form in which people have it, gives the same answer: when, to one interval.
func TestSeriesInEveryForm(t *testing.T) {
	const labels = `instance="10.0.0.1:443",job="apiserver"`
	var prometheus, openMetrics, dump string
	var scrapes []File
	values := map[string][]string{}
	for _, s := range overTime() {
		scrapes = append(scrapes, textFile(fmt.Sprint(s.ran), s.text("", 0)))
		prometheus += s.text(labels, atMs(&s))
		for line := range strings.Lines(s.text(labels, 0)) {
			name, rest, _ := strings.Cut(strings.TrimSpace(line), "{")
			own, value, _ := strings.Cut(rest, "} ")
			openMetrics += fmt.Sprintf("%s{%s} %s %d.0\n", name, own, value, atMs(&s)/1000)
			dump += fmt.Sprintf("{__name__=%q, %s} %s %d\n", name, strings.ReplaceAll(own, `",`, `", `), value, atMs(&s))
			values[name+"{"+own] = append(values[name+"{"+own], fmt.Sprintf("[%d,%q]", atMs(&s)/1000, value))
		}
	}
	var list []string
	for key, all := range values {
		name, own, _ := strings.Cut(key, "{")
		metric := []string{fmt.Sprintf(`"__name__":%q`, name)}
		for _, pair := range strings.Split(own, ",") {
			label, value, _ := strings.Cut(pair, "=")
			metric = append(metric, fmt.Sprintf("%q:%s", label, value))
		}
		list = append(list, fmt.Sprintf(`{"metric":{%s},"values":[%s]}`, strings.Join(metric, ","), strings.Join(all, ",")))
	}
	slices.Sort(list)
	array := "[" + strings.Join(list, ",") + "]"
	first := diagnosed(t, textFile("p", prometheus))
	want := "0.524 % of the 5730 requests of workload-low were rejected between 2023-11-14T22:16:30Z and 2023-11-14T22:17:00Z (queue-full)."
	if first.Verdict.Status != result.Harm || first.Verdict.Sentence != want {
		t.Errorf("got %s %q, want harm %q", first.Verdict.Status, first.Verdict.Sentence, want)
	}
	for _, form := range []struct {
		what string
		kind incident.Kind
		file File
	}{
		{"OpenMetrics", incident.Metrics, textFile("o", openMetrics+"# EOF\n")}, {"a dump of the database", incident.TSDBDump, textFile("d", dump)},
		{"query_range", incident.QueryRange, textFile("q", `{"status":"success","data":{"resultType":"matrix","result":`+array+`}}`)},
		{"promtool query range -o json", incident.QueryRange, textFile("a", array)},
	} {
		d := diagnosed(t, form.file)
		if form.file.Kind != form.kind || d.Verdict.Sentence != first.Verdict.Sentence || d.From != first.From || d.To != first.To || !slices.Equal(d.Sources[0].Instances, []string{"10.0.0.1:443"}) {
			t.Errorf("%s: got %s, %q, want %q", form.what, form.file.Kind, d.Verdict.Sentence, first.Verdict.Sentence)
		}
	}
	slices.Reverse(scrapes)
	if d := diagnosed(t, scrapes...); d.Verdict.Sentence != first.Verdict.Sentence {
		t.Errorf("scrapes in any order: got %q, want %q", d.Verdict.Sentence, first.Verdict.Sentence)
	}
}

// A server that restarts counts from 0 again: what it had counted since the sample before is lost, and nothing is negative.
func TestRestartInASeries(t *testing.T) {
	text := ""
	for i, s := range overTime() {
		at := atMs(&s)
		if s.queueFull = 0; i >= 10 {
			s.start, s.served, s.ran = begin+400, 300*(i-9), float64(30*(i-9))
		}
		text += s.text(`instance="a"`, at)
	}
	d := diagnosed(t, textFile("a", text))
	if d.Verdict.Status != result.Unknown || d.Verdict.Causes[0].Kind != result.ByStoppedServer || *d.Schemas[0].Requests != 300*19 {
		t.Errorf("got %s %q and %+v, want unknown, a restart, and 5700 requests", d.Verdict.Status, d.Verdict.Sentence, d.Schemas)
	}
}

// Two servers in one file are shown apart.
func TestServersAreShownApart(t *testing.T) {
	text := ""
	for _, s := range overTime() {
		idle := s
		idle.queueFull = 0
		text += s.text(`instance="a"`, atMs(&s)) + idle.text(`instance="b"`, atMs(&s))
	}
	text = strings.ReplaceAll(text, "utilization_bucket", "utilization_other") // full all the time, as no bucket says otherwise
	d := diagnosed(t, textFile("a", text))
	if !strings.Contains(d.Verdict.Causes[0].Sentence, "At the other server it used at most 50 % of its seats") {
		t.Errorf("got %q, want that the other server is idle", d.Verdict.Causes[0].Sentence)
	}
	if !strings.Contains(d.Verdict.Sentence, "workload-low at a ") || len(d.Levels) != 2 || len(d.Sources[0].Instances) != 2 {
		t.Errorf("got %q, %+v and %+v, want harm at a, and a row for each", d.Verdict.Sentence, d.Levels, d.Sources)
	}
}

// What cannot be used is said as people can act on it.
func TestMetricsThatCannotBeUsed(t *testing.T) {
	for _, c := range []struct{ content, want string }{
		{"kubelet_running_pods 3\n", "has no metric of flow control: it has those of a kubelet"},
		{"up 1\n", "has no metric of flow control; want what kube-apiserver serves"},
		{"apiserver_flowcontrol_x{a=\"b\"} 1\napiserver_flowcontrol_x{a=\"b\n", "is not the text of /metrics"},
		{"# TYPE x counter\n" + strings.Repeat("x", 2<<20), "is not the text of /metrics"},
		{`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"up"`, "is not complete JSON"},
		{`{"status":"success","data":{"resultType":"matrix","result":[]}}`, "has no series"},
		{`[{"metric":{"instance":"a"},"values":[[1,"2"]]}]`, "has series without a name"},
		{`[{"metric":{"__name__":"up"},"values":[[1,"2"]]}]`, "has no series of flow control"},
		{"{__name__=\"apiserver_flowcontrol_x\"} 1 2\n{__name__=\"apiserver_flowcontrol_x\"} 1\n", "line 2: want a value and milliseconds"},
	} {
		_, err := Diagnose(context.Background(), []File{textFile("f", c.content)})
		if err == nil || !strings.Contains(err.Error(), "f: "+c.want) {
			t.Errorf("%.60q: got %v, want %q", c.content, err, c.want)
		}
	}
}

// A Prometheus is asked for the samples that it has scraped, and for nothing else.
func TestAskPrometheus(t *testing.T) {
	queries := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/api/v1/query" {
			t.Errorf("got %s %s", r.Method, r.URL.Path)
		}
		queries++
		name, _, _ := strings.Cut(r.URL.Query().Get("query"), "[")
		name, _, _ = strings.Cut(name, "{")
		var series []any
		for _, s := range overTime() {
			for line := range strings.Lines(s.text("", 0)) {
				if metric, rest, _ := strings.Cut(line, "{"); metric == name {
					labels, value, _ := strings.Cut(strings.TrimSpace(rest), "} ")
					of := map[string]string{"__name__": name, "instance": "a"}
					for _, pair := range strings.Split(labels, ",") {
						label, text, _ := strings.Cut(pair, "=")
						of[label] = strings.Trim(text, `"`)
					}
					series = append(series, map[string]any{"metric": of, "values": [][]any{{atMs(&s) / 1000, value}}})
				}
			}
		}
		if series == nil {
			series = []any{}
		}
		json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": "matrix", "result": series}})
	}))
	defer server.Close()
	p := Prometheus{URL: server.URL, From: time.Unix(begin, 0), To: time.Unix(begin+3600, 0)}
	files, err := p.Ask(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if d := diagnosed(t, files...); queries != len(selectors) || d.Schemas[0].Rejected["queue-full"] != 30 {
		t.Errorf("got %d queries, %q and %+v, want 30 rejections", queries, d.Verdict.Sentence, d.Schemas)
	}
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>log in</html>") }))
	defer login.Close()
	for url, want := range map[string]string{"prometheus:9090": "want the URL of Prometheus", login.URL: "is a page, which a proxy or a login may have sent"} {
		p.URL = url
		if _, err := p.Ask(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", url, err, want)
		}
	}
}

// Who asks only for the dispatched requests is not told that none was rejected.
func TestChosenSeriesDoNotTellWhatIsMissing(t *testing.T) {
	d := diagnosed(t, textFile("f", `[{"metric":{"__name__":"apiserver_flowcontrol_dispatched_requests_total","priority_level":"workload-low","flow_schema":"a"},"values":[[1,"0"],[61,"1000"]]}]`))
	if d.Verdict.Status != result.Unknown || !strings.Contains(d.Verdict.Sentence, "do not say whether requests were rejected") {
		t.Errorf("got %s %q, want unknown", d.Verdict.Status, d.Verdict.Sentence)
	}
}

// An excerpt of metrics has the rejected requests only, as people send it. That they were all is not said.
func TestRejectionsWithoutWhatWasDispatched(t *testing.T) {
	d := diagnosed(t, textFile("m", `apiserver_flowcontrol_rejected_requests_total{flow_schema="service-accounts",priority_level="workload-low",reason="time-out"} 100`+"\n"))
	want := "100 requests of workload-low were rejected since the start of the server (time-out); of how many is not in these metrics."
	if v := d.Verdict; v.Status != result.Warning || v.Sentence != want || v.Harmed[0].Sent != 0 || d.Schemas[0].Requests != nil {
		t.Errorf("got %s %q, %+v, %+v; want a warning, and %q", v.Status, v.Sentence, v.Harmed, d.Schemas, want)
	}
}

func FuzzMetrics(f *testing.F) {
	s := state{begin, 100, 1000, 5, 0, 245}
	f.Add(s.text("", 0), s.text("", 0))
	f.Add(s.text(`instance="a"`, 1700000000000), "x NaN\n")
	f.Add(`[{"metric":{"__name__":"apiserver_flowcontrol_x","priority_level":"a"},"values":[[1,"2"]]}]`, "{__name__=\"apiserver_flowcontrol_rejected_requests_total\"} 1 2\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		if d, err := Diagnose(context.Background(), []File{textFile("a", a), textFile("b", b)}); err == nil && d.Document() == nil {
			t.Error("no document")
		}
	})
}
