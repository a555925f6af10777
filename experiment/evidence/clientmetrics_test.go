package evidence

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/reports/result"
)

// clientState returns what a controller reports whose requests wait for its own limit: so many for 4 to 8 s, and as many for none.
func clientState(start, waited, rejected int) string {
	text := fmt.Sprintf("process_start_time_seconds %d\n", start)
	for _, verb := range []string{"GET", "POST"} {
		for _, le := range []string{"0.25", "4", "8", "+Inf"} {
			n := waited
			if (le == "8" || le == "+Inf") && verb == "GET" {
				n = 2 * waited
			}
			text += fmt.Sprintf("rest_client_rate_limiter_duration_seconds_bucket{host=\"10.0.0.1:443\",verb=%q,le=%q} %d\n", verb, le, n)
		}
		sum := map[string]int{"GET": 6 * waited}[verb]
		text += fmt.Sprintf("rest_client_rate_limiter_duration_seconds_sum{host=\"10.0.0.1:443\",verb=%q} %d\n", verb, sum)
	}
	return text + fmt.Sprintf("rest_client_requests_total{code=\"200\",host=\"10.0.0.1:443\",method=\"GET\"} %d\nrest_client_requests_total{code=\"429\",host=\"10.0.0.1:443\",method=\"GET\"} %d\n", 3*waited-rejected, rejected)
}

// Between two scrapes of a controller, a third of 600 requests waited for 4 to 8 s, and 30 were answered 429. The server is fine.
func TestClientMetrics(t *testing.T) {
	files := []File{textFile("c1", clientState(begin, 100, 0)), textFile("c2", clientState(begin, 300, 30))}
	d := diagnosed(t, files...)
	cause := d.Verdict.Causes[0]
	if d.Verdict.Status != result.Warning || !strings.Contains(d.Verdict.Sentence, "Requests of the client of c1 waited for its own rate limit, before it sent them: p99 4 s to 8 s of 600 requests between the scrapes, the longest 4 s to 8 s") {
		t.Errorf("got %s %q", d.Verdict.Status, d.Verdict.Sentence)
	}
	if cause.Kind != result.ByClientLimit || !strings.Contains(cause.Sentence, "100 % of the time that requests waited for the limit of the client of c1 was that of GET") {
		t.Errorf("got %+v, want the client's own limit, of its GETs", cause)
	}
	if !slices.ContainsFunc(d.also, func(s string) bool {
		return strings.HasPrefix(s, "5 % of the 600 requests of the client of c1 were answered 429")
	}) {
		t.Errorf("got %q, want 30 of 600 answers 429", d.also)
	}
	before, after := state{begin, 100, 1000, 0, 0, 245}, state{begin, 160, 1600, 0, 0, 245}
	d = diagnosed(t, append(files, textFile("s1", before.text("", 0)), textFile("s2", after.text("", 0)))...)
	if len(d.Levels) != 1 || *d.Schemas[0].Requests != 600 || len(d.warnings) > 0 || len(d.Verdict.Causes) != 1 {
		t.Errorf("beside a server: got %+v, %q and %+v, want the server apart from the client", d.Schemas, d.warnings, d.Verdict.Causes)
	}
	if d = diagnosed(t, textFile("c", clientState(begin, 0, 0)+"rest_client_requests_total{code=\"201\",host=\"a\",method=\"POST\"} 5\n")); d.Verdict.Status != result.Unknown {
		t.Errorf("nothing waited: got %s %q, want unknown", d.Verdict.Status, d.Verdict.Sentence)
	}
}
