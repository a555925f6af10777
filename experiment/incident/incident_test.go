package incident

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"apfsim/sim/scenario/loader"
	"apfsim/sim/trace"
	"apfsim/sim/trace/httplog"
	"apfsim/sim/trace/requests"
	"apfsim/sim/trace/serverlog"
)

const ms = int64(1_000_000)

// noon is when the stories begin.
var noon = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC).UnixNano()

// tells is a reader of entries; an entry whose AuditID is "bad" is a line that cannot be read.
type tells struct {
	entries []serverlog.Entry
	line    int64
}

func (r *tells) Line() int64 { return r.line }

func (r *tells) Next(e *serverlog.Entry) error {
	if int(r.line) == len(r.entries) {
		return io.EOF
	}
	*e = r.entries[r.line]
	r.line++
	if e.AuditID == "bad" {
		return &serverlog.Problem{File: "bad.log", Line: r.line, Message: "is not an audit event"}
	}
	return nil
}

// file is a log with these entries.
func file(name string, entries ...serverlog.Entry) requests.Source {
	return requests.Source{Name: name, Open: func(context.Context, time.Time, func(httplog.Adjustment)) (serverlog.Reader, error) {
		return &tells{entries: entries}, nil
	}}
}

// entry returns an entry of a request of alice for a configmap, which change changes.
func entry(log serverlog.Log, stage serverlog.Stage, id string, arrivalNs, stageNs int64, change func(*serverlog.Entry)) serverlog.Entry {
	var e serverlog.Entry
	e.Reset()
	e.Log, e.Stage, e.AuditID, e.ArrivalNs, e.StageNs = log, stage, id, noon+arrivalNs, noon+stageNs
	e.UserAgent, e.SourceIP = "agent", "10.0.0.1"
	e.Verb, e.Resource, e.Namespace, e.Name, e.Path = "get", "configmaps", "default", "c", "/api/v1/namespaces/default/configmaps/c"
	if log == serverlog.Audit {
		e.User, e.Groups = "alice", []string{"system:authenticated"}
	} else {
		e.TotalNs = stageNs - arrivalNs
	}
	if stage == serverlog.Complete {
		e.Status = 200
	}
	if change != nil {
		change(&e)
	}
	return e
}

// completed is the line of an audit log at the end of a request.
func completed(id string, arrivalNs, endNs int64, change func(*serverlog.Entry)) serverlog.Entry {
	return entry(serverlog.Audit, serverlog.Complete, id, arrivalNs, endNs, change)
}

// served is the line of an httplog of a request.
func served(id string, arrivalNs, endNs int64, change func(*serverlog.Entry)) serverlog.Entry {
	return entry(serverlog.HTTP, serverlog.Complete, id, arrivalNs, endNs, change)
}

// executed makes the line of an httplog one of a request that flow control has dispatched.
func executed(executionNs int64) func(*serverlog.Entry) {
	return func(e *serverlog.Entry) {
		e.ExecutionNs = executionNs
		e.FlowSchema, e.PriorityLevel, e.Seats, e.FinalSeats, e.AdditionalNs = "global-default", "global-default", 1, 0, 0
	}
}

func rejected(e *serverlog.Entry) { e.Status = 429 }

func watch(e *serverlog.Entry) { e.Verb, e.Name, e.Path = "watch", "", "/api/v1/configmaps" }

// line is what the tests look at of a line of a trace.
type line struct {
	ArrivalNs, ExecutionNs, WatchNs int64
	Verb, User                      string
	Outcome                         trace.Outcome
	WaitNs                          *int64
}

