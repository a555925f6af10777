package logfile

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"apfsim/sim/trace/httplog"
	"apfsim/sim/trace/serverlog"
)

// reference is the day on which the stored logs were written.
var reference = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// readAll returns the entries and the problems of a log, and how many lines were skipped.
func readAll(t *testing.T, data string, o Options) (entries []serverlog.Entry, problems []serverlog.Problem, skipped int64) {
	t.Helper()
	if o.Reference.IsZero() {
		o.Reference = reference
	}
	r, err := Open(strings.NewReader(data), "server.log", o)
	if err != nil {
		t.Fatal(err)
	}
	for {
		var e serverlog.Entry
		err := r.Next(&e)
		if err == io.EOF {
			return entries, problems, r.Skipped()
		}
		if p, ok := err.(*serverlog.Problem); ok {
			problems = append(problems, *p)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The stored logs were written by one server at the same time: an audit log with all stages, and the httplog.
// All that both say of a request is the same.
func TestAuditAndHTTPLogOfOneServer(t *testing.T) {
	audit, problems, skipped := readAll(t, readFile(t, "audit-lists.jsonl"), Options{})
	if len(audit) != 120 || len(problems) != 0 || skipped != 0 {
		t.Errorf("audit log: %d entries, problems %v, %d skipped; want 120, none, 0", len(audit), problems, skipped)
	}
	var limits []httplog.Adjustment
	lines, problems, skipped := readAll(t, readFile(t, "httplog-lists.log"),
		Options{Adjusted: func(a httplog.Adjustment) { limits = append(limits, a) }})
	// 9 lines "Starting watch", 42 lines "Update CurrentCL".
	if len(lines) != 59 || len(problems) != 0 || skipped != 51 || len(limits) != 42 {
		t.Errorf("httplog: %d entries, problems %v, %d skipped, %d limits; want 59, none, 51, 42",
			len(lines), problems, skipped, len(limits))
	}

	events := map[string][]serverlog.Entry{}
	for _, e := range audit {
		events[e.AuditID] = append(events[e.AuditID], e)
	}
	joined, largest := 0, time.Duration(0)
	for _, h := range lines {
		for _, a := range events[h.AuditID] {
			joined++
			difference := time.Duration(h.ArrivalNs - a.ArrivalNs)
			largest = max(largest, difference.Abs())
			type both struct{ ID, Verb, Group, Resource, Sub, Namespace, Name, Path, Query, Agent, IP string }
			common := func(e serverlog.Entry) both {
				return both{e.AuditID, e.Verb, e.APIGroup, e.Resource, e.Subresource, e.Namespace, e.Name, e.Path, e.Query,
					e.UserAgent, e.SourceIP}
			}
			if d := cmp.Diff(common(a), common(h)); d != "" {
				t.Errorf("audit log (-), httplog (+):\n%s", d)
			}
			if a.Stage == serverlog.Complete && a.Status != h.Status {
				t.Errorf("%s: status %d in the audit log, %d in the httplog", a.AuditID, a.Status, h.Status)
			}
		}
		delete(events, h.AuditID)
	}
	// The end of a line of the httplog is some time after the latency was measured.
	if largest > time.Millisecond {
		t.Errorf("the arrivals in the two logs differ by up to %s; want at most 1 ms", largest)
	}
	if joined != 120 || len(events) != 0 {
		t.Errorf("%d events have a line in the httplog, %d requests have none; want 120, 0", joined, len(events))
	}
}

// One list and one watch, field by field.
func TestFieldsOfOneRequest(t *testing.T) {
	audit, _, _ := readAll(t, readFile(t, "audit-lists.jsonl"), Options{})
	lines, _, _ := readAll(t, readFile(t, "httplog-lists.log"), Options{})
	find := func(entries []serverlog.Entry, id string, stage serverlog.Stage) serverlog.Entry {
		i := slices.IndexFunc(entries, func(e serverlog.Entry) bool { return e.AuditID == id && e.Stage == stage })
		if i < 0 {
			t.Fatalf("no entry of %s", id)
		}
		return entries[i]
	}
	at := func(text string) int64 {
		v, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return v.UnixNano()
	}
	want := serverlog.Entry{
		Log: serverlog.Audit, Stage: serverlog.Started, AuditID: "lists.1.3-7",
		ArrivalNs: at("2026-11-21T22:53:49.475025Z"), StageNs: at("2026-11-21T22:53:49.477558Z"),
		User: "lister-0", Groups: []string{"live-list", "system:authenticated"},
		UserAgent: "Go-http-client/2.0", SourceIP: "127.0.0.1",
		Verb: "watch", Resource: "configmaps", Namespace: "big", Path: "/api/v1/namespaces/big/configmaps",
		Query:  "watch=true&timeoutSeconds=3&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
		Status: 200,
		WaitNs: serverlog.Unknown, TotalNs: serverlog.Unknown, ExecutionNs: serverlog.Unknown, InitNs: serverlog.Unknown, WebhookNs: serverlog.Unknown, EtcdNs: serverlog.Unknown, SendingNs: serverlog.Unknown,
		Seats: -1, FinalSeats: -1, AdditionalNs: serverlog.Unknown,
	}
	if d := cmp.Diff(want, find(audit, "lists.1.3-7", serverlog.Started)); d != "" {
		t.Errorf("audit event (-want +got):\n%s", d)
	}
	want = serverlog.Entry{
		Log: serverlog.HTTP, Stage: serverlog.Complete, AuditID: "lists.1.3-43",
		ArrivalNs: at("2026-11-21T22:53:56.419120Z") - 3001674178, StageNs: at("2026-11-21T22:53:56.419120Z"),
		UserAgent: "Go-http-client/2.0", SourceIP: "127.0.0.1",
		Verb: "watch", Resource: "configmaps", Namespace: "big", Path: "/api/v1/namespaces/big/configmaps",
		Query:  "watch=true&timeoutSeconds=3&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
		Status: 200,
		WaitNs: serverlog.Unknown, TotalNs: 3001674178, ExecutionNs: serverlog.Unknown, InitNs: 94068574, WebhookNs: serverlog.Unknown, EtcdNs: serverlog.Unknown, SendingNs: serverlog.Unknown,
		FlowSchema: "live-list", PriorityLevel: "live-list", Seats: 9, FinalSeats: 0, AdditionalNs: 0,
	}
	if d := cmp.Diff(want, find(lines, "lists.1.3-43", serverlog.Complete)); d != "" {
		t.Errorf("line of the httplog (-want +got):\n%s", d)
	}
	list := find(lines, "lists.1.3-1", serverlog.Complete)
	if list.Verb != "list" || list.Query != "labelSelector=a%3Db" || list.ExecutionNs != 11661620 || list.TotalNs != 12417434 {
		t.Errorf("list: %+v", list)
	}
}

// The server adjusted its limits every 10.001 s; at the first time, live-list could borrow all that it asked for.
func TestAdjustments(t *testing.T) {
	var got []httplog.Adjustment
	readAll(t, readFile(t, "httplog-lists.log"), Options{Adjusted: func(a httplog.Adjustment) {
		if a.PriorityLevel == "live-list" {
			got = append(got, a)
		}
	}})
	if len(got) < 2 || got[0].Limit != 60 {
		t.Fatalf("limits of live-list: %+v", got)
	}
	for i := 1; i < len(got); i++ {
		if between := got[i].TimeNs - got[i-1].TimeNs; between < 10_000_000_000 || between > 10_010_000_000 {
			t.Errorf("adjustments %d and %d are %d ns apart", i-1, i, between)
		}
	}
}

// Rotated logs are compressed, several may be joined to one file, and a log that is still being written, or
// that was copied only in part, ends anywhere.
func TestGzip(t *testing.T) {
	text := readFile(t, "audit-lists.jsonl")
	var b bytes.Buffer
	for _, part := range []string{text[:len(text)/2], text[len(text)/2:]} {
		z := gzip.NewWriter(&b)
		io.WriteString(z, part)
		z.Close()
	}
	plain, _, _ := readAll(t, text, Options{})
	entries, problems, _ := readAll(t, b.String(), Options{})
	if d := cmp.Diff(plain, entries); d != "" || len(problems) > 0 {
		t.Errorf("problems %v; plain (-), compressed (+):\n%s", problems, d)
	}

	entries, problems, _ = readAll(t, b.String()+"something else", Options{})
	if len(entries) != len(plain) || len(problems) != 1 || problems[0].Message != "gzip: after the compressed data comes something else; what follows is not read" {
		t.Errorf("%d entries of %d before something else; problems %v", len(entries), len(plain), problems)
	}

	entries, problems, _ = readAll(t, b.String()[:b.Len()-100], Options{})
	if len(entries) < 60 || len(problems) == 0 || !strings.Contains(problems[len(problems)-1].Message, "ends early") {
		t.Errorf("cut off: %d entries, problems %v", len(entries), problems)
	}
	for n, e := range entries {
		if d := cmp.Diff(plain[n], e); d != "" {
			t.Errorf("cut off: entry %d:\n%s", n, d)
		}
	}
}
