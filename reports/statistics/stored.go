package statistics

import (
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// clientStatistics are those of what happens to clients that behave.
func clientStatistics() (all []definition) {
	for _, name := range []string{"relists", "listTime", "expired", "watchEnds", "watchFailures", "eventDelay", "conflicts", "writeTime", "writeTries",
		"lostWrites", "overwritten", "leaderLost", "leaderless", "notReady", "nodesNotReady", "podSeen", "droppedEvents", "reconcileTime", "reconcileFailures"} {
		if _, mean := metric.Find(name, "p"); mean != nil {
			all = append(all, durations(name, func(g *result.Group) *result.Distribution {
				if n := noted(g, name); n != nil {
					return n.Time
				}
				return nil
			})...)
		}
		if _, count := metric.Find(name, "count"); count != nil {
			all = append(all, notedCount(name, "")...)
		}
	}
	for _, reason := range []string{"expired", "too-large", "failure"} {
		all = append(all, notedCount("relists", reason)...)
	}
	return append(all, requests("writeTries", "mean", func(s *subject) (float64, string) {
		n := noted(s.requests, "writeTime")
		if n == nil {
			return 0, result.NoSamples
		}
		return float64(n.Sum) / float64(n.Count), ""
	})...)
}

func noted(g *result.Group, name string) *result.Noted {
	if g.Clients == nil {
		return nil
	}
	return g.Clients.Noted(name)
}

// notedCount returns the statistic of how often something has happened, for a reason if that is not "".
func notedCount(name, reason string) []definition {
	one := requests(name, "count", func(s *subject) (float64, string) {
		if s.requests.Clients == nil {
			return 0, result.NoSamples
		}
		n := s.requests.Clients.Noted(name)
		switch {
		case n == nil:
			return 0, ""
		case reason == "":
			return float64(n.Count), ""
		}
		for _, r := range n.Reasons {
			if r.Reason == reason {
				return float64(r.Count), ""
			}
		}
		return 0, ""
	})
	if reason != "" {
		one[0].name.Tags = Tag(metric.TagReason, reason)
	}
	return one
}

// storedStatistics are those of what servers do for the store's clients.
func storedStatistics() (all []definition) {
	for _, d := range []struct {
		metric, statistic string
		value             func(*result.Stored) int64
	}{
		{"staleness", "mean", func(s *result.Stored) int64 { return s.StalenessMeanNs }},
		{"staleness", "max", func(s *result.Stored) int64 { return s.StalenessMaxNs }},
		{"slowWatchers", "count", func(s *result.Stored) int64 { return s.SlowWatchers }},
		{"watchEvents", "count", func(s *result.Stored) int64 { return s.WatchEvents }},
		{"initialEvents", "count", func(s *result.Stored) int64 { return s.InitialEvents }},
		{"bytesSent", "count", func(s *result.Stored) int64 { return s.BytesSent }},
		{"etcdCalls", "count", func(s *result.Stored) int64 { return s.EtcdCalls }},
		{"freshnessWaits", "count", func(s *result.Stored) int64 { return s.FreshnessWaits }},
	} {
		all = append(all, requests(d.metric, d.statistic, func(s *subject) (float64, string) {
			if s.requests.Stored == nil {
				return 0, result.NoSamples
			}
			return float64(d.value(s.requests.Stored)), ""
		})...)
	}
	return all
}
