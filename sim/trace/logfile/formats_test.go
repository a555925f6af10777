package logfile

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"apfsim/sim/trace/serverlog"
)

// event is an audit event as the server wrote it.
const event = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"lists.1.3-1","stage":"ResponseComplete",` +
	`"requestURI":"/api/v1/namespaces/big/configmaps?labelSelector=a%3Db","verb":"list","user":{"username":"lister-3",` +
	`"groups":["live-list","system:authenticated"]},"sourceIPs":["127.0.0.1"],"userAgent":"Go-http-client/2.0",` +
	`"objectRef":{"resource":"configmaps","namespace":"big","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":200},` +
	`"requestReceivedTimestamp":"2026-11-21T22:53:48.528710Z","stageTimestamp":"2026-11-21T22:53:48.541094Z"}`

// line is the line of the httplog for the same request.
const line = `I1121 22:53:48.541124   19222 httplog.go:134] "HTTP" verb="LIST" URI="/api/v1/namespaces/big/configmaps?labelSelector=a%3Db" ` +
	`latency="12.417434ms" userAgent="Go-http-client/2.0" audit-ID="lists.1.3-1" srcIP="127.0.0.1:53636" apf_pl="live-list" ` +
	`apf_fs="live-list" apf_iseats=9 apf_fseats=0 apf_additionalLatency="0s" apf_execution_time="11.66162ms" resp=200`

// quote returns the text as a JSON string.
func quote(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// pretty returns the JSON value on many lines.
func pretty(value string) string {
	var v any
	if err := json.Unmarshal([]byte(value), &v); err != nil {
		panic(err)
	}
	b, _ := json.MarshalIndent(v, "", "  ")
	return string(b)
}

// queryResults is what 'aws logs get-query-results' returns for lines of a log, and queryEnd the end of it.
func queryResults(lines ...string) string {
	var rows []string
	for _, line := range lines {
		rows = append(rows, `[{"field":"@timestamp","value":"2026-11-21 22:53:48.541"},{"field":"@message","value":`+quote(line)+
			`},{"field":"@logStream","value":"kube-apiserver-audit-4f1a"},{"field":"@ptr","value":"CmEK"}]`)
	}
	return `{"results":[` + strings.Join(rows, ",") + `],` + queryEnd
}

const queryEnd = `"statistics":{"recordsMatched":2.0,"recordsScanned":2.0,"bytesScanned":2048.0},"status":"Complete"}`

// queryRow is a line of the CSV that the console of CloudWatch Logs Insights exports.
func queryRow(line string) string {
	return "2026-11-21 22:53:48.541," + csvCell(line) + ",kube-apiserver-audit-4f1a"
}

func csvCell(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }

// eventList is what the webhook backend sends, here of two events.
const eventList = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[` + event + `,` + event + `]}`

