package httplog

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"apfsim/core/request"
	"apfsim/internal/intern"
	"apfsim/sim/trace/serverlog"
)

var reference = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

const header = "I1121 22:53:52.476437   19222 httplog.go:134] "

// decode reads one line.
func decode(line string) (serverlog.Entry, Kind, *Decoder, error) {
	d := NewDecoder(Clock{Reference: reference}, new(intern.Table))
	var e serverlog.Entry
	kind, err := d.Text([]byte(line), time.Time{}, &e)
	return e, kind, d, err
}

// The server logs some verbs in its own way. What flow control decides by is the verb of the audit log.
func TestVerbs(t *testing.T) {
	for _, c := range []struct{ verb, uri, want string }{
		// The URI and the logged verb; the verb, group/resource/subresource, namespace and name.
		{"GET", "/api/v1/namespaces/a/pods/x", "get /pods a x"},
		{"LIST", "/api/v1/pods?limit=500", "list /pods  "},
		{"GET", "/api/v1/pods?limit=500", "list /pods  "}, // of early versions
		{"LIST", "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dx", "list /pods a x"},
		{"GET", "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dx", "list /pods a x"}, // as servers log it
		{"WATCH", "/apis/apps/v1/deployments?watch=true", "watch apps/deployments  "},
		{"GET", "/apis/apps/v1/deployments?watch=1", "watch apps/deployments  "},
		{"WATCH", "/api/v1/watch/namespaces/a/pods/x", "watch /pods a x"},
		{"POST", "/api/v1/namespaces/a/pods", "create /pods a "},
		{"POST", "/api/v1/namespaces/a/pods/x/binding", "create /pods/binding a x"},
		{"PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n", "update coordination.k8s.io/leases kube-node-lease n"},
		{"PATCH", "/api/v1/nodes/n/status", "patch /nodes/status  n"},
		{"APPLY", "/api/v1/namespaces/a/configmaps/c?fieldManager=m&force=true", "patch /configmaps a c"},
		{"DELETE", "/api/v1/namespaces/a/pods/x", "delete /pods a x"},
		{"DELETE", "/api/v1/namespaces/a/pods", "deletecollection /pods a "},
		{"DELETECOLLECTION", "/api/v1/namespaces/a/pods", "deletecollection /pods a "},
		{"CONNECT", "/api/v1/namespaces/a/pods/x/exec?command=sh", "create /pods/exec a x"},
		{"CONNECT", "/api/v1/namespaces/a/pods/x/log?follow=true", "get /pods/log a x"},
		{"CONNECT", "/api/v1/nodes/n/proxy/metrics", "get /nodes/proxy  n"},
		{"GET", "/api/v1/namespaces/a", "get /namespaces a a"},
		{"GET", "/healthz", "get /  "},
		{"GET", "/apis/apps/v1", "get /  "},
		{"HEAD", "/", "head /  "},
		{"OPTIONS", "/api/v1/pods", " /pods  "},                    // the server has no verb for it
		{"LIST", "/api/v1/pods?fieldSelector=%zz", "list /pods  "}, // the query cannot be decoded
		{"GET", "/api/v1/namespaces/a/pods/%2A/metric", "get /pods/metric a *"},
	} {
		e, kind, _, err := decode(header + `"HTTP" verb="` + c.verb + `" URI=` + strconv.Quote(c.uri) + ` latency="1ms" resp=200`)
		resource := e.APIGroup + "/" + e.Resource
		if e.Subresource != "" {
			resource += "/" + e.Subresource
		}
		if got := strings.Join([]string{e.Verb, resource, e.Namespace, e.Name}, " "); kind != Request || err != nil || got != c.want {
			t.Errorf("%s %s: got %q, want %q (kind %d, error %v)", c.verb, c.uri, got, c.want, kind, err)
		}
	}
}

// A watch holds its seats until it is initialized. What the server calls execution ends then as well.
func TestWatch(t *testing.T) {
	const line = header + `"HTTP" verb="WATCH" URI="/api/v1/pods?watch=true" latency="3s" apf_iseats=9 apf_fseats=0 %sresp=200`
	for pairs, want := range map[string]int64{
		`apf_init_latency="94ms" watchlist_init_latency="95ms" apf_execution_time="94.2ms" `: 94e6,
		`apf_execution_time="94.2ms" `:   94.2e6, // rejected during initialization, say
		`watchlist_init_latency="95ms" `: 95e6,
		``:                               serverlog.Unknown,
	} {
		e, _, _, err := decode(fmt.Sprintf(line, pairs))
		if err != nil || e.InitNs != want || e.ExecutionNs != serverlog.Unknown || e.TotalNs != 3e9 || e.Seats != 9 {
			t.Errorf("%s: %v, %+v; want InitNs %d", pairs, err, e, want)
		}
	}
}

