package metric

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the tables of metrics in docs/reference/scenario.md")

const (
	reference = "../../docs/reference/scenario.md"
	begin     = "<!-- metrics: go test ./sim/metric -rewrite -->\n"
	end       = "<!-- end of metrics -->\n"
)

// The reference has all metrics, statistics and tags. Between the marks it has the tables of this
// package.
func TestReferenceHasTheRegistry(t *testing.T) {
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, m := range registry {
		all := append([]string{m.Name}, statisticNames(m.Name)...)
		for _, name := range all {
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("%s does not name `%s` (metric %s)", reference, name, m.Name)
			}
		}
	}
	for _, k := range keys {
		for _, name := range append([]string{k.Name}, k.Values...) {
			if !strings.Contains(page, name) {
				t.Errorf("%s does not name %s (tag %s)", reference, name, k.Name)
			}
		}
	}
	before, rest, marked := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !marked {
		return
	}
	if !closed {
		t.Fatalf("%s lacks %s", reference, end)
	}
	want := before + begin + Reference() + end + after
	if *rewrite {
		if err := os.WriteFile(reference, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if page != want {
		t.Errorf("the tables in %s differ from the registry; run go test ./sim/metric -rewrite", reference)
	}
}

func TestReferenceDescribesStatistics(t *testing.T) {
	text := Reference()
	for _, line := range []string{
		"| `stall` | Times during which requests of a workload were queued and none was dispatched. | " +
			"`max`: duration; `count`: number of stalls; `share`: fraction from 0 to 1 | workload (required) |\n",
		"| `retries` | Requests that are the second or a later attempt. | `count`: number of requests; `rate`: number | workload, flowSchema, priorityLevel, flow |\n",
		"| `reason` | Why the requests were rejected. | `queue-full`, `concurrency-limit`, `time-out` |\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the reference lacks the line\n%sin\n%s", line, text)
		}
	}
}
