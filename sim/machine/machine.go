// Package machine simulates a machine that works on several jobs at a time, which share its speed (processor
// sharing). A server gives it the requests that it executes, and a store its transactions; each asks for the job that
// ends next, and schedules that end.
package machine

import (
	"math"

	"apfsim/sim/random"
)

// Machine works on n jobs at a time, each with the speed of Capacity
//
//	v(n) = s · min(1, c/n) / (1 + σ·(n-1) + κ·n·(n-1))
//
// which is egalitarian processor sharing with a speed that depends on the state (Kelly, "Reversibility
// and Stochastic Networks", 1979, section 3.3). With σ = κ = 0 it is a machine of c cores, and with no
// bound on c besides, a job takes as long as its demand, if s is 1.
//
// All jobs progress alike. So it is enough to know the service V that a job has got that is there since the
// machine was last idle: a job that begins when V is V0 ends when V is V0 + demand.
// Invariant: served is V at lastNs, and was reset to 0 when there were no jobs.
//
// Only the job that ends first has an end, which Next returns and every other method may move. Jobs are known
// by slots, small numbers that are used again when a job is over.
type Machine struct {
	law       Capacity
	factor    float64 // s
	cores     float64 // what is left of c, +Inf if there is no bound
	leastLeft float64 // of c

	speed  float64 // v(n) of the present n
	served float64 // in ns of demand
	lastNs int64
	order  uint64 // of the next job to begin

	// Work is the demand that all jobs together have been served.
	Work Meter

	heap []job   // a binary heap, the job that ends first at index 0
	at   []int32 // the index in the heap of the job of each slot
	free []int32 // slots that are not used
}

// job is what the machine works on. It ends when V is end; of equal ends, the job that began first ends
// first.
type job struct {
	end   float64
	order uint64
	slot  int32
}

func (j *job) before(other *job) bool {
	return j.end < other.end || j.end == other.end && j.order < other.order
}

// New returns an idle machine of speed 1. What Capacity says of the speed over time and of watch
// events is its owner's to tell it, by SetSpeed and SetBusy.
func New(law *Capacity) *Machine {
	m := &Machine{law: *law, factor: 1, cores: law.Cores, leastLeft: law.MinimumCores}
	if law.Cores == 0 {
		m.cores = math.Inf(1)
	}
	if m.leastLeft == 0 {
		m.leastLeft = law.Cores / 10
	}
	return m
}

// Throughput returns the demand that n concurrent jobs are served per unit of time, n·v(n), at the present speed factor
// and number of busy cores.
func (m *Machine) Throughput(n int) float64 { return float64(n) * m.speedOf(float64(n)) }

func (m *Machine) speedOf(n float64) float64 {
	return m.factor * min(1, m.cores/n) / (1 + m.law.Contention*(n-1) + m.law.Coherency*n*(n-1))
}

// N returns the number of jobs in service.
func (m *Machine) N() int { return len(m.heap) }

// Speed returns the speed v(n) at which each request progresses; without requests, that of a single one.
func (m *Machine) Speed() float64 { return m.speedOf(float64(max(1, m.N()))) }

// Factor returns the speed s of the machine itself.
func (m *Machine) Factor() float64 { return m.factor }

// advance brings V up to date. It must come before every change of what the speed depends on.
func (m *Machine) advance(nowNs int64) {
	if len(m.heap) == 0 {
		m.served = 0
	} else {
		m.served += float64(nowNs-m.lastNs) * m.speed
	}
	m.lastNs = nowNs
}

// changed recomputes the speed. It must follow advance.
func (m *Machine) changed() {
	m.speed = m.Speed()
	m.Work.Set(m.lastNs, float64(m.N())*m.speed)
}

// Begin begins a job, which would take demandNs alone on an idle machine of speed 1, and returns its slot.
func (m *Machine) Begin(nowNs, demandNs int64) (slot int32) {
	m.advance(nowNs)
	slot = int32(len(m.at))
	if n := len(m.free); n > 0 {
		slot, m.free = m.free[n-1], m.free[:n-1]
	} else {
		m.at = append(m.at, 0)
	}
	m.heap = append(m.heap, job{})
	m.up(len(m.heap)-1, job{m.served + float64(demandNs), m.order, slot})
	m.order++
	m.changed()
	return slot
}

// Next returns the job that ends first if nothing happens before, and when that is, now or later; ok is false
// if there is no job.
func (m *Machine) Next(nowNs int64) (slot int32, atNs int64, ok bool) {
	if len(m.heap) == 0 {
		return 0, 0, false
	}
	m.advance(nowNs)
	first := &m.heap[0]
	leftNs := min(math.Ceil((first.end-m.served)/m.speed), random.LongestNs)
	return first.slot, nowNs + max(0, int64(leftNs)), true
}

// End ends the job that Next has returned, at the time that it has returned. As time is in whole nanoseconds,
// the job has been served for less than one too long, which is not taken from the others.
func (m *Machine) End(nowNs int64, slot int32) {
	m.advance(nowNs)
	m.served = max(m.served, m.heap[0].end) // rounding may have left a little
	m.remove(slot)
}

// Cancel ends a job before it is done, and returns how much of its demand is left, in ns.
func (m *Machine) Cancel(nowNs int64, slot int32) (left float64) {
	m.advance(nowNs)
	left = m.heap[m.at[slot]].end - m.served
	m.remove(slot)
	return max(0, left)
}

// remove takes a job out of the machine.
func (m *Machine) remove(slot int32) {
	m.free = append(m.free, slot)
	i, last := int(m.at[slot]), len(m.heap)-1
	moved := m.heap[last]
	m.heap = m.heap[:last]
	if i < last {
		if i > 0 && moved.before(&m.heap[(i-1)/2]) {
			m.up(i, moved)
		} else {
			m.down(i, moved)
		}
	}
	m.changed()
}

// SetSpeed multiplies the speed by a factor from now on, in place of the one before.
func (m *Machine) SetSpeed(nowNs int64, factor float64) {
	m.advance(nowNs)
	m.factor = factor
	m.changed()
}

// SetBusy says how many cores do something else than these jobs.
func (m *Machine) SetBusy(nowNs int64, cores float64) {
	if m.law.Cores == 0 {
		return
	}
	m.advance(nowNs)
	m.cores = max(m.leastLeft, m.law.Cores-cores)
	m.changed()
}

// up puts a job at index i or above, and down at i or below.
func (m *Machine) up(i int, j job) {
	for i > 0 {
		parent := (i - 1) / 2
		if !j.before(&m.heap[parent]) {
			break
		}
		m.put(i, m.heap[parent])
		i = parent
	}
	m.put(i, j)
}

func (m *Machine) down(i int, j job) {
	for {
		child := 2*i + 1
		if child >= len(m.heap) {
			break
		}
		if child+1 < len(m.heap) && m.heap[child+1].before(&m.heap[child]) {
			child++
		}
		if !m.heap[child].before(&j) {
			break
		}
		m.put(i, m.heap[child])
		i = child
	}
	m.put(i, j)
}

func (m *Machine) put(i int, j job) {
	m.heap[i] = j
	m.at[j.slot] = int32(i)
}
