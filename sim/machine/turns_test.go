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

// The places are the cores rounded up, except that a rest of a quarter of a core or less has none.
func TestPlaces(t *testing.T) {
	for cores, want := range map[float64]int{0.01: 1, 0.25: 1, 0.5: 1, 1: 1, 1.25: 1, 1.26: 2, 2: 2, 2.2: 2, 2.3: 3, 3: 3, 15.75: 16, 16.25: 16} {
		if got := Places(cores); got != want {
			t.Errorf("%v cores have %d places, want %d", cores, got, want)
		}
	}
	// On 2.2 cores a third job waits for the end of the turns of the others, which progress at the speed 1.1 each until then.
	m, nowNs := New(&Capacity{Cores: 2.2, Turn: 11 * ms}), int64(0)
	first, second, third := m.Begin(0, 22*ms), m.Begin(0, 33*ms), m.Begin(0, 11*ms)
	tells(t, story(m, &nowNs, 20*ms), "10: step", "10: step", fmt.Sprintf("20: end of %d", first), fmt.Sprintf("20: end of %d", third))
	if slot, atNs, _ := m.Next(nowNs); slot != second || atNs/ms != 42 {
		t.Errorf("job %d ends at %d ns, want %d at 42 ms", slot, atNs, second)
	}
}

// A request of 3 ms comes to one core three times, 1 ms each time, while a list takes turns of 10 ms. It waits for the end of a turn each
// time. The list has the place meanwhile, and the rest of its demand when the request has ended.
func TestVisitsWaitForEachTurn(t *testing.T) {
	m, nowNs := New(&Capacity{Cores: 1, Turn: 10 * ms}), int64(0)
	list := m.Begin(0, 60*ms)
	tells(t, story(m, &nowNs, 2*ms))
	mouse := m.BeginVisits(nowNs, 3*ms, 3)
	tells(t, story(m, &nowNs, 100*ms), "10: step", "11: step", "21: step", "22: step", "32: step",
		fmt.Sprintf("33: end of %d", mouse), fmt.Sprintf("63: end of %d", list))
	if m.N() != 0 || m.Work.Sum(nowNs) != 63*ms {
		t.Errorf("%d jobs are left, %v ns of demand are served, want none and 63 ms", m.N(), m.Work.Sum(nowNs))
	}
}

// A visit that is longer than a turn has several of them. Two jobs of two visits of 15 ms each give way after 10 ms and after the other 5 ms
// of each visit.
func TestVisitsOfSeveralTurns(t *testing.T) {
	m, nowNs := New(&Capacity{Cores: 1, Turn: 10 * ms}), int64(0)
	first, second := m.BeginVisits(0, 30*ms, 2), m.BeginVisits(0, 30*ms, 2)
	tells(t, story(m, &nowNs, 100*ms), "10: step", "20: step", "25: step", "30: step", "40: step", "50: step",
		fmt.Sprintf("55: end of %d", first), fmt.Sprintf("60: end of %d", second))
}

// A visit follows the one before at once if nobody waits, in a turn of its own. So whoever comes then waits for the end of the visit.
func TestVisitsAlone(t *testing.T) {
	m, nowNs := New(&Capacity{Cores: 1, Turn: 10 * ms}), int64(0)
	alone := m.BeginVisits(0, 28*ms, 4)
	tells(t, story(m, &nowNs, 8*ms), "7: step")
	mouse := m.Begin(nowNs, ms)
	tells(t, story(m, &nowNs, 16*ms), "14: step", fmt.Sprintf("15: end of %d", mouse))
	mouse = m.Begin(nowNs, ms)
	tells(t, story(m, &nowNs, 100*ms), "22: step", fmt.Sprintf("23: end of %d", mouse), fmt.Sprintf("30: end of %d", alone))
}

