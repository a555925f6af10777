package page

import (
	"apfsim/reports/tables"
)

// Term explains a statistic in a sentence or two. The full definitions, with their
// sources, are in docs/reference/statistics.md.
type Term struct {
	Key, Name, Text string
}

// Glossary returns those terms that the heads of the page's tables have, in its order.
func (p *Page) Glossary() []Term {
	used := map[string]bool{}
	for _, t := range p.Tables() {
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
func (p *Page) Tables() []*tables.Table {
	var tables []*tables.Table
	if p.Verdict != nil && p.Verdict.Table != nil {
		tables = append(tables, p.Verdict.Table)
	}
	for _, s := range p.Sections {
		for _, part := range s.Parts {
			if part.Table != nil {
				tables = append(tables, part.Table)
			}
		}
	}
	return tables
}

// Glossary has the terms in the order of pages.
var Glossary = []Term{
	{"threshold", "Threshold", "A condition of the scenario on a statistic. One without samples has failed."},
	{"limit", "Limit", "How much a statistic may change at most. It is exceeded when the whole 95 % interval of the change lies beyond it."},
	{"change", "Change", "How much more the head is than the base, in percent of the base (of a base of 0, in its own unit), ± half of the 95 % interval. With ~ it is none that these runs can tell."},
	{"better", "For the better or worse", "Stands where the statistic has changed and one direction is known to be better. Of the changes told, one in twenty may be chance."},
	{"interval", "± (95 % interval)", "The mean of the runs, or a percentile of all their requests, ± half of its 95 % interval of confidence: so far that of all possible runs may be from it. More runs narrow it."},
	{"merged", "Merged", "The percentile of the requests of all runs together, as in the tables above. The mean is that of each run’s own percentile."},
	{"arrived", "Arrived", "Requests that arrived after the warm-up; each attempt of a client that retries is one."},
	{"executed", "Executed", "Requests that were dispatched and whose execution ended before the run did."},
	{"rejected", "Rejected", "Requests that were turned away: because the queue was full, because no seat was free and nothing queues, or because they had waited as long as they may."},
	{"wait", "Wait", "The time from a request’s arrival to its dispatch. Rejected requests have none."},
	{"virtualWait", "Wait at a random moment", "What a request would have waited that was sent at a random moment of the window, by 1000 probes for each workload that change nothing. Clients that wait for an answer send nothing meanwhile, so that the waits of the requests sent may look shorter than this."},
	{"stall", "Stall", "The longest time in which requests of the workload waited and none was dispatched."},
	{"latency", "Latency", "The time from a request’s arrival to the end of its execution. Rejected requests have none."},
	{"percentile", "Percentile (median, 99th)", "The 99th percentile is the least time that at least 99 % of the requests do not exceed; the median is the 50th. At most 0.1 % above the true value, for a single flow 3.2 %."},
	{"nominal", "Nominal limit", "The seats that a priority level has by its shares, before it lends or borrows any."},
	{"bounds", "Bounds", "The seats that a priority level keeps when it lends all it may, and those that it has when it borrows all it may."},
	{"peak", "Peak", "The most seats in use at once."},
	{"utilisation", "In use", "Seats in use over the current limit, averaged over time. It may exceed 100 %: a limit can shrink below what is in use."},
	{"saturated", "Saturated", "The share of time in which requests waited or all seats were in use."},
	{"waiting", "Waiting", "The requests waiting at the level, averaged over time."},
	{"flow", "Flow", "The requests of one FlowSchema with the same distinguisher: a user or a namespace."},
	{"jain", "Fairness (Jain’s index)", "How evenly the flows of a level got their fair shares: 1 is even, 1/n when one of n flows has everything."},
	{"starved", "Starved", "The longest time in which a flow had requests waiting and none dispatched."},
	{"demand", "Demand", "The seat-seconds that a flow’s requests would have occupied, those of rejected ones too."},
	{"share", "Fair share", "What max-min fairness gives a flow of all that its level served: nobody gets more than it demands, and whoever gets less gets as much as anybody."},
	{"service", "Service", "The seat-seconds that a flow’s requests occupied."},
	{"ratio", "Of fair share", "Service over fair share. It differs a little from 100 % even where nobody waits, as requests are served across the ends of the window."},
	{"hand", "Hand", "The queues that a flow’s requests are dealt; each request goes to the one with the least work waiting, in seat-seconds."},
}
