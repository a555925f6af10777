package machine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"apfsim/sim/quantity"

	"pgregory.net/rapid"
)

const ms = 1_000_000

// story lets a machine work until a time, and says what happens.
func story(m *Machine, nowNs *int64, untilNs int64) (all []string) {
	for {
		slot, atNs, ok := m.Next(*nowNs)
		if !ok || atNs > untilNs {
			*nowNs = untilNs
			return all
		}
		*nowNs = atNs
		if slot == Step {
			m.Advance(atNs)
			all = append(all, fmt.Sprintf("%d: step", atNs/ms))
		} else {
			m.End(atNs, slot)
			all = append(all, fmt.Sprintf("%d: end of %d", atNs/ms, slot))
		}
	}
}

func tells(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A list of 30 ms is alone on one core. Its turn of 10 ms is over when a request of 1 ms comes after 12 ms, so that it gives way at once
// and ends one millisecond later than alone. The next request of 1 ms comes in a turn that began at 13 ms, and waits for its end at 23 ms.
func TestTurnsOnOneCore(t *testing.T) {
	m, nowNs := New(&Capacity{Cores: 1, Turn: 10 * ms}), int64(0)
	list := m.Begin(0, 30*ms)
	tells(t, story(m, &nowNs, 12*ms))
	mouse := m.Begin(nowNs, ms)
	tells(t, story(m, &nowNs, 15*ms), "12: step", fmt.Sprintf("13: end of %d", mouse))
	mouse = m.Begin(nowNs, ms)
	tells(t, story(m, &nowNs, 50*ms), "23: step", fmt.Sprintf("24: end of %d", mouse), fmt.Sprintf("32: end of %d", list))
	if m.N() != 0 || m.Work.Sum(nowNs) != 32*ms {
		t.Errorf("%d jobs are left, %v ns of demand are served, want none and 32 ms", m.N(), m.Work.Sum(nowNs))
	}
}

// 1.5 cores have two places, each of which has three quarters of a core if both are taken. A third job waits until the turn of the
// first is over at 8 ms, after 6 ms of demand. One that waits can be cancelled, and the place of one that is cancelled is taken at once.
func TestTurnsOnPartsOfCores(t *testing.T) {
	m, nowNs := New(&Capacity{Cores: 1.5, Turn: 6 * ms}), int64(0)
	first, second, third, fourth := m.Begin(0, 9*ms), m.Begin(0, 60*ms), m.Begin(0, 3*ms), m.Begin(0, 12*ms)
	m.Cancel(0, fourth)
	// The second, whose turn is over as well, gives way to the first. So the first and the third are on the places, with 3 ms left each.
	tells(t, story(m, &nowNs, 11*ms), "8: step", "8: step")
	if left := m.Cancel(nowNs, third); left != 0.75*ms {
		t.Errorf("%v ns are left of the third, want 0.75 ms", left)
	}
	tells(t, story(m, &nowNs, 12*ms), fmt.Sprintf("12: end of %d", first))
	// The second has 60 - 6 - 0.75 ms left, and a whole core.
	if slot, atNs, _ := m.Next(nowNs); slot != second || atNs != 65_250_000 {
		t.Errorf("job %d ends at %d ns, want %d at 65.25 ms", slot, atNs, second)
	}
}

// plain is a machine with turns as plainly as possible: it knows what is left of each demand and of each turn.
type plain struct {
	law             Capacity
	factor, cores   float64
	placed, waiting []*plainJob
	doneNs          float64
}

type plainJob struct {
	slot           int32
	left, turnLeft float64
}

// speed is that of a job that is on a place.
func (p *plain) speed() float64 {
	n := float64(len(p.placed) + len(p.waiting))
	return n / float64(len(p.placed)) * p.factor * min(1, p.cores/n) / (1 + p.law.Contention*(n-1) + p.law.Coherency*n*(n-1))
}

func (p *plain) pass(ns int64) {
	for _, j := range p.placed {
		by := p.speed() * float64(ns)
		j.left -= by
		j.turnLeft -= by
		p.doneNs += by
	}
}

// fill gives free places to those who wait.
func (p *plain) fill() {
	for len(p.waiting) > 0 && len(p.placed) < int(math.Ceil(p.law.Cores)) {
		j := p.waiting[0]
		j.turnLeft = float64(p.law.Turn)
		p.placed, p.waiting = append(p.placed, j), p.waiting[1:]
	}
}

// remove takes a job out, wherever it is, and gives its place to the next.
func (p *plain) remove(slot int32) (j *plainJob) {
	for _, all := range []*[]*plainJob{&p.placed, &p.waiting} {
		if i := slices.IndexFunc(*all, func(j *plainJob) bool { return j.slot == slot }); i >= 0 {
			j = (*all)[i]
			*all = slices.Delete(*all, i, i+1)
		}
	}
	p.fill()
	return j
}

// The fast machine does what the plain one does, to the nanoseconds by which ends are rounded up; it serves at the rate n·v(n), and no
// place is free while a job waits.
func TestTurnsAgreeWithAPlainMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		law := Capacity{
			Cores:      rapid.SampledFrom([]float64{0.5, 1, 1.75, 3, 16}).Draw(t, "cores"),
			Contention: rapid.SampledFrom([]float64{0, 0.03, 1}).Draw(t, "contention"),
			Coherency:  rapid.SampledFrom([]float64{0, 4e-5, 0.1}).Draw(t, "coherency"),
			Turn:       quantity.Duration(rapid.SampledFrom([]int64{1, 1000, 3e7, 1e15}).Draw(t, "turn")),
		}
		fast, slow := New(&law), &plain{law: law, factor: 1, cores: law.Cores}
		nowNs := int64(0)
		pass := func(ns int64) {
			slow.pass(ns)
			nowNs += ns
		}
		// Rounding up may serve each job and turn for a nanosecond too long at the greatest speed.
		const most = 3.01
		for range rapid.IntRange(1, 300).Draw(t, "operations") {
			switch rapid.IntRange(0, 6).Draw(t, "operation") {
			case 0, 1:
				demand := rapid.OneOf(rapid.Int64Range(0, 10), rapid.Int64Range(0, 1e4), rapid.Int64Range(0, 1e9)).Draw(t, "demand")
				slow.waiting = append(slow.waiting, &plainJob{slot: fast.Begin(nowNs, demand), left: float64(demand)})
				slow.fill()
			case 2, 3, 4: // the next end, or end of a turn
				slot, atNs, ok := fast.Next(nowNs)
				if !ok {
					if len(slow.placed) > 0 {
						t.Fatal("no end although there are jobs")
					}
					continue
				}
				leastNs := math.Inf(1)
				for _, j := range slow.placed {
					leastNs = min(leastNs, max(0, j.left)/slow.speed())
				}
				if len(slow.waiting) > 0 {
					leastNs = min(leastNs, max(0, slow.placed[0].turnLeft)/slow.speed())
				}
				wantNs := nowNs + int64(math.Ceil(leastNs))
				if tolerance := 2 + int64(1e-9*float64(wantNs-nowNs)); atNs < wantNs-tolerance || atNs > wantNs+tolerance {
					t.Fatalf("at %d ns, the next event is at %d ns; want %d ns", nowNs, atNs, wantNs)
				}
				pass(atNs - nowNs)
				if slot != Step {
					fast.End(nowNs, slot)
					if j := slow.remove(slot); math.Abs(j.left) > most {
						t.Fatalf("%v ns of the demand are left at the end", j.left)
					}
					break
				}
				if len(slow.waiting) == 0 {
					t.Fatal("a turn is over although nobody waits")
				}
				j := slow.placed[0]
				if j.turnLeft > 1e-3 {
					t.Fatalf("%v ns of the turn are left at its end", j.turnLeft)
				}
				fast.Advance(nowNs)
				slow.placed = slow.placed[1:]
				slow.fill()
				slow.waiting = append(slow.waiting, j)
			case 5:
				if n := len(slow.placed) + len(slow.waiting); n > 0 && rapid.Bool().Draw(t, "cancel") {
					slot := slices.Concat(slow.placed, slow.waiting)[rapid.IntRange(0, n-1).Draw(t, "cancelled")].slot
					left := fast.Cancel(nowNs, slot)
					if j := slow.remove(slot); math.Abs(left-max(0, j.left)) > most {
						t.Fatalf("%v ns are left of a job that is cancelled; want %v", left, j.left)
					}
				}
			case 6:
				if _, atNs, _ := fast.Next(nowNs); atNs > nowNs {
					pass(rapid.Int64Range(0, atNs-nowNs).Draw(t, "time"))
				}
				if rapid.Bool().Draw(t, "busy") {
					busy := rapid.Float64Range(0, 20).Draw(t, "cores")
					fast.SetBusy(nowNs, busy)
					slow.cores = max(law.Cores/10, law.Cores-busy)
				} else {
					slow.factor = rapid.SampledFrom([]float64{0.1, 0.4, 1, 3}).Draw(t, "factor")
					fast.SetSpeed(nowNs, slow.factor)
				}
			}
			if n := len(slow.placed) + len(slow.waiting); fast.N() != n || len(fast.heap) != min(n, int(math.Ceil(law.Cores))) {
				t.Fatalf("%d jobs, of which %d are on places; want %d", fast.N(), len(fast.heap), n)
			}
		}
		if got := fast.Work.Sum(nowNs); math.Abs(got-slow.doneNs) > 1e-9*slow.doneNs+1e-6 {
			t.Fatalf("%v ns of demands are served; the integral of the throughput is %v", slow.doneNs, got)
		}
	})
}

