package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"apfsim/core/classify"
	"apfsim/core/request"
	"apfsim/sim/api"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var alice = NewRequest(&classify.Attributes{User: "alice", Groups: []string{"g1", "g2"}, Verb: "get", APIGroup: "apps",
	Resource: "deployments", Subresource: "scale", Namespace: "n", Name: "d", Path: "/p"}, "q=1", "mice", 3)

const aliceAsks = `{"id":17,"arrivalNs":100,"user":"alice","groups":["g1","g2"],"verb":"get","apiGroup":"apps","resource":"deployments",` +
	`"subresource":"scale","namespace":"n","name":"d","path":"/p","query":"q=1","executionNs":7,"watchNs":0,"workload":"mice","client":3,`

func TestLinesOfARequestLog(t *testing.T) {
	flow := NewFlow("s", "l", "s/alice")
	const aliceFlow = `"flowSchema":"s","priorityLevel":"l","flow":"s/alice",`
	for name, c := range map[string]struct {
		entry Entry
		want  string
	}{
		"executed": {Entry{Flow: flow, Queue: 5, Outcome: Executed, DispatchNs: 130, EndNs: 137, Seats: 2, FinalSeats: 3, AdditionalLatencyNs: 9, Status: 200},
			aliceFlow + `"queue":5,"outcome":"executed","attempt":1,"dispatchNs":130,"finishNs":137,"waitNs":30,"seats":2,"finalSeats":3,"additionalLatencyNs":9,"status":200}`},
		"rejected": {Entry{Flow: flow, Queue: -1, Outcome: Rejected, Reason: "queue-full", DispatchNs: -1, EndNs: 104, Seats: 1, RetryAfterSeconds: 1},
			aliceFlow + `"queue":-1,"outcome":"rejected","reason":"queue-full","attempt":1,"waitNs":4,"seats":1,"retryAfterSeconds":1,"status":0}`},
		"waiting": {Entry{Flow: flow, Queue: 1, Outcome: Waiting, DispatchNs: -1, Seats: 1},
			aliceFlow + `"queue":1,"outcome":"waiting","attempt":1,"seats":1,"status":0}`},
		"executing": {Entry{Flow: flow, Queue: 0, Outcome: Executing, DispatchNs: 100, Seats: 1},
			aliceFlow + `"queue":0,"outcome":"executing","attempt":1,"dispatchNs":100,"waitNs":0,"seats":1,"status":0}`},
		"answered at its deadline, while it executes": {Entry{Flow: flow, Queue: 0, Outcome: Executing, DispatchNs: 100, Seats: 1, Status: 504, AnsweredNs: 160},
			aliceFlow + `"queue":0,"outcome":"executing","attempt":1,"dispatchNs":100,"waitNs":0,"seats":1,"answeredNs":160,"status":504}`},
		"without flow control": {Entry{Outcome: Executed, DispatchNs: 100, EndNs: 107},
			`"outcome":"executed","attempt":1,"dispatchNs":100,"finishNs":107,"waitNs":0,"status":0}`},
		"refused": {Entry{Outcome: Refused, Reason: "shutting-down", DispatchNs: -1, RetryAfterSeconds: 5, Servers: true, Server: 2, Status: 429},
			`"outcome":"refused","reason":"shutting-down","attempt":1,"retryAfterSeconds":5,"status":429}`},
		"lost in the queue": {Entry{Flow: flow, Queue: 1, Outcome: Lost, DispatchNs: -1, EndNs: 104, Seats: 1, Servers: true},
			aliceFlow + `"queue":1,"outcome":"lost","attempt":1,"waitNs":4,"seats":1,"status":0}`},
		"sent during another": {Entry{Outcome: Executed, DispatchNs: 100, EndNs: 107, Servers: true, Status: 504, Parent: 9},
			`"outcome":"executed","attempt":1,"dispatchNs":100,"finishNs":107,"waitNs":0,"status":504,"parent":9}`},
	} {
		e := c.entry
		e.Request, e.ID, e.ArrivalNs, e.ExecutionNs, e.Attempt = alice, 17, 100, 7, 1
		got := string(Append([]byte("x"), &e))
		want := "x" + aliceAsks + c.want + "\n"
		if e.Servers {
			want = strings.Replace(want, `"workload"`, fmt.Sprintf(`"server":%d,"workload"`, e.Server), 1)
		}
		if got != want {
			t.Errorf("%s:\n%swant\n%s", name, got, want)
		}
		if records, mistakes := readTrace(got[1:]); len(records) != 1 || len(mistakes) > 0 {
			t.Errorf("%s: read as %v, %v", name, records, mistakes)
		}
	}
}

