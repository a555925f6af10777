package statistics

import (
	"slices"
	"strconv"

	"apfsim/core/queueset"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/server"
)

// subject is a part of a run that statistics are of: all requests, or those of a workload, a
// FlowSchema, a priority level or a flow.
type subject struct {
	seconds  float64        // length of the window
	requests *result.Group  // never nil
	flows    *result.Flow   // the flows of the part, combined; nil if it has none
	level    *result.Level  // nil unless the part is a priority level
	server   *result.Server // nil unless the part is a server
	status   string         // of responses; "" for all
}

// responses returns the number of responses with the status, and whether the run has counted any.
func (s *subject) responses() (n int64, ok bool) {
	for _, r := range s.requests.Responses {
		if s.status == "" || s.status == statusText(r.Status) {
			n += r.Count
		}
	}
	return n, len(s.requests.Responses) > 0
}

// statusText is the value of the tag status.
func statusText(status int) string {
	if status == 0 {
		return metric.NoAnswer
	}
	return strconv.Itoa(status)
}

func (s *subject) addFlows(of *result.Summary, wanted func(*result.Flow) bool) {
	if sum, found := of.AsOne(wanted); found {
		s.flows = &sum
	}
}

// definition says how a statistic is read.
type definition struct {
	name    metric.Name                                 // its only tag is the reason of a rejection
	source  source                                      // the part of the subject that it is read from
	several bool                                        // it is listed only if the summary has servers
	value   func(*subject) (value float64, note string) // the note says why there is no value, and is "" if there is one
}

// takes says whether the metric has all of the tags.
func (d *definition) takes(tags []metric.Tag) bool {
	m, _ := metric.Find(d.name.Metric, d.name.Stat)
	return !slices.ContainsFunc(tags, func(t metric.Tag) bool { return !slices.Contains(m.Tags, t.Name) })
}

// source is the part of a subject that a statistic is read from.
type source uint8

const (
	fromRequests source = iota
	fromFlows
	fromLevel
	fromServer
)