// Whatever the turn, the machine is busy at the same times, and has served as much of the same demands at each of them.
func TestTurnsKeepTheWork(t *testing.T) {
	const jobs = 3000
	var want []float64
	for _, turn := range []quantity.Duration{0, 20_000, 5 * ms, 3_600_000 * ms} {
		source := rand.New(rand.NewPCG(3, 4))
		m, nowNs := New(&Capacity{Cores: 1, Turn: turn}), int64(0)
		var work []float64
		for range jobs {
			untilNs := nowNs + int64(source.ExpFloat64()*7*ms)
			story(m, &nowNs, untilNs)
			work = append(work, m.Work.Sum(nowNs))
			m.Begin(nowNs, int64(source.ExpFloat64()*5*ms))
		}
		if want == nil {
			want = work
		}
		for i := range work {
			if math.Abs(work[i]-want[i]) > 50*float64(i+1) { // nanoseconds by which ends are rounded up
				t.Fatalf("turn %v: %v ns of work before job %d, want %v", turn, work[i], i, want[i])
			}
		}
	}
}

// With turns, a machine of jobs that come and go allocates nothing.
func TestTurnsAllocateNothing(t *testing.T) {
	m, nowNs := New(&Capacity{Cores: 4, Turn: ms}), int64(0)
	for i := range int64(100) {
		m.Begin(0, (1+i)*ms)
	}
	n := int64(0)
	next := func() {
		slot, atNs, _ := m.Next(nowNs)
		nowNs = atNs
		if slot == Step {
			m.Advance(nowNs)
			return
		}
		m.End(nowNs, slot)
		n++
		m.Begin(nowNs, (1+n%50)*ms)
	}
	for range 1000 {
		next()
	}
	if allocations := testing.AllocsPerRun(10_000, next); allocations != 0 || n < 300 {
		t.Errorf("%v allocations an event after %d ends, want none", allocations, n)
	}
}

// BenchmarkTurns has n jobs at a time on four places: each operation is the end of a turn, or an end and a beginning.
func BenchmarkTurns(b *testing.B) {
	for _, n := range []int64{10, 1000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			m, nowNs := New(&Capacity{Cores: 4, Turn: ms}), int64(0)
			for i := range n {
				m.Begin(0, (1+i%50)*ms)
			}
			b.ReportAllocs()
			for i := int64(0); b.Loop(); i++ {
				slot, atNs, _ := m.Next(nowNs)
				if nowNs = atNs; slot == Step {
					m.Advance(nowNs)
					continue
				}
				m.End(nowNs, slot)
				m.Begin(nowNs, (1+i%50)*ms)
			}
		})
	}
}
