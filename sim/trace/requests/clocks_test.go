package requests

import (
	"testing"
	"time"

	"apfsim/sim/trace/serverlog"
)

// A node whose clock was never set, and one that is ahead, write lines among those of the others. These lines are bad ones, so
// that the log begins and ends with the others.
func TestWrongClocks(t *testing.T) {
	at := func(year int) int64 { return time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC).UnixNano() }
	line := func(id string, arrivalNs, endNs int64) serverlog.Entry {
		return entry(serverlog.Audit, serverlog.Complete, id, arrivalNs, endNs)
	}
	all, log := read(t, line("a", 0, ms), line("b", at(2026), at(2026)+ms), line("c", at(2026)+ms, at(2099)), line("d", at(2026)+2*ms, at(2026)+3*ms),
		line("e", at(2099), at(2099)+ms))
	if len(all) != 2 || all[0].AuditID != "b" || all[1].AuditID != "d" {
		t.Errorf("%d requests, want b and d: %+v", len(all), all)
	}
	if s := log.Servers[""]; s.BeginNs != at(2026)+ms || s.EndNs != at(2026)+3*ms || s.FirstNs != at(2026) {
		t.Errorf("the log lasts from %v to %v", time.Unix(0, s.BeginNs).UTC(), time.Unix(0, s.EndNs).UTC())
	}
	f := log.Files[0]
	if f.BadLines != 3 || f.Entries != 2 || log.Entries.Total != 2 || len(f.Problems) != 3 || f.Problems[0].Line != 1 || f.Problems[1].Line != 3 || f.Problems[2].Line != 5 {
		t.Errorf("%+v, %+v; want bad lines 1, 3 and 5", f, log.Entries)
	}
}

// Whatever pause a log of a hundred days has, it is read whole: one request at its begin, and all others at its end. A log that
// goes on for a year is read whole around its middle.
func TestLongQuietLogs(t *testing.T) {
	line := func(day int64) serverlog.Entry {
		return entry(serverlog.Audit, serverlog.Complete, "", day*dayNs, day*dayNs+ms)
	}
	if all, log := read(t, line(20000), line(20100), line(20100), line(20100)); len(all) != 4 {
		t.Errorf("%d requests, want 4: %+v", len(all), log.Files[0].Problems)
	}
	var year []serverlog.Entry
	for day := range int64(365) {
		year = append(year, line(20000+day))
	}
	if all, log := read(t, year...); len(all) != 2*farDays+1 || log.Files[0].BadLines != 365-2*farDays-1 {
		t.Errorf("%d requests and %d bad lines", len(all), log.Files[0].BadLines)
	}
}

// The lines of each server are judged by themselves.
func TestClocksOfServers(t *testing.T) {
	var lines []serverlog.Entry
	for i := range int64(10) {
		a := entry(serverlog.Audit, serverlog.Complete, "", i*ms, i*ms)
		b := entry(serverlog.Audit, serverlog.Complete, "", 20000*dayNs+i*ms, 20000*dayNs+i*ms)
		a.Server, b.Server = "a", "b"
		lines = append(lines, a, b)
	}
	if all, log := read(t, lines...); len(all) != 20 {
		t.Errorf("%d requests, want 20: %+v", len(all), log.Files[0].Problems)
	}
}
