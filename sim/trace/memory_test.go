package trace

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// Requests in memory are those that are read from the file, between any two times, and can be replayed several times.
func TestReplayOfRequestsInMemory(t *testing.T) {
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, `{"arrivalNs":%d,"user":"u%d","verb":"get","resource":"pods","namespace":"n","name":"x","executionNs":%d}`+"\n", 10*(i/3), i%7, i)
	}
	read := func() *Reader { return NewReader(strings.NewReader(text.String()), "trace.jsonl") }
	all, err := ReadAll(read(), math.MaxInt64, 2000)
	if err != nil || len(all) != 2000 {
		t.Fatalf("%d requests, %v", len(all), err)
	}
	for _, between := range [][2]int64{{0, math.MaxInt64}, {100, 4000}, {95, 95}, {5000, math.MaxInt64}, {10_000, math.MaxInt64}} {
		file, memory := read().Stream(t.Context(), between[0], between[1]), Replay(all, between[0], between[1])
		n := 0
		for {
			want, ok := file.Next()
			got, okToo := memory.Next()
			if ok != okToo {
				t.Fatalf("from %d to %d: the file has another request after %d: %v, memory: %v", between[0], between[1], n, ok, okToo)
			}
			if !ok {
				break
			}
			if got.ID != want.ID || got.ArrivalNs != want.ArrivalNs || got.ExecutionNs != want.ExecutionNs || got.Kind.Attributes.User != want.Kind.Attributes.User {
				t.Fatalf("request %d is %+v, want %+v", n, got, want)
			}
			n++
		}
		if _, errs := memory.Drain(); len(errs) > 0 || memory.Failed() {
			t.Errorf("the requests in memory have errors: %v", errs)
		}
		if err := memory.Close(); err != nil {
			t.Error(err)
		}
		file.Close()
	}
	if all, err := ReadAll(read(), math.MaxInt64, 1999); all != nil || err != nil {
		t.Errorf("%d requests of a trace with too many, %v; want none", len(all), err)
	}
	if all, err := ReadAll(read(), 100, 2000); len(all) != 30 || err != nil {
		t.Errorf("%d requests before 100 ns, %v; want 30", len(all), err)
	}
	if _, err := ReadAll(NewReader(strings.NewReader("{\n"), "trace.jsonl"), 100, 10); err == nil {
		t.Error("no error for a wrong line")
	}
}
