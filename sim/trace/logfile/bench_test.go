package logfile

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"apfsim/sim/trace/serverlog"
)

// repeated is a reader of the same text again and again.
type repeated struct {
	text []byte
	n, i int // how many times are left, the next byte
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	k := copy(p, r.text[r.i:])
	if r.i += k; r.i == len(r.text) {
		r.i, r.n = 0, r.n-1
	}
	return k, nil
}

func benchmark(b *testing.B, name string, text []byte) {
	const times = 100
	b.SetBytes(int64(len(text)) * times)
	b.ReportAllocs()
	var e serverlog.Entry
	for b.Loop() {
		r, err := Open(&repeated{text: text, n: times}, name, Options{Reference: reference})
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			err = r.Next(&e)
		}
		if err != io.EOF {
			b.Fatal(err)
		}
	}
}

func BenchmarkAudit(b *testing.B) {
	benchmark(b, "audit-lists.jsonl", []byte(readFile(b, "audit-lists.jsonl")))
}

func BenchmarkHTTPLog(b *testing.B) {
	benchmark(b, "httplog-lists.log", []byte(readFile(b, "httplog-lists.log")))
}

// An EventList without line breaks.
func BenchmarkList(b *testing.B) {
	items := strings.ReplaceAll(strings.TrimSpace(readFile(b, "audit-lists.jsonl")), "\n", ",")
	benchmark(b, "list", []byte(`{"items":[`+items+`]}`))
}

// Records as Azure stores them.
func BenchmarkAKS(b *testing.B) {
	var lines strings.Builder
	for event := range strings.Lines(readFile(b, "audit-lists.jsonl")) {
		fmt.Fprintf(&lines, "{\"category\":\"kube-audit\",\"properties\":{\"log\":%s,\"pod\":\"a\"}}\n", quote(event))
	}
	benchmark(b, "AKS", []byte(lines.String()))
}
