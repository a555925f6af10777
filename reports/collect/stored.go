package collect

import (
	"cmp"
	"slices"

	"apfsim/reports/result"
	"apfsim/sim/api"
	"apfsim/sim/metric"
	"apfsim/sim/registry"
	"apfsim/sim/server"
	"apfsim/sim/watchcache"
)

// addStored adds the statistics of the store's clients at the servers.
func (c *Collector) addStored(s *result.Summary, h *server.Handlers) {
	var all []int
	kinds := map[registry.Work]*result.RequestKind{}
	var order []registry.Work
	for i := range c.servers {
		s.Servers[i].Stored = storedBy(h, i)
		all = append(all, i)
		for _, w := range h.Work(i) {
			key := registry.Work{Verb: w.Verb, Resource: w.Resource, Class: w.Class, Selects: w.Selects}
			if kinds[key] == nil {
				kinds[key] = &result.RequestKind{Verb: w.Verb, Resource: nameOf(w.Resource), Options: optionsOf(w)}
				order = append(order, key)
			}
			add(kinds[key], w)
		}
	}
	s.Total.Stored = storedBy(h, all...)
	for _, key := range order {
		if k := kinds[key]; k.Requests > 0 {
			s.RequestKinds = append(s.RequestKinds, *k)
		}
	}
	slices.SortStableFunc(s.RequestKinds, func(a, b result.RequestKind) int { return cmp.Compare(b.SeatSeconds, a.SeatSeconds) })
}

// storedBy returns the statistics of the store's clients at some servers.
func storedBy(h *server.Handlers, servers ...int) *result.Stored {
	var sum result.Stored
	var sent server.WatchTraffic
	var caches watchcache.Counters
	values := &sum.Values
	for _, i := range servers {
		traffic, counters := h.Sent(i), h.Counters(i)
		sent.Add(&traffic)
		caches.Add(&counters)
		for _, w := range h.Work(i) {
			values[metric.EtcdCalls] += w.Gets + w.Txns + w.Ranges + w.Grants
			values[metric.BytesSent] += w.Bytes
		}
		for resource, n := range h.SlowWatchers(i) {
			sum.SlowWatchersOf = addCount(sum.SlowWatchersOf, nameOf(resource), n)
		}
	}
	if sent.Received > 0 {
		values[metric.StalenessMean] = sent.DelaySumNs / sent.Received
	}
	values[metric.StalenessMax] = sent.DelayMaxNs
	values[metric.WatchEvents] = sent.Events
	values[metric.BytesSent] += sent.Bytes
	values[metric.InitialEvents] = caches.InitialEvents
	values[metric.SlowWatchers] = caches.TerminatedAsSlow
	values[metric.FreshnessWaits] = caches.Waits
	return &sum
}

func add(k *result.RequestKind, w *registry.Work) {
	k.Requests += w.Requests
	k.SeatSeconds += float64(w.EstimatedSeatNs) / 1e9
	k.MaxSeats = max(k.MaxSeats, int(w.MaxSeats))
	k.ProcessorSeconds += float64(w.CPUNs) / 1e9
	k.EtcdCalls += w.Gets + w.Txns + w.Ranges + w.Grants
	k.ObjectsWalked += w.Walked + w.Fetched
	k.ObjectsReturned += w.Returned + w.Initial
	k.Bytes += w.Bytes
}

// addCount adds n to the count of a resource.
func addCount(all []result.ResourceCount, resource string, n int64) []result.ResourceCount {
	for i := range all {
		if all[i].Resource == resource {
			all[i].Count += n
			return all
		}
	}
	return append(all, result.ResourceCount{Resource: resource, Count: n})
}

// nameOf returns the name of a resource with its group.
func nameOf(r api.Resource) string {
	if r.Group == "" {
		return r.Name
	}
	return r.Name + "." + r.Group
}

// optionsOf says in words what the options of requests of a kind ask for.
func optionsOf(w *registry.Work) string {
	text := w.Class.String()
	if !w.Selects {
		return text
	}
	if text != "" {
		text += ", "
	}
	return text + "selector"
}
