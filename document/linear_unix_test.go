//go:build unix

package document

import (
	"fmt"
	"syscall"
	"testing"
)

// The work for a map grows linearly with the number of its fields, not quadratically.
func TestMapsAreDecodedInLinearTime(t *testing.T) {
	work := func(fields int) int64 {
		root := &Node{Kind: Object}
		for i := range fields {
			root.Fields = append(root.Fields, field(fmt.Sprint("k", i), text("v", i+1, 11)))
		}
		before := processorNs(t)
		var m map[string]string
		d := Decoder{}
		d.Decode(root, "", &m)
		if len(m) != fields || d.Errors != nil {
			t.Errorf("%d of %d fields were decoded, errors %v", len(m), fields, d.Errors)
		}
		return processorNs(t) - before
	}
	// 16 times as many fields take 16 times the processor time of a linear algorithm, and 256 times that of a
	// quadratic one.
	few, many := work(8_000), work(128_000)
	if many > 100*max(few, 1_000_000) {
		t.Errorf("8 000 fields take %d µs of processor time, and 128 000 fields %d µs", few/1000, many/1000)
	}
}

// processorNs returns the processor time that the process has taken, which other processes do not change.
func processorNs(t *testing.T) int64 {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}
