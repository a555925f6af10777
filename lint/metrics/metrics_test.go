package metrics

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"apfsim/core/estimate"
)

// Numbers and sizes are read from the metrics of all releases.
func TestReadStore(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"apiserver_resource_objects{group=\"\",resource=\"pods\"} 4\n" +
			"apiserver_resource_objects{group=\"apps\",resource=\"deployments\"} 2\n" +
			"apiserver_resource_objects{group=\"\",resource=\"secrets\"} -1\n" +
			"apiserver_resource_size_estimate_bytes{group=\"\",resource=\"pods\"} 8e3\n",
			"map[{ pods}:{4 2000 false} {apps deployments}:{2 0 false}]"},
		{"apiserver_storage_objects{resource=\"deployments.apps\"} 2\napiserver_storage_objects{resource=\"pods\"} 4\n",
			"map[{ pods}:{4 0 false} {apps deployments}:{2 0 false}]"},
		{"up 1\n", "has no value of apiserver_resource_objects"},
		{"<html>\n", "is not the text of /metrics: line 1 begins with '<'"},
		{"", "has no value of apiserver_resource_objects"},
	} {
		store, err := ReadStore(strings.NewReader(test.text))
		got := fmt.Sprint(map[estimate.Resource]estimate.Stats(store))
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%q: got %s, want %s", test.text, got, test.want)
		}
	}
}

// The sum of the nominal limits is what a server has of seats, whether it reports objects or not.
func TestSeatsOfAServer(t *testing.T) {
	for _, test := range []struct {
		text  string
		seats int
	}{
		{"apiserver_flowcontrol_nominal_limit_seats{priority_level=\"a\"} 245\napiserver_flowcontrol_nominal_limit_seats{priority_level=\"b\"} 5\n" +
			"apiserver_flowcontrol_request_concurrency_limit{priority_level=\"a\"} 245\n", 250},
		{"apiserver_flowcontrol_request_concurrency_limit{priorityLevel=\"a\"} 245\n", 245}, // 1.19
		{"up 1\n", 0},
	} {
		state, err := Stored(strings.NewReader(test.text))
		if err != nil || state.Seats != test.seats {
			t.Errorf("%q: got %v and %v, want %d seats", test.text, state, err, test.seats)
		}
	}
	if _, err := Stored(strings.NewReader("apiserver_flowcontrol_nominal_limit_seats NaN\n")); err == nil {
		t.Error("a limit that is not a number is accepted")
	}
}

// One text is read alike whether it is in the format of Prometheus or OpenMetrics, with times or without,
// and packed or not. Braces, quotes and spaces in a label do not end the labels.
func TestFormatsOfAScrape(t *testing.T) {
	const label = `{flow_schema="a } b \" 7 { c",le="+Inf"}`
	for name, text := range map[string]string{
		"Prometheus":            "# TYPE apiserver_x_total counter\napiserver_x_total" + label + " 7\nother{a=\"b\"} 1\n",
		"Prometheus with times": "apiserver_x_total" + label + "\t7 1395066363000\r\n\n",
		"OpenMetrics": "# TYPE apiserver_x counter\n# UNIT apiserver_x requests\napiserver_x_total" + label +
			" 7.0 1.76722560025e+09 # {trace_id=\"KOO5S4vxi0o\"} 0.67\n# EOF\n",
		"no line end": "apiserver_x_total" + label + " 7",
	} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write([]byte(text))
		z.Close()
		for _, in := range []string{text, packed.String()} {
			got, err := Read(strings.NewReader(in), "apiserver_")
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			all := got.ByName["apiserver_x_total"]
			if len(all) != 1 || len(got.ByName) != 1 || all[0].Value != 7 || all[0].Label("flow_schema") != `a } b " 7 { c` || got.Repeated {
				t.Errorf("%s: got %+v", name, got)
			}
		}
	}
}

// A file of a run has all samples of each series. The last one counts.
func TestLastSampleOfASeriesCounts(t *testing.T) {
	got, err := Read(strings.NewReader("a_total{x=\"1\",y=\"2\"} 1 1.5\na_total{x=\"1\",y=\"2\"} 5 2.5\na_total{x=\"2\"} 3 2.5\n"), "a_")
	if err != nil || !got.Repeated || len(got.ByName["a_total"]) != 2 || got.ByName["a_total"][0].Value != 5 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Errors name the line of the file, however many lines before it are of other metrics.
func TestErrorsNameTheLine(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"up 1\n# HELP a x\na_total{x=\"1\"} many\n", "is not the text of /metrics: text format parsing error in line 3: expected float as value, got \"many\""},
		{"up 1\na_total{x=\"1\n", "is not the text of /metrics: text format parsing error in line 2: "},
		{"up 1\na_total\n", "is not the text of /metrics: text format parsing error in line 2: "},
		{"up 1\n\n[1]\n", "is not the text of /metrics: line 3 begins with '['; want the name of a metric"},
		{"\x1f\x8b nothing", "cannot be decompressed: "},
		{strings.Repeat("a", longestLine+1), "is not the text of /metrics: line 1 has more than 1048576 bytes"},
	} {
		if _, err := Read(strings.NewReader(test.text), "a_"); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%.40q: got %v, want %s", test.text, err, test.want)
		}
	}
}

// Whatever the input is, Read returns samples or an error, and what it returns are only wanted metrics.
func FuzzRead(f *testing.F) {
	f.Add([]byte("# TYPE a_total counter\na_total{x=\"1\",y=\"\\\"\"} 1 1.5 # {t=\"1\"} 3\n# EOF\n"))
	f.Add([]byte("a_bucket{le=\"+Inf\"} NaN\nup 1\na_sum 1e-3\n"))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Add([]byte("{\"a_total\",x=\"1\"} 2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Read(bytes.NewReader(text), "a_")
		if err != nil {
			return
		}
		for name, samples := range got.ByName {
			if !strings.HasPrefix(name, "a_") || len(samples) == 0 {
				t.Errorf("%q: %d samples", name, len(samples))
			}
			seen := map[string]bool{}
			for i := range samples {
				key := samples[i].Key()
				if seen[key] {
					t.Errorf("%s{%s}: twice", name, key)
				}
				seen[key] = true
			}
		}
	})
}
