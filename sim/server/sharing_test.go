package server

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"apfsim/sim/machine"
	"apfsim/sim/random"

	"pgregory.net/rapid"
)

func demanding(demandNs int64) *Request {
	return &Request{Sent: Sent{ExecutionNs: demandNs}, Details: &Details{}}
}

// By hand: σ = 0.1, κ = 0.01, 4 cores. One request alone has speed 1. Of two, each has 1/(1 + 0.1 + 0.02);
// of eight on four cores, each 4/8 · 1/(1 + 0.7 + 0.56). At factor 0.5 it is half of that, and with two cores
// busy also a half.
func TestSpeed(t *testing.T) {
	s := newSharing(&machine.Capacity{Cores: 4, Contention: 0.1, Coherency: 0.01, MinimumCores: 1}, 0)
	expect := func(want float64) {
		t.Helper()
		if got := s.Speed(); math.Abs(got-want) > 1e-15 {
			t.Errorf("with %d requests, the speed is %v, want %v", s.N(), got, want)
		}
	}
	expect(1)
	for range 2 {
		s.Begin(0, demanding(1))
	}
	expect(1 / 1.12)
	for range 6 {
		s.Begin(0, demanding(1))
	}
	expect(0.5 / 2.26)
	s.SetSpeed(0, 0.5)
	expect(0.25 / 2.26)
	s.SetBusy(0, 2)
	expect(0.125 / 2.26)
	s.SetBusy(0, 4) // one core is left
	expect(0.0625 / 2.26)
	s.SetBusy(0, 0)
	expect(0.25 / 2.26)
}

// model is the same machine as plainly as possible: it knows what is left of each demand.
type model struct {
	law           machine.Capacity
	factor, cores float64
	jobs          []*modelJob
	doneNs        float64 // of all demands
}

type modelJob struct {
	r     *Request
	order int
	left  float64 // ns
}

func (m *model) speed() float64 {
	n := float64(len(m.jobs))
	return m.factor * min(1, m.cores/n) / (1 + m.law.Contention*(n-1) + m.law.Coherency*n*(n-1))
}

func (m *model) advance(ns int64) {
	if len(m.jobs) == 0 {
		return
	}
	v := m.speed()
	for _, j := range m.jobs {
		j.left -= v * float64(ns)
		m.doneNs += v * float64(ns)
	}
}

func (m *model) remove(r *Request) *modelJob {
	i := slices.IndexFunc(m.jobs, func(j *modelJob) bool { return j.r == r })
	j := m.jobs[i]
	m.jobs = slices.Delete(m.jobs, i, i+1)
	return j
}

// The fast machine does what the plain one does: requests end in the same order at the same times, to the
// nanosecond by which an end is rounded up. And what is done of all demands is the integral of the
// throughput n·v(n) over time.
func TestSharingAgreesWithAPlainMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		law := machine.Capacity{
			Cores:      rapid.SampledFrom([]float64{0, 0.5, 1, 3, 16}).Draw(t, "cores"),
			Contention: rapid.SampledFrom([]float64{0, 0.03, 1}).Draw(t, "contention"),
			Coherency:  rapid.SampledFrom([]float64{0, 4e-5, 0.1}).Draw(t, "coherency"),
		}
		fast, slow := newSharing(&law, 0), &model{law: law, factor: 1, cores: law.Cores}
		if law.Cores == 0 {
			slow.cores = math.Inf(1)
		}
		nowNs, integral, order := int64(0), 0.0, 0
		pass := func(ns int64) {
			if fast.N() > 0 {
				integral += float64(fast.N()) * fast.Speed() * float64(ns)
			}
			slow.advance(ns)
			nowNs += ns
		}
		for range rapid.IntRange(1, 200).Draw(t, "operations") {
			switch rapid.IntRange(0, 6).Draw(t, "operation") {
			case 0, 1, 2:
				demand := rapid.OneOf(rapid.Int64Range(0, 10), rapid.Int64Range(0, 1e9)).Draw(t, "demand")
				r := demanding(demand)
				fast.Begin(nowNs, r)
				slow.jobs = append(slow.jobs, &modelJob{r, order, float64(demand)})
				order++
			case 3, 4: // the next end
				r, atNs, _ := fast.Next(nowNs)
				if r == nil {
					if len(slow.jobs) > 0 {
						t.Fatal("no end although there are requests")
					}
					continue
				}
				first := slices.MinFunc(slow.jobs, func(a, b *modelJob) int {
					return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.order, b.order))
				})
				wantNs := nowNs + int64(math.Ceil(max(0, first.left)/slow.speed()))
				if tolerance := 2 + int64(1e-9*float64(wantNs-nowNs)); atNs < wantNs-tolerance || atNs > wantNs+tolerance {
					t.Fatalf("at %d ns, the next end is at %d ns; want %d ns", nowNs, atNs, wantNs)
				}
				pass(atNs - nowNs)
				fast.End(nowNs, r)
				if j := slow.remove(r); j.left > first.left+1e-3 {
					t.Fatalf("a request ends of which %v ns are left; there is one with %v ns", j.left, first.left)
				} else if j.left > 1e-3 || j.left < -3.001 { // a nanosecond at the greatest speed
					t.Fatalf("%v ns of the demand are left at the end; want between -3 and 0", j.left)
				}
			case 5:
				if len(slow.jobs) > 0 {
					r := slow.jobs[rapid.IntRange(0, len(slow.jobs)-1).Draw(t, "cancelled")].r
					fast.Cancel(nowNs, r)
					slow.remove(r)
				}
			case 6:
				if _, atNs, _ := fast.Next(nowNs); atNs > nowNs {
					pass(rapid.Int64Range(0, atNs-nowNs).Draw(t, "time"))
				}
				if rapid.Bool().Draw(t, "busy") && law.Cores > 0 {
					busy := rapid.Float64Range(0, 20).Draw(t, "cores")
					fast.SetBusy(nowNs, busy)
					slow.cores = max(law.Cores/10, law.Cores-busy)
				} else {
					slow.factor = rapid.SampledFrom([]float64{0.1, 0.4, 1, 3}).Draw(t, "factor")
					fast.SetSpeed(nowNs, slow.factor)
				}
			}
			if fast.N() != len(slow.jobs) {
				t.Fatalf("%d requests are served, want %d", fast.N(), len(slow.jobs))
			}
		}
		if math.Abs(integral-slow.doneNs) > 1e-9*slow.doneNs+1e-6 {
			t.Fatalf("%v ns of demands are done; the integral of the throughput is %v", slow.doneNs, integral)
		}
	})
}

