package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// page returns a document with a section of an earlier measurement.
func page(name string) string {
	return "# Performance\n\n<!-- " + name + " -->\n\nold\n\n<!-- end of " + name + " -->\n\nThe end.\n"
}

// write runs the program on a copy of the document. It returns the exit status, the standard
// error, the new text of the document, and the folder with its charts.
func write(t *testing.T, name, document, input string) (status int, stderr, text, images string) {
	t.Helper()
	images = t.TempDir()
	file := filepath.Join(images, "page.md")
	if err := os.WriteFile(file, []byte(document), 0o666); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	status = run(strings.NewReader(input), &b, []string{"-document", file, "-images", images, name})
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return status, b.String(), string(after), images
}

// body returns the section of a page without its first line, which describes the machine.
func body(t *testing.T, name, text string) string {
	t.Helper()
	head, remaining, _ := strings.Cut(text, "<!-- "+name+" -->\n\n")
	machine, remaining, _ := strings.Cut(remaining, "\n\n")
	section, tail, _ := strings.Cut(remaining, "\n<!-- end of "+name+" -->\n")
	if head != "# Performance\n\n" || tail != "\nThe end.\n" {
		t.Errorf("the page has %q before the section and %q after it", head, tail)
	}
	if !strings.Contains(machine, "Example processor") && name != "peers" {
		t.Errorf("the section begins with %q; want the processor", machine)
	}
	return section
}

const sizesInput = `goos: linux
cpu: Example processor
BenchmarkSize/queues=16-2         	 2000000	       300.0 ns/op	   3333333 requests/s	       3 B/op	       0 allocs/op
BenchmarkSize/queues=64-2         	 2000000	       330.0 ns/op	   3030303 requests/s	       3 B/op	       0 allocs/op
BenchmarkSize/flows=1000          	 2000000	      1200 ns/op
PASS
BenchmarkSize/queues=16-2         	 2000000	       310.0 ns/op
BenchmarkSize/queues=64-2         	 2000000	       390.0 ns/op
BenchmarkSize/flows=1000          	 2000000	      1200 ns/op
PASS
BenchmarkSize/queues=16-2         	 2000000	       250.0 ns/op
BenchmarkSize/queues=64-2         	 2000000	       320.0 ns/op
BenchmarkSize/flows=1000          	 2000000	       900 ns/op
ok  	apfsim/sim	5.027s
`

func TestSizes(t *testing.T) {
	status, stderr, text, images := write(t, "sizes", page("sizes"), sizesInput)
	if status != 0 {
		t.Fatal(stderr)
	}
	// From 16 to 64 queues the size doubles twice, and the median grows by 30 ns.
	_, got, _ := strings.Cut(body(t, "sizes", text), "\n\n")
	want := `|  |  | ns/request | spread | ns per doubling of the size |
|---|---:|---:|---:|---:|
| queues | 16 | 300 | 20 % |  |
|  | 64 | 330 | 21 % | +15 |
| flows | 1 000 | 1 200 | 25 % |  |
`
	if got != want {
		t.Errorf("the tables are\n%s\nwant\n%s", got, want)
	}
	if !strings.Contains(text, "; rounds: 3.") || !strings.Contains(text, "(../docs/images/cost-against-size.svg)") {
		t.Errorf("the page lacks the number of rounds or the chart:\n%s", text)
	}
	chart, err := os.ReadFile(filepath.Join(images, "cost-against-size.svg"))
	if err != nil {
		t.Fatal(err)
	}
	texts := svgTexts(t, chart)
	for _, want := range []string{"queues", "flows", "ns a request", "16", "64", "200", "1 000"} {
		if !texts[want] {
			t.Errorf("the chart has no text %q: %v", want, texts)
		}
	}
	_, _, _, again := write(t, "sizes", text, sizesInput)
	if same, err := os.ReadFile(filepath.Join(again, "cost-against-size.svg")); err != nil || !bytes.Equal(same, chart) {
		t.Errorf("the same input gives a different chart, or error %v", err)
	}
}