// A wait of more than 100 ms is in the line; a connection that was taken over has no status.
func TestOtherKeys(t *testing.T) {
	e, _, _, err := decode(header + `"HTTP" verb="POST" URI="/api/v1/namespaces/a/pods" latency="2.5s" userAgent="a \"b\"\u00e9" ` +
		`contentType="application/json" audit-ID="x" srcIP="[fd00::1]:443" fl_priorityandfairness="1.5s" apf_pl="l" apf_fs="f" ` +
		`apf_iseats=1 apf_fseats=4 apf_additionalLatency="5ms" apf_execution_time="990ms" hijacked=true`)
	want := serverlog.Entry{
		Log: serverlog.HTTP, Stage: serverlog.Complete, AuditID: "x",
		ArrivalNs: time.Date(2026, 11, 21, 22, 53, 49, 976437000, time.UTC).UnixNano(),
		StageNs:   time.Date(2026, 11, 21, 22, 53, 52, 476437000, time.UTC).UnixNano(),
		UserAgent: `a "b"é`, SourceIP: "fd00::1", Verb: "create", Resource: "pods", Namespace: "a", Path: "/api/v1/namespaces/a/pods",
		Status: 101, WaitNs: 1.5e9, TotalNs: 2.5e9, ExecutionNs: 990e6, InitNs: serverlog.Unknown, WebhookNs: serverlog.Unknown, EtcdNs: serverlog.Unknown, SendingNs: serverlog.Unknown,
		FlowSchema: "f", PriorityLevel: "l", Seats: 1, FinalSeats: 4, AdditionalNs: 5e6,
	}
	if d := cmp.Diff(want, e); d != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, d)
	}
}

// Values of several lines follow what is read: the server logs the stack of the goroutine for errors.
func TestStack(t *testing.T) {
	const line = header + `"HTTP" verb="GET" URI="/readyz" latency="1ms" userAgent="kube-probe/1.36" audit-ID="x" srcIP="10.0.0.1:1" resp=500 statusStack=<`
	if e, kind, _, err := decode(line); kind != Request || err != nil || e.Status != 500 {
		t.Errorf("kind %d, error %v, %+v", kind, err, e)
	}
	if _, kind, _, err := decode("\tgoroutine 1 [running]:"); kind != Other || err != nil {
		t.Errorf("a line of the stack: kind %d, error %v", kind, err)
	}
}

// Early versions write other lines.
func TestEarlyVersions(t *testing.T) {
	e, kind, _, err := decode(header + `verb="GET" URI="/api/v1/nodes?limit=1" latency=1.5ms resp=200 UserAgent="kubectl/v1.18" srcIP="10.0.0.1:5": `)
	if kind != Request || err != nil || e.Verb != "list" || e.Status != 200 || e.TotalNs != 1.5e6 || e.UserAgent != "kubectl/v1.18" || e.SourceIP != "10.0.0.1" {
		t.Errorf("1.18: kind %d, error %v, %+v", kind, err, e)
	}
	_, _, _, err = decode(`I0305 12:00:00.000000       1 httplog.go:90] GET /api/v1/nodes: (1.5ms) 200 [kubectl/v1.17 10.0.0.1:5]`)
	if err == nil || !strings.Contains(err.Error(), "1.17 and earlier") {
		t.Errorf("1.17: %v", err)
	}
}

func TestAdjustment(t *testing.T) {
	const message = `"Update CurrentCL" plName="live-list" seatDemandHighWatermark=18 seatDemandAvg=1.1 currentCL=60 concurrencyDenominator=60 backstop=false`
	_, kind, d, err := decode(`I1121 22:53:54.527564   19222 apf_controller.go:493] ` + message)
	want := Adjustment{TimeNs: time.Date(2026, 11, 21, 22, 53, 54, 527564000, time.UTC).UnixNano(), PriorityLevel: "live-list", Limit: 60}
	if diff := cmp.Diff(want, d.Adjustment); kind != Adjusted || err != nil || diff != "" {
		t.Errorf("kind %d, error %v:\n%s", kind, err, diff)
	}
	var e serverlog.Entry
	kind, err = d.JSON([]byte(`{"ts":1795301634527.564,"msg":"Update CurrentCL","v":2,"plName":"live-list","currentCL":60}`), &e)
	if diff := cmp.Diff(want, d.Adjustment); kind != Adjusted || err != nil || diff != "" {
		t.Errorf("JSON: kind %d, error %v:\n%s", kind, err, diff)
	}
}

