package requests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"apfsim/sim/trace/httplog"
	"apfsim/sim/trace/logfile"
	"apfsim/sim/trace/serverlog"
)

const ms = int64(1_000_000)

// tells is a reader of entries.
type tells struct {
	entries []serverlog.Entry
	line    int64
}

func (r *tells) Line() int64 { return r.line }

func (r *tells) Next(e *serverlog.Entry) error {
	if int(r.line) == len(r.entries) {
		return io.EOF
	}
	*e = r.entries[r.line]
	r.line++
	return nil
}

// read returns the requests of entries, in the order of arrival.
func read(t *testing.T, entries ...serverlog.Entry) (all []Request, log *Log) {
	t.Helper()
	log, err := Read(context.Background(), Options{Dir: t.TempDir(), Sources: []Source{{Name: "a.log",
		Open: func(context.Context, time.Time, func(httplog.Adjustment)) (serverlog.Reader, error) {
			return &tells{entries: entries}, nil
		}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	if err := log.Each(context.Background(), func(q *Request) error { all = append(all, *q); return nil }); err != nil {
		t.Fatal(err)
	}
	return all, log
}

func entry(log serverlog.Log, stage serverlog.Stage, id string, arrivalNs, stageNs int64) serverlog.Entry {
	var e serverlog.Entry
	e.Reset()
	e.Log, e.Stage, e.AuditID, e.ArrivalNs, e.StageNs, e.Verb, e.Path = log, stage, id, arrivalNs, stageNs, "get", "/"
	if log == serverlog.HTTP {
		e.TotalNs = stageNs - arrivalNs
	}
	return e
}

// The stages of an audit log and the line of an httplog are one request. A line that occurs again, as in
// a copy of a rotated file, is a duplicate.
func TestLinesAreJoined(t *testing.T) {
	begin := entry(serverlog.Audit, serverlog.Received, "a", 10*ms, 10*ms)
	begin.User = "alice"
	started := entry(serverlog.Audit, serverlog.Started, "a", 10*ms, 12*ms)
	end := entry(serverlog.Audit, serverlog.Complete, "a", 10*ms, 30*ms)
	end.Status = 200
	line := entry(serverlog.HTTP, serverlog.Complete, "a", 10*ms+ms/10, 30*ms)
	line.ExecutionNs, line.Seats = 5*ms, 3
	all, log := read(t, line, end, begin, started, end, line)
	if len(all) != 1 || log.Entries != (Entries{Total: 6, Joined: 4, Duplicates: 2}) || log.Logs.Both != 1 || log.Logs.MostApartNs != ms/10 {
		t.Fatalf("%d requests, %+v, %+v; want one of four lines, and two duplicates", len(all), log.Entries, log.Logs)
	}
	q := all[0]
	if q.User != "alice" || q.Status != 200 || q.ArrivalNs != 10*ms || q.StartedNs != 12*ms || q.EndNs != 30*ms || q.ExecutionNs != 5*ms || q.Seats != 3 {
		t.Errorf("%+v", q)
	}
}

// A client may send the same audit ID with all of its requests. Lines of the audit log with different
// arrivals are different requests, and each line of the httplog belongs to the nearest.
func TestOneAuditIDForManyRequests(t *testing.T) {
	// The first request has one line, so that the lines of others are not at even places.
	entries := []serverlog.Entry{entry(serverlog.Audit, serverlog.Complete, "same", 0, ms)}
	const n = 1000
	for i := range int64(n) {
		line := entry(serverlog.HTTP, serverlog.Complete, "same", (i+1)*10*ms+ms, (i+1)*10*ms+3*ms)
		line.ExecutionNs = i
		entries = append(entries, entry(serverlog.Audit, serverlog.Complete, "same", (i+1)*10*ms, (i+1)*10*ms+3*ms), line)
	}
	all, log := read(t, entries...)
	if len(all) != n+1 || log.Entries.Duplicates != 0 {
		t.Fatalf("%d requests and %d duplicates, want %d and none", len(all), log.Entries.Duplicates, n+1)
	}
	for i, q := range all[1:] {
		if q.ArrivalNs != int64(i+1)*10*ms || q.ExecutionNs != int64(i) {
			t.Fatalf("request %d arrived at %d with the execution time of request %d", i, q.ArrivalNs, q.ExecutionNs)
		}
	}
}

// Without audit IDs, each line is a request.
func TestLinesWithoutAuditID(t *testing.T) {
	line := entry(serverlog.HTTP, serverlog.Complete, "", 0, ms)
	if all, _ := read(t, line, line); len(all) != 2 {
		t.Errorf("%d requests, want 2", len(all))
	}
}

// Adjustments belong to the server of the file; there is a line for each level.
func TestAdjustments(t *testing.T) {
	log, err := Read(context.Background(), Options{Dir: t.TempDir(), Sources: []Source{{Name: "a.log", Server: "a",
		Open: func(_ context.Context, _ time.Time, adjusted func(httplog.Adjustment)) (serverlog.Reader, error) {
			for _, at := range []int64{20_000 * ms, 20_001 * ms, 10_000 * ms} {
				if adjusted != nil {
					adjusted(httplog.Adjustment{TimeNs: at})
				}
			}
			return &tells{entries: []serverlog.Entry{entry(serverlog.HTTP, serverlog.Complete, "1", 0, ms)}}, nil
		}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if got, want := log.Servers["a"].Adjustments, []int64{10_000 * ms, 20_000 * ms}; !slices.Equal(got, want) {
		t.Errorf("adjustments at %v, want %v", got, want)
	}
}

// A request is read as it was written, whatever is in its fields.
func TestRequestsAreReadAsTheyWereWritten(t *testing.T) {
	in := codec{reading: true}
	rapid.Check(t, func(t *rapid.T) {
		var want, got Request
		v := reflect.ValueOf(&want).Elem()
		fill(t, v, "request")
		var out codec
		want.code(&out)
		in.read(out.b)
		got.code(&in)
		if len(want.Groups) == 0 {
			want.Groups, got.Groups = nil, nil
		}
		if !reflect.DeepEqual(want, got) || in.at < len(in.text) {
			t.Fatalf("got  %+v\nwant %+v\n%d bytes are left", got, want, len(in.text)-in.at)
		}
	})
}

// fill gives all exported fields a value, so that a field that is not written is found.
func fill(t *rapid.T, v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fill(t, v.Field(i), f.Name)
			}
		}
	case reflect.String:
		v.SetString(rapid.String().Draw(t, name))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, name))
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Uint8().Draw(t, name)))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Range(math.MinInt64, math.MaxInt64).Draw(t, name))
	case reflect.Slice:
		v.Set(reflect.ValueOf(rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, name)))
	default:
		panic(fmt.Sprint("no value for ", v.Kind()))
	}
}