// svgTexts returns the texts of an SVG.
func svgTexts(t *testing.T, svg []byte) map[string]bool {
	t.Helper()
	texts := map[string]bool{}
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := token.(xml.CharData); ok {
			texts[strings.TrimSpace(string(s))] = true
		}
	}
}

func TestMemory(t *testing.T) {
	input := "cpu: Example processor\n"
	for _, line := range []string{
		"requests=1000 1 5 ns/op 10000000 live-B 20000000 peak-B",
		"requests=100000 1 5 ns/op 10000000 live-B 21000000 peak-B",
		"clients=1000 1 5 ns/op 1700000 live-B 5000000 peak-B",
		"clients=2000 1 5 ns/op 2400000 live-B 6500000 peak-B",
		"clients=3000 1 5 ns/op 3100000 live-B 8000000 peak-B",
		"flows=1000 1 5 ns/op 5000000 live-B 10000000 peak-B",
		"flows=3000 1 5 ns/op 13000000 live-B 26000000 peak-B",
	} {
		input += "BenchmarkMemory/" + line + "\n"
	}
	status, stderr, text, _ := write(t, "memory", page("memory"), input)
	if status != 0 {
		t.Fatal(stderr)
	}
	want := `|  |  | resident | live |
|---|---:|---:|---:|
| requests | 1 000 | 20.0 MB | 10.0 MB |
|  | 100 000 | 21.0 MB | 10.0 MB |
| clients | 1 000 | 5.0 MB | 1.7 MB |
|  | 2 000 | 6.5 MB | 2.4 MB |
|  | 3 000 | 8.0 MB | 3.1 MB |
| flows | 1 000 | 10.0 MB | 5.0 MB |
|  | 3 000 | 26.0 MB | 13.0 MB |

Resident memory of a run of 100 000 requests, compared with one of 1 000: +5 %. By the slope over the sizes, a client takes 700 bytes of live memory (1 500 resident), and a client with its own flow 4 000 (8 000 resident).
`
	if got := body(t, "memory", text); got != want {
		t.Errorf("the section is\n%s\nwant\n%s", got, want)
	}
}

const partsInput = `cpu: Example processor
BenchmarkRun/load=0.9/flows=200-2         	10000000	       500 ns/op	   2000000 requests/s	       3 B/op	       0 allocs/op
PASS
File: sim.test
Type: cpu
Duration: 5.63s, Total samples = 1000ms (98.96%)
Showing nodes accounting for 1000ms, 100% of 1000ms total
      flat  flat%   sum%        cum   cum%
     300ms 30.00% 30.00%      900ms 90.00%  apfsim/sim/clock.(*Queue[go.shape.struct { Kind apfsim/sim/server.Kind }]).Next
     200ms 20.00% 50.00%      200ms 20.00%  apfsim/reports.(*histogram[go.shape.uint32]).record
     150ms 15.00% 65.00%      150ms 15.00%  apfsim/core/queueset.(*heads).under (inline)
      50ms  5.00% 70.00%       50ms  5.00%  apfsim/core/estimate.round (inline)
      50ms  5.00% 75.00%       50ms  5.00%  apfsim/core/flowcontrol.(*Controller).Finish
      40ms  4.00% 79.00%      950ms 95.00%  apfsim/sim.(*Run).Execute
      10ms  1.00% 80.00%       10ms  1.00%  apfsim/sim/server.(*Server).finish
     100ms 10.00% 90.00%      100ms 10.00%  apfsim/sim/workload.(*Clients).Act
      45ms  4.50% 94.50%       45ms  4.50%  math/rand/v2.(*PCG).Uint64
       5ms  0.50% 95.00%        5ms  0.50%  apfsim/sim/random.Exponential.Sample
      50ms  5.00%   100%       50ms  5.00%  runtime.memmove
         0     0%   100%       12ms  1.20%  runtime.gcBgMarkWorker
         0     0%   100%       10ms  1.00%  runtime.gcBgMarkWorker.func2
`