// replayed runs an import and returns the trace.
func replayed(t *testing.T, o Options) (lines []line, r *Report) {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	r, err := importWith(&o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(o.Dir, TraceFile))
	if err != nil {
		t.Fatal(err)
	}
	for one := range bytes.Lines(text) {
		var l line
		if err := json.Unmarshal(one, &l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	if wrong := check(r, text); wrong != "" {
		t.Fatal(wrong)
	}
	return lines, r
}

func importWith(o *Options) (*Report, error) {
	if o.Settings == nil {
		settings, err := ReadSettings(nil, "", nil, "")
		if err != nil {
			return nil, err
		}
		o.Settings = settings
	}
	return Import(context.Background(), *o)
}

// check returns what is wrong with a report and its trace: sums must add up, and the trace must be one.
func check(r *Report, text []byte) string {
	reader := trace.NewReader(bytes.NewReader(text), TraceFile)
	n := int64(0)
	for {
		_, ok, err := reader.Next()
		if err != nil {
			return err.Error()
		}
		if !ok {
			break
		}
		n++
	}
	leftOut, verbs, ofServers, files := int64(0), int64(0), int64(0), int64(0)
	for _, c := range r.Requests.LeftOut {
		leftOut += c.Requests
	}
	for _, c := range r.Verbs {
		verbs += c.Requests
	}
	for _, s := range r.Servers {
		ofServers += s.Requests
	}
	for _, f := range r.Files {
		files += f.Audit + f.HTTP
	}
	e, x, d := r.Times, r.Outcomes, r.Drawn
	for _, sum := range []struct {
		what      string
		got, want int64
	}{
		{"entries of the files", files, r.Entries.Total},
		{"joined entries and duplicates", r.Entries.Joined + r.Entries.Duplicates, r.Entries.Total},
		{"requests in the trace and left out", r.Requests.InTrace + leftOut, r.Requests.Total},
		{"requests of the servers", ofServers, r.Requests.Total},
		{"requests by logs", r.Logs.Both + r.Logs.AuditAlone + r.Logs.HTTPAlone, r.Requests.Total},
		{"lines of the trace", n, r.Requests.InTrace},
		{"verbs", verbs, r.Requests.InTrace},
		{"outcomes", x.Executed + x.Rejected + x.WithoutEnd, r.Requests.InTrace},
		{"sources of execution times", e.Drawn + e.Measured + e.TotalLessWait + e.TotalWithWait + e.UntilStarted + e.Lifetime + e.OpenBefore, r.Requests.InTrace},
		{"reasons to draw", d.Rejected + d.WithoutEnd + d.Watches, e.Drawn},
		{"groups drawn from", d.FromUser + d.FromResource + d.FromVerb + d.FromAny + d.None, e.Drawn},
		{"users", r.Users.Known + r.Users.Learned + r.Users.Unknown, r.Requests.InTrace},
	} {
		if sum.got != sum.want {
			return fmt.Sprintf("%s: the sum is %d, want %d", sum.what, sum.got, sum.want)
		}
	}
	return ""
}

// The httplog has the execution time. The audit log has the wait only of requests over 500 ms; of the
// others, the wait counts as execution.
func TestExecutionTimes(t *testing.T) {
	for name, c := range map[string]struct {
		entries     []serverlog.Entry
		executionNs int64
		waitNs      int64 // -1: unknown
	}{
		"httplog beside the audit log": {[]serverlog.Entry{completed("a", 0, 300*ms, nil), served("a", 0, 300*ms, executed(40*ms))}, 40 * ms, 260 * ms},
		"annotations": {[]serverlog.Entry{completed("a", 0, 900*ms, func(e *serverlog.Entry) {
			e.TotalNs, e.WaitNs = 890*ms, 600*ms
		})}, 290 * ms, 600 * ms},
		"a total in an annotation":        {[]serverlog.Entry{completed("a", 0, 900*ms, func(e *serverlog.Entry) { e.TotalNs = 890 * ms })}, 890 * ms, -1},
		"an audit log alone":              {[]serverlog.Entry{completed("a", 0, 300*ms, nil)}, 300 * ms, -1},
		"a panic":                         {[]serverlog.Entry{entry(serverlog.Audit, serverlog.Panicked, "a", 0, 30*ms, nil)}, 30 * ms, -1},
		"an httplog without flow control": {[]serverlog.Entry{served("a", 0, 30*ms, nil)}, 30 * ms, -1},
	} {
		lines, _ := replayed(t, Options{Sources: []requests.Source{file("a.log", c.entries...)}})
		wait := int64(-1)
		if lines[0].WaitNs != nil {
			wait = *lines[0].WaitNs
		}
		if len(lines) != 1 || lines[0].ExecutionNs != c.executionNs || wait != c.waitNs || lines[0].Outcome != trace.Executed {
			t.Errorf("%s: %+v with wait %d, want one request with execution %d and wait %d", name, lines, wait, c.executionNs, c.waitNs)
		}
	}
}

// Some audit logs have one time for a request. Its execution time is drawn like that of a request
// without an end, although it has been executed.
func TestEndsWithoutATime(t *testing.T) {
	lines, r := replayed(t, Options{Sources: []requests.Source{file("a.log", completed("a", 0, 7*ms, nil),
		completed("b", ms, ms, func(e *serverlog.Entry) { e.StageUnknown = true }))}})
	if l := lines[1]; l.ExecutionNs != 7*ms || l.Outcome != trace.Executed || r.Drawn.WithoutEnd != 1 {
		t.Errorf("%+v, %+v; want an executed request with the 7 ms of the other", l, r.Drawn)
	}
}

// A watch executes for as long as its initialization takes, never for its lifetime.
func TestWatches(t *testing.T) {
	started := func(id string, arrivalNs, stageNs int64) serverlog.Entry {
		return entry(serverlog.Audit, serverlog.Started, id, arrivalNs, stageNs, watch)
	}
	sources := []requests.Source{
		file("audit.log",
			// Open for ten minutes before, and until 20 s.
			completed("before", -600*second, 20*second, watch),
			completed("first", 0, 5*ms, nil),
			// The httplog below has its initialization.
			started("measured", second, second+3*ms), completed("measured", second, 11*second, watch),
			started("started", 2*second, 2*second+4*ms), completed("started", 2*second, 12*second, watch),
			started("no end", 3*second, 3*second+5*ms),
			completed("no start", 4*second, 14*second, watch),
			// Gone (410): it never was a watch.
			completed("gone", 5*second, 5*second+2*ms, func(e *serverlog.Entry) { watch(e); e.Status = 410 }),
			completed("last", 60*second-ms, 60*second-ms, nil),
		),
		file("httplog", served("measured", second, 11*second, func(e *serverlog.Entry) { watch(e); e.InitNs = 80 * ms })),
	}
	lines, r := replayed(t, Options{Sources: sources})
	want := []line{
		{0, 0, 20 * second, "watch", "alice", trace.Executed, nil},
		{0, 5 * ms, 0, "get", "alice", trace.Executed, nil},
		{second, 80 * ms, 10*second - 80*ms, "watch", "alice", trace.Executed, nil},
		{2 * second, 4 * ms, 10*second - 4*ms, "watch", "alice", trace.Executed, nil},
		{3 * second, 5 * ms, 57*second - 5*ms, "watch", "alice", trace.Executed, nil},
		{4 * second, lines[5].ExecutionNs, 10*second - lines[5].ExecutionNs, "watch", "alice", trace.Executed, nil},
		{5 * second, 2 * ms, 0, "watch", "alice", trace.Executed, nil},
		{60*second - ms, 0, 0, "get", "alice", trace.Executed, nil},
	}
	if diff := gocmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !slices.Contains([]int64{4 * ms, 5 * ms, 80 * ms}, lines[5].ExecutionNs) {
		t.Errorf("the watch without a start initializes for %d ns, want the time of another watch", lines[5].ExecutionNs)
	}
	if w := (Watches{Total: 5, OpenBefore: 1, WithoutEnd: 1}); r.Watches != w || r.DurationNs != 60*second {
		t.Errorf("%+v in %d ns, want %+v in 60 s", r.Watches, r.DurationNs, w)
	}
}

// A rejected request never executed: it gets an execution time of requests like it. Ten of the same
// user, verb and resource are enough; otherwise the group widens.
func TestRejectedRequestsGetExecutionTimes(t *testing.T) {
	entry := func(user, verb, resource string, change func(*serverlog.Entry)) func(*serverlog.Entry) {
		return func(e *serverlog.Entry) {
			e.User, e.Verb, e.Resource = user, verb, resource
			if change != nil {
				change(e)
			}
		}
	}
	var entries []serverlog.Entry
	at := int64(0)
	add := func(n int, executionNs int64, change func(*serverlog.Entry)) {
		for range n {
			at += ms
			entries = append(entries, completed(fmt.Sprint(at), at, at+executionNs, change))
		}
	}
	add(10, 11*ms, entry("alice", "get", "pods", nil))
	add(9, 22*ms, entry("bob", "get", "pods", nil))
	add(3, 33*ms, entry("bob", "list", "pods", nil))
	add(1, 5*ms, entry("alice", "get", "pods", rejected))   // alice's ten
	add(1, 5*ms, entry("bob", "get", "pods", rejected))     // all 19 of pods
	add(1, 5*ms, entry("bob", "get", "nodes", rejected))    // all 19 of get
	add(1, 5*ms, entry("bob", "list", "nodes", rejected))   // three are not ten: any of the 22
	add(1, 5*ms, entry("bob", "update", "nodes", rejected)) // any of the 22
	lines, r := replayed(t, Options{Sources: []requests.Source{file("audit.log", entries...)}})
	for i, times := range [][]int64{{11}, {11, 22}, {11, 22}, {11, 22, 33}, {11, 22, 33}} {
		l := lines[22+i]
		if l.Outcome != trace.Rejected || !slices.Contains(times, l.ExecutionNs/ms) || l.WaitNs == nil || *l.WaitNs != 5*ms {
			t.Errorf("rejected request %d: %+v, want an execution time of %v ms", i, l, times)
		}
	}
	if want := (Drawn{Rejected: 5, FromUser: 1, FromResource: 1, FromVerb: 1, FromAny: 2}); r.Drawn != want {
		t.Errorf("drawn %+v, want %+v", r.Drawn, want)
	}
}

// However many users there are, the memory for their execution times is bounded.
func TestGroupsOfExecutionTimesAreBounded(t *testing.T) {
	d := drawKeys{}
	q := requests.Request{Entry: completed("", 0, ms, rejected)}
	q.Audit = true
	for i := range mostClients + 10 {
		q.User = strconv.Itoa(i)
		d.add(&q)
	}
	last, _ := drawKeyOf(&q, byUser)
	if _, ok := d[last]; ok || len(d) != mostClients {
		t.Errorf("%d groups, that of the last user %v; want those of %d users and three for all", len(d), ok, mostClients-3)
	}
}

// Not every 429 is flow control's.
func TestWhoAnswered429(t *testing.T) {
	for name, c := range map[string]struct {
		entries []serverlog.Entry
		want    trace.Outcome
	}{
		"flow control, by its plain text":         {[]serverlog.Entry{completed("a", 0, ms, rejected)}, trace.Rejected},
		"an eviction, by its Status":              {[]serverlog.Entry{completed("a", 0, ms, func(e *serverlog.Entry) { rejected(e); e.StatusReason = "TooManyRequests" })}, trace.Executed},
		"flow control, by the httplog":            {[]serverlog.Entry{served("a", 0, ms, func(e *serverlog.Entry) { executed(-1)(e); rejected(e) })}, trace.Rejected},
		"a cache that is not ready, which waited": {[]serverlog.Entry{served("a", 0, ms, func(e *serverlog.Entry) { executed(ms)(e); rejected(e) })}, trace.Executed},
		"before flow control":                     {[]serverlog.Entry{served("a", 0, ms, rejected)}, trace.Executed},
	} {
		lines, _ := replayed(t, Options{Sources: []requests.Source{file("a.log", c.entries...)}})
		if lines[0].Outcome != c.want {
			t.Errorf("%s: %s, want %s", name, lines[0].Outcome, c.want)
		}
	}
}

// An httplog has no users. The audit log shows who is behind an address and a user agent, unless
// there are several.
func TestUsers(t *testing.T) {
	from := func(ip, user string) func(*serverlog.Entry) {
		return func(e *serverlog.Entry) { e.SourceIP, e.User = ip, user }
	}
	lines, r := replayed(t, Options{Sources: []requests.Source{
		file("httplog", served("h1", ms, 2*ms, from("10.0.0.1", "")), served("h2", 2*ms, 3*ms, from("10.0.0.2", "")), served("h3", 3*ms, 4*ms, from("10.0.0.3", ""))),
		file("audit.log", completed("a1", 4*ms, 5*ms, nil), completed("a2", 5*ms, 6*ms, from("10.0.0.2", "bob")), completed("a3", 6*ms, 7*ms, from("10.0.0.2", "carol"))),
	}})
	var users []string
	for _, l := range lines {
		users = append(users, l.User)
	}
	if want := []string{"alice", "unknown:agent@10.0.0.2", "unknown:agent@10.0.0.3", "alice", "bob", "carol"}; !slices.Equal(users, want) {
		t.Errorf("users %q, want %q", users, want)
	}
	if want := (Users{Known: 3, Learned: 1, Unknown: 2}); r.Users != want {
		t.Errorf("%+v, want %+v", r.Users, want)
	}
}

// The groups of a user who was found stay as they are, whoever sends the next request.
func TestGroupsOfUsers(t *testing.T) {
	of := func(ip, user, group string) func(*serverlog.Entry) {
		return func(e *serverlog.Entry) { e.SourceIP, e.User, e.Groups = ip, user, []string{group} }
	}
	unknown := func(e *serverlog.Entry) { e.Groups = nil }
	dir := t.TempDir()
	replayed(t, Options{Dir: dir, Sources: []requests.Source{
		file("httplog", served("h1", 2*ms, 3*ms, unknown), served("h2", 4*ms, 5*ms, unknown)),
		file("audit.log", completed("a1", ms, 2*ms, of("10.0.0.1", "alice", "wonderland")), completed("a2", 3*ms, 4*ms, of("10.0.0.2", "bob", "builders"))),
	}})
	text, err := os.ReadFile(filepath.Join(dir, TraceFile))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte(`"user":"alice","groups":["wonderland"]`)); n != 3 {
		t.Errorf("%d requests have the groups of alice, want 3:\n%s", n, text)
	}
}

// A log that has nothing but the end of what began before it says so.
func TestLogOfAnEndAlone(t *testing.T) {
	_, err := importWith(&Options{Dir: t.TempDir(), Sources: []requests.Source{file("a.log", completed("w", 0, 60*second, watch))}})
	if want := "all arrived before the first line, which is of the end of a watch or of another long-running request; add later parts of the log"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	_, err = importWith(&Options{Dir: t.TempDir(), From: &Moment{Ns: 2 * ms}, Sources: []requests.Source{file("a.log", completed("1", 0, ms, nil), completed("2", ms, 4*ms, nil))}})
	if want := "; left out: 1 request before --from, 1 request began before --from and ended after it"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// The requests of several servers are not mixed: each has its own flow control.
func TestServers(t *testing.T) {
	a, b := file("a.log", completed("1", 0, ms, nil), completed("2", ms, 2*ms, nil)), file("b.log", completed("1", 10*ms, 11*ms, nil))
	a.Server, b.Server = "a", "b"
	lines, r := replayed(t, Options{Sources: []requests.Source{b, a}})
	if len(lines) != 2 || r.Server != "a" || r.Requests.LeftOut[0] != (Count{Of: ofOtherServer, Requests: 1}) {
		t.Errorf("%d requests of %q, left out %v; want the two of a", len(lines), r.Server, r.Requests.LeftOut)
	}
	lines, r = replayed(t, Options{Sources: []requests.Source{b, a}, Server: "b"})
	if len(lines) != 1 || r.Server != "b" || lines[0].ArrivalNs != 0 {
		t.Errorf("%v of %q, want the one of b at time 0", lines, r.Server)
	}
	a.Server, b.Server = "", ""
	b2 := file("b.log", completed("3", 0, 50*ms, nil), completed("4", 10*ms, 110*ms, nil))
	a2 := file("a.log", completed("5", 0, 40*ms, nil), completed("6", 10*ms, 100*ms, nil))
	if _, r = replayed(t, Options{Sources: []requests.Source{a2, b2}}); !strings.Contains(strings.Join(r.notes(), "\n"), "name the servers: a=a.log b=b.log") {
		t.Errorf("notes %q: want one on two logs of the same time", r.notes())
	}
}

// Only what arrives in the window is in the trace, and long-running requests that are open in it.
func TestWindow(t *testing.T) {
	source := file("audit.log",
		completed("1", 0, ms, nil),
		completed("2", second, 8*second, watch),
		completed("3", 3*second, 6*second, nil),
		completed("4", 5*second, 6*second, nil),
		completed("5", 9*second, 20*second, watch),
		completed("6", 10*second, 11*second, nil),
	)
	from, to := Moment{false, 5 * second}, Moment{true, noon + 10*second}
	lines, r := replayed(t, Options{Sources: []requests.Source{source}, From: &from, To: &to})
	if len(lines) != 3 || lines[0].WatchNs != 3*second || lines[1].ArrivalNs != 0 || lines[2].ArrivalNs != 4*second || r.DurationNs != 5*second {
		t.Errorf("%+v in %d ns, want the watch that is open, the request at its start and a watch at 4 s, in 5 s", lines, r.DurationNs)
	}
	want := []Count{{Of: afterTo, Requests: 1}, {Of: beforeFrom, Requests: 1}, {Of: acrossFrom, Requests: 1}}
	if diff := gocmp.Diff(want, r.Requests.LeftOut); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		from, to Moment
		want     string
	}{
		{Moment{false, 30 * second}, Moment{false, 40 * second}, "is after the end of the log"},
		{Moment{false, 0}, Moment{true, noon - second}, "is not before --to"},
		{Moment{false, 7 * second}, Moment{false, 8 * second}, "no request of the logs can be replayed between"},
	} {
		_, err := importWith(&Options{Sources: []requests.Source{file("a.log", completed("1", 0, ms, nil), completed("2", 20*second, 21*second, nil))}, From: &c.from, To: &c.to, Dir: t.TempDir()})
		var choice *WrongChoice
		if !errors.As(err, &choice) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("from %v to %v: %v, want %q", c.from, c.to, err, c.want)
		}
	}
}

