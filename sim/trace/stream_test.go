package trace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

// get is a line of a trace with one kind for each name.
func get(arrivalNs int, name string) string {
	return fmt.Sprintf(`{"arrivalNs":%d,"user":"u","verb":"get","resource":"pods","namespace":"n","name":%q,"executionNs":1}`+"\n", arrivalNs, name)
}

// streamOf starts to read a trace.
func streamOf(text string, fromNs, toNs int64) *Stream {
	return NewReader(strings.NewReader(text), "t.jsonl").Stream(context.Background(), fromNs, toNs)
}

// A run from 3 to 5000 gets the requests of these times, in batches that it does not see. What comes
// later is read as well, for the summary.
func TestStreamPassesOnTheRequestsOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		for i := range 6000 {
			text.WriteString(get(i, "x"))
		}
		s := streamOf(text.String(), 3, 5000)
		for want := int64(3); want < 5000; want++ {
			if a, ok := s.Next(); !ok || a.ArrivalNs != want || a.ID != want+1 {
				t.Fatalf("arrival %+v, %v; want one at %d", a, ok, want)
			}
		}
		if a, ok := s.Next(); ok {
			t.Errorf("there is one more arrival: %+v", a)
		}
		if read, errs := s.Drain(); read != (Summary{6000, 5999}) || len(errs) > 0 || s.Failed() {
			t.Errorf("read %+v with errors %v, want 6000 up to 5999 without an error", read, errs)
		}
		s.Close()
	})
}

// The first error ends what is passed on. All lines before and after it are read for their errors,
// also those that are later than the run.
func TestStreamReadsOnAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := streamOf(strings.Repeat(get(1, "x"), 10_000)+"{\n"+get(2, "x")+"[\n"+get(3, "x"), 0, 2)
		n := 0
		for _, ok := s.Next(); ok; _, ok = s.Next() {
			n++
		}
		if n > 10_000 || !s.Failed() {
			t.Errorf("%d arrivals are passed on, failed: %v; want at most 10000, and a failure", n, s.Failed())
		}
		_, errs := s.Drain()
		if got, want := errs.Error(), "t.jsonl:10001:2: the line is cut off; want \"\nt.jsonl:10003:1: is not valid JSON: '['; want {"; got != want {
			t.Errorf("errors\n%s\nwant\n%s", got, want)
		}
		s.Close()
	})
}

func TestStreamListsTwentyErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := streamOf(strings.Repeat("{\n", 1000), 0, 1)
		_, errs := s.Drain()
		if len(errs) != 21 || errs[20].Error() != "t.jsonl:21:2: has an error as well; the rest has not been read" {
			t.Errorf("%d errors, the last one %v; want 20, and that there are more", len(errs), errs[len(errs)-1])
		}
		s.Close()
	})
}

// repeated is a text again and again, without an end.
type repeated struct {
	text   string
	unread string
}

func (r *repeated) Read(b []byte) (int, error) {
	if r.unread == "" {
		r.unread = r.text
	}
	n := copy(b, r.unread)
	r.unread = r.unread[n:]
	return n, nil
}

// closing is a source that notes that it is closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

// A trace without an end: the goroutine ends with the context, or with Close, whether it waits for the
// run or skips requests that the run does not want. If it did not, the test would not end.
func TestStreamEndsWithTheRun(t *testing.T) {
	for name, toNs := range map[string]int64{"waiting": 2, "skipping": 0} {
		for _, cancels := range []bool{true, false} {
			t.Run(fmt.Sprint(name, cancels), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					source := &closing{Reader: &repeated{text: get(1, "x")}}
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					s := NewReader(source, "t.jsonl").Stream(ctx, 0, toNs)
					if toNs > 0 {
						s.Next()
						synctest.Wait() // until it waits
					}
					if cancels {
						cancel()
						for _, ok := s.Next(); ok; _, ok = s.Next() {
						}
						if _, errs := s.Drain(); len(errs) > 0 {
							t.Errorf("errors %v", errs)
						}
					}
					s.Close()
					if !source.closed {
						t.Error("the source is not closed")
					}
				})
			})
		}
	}
}

// Requests that ask for the same share their kind, and no others do. When there are too many kinds, the
// slots are used again.
func TestKindsAreShared(t *testing.T) {
	var text strings.Builder
	const names = mostKinds + mostKinds/2
	for i := range 2 * names {
		text.WriteString(get(i, fmt.Sprint(i/2)))
	}
	r := NewReader(strings.NewReader(text.String()), "t.jsonl")
	var last Arrival
	for i := range 2 * names {
		var a Arrival
		if ok, err := r.next(&a); !ok {
			t.Fatal(i, err)
		}
		if want := fmt.Sprint(i / 2); a.Kind.Attributes.Name != want || a.Kind.Attributes.Path != "/api/v1/namespaces/n/pods/"+want || a.Kind.Slot != i/2%mostKinds {
			t.Fatalf("line %d is of kind %+v, want the name %s and slot %d", i, a.Kind, want, i/2%mostKinds)
		}
		if same := a.Kind == last.Kind; same != (i%2 == 1) {
			t.Fatalf("line %d has the kind of the one before: %v", i, same)
		}
		last = a
	}
}

// logLine returns a line of a request log.
func logLine(i int) string {
	r := alice
	if i%2 == 1 {
		r.asked = strings.Replace(r.asked, "alice", "bob", 1)
	}
	e := Entry{Request: r, Flow: NewFlow("s", "l", "s/alice"), ID: int64(i), ArrivalNs: 1234567890, ExecutionNs: 5_000_000, Queue: 5,
		Outcome: Executed, Attempt: 1, DispatchNs: 1234567990, EndNs: 1239567990, Seats: 1}
	if i%3 == 0 {
		e.Outcome, e.Reason, e.DispatchNs, e.Queue = Rejected, "queue-full", -1, -1
	}
	return string(Append(nil, &e))
}

// shuffled are the fields of a trace in an order of its own, with white space, as another program
// could write them.
const shuffled = `{"verb": "get", "arrivalNs": 5, "user": "u", "executionNs": 1, "groups": ["a", "b"], "path": "/x"}` + "\n"

// lines are traces of different forms.
func lines() map[string]string {
	var log strings.Builder
	for i := range 600 {
		log.WriteString(logLine(i))
	}
	return map[string]string{"trace": exampleLine + "\n", "log": log.String(), "shuffled": shuffled}
}

// Reading a line of a known kind allocates nothing, in any order of the fields.
func TestReadingAllocatesNothing(t *testing.T) {
	for name, text := range lines() {
		r := NewReader(&repeated{text: text}, "t.jsonl")
		var a Arrival
		next := func() {
			if ok, err := r.next(&a); !ok {
				t.Fatal(name, err)
			}
		}
		for range 2000 { // the kinds become known
			next()
		}
		if n := testing.AllocsPerRun(10_000, next); n != 0 {
			t.Errorf("%s: %v allocations a line, want none", name, n)
		}
	}
}

// BenchmarkReader reads lines of known kinds, and of kinds that are all different.
func BenchmarkReader(b *testing.B) {
	all := lines()
	var different bytes.Buffer
	for i := range 2 * mostKinds {
		different.WriteString(get(5, fmt.Sprint("name-", i)))
	}
	all["different"] = different.String()
	for _, name := range []string{"trace", "log", "shuffled", "different"} {
		text := all[name]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text) / strings.Count(text, "\n")))
			r := NewReader(&repeated{text: text}, "t.jsonl")
			var a Arrival
			for b.Loop() {
				if ok, err := r.next(&a); !ok {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