// table has the statistics of a summary in the order in which lists have them. A statistic that is
// another name of one in the table is not in it: see metric.ParseName.
var table = concat(
	requests("arrived", "count", func(s *subject) (float64, string) { return float64(s.requests.Arrived), "" }),
	requests("arrived", "perSecond", func(s *subject) (float64, string) {
		return float64(s.requests.Arrived) / s.seconds, noneIf(s.seconds <= 0)
	}),
	counts("executed", func(c *result.Counts) int64 { return c.Executed }),
	requests("executed", "perSecond", func(s *subject) (float64, string) {
		return float64(s.requests.Executed) / s.seconds, noneIf(s.seconds <= 0 || s.requests.Arrived == 0)
	}),
	counts("rejected", func(c *result.Counts) int64 { return c.Rejected }),
	counts("rejected", func(c *result.Counts) int64 { return c.QueueFull }, queueset.QueueFull),
	counts("rejected", func(c *result.Counts) int64 { return c.ConcurrencyLimit }, queueset.ConcurrencyLimit),
	groupCounts("notServed", (*result.Group).NotServedTotal),
	counts("timedOut", func(c *result.Counts) int64 { return c.TimedOut }),
	counts("retries", func(c *result.Counts) int64 { return c.Retries }),
	counts("waiting", func(c *result.Counts) int64 { return c.Waiting }),
	requests("waiting", "max", func(s *subject) (float64, string) {
		if s.requests.StillQueued == nil {
			return 0, noneIf(s.requests.Arrived == 0)
		}
		return float64(s.requests.StillQueued.MaxNs), ""
	}),
	counts("executing", func(c *result.Counts) int64 { return c.Executing }),
	ofServers(concat(
		counts("refused", func(c *result.Counts) int64 { return c.Refused }),
		refusals(server.ConnectionRefused, func(c *result.Counts) int64 { return c.ConnectionRefused }),
		refusals(server.ConnectionReset, func(c *result.Counts) int64 { return c.ConnectionReset }),
		refusals(server.ShuttingDown, func(c *result.Counts) int64 { return c.ShuttingDown }),
		refusals(server.NotReady, func(c *result.Counts) int64 { return c.NotReady }),
		counts("lost", func(c *result.Counts) int64 { return c.Lost }),
		requests("responses", "count", func(s *subject) (float64, string) {
			n, ok := s.responses()
			return float64(n), noneIf(!ok)
		}),
		requests("responses", "rate", func(s *subject) (float64, string) {
			n, ok := s.responses()
			return float64(n) / float64(s.requests.Arrived), noneIf(!ok)
		}),
		define(fromServer, "ready", "share", func(s *subject) (float64, string) {
			if s.server == nil {
				return 1, "" // the one server, which is always there
			}
			return s.server.ReadyShare, ""
		}),
	)),
	requests("wait", "count", func(s *subject) (float64, string) {
		return float64(s.requests.Executed + s.requests.Executing + s.requests.LostExecuted), noneIf(s.requests.Arrived == 0)
	}),
	durations("wait", func(g *result.Group) *result.Distribution { return g.Wait }),
	durations("execution", func(g *result.Group) *result.Distribution { return g.Execution }),
	durations("latency", func(g *result.Group) *result.Distribution { return g.Latency }),
	durations("rejectedWait", func(g *result.Group) *result.Distribution { return g.RejectedWait }),

	stall("max", func(s *result.Stall) float64 { return float64(s.MaxNs) }),
	stall("count", func(s *result.Stall) float64 { return float64(s.Count) }),
	stall("share", func(s *result.Stall) float64 { return s.Share }),
	requests("freeze", "max", func(s *subject) (float64, string) {
		if s.requests.Freeze == nil || s.requests.Arrived == 0 {
			return 0, result.NoSamples
		}
		return float64(s.requests.Freeze.MaxNs), ""
	}),
	probes("virtualRejected", "rate", (*result.VirtualWait).RejectedRate),
	probes("virtualWait", "count", func(v *result.VirtualWait) float64 { return float64(v.Probes - v.Rejected - v.Refused) }),
	durations("virtualWait", func(g *result.Group) *result.Distribution {
		if g.VirtualWait == nil {
			return nil
		}
		return g.VirtualWait.Wait
	}),

	flows("starvation", "max", func(f *result.Flow) float64 { return float64(f.StarvationNs) }),
	flows("service", "seatSeconds", func(f *result.Flow) float64 { return f.ServiceSeatSeconds }),
	flows("demand", "seatSeconds", func(f *result.Flow) float64 { return f.DemandSeatSeconds }),
	flows("fairShare", "seatSeconds", func(f *result.Flow) float64 { return f.FairShareSeatSeconds }),
	define(fromFlows, "fairShare", "ratio", func(s *subject) (float64, string) {
		if s.flows == nil || s.flows.Ratio == nil {
			return 0, result.NoSamples
		}
		return *s.flows.Ratio, ""
	}),

	level("waiting", "mean", func(l *result.Level) (float64, string) { return l.MeanWaiting, "" }),
	fairness("jain", func(f *result.Fairness) float64 { return f.Jain }),
	fairness("maxMinError", func(f *result.Fairness) float64 { return f.MaxMinError }),
	fairness("leastRatio", func(f *result.Fairness) float64 { return f.LeastRatio }),
	fairness("flows", func(f *result.Fairness) float64 { return float64(f.Flows) }),
	level("utilisation", "peak", func(l *result.Level) (float64, string) { return float64(l.PeakSeats), "" }),
	level("utilisation", "mean", func(l *result.Level) (float64, string) {
		switch u := l.Utilisation; {
		case u == nil:
			return 0, result.NoLimit
		case u.Mean == nil:
			return 0, result.NoSamples
		default:
			return *u.Mean, ""
		}
	}),
	level("utilisation", "saturated", func(l *result.Level) (float64, string) {
		if l.Utilisation == nil {
			return 0, result.NoLimit
		}
		return l.Utilisation.Saturated, ""
	}),

	clientStatistics(),
	storedStatistics(),
)