// Times in a wrong zone are found by requests that both logs have.
func TestZone(t *testing.T) {
	const hour = 3600 * second
	_, err := importWith(&Options{Dir: t.TempDir(), Sources: []requests.Source{
		file("audit.log", completed("1", 0, ms, nil)), file("httplog", served("1", hour, hour+ms, nil))}})
	if err == nil || !strings.Contains(err.Error(), "--zone: the httplog has the same requests 1h0m0s later than the audit log; use the time zone of the server: its offset from UTC is 1h0m0s larger") {
		t.Errorf("got %v", err)
	}
}

// Bad lines are counted, and refused if strict. Then, and after any other error, nothing is written.
func TestBadLines(t *testing.T) {
	bad := serverlog.Entry{AuditID: "bad"}
	sources := []requests.Source{file("bad.log", bad, completed("1", 0, ms, nil), bad), file("good.log", completed("2", 0, ms, nil))}
	lines, r := replayed(t, Options{Sources: sources})
	if f := r.Files[0]; len(lines) != 2 || f.BadLines != 2 || f.Lines != 3 || f.Problems[1] != (requests.Problem{Line: 3, Message: "is not an audit event"}) {
		t.Errorf("%d requests; %+v", len(lines), f)
	}
	dir := filepath.Join(t.TempDir(), "out")
	_, err := importWith(&Options{Sources: sources, Strict: true, Dir: dir})
	if want := "bad.log:1: is not an audit event\nbad.log:3: is not an audit event\nnothing was written"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("strict: %v, want %s", err, want)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder remains: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	settings, _ := ReadSettings(nil, "", nil, "")
	if _, err := Import(ctx, Options{Sources: sources, Settings: settings, Dir: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder remains after an interruption: %v", err)
	}
}

// Whatever the logs contain: sums add up, the trace is one, the scenario runs, and the result depends
// neither on the order of files nor on how much fits into memory.
func TestSumsAddUp(t *testing.T) {
	if err := flag.Set("rapid.checks", strconv.Itoa(some(40, 100))); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		pick := func(label string, all ...string) string { return rapid.SampledFrom(all).Draw(t, label) }
		entries := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) serverlog.Entry {
			log := serverlog.Log(rapid.IntRange(0, 1).Draw(t, "log"))
			stage := serverlog.Complete
			if log == serverlog.Audit {
				stage = serverlog.Stage(rapid.IntRange(0, 3).Draw(t, "stage"))
			}
			id := rapid.IntRange(0, 12).Draw(t, "id")
			arrival := int64(id%7) * second
			return entry(log, stage, []string{"", fmt.Sprint(id)}[min(id, 1)], arrival, arrival+rapid.Int64Range(0, 3*second).Draw(t, "took"), func(e *serverlog.Entry) {
				e.Server = pick("server", "", "", "b")
				e.Verb = pick("verb", "get", "list", "watch", "update", "")
				e.Resource = pick("resource", "configmaps", "pods", "")
				e.Subresource = pick("subresource", "", "", "log")
				e.Query = pick("query", "", "limit=1", "limit=%zz")
				e.Path = pick("path", "/x", "/x", "")
				e.Status = rapid.SampledFrom([]int{0, 200, 200, 429, 429, 504}).Draw(t, "status")
				e.StatusReason = pick("reason", "", "", "TooManyRequests")
				if rapid.Bool().Draw(t, "decided") {
					executed(rapid.Int64Range(-1, second).Draw(t, "execution"))(e)
				}
			})
		}), 1, 60).Draw(t, "entries")
		o := Options{}
		if rapid.Bool().Draw(t, "window") {
			from, to := Moment{false, second}, Moment{false, 4 * second}
			o.From, o.To = &from, &to
		}
		half := len(entries) / 2
		one, two := file("1.log", entries[:half]...), file("2.log", entries[half:]...)
		var first []byte
		for i, sources := range [][]requests.Source{{one, two}, {one, two}, {two, one}} {
			dir, err := os.MkdirTemp("", "incident")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			o.Sources, o.Dir, o.Memory, o.Settings = sources, dir, []int{0, 300, 1000}[i], nil
			r, err := importWith(&o)
			var choice *WrongChoice
			if errors.As(err, &choice) && o.From != nil {
				return // no request is in the window
			}
			if err != nil && strings.Contains(err.Error(), "no request of the logs can be replayed between") {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(dir, TraceFile))
			if err != nil {
				t.Fatal(err)
			}
			if wrong := check(r, text); wrong != "" {
				t.Fatal(wrong)
			}
			if first == nil {
				first = text
			}
			if diff := gocmp.Diff(string(first), string(text)); diff != "" {
				t.Fatalf("import %d differs:\n%s", i, diff)
			}
			if _, errs := loader.Load(nil, filepath.Join(dir, ScenarioFile), loader.Options{}); len(errs) > 0 {
				t.Fatal(errs)
			}
			left, _ := os.ReadDir(dir)
			if len(left) != 3 {
				t.Fatalf("%d files in the folder, want 3", len(left))
			}
		}
	})
}

