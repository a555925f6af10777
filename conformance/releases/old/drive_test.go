package old

import (
	"bufio"
	"encoding/json"
	"flag"
	"io"
	"os"
	"testing"

	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var (
	trials  = flag.String("trials", "", "read the trials from this `file`, a JSON value a line")
	results = flag.String("results", "", "write the results to this `file`, a JSON value a line")
)

// TestDrive runs the trials of a file. It is a test because testing/synctest needs one.
func TestDrive(t *testing.T) {
	if *trials == "" {
		t.Skip("no -trials")
	}
	logNothing()
	metrics.Register()
	fewSamples()
	// The first filter of 1.18 starts a goroutine that does not end. It must not be in a bubble.
	flowControl(nil, noter{})
	in, err := os.Open(*trials)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(*results)
	if err != nil {
		t.Fatal(err)
	}
	buffered := bufio.NewWriter(out)
	decoder, encoder := json.NewDecoder(in), json.NewEncoder(buffered)
	for {
		var tr trialInput
		if err := decoder.Decode(&tr); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		metrics.Reset()
		r := run(t, &tr)
		r.Rejections = rejections(t)
		if t.Failed() {
			t.Fatalf("trial %s failed", tr.Name)
		}
		if err := encoder.Encode(&r); err != nil {
			t.Fatal(err)
		}
	}
	if err := buffered.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// rejections returns how many requests have been rejected, by priority level, FlowSchema and
// reason.
func rejections(t *testing.T) map[string]int {
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Error(err)
	}
	counts := map[string]int{}
	for _, f := range families {
		if f.GetName() != "apiserver_flowcontrol_rejected_requests_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			label := map[string]string{}
			for _, l := range m.GetLabel() {
				label[l.GetName()] = l.GetValue()
			}
			// Until 1.19 the labels are named otherwise.
			level, schema := label["priority_level"]+label["priorityLevel"], label["flow_schema"]+label["flowSchema"]
			counts[level+"/"+schema+"/"+label["reason"]] = int(m.GetCounter().GetValue())
		}
	}
	return counts
}
