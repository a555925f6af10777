package tune_test

import (
	"testing"
)

// BenchmarkPrice decides an incident of two minutes and 100 000 requests, of which only larger servers are a cure among the
// kinds that are allowed. It reports how many candidates were run and how many runs that took.
func BenchmarkPrice(b *testing.B) {
	for b.Loop() {
		a := solve(b, "price", []string{"flowschemas", "lending", "queues", "server"}, nil, 1)
		if a.Selected == nil || a.Selected.Remedy != "in-flight-limit" {
			b.Fatalf("selected %+v; want larger servers", a.Selected)
		}
		ran := 1
		for _, e := range a.Eliminated {
			if e.After > 0 {
				ran++
			}
		}
		b.ReportMetric(float64(ran), "candidates")
		b.ReportMetric(float64(a.Runs), "runs")
	}
}