// What is left of a job that is cancelled is the rest of its visit and all visits after it, whether it has a place or waits. Its place is taken
// at once, and its slot may be that of a job of one visit next.
func TestCancelBetweenVisits(t *testing.T) {
	m, nowNs := New(&Capacity{Cores: 1, Turn: 10 * ms}), int64(0)
	mouse, list := m.BeginVisits(0, 9*ms, 3), m.Begin(0, 30*ms)
	tells(t, story(m, &nowNs, 5*ms), "3: step")
	if left := m.Cancel(nowNs, mouse); left != 6*ms {
		t.Errorf("%v ns are left of a job that waits for the second of its visits, want 6 ms", left)
	}
	mouse = m.BeginVisits(nowNs, 9*ms, 3)
	tells(t, story(m, &nowNs, 14*ms), "13: step")
	if left := m.Cancel(nowNs, mouse); left != 8*ms {
		t.Errorf("%v ns are left of a job in the first of its visits, want 8 ms", left)
	}
	again := m.Begin(nowNs, 9*ms)
	if again != mouse {
		t.Fatalf("the job has the slot %d, want that of the one before, %d", again, mouse)
	}
	tells(t, story(m, &nowNs, 100*ms), "24: step", fmt.Sprintf("33: end of %d", again), fmt.Sprintf("43: end of %d", list))
}

// Without turns, a job of several visits is as one of one visit.
func TestVisitsWithoutTurns(t *testing.T) {
	var want []string
	for _, visits := range []int32{1, 2, 7, 1000} {
		m, nowNs := New(&Capacity{Cores: 2, Contention: 0.1}), int64(0)
		m.BeginVisits(0, 20*ms, visits)
		m.Begin(0, 30*ms)
		cancelled := m.BeginVisits(0, 12*ms, visits)
		told := story(m, &nowNs, 7*ms)
		told = append(told, fmt.Sprint(m.Cancel(nowNs, cancelled), " left"))
		m.BeginVisits(nowNs, 5*ms, visits)
		told = append(told, story(m, &nowNs, 200*ms)...)
		if want == nil {
			want = told
		}
		tells(t, told, want...)
	}
	if len(want) != 4 {
		t.Errorf("got %q, want what is left and three ends", want)
	}
}

// plain is a machine with turns as plainly as possible: it knows what is left of each demand and of each turn.
type plain struct {
	law             Capacity
	factor, cores   float64
	places          int
	placed, waiting []*plainJob
	doneNs          float64
}

