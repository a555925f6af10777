package report

import (
	"apfsim/sim/metric"
)

// Term explains a column of tables in a few sentences. The full definitions, with their
// sources, are in docs/reference/statistics.md.
type Term struct {
	Key, Name, Text string
}

// Glossary returns the terms of the columns of the page's tables, in the order of the glossary.
func (d *Document) Glossary() []Term {
	used := map[string]bool{}
	for _, t := range d.Tables() {
		for _, c := range t.Columns {
			used[c.Term] = true
		}
	}
	var terms []Term
	for _, t := range Glossary {
		if used[t.Key] {
			terms = append(terms, t)
		}
	}
	return terms
}

// Tables returns all tables of the page.
func (d *Document) Tables() []*Table {
	var tables []*Table
	if d.Verdict != nil && d.Verdict.Table != nil {
		tables = append(tables, d.Verdict.Table)
	}
	for _, s := range d.Sections {
		for _, part := range s.Parts {
			if part.Table != nil {
				tables = append(tables, part.Table)
			}
		}
	}
	return tables
}

// The keys of terms by which columns are found.
const (
	termRejected    = "rejected"
	termRefused     = "refused"
	termVirtualWait = "virtualWait"
	termStall       = "stall"
)

// Glossary has the terms in the order of pages. The texts of metrics and statistics are those of the
// registry.
var Glossary = []Term{
	{"threshold", "Threshold", "A condition on a statistic that the scenario states. A threshold without samples fails."},
	{"limit", "Limit", "The largest change of a statistic that is allowed. It is exceeded if the whole 95 % interval of the change lies beyond it."},
	{"change", "Change", "The difference between head and base, in percent of the base (in its own unit if the base is 0), ± half of its 95 % interval. A ~ marks a change that is not significant."},
	{"better", "Better or worse", "Shown if the statistic has changed and one direction is known to be an improvement. One in twenty of the changes that are listed may be due to chance."},
	{"interval", "± (95 % interval)", "The mean of the runs, or a percentile of the requests of all runs, ± half of its 95 % confidence interval, or the ends of the interval if it is not symmetric. More runs make the interval narrower."},
	{"prediction", "Interval of the runs", "The 95 % prediction interval: one more run is expected in it, if the numbers of the runs are normally distributed."},
	{"beside", "The server is", "Whether the number of the server is equal to that of every run, within, above or below the interval of the runs. With a single run, a percentile is within if the bucket of the server's histogram contains it, and other numbers are equal or different. A number without a word depends on the moment of the scrape, or one side does not have it."},
	{"merged", "Merged", "The percentile of the requests of all runs together, as in the tables above. The column of the mean has the mean of the percentiles of the runs."},
	metricTerm("arrived", "Arrived", "arrived"),
	metricTerm("notServed", "Not served", "notServed"),
	metricTerm("executed", "Executed", "executed"),
	metricTerm(termRejected, "Rejected", "rejected"),
	metricTerm(termRefused, "Refused", "refused"),
	metricTerm("lost", "Lost", "lost"),
	statisticTerm("ready", "Ready", "ready", "share"),
	{"serverSeats", "Seats in use (server)", "The mean number of seats in use over the window, also while the server was not there, and the nominal limits, of all priority levels that have a limit."},
	{"inService", "In service", "Requests that share the capacity of a server. A request that waits for something else, such as etcd, holds its seats and is not in service."},
	{"speed", "Speed", "The speed at which each request in service progresses. 100 % is that of a request alone on an idle server."},
	statisticTerm("cpu", "Cores at work", "cpu", "cores"),
	metricTerm("memory", "Memory", "memory"),
	{"connections", "Connections", "The most connections that clients had to the server and, behind an arrow, those when the run ended."},
	metricTerm("wait", "Wait", "wait"),
	metricTerm(termVirtualWait, "Wait at a random moment", "virtualWait"),
	statisticTerm(termStall, "Stall", "stall", "max"),
	metricTerm("latency", "Latency", "latency"),
	metricTerm("clientLatency", "Client latency", "clientLatency"),
	metricTerm("limiterWait", "Own limit", "limiterWait"),
	metricTerm("neverSent", "Never sent", "neverSent"),
	metricTerm("leaderLost", "Leaders lost", "leaderLost"),
	{"percentile", "Percentile (median, 99th)", "The 99th percentile is the smallest time that at least 99 % of the requests do not exceed; the median is the 50th percentile. It is at most 0.1 % above the exact value, and at most 3.2 % for a single flow. One of fewer than 10/(1 − p) values, such as a 99th percentile of fewer than 1000, is dim and has their number n beside it: it says little and decides nothing."},
	{"nominal", "Nominal limit", "The seats that a priority level has by its shares, before it lends or borrows any."},
	{"bounds", "Bounds", "The seats that a priority level keeps if it lends as many as it may, and the seats that it has if it borrows as many as it may."},
	statisticTerm("peak", "Peak", "utilisation", "peak"),
	statisticTerm("utilisation", "In use", "utilisation", "mean"),
	statisticTerm("saturated", "Saturated", "utilisation", "saturated"),
	statisticTerm("waiting", "Waiting", "waiting", "mean"),
	{"flow", "Flow", "The requests of one FlowSchema with the same distinguisher: a user or a namespace."},
	statisticTerm("jain", "Fairness (Jain’s index)", "fairness", "jain"),
	statisticTerm("starved", "Starved", "starvation", "max"),
	statisticTerm("demand", "Demand", "demand", "seatSeconds"),
	statisticTerm("share", "Fair share", "fairShare", "seatSeconds"),
	statisticTerm("service", "Service", "service", "seatSeconds"),
	statisticTerm("ratio", "Of fair share", "fairShare", "ratio"),
	{"demandOfShare", "Demand, % of fair share", "The demand in percent of the fair share: above 100 %, more was asked for than is fair."},
	{"hand", "Hand", "The queues that the requests of a flow are assigned to. Each request joins the queue of these that has the least work waiting, in seat-seconds."},
}

// metricTerm returns the term of a metric of the registry.
func metricTerm(key, name, metricName string) Term {
	if m := metric.Named(metricName); m != nil {
		return Term{key, name, m.Text()}
	}
	panic("page: the registry has no metric " + metricName)
}

// statisticTerm returns the term of a statistic of the registry.
func statisticTerm(key, name, metricName, statistic string) Term {
	_, s := metric.Find(metricName, statistic)
	if s == nil {
		panic("page: the registry has no statistic " + metricName + "." + statistic)
	}
	return Term{key, name, s.Text()}
}