// The lines of some entries have all fields between them, and in the order of the list.
func TestLinesHaveTheFieldsOfTheList(t *testing.T) {
	flow := NewFlow("s", "l", "f")
	lines := []string{
		string(Append(nil, &Entry{Request: alice, Flow: flow, Outcome: Executed, FinalSeats: 1})),
		string(Append(nil, &Entry{Request: alice, Flow: flow, Outcome: Rejected, DispatchNs: -1, Servers: true, AnsweredNs: 1, Parent: 1})),
		string(Append(nil, &Entry{Request: alice, Flow: flow, Outcome: Executed, Servers: true,
			Asked: &api.Call{Options: request.Options{DryRun: true, FieldManager: "m", Preconditions: request.Preconditions{UID: 3}},
				Body: &api.Body{Version: request.At(5), UID: 6, Finalizers: []string{"f"}, FinalizersGiven: true, Fields: map[string]string{"a": "1"}, Patch: api.ApplyPatch}},
			Answer: &api.Answer{Reason: "Conflict", Version: 7, Items: 8, Continue: "c", Source: api.FromCache, Rounds: 2, Wrote: true}})),
	}
	for f, name := range names {
		found := false
		for _, line := range lines {
			found = found || strings.Contains(line, starts[f])
		}
		if !found {
			t.Errorf("no line has the field %s", name)
		}
	}
	for _, line := range lines {
		last := -1
		for f := range names {
			if at := strings.Index(line, starts[f]); at >= 0 {
				if at < last {
					t.Errorf("%s is not in the order of the list in %s", names[f], line)
				}
				last = at
			}
		}
	}
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	text := rapid.String()
	rapid.Check(t, func(t *rapid.T) {
		want := Record{
			ID: rapid.Int64().Draw(t, "id"), ArrivalNs: rapid.Int64Range(0, 1<<61).Draw(t, "arrival"),
			User: text.Draw(t, "user"), Groups: rapid.SliceOf(text).Draw(t, "groups"), Verb: "v" + text.Draw(t, "verb"),
			APIGroup: text.Draw(t, "group"), Resource: text.Draw(t, "resource"), Subresource: text.Draw(t, "subresource"),
			Namespace: text.Draw(t, "namespace"), Name: text.Draw(t, "name"), Path: "/" + text.Draw(t, "path"), Query: url.QueryEscape(text.Draw(t, "query")),
			ExecutionNs: rapid.Int64Range(0, 1<<60).Draw(t, "execution"), WatchNs: rapid.Int64Range(0, 1<<60).Draw(t, "watch"),
		}
		line := AppendRecord(nil, &want)
		records, mistakes := readTrace(string(line))
		if len(records) != 1 || len(mistakes) > 0 {
			t.Fatalf("%s: %v", line, mistakes)
		}
		if diff := cmp.Diff(want, records[0], cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", line, diff)
		}
		var decoded Record
		if err := json.Unmarshal(line, &decoded); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, decoded, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s by encoding/json (-want +got):\n%s", line, diff)
		}
	})
}

func TestStringsAreWrittenAsEncodingJSONDoes(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, s string) {
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		e.Encode(s)
		got := string(appendString(nil, s)) + "\n"
		if !utf8.ValidString(s) { // Go 1.26 escapes what stands for the invalid bytes, and Go 1.27 does not
			var a, b string
			if err := errors.Join(json.Unmarshal([]byte(got), &a), json.Unmarshal(want.Bytes(), &b)); err != nil || a != b {
				t.Fatalf("%q: %s, want %s: %v", s, got, want.String(), err)
			}
			return
		}
		if got != want.String() {
			t.Fatalf("%q: %s, want %s", s, got, want.String())
		}
	}
	for _, s := range []string{"", "a", "\x00\x1f\x7f\b\f\n\r\t\"\\/", "\u2028\u2029", "<&>", "\xff\xc3(", "é測試🎉", "\xe2\x80"} {
		check(t, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")))
		check(t, rapid.String().Draw(t, "text"))
	})
}

func BenchmarkAppend(b *testing.B) {
	e := Entry{Request: alice, Flow: NewFlow("s", "l", "s/alice"), ID: 123456, ArrivalNs: 1234567890, ExecutionNs: 5_000_000, Queue: 5,
		Outcome: Executed, Attempt: 1, DispatchNs: 1234567990, EndNs: 1239567990, Seats: 1}
	var line []byte
	b.ReportAllocs()
	for b.Loop() {
		line = Append(line[:0], &e)
	}
}