type plainJob struct {
	slot           int32
	left, turnLeft float64 // of its visit, of its turn
	part           float64 // of its demand, in each visit
	visits         int32   // after this one
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
	for len(p.waiting) > 0 && len(p.placed) < p.places {
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

// endVisit ends the visit of a job that has others.
func (p *plain) endVisit(j *plainJob) {
	j.visits--
	j.left = j.part
	p.placed = slices.DeleteFunc(p.placed, func(other *plainJob) bool { return other == j })
	p.waiting = append(p.waiting, j)
	p.fill()
}

// The fast machine does what the plain one does, to the nanoseconds by which ends are rounded up; it serves at the rate n·v(n), and no
// place is free while a job waits.
func TestTurnsAgreeWithAPlainMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		law := Capacity{
			Cores:      rapid.SampledFrom([]float64{0.5, 1, 1.2, 1.75, 3, 16}).Draw(t, "cores"),
			Contention: rapid.SampledFrom([]float64{0, 0.03, 1}).Draw(t, "contention"),
			Coherency:  rapid.SampledFrom([]float64{0, 4e-5, 0.1}).Draw(t, "coherency"),
			Turn:       quantity.Duration(rapid.SampledFrom([]int64{1, 1000, 3e7, 1e15}).Draw(t, "turn")),
		}
		fast, slow := New(&law), &plain{law: law, factor: 1, cores: law.Cores, places: Places(law.Cores)}
		nowNs := int64(0)
		pass := func(ns int64) {
			slow.pass(ns)
			nowNs += ns
		}
		// Rounding up may serve each job and turn for a nanosecond too long at the greatest speed: that of 1.2 cores on one place,
		// three times as fast as usual.
		const most = 3*1.2 + 0.01
		for range rapid.IntRange(1, 300).Draw(t, "operations") {
			switch rapid.IntRange(0, 6).Draw(t, "operation") {
			case 0, 1:
				demand := rapid.OneOf(rapid.Int64Range(0, 10), rapid.Int64Range(0, 1e4), rapid.Int64Range(0, 1e9)).Draw(t, "demand")
				visits := rapid.SampledFrom([]int32{1, 1, 2, 5}).Draw(t, "visits")
				part := float64(demand) / float64(visits)
				slow.waiting = append(slow.waiting, &plainJob{slot: fast.BeginVisits(nowNs, demand, visits), left: part, part: part, visits: visits - 1})
				slow.fill()
			case 2, 3, 4: // the next end, or end of a visit or a turn
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
					if j := slow.remove(slot); math.Abs(j.left) > most || j.visits > 0 {
						t.Fatalf("%v ns of the visit and %d visits are left at the end", j.left, j.visits)
					}
					break
				}
				if fast.step == endVisit {
					i := slices.IndexFunc(slow.placed, func(j *plainJob) bool { return j.slot == fast.heap[0].slot })
					j := slow.placed[i]
					if math.Abs(j.left) > most || j.visits == 0 {
						t.Fatalf("%v ns of the visit and %d visits are left at the end of a visit", j.left, j.visits)
					}
					fast.Advance(nowNs)
					slow.endVisit(j)
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
					j := slow.remove(slot)
					if want := max(0, j.left+float64(j.visits)*j.part); math.Abs(left-want) > most {
						t.Fatalf("%v ns are left of a job that is cancelled; want %v", left, want)
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
			for _, j := range slow.waiting {
				if fast.at[j.slot] != waits {
					t.Fatalf("the job %d has a place, and waits", j.slot)
				}
			}
			if n := len(slow.placed) + len(slow.waiting); fast.N() != n || len(fast.heap) != min(n, slow.places) {
				t.Fatalf("%d jobs, of which %d are on places; want %d", fast.N(), len(fast.heap), n)
			}
		}
		if got := fast.Work.Sum(nowNs); math.Abs(got-slow.doneNs) > 1e-9*slow.doneNs+1e-6 {
			t.Fatalf("%v ns of demands are served; the integral of the throughput is %v", slow.doneNs, got)
		}
	})
}

// Whatever the turn and the visits, the machine is busy at the same times, and has served as much of the same demands at each of them.
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
			m.BeginVisits(nowNs, int64(source.ExpFloat64()*5*ms), 1+source.Int32N(4))
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
		m.BeginVisits(nowNs, (1+n%50)*ms, 1+int32(n%4))
	}
	for range 1000 {
		next()
	}
	if allocations := testing.AllocsPerRun(10_000, next); allocations != 0 || n < 300 {
		t.Errorf("%v allocations an event after %d ends, want none", allocations, n)
	}
}

// BenchmarkTurns has n jobs at a time on four places: each operation is the end of a turn or a visit, or an end and a beginning.
func BenchmarkTurns(b *testing.B) {
	for _, visits := range []int32{1, 4} {
		for _, n := range []int64{10, 1000} {
			b.Run(fmt.Sprintf("visits=%d/n=%d", visits, n), func(b *testing.B) {
				m, nowNs := New(&Capacity{Cores: 4, Turn: ms}), int64(0)
				for i := range n {
					m.BeginVisits(0, (1+i%50)*ms, visits)
				}
				b.ReportAllocs()
				for i := int64(0); b.Loop(); i++ {
					slot, atNs, _ := m.Next(nowNs)
					if nowNs = atNs; slot == Step {
						m.Advance(nowNs)
						continue
					}
					m.End(nowNs, slot)
					m.BeginVisits(nowNs, (1+i%50)*ms, visits)
				}
			})
		}
	}
}
