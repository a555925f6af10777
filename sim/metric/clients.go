package metric

import (
	"cmp"
	"slices"
)

// Event is something that happens to a client that behaves. Which metrics count it, or how long it takes, is said by the
// metrics.
type Event uint8

// The events.
const (
	NoEvent           Event = iota
	Listed                  // an informer or a lister has its objects again: N of them, Ns after it began to ask; the first time without a reason
	Expired                 // a version was too old: 410
	WatchEnded              // an informer's watch has ended in order, and is opened again
	WatchFailed             // an informer's watch was refused or broke
	EventLate               // an event was received Ns after it was committed
	Conflicted              // a write was refused because of another one: 409
	WriteDone               // a write has ended well, after N tries and Ns
	WriteLost               // a write was given up after N tries and Ns
	LeaderLost              // a leader could not renew its lease in time
	LeaderGained            // a candidate leads; Ns is how long there was no leader
	NodeNotReady            // a node's lease and status have not been renewed in time
	NodeReady               // they are again; Ns is for how long they were not
	PodSeen                 // the kubelet has seen a change of a pod, Ns after it was written
	EventDropped            // an event was not recorded
	Reconciled              // a controller has reconciled an item, Ns after it was added to its queue
	ReconcileFailed         // a reconciliation has failed, and is repeated later
	Answered                // a request of a client that limits its rate was answered, after N attempts, and Ns after the client wanted to send it
	GaveUp                  // such a request has failed after its last attempt
	ConnectionsClosed       // a kubelet has closed its connections, because its heartbeats had failed
	Limited                 // a client that limits its rate wanted to send a request or an attempt, and its limiter let it wait for Ns
	NeverSent               // such a request still waited when the run ended, and had waited for NeverSentNs or longer
	Overwritten             // a write has replaced what another one had written since it was read

	events // how many there are
)

// NeverSentNs is how long a request must have waited for its client's rate limiter to count as never sent. From the same time on
// client-go logs that it throttles.
const NeverSentNs = 1_000_000_000

// The reasons for which an informer lists again.
const (
	AfterExpired  = "expired"   // its version was too old: 410
	AfterTooLarge = "too-large" // its version was newer than what the server has: 504
	AfterFailure  = "failure"   // its list or watch has failed otherwise
)

