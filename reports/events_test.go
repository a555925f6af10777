package reports_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"apfsim/reports/record"
	"apfsim/sim"
)

// traced is an event of the trace, with times in nanoseconds.
type traced struct {
	Name, Cat, Ph, ID, S string
	Ts, Dur              json.Number
	Pid, Tid             int
	Args                 struct {
		ID                int64
		Name, Flow        string
		Queue             *int
		Seats, Requests   int
		ArrivalNs, WaitNs int64
	}
}

func nanoseconds(t *testing.T, n json.Number) int64 {
	t.Helper()
	whole, fraction, _ := strings.Cut(n.String(), ".")
	var ns int64
	for _, digit := range whole + (fraction + "000")[:3] {
		ns = 10*ns + int64(digit-'0')
	}
	if len(fraction) > 3 {
		t.Fatalf("%s: finer than a nanosecond", n)
	}
	return ns
}

// trace runs a scenario and returns the events within a window, and the request log.
func trace(t *testing.T, text string, fromNs, toNs int64) (events []traced, log []line) {
	t.Helper()
	sc := loadOne(t, text)
	run := sim.New(sc)
	var out, lines bytes.Buffer
	w := bufio.NewWriter(&out)
	e := record.NewPerfetto(w, sc, run.Servers(), fromNs, toNs)
	run.Observe(e.Observer())
	requests := record.NewRequestLog(&lines, sc)
	run.Observe(requests.Observer())
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	w.Flush()
	requests.Close()
	var whole struct {
		DisplayTimeUnit string
		TraceEvents     []traced
	}
	decoder := json.NewDecoder(&out)
	if err := decoder.Decode(&whole); err != nil || decoder.More() || whole.DisplayTimeUnit != "ms" {
		t.Fatalf("no trace: %v", err)
	}
	for one := range bytes.Lines(lines.Bytes()) {
		l := line{DispatchNs: -1, FinishNs: -1}
		if err := json.Unmarshal(one, &l); err != nil {
			t.Fatal(err)
		}
		l.Seats = max(1, l.Seats, l.FinalSeats)
		log = append(log, l)
	}
	return whole.TraceEvents, log
}

// span is a time within the window; none has toNs <= fromNs.
type span struct{ fromNs, toNs int64 }

func clip(fromNs, toNs int64, window span) span {
	return span{max(fromNs, window.fromNs), min(toNs, window.toNs)}
}