func TestParts(t *testing.T) {
	status, stderr, text, _ := write(t, "parts", page("parts"), partsInput)
	if status != 0 {
		t.Fatal(stderr)
	}
	want := `|  | load=0.9, flows=200 |  |
|---|---:|---:|
| statistics and fingerprint | 20 % | 100 ns |
| queue set, with its seats | 20 % | 100 ns |
| flow control around it | 5 % | 25 ns |
| event queue | 30 % | 150 ns |
| server and event loop | 5 % | 25 ns |
| clients | 10 % | 50 ns |
| random numbers and distributions | 5 % | 25 ns |
| the rest: Go's runtime, math, set-up | 5 % | 25 ns |
| **ns/request** |  | **500 ns** |
| garbage collection (within the rest) | 1.2 % |  |
`
	if got := body(t, "parts", text); got != want {
		t.Errorf("the section is\n%s\nwant\n%s", got, want)
	}
}

func TestPeers(t *testing.T) {
	status, stderr, text, _ := write(t, "peers", page("peers"), "go1.26, processors: 2.\n\n### A: example\n\n|  | requests |\n|---|---:|\n| apfsim | 1,000 |\n")
	if want := "### A: example\n\n|  | requests |\n|---|---:|\n| apfsim | 1,000 |\n"; status != 0 || body(t, "peers", text) != want {
		t.Errorf("status %d, %sthe page is\n%s", status, stderr, text)
	}
}

// An invalid or incomplete input is an error and does not change the document.
func TestErrors(t *testing.T) {
	for _, test := range []struct{ section, document, input, want string }{
		{"sizes", page("sizes"), "", "has no lines of BenchmarkSize"},
		{"sizes", page("sizes"), sizesInput + "FAIL\n", "the benchmark has failed"},
		{"sizes", page("sizes"), sizesInput[:strings.LastIndex(sizesInput, "BenchmarkSize/flows")], "flows=1000: has 2 rounds; want 3, as others have"},
		{"sizes", page("sizes"), strings.ReplaceAll(sizesInput, "flows", "users"), "BenchmarkSize/users: the axis is not supported"},
		{"sizes", page("sizes"), strings.ReplaceAll(sizesInput, "flows=", "flows-"), "want a name like queues=16"},
		{"sizes", page("sizes"), strings.ReplaceAll(sizesInput, "250.0 ns/op", "x ns/op"), `"x": want a number`},
		{"sizes", page("sizes"), strings.ReplaceAll(sizesInput, "ns/op", "us/op"), "has no ns/op"},
		{"sizes", page("memory"), sizesInput, `has no section between the lines "<!-- sizes -->" and`},
		{"memory", page("memory"), "BenchmarkMemory/requests=1 1 2 live-B 3 peak-B\n", "has too few sizes of requests; want at least 2"},
		{"parts", page("parts"), "", "has no lines of BenchmarkRun"},
		{"parts", page("parts"), "BenchmarkRun/load=1/flows=2 1 5 ns/op\n", "has no profile"},
		{"parts", page("parts"), partsInput[strings.Index(partsInput, "PASS"):], "a profile comes before"},
		{"peers", page("peers"), "A: example\n", "want the output of bench-peers or scenarios list with the format markdown"},
	} {
		status, stderr, text, images := write(t, test.section, test.document, test.input)
		if status != 1 || !strings.Contains(stderr, test.want) {
			t.Errorf("status %d, %q; want 1, %q", status, stderr, test.want)
		}
		if text != test.document {
			t.Errorf("%s: the page is now\n%s", test.want, text)
		}
		if files, err := filepath.Glob(filepath.Join(images, "*.svg")); err != nil || len(files) > 0 {
			t.Errorf("%s: there are %v", test.want, files)
		}
	}
	for _, args := range []string{"", "size", "sizes memory"} {
		var stderr bytes.Buffer
		status := run(strings.NewReader(sizesInput), &stderr, strings.Fields(args))
		if want := fmt.Sprintf("figures: %q: want one of sizes, memory, parts, peers, list-costs or incidents\n", strings.Fields(args)); status != 2 || stderr.String() != want {
			t.Errorf("status %d, %q; want 2, %q", status, &stderr, want)
		}
	}
}

// A slope may be negative. There is no space between its sign and its first digit.
func TestGrouped(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 999.4: "999", 1234567: "1 234 567", -123: "-123", -1234: "-1 234"} {
		if got := grouped(x); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}
