// Package capacity is how fast a simulated server executes what it has dispatched: all requests whose
// demand is being served share its speed.
package capacity

import (
	"math"

	"apfsim/sim/random"
	"apfsim/sim/scenario/cluster"
	"apfsim/sim/server"
)

// Sharing is a machine that serves n requests at a time, each with the speed of cluster.Capacity
//
//	v(n) = s · min(1, c/n) / (1 + σ·(n-1) + κ·n·(n-1))
//
// which is egalitarian processor sharing with a speed that depends on the state (Kelly, "Reversibility
// and Stochastic Networks", 1979, section 3.3). With σ = κ = 0 it is a machine of c cores, and with no
// bound on c besides, executions take as long as without a capacity, if s is 1.
//
// All requests progress alike. So it is enough to know the service V that a request has got that is
// there since the machine was last idle: a request that begins when V is V0 ends when V is V0 + demand.
// Invariant: served is V at lastNs, and was reset to 0 when there were no requests.
type Sharing struct {
	law       cluster.Capacity
	factor    float64 // s
	cores     float64 // what is left of c, +Inf if there is no bound
	leastLeft float64 // of c

	speed  float64 // v(n) of the present n
	served float64 // in ns of demand
	lastNs int64
	order  uint64 // of the next request to begin

	heap  []job // a binary heap, the job that ends first at index 0
	at    []int32
	owner []*server.Request
	free  []int32 // slots of at and owner that are not used
}

// job is a request that is served. It ends when V is end; of equal ends, the job that began first ends
// first.
type job struct {
	end   float64
	order uint64
	slot  int32 // of its owner, and of its index in the heap
}

func (j *job) before(other *job) bool {
	return j.end < other.end || j.end == other.end && j.order < other.order
}

// New returns an idle machine of speed 1. What cluster.Capacity says of the speed over time and of watch
// events is the server's to tell it, by SetSpeed and SetBusy.
func New(law *cluster.Capacity) *Sharing {
	s := &Sharing{law: *law, factor: 1, cores: law.Cores, leastLeft: law.MinimumCores}
	if law.Cores == 0 {
		s.cores = math.Inf(1)
	}
	if s.leastLeft == 0 {
		s.leastLeft = law.Cores / 10
	}
	return s
}

// Throughput returns how much demand n requests at a time are served per unit of time, on an undisturbed
// machine of speed 1: n·v(n). It is the oracle of a closed loop: n clients that do not think have a
// throughput of n·v(n) divided by the mean demand.
func Throughput(law *cluster.Capacity, n int) float64 {
	s := New(law)
	return float64(n) * s.speedOf(float64(n))
}

func (s *Sharing) speedOf(n float64) float64 {
	return s.factor * min(1, s.cores/n) / (1 + s.law.Contention*(n-1) + s.law.Coherency*n*(n-1))
}

// N returns how many requests are being served.
func (s *Sharing) N() int { return len(s.heap) }

// Speed returns the speed v(n) at which each of them progresses, or at which one would if there is none.
func (s *Sharing) Speed() float64 { return s.speedOf(float64(max(1, len(s.heap)))) }

// advance brings V up to date. It must come before every change of what the speed depends on.
func (s *Sharing) advance(nowNs int64) {
	if len(s.heap) == 0 {
		s.served = 0
	} else {
		s.served += float64(nowNs-s.lastNs) * s.speed
	}
	s.lastNs = nowNs
}

// changed works the speed out again.
func (s *Sharing) changed() { s.speed = s.Speed() }

// Begin implements server.Capacity. The demand is Request.ExecutionNs.
func (s *Sharing) Begin(nowNs int64, r *server.Request) {
	s.advance(nowNs)
	slot := int32(len(s.at))
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
	} else {
		s.at, s.owner = append(s.at, 0), append(s.owner, nil)
	}
	s.owner[slot], r.Details.Place = r, slot
	s.heap = append(s.heap, job{})
	s.up(len(s.heap)-1, job{s.served + float64(r.ExecutionNs), s.order, slot})
	s.order++
	s.changed()
}

// Next implements server.Capacity.
func (s *Sharing) Next(nowNs int64) (r *server.Request, atNs int64) {
	if len(s.heap) == 0 {
		return nil, 0
	}
	s.advance(nowNs)
	first := &s.heap[0]
	leftNs := min(math.Ceil((first.end-s.served)/s.speed), random.LongestNs)
	return s.owner[first.slot], nowNs + max(0, int64(leftNs))
}

// End implements server.Capacity. As time is in whole nanoseconds, r has been served for less than one too
// long, which is not taken from the others.
func (s *Sharing) End(nowNs int64, r *server.Request) {
	s.advance(nowNs)
	s.served = max(s.served, s.heap[0].end) // rounding may have left a little
	s.remove(r)
}

// Cancel implements server.Capacity.
func (s *Sharing) Cancel(nowNs int64, r *server.Request) {
	s.advance(nowNs)
	s.remove(r)
}

// remove takes a request out of the heap.
func (s *Sharing) remove(r *server.Request) {
	slot := r.Details.Place
	i, last := int(s.at[slot]), len(s.heap)-1
	moved := s.heap[last]
	s.heap = s.heap[:last]
	s.owner[slot] = nil
	s.free = append(s.free, slot)
	if i < last {
		if i > 0 && moved.before(&s.heap[(i-1)/2]) {
			s.up(i, moved)
		} else {
			s.down(i, moved)
		}
	}
	s.changed()
}

// SetSpeed implements server.Capacity.
func (s *Sharing) SetSpeed(nowNs int64, factor float64) {
	s.advance(nowNs)
	s.factor = factor
	s.changed()
}

// SetBusy implements server.Capacity.
func (s *Sharing) SetBusy(nowNs int64, cores float64) {
	if s.law.Cores == 0 {
		return
	}
	s.advance(nowNs)
	s.cores = max(s.leastLeft, s.law.Cores-cores)
	s.changed()
}

// up puts a job at index i or above, and down at i or below.
func (s *Sharing) up(i int, j job) {
	for i > 0 {
		parent := (i - 1) / 2
		if !j.before(&s.heap[parent]) {
			break
		}
		s.put(i, s.heap[parent])
		i = parent
	}
	s.put(i, j)
}

func (s *Sharing) down(i int, j job) {
	for {
		child := 2*i + 1
		if child >= len(s.heap) {
			break
		}
		if child+1 < len(s.heap) && s.heap[child+1].before(&s.heap[child]) {
			child++
		}
		if !s.heap[child].before(&j) {
			break
		}
		s.put(i, s.heap[child])
		i = child
	}
	s.put(i, j)
}

func (s *Sharing) put(i int, j job) {
	s.heap[i] = j
	s.at[j.slot] = int32(i)
}