// long is a log of n requests, in the order in which they end. It is made while it is read. Every
// tenth of it, look is called.
type long struct {
	n, next int64
	look    func()
}

func (r *long) Line() int64 { return r.next }

func (r *long) Next(e *serverlog.Entry) error {
	if r.next == 2*r.n {
		return io.EOF
	}
	if r.next%(r.n/5) == 0 {
		r.look()
	}
	i := r.next / 2
	log, change := serverlog.Audit, func(e *serverlog.Entry) { e.User = fmt.Sprint("user-", i%100) }
	if i%10 == 0 {
		change = rejected
	}
	if r.next%2 == 1 {
		log, change = serverlog.HTTP, executed(2*ms)
		if i%10 == 0 {
			change = func(e *serverlog.Entry) { executed(-1)(e); rejected(e) }
		}
	}
	*e = entry(log, serverlog.Complete, fmt.Sprint(i*7919%r.n, "-", i), i*ms, i*ms+3*ms, change)
	r.next++
	return nil
}

// Memory does not grow with the log: while the trace is written, the heap is as small as when the log
// begins, but for what is sorted at a time.
func TestMemoryDoesNotGrowWithTheLog(t *testing.T) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const memory, lines = 200_000, 120_000
	begin, most := heap(), uint64(0)
	look := func() { most = max(most, heap()) }
	source := requests.Source{Name: "long.log", Stream: true, Open: func(context.Context, time.Time, func(httplog.Adjustment)) (serverlog.Reader, error) {
		return &long{n: lines / 2, look: look}, nil
	}}
	ctx := &looking{Context: context.Background(), look: look}
	settings, err := ReadSettings(nil, "", nil, "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Import(ctx, Options{Sources: []requests.Source{source}, Settings: settings, Dir: t.TempDir(), Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	const records = lines * 150 // bytes, at least
	const queued = 9_000_000    // bytes of a replay whose queues are full, however long the log is
	if grown := int64(most) - int64(begin); grown > records/4+queued || r.Entries.Total != lines {
		t.Errorf("the heap grew by %d bytes for %d lines, want less than %d", grown, r.Entries.Total, records/4+queued)
	}
	if ctx.looks < 10 {
		t.Errorf("the heap was measured %d times after reading, want at least 10", ctx.looks)
	}
}

// The heap does not depend on the number of lines: compare -benchtime=1x with different LINES in the
// environment.
func BenchmarkImport(b *testing.B) {
	n, err := strconv.ParseInt(cmp.Or(os.Getenv("LINES"), "100000"), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	most := uint64(0)
	look := func() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
	}
	source := requests.Source{Name: "long.log", Stream: true, Open: func(context.Context, time.Time, func(httplog.Adjustment)) (serverlog.Reader, error) {
		return &long{n: n / 2, look: look}, nil
	}}
	settings, err := ReadSettings(nil, "", nil, "")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Import(&looking{Context: context.Background(), look: look}, Options{Sources: []requests.Source{source}, Settings: settings, Dir: b.TempDir()}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
	b.ReportMetric(float64(most)/1e6, "heap-MB")
}

// looking is a context that is asked for its error again and again, and then looks at the heap.
type looking struct {
	context.Context
	look  func()
	looks int
}

func (l *looking) Err() error {
	l.looks++
	l.look()
	return nil
}