// clientMetrics are those of clients that behave, of scenarios with a store, and of those that limit their rate.
var clientMetrics = []Metric{
	{
		Name: "relists", Help: "Times at which an informer began to get all its objects again, because its version was too old, too new for the server, or its list or watch had failed otherwise.",
		Statistics: []Statistic{happened("relists", Lists, Lower)},
		Event:      Listed, Line: 1, Source: FromClients, Section: SectionClients,
		Tags: []string{TagWorkload, TagReason}, Example: "count < 10", WholeRun: true,
		Reasons: []Reason{
			{AfterExpired, "their version was too old"},
			{AfterTooLarge, "their version was too new for the server"},
			{AfterFailure, "their list or watch had failed"},
		},
	},
	timed(Listed, 3, "listTime", "The time in which an informer got all its objects, the first time or again, from when it had no valid copy, with all its tries and the waits between them.", "time to get all objects", "lists of informers and listers", Neither),
	counted(Expired, 2, "expired", "Answers that a version was too old (410), to lists and watches.", "answers 410", Times, Lower),
	counted(WatchEnded, 0, "watchEnds", "Watches of informers that ended in order and were opened again.", "watches that ended in order", Watches, Neither),
	counted(WatchFailed, 3, "watchFailures", "Watches of informers that were refused, or whose connection broke.", "watches that failed", Watches, Lower),
	timed(EventLate, 1, "eventDelay", "The time from a write until an informer received its event.", "delay of events", "events that informers received", Neither),
	counted(Conflicted, 4, "conflicts", "Writes that were refused because another one came before (409); a client may try again.", "conflicts", Times, Lower),
	timed(WriteDone, 4, "writeTime", "The time from the beginning of a write until it succeeded, with all its tries.", "time of writes", "writes that succeeded", Higher),
	{
		Name: "writeTries", Help: "How often a write that succeeded was tried.",
		Statistics: []Statistic{{Name: "mean", Help: "Mean number of tries of writes that succeeded.", Better: Lower, Field: "sum", Per: "count"}},
		ReadOf:     "writeTime", Source: FromClients, Section: SectionTries, Tags: workloadTags, Example: "mean < 2", WholeRun: true,
	},
	counted(WriteLost, 5, "lostWrites", "Writes that were given up, after all their tries.", "writes that were given up", Writes, Lower),
	counted(Overwritten, 6, "overwritten", "Writes that replaced what another one had written since they had read the object.", "writes that replaced others", Writes, Lower),
	counted(LeaderLost, 9, "leaderLost", "Times at which a leader could not renew its lease before its deadline.", "leaders that lost their leases", Times, Lower),
	timed(LeaderGained, 6, "leaderless", "The time from when a lease had no leader any more until a candidate held it.", "time without a leader", "times without a leader", Lower),
	timed(NodeReady, 7, "notReady", "The time during which a node was not ready, because neither its lease nor its status had been renewed.", "time during which nodes were not ready", "times at which a node became ready again", Lower),
	counted(NodeNotReady, 10, "nodesNotReady", "Times at which a node became not ready.", "times at which nodes became not ready", Times, Lower),
	counted(ConnectionsClosed, 11, "connectionsClosed", "Times at which a kubelet closed its connections, or those that were idle, because a heartbeat had failed again.", "times at which kubelets closed their connections", Times, Lower),
	timed(PodSeen, 2, "podSeen", "The time from a write of a pod until its kubelet saw it.", "time until kubelets saw pods", "changes of pods that kubelets saw", Neither),
	counted(EventDropped, 8, "droppedEvents", "Events that a recorder did not record.", "events that were not recorded", Events, Lower),
	timed(Reconciled, 5, "reconcileTime", "The time from when an item was added to a controller's queue until it was reconciled, with all its tries.", "time until items were reconciled", "items that were reconciled", Higher),
	timed(Answered, 8, "clientLatency", "The time from when a client with a rate limit wanted to send a request, other than a watch, until it was answered, with the waits for its rate limiter, all attempts, and the pauses between them.", "time until requests were answered", "requests that were answered", Higher),
	counted(GaveUp, 11, "gaveUp", "Requests of clients with a rate limit, other than watches, that failed after their last attempt, or that the client gave up.", "requests that failed", Requests, Lower),
	timed(Limited, 0, "limiterWait", "The time that requests of clients with a rate limit waited for it, each attempt by itself, watches included. A request that is never sent has waited until the end of the run.", "wait for the client's rate limit", "waits for clients' rate limits", Neither),
	counted(NeverSent, 0, "neverSent", "Requests of clients with a rate limit that still waited for it when the run ended, and had waited for 1 s or longer.", "requests that were never sent", Requests, Lower),
	counted(ReconcileFailed, 7, "reconcileFailures", "Reconciliations that failed, and were repeated later.", "reconciliations that failed", Times, Lower),
}

// happened returns the statistic of how often something happened.
func happened(what string, unit Unit, better Better) Statistic {
	return Statistic{Name: "count", Help: "Number of " + what + ".", Unit: unit, Better: better, Field: "count", Zero: true}
}

// counted returns a metric of how often something happened to clients. The line is its place in the chart of failures.
func counted(event Event, line int, name, help, what string, unit Unit, better Better) Metric {
	return Metric{Name: name, Help: help, Statistics: []Statistic{happened(what, unit, better)}, Event: event, Line: line,
		Source: FromClients, Section: SectionClients, Tags: workloadTags, Example: "count < 10", WholeRun: true}
}

// timed returns a metric of how long something took that happened to clients. The line is its place in the chart of times.
func timed(event Event, line int, name, help, what, count string, more Better) Metric {
	statistics := durations("time", what, Lower, count, "count", more)
	number := &statistics[len(statistics)-1]
	number.Unit, number.Zero = Times, true
	return Metric{Name: name, Help: help, Statistics: statistics, Event: event, Timed: true, Line: line,
		Source: FromClients, Section: SectionClients, Tags: workloadTags, Example: "p(99) < 1s", WholeRun: true}
}

var ofEvents = func() (all [events][]*Metric) {
	for i := range registry {
		if m := &registry[i]; m.Event != NoEvent {
			all[m.Event] = append(all[m.Event], m)
		}
	}
	return all
}()

// CountedBy returns the metrics that count an event.
func CountedBy(e Event) []*Metric { return ofEvents[e] }

// Lines returns the metrics that the chart of the times of clients shows, or that of their failures, in the order of their
// lines.
func Lines(timed bool) (all []*Metric) {
	for i := range registry {
		if m := &registry[i]; m.Line > 0 && m.Timed == timed {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b *Metric) int { return cmp.Compare(a.Line, b.Line) })
	return all
}
