package logfile

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"apfsim/sim/trace/httplog"
	"apfsim/sim/trace/serverlog"
)

// No file makes the reader panic or go on for ever. The lines do not go back, and there are no more entries and
// problems than there are brackets and lines.
func FuzzReader(f *testing.F) {
	for _, c := range [][]string{
		{event, line, eventList, pretty(eventList), pretty(event)},
		{"[" + event + ",\n" + event + "]\n" + event, "[\n{\"a\":[1}\n]\n" + line},
		{`{"records":[{"properties":{"log":` + quote(event) + `,"pod":"a"}},` + "\n" + `{"properties":{"log":` + quote(line) + `}}]}`},
		{`{"@message":` + quote(event) + `}`, `{"log":` + quote(line+"\n") + `,"stream":"stderr","time":"2026-11-21T22:53:48.5412Z"}`},
		{"2026-11-21T22:53:48.541Z stdout P " + event[:100], "2026-11-21T22:53:48.541Z stdout F " + event[100:]},
		{"master-0 " + event, "<14>Nov 21 22:53:48 cp1 kube-apiserver[812]: " + line, "[pod/a/b] " + line},
		{`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":` + quote(event) + `}}]}]}]}`},
		{queryResults(event, line), pretty(queryResults(event)), `[[{"field":"a"}]]`, `[{"field":"@message","value":"b"}`},
		{"@timestamp,@message,@logStream", queryRow(event), "a,\"b", "c\",d", queryRow(line)},
		{event[:200], "{", event + ",", `{"a":"b,`, `{"items":[` + event[:100]},
		{compress(event + "\n" + line)},
	} {
		f.Add([]byte(strings.Join(c, "\n")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		limits := 0
		r, err := Open(bytes.NewReader(data), "-", Options{Reference: reference, Adjusted: func(httplog.Adjustment) { limits++ }})
		if err != nil {
			return
		}
		if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
			return // the size of what it contains is not known
		}
		lines := int64(bytes.Count(data, []byte{'\n'}) + 1)
		most := lines + int64(bytes.Count(data, []byte{'{'}))
		latest, calls := int64(0), int64(0)
		for {
			var e serverlog.Entry
			err := r.Next(&e)
			if err == io.EOF {
				break
			}
			if p, ok := err.(*serverlog.Problem); err != nil && (!ok || p.Line != r.Line() || p.Message == "") {
				t.Fatalf("error %#v at line %d", err, r.Line())
			}
			if err == nil && e.ArrivalNs == 0 {
				t.Errorf("no arrival: %+v", e)
			}
			if r.Line() < latest || r.Line() > lines {
				t.Fatalf("line %d after line %d, of %d", r.Line(), latest, lines)
			}
			latest = r.Line()
			if calls++; calls > 2*most+2 {
				t.Fatalf("%d entries and problems in %d lines", calls, lines)
			}
		}
		var e serverlog.Entry
		if err := r.Next(&e); err != io.EOF {
			t.Errorf("after the end: %v", err)
		}
	})
}

// compress returns the text compressed with gzip.
func compress(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}
