package evidence

import (
	"context"
	"math"
	"strings"
	"testing"
)

// A histogram becomes values that have its buckets and its mean.
func TestDurationsHaveBucketsAndMean(t *testing.T) {
	for _, mean := range []float64{0.011, 0.02, 0.04} { // from the least to the greatest that the buckets permit: 0.009 to 0.047
		b := buckets{list: []bucket{{0, 0.005, 50}, {0.02, 0.1, 40}}, n: 90}
		b.sum = mean * b.n
		atoms := b.durations()
		upTo := 0.0
		for _, a := range atoms {
			if a.value <= 0.005 {
				upTo += a.weight
			}
		}
		if got := meanOf(atoms); math.Abs(got-mean) > 1e-6 || math.Abs(upTo-50) > 1e-9 {
			t.Errorf("mean %g, want %g; %g up to 5 ms, want 50", got, mean, upTo)
		}
	}
}

// Seats are whole numbers with the buckets and the sum of the histogram: of 10 requests with 3 or 4 seats and a sum of 33, 3 have 4.
func TestSeatsHaveBucketsAndSum(t *testing.T) {
	b := buckets{list: []bucket{{0, 1, 90}, {2, 4, 10}}, n: 100, sum: 123}
	want := []atom{{1, 90}, {3, 7}, {4, 3}}
	got := b.seats()
	for i := range want {
		if len(got) != 3 || got[i].value != want[i].value || math.Abs(got[i].weight-want[i].weight) > 1e-9 {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// However widths and executions belong together, each request has an execution, and all together have those of the histogram.
func TestKindsKeepTheExecutions(t *testing.T) {
	s := &schemaLoad{executions: buckets{list: []bucket{{0, 0.1, 80}, {0.1, 1, 20}}, n: 100, sum: 10}, widths: buckets{list: []bucket{{0, 1, 90}, {8, 16, 10}}, n: 100, sum: 190}}
	var occupied []float64
	for _, s.mix = range []float64{-1, 0, 0.5, 1} {
		sum, part := 0.0, 0.0
		for _, k := range s.kinds() {
			sum, part = sum+k.part*meanOf(k.executions), part+k.part
		}
		if math.Abs(sum-0.1) > 1e-6 || math.Abs(part-1) > 1e-9 {
			t.Errorf("mix %g: mean execution %g, want 0.1; parts %g", s.mix, sum, part)
		}
		occupied = append(occupied, s.seatSeconds())
	}
	if math.Abs(occupied[1]-0.19) > 1e-6 || !(occupied[0] < occupied[1] && occupied[1] < occupied[2] && occupied[2] < occupied[3]) {
		t.Errorf("requests occupy %v seat-seconds; want 0.19 without a mix, and the more the longer the wide ones are", occupied)
	}
}

// What a scenario cannot be made of is refused, with what is wanted.
func TestSeriesThatAreNoScenario(t *testing.T) {
	line := func(name, labels, values string) string {
		text := ""
		for i, v := range strings.Fields(values) {
			text += "apiserver_flowcontrol_" + name + "{" + labels + "} " + v + " " + []string{"1767225600000", "1767225660000"}[i] + "\n"
		}
		return text
	}
	const of = `flow_schema="a",priority_level="p"`
	dispatched := line("dispatched_requests_total", of, "5 605")
	executed := line("request_execution_seconds_bucket", of+`,type="regular",le="0.1"`, "5 605") + line("request_execution_seconds_bucket", of+`,type="regular",le="+Inf"`, "5 605") +
		line("request_execution_seconds_sum", of+`,type="regular"`, "0.2 30")
	limits := line("nominal_limit_seats", `priority_level="p"`, "10 10") + line("nominal_limit_seats", `priority_level="catch-all"`, "5 5")
	for _, test := range []struct {
		text, want string
		options    ImportOptions
	}{
		{"apiserver_flowcontrol_dispatched_requests_total{" + of + "} 5\n", "one scrape has no rates", ImportOptions{}},
		{executed + limits, "do not say how many requests arrived; want apiserver_flowcontrol_dispatched_requests_total", ImportOptions{}},
		{dispatched + limits, "do not say how long requests execute", ImportOptions{}},
		{dispatched + executed, "do not say how many seats a level has; want apiserver_flowcontrol_nominal_limit_seats", ImportOptions{}},
		{strings.ReplaceAll(dispatched+executed+limits, "605", "5"), "no request arrived", ImportOptions{}},
		{dispatched + executed + limits, `--server: no series are of a server called "x"`, ImportOptions{Server: "x"}},
		{dispatched + executed + limits, "--flows b=3: no request of the series has this FlowSchema", ImportOptions{Flows: map[string]int{"b": 3}}},
	} {
		test.options.Files, test.options.Progress, test.options.Name = []File{textFile("m.txt", test.text)}, silent, "x"
		if _, err := Import(context.Background(), test.options); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
	r, err := Import(context.Background(), ImportOptions{Files: []File{textFile("m.txt", dispatched+executed+limits)}, Progress: silent, Name: "x"})
	if err != nil || r.Workloads[0].Rate != 10 || r.Workloads[0].ExecutionNs != 29.8e9/600 || r.Workloads[0].FlowSchema != "a" {
		t.Errorf("got %+v, %v; want 10 requests/s of a", r.Workloads, err)
	}
}
