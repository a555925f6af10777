package metric

// ServerValue is a number that is counted for each server with a store, and for all together, in the unit of its
// statistic.
type ServerValue uint8

// The values, in the order of the columns of the table of watch caches.
const (
	StalenessMean ServerValue = iota
	StalenessMax
	WatchEvents
	InitialEvents
	SlowWatchers
	FreshnessWaits
	BytesSent
	EtcdCalls

	ServerValues // how many there are
)

// machineMetrics are those of the processor and the memory of servers.
var machineMetrics = []Metric{
	{
		Name: "cpu", Help: "The processor time that requests and events take at a server: what they demand of an idle server of speed 1, as far as it has been served.",
		Details: "A server with a capacity or a store has it. Filling the watch caches of a server that starts is not part of it.",
		Statistics: []Statistic{
			{Name: "seconds", Help: "Processor time within the window, in seconds.", Unit: CoreSeconds, Field: "processorSeconds"},
			{Name: "cores", Help: "Processor time divided by the length of the window: the number of cores that work on average.", Unit: Cores, Field: "processorSeconds", Per: PerSecond},
		},
		Source: FromServer, Absent: "the server has neither a capacity nor a store; with servers.capacity: {} executions are its processor time", Section: SectionMachines, ByServer: true, Tags: []string{TagServer}, Required: TagServer, Example: "cores < 12", WholeRun: true,
	}, {
		Name: "memory", Help: "The memory that a server takes for itself, for lists that it executes and for open watches.",
		Statistics: []Statistic{{Name: "max", Help: "Most memory that the server takes at one time within the window.", Unit: Bytes, Better: Lower, Field: "mostMemoryBytes"}},
		Source:     FromServer, Absent: "the scenario has no servers.memory", Section: SectionMachines, ByServer: true, Tags: []string{TagServer}, Required: TagServer, Example: "max < 16GB", WholeRun: true,
	},
}

// serverMetrics are those of watch caches, of scenarios with a store, in the order of their fields in JSON.
var serverMetrics = []Metric{
	{
		Name: "staleness", Help: "How far the watches of a server are behind the store: the time from a write until the watch cache has passed its event on.",
		Statistics: []Statistic{
			{Name: "mean", Help: "Mean delay of the events that watch caches have passed on.", Unit: Nanoseconds, Better: Lower, Field: "stalenessMeanNs",
				Server: StalenessMean, Title: "Caches behind, mean", Short: "behind"},
			{Name: "max", Help: "Longest delay of an event that a watch cache has passed on.", Unit: Nanoseconds, Better: Lower, Field: "stalenessMaxNs",
				Server: StalenessMax, Title: "longest", Short: "max"},
		},
		Source: FromStored, Section: SectionServers, Tags: []string{TagServer}, Example: "max < 1s", WholeRun: true,
	},
	byServers(SlowWatchers, "Closed as slow", "slow", "slowWatchers", "Watches that a server closed because they were too slow.", "watches that were closed as slow", Watches, Lower),
	byServers(WatchEvents, "Events sent", "events", "watchEvents", "Events that a server sent to watches, initial ones not included.", "events that were sent to watches", Events, Neither),
	byServers(InitialEvents, "Initial events", "initial", "initialEvents", "Objects that a server sent at the beginning of watches.", "initial events of watches", Events, Lower),
	byServers(BytesSent, "Bytes sent", "bytes", "bytesSent", "Bytes of the answers and events that a server sent, before compression.", "bytes that were sent", Bytes, Lower),
	byServers(EtcdCalls, "Calls to etcd", "etcd", "etcdCalls", "Calls of a server to etcd.", "calls to etcd", Times, Lower),
	byServers(FreshnessWaits, "Reads that waited", "waited", "freshnessWaits", "Reads that waited until a watch cache had the latest version.", "reads that waited for a version", Requests, Lower),
}

// byServers returns a metric of how often something happened at servers. The title and the short are the heads of its
// column.
func byServers(value ServerValue, title, short, name, help, what string, unit Unit, better Better) Metric {
	s := happened(what, unit, better)
	s.Field, s.Zero, s.Server, s.Title, s.Short = name, false, value, title, short
	return Metric{Name: name, Help: help, Statistics: []Statistic{s}, Source: FromStored, Section: SectionServers,
		Tags: []string{TagServer}, Example: "count < 10", WholeRun: true}
}

// ServerStatistics returns the statistics of servers, one for each ServerValue, in the order of their fields in JSON.
func ServerStatistics() (all []*Statistic) {
	for i := range serverMetrics {
		for k := range serverMetrics[i].Statistics {
			all = append(all, &serverMetrics[i].Statistics[k])
		}
	}
	return all
}