func concat(parts ...[]definition) (all []definition) {
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

// noneIf returns the note of a statistic that has no samples if a condition is true.
func noneIf(condition bool) string {
	if condition {
		return result.NoSamples
	}
	return ""
}

// define returns the definition of a statistic of the registry.
func define(from source, metricName, statistic string, value func(*subject) (float64, string)) []definition {
	_, s := metric.Find(metricName, statistic)
	if s == nil {
		panic("statistics: the registry has no " + metricName + "." + statistic)
	}
	return []definition{{name: metric.Name{Metric: metricName, Stat: statistic, Unit: s.Unit}, source: from, value: value}}
}

func requests(metricName, statistic string, value func(*subject) (float64, string)) []definition {
	return define(fromRequests, metricName, statistic, value)
}

// ofServers marks definitions that are listed only if the summary has servers.
func ofServers(all []definition) []definition {
	for i := range all {
		all[i].several = true
	}
	return all
}

// refusals is counts of a reason of refusals.
func refusals(why server.Refusal, n func(*result.Counts) int64) []definition {
	all := counts("refused", n)
	for i := range all {
		all[i].name.Tags = Tag(metric.TagReason, why.String())
	}
	return all
}

// groupCounts defines the count of a part of the requests and its rate per request that arrived.
func groupCounts(metricName string, n func(*result.Group) int64) []definition {
	return concat(
		requests(metricName, "count", func(s *subject) (float64, string) {
			return float64(n(s.requests)), noneIf(s.requests.Arrived == 0)
		}),
		requests(metricName, "rate", func(s *subject) (float64, string) {
			return float64(n(s.requests)) / float64(s.requests.Arrived), noneIf(s.requests.Arrived == 0)
		}))
}

// counts is groupCounts of a part that the counts have. A reason narrows rejections down.
func counts(metricName string, n func(*result.Counts) int64, reason ...queueset.Rejection) []definition {
	all := groupCounts(metricName, func(g *result.Group) int64 { return n(&g.Counts) })
	for i := range all {
		for _, r := range reason {
			all[i].name.Tags = Tag(metric.TagReason, r.String())
		}
	}
	return all
}

// durations defines the statistics of a distribution. Statistics of metrics that have them all have
// the percentiles that summaries have.
func durations(metricName string, of func(*result.Group) *result.Distribution) (all []definition) {
	for _, d := range []struct {
		statistic  string
		percentile float64
		ns         func(*result.Distribution) int64
	}{
		{"mean", 0, func(d *result.Distribution) int64 { return d.MeanNs }},
		{"min", 0, func(d *result.Distribution) int64 { return d.MinNs }},
		{"med", 0, func(d *result.Distribution) int64 { return d.P50Ns }},
		{"p", 90, func(d *result.Distribution) int64 { return d.P90Ns }},
		{"p", 95, func(d *result.Distribution) int64 { return d.P95Ns }},
		{"p", 99, func(d *result.Distribution) int64 { return d.P99Ns }},
		{"p", 99.9, func(d *result.Distribution) int64 { return d.P999Ns }},
		{"max", 0, func(d *result.Distribution) int64 { return d.MaxNs }},
	} {
		one := requests(metricName, d.statistic, func(s *subject) (float64, string) {
			found := of(s.requests)
			if found == nil {
				return 0, result.NoSamples
			}
			return float64(d.ns(found)), ""
		})
		one[0].name.Percentile = d.percentile
		all = append(all, one...)
	}
	return all
}

func stall(statistic string, value func(*result.Stall) float64) []definition {
	return requests("stall", statistic, func(s *subject) (float64, string) {
		if s.requests.Stall == nil || s.requests.Arrived == 0 {
			return 0, result.NoSamples
		}
		return value(s.requests.Stall), ""
	})
}

func probes(metricName, statistic string, value func(*result.VirtualWait) float64) []definition {
	return requests(metricName, statistic, func(s *subject) (float64, string) {
		if s.requests.VirtualWait == nil {
			return 0, result.NoSamples
		}
		return value(s.requests.VirtualWait), ""
	})
}

func flows(metricName, statistic string, value func(*result.Flow) float64) []definition {
	return define(fromFlows, metricName, statistic, func(s *subject) (float64, string) {
		if s.flows == nil {
			return 0, result.NoSuchFlow
		}
		return value(s.flows), ""
	})
}

func level(metricName, statistic string, value func(*result.Level) (float64, string)) []definition {
	return define(fromLevel, metricName, statistic, func(s *subject) (float64, string) {
		if s.level == nil {
			return 0, result.NoSuchLevel
		}
		return value(s.level)
	})
}

func fairness(statistic string, value func(*result.Fairness) float64) []definition {
	return level("fairness", statistic, func(l *result.Level) (float64, string) {
		if l.Fairness == nil {
			return 0, result.NoSamples
		}
		return value(l.Fairness), ""
	})
}

// key identifies a definition.
type key struct {
	metric, statistic string
	percentile        float64
	reason            string
}

func keyOf(n *metric.Name) key {
	return key{n.Metric, n.Stat, n.Percentile, n.Tag(metric.TagReason)}
}

var byKey = func() map[key]*definition {
	all := map[key]*definition{}
	for i := range table {
		all[keyOf(&table[i].name)] = &table[i]
	}
	return all
}()
