package store

import (
	"fmt"
	"slices"
	"testing"

	"apfsim/sim/machine"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// waits returns how long writes take to a store that is read as well, before each write.
func waits(t *testing.T, seed uint64, reads int) []int64 {
	read, err := random.NewExponential(1e6)
	if err != nil {
		t.Fatal(err)
	}
	write, err := random.NewLognormalP99(4e6, 25e6)
	if err != nil {
		t.Fatal(err)
	}
	w := seededWorld(seed, Settings{Read: quantity.Distribution{Distribution: read}, Write: quantity.Distribution{Distribution: write}})
	var took []int64
	for i := range int64(100) {
		for range reads {
			w.Read(i*second, at(func(int64) {}))
		}
		w.Write(i*second, at(func(nowNs int64) { took = append(took, nowNs-i*second) }))
		w.run((i+1)*second - 1)
	}
	return took
}

// Two runs with one seed are alike, and how many reads there are makes no difference to how long writes take.
func TestLatencyIsDeterministic(t *testing.T) {
	first := waits(t, 1, 1)
	if len(first) != 100 || slices.Min(first) <= 0 || slices.Min(first) == slices.Max(first) {
		t.Fatalf("writes took %d", first)
	}
	if again := waits(t, 1, 1); !slices.Equal(first, again) {
		t.Errorf("a second run took %d, the first one %d", again, first)
	}
	if more := waits(t, 1, 3); !slices.Equal(first, more) {
		t.Errorf("with more reads, writes took %d, before %d", more, first)
	}
	if other := waits(t, 2, 1); slices.Equal(first, other) {
		t.Error("another seed makes no difference")
	}
}

// What is read is what the store has when the read is answered, 2 ms after it was sent, and a write commits when
// it is answered, after 1 ms.
func TestLinearizable(t *testing.T) {
	w := newWorld(Settings{Read: quantity.Constant(2e6), Write: quantity.Constant(1e6)})
	r := w.Resource(nodes)
	var told []string
	w.Read(0, at(func(nowNs int64) {
		told = append(told, fmt.Sprintf("read revision %d at %d ms", w.Revision(), nowNs/1e6))
	}))
	w.Write(0, at(func(nowNs int64) {
		put(t, nowNs, r, object("", "n"))
		told = append(told, fmt.Sprintf("wrote at %d ms", nowNs/1e6))
	}))
	w.run(second)
	if want := []string{"wrote at 1 ms", "read revision 2 at 2 ms"}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
}

// Three transactions that take 6 ms alone share one core. The first has it for itself for 2 ms. With the second
// one, which comes at 2 ms, both progress at half the speed, and the first would end at 2 + 2·4 = 10 ms. But at 5 ms the
// speed falls to a half, so from then on each progresses at a quarter: the first has 2.5 ms left, until 15 ms. The
// second has 2 ms left then, and ends at half the speed at 19 ms. The last comes when etcd is idle, at 20 ms.
func TestWriteCapacity(t *testing.T) {
	w := newWorld(Settings{Write: quantity.Constant(6e6), WriteCapacity: &machine.Capacity{
		Cores: 1, Speed: []machine.Speed{{At: 5e6, Factor: 0.5}},
	}})
	var told []string
	for i, startMs := range []int64{0, 2, 20} {
		w.alarms.Set(startMs*1e6, at(func(nowNs int64) {
			w.Write(nowNs, at(func(nowNs int64) {
				told = append(told, fmt.Sprintf("%d at %d µs", i, nowNs/1000))
			}))
		}))
	}
	w.run(second)
	if want := []string{"0 at 15000 µs", "1 at 19000 µs", "2 at 32000 µs"}; !slices.Equal(told, want) {
		t.Errorf("ended %q, want %q", told, want)
	}
}

// Small reads of 1 ms wait behind two ranges of 100 ms that share one core with them. Without a capacity they take as long as alone. A health check takes part, what a server does besides does
// not, and neither do transactions.
func TestReadCapacity(t *testing.T) {
	for _, c := range []struct {
		law  *machine.Capacity
		want []string
	}{
		{nil, []string{"besides at 11 ms", "check at 11 ms", "range at 101 ms", "range at 101 ms", "small at 11 ms", "write at 11 ms"}},
		// Both reads end at 2 ms. From 10 ms on, the small read and the check are two of four on one core, and end at
		// 10 + 4·1. The ranges have had 4 + 1 ms of their 100 ms then, and go on at half the speed each: 14 + 2·95 = 204.
		{&machine.Capacity{Cores: 1}, []string{"besides at 11 ms", "check at 14 ms", "range at 204 ms", "range at 204 ms", "small at 14 ms", "write at 11 ms"}},
		{&machine.Capacity{Cores: 4}, []string{"besides at 11 ms", "check at 11 ms", "range at 101 ms", "range at 101 ms", "small at 11 ms", "write at 11 ms"}},
	} {
		w := newWorld(Settings{Read: quantity.Constant(1e6), Write: quantity.Constant(1e6), ReadCapacity: c.law})
		var told []string
		tell := func(what string) at {
			return func(nowNs int64) { told = append(told, fmt.Sprintf("%s at %d ms", what, nowNs/1e6)) }
		}
		for range 2 {
			w.Read(0, at(func(nowNs int64) { w.ReadOn(nowNs, 100e6, tell("range")) }))
		}
		w.alarms.Set(10e6, at(func(nowNs int64) {
			var aside random.Stream
			w.Read(nowNs, tell("small"))
			w.Check(nowNs, &aside, tell("check"))
			w.ReadAside(nowNs, &aside, tell("besides"))
			w.Write(nowNs, tell("write"))
		}))
		w.run(second)
		slices.Sort(told)
		if !slices.Equal(told, c.want) {
			t.Errorf("%+v: %q, want %q", c.law, told, c.want)
		}
	}
}

// What calls have taken, and would have taken alone: two reads of 1 ms that share a core take 2 ms each, and transactions
// are counted apart.
func TestTimesOfCalls(t *testing.T) {
	law := &machine.Capacity{Cores: 1}
	w := newWorld(Settings{Read: quantity.Constant(1e6), Write: quantity.Constant(5e6), ReadCapacity: law, WriteCapacity: law})
	for range 2 {
		w.Read(0, at(func(int64) {}))
	}
	w.Write(0, at(func(int64) {}))
	w.run(second)
	if got, want := w.Reads(), (Times{AloneNs: 2e6, TookNs: 4e6}); got != want {
		t.Errorf("reads: %+v, want %+v", got, want)
	}
	if got, want := w.Transactions(), (Times{AloneNs: 5e6, TookNs: 5e6}); got != want {
		t.Errorf("transactions: %+v, want %+v", got, want)
	}
	if got := newWorld(Settings{Read: quantity.Constant(1e6)}).Reads(); got != (Times{}) {
		t.Errorf("without a capacity: %+v", got)
	}
}
