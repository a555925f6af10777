package driver

import (
	"bufio"
	"encoding/json"
	"flag"
	"io"
	"os"
	"testing"
)

var (
	trials  = flag.String("trials", "", "file with the trials, one on each line")
	results = flag.String("results", "", "file to write the results to, one on each line")
)

// TestDrive runs the trials of one file and writes their results into another one. It is a test because
// testing/synctest needs one.
func TestDrive(t *testing.T) {
	if *trials == "" || *results == "" {
		t.Skip("needs -trials and -results")
	}
	in, err := os.Open(*trials)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(*results)
	if err != nil {
		t.Fatal(err)
	}
	encoder := json.NewEncoder(out)
	for decoder := json.NewDecoder(bufio.NewReader(in)); ; {
		tr := &trial{}
		if err := decoder.Decode(tr); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		r := run(t, tr)
		if t.Failed() {
			t.Fatalf("trial %s failed", tr.Name)
		}
		if err := encoder.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
