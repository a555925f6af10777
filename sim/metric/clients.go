package metric

// clientMetrics are those of clients that behave, of scenarios with a store.
var clientMetrics = []Metric{
	{
		Name: "relists", Help: "Times at which an informer began to get all its objects again, because its version was too old, too new for the server, or its list or watch had failed otherwise.",
		Statistics: []Statistic{happened("relists", Lists)},
		Tags:       []string{TagWorkload, TagReason}, Reasons: []string{"expired", "too-large", "failure"}, Example: "count < 10", WholeRun: true,
	},
	timed("listTime", "The time in which an informer got all its objects, the first time or again, from when it had no valid copy, with all its tries and the waits between them.", "time to get all objects", "lists of informers and listers", Neither),
	counted("expired", "Answers that a version was too old (410), to lists and watches.", "answers 410", Times, Lower),
	counted("watchEnds", "Watches of informers that ended in order and were opened again.", "watches that ended in order", Watches, Neither),
	counted("watchFailures", "Watches of informers that were refused, or whose connection broke.", "watches that failed", Watches, Lower),
	timed("eventDelay", "The time from a write until an informer received its event.", "delay of events", "events that informers received", Neither),
	counted("conflicts", "Writes that were refused because another one came before (409); a client may try again.", "conflicts", Times, Lower),
	timed("writeTime", "The time from the beginning of a write until it succeeded, with all its tries.", "time of writes", "writes that succeeded", Higher),
	{
		Name: "writeTries", Help: "How often a write that succeeded was tried.",
		Statistics: []Statistic{{Name: "mean", Help: "Mean number of tries of writes that succeeded.", Better: Lower}},
		Tags:       workloadTags, Example: "mean < 2", WholeRun: true,
	},
	counted("lostWrites", "Writes that were given up, after all their tries.", "writes that were given up", Writes, Lower),
	counted("overwritten", "Writes that replaced what another one had written since they had read the object.", "writes that replaced others", Writes, Lower),
	counted("leaderLost", "Times at which a leader could not renew its lease before its deadline.", "leaders that lost their leases", Times, Lower),
	timed("leaderless", "The time from when a lease had no leader any more until a candidate held it.", "time without a leader", "times without a leader", Lower),
	timed("notReady", "The time during which a node was not ready, because neither its lease nor its status had been renewed.", "time during which nodes were not ready", "times at which a node became ready again", Lower),
	counted("nodesNotReady", "Times at which a node became not ready.", "times at which nodes became not ready", Times, Lower),
	timed("podSeen", "The time from a write of a pod until its kubelet saw it.", "time until kubelets saw pods", "changes of pods that kubelets saw", Neither),
	counted("droppedEvents", "Events that a recorder did not record.", "events that were not recorded", Events, Lower),
	timed("reconcileTime", "The time from when an item was added to a controller's queue until it was reconciled, with all its tries.", "time until items were reconciled", "items that were reconciled", Higher),
	counted("reconcileFailures", "Reconciliations that failed, and were repeated later.", "reconciliations that failed", Times, Lower),
}

// serverMetrics are those of watch caches, of scenarios with a store.
var serverMetrics = []Metric{
	{
		Name: "staleness", Help: "How far the watches of a server are behind the store: the time from a write until the watch cache has passed its event on.",
		Statistics: []Statistic{
			{Name: "mean", Help: "Mean delay of the events that watch caches have passed on.", Unit: Nanoseconds, Better: Lower},
			{Name: "max", Help: "Longest delay of an event that a watch cache has passed on.", Unit: Nanoseconds, Better: Lower},
		},
		Tags: []string{TagServer}, Example: "max < 1s", WholeRun: true,
	},
	ofServers("slowWatchers", "Watches that a server closed because they were too slow.", "watches that were closed as slow", Watches, Lower),
	ofServers("watchEvents", "Events that a server sent to watches, initial ones not included.", "events that were sent to watches", Events, Neither),
	ofServers("initialEvents", "Objects that a server sent at the beginning of watches.", "initial events of watches", Events, Lower),
	ofServers("bytesSent", "Bytes of the answers and events that a server sent, before compression.", "bytes that were sent", Bytes, Lower),
	ofServers("etcdCalls", "Calls of a server to etcd.", "calls to etcd", Times, Lower),
	ofServers("freshnessWaits", "Reads that waited until a watch cache had the latest version.", "reads that waited for a version", Requests, Lower),
}

// happened returns the statistic of how often something happened.
func happened(what string, unit Unit) Statistic {
	return Statistic{Name: "count", Help: "Number of " + what + ".", Unit: unit, Better: Lower}
}

// counted returns a metric of how often something happened to clients.
func counted(name, help, what string, unit Unit, better Better) Metric {
	s := happened(what, unit)
	s.Better = better
	return Metric{Name: name, Help: help, Statistics: []Statistic{s}, Tags: workloadTags, Example: "count < 10", WholeRun: true}
}

// ofServers returns a metric of how often something happened at servers.
func ofServers(name, help, what string, unit Unit, better Better) Metric {
	m := counted(name, help, what, unit, better)
	m.Tags = []string{TagServer}
	return m
}

// timed returns a metric of how long something took that happened to clients.
func timed(name, help, of, count string, more Better) Metric {
	statistics := durations(of, Lower, count, more)
	statistics[len(statistics)-1].Unit = Times
	return Metric{Name: name, Help: help, Statistics: statistics, Tags: workloadTags, Example: "p(99) < 1s", WholeRun: true}
}
