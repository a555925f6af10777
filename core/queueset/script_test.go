package queueset

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/core/estimate"
	"apfsim/core/rules"

	"github.com/cockroachdb/datadriven"
)

// TestScripts plays the stories of testdata, by the rules of the newest release or of the one that
// new is given as its version. Each command takes the time since the
// beginning, does one thing to the set, and prints what became of it: who started, who did
// not fit, R, and every queue that is not blank. Run with -rewrite to replace what they print.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if filepath.Ext(path) != ".txt" {
			return // the fuzz corpus is no story
		}
		var p *player
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				p = &player{named: map[string]*Request{}}
				release := rules.Latest()
				if d.HasArg("version") {
					var version string
					d.ScanArgs(t, "version", &version)
					var err error
					if release, err = rules.For(version); err != nil {
						d.Fatalf(t, "%v", err)
					}
				}
				if d.HasArg("waitLimit") {
					var limit string
					d.ScanArgs(t, "waitLimit", &limit)
					p.waitLimitNs = duration(t, d, limit)
				}
				p.set = New(0, release, config(t, d), number(t, d, "limit", 0), p)
				return p.state()
			}
			return p.play(t, d)
		})
	})
}

type player struct {
	set     *QueueSet
	named   map[string]*Request
	started []string
	held    []string
	removed []string // by the arrival of another request
	nowNs   int64

	waitLimitNs int64 // lazy; 0 for none
}

func (p *player) TimedOut(_ int64, r *Request) { p.removed = append(p.removed, r.Owner.(string)) }

func (p *player) Dispatched(r *Request) { p.started = append(p.started, r.Owner.(string)) }

func (p *player) HeldBack(r *Request) { p.held = append(p.held, r.Owner.(string)) }

func (p *player) play(t *testing.T, d *datadriven.TestData) string {
	var at string
	d.ScanArgs(t, "at", &at)
	p.nowNs = duration(t, d, at)
	var name string
	var effects []string
	if d.Cmd != "configure" {
		name = d.CmdArgs[0].Key
	}
	r := p.named[name]
	p.started, p.held, p.removed = nil, nil, nil
	switch d.Cmd {
	case "arrive":
		r = &Request{Owner: name, Work: estimate.Work{
			InitialSeats: number(t, d, "seats", 1),
			FinalSeats:   number(t, d, "final", 0),
		}}
		if d.HasArg("latency") {
			var latency string
			d.ScanArgs(t, "latency", &latency)
			r.Work.AdditionalLatencyNs = duration(t, d, latency)
		}
		if p.waitLimitNs > 0 {
			r.OverdueNs = p.nowNs + p.waitLimitNs
		}
		p.named[name] = r
		switch rejection := arrive(p.set, p.nowNs, r, uint64(number(t, d, "hash", 0))); {
		case rejection != NotRejected:
			effects = append(effects, fmt.Sprintf("%s is rejected: %v", name, rejection))
		case r.Waiting():
			effects = append(effects, fmt.Sprintf("%s waits in queue %d", name, r.Queue()))
		}
	case "finish":
		if additionalNs := p.set.Finish(p.nowNs, r); additionalNs > 0 {
			effects = append(effects, fmt.Sprintf("%s keeps %d seats for %v", name, r.Seats(), time.Duration(additionalNs)))
		}
	case "release":
		p.set.Release(p.nowNs, r)
	case "time-out":
		p.set.TimeOut(p.nowNs, r)
	case "cancel":
		p.set.Cancel(p.nowNs, r)
	case "configure":
		p.set.Configure(p.nowNs, config(t, d), number(t, d, "limit", p.set.Limit()))
	default:
		d.Fatalf(t, "no such command")
	}
	for _, r := range p.removed {
		effects = append(effects, r+" times out")
	}
	for _, s := range p.started {
		effects = append(effects, s+" starts")
	}
	for _, h := range p.held {
		effects = append(effects, h+" is held back")
	}
	if len(effects) == 0 {
		effects = []string{"nothing starts"}
	}
	return strings.Join(effects, ", ") + "\n" + p.state()
}

