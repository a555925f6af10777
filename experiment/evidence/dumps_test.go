package evidence

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"apfsim/experiment/incident"
	"apfsim/reports/result"
)

// diagnoseTexts diagnoses texts by name, as the command does with files, in the order of the arguments.
func diagnoseTexts(namesAndTexts ...string) (*Diagnosis, error) {
	var files []File
	for i := 0; i < len(namesAndTexts); i += 2 {
		text := namesAndTexts[i+1]
		files = append(files, File{Name: namesAndTexts[i], Kind: Recognize([]byte(text)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
	}
	return Diagnose(context.Background(), files)
}

func mustDiagnose(t *testing.T, namesAndTexts ...string) *Diagnosis {
	t.Helper()
	d, err := diagnoseTexts(namesAndTexts...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// said returns all that a diagnosis says in words.
func (d *Diagnosis) said() string {
	all := []string{string(d.Verdict.Status), d.Verdict.Sentence}
	for _, c := range d.Verdict.Causes {
		all = append(all, string(c.Kind), c.Sentence)
	}
	for _, r := range d.Remedies {
		all = append(all, r.Sentence)
	}
	for _, w := range d.Wanted {
		all = append(all, w.Input, w.Tells)
	}
	return strings.Join(slices.Concat(all, d.also, d.unknown, d.warnings), "\n")
}

func expect(t *testing.T, name, got string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(got, want) {
			t.Errorf("%s: got\n%s\nwant %q", name, got, want)
		}
	}
}

// The heads of the dumps by release: see TestColumnsOfEachRelease of reports/record.
const (
	levelsHead119   = "PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests"
	levelsHead127   = levelsHead119 + ", DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests"
	queuesHead119   = "PriorityLevelName, Index, PendingRequests, ExecutingRequests, VirtualStart"
	queuesHead123   = "PriorityLevelName, Index, PendingRequests, ExecutingRequests, SeatsInUse, NextDispatchR, InitialSeatsSum, MaxSeatsSum, TotalWorkSum"
	requestsHead119 = "PriorityLevelName, FlowSchemaName, QueueIndex, RequestIndexInQueue, FlowDistingsher, ArriveTime"
	requestsHead123 = requestsHead119 + ", InitialSeats, FinalSeats, AdditionalLatency"
	requestsHead128 = requestsHead123 + ", StartTime"
	detailsHead     = ", UserName, Verb, APIPath, Namespace, Name, APIVersion, Resource, SubResource"
)

// A row means the same in the dump of each release; what a release does not have is not known.
func TestDumpsOfEachRelease(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{levelsHead119 + "\nexempt, <none>, <none>, <none>, <none>, <none>\na, 2, false, false, 7, 4\n", "level a: 7 wait, 4 execute, 2 queues, counted false"},
		{levelsHead127 + "\nexempt, 0, false, false, 0, 1, 5, 0, 0, 0\na, 2, false, true, 7, 4, 90, 30, 0, 10\n",
			"level exempt: 0 wait, 1 execute, 0 queues, counted true 5 0 0; level a: 7 wait, 4 execute, 2 queues, counted true 90 30 10"},
		{queuesHead119 + "\nexempt, <none>, <none>, <none>, <none>\na, 0, 7, 4, 12.5000\na, 1, 0, 0, 0.0000\n", "queue a 0: 7 4 -1; queue a 1: 0 0 -1"},
		{queuesHead123 + "\na, 0, 7, 4, 9, 0.00000000ss, 7, 7, 0.70000000ss\n", "queue a 0: 7 4 9"},
		{requestsHead119 + "\nexempt, <none>, <none>, <none>, <none>, <none>\na, s, 3, 0, u, 2020-07-23T15:26:57.179170694Z\n", "request a s/u in 3 at 0: 1 seats, executing false"},
		{requestsHead123 + "\na, s, 3, 1, u, 2020-07-23T15:26:57Z, 5, 0, 0s\n", "request a s/u in 3 at 1: 5 seats, executing false"},
		{requestsHead128 + "\na, s, 3, 1, u, 2020-07-23T15:26:57Z, 5, 0, 0s, 0001-01-01T00:00:00Z\na, s, 3, -1, , 2020-07-23T15:26:57Z, 2, 0, 0s, 2020-07-23T15:26:58Z\n",
			"request a s/u in 3 at 1: 5 seats, executing false; request a s in 3 at -1: 2 seats, executing true"},
		{requestsHead119 + detailsHead + ",\nexempt, <none>, <none>, <none>, <none>, <none>, <none>, <none>, <none>, <none>, <none>, <none>, <none>, <none>,\n" +
			"a, s, 0, 0, u, 2020-07-23T15:26:57Z, u, list, /api/v1/pods, , , v1, pods, ,\n", "request a s/u in 0 at 0: 1 seats, executing false, u list /api/v1/pods"},
		{requestsHead128 + detailsHead + "\na, s, 0, 0, CN=x,O=y, 2020-07-23T15:26:57Z, 1, 0, 0s, 0001-01-01T00:00:00Z, CN=x,O=y, get, /logs/a,b, , , , , \n",
			"request a s/CN=x,O=y in 0 at 0: 1 seats, executing false, CN=x,O=y get /logs/a,b"},
		{requestsHead119 + "\na, s, 0, 0, CN=x,O=y, 2020-07-23T15:26:57Z\n", "request a s/CN=x,O=y in 0 at 0: 1 seats, executing false"},
		{strings.Replace(requestsHead119, "Distingsher", "Distinguisher", 1) + "\na, s, 0, 0, u, 2020-07-23T15:26:57Z\n", "request a s/u in 0 at 0: 1 seats, executing false"},
	} {
		for _, form := range []func(string) string{
			func(s string) string { return s },
			func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
			func(s string) string { return strings.ReplaceAll(s, ", ", ",\t") },
			func(s string) string { return "\ufeff" + strings.ReplaceAll(s, ", ", ",") },
			func(s string) string {
				return "It was so:\n\n```\n$ kubectl get --raw /debug/x\n" + s + "```\nand, as one sees, a, b, c\n"
			},
			func(s string) string {
				return "> " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n> ") + "\n\nanswer\n"
			},
		} {
			if got := dumpText(readDumps("d", form(c.text))); !strings.Contains(got, c.want) {
				t.Errorf("%q:\ngot  %s\nwant %s", form(c.text), got, c.want)
			}
		}
	}
}

// dumpText writes dumps and errors in short.
func dumpText(all []*dump, errs error) string {
	var texts []string
	for _, d := range all {
		for _, l := range d.levels {
			text := fmt.Sprintf("level %s: %d wait, %d execute, %d queues, counted %t", l.name, l.waiting, l.executing, l.active, l.counted)
			if l.counted {
				text += fmt.Sprintf(" %d %d %d", l.dispatched, l.rejected, l.cancelled)
			}
			texts = append(texts, text)
		}
		for _, q := range d.queues {
			texts = append(texts, fmt.Sprintf("queue %s %d: %d %d %d", q.level, q.index, q.pending, q.executing, q.seats))
		}
		for i := range d.requests {
			r := &d.requests[i]
			text := fmt.Sprintf("request %s %s in %d at %d: %d seats, executing %t", r.level, (&flowNow{schema: r.schema, distinguisher: r.flow}).name(), r.queue, r.position, r.seats, r.executing())
			if r.details {
				text += ", " + r.user + " " + r.verb + " " + r.path
			}
			texts = append(texts, text)
		}
	}
	if errs != nil {
		texts = append(texts, errs.Error())
	}
	return strings.Join(texts, "; ")
}

// A table that went through a spreadsheet or a page in Markdown has other separators. Dots stand for rows that were left out.
func TestDumpsWithOtherSeparators(t *testing.T) {
	plain := strings.Split(levelsHead119, ", ")
	row := []string{"a", "2", "false", "false", "7", "4"}
	const want = "level a: 7 wait, 4 execute, 2 queues, counted false"
	for name, text := range map[string]string{
		"tabs":       strings.Join(plain, "\t") + "\n" + strings.Join(row, "\t") + "\n...\n",
		"semicolons": strings.Join(plain, ";") + "\n" + strings.Join(row, ";") + "\n",
		"quotes":     `"` + strings.Join(plain, `","`) + "\"\n\"" + strings.Join(row, `","`) + "\"\n",
		"Markdown":   "| " + strings.Join(plain, " | ") + " |\n|---|---|---|---|---|---|\n| " + strings.Join(row, " | ") + " |\n",
		"spaces":     strings.Join(plain, "  ") + "\n" + strings.Join(row, "     ") + "\n",
	} {
		all, errs := readDumps("d", text)
		if got := dumpText(all, errs.Err()); got != want || Recognize([]byte(text)) != incident.DumpLevels {
			t.Errorf("%s: %s as %s", name, got, Recognize([]byte(text)))
		}
		if leftOut := strings.Contains(text, "..."); len(all) > 0 && all[0].leftOut != leftOut {
			t.Errorf("%s: rows left out: %t", name, all[0].leftOut)
		}
	}
}

// All that is wrong is said at once, each with its line.
func TestWrongRows(t *testing.T) {
	_, err := diagnoseTexts("levels.csv", levelsHead127+"\na, 2, false, false, seven, 4, 90, 30, 0, 10\nb, 2, false, false, 7, -4, 90, 30, 0, 31\nc, 2, fal\na, 0, true, false, 0, 0, 0, 0, 0, 0\n",
		"requests.csv", requestsHead128+"\na, s, 0, 0, u, yesterday, 1, 0, 0s, 0001-01-01T00:00:00Z\na, s, 0, -1, u, 2020-07-23T15:26:57Z, 1, 0, 0s, 0001-01-01T00:00:00Z\n",
		"queues.csv", "PriorityLevelName, Index, PendingRequest, ExecutingRequests\na, 0, 1, 1\n")
	if err == nil {
		t.Fatal("no error")
	}
	expect(t, "errors", err.Error(), `levels.csv:2: WaitingRequests: "seven" is not a number of this column; want an integer of 0 or more`,
		`levels.csv:3: ExecutingRequests: "-4" is not`, "levels.csv:3: CancelledRequests: 31 is more than RejectedRequests, 30, which includes them",
		"levels.csv:4: the row has 3 columns, and the first line of the dump has 10", "levels.csv:5: duplicate row of a (first at line 2)",
		`requests.csv:2: ArriveTime: "yesterday" is not a time`, "requests.csv:3: StartTime: the request executes", `queues.csv:1: dump_queues has no column PendingRequests (did you mean "PendingRequest"?)`)
}

// kubernetes-sigs/kueue#2973: one user sent many requests at once and was rejected. The dump alone shows the level, the reasons and
// that few flows wait; the metrics of the issue are of a later moment.
func TestKueue2973(t *testing.T) {
	const levels = `$ kubectl get --raw /debug/api_priority_and_fairness/dump_priority_levels
` + levelsHead127 + `
catch-all,         0,            true,   false,       0,               0,                 39,                 0,                0,                0
exempt,            0,            true,   false,       0,               0,                 2290,               0,                0,                0
global-default,    4,            false,  false,       57,              368,               23614,              1533,             0,                609
system,            0,            true,   false,       0,               0,                 557,                0,                0,                0
`
	d := mustDiagnose(t, "issue.txt", levels)
	expect(t, "dump", d.said(), "harm", "6.08 % of 25.2 k requests of global-default were rejected since the server started: 924 as queues were full, 609 timed out in a queue",
		"57 wait, while 368 execute", "57 requests wait in 4 queues of global-default", "one flow, or few", "dump_requests?includeRequestDetails=1", "do not say when")
	if len(d.Verdict.Causes) != 1 || d.Verdict.Causes[0].Level != "global-default" || d.From != "" {
		t.Errorf("causes %+v, from %q", d.Verdict.Causes, d.From)
	}
	d = mustDiagnose(t, "issue.txt", levels, "metrics.txt", "# TYPE apiserver_flowcontrol_rejected_requests_total counter\n"+
		"apiserver_flowcontrol_rejected_requests_total{flow_schema=\"global-default\",priority_level=\"global-default\",reason=\"queue-full\"} 924\n"+
		"apiserver_flowcontrol_rejected_requests_total{flow_schema=\"global-default\",priority_level=\"global-default\",reason=\"time-out\"} 719\n")
	expect(t, "dump and metrics", d.said(), "not of the same moment, or not of the same server: 1643 requests of global-default had been rejected in the metrics, and 1533 in issue.txt:2")
}

// kubernetes#93376: the only row is of no request. Nothing waits.
func TestPhantomRequest(t *testing.T) {
	d := mustDiagnose(t, "requests.csv", requestsHead119+detailsHead+",\nexempt,            <none>,         <none>,     <none>,              <none>,          <none>,     <none>,   <none>, <none>,  <none>,    <none>, <none>,     <none>,   <none>,\n")
	expect(t, "phantom", d.said(), "unknown", "No request waits at the moment of the dump, which does not say whether requests were rejected before", "Before Kubernetes 1.28")
	if len(d.Clients) > 0 || len(d.Verdict.Harmed) > 0 {
		t.Errorf("clients %v, harmed %v", d.Clients, d.Verdict.Harmed)
	}
}

// A level with one heavy flow and a small one behind it in a queue: the heavy one is named, with its user where there are details, and
// the small one is its victim. When it arrived, no queue of its hand was empty.
func TestWhoSharesWhoseQueues(t *testing.T) {
	var b strings.Builder
	b.WriteString(requestsHead128 + detailsHead + "\n")
	row := func(flow string, queue, position int, arrived, started string) {
		user := "system:serviceaccount:" + flow
		fmt.Fprintf(&b, "w, service-accounts, %d, %d, %s, 2026-01-01T00:00:%sZ, 1, 0, 0s, %s, %s, list, /api/v1/pods, , , v1, pods, \n", queue, position, user, arrived, started, user)
	}
	for i := range 6 {
		row("ci:heavy", i, -1, "01", "2026-01-01T00:00:02Z")
		for k := range 4 {
			row("ci:heavy", i, k, "03", "0001-01-01T00:00:00Z")
		}
	}
	row("web:small", 2, 4, "04", "0001-01-01T00:00:00Z")
	row("web:other", 9, -1, "05", "2026-01-01T00:00:05Z")
	d := mustDiagnose(t, "dump_requests.csv", b.String())
	expect(t, "dump", d.said(), "warning", "25 requests wait at w, while 7 execute; the first of them has waited for 2 s or longer",
		"heavy has 24 of the 25 requests that wait at w, and 6 of the 7 that execute there", "Give heavy a priority level of its own.",
		"small asks for no more than its fair share, and waits in queue 2 behind requests of heavy: when it arrived, no queue of its hand was empty")
	roles := map[string]result.Role{}
	for _, h := range d.Verdict.Harmed {
		roles[h.Name] = h.Role
	}
	if roles["small"] != result.Victim || roles["heavy"] != result.WasLimited || len(roles) != 2 {
		t.Errorf("roles %v", roles)
	}
	if len(d.Clients) != 3 || d.Clients[0].User != "system:serviceaccount:ci:heavy" || !slices.Equal(d.Clients[0].SharedQueuesWith, []string{"small"}) || d.Clients[0].Open != 30 {
		t.Errorf("clients %+v", d.Clients)
	}
}

// Requests of one seat wait while fewer seats than the nominal limit are in use: the others are lent.
func TestLentSeatsInADump(t *testing.T) {
	const dump = requestsHead128 + "\nw, s, 0, -1, a, 2026-01-01T00:00:01Z, 1, 0, 0s, 2026-01-01T00:00:01Z\nw, s, 0, 0, a, 2026-01-01T00:00:02Z, 1, 0, 0s, 0001-01-01T00:00:00Z\n"
	expect(t, "alone", mustDiagnose(t, "d", dump).said(), "a has 1 of the 1 request that waits", "whether seats were lent")
	d := mustDiagnose(t, "d", dump, "m", "apiserver_flowcontrol_nominal_limit_seats{priority_level=\"w\"} 10\n")
	expect(t, "with metrics", d.said(), "Requests of one seat wait while 1 seat of w are in use", "lend fewer seats")
	if c := d.Verdict.Causes[0]; c.Kind != result.ByLending {
		t.Errorf("cause %+v", c)
	}
}

// A level whose flows all wait does not show why; nor does one without queues.
func TestWhatADumpCannotTell(t *testing.T) {
	var b strings.Builder
	b.WriteString(requestsHead128 + "\n")
	for i := range 40 {
		fmt.Fprintf(&b, "w, s, %d, -1, u%d, 2026-01-01T00:00:01Z, 1, 0, 0s, 2026-01-01T00:00:01Z\nw, s, %d, 0, u%d, 2026-01-01T00:00:02Z, 10, 0, 0s, 0001-01-01T00:00:00Z\n", i, i, i, i)
	}
	d := mustDiagnose(t, "d", b.String())
	expect(t, "all wait", d.said(), "those of 40 flows do, of which none stands out", "40 requests of more than one seat are next in their queues, up to 10 seats each")
	if len(d.Verdict.Causes) > 0 {
		t.Errorf("causes %+v", d.Verdict.Causes)
	}
	d = mustDiagnose(t, "d", levelsHead127+"\ncatch-all, 0, false, false, 0, 13, 900, 400, 0, 0\n")
	expect(t, "no queues", d.said(), "harm", "30.8 % of 1300 requests of catch-all were rejected since the server started: 400 as all seats were taken and it has no queues",
		"Whether catch-all, which has no queues, had too many requests at once or too wide ones", "First find out which FlowSchemas assign requests to catch-all")
	if strings.Contains(d.said(), "more seats") {
		t.Errorf("seats are offered: %s", d.said())
	}
	expect(t, "healthy", mustDiagnose(t, "d", levelsHead127+"\na, 0, true, false, 0, 0, 900, 0, 0, 0\n").said(), "unknown", "No request waits at the moment of the dump, and none was rejected since the server started; whether requests waited before is not known")
}

// Before 1.28 a dump has only the requests that wait. A flow that has most of them stands out, and its share is not known.
func TestOldDumpOfRequests(t *testing.T) {
	var b strings.Builder
	b.WriteString(requestsHead119 + "\n")
	for i := range 30 {
		fmt.Fprintf(&b, "w, s, %d, %d, heavy, 2021-01-01T00:00:%02dZ\n", i%6, i/6, i)
	}
	b.WriteString("w, s, 9, 0, a, 2021-01-01T00:00:30Z\nw, s, 10, 0, b, 2021-01-01T00:00:31Z\n")
	d := mustDiagnose(t, "d", b.String())
	expect(t, "1.19", d.said(), "At the moment of the dump 32 requests wait at w; the first of them has waited for 31 s or longer", "heavy has 30 of the 32 requests that wait at w.",
		"Before Kubernetes 1.28, a dump of requests does not have those that execute")
	if strings.Contains(d.said(), "fair share") {
		t.Errorf("a share is said: %s", d.said())
	}
}

// Objects say what queues a level has, and dumps of two servers are told apart.
func TestDumpsBesideOthers(t *testing.T) {
	const level = "apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: PriorityLevelConfiguration\nmetadata: {name: jail}\nspec:\n  type: Limited\n  limited: {nominalConcurrencyShares: 1, limitResponse: {type: Reject}}\n"
	const dump = levelsHead127 + "\njail, 0, false, false, 0, 1, 50, 50, 0, 0\n"
	expect(t, "no objects", mustDiagnose(t, "d", dump).said(), "50 when they arrived")
	expect(t, "objects", mustDiagnose(t, "d", dump, "o.yaml", level).said(), "50 as all seats were taken and it has no queues")
	d := mustDiagnose(t, "a/dump_priority_levels.csv", dump, "b/dump_priority_levels.csv", levelsHead127+"\njail, 0, false, false, 0, 1, 40, 60, 0, 0\n")
	expect(t, "two servers", d.said(), "are of different servers, of a server that was started again, or not in the order of time: the counters of jail fell", "(b/dump_priority_levels.csv:1)")
	d = mustDiagnose(t, "1/levels", dump, "2/levels", levelsHead127+"\njail, 0, false, false, 0, 1, 60, 70, 0, 0\n")
	expect(t, "later", d.said(), "between levels:1 and levels:1, 20 requests of jail were rejected, if both are of the same server")
	d = mustDiagnose(t, "levels", levelsHead119+"\na, 1, false, false, 7, 4\n", "queues", queuesHead119+"\na, 0, 9, 4, 0.0\n")
	expect(t, "other moments", d.said(), "not of the same moment, or not of the same server: the requests that wait at a are 7 in levels:1, 9 in queues:1")
}

// No text makes the reader panic, and what it reads is within its bounds.
func FuzzReadDumps(f *testing.F) {
	for _, text := range []string{
		levelsHead127 + "\na, 2, false, false, 7, 4, 90, 30, 0, 10\n", queuesHead123 + "\na, 0, 7, 4, 9, 0.0ss, 7, 7, 0.7ss\n",
		requestsHead128 + detailsHead + "\na, s, 0, 0, CN=x,O=y, 2020-07-23T15:26:57Z, 1, 0, 0s, 0001-01-01T00:00:00Z, CN=x,O=y, get, /a,b, , , , , \n",
		requestsHead119 + "\nexempt, <none>, <none>, <none>, <none>, <none>,\n```\n" + levelsHead119, "PriorityLevelName|Index|PendingRequests|ExecutingRequests\n|---|\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, errs := readDumps("d", text)
		lines := strings.Count(text, "\n") + 1
		rows := 0
		for _, d := range all {
			rows += len(d.levels) + len(d.queues) + len(d.requests)
			for i := range d.requests {
				if r := &d.requests[i]; r.queue < -1 || r.seats < 0 || r.executing() && r.position >= 0 && r.started.IsZero() {
					t.Errorf("request %+v", r)
				}
			}
		}
		if rows > lines || len(errs) > mostDumpErrors {
			t.Errorf("%d rows and %d errors in %d lines", rows, len(errs), lines)
		}
		if len(errs) > 0 {
			return
		}
		e := &evidence{observed: observed{dumps: all}}
		e.conclude()
		e.diagnosis().Document()
	})
}
