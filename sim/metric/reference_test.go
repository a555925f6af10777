package metric

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the tables of metrics and of statistics in docs/reference")

const folder = "../../docs/reference/"

// The reference has all metrics, statistics and tags: between the marks of each page it has the
// tables of this package.
func TestReferenceHasTheRegistry(t *testing.T) {
	for _, p := range []struct{ file, begin, end, tables string }{
		{"scenario.md", "<!-- metrics: go test ./sim/metric -rewrite -->\n", "<!-- end of metrics -->\n", Reference()},
		{"statistics.md", "<!-- statistics: go test ./sim/metric -rewrite -->\n", "<!-- end of statistics -->\n", StatisticsReference()},
	} {
		text, err := os.ReadFile(folder + p.file)
		if err != nil {
			t.Fatal(err)
		}
		before, remaining, marked := strings.Cut(string(text), p.begin)
		_, after, closed := strings.Cut(remaining, p.end)
		if !marked || !closed {
			t.Errorf("%s lacks %s or %s", p.file, p.begin, p.end)
			continue
		}
		want := before + p.begin + p.tables + p.end + after
		switch {
		case want == string(text):
		case !*rewrite:
			t.Errorf("the tables in %s differ from the registry; run go test ./sim/metric -rewrite", p.file)
		default:
			if err := os.WriteFile(folder+p.file, []byte(want), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestReferenceDescribesStatistics(t *testing.T) {
	text := Reference() + StatisticsReference()
	for _, line := range []string{
		"| `stall` | Times during which requests of a workload were queued and none was dispatched. | " +
			"`max`: duration; `count`: number of stalls; `share`: fraction from 0 to 1 | workload (required) | not with `over` |\n",
		"| `retries` | Requests that are the second or a later attempt. | `count`: number of requests; `rate`: number | workload, flowSchema, priorityLevel, flow, server |  |\n",
		"| `reason` | Why the requests were rejected or, of the metric `refused`, refused. | `queue-full`, `concurrency-limit`, `time-out`; of `refused`: `connection-refused`, `connection-reset`, `shutting-down`, `not-ready`; of `relists`: `expired`, `too-large`, `failure` |\n",
		"| `utilisation.mean` |  |  | Seats in use divided by the current limit, averaged over time. " +
			"It may exceed 100 %, because a limit can fall below the number of seats in use. |\n",
		"| `rejected.rate` |  | lower | Number of requests that were rejected as a share of those that arrived. |\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the reference lacks the line\n%sin\n%s", line, text)
		}
	}
}