func (p *player) state() string {
	var b strings.Builder
	s := p.set
	fmt.Fprintf(&b, "R %s, seats %d of %d\n", ss(s.R()), s.seatsInUse, s.limit)
	for _, q := range s.queues {
		if !q.active() && q.seatsInUse == 0 {
			continue
		}
		fmt.Fprintf(&b, "queue %d: next dispatch R %s, executing %d on %d seats", q.index, ss(s.Queue(q.index).NextDispatchR), q.executing, q.seatsInUse)
		if q.waiting > 0 {
			var names []string
			for r := q.first; r != nil; r = r.next {
				names = append(names, r.Owner.(string))
			}
			fmt.Fprintf(&b, ", waiting %s on %d seats, work %s", strings.Join(names, " "), q.seatsWaiting, ss(s.work[q.index]))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// ss prints seat-seconds to the last of their eight digits.
func ss(s estimate.SeatSeconds) string { return fmt.Sprintf("%d.%08d", s/1e8, s%1e8) }

func config(t *testing.T, d *datadriven.TestData) Config {
	return Config{
		Queues:           number(t, d, "queues", 0),
		HandSize:         number(t, d, "handSize", 1),
		QueueLengthLimit: number(t, d, "queueLengthLimit", 50),
	}
}

func number(t *testing.T, d *datadriven.TestData, name string, otherwise int) int {
	if d.HasArg(name) {
		d.ScanArgs(t, name, &otherwise)
	}
	return otherwise
}

func duration(t *testing.T, d *datadriven.TestData, s string) int64 {
	v, err := time.ParseDuration(s)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return int64(v)
}

// The scripts above print R from time 0; this story begins where R is about to pass its
// high mark of 3/4 of 2^64, and everything read off it must go back by the same half.
func TestWindBack(t *testing.T) {
	p := &player{}
	s := New(0, rules.Latest(), Config{Queues: 2, HandSize: 1, QueueLengthLimit: 50}, 1, p)
	s.r = highMark - 100_000 // a thousandth of a seat-second below
	arrive := func(name string, hash uint64) *Request {
		r := &Request{Owner: name, Work: estimate.Work{InitialSeats: 1}}
		arrive(s, 0, r, hash)
		return r
	}
	first, second, third := arrive("first", 0), arrive("second", 0), arrive("third", 1)

	// One seat for two queues: R gains half a seat-second per second, 5 ms in 10 ms.
	s.Finish(10_000_000, first)
	if want := highMark - 100_000 + 500_000 - epoch; s.r != want {
		t.Errorf("R is %d after winding back, want %d", s.r, want)
	}
	// second's queue has been served 10 ms of 3 ms estimated; third's has had nothing.
	if want := highMark - 100_000 + 1_000_000 - epoch; s.queues[0].nextDispatchR != want {
		t.Errorf("next dispatch R of queue 0 is %d, want %d", s.queues[0].nextDispatchR, want)
	}
	if want := highMark - 100_000 - epoch; second.arrivalR != want {
		t.Errorf("R at the waiting request's arrival is %d, want %d", second.arrivalR, want)
	}
	if !slices.Equal(p.started, []string{"first", "third"}) || third.Waiting() {
		t.Errorf("started %v, want third after first", p.started)
	}
}

// Requests of a million seats, one at a time: R gains a million seat-seconds per second. After
// 140 000 s it has passed the high mark, 1.38e11, and goes back by 9.22e10. A reading that had
// not come so far goes below 0, and the epoch has failed.
func TestEpochs(t *testing.T) {
	const seats, second = 1_000_000, 1_000_000_000
	config := Config{Queues: 1, HandSize: 1, QueueLengthLimit: 50}
	for _, c := range []struct {
		story string
		play  func(come func(atS int64) *Request, finish func(atS int64, r *Request), pass func(atS int64))
		want  Epochs
	}{
		{"one request executes all the time, and its queue is where it was at the dispatch: at 3000",
			func(come func(int64) *Request, finish func(int64, *Request), pass func(int64)) {
				one := come(0)
				pass(50_000)
				pass(100_000)
				finish(140_000, one)
			}, Epochs{Failed: 1}},
		{"two have finished, which brings the queue to 1e11, but one has waited since 0",
			func(come func(int64) *Request, finish func(int64, *Request), _ func(int64)) {
				first, second, third, _ := come(0), come(0), come(0), come(0)
				finish(50_000, first)
				finish(100_000, second)
				finish(140_000, third)
			}, Epochs{Failed: 1}},
		{"the one that waits has come at 1e11",
			func(come func(int64) *Request, finish func(int64, *Request), _ func(int64)) {
				first, second, third := come(0), come(0), come(0)
				finish(50_000, first)
				finish(100_000, second)
				come(100_000)
				finish(140_000, third)
			}, Epochs{Succeeded: 1}},
	} {
		s := New(0, rules.Latest(), config, seats, &player{})
		c.play(
			func(atS int64) *Request {
				r := &Request{Owner: "", Work: estimate.Work{InitialSeats: seats}}
				arrive(s, atS*second, r, 0)
				return r
			},
			func(atS int64, r *Request) { s.Finish(atS*second, r) },
			func(atS int64) { s.Configure(atS*second, config, seats) })
		if got := s.Epochs(); got != c.want {
			t.Errorf("%s: epochs %+v, want %+v", c.story, got, c.want)
		}
		if want := estimate.SeatSeconds(140_000*seats*1e8 - epoch); s.R() != want {
			t.Errorf("%s: R is %s, want %s", c.story, ss(s.R()), ss(want))
		}
	}
}