// Mistakes in the names of files are reported together.
func TestNamesOfFiles(t *testing.T) {
	if _, err := Sources([]string{"none.log", "a=other.log", ".", "none.log"}, nil, logfile.Options{}); err == nil ||
		err.Error() != "none.log: cannot be read: no such file or directory\nother.log: cannot be read: no such file or directory\n"+
			".: is a folder; name its files, as in ./*.log\nnone.log: is named twice" {
		t.Errorf("got %v", err)
	}
	sources, err := Sources([]string{"here=requests_test.go", "-"}, nil, logfile.Options{})
	if err != nil || sources[0].Server != "here" || sources[0].Name != "requests_test.go" || !sources[1].Stream {
		t.Errorf("%+v, %v", sources, err)
	}
}

// All values come in their order, and an error of either side ends both.
func TestAhead(t *testing.T) {
	const n = 5*batchSize*batches + 3
	failure, late := errors.New("failure"), errors.New("late")
	for _, c := range []struct {
		takes int // before the failure; none if it is n
		after error
		want  error
	}{{n, nil, nil}, {n, late, late}, {0, nil, failure}, {batchSize, late, failure}, {n - 1, nil, failure}} {
		taken := 0
		err := ahead(func(next func() *int) error {
			for i := range n {
				into := next()
				if into == nil {
					return errStopped
				}
				*into = i
			}
			return c.after
		}, func(i *int) error {
			if *i != taken {
				t.Fatalf("value %d comes after %d others", *i, taken)
			}
			if taken == c.takes {
				return failure
			}
			taken++
			return nil
		})
		if err != c.want || taken != c.takes {
			t.Errorf("%d values, error %v; want %d, %v", taken, err, c.takes, c.want)
		}
	}
}
