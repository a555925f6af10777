package collect

import (
	"cmp"
	"slices"

	"apfsim/reports/result"
	"apfsim/sim/api"
	"apfsim/sim/registry"
	"apfsim/sim/server"
)

// addStored adds what the servers have done for the clients of the store.
func (c *Collector) addStored(s *result.Summary, h *server.Handlers) {
	total, delayNs, received := &result.Stored{}, int64(0), int64(0)
	kinds := map[registry.Work]*result.RequestKind{}
	var order []registry.Work
	for i := range c.servers {
		own, sent, caches := &result.Stored{}, h.Sent(i), h.Counters(i)
		own.WatchEvents, own.BytesSent = sent.Events, sent.Bytes
		own.StalenessMaxNs = sent.DelayMaxNs
		if sent.Received > 0 {
			own.StalenessMeanNs = sent.DelaySumNs / sent.Received
		}
		own.SlowWatchers, own.InitialEvents, own.FreshnessWaits = caches.TerminatedAsSlow, caches.InitialEvents, caches.Waits
		for _, w := range h.Work(i) {
			own.EtcdCalls += w.Gets + w.Txns + w.Ranges + w.Grants
			own.BytesSent += w.Bytes
			key := registry.Work{Verb: w.Verb, Resource: w.Resource, Class: w.Class, Selects: w.Selects}
			if kinds[key] == nil {
				kinds[key] = &result.RequestKind{Verb: w.Verb, Resource: nameOf(w.Resource), Options: optionsOf(w)}
				order = append(order, key)
			}
			add(kinds[key], w)
		}
		for resource, n := range h.SlowWatchers(i) {
			own.SlowWatchersOf = addCount(own.SlowWatchersOf, nameOf(resource), n)
			total.SlowWatchersOf = addCount(total.SlowWatchersOf, nameOf(resource), n)
		}
		s.Servers[i].Stored = own
		total.WatchEvents += own.WatchEvents
		total.BytesSent += own.BytesSent
		total.SlowWatchers += own.SlowWatchers
		total.InitialEvents += own.InitialEvents
		total.FreshnessWaits += own.FreshnessWaits
		total.EtcdCalls += own.EtcdCalls
		total.StalenessMaxNs = max(total.StalenessMaxNs, own.StalenessMaxNs)
		delayNs, received = delayNs+sent.DelaySumNs, received+sent.Received
	}
	if received > 0 {
		total.StalenessMeanNs = delayNs / received
	}
	s.Total.Stored = total
	for _, key := range order {
		if k := kinds[key]; k.Requests > 0 {
			s.RequestKinds = append(s.RequestKinds, *k)
		}
	}
	slices.SortStableFunc(s.RequestKinds, func(a, b result.RequestKind) int { return cmp.Compare(b.SeatSeconds, a.SeatSeconds) })
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