// Every request shows in the trace for as long as it waits, executes and lingers, by the
// request log; on as many seats as it holds; and no two on one seat at a time.
func TestEventsAreWhatTheRequestLogSays(t *testing.T) {
	for _, window := range []span{{12_300e6, 13_100e6}, {0, 500e6}, {39_500e6, 40_000e6}} {
		events, log := trace(t, motley, window.fromNs, window.toNs)
		type seat struct{ pid, tid int }
		processes, names := map[int]string{}, map[seat]string{}
		slices_, waits := map[int64]map[string][]span{}, map[int64]span{}
		onSeat := map[seat][]span{}
		rejected := map[int64]string{}
		for _, e := range events {
			at := nanoseconds(t, e.Ts)
			if e.Ph != "M" && (at < window.fromNs || at > window.toNs) {
				t.Fatalf("out of the window: %+v", e)
			}
			if e.Ph != "M" && processes[e.Pid] == "" {
				t.Fatalf("of a process without a name: %+v", e)
			}
			switch e.Ph {
			case "M":
				if e.Name == "process_name" {
					processes[e.Pid] = e.Args.Name
				} else {
					names[seat{e.Pid, e.Tid}] = e.Args.Name
				}
			case "X":
				s := span{at, at + nanoseconds(t, e.Dur)}
				if slices_[e.Args.ID] == nil {
					slices_[e.Args.ID] = map[string][]span{}
				}
				slices_[e.Args.ID][e.Cat] = append(slices_[e.Args.ID][e.Cat], s)
				onSeat[seat{e.Pid, e.Tid}] = append(onSeat[seat{e.Pid, e.Tid}], s)
				if names[seat{e.Pid, e.Tid}] == "" {
					t.Fatalf("on a seat without a name: %+v", e)
				}
			case "b":
				waits[e.Args.ID] = span{at, -1}
			case "e":
				waits[e.Args.ID] = span{waits[e.Args.ID].fromNs, at}
			case "i":
				rejected[e.Args.ID] = e.Name
			case "C":
			default:
				t.Fatalf("what is this: %+v", e)
			}
		}
		for i, l := range log {
			id := int64(i + 1)
			leave := window.toNs
			if l.Outcome != "waiting" {
				leave = l.ArrivalNs + l.WaitNs
			}
			want := clip(l.ArrivalNs, leave, window)
			got, waited := waits[id]
			queued := l.PriorityLevel != "" && l.Queue >= 0 && leave > l.ArrivalNs && want.toNs >= want.fromNs && l.ArrivalNs < window.toNs
			if waited != queued || waited && got != want {
				t.Errorf("%d waits %v, %v, want %v, %v: %+v", id, waited, got, queued, want, l)
			}
			executes, lingers := []span(nil), []span(nil)
			if l.DispatchNs >= 0 && l.DispatchNs < window.toNs {
				finish, release := int64(1<<62), int64(1<<62)
				if l.FinishNs >= 0 {
					finish, release = l.FinishNs, l.FinishNs+l.AdditionalLatencyNs
				}
				for range l.Seats {
					if s := clip(l.DispatchNs, finish, window); s.toNs >= s.fromNs {
						executes = append(executes, s)
					}
					if s := clip(finish, release, window); s.toNs > s.fromNs {
						lingers = append(lingers, s)
					}
				}
			}
			if !slices.Equal(slices_[id]["execution"], executes) || !slices.Equal(slices_[id]["additional latency"], lingers) {
				t.Errorf("%d: %v, want %v and %v: %+v", id, slices_[id], executes, lingers, l)
			}
			why := ""
			if end := l.ArrivalNs + l.WaitNs; l.Outcome == "rejected" && end >= window.fromNs && end < window.toNs {
				why = "rejected: " + l.Reason
			}
			if rejected[id] != why {
				t.Errorf("%d is %q, want %q", id, rejected[id], why)
			}
		}
		for at, spans := range onSeat {
			slices.SortFunc(spans, func(a, b span) int { return int(a.fromNs - b.fromNs) })
			for i := range spans[1:] {
				if spans[i].toNs > spans[i+1].fromNs {
					t.Errorf("%s, %s: %v and %v at a time", processes[at.pid], names[at], spans[i], spans[i+1])
				}
			}
		}
		if len(slices_) < 50 || len(waits) < 20 {
			t.Errorf("%v: only %d requests execute, and %d wait", window, len(slices_), len(waits))
		}
	}
}

// Counters end on what there is when the window ends.
func TestCountersOfEvents(t *testing.T) {
	const at = int64(20e9)
	events, log := trace(t, motley, at-1e9, at)
	last := map[string]int{}
	process := map[int]string{}
	for _, e := range events {
		if e.Name == "process_name" {
			process[e.Pid] = e.Args.Name
		}
		if e.Ph == "C" {
			last[process[e.Pid]+" "+e.Name] = e.Args.Seats + e.Args.Requests
		}
	}
	want := map[string]int{}
	for _, l := range log {
		level := l.PriorityLevel
		if level == "" {
			level = "not under flow control"
		}
		switch {
		case l.ArrivalNs >= at:
		case l.DispatchNs >= 0 && l.DispatchNs < at:
			if l.FinishNs < 0 || l.FinishNs+l.AdditionalLatencyNs >= at {
				want[level+" seats in use"] += l.Seats
			}
		case l.Outcome == "waiting" || l.ArrivalNs+l.WaitNs >= at:
			want[level+" waiting"]++
		}
	}
	for name, n := range want {
		if last[name] != n {
			t.Errorf("%s: %d, want %d", name, last[name], n)
		}
	}
	if want["workload-low seats in use"] == 0 || want["workload-low waiting"] == 0 || last["workload-low current limit"] == 0 {
		t.Errorf("nothing to compare: %v", want)
	}
}