// The same event in all formats in which it is found gives the same entry.
func TestWrappersOfAuditEvents(t *testing.T) {
	const cri = "2026-11-21T22:53:48.541200Z stdout F "
	for name, c := range map[string]struct {
		text   string
		events int
		server string
	}{
		"lines":                  {event + "\n" + event, 2, ""},
		"lines of Windows":       {"\xef\xbb\xbf" + event + "\r\n" + event + "\r\n", 2, ""},
		"EventList":              {eventList, 2, ""},
		"EventLists, one a line": {eventList + "\n" + eventList + "\n", 4, ""},
		"EventList on lines":     {pretty(eventList) + "\n" + pretty(eventList), 4, ""},
		"events on lines":        {pretty(event) + "\n" + pretty(event) + "\n" + event, 3, ""},
		"array":                  {"[" + event + ",\n" + event + "]\n" + event, 3, ""},
		"array on lines":         {pretty("[" + event + "," + event + "]"), 2, ""},
		"array, one a line":      {"[\n" + event + ",\n" + event + "\n]", 2, ""},
		"AKS": {`{"category":"kube-audit","operationName":"Microsoft.ContainerService/managedClusters/diagnosticLogs/Read",` +
			`"properties":{"log":` + quote(event+"\n") + `,"stream":"stdout","pod":"kube-apiserver-65c9f4d6b-7xkzq","containerID":"5f1"},` +
			`"time":"2026-11-21T22:53:48.6211290Z"}`, 1, "kube-apiserver-65c9f4d6b-7xkzq"},
		"AKS, records":          {`{"records":[{"properties":{"log":` + quote(event) + `,"pod":"a"}},` + "\n" + `{"properties":{"log":` + quote(event) + `,"pod":"a"}}]}`, 2, "a"},
		"AKS, records on lines": {pretty(`{"records":[{"properties":{"log":` + quote(event) + `,"pod":"a"}}]}`), 1, "a"},
		"EKS, CloudWatch Logs Insights": {`{"@timestamp":"2026-11-21 22:53:48.541","@logStream":"kube-apiserver-audit-4f1a",` +
			`"@message":` + quote(event) + `}`, 1, "kube-apiserver-audit-4f1a"},
		"EKS, get-log-events": {pretty(`{"events":[{"timestamp":1795301628541,"message":` + quote(event) + `,"ingestionTime":1795301629000}],` +
			`"nextForwardToken":"f/1"}`), 1, ""},
		"EKS, subscription": {`{"messageType":"DATA_MESSAGE","owner":"1","logGroup":"/aws/eks/a/cluster","logStream":"s",` +
			`"logEvents":[{"id":"1","timestamp":1795301628541,"message":` + quote(event) + `}]}`, 1, ""},
		"EKS, get-query-results":           {pretty(queryResults(event, event)), 2, "kube-apiserver-audit-4f1a"},
		"EKS, get-query-results on a line": {queryResults(event, event) + "\n" + queryResults(event), 3, "kube-apiserver-audit-4f1a"},
		"EKS, its results alone":           {pretty("[" + strings.TrimSuffix(strings.TrimPrefix(queryResults(event), `{"results":[`), `],`+queryEnd) + "]"), 1, "kube-apiserver-audit-4f1a"},
		"EKS, CSV":                         {"@timestamp,@message,@logStream\n" + queryRow(event) + "\n" + queryRow(event) + "\n", 2, "kube-apiserver-audit-4f1a"},
		"EKS, CSV of Windows":              {"\xef\xbb\xbf@timestamp,@message,@logStream\r\n" + queryRow(event) + "\r\n\r\n" + queryRow(event), 2, "kube-apiserver-audit-4f1a"},
		"EKS, CSV, several lines":          {"@message\n" + csvCell(pretty(event)) + "\n" + csvCell(event) + "\n", 2, ""},
		"EKS, two files of CSV":            {strings.Repeat("@logStream,@message\nkube-apiserver-audit-4f1a,"+csvCell(event)+"\n", 2), 2, "kube-apiserver-audit-4f1a"},
		"AKS, CSV of Log Analytics":        {`"TimeGenerated [UTC]",Category,"log_s","pod_s"` + "\n" + `"11/21/2026, 10:53:48.541 PM","kube-audit",` + csvCell(event) + `,a` + "\n", 1, "a"},
		"Splunk, CSV":                      {`"_raw",source` + "\n" + csvCell(event) + `,audit` + "\n", 1, ""},
		"EKS, export":                      {"2026-11-21T22:53:48.541Z " + event, 1, ""},
		"OpenShift, node-logs":             {"master-0.example.com " + event, 1, "master-0.example.com"},
		"OpenShift, collector":             {`{"hostname":"master-1","log_type":"audit","@timestamp":"2026-11-21T22:53:48Z",` + event[1:], 1, "master-1"},
		"Elastic Agent":                    {`{"@timestamp":"2026-11-21T22:53:48Z","kubernetes":{"audit":` + event + `},"host":{"name":"x"}}`, 1, ""},
		"Elasticsearch":                    {`{"_index":"a","_source":{"kubernetes":{"audit":` + event + `}}}`, 1, ""},
		"Cloud Logging, entries":           {`{"entries":[{"message":` + quote(event) + `}]}`, 1, ""},
		"a list beside the event":          {`{"message":` + quote(event) + `,"records":[]}`, 1, ""},
		"Fluentd":                          {`{"log":` + quote(event) + `,"kubernetes":{"pod_name":"kube-apiserver-cp1"}}`, 1, "kube-apiserver-cp1"},
		"OpenTelemetry": {pretty(`{"resourceLogs":[{"resource":{},"scopeLogs":[{"scope":{},"logRecords":[{"timeUnixNano":"1","body":{"stringValue":` +
			quote(event) + `}}]}]}]}`), 1, ""},
		"CRI":                     {cri + event, 1, ""},
		"CRI, parts":              {strings.Replace(cri, "F", "P", 1) + event[:100] + "\n" + cri + event[100:], 1, ""},
		"Docker":                  {`{"log":` + quote(event+"\n") + `,"stream":"stdout","time":"2026-11-21T22:53:48.5412Z"}`, 1, ""},
		"kubectl logs --prefix":   {"[pod/kube-apiserver-cp1/kube-apiserver] " + event, 1, "kube-apiserver-cp1"},
		"syslog":                  {"<14>Nov 21 22:53:48 cp1 kube-apiserver[812]: " + event, 1, "cp1"},
		"among other lines":       {"I1121 22:53:48.541124 1 get.go:279] \"Starting watch\"\n\n" + event + "\nplain text\n{\"a\":1}\n", 1, ""},
		"after zeros":             {strings.Repeat("\x00", 300) + event + "\n\x00\x01 " + event, 2, ""},
		"behind an unrelated key": {`{"items":"none",` + event[1:], 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			want, _, _ := readAll(t, event, Options{})
			want[0].Server = c.server
			entries, problems, _ := readAll(t, c.text, Options{})
			if len(entries) != c.events || len(problems) > 0 {
				t.Errorf("%d entries, want %d; problems %v", len(entries), c.events, problems)
			}
			for _, e := range entries {
				if d := cmp.Diff(want[0], e); d != "" {
					t.Errorf("plain (-), wrapped (+):\n%s", d)
				}
			}
		})
	}
}

