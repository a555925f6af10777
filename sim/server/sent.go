package server

import (
	"iter"

	"apfsim/sim/api"
	"apfsim/sim/registry"
	"apfsim/sim/watchcache"
)

// WatchTraffic counts the events that a server has sent to watches within the window, without
// initial events.
type WatchTraffic struct {
	Events, Bytes int64
	// Received are the events that have reached the watch caches, and Delay how long after their commits.
	Received, DelaySumNs, DelayMaxNs int64
}

// record counts an event and the number of watchers to which it was sent.
func (s *WatchTraffic) record(nowNs int64, e *api.Event, watchers int) {
	s.Events += int64(watchers)
	if e.Object == nil {
		return
	}
	s.Bytes += int64(watchers) * e.Object.Bytes
	s.Received++
	s.DelaySumNs += nowNs - e.AtNs
	s.DelayMaxNs = max(s.DelayMaxNs, nowNs-e.AtNs)
}

// Add adds what was sent at another time, or by another server.
func (s *WatchTraffic) Add(other *WatchTraffic) {
	s.Events += other.Events
	s.Bytes += other.Bytes
	s.Received += other.Received
	s.DelaySumNs += other.DelaySumNs
	s.DelayMaxNs = max(s.DelayMaxNs, other.DelayMaxNs)
}

// SentSoFar returns what a server has sent to watches since the start of the run.
func (h *Handlers) SentSoFar(server int) WatchTraffic {
	host := h.hosts[server]
	all := host.before
	all.Add(&host.sent)
	return all
}

// windowBegins forgets what was counted before the window.
type windowBegins Handlers

// Ring implements clock.Alarm.
func (h *windowBegins) Ring(int64) {
	for _, host := range h.hosts {
		host.before, host.sent = host.sent, WatchTraffic{}
		host.ended = nil
		for _, r := range host.registries() {
			r.Reset()
		}
	}
}

// Work returns what the requests at a server were estimated and have caused, by kind.
func (h *Handlers) Work(server int) []*registry.Work { return h.hosts[server].registry.Work() }

// SlowWatchers returns how many watches of each resource a server has closed as slow. A resource may come twice.
func (h *Handlers) SlowWatchers(server int) iter.Seq2[api.Resource, int64] {
	return func(yield func(api.Resource, int64) bool) {
		for _, r := range h.hosts[server].registries() {
			for resource, n := range r.SlowWatchers() {
				if !yield(resource, n) {
					return
				}
			}
		}
	}
}

// Counters returns what the watch caches of a server have counted.
func (h *Handlers) Counters(server int) (sum watchcache.Counters) {
	for _, r := range h.hosts[server].registries() {
		c := r.Counters()
		sum.Add(&c)
	}
	return sum
}
