package reports_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"apfsim/experiment/output"
	"apfsim/lint/metrics"
	"apfsim/reports/record"
	"apfsim/scenarios"
	"apfsim/sim"
	"apfsim/sim/scenario/loader"
)

// The series that a Prometheus stores are those of the file, and end where a process of a server ends.
func TestStoredSeriesAreThoseOfTheFile(t *testing.T) {
	loaded, wrong := loader.Load(scenarios.Files, scenarios.File("crash-and-reconnect"), loader.Options{})
	if err := wrong.Err(); err != nil {
		t.Fatal(err)
	}
	sc := loaded[0]
	run := sim.New(sc)
	var text bytes.Buffer
	m := record.NewOpenMetrics(&text, sc, run.Servers(), output.Epoch, 5_000_000_000)
	run.Observe(m.Observer())
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	stored := m.Stored()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	written, err := metrics.ReadTimed(&text, "apiserver_")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{}
	for name, samples := range written.ByName {
		for i := range samples {
			want[fmt.Sprintf("%s{%s}@%d", name, samples[i].Key(), samples[i].AtMs)] = samples[i].Value
		}
	}
	ended, down := 0, 0
	for _, s := range stored {
		name, labels := "", []string{}
		for _, l := range s.Labels {
			if l[0] == "__name__" {
				name = l[1]
			} else {
				labels = append(labels, fmt.Sprintf("%s=%q", l[0], l[1]))
			}
		}
		for i, at := range s.AtMs {
			key := fmt.Sprintf("%s{%s}@%d", name, strings.Join(labels, ","), at)
			switch value, there := want[key]; {
			case name == "up":
				down += 1 - int(s.Values[i])
			case math.Float64bits(s.Values[i]) == math.Float64bits(record.Stale):
				ended++
				if there {
					t.Errorf("%s ends, and has a value", key)
				}
			case !there || value != s.Values[i]:
				t.Errorf("%s: got %v, and the file has %v", key, s.Values[i], value)
			default:
				delete(want, key)
			}
		}
	}
	if len(want) > 0 || len(written.ByName) == 0 {
		t.Errorf("%d samples of the file are not stored", len(want))
	}
	if ended == 0 || down == 0 {
		t.Errorf("%d series end, and the server is down at %d scrapes", ended, down)
	}
}