// The same line of the httplog in all formats in which it is found gives the same entry, whatever the zone of
// the server is.
func TestWrappersOfHTTPLogLines(t *testing.T) {
	inTokyo := strings.Replace(line, "I1121 22:53", "I1122 07:53", 1)
	const at = "2026-11-21T22:53:48.541200Z"
	for name, c := range map[string]struct{ text, server string }{
		"plain":               {line, ""},
		"CRI":                 {at + " stderr F " + line, ""},
		"CRI, parts":          {at + " stderr P " + line[:99] + "\n" + at + " stderr F " + line[99:], ""},
		"Tokyo, CRI":          {at + " stderr F " + inTokyo, ""},
		"Docker":              {`{"log":` + quote(line+"\n") + `,"stream":"stderr","time":"` + at + `"}`, ""},
		"Tokyo, Docker":       {`{"log":` + quote(inTokyo+"\n") + `,"stream":"stderr","time":"` + at + `"}`, ""},
		"journald":            {"Nov 21 22:53:48 cp1 kube-apiserver[812]: " + line, "cp1"},
		"journald, short-iso": {"2026-11-21T22:53:48+0000 cp1 kube-apiserver[812]: " + line, "cp1"},
		"journald, export":    {"2026-11-21T22:53:48.541124Z\t" + line[strings.Index(line, `"HTTP"`):], ""},
		"AKS": {`{"category":"kube-apiserver","properties":{"log":` + quote(line+"\n") + `,"stream":"stderr","pod":"p"},` +
			`"time":"2026-11-21T23:53:48.123Z"}`, "p"},
		// Collected an hour later: this tells the year, but not the zone.
		"Filebeat": {`{"@timestamp":"2026-11-21T23:53:48.123Z","message":` + quote(line) + `}`, ""},
		"Cloud Logging": {`{"jsonPayload":{"message":` + quote(line[strings.Index(line, `"HTTP"`):]) + `,"pid":"1"},` +
			`"timestamp":"2026-11-21T22:53:48.541124Z"}`, ""},
		"journald, json":         {`{"__REALTIME_TIMESTAMP":"1795301628541200","_HOSTNAME":"cp1","MESSAGE":` + quote(line) + `}`, "cp1"},
		"EKS, get-query-results": {queryResults(line), "kube-apiserver-audit-4f1a"},
		"EKS, CSV":               {"@timestamp,@message,@logStream\n" + queryRow(line), "kube-apiserver-audit-4f1a"},
		"kubectl logs --prefix":  {"[pod/kube-apiserver-cp1/kube-apiserver] " + line, "kube-apiserver-cp1"},
		"format json": {`{"ts":1795301628541.124,"caller":"httplog/httplog.go:134","msg":"HTTP","v":3,"verb":"LIST",` +
			`"URI":"/api/v1/namespaces/big/configmaps?labelSelector=a%3Db","latency":"12.417434ms","userAgent":"Go-http-client/2.0",` +
			`"audit-ID":"lists.1.3-1","srcIP":"127.0.0.1:53636","apf_pl":"live-list","apf_fs":"live-list","apf_iseats":9,` +
			`"apf_fseats":0,"apf_additionalLatency":"0s","apf_execution_time":"11.66162ms","resp":200}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			want, _, _ := readAll(t, line, Options{})
			want[0].Server = c.server
			entries, problems, _ := readAll(t, c.text, Options{})
			if d := cmp.Diff(want, entries); d != "" || len(problems) > 0 {
				t.Errorf("problems %v; plain (-), wrapped (+):\n%s", problems, d)
			}
		})
	}
}

// What cannot be read is reported with its line, and the lines after it are read.
func TestProblems(t *testing.T) {
	long := strings.Replace(event, `"verb"`, `"requestObject":{"data":"`+strings.Repeat("x", maxRecord)+`"},"verb"`, 1)
	for _, c := range []struct {
		name, text string
		entries    int
		line       int64
		message    string
	}{
		{"without the beginning", event[100:] + "\n" + event[len(event)-100:] + "\n" + event, 1, 1, "the beginning of the audit event is missing"},
		{"cut off within a string", event + "\n" + event[:300] + "\n" + event, 2, 2, "byte 301: the text ends within a string"},
		{"cut off after a comma", event + "\n" + event[:strings.Index(event, `"stage"`)] + "\n" + event + "\n" + event, 3, 2, "cut off"},
		{"cut off after a bracket", event[:strings.Index(event, `"live-list"`)] + "\n" + event + "\n" + event, 2, 1, "cut off"},
		{"cut off at the end", event + "\n" + pretty(event)[:200], 1, 2, "the file ends within"},
		{"list cut off at the end", eventList[:strings.LastIndex(eventList, "}]}")+1] + "\n", 2, 1, "the file ends within a list"},
		{"without an ID", event + "\n" + strings.Replace(event, `"auditID"`, `"id"`, 1), 1, 2, "the event has no auditID"},
		{"without a stage", strings.Replace(event, `"stage"`, `"s"`, 1) + "\n" + event, 1, 1, "the event has no stage"},
		{"no time", strings.Replace(event, "requestReceivedTimestamp", "received", 1) + "\n" + event, 1, 1, "the event has no requestReceivedTimestamp"},
		{"bad time", "\n" + strings.Replace(event, "2026-11-21T22:53:48.528710Z", "yesterday", 1) + "\n" + event, 1, 2, `requestReceivedTimestamp: "yesterday" is not a time`},
		{"bad stage", strings.Replace(event, "ResponseComplete", "Response", 1), 0, 1, `stage: "Response"`},
		{"long line", event + "\n" + long + "\n" + event, 2, 2, "more than 1 MiB"},
		{"long event in a list", pretty(`[`+long+`,`+event+`]`) + "\n" + event, 2, 2, "more than 1 MiB"},
		{"long text", strings.Repeat("x", 3*maxRecord) + "\n" + event, 1, 1, "more than 1 MiB"},
		{"brackets", "{\n\"a\":[1}\n}\n" + event, 1, 1, "closing bracket"},
		{"httplog cut off", line[:len(line)-20] + "\n" + line, 1, 1, "cut off"},
		{"httplog without a duration", strings.Replace(line, "12.417434ms", "long", 1), 0, 1, `latency: "long" is not a duration`},
		{"CSV without names", "\"2026-11-21\"," + csvCell(event) + "\n" + event, 1, 1, "CSV is read only with its first line"},
		{"CSV, cut off", "@timestamp,@message,@logStream\n" + queryRow(event) + "\n" + queryRow(event)[:300], 1, 3, "the file ends within quotes"},
		{"CSV, other cells", "@timestamp,@message,@logStream\na,b\n" + queryRow(event), 1, 2, "it has 2 cells, and the first line has 3"},
		{"CSV, a quote", "@timestamp,@message\na,b\"c\"\n" + strings.TrimSuffix(queryRow(event), ",kube-apiserver-audit-4f1a"), 1, 2, "the row is not valid CSV"},
		{"CSV, long", "@timestamp,@message,@logStream\n" + queryRow(long) + "\n" + queryRow(event), 1, 2, "more than 1 MiB"},
		{"query without messages", `{"results":[[{"field":"verb","value":"list"},{"field":"@ptr","value":"CmEK"}]],` + queryEnd, 0, 1, "query fields @timestamp, @logStream, @message"},
		{"CSV without messages", "@timestamp,verb\n2026-11-21 22:53:48.541,list\n", 0, 2, "query fields @timestamp, @logStream, @message"},
		{"query, cut off", queryResults(event, event)[:len(queryResults(event))+100], 1, 1, "is cut off"},
		{"list in a wrapper", `{"message":` + quote(eventList) + `}` + "\n" + event, 1, 1, "a list within a wrapper"},
	} {
		t.Run(c.name, func(t *testing.T) {
			entries, problems, _ := readAll(t, c.text, Options{})
			if len(entries) != c.entries {
				t.Errorf("%d entries, want %d", len(entries), c.entries)
			}
			if len(problems) != 1 || problems[0].Line != c.line || !strings.Contains(problems[0].Message, c.message) {
				t.Errorf("problems %+v; want one at line %d: %s", problems, c.line, c.message)
			}
		})
	}
}

// PowerShell writes UTF-16, with a byte-order mark or without.
func TestUTF16(t *testing.T) {
	for _, text := range []string{"\xff\xfe{\x00", "\xfe\xff\x00{", "{\x00\"\x00", "\x00{\x00\""} {
		if _, err := Open(strings.NewReader(text), "a.log", Options{}); err == nil || err.Error() != "a.log: the file is in UTF-16; convert it to UTF-8" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A message of kube-apiserver can have several lines, some of which begin as JSON does. They are left out,
// and a list of audit events after them is read.
func TestMessagesOfSeveralLines(t *testing.T) {
	const header = "I1121 22:53:48.541200   19222 apf_controller.go:609] "
	message := header + "Controller writing Condition {Dangling False}\n{\n  \"type\": \"Dangling\",\n- \"lastTransitionTime\": null\n+ \"status\": \"False\",\n  }\n"
	entries, problems, _ := readAll(t, message+line+"\n"+message+pretty(eventList)+"\n", Options{})
	if len(problems) > 0 {
		t.Errorf("problems: %+v", problems)
	}
	want, _, _ := readAll(t, line+"\n"+eventList+"\n", Options{})
	if d := cmp.Diff(want, entries); d != "" {
		t.Errorf("alone (-), after messages (+):\n%s", d)
	}
}

// Two lists that only --format audit and --format httplog take apart.
func TestFormat(t *testing.T) {
	for format, want := range map[Format]string{Auto: "[0 1] 0", Audit: "[0] 1", HTTP: "[1] 1"} {
		entries, _, skipped := readAll(t, event+"\n"+line, Options{Format: format})
		logs := []serverlog.Log{}
		for _, e := range entries {
			logs = append(logs, e.Log)
		}
		if got := fmt.Sprint(logs, skipped); got != want {
			t.Errorf("%s: got %s, want %s", format, got, want)
		}
		if f, err := ParseFormat(format.String()); f != format || err != nil {
			t.Errorf("ParseFormat(%s) = %s, %v", format, f, err)
		}
	}
	if _, err := ParseFormat("json"); err == nil {
		t.Error("format json is accepted")
	}
}

// A header has no year. The nearest to the reference is taken, line by line, so that a log may contain New
// Year's Eve.
func TestYear(t *testing.T) {
	lines := strings.Replace(line, "I1121", "I1231", 1) + "\n" + strings.Replace(line, "I1121", "I0101", 1)
	entries, _, _ := readAll(t, lines, Options{Reference: time.Date(2027, 1, 3, 0, 0, 0, 0, time.UTC)})
	var got []string
	for _, e := range entries {
		got = append(got, time.Unix(0, e.StageNs).UTC().Format("2006-01-02"))
	}
	if d := cmp.Diff([]string{"2026-12-31", "2027-01-01"}, got); d != "" {
		t.Error(d)
	}
	// A file that klog itself has written begins with the date.
	for prefix, want := range map[string]string{"": "have no year", "Log file created at: 2026/11/21 22:53:40\nRunning on machine: cp1\n": ""} {
		r, err := Open(strings.NewReader(prefix+line), "-", Options{})
		if err != nil {
			t.Fatal(err)
		}
		var e serverlog.Entry
		if err := r.Next(&e); want == "" && (err != nil || e.StageNs != entries[0].StageNs-40*24*3600e9) ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q before the line: %v, want %q (%s)", prefix, err, want, time.Unix(0, e.StageNs).UTC())
		}
	}
}

// A container runtime may split a line at a space.
func TestSplitAtSpace(t *testing.T) {
	const at = "2026-11-21T22:53:48.541200Z stderr "
	space := strings.Index(line, "latency")
	want, _, _ := readAll(t, line, Options{})
	for _, i := range []int{space - 1, space} { // before and after the space
		text := at + "P " + line[:i] + "\n" + at + "F " + line[i:]
		entries, problems, _ := readAll(t, text, Options{})
		if d := cmp.Diff(want, entries); d != "" || len(problems) > 0 {
			t.Errorf("%q: problems %v (-want +got):\n%s", text, problems, d)
		}
	}
	_, problems, _ := readAll(t, at+"P "+line[:space], Options{})
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "has split") {
		t.Errorf("the file ends in the middle: %v", problems)
	}
}

// The lines that the documentation shows are read.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/logs.md")
	if err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	for line := range strings.Lines(string(page)) {
		if text, ok := strings.CutPrefix(line, "    "); ok {
			shown.WriteString(text)
		}
	}
	entries, problems, skipped := readAll(t, shown.String(), Options{})
	if len(entries) != 4 || len(problems) > 0 || skipped > 0 {
		t.Errorf("%d entries, want 4; problems %v; %d lines skipped", len(entries), problems, skipped)
	}
	// It names all members in which a line may be, and all that are lists.
	for _, name := range []string{"properties", "message", "MESSAGE", "_source", "_raw", "original", "structured", "line", "event",
		"kubernetes.audit", "body.stringValue", "result", "items", "records", "events", "logEvents", "results", "resourceLogs"} {
		if !strings.Contains(string(page), "`"+name) {
			t.Errorf("the page does not name %s", name)
		}
	}
}