// Equal demands that begin together end in the order in which they began, also after others were
// cancelled; and what is done after the end of the last is not carried over.
func TestTiesEndInOrder(t *testing.T) {
	s := newSharing(&machine.Capacity{Cores: 1}, 0)
	var all []*Request
	for range 20 {
		all = append(all, demanding(1000))
		s.Begin(5, all[len(all)-1])
	}
	for i := 0; i < 20; i += 3 {
		s.Cancel(5, all[i])
	}
	for i := range all {
		if i%3 == 0 {
			continue
		}
		r, atNs, _ := s.Next(5)
		if r != all[i] || i == 1 && atNs != 5+13*1000 {
			t.Fatalf("request %d does not end at its turn, but another at %d ns", i, atNs)
		}
		s.End(atNs, r)
	}
	late := demanding(7)
	s.Begin(1_000_000, late)
	if r, atNs, _ := s.Next(1_000_000); r != late || atNs != 1_000_007 {
		t.Errorf("a request of 7 ns alone ends at %d ns", atNs)
	}
}

// Without a limit to anything, ends are exact: what is served is a whole number of nanoseconds.
func TestUnboundedCapacityIsExact(t *testing.T) {
	s := newSharing(&machine.Capacity{}, 0)
	source := rand.New(rand.NewPCG(1, 2))
	ends := map[*Request]int64{}
	nowNs := int64(0)
	for i := range 100_000 {
		if r, atNs, _ := s.Next(nowNs); i%2 == 1 && r != nil {
			nowNs = atNs
			if ends[r] != nowNs {
				t.Fatalf("ends at %d ns; want %d ns", nowNs, ends[r])
			}
			s.End(nowNs, r)
			continue
		}
		r := demanding(source.Int64N(1e12))
		ends[r] = nowNs + r.ExecutionNs
		s.Begin(nowNs, r)
	}
}

// BenchmarkSharing has n requests at a time: each operation is an end and a begin.
func BenchmarkSharing(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			s := newSharing(&machine.Capacity{Cores: 96, Contention: 0.035741}, 0)
			exponential, err := random.NewExponential(8_000_000)
			if err != nil {
				b.Fatal(err)
			}
			source := rand.New(rand.NewPCG(1, 2))
			for range n {
				s.Begin(0, demanding(exponential.Sample(source)))
			}
			nowNs := int64(0)
			b.ReportAllocs()
			for b.Loop() {
				r, atNs, _ := s.Next(nowNs)
				nowNs = atNs
				s.End(atNs, r)
				r.ExecutionNs = exponential.Sample(source)
				s.Begin(atNs, r)
			}
		})
	}
}