// Lines that are cut off or damaged are errors that name the key.
func TestErrors(t *testing.T) {
	const whole = header + `"HTTP" verb="GET" URI="/healthz" latency="1ms" userAgent="a" apf_iseats=1 apf_execution_time="1ms" resp=200`
	for old, c := range map[string][2]string{
		`latency="1ms" `:            {``, "no latency"},
		`latency="1ms"`:             {`latency="-1ms"`, `latency: "-1ms" is not a duration`},
		`"1ms" userAgent`:           {`"2000000h" userAgent`, `latency: with 2000000h0m0s, the request would have arrived before 1970`},
		`apf_iseats=1`:              {`apf_iseats=many`, `apf_iseats: "many" is not a non-negative integer`},
		`apf_execution_time="1ms"`:  {`apf_execution_time="1"`, `apf_execution_time: "1" is not a duration`},
		` resp=200`:                 {``, "the line ends before resp"},
		`userAgent="a"`:             {`userAgent="a`, "the line ends before resp"},
		`verb="GET" URI="/healthz"`: {`verb="GET" URI="`, "no latency"},
		`URI="/healthz" `:           {``, "no URI"},
	} {
		_, kind, _, err := decode(strings.Replace(whole, old, c[0], 1))
		if kind != Other || err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s instead of %s: kind %d, error %v, want %s", c[0], old, kind, err, c[1])
		}
	}
	d := NewDecoder(Clock{}, new(intern.Table))
	var e serverlog.Entry
	for text, want := range map[string]string{
		`{"msg":"HTTP","verb":"GET","URI":"/","latency":"1ms","resp":200}`: "ts: the line has no time",
		`{"msg":"HTTP","ts":1795301634527.564,"verb":"GET"`:                "the text ends",
		`{"msg":"HTTP","ts":9795301634527,"verb":"GET"}`:                   "ts: the line has no time",
	} {
		if _, err := d.JSON([]byte(text), &e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// A header has the local time of the server, without the year and the zone.
func TestClock(t *testing.T) {
	tokyo := time.FixedZone("Tokyo", 9*3600)
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Skip(err)
	}
	utc := func(year, month, day, hour, minute int) time.Time {
		return time.Date(year, time.Month(month), day, hour, minute, 0, 0, time.UTC)
	}
	for _, c := range []struct {
		name            string
		clock           Clock
		month, day      int
		hour, minute    int
		recorded, want  time.Time
		wantUnavailable bool
	}{
		{name: "same year", clock: Clock{Reference: utc(2026, 11, 22, 0, 0)}, month: 11, day: 21, hour: 22, want: utc(2026, 11, 21, 22, 0)},
		{name: "year before", clock: Clock{Reference: utc(2027, 1, 2, 0, 0)}, month: 12, day: 31, hour: 23, want: utc(2026, 12, 31, 23, 0)},
		{name: "reference at the beginning", clock: Clock{Reference: utc(2026, 12, 31, 0, 0)}, month: 1, day: 1, hour: 1, want: utc(2027, 1, 1, 1, 0)},
		{name: "zone", clock: Clock{Reference: utc(2026, 6, 1, 0, 0), Zone: tokyo}, month: 6, day: 1, hour: 8, want: utc(2026, 5, 31, 23, 0)},
		{name: "summer time", clock: Clock{Reference: utc(2026, 6, 1, 0, 0), Zone: newYork}, month: 6, day: 1, hour: 8, want: utc(2026, 6, 1, 12, 0)},
		{name: "recorded", month: 6, day: 1, hour: 8, recorded: utc(2025, 6, 1, 8, 0).Add(3 * time.Second), want: utc(2025, 6, 1, 8, 0)},
		{name: "recorded, Tokyo", month: 6, day: 1, hour: 8, recorded: utc(2025, 5, 31, 23, 0), want: utc(2025, 5, 31, 23, 0)},
		{name: "recorded, India", month: 1, day: 1, hour: 5, minute: 30, recorded: utc(2025, 1, 1, 0, 0), want: utc(2025, 1, 1, 0, 0)},
		{name: "recorded, New Year in Tokyo", month: 1, day: 1, hour: 8, recorded: utc(2025, 12, 31, 23, 1), want: utc(2025, 12, 31, 23, 0)},
		{name: "leap day", clock: Clock{Reference: utc(2025, 1, 1, 0, 0)}, month: 2, day: 29, want: utc(2024, 2, 29, 0, 0)},
		{name: "no leap day", clock: Clock{Reference: utc(2026, 1, 1, 0, 0)}, month: 2, day: 29, wantUnavailable: true},
		{name: "nothing known", month: 6, day: 1, wantUnavailable: true},
	} {
		ns, err := c.clock.complete(headerTime{month: c.month, day: c.day, hour: c.hour, minute: c.minute}, c.recorded)
		if (err != nil) != c.wantUnavailable || err == nil && ns != c.want.UnixNano() {
			t.Errorf("%s: %s, error %v; want %s", c.name, time.Unix(0, ns).UTC(), err, c.want)
		}
	}
}

// What klog writes for any values is read as these values.
func FuzzText(f *testing.F) {
	f.Add("GET", "/api/v1/pods?limit=500&continue=a%3D", "kubelet/v1.36.3 (linux/amd64)", "lists.1.3-1", int64(1662272), 200)
	f.Add("WATCH", "/apis/apps/v1/deployments?watch=true", `a "b" \ <`, "é\n", int64(3001674178), 0)
	f.Add("CONNECT", "http://proxy/api/v1/namespaces/a/pods/x/exec", "\xff", "", int64(0), 101)
	f.Fuzz(func(t *testing.T, verb, uri, agent, id string, latency int64, status int) {
		if latency < 0 || status < 0 || verb == "" || uri == "" {
			return
		}
		line := fmt.Sprintf(`%s"HTTP" verb=%q URI=%q latency=%q userAgent=%q audit-ID=%q srcIP="127.0.0.1:1" resp=%d`,
			header, verb, uri, time.Duration(latency), agent, id, status)
		e, kind, _, err := decode(line)
		if kind != Request || err != nil {
			t.Fatalf("%s: kind %d, error %v", line, kind, err)
		}
		valid := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
		path, query, _ := request.SplitURI(valid(uri))
		want := []any{path, query, valid(agent), valid(id), latency, status}
		if d := cmp.Diff(want, []any{e.Path, e.Query, e.UserAgent, e.AuditID, e.TotalNs, e.Status}); d != "" {
			t.Errorf("%s (-want +got):\n%s", line, d)
		}
	})
}

// No text makes the decoder panic, and what it accepts has a time and a path.
func FuzzLine(f *testing.F) {
	f.Add(header + `"HTTP" verb="LIST" URI="/api/v1/pods" latency="1ms" apf_iseats=9 resp=200`)
	f.Add(`I1121 22:53:54.527564   19222 apf_controller.go:493] "Update CurrentCL" plName="l" currentCL=60`)
	f.Add(`{"ts":1795301634527.564,"msg":"HTTP","verb":"LIST","URI":"/api/v1/pods","latency":"1ms","resp":200}`)
	f.Add(header + `verb="GET" URI="/" latency=1ms resp=200 UserAgent="" srcIP="a": `)
	f.Fuzz(func(t *testing.T, line string) {
		d := NewDecoder(Clock{Reference: reference}, new(intern.Table))
		for _, read := range []func([]byte, *serverlog.Entry) (Kind, error){
			func(b []byte, e *serverlog.Entry) (Kind, error) { return d.Text(b, time.Time{}, e) },
			func(b []byte, e *serverlog.Entry) (Kind, error) { return d.Message(b, reference, e) },
			d.JSON,
		} {
			var e serverlog.Entry
			kind, err := read([]byte(line), &e)
			if err != nil && kind != Other {
				t.Errorf("%q: kind %d with the error %v", line, kind, err)
			}
			if kind == Request && (e.TotalNs < 0 || e.StageNs-e.TotalNs != e.ArrivalNs || e.Log != serverlog.HTTP) {
				t.Errorf("%q: %+v", line, e)
			}
			if kind == Adjusted && (d.Adjustment.Limit < 0 || d.Adjustment.PriorityLevel == "") {
				t.Errorf("%q: %+v", line, d.Adjustment)
			}
		}
	})
}
