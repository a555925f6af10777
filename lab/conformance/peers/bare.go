package main

import (
	"math/rand/v2"

	"apfsim/sim/clock"
)

// event is the arrival of a client's next request, or the end of a request's service.
type event struct {
	atNs  int64
	seq   uint64
	kind  kind
	index int32 // of the client for an arrival, of the request's slot for a finish
}

type kind uint8

const (
	arrival kind = iota
	finish
)

func (e *event) before(other *event) bool {
	return e.atNs < other.atNs || e.atNs == other.atNs && e.seq < other.seq
}

// eventHeap is a binary heap of events in the order of their time, then in the order in which they
// were pushed.
type eventHeap struct {
	heap []event
	seq  uint64
}

func (q *eventHeap) push(atNs int64, k kind, index int32) {
	q.seq++
	e := event{atNs, q.seq, k, index}
	q.heap = append(q.heap, e)
	h, i := q.heap, len(q.heap)-1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
}

func (q *eventHeap) pop() event {
	first, last := q.heap[0], len(q.heap)-1
	e := q.heap[last]
	h := q.heap[:last]
	q.heap = h
	if last == 0 {
		return first
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= last {
			break
		}
		if right := child + 1; right < last && h[right].before(&h[child]) {
			child = right
		}
		if !h[child].before(&e) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = e
	return first
}

// client sends the requests of one flow.
type client struct {
	arrivals, services *rand.Rand
	gapNs              float64 // mean time between requests; in a closed loop, mean think time
	serviceNs          float64 // mean service time
	hash               uint64  // of the flow
}

func (c *client) gap() int64     { return int64(c.arrivals.ExpFloat64() * c.gapNs) }
func (c *client) service() int64 { return int64(c.services.ExpFloat64() * c.serviceNs) }

// newClients returns the clients of a load. Each has its own random streams.
func newClients(l load) []client {
	var clients []client
	for _, g := range l.groups {
		for range g.clients {
			i := uint64(len(clients))
			clients = append(clients, client{
				arrivals:  rand.New(rand.NewPCG(l.seed, 3*i)),
				services:  rand.New(rand.NewPCG(l.seed, 3*i+1)),
				gapNs:     g.gapNs,
				serviceNs: g.serviceNs,
				hash:      rand.NewPCG(l.seed, 3*i+2).Uint64(),
			})
		}
	}
	return clients
}

// events is the event queue of the loop: a heap, or the clock of apfsim.
type events interface {
	push(atNs int64, k kind, index int32)
	pop() event
}

// wheel adapts the event queue of apfsim, a timing wheel.
type wheel struct{ clock.Queue[pending] }

type pending struct {
	kind  kind
	index int32
}

func (w *wheel) push(atNs int64, k kind, index int32) { w.Schedule(atNs, uint8(k), pending{k, index}) }

func (w *wheel) pop() event {
	e, _ := w.Next()
	return event{atNs: w.NowNs(), kind: e.kind, index: e.index}
}

func bare(l load, requests int) measurement        { return serveAtOnce(l, requests, &eventHeap{}) }
func bareByClock(l load, requests int) measurement { return serveAtOnce(l, requests, &wheel{}) }

// serveAtOnce simulates a server that serves every request as soon as it arrives. Its time is a
// lower bound for every simulation with the same events. It ends when the last of the given number
// of requests arrives.
func serveAtOnce(l load, requests int, q events) (m measurement) {
	clients := newClients(l)
	for i := range clients {
		q.push(clients[i].gap(), arrival, int32(i))
	}
	var owners []int32 // by slot: the client of the request in it
	var free []int32   // slots without a request
	for m.Arrived < requests {
		e := q.pop()
		m.SimulatedNs = e.atNs
		switch e.kind {
		case arrival:
			m.Arrived++
			c := &clients[e.index]
			if !l.closed {
				q.push(e.atNs+c.gap(), arrival, e.index)
			}
			var slot int32
			if n := len(free); n > 0 {
				slot, free = free[n-1], free[:n-1]
			} else {
				slot = int32(len(owners))
				owners = append(owners, 0)
			}
			owners[slot] = e.index
			q.push(e.atNs+c.service(), finish, slot)
		case finish:
			m.Completed++
			free = append(free, e.index)
			if l.closed {
				i := owners[e.index]
				q.push(e.atNs+clients[i].gap(), arrival, i)
			}
		}
	}
	m.Executing = m.Arrived - m.Completed
	return m
}
