// Package metric declares what a run measures: each metric with its statistics, their units and tags. Thresholds, the
// names of statistics on the command line, error messages, suggestions, the collection, the lists of statistics, the
// tables and charts of clients and servers, the glossary, the JSON Schema and the reference documentation all read it.
// A metric of clients or servers is added by one entry here and by what counts it; a number of requests is also a field
// of [Counts] or [Failures].
//
// The package knows no scenario. What only a scenario can tell, such as the names of its
// workloads, comes in as a [Run].
package metric

import (
	"slices"
	"strings"

	"apfsim/core/queueset"
)

// Metric is a property of the requests, flows or priority levels of a run. Statistics turn it
// into numbers, and tags narrow it down.
//
// A metric whose statistics do not all take the same tags has one entry for each set of tags,
// all with the same name. The first entry is the one that messages call by the name alone.
type Metric struct {
	Name       string
	Help       string      // one sentence
	Details    string      // further sentences of the glossary; "" if there are none
	Statistics []Statistic // in the order of messages; the first is the default if it is a count or the only one
	Tags       []string    // that it takes, in the order in which names have them
	Required   string      // the tag without which the metric has no value; "" if there is none
	Reasons    []Reason    // the values of the tag reason; nil without the tag
	Example    string      // an expression of a threshold

	// Event is what happens to clients that the metric counts, or times if Timed; one with Reasons counts the
	// events that have a reason. ReadOf is the metric whose counter the statistics are read from instead.
	Event  Event
	Timed  bool
	ReadOf string
	// Line is the place of its line in the chart of the failures or, if Timed, of the times of clients, from 1; 0 if
	// the chart does not show it.
	Line int

	// Source is the part of a summary that the statistics are read from, and Section the part of the lists of
	// statistics that has them.
	Source  Source
	Section Section
	// Absent says why there is no value where the summary lacks the fields; NoSamples if it is "".
	Absent string
	// ByServer says that lists have it only if the summary has servers, ByClient that a client of a server can measure it:
	// it sees neither why a request is rejected, nor which part of a latency is wait and which is execution.
	ByServer, ByClient bool
	// ByName says that only thresholds and published figures have it, which name it, and lists do not.
	ByName bool

	// FlowControl says that only PriorityAndFairness has it.
	FlowControl bool
	// WholeRun says that it is measured over the run as a whole, not over windows.
	WholeRun bool
}

// Statistic is a number that summarises a metric.
type Statistic struct {
	Name    string // the statistic p takes a percentile as its argument
	Help    string // one sentence
	Details string // further sentences of the glossary; "" if there are none
	Unit    Unit
	Better  Better
	// Fraction says that the value is from 0 to 1.
	Fraction bool
	// Percent says that the limit of a threshold may be in percent.
	Percent bool
	// PrintPercent says that tables of any statistics print the value in percent.
	PrintPercent bool
	// Field is where the summary has the number, in its Source: the name of the field in JSON, with dots between nested
	// ones, or a sum or a difference of several. It is divided by Per: the field of a count, PerSecond, or "" for 1.
	Field, Per string
	// Zero says that a field that the summary omits is 0.
	Zero bool
	// Server is the value of servers that the statistic is, and Title and Short are the long and the short head of its
	// column in the table of watch caches. Only those of metrics of the source FromStored have them.
	Server       ServerValue
	Title, Short string
	// Section is the part of the lists that has the statistic, if it is not that of its metric.
	Section Section
	// Alias is the statistic of the same metric that this is another name of; "" if it is none.
	Alias string
}

// Reason is a value of the tag reason.
type Reason struct {
	Name string
	Help string // in words, as what follows "because"; "" if no text needs it
}

// Source is the part of a summary that a metric is read from.
type Source uint8

// The sources.
const (
	FromRequests Source = iota // a group of requests, at least one of which has arrived
	FromGroup                  // a group of requests, even if none has arrived
	FromFlows                  // the flows of a group, combined
	FromLevel                  // a priority level
	FromServer                 // a server
	FromClients                // what has happened to the clients of a group
	FromStored                 // what a server, or all, have done for the clients of the store; Field is the name in JSON
)

// Section is a part of the lists of statistics. Within a section, the order is that of the registry.
type Section uint8

// The sections, in their order.
const (
	SectionCounts Section = iota
	SectionTimings
	SectionStalls
	SectionRejectedProbes
	SectionProbes
	SectionFlows
	SectionLevels
	SectionUse
	SectionMachines
	SectionClients
	SectionReasons // of what happens to clients
	SectionTries
	SectionServers
)

// PerSecond is the value of Statistic.Per for the length of the window.
const PerSecond = "seconds"

// NoSamples says that a statistic has no value because nothing was measured.
const NoSamples = "no samples"

// NoLimit says that a priority level has no statistic because it has no limit.
const NoLimit = "an exempt level has no limit"

// Percentile is a percentile of durations that summaries have, and the field that has it.
type Percentile struct {
	Percent float64
	Field   string
}

// Percentiles are those that summaries have besides the median.
var Percentiles = []Percentile{{90, "p90Ns"}, {95, "p95Ns"}, {99, "p99Ns"}, {99.9, "p99_9Ns"}}

// Unit is the unit of a statistic.
type Unit string

// The units.
const (
	NoUnit            Unit = "" // a ratio or an index
	Nanoseconds       Unit = "ns"
	Requests          Unit = "requests"
	RequestsPerSecond Unit = "requests/s"
	Stalls            Unit = "stalls"
	Flows             Unit = "flows"
	Seats             Unit = "seats"
	SeatSeconds       Unit = "seat-seconds"
	Times             Unit = "times"
	Lists             Unit = "lists"
	Watches           Unit = "watches"
	Events            Unit = "events"
	Writes            Unit = "writes"
	Bytes             Unit = "bytes"
	CoreSeconds       Unit = "core-seconds"
	Cores             Unit = "cores"
)

// Better is the direction in which a change of a statistic is an improvement.
type Better string

// The directions.
const (
	Lower   Better = "lower"
	Higher  Better = "higher"
	Neither Better = "" // neither direction is good or bad in itself
)

// Key is the name of a tag.
type Key struct {
	Name string
	Help string // one sentence
	// Example is a value that messages show.
	Example string
	// FlowControl says that only PriorityAndFairness has it.
	FlowControl bool
}

// The tags.
const (
	TagWorkload      = "workload"
	TagFlowSchema    = "flowSchema"
	TagPriorityLevel = "priorityLevel"
	TagFlow          = "flow"
	TagServer        = "server"
	TagReason        = "reason"
	TagStatus        = "status"
)

// keys are the tags in the order of the reference documentation.
var keys = []Key{
	{Name: TagWorkload, Help: "The workload of the scenario that sent the requests.", Example: "mice"},
	{Name: TagFlowSchema, Help: "The FlowSchema that the requests matched.", Example: "service-accounts", FlowControl: true},
	{Name: TagPriorityLevel, Help: "The priority level that the requests were assigned to.", Example: "workload-low", FlowControl: true},
	{Name: TagFlow, Help: "The flow: its FlowSchema and, after a slash, its distinguisher.",
		Example: "service-accounts/system:serviceaccount:team-1:default", FlowControl: true},
	{Name: TagServer, Help: "The server that the requests were sent to, by its index from 0.", Example: "1"},
	{Name: TagReason, Help: "Why the requests were rejected or, of the metric `refused`, refused.", Example: queueset.QueueFull.String()},
	{Name: TagStatus, Help: "The status of HTTP that the requests were answered with, " + NoAnswer + " where the client received no answer.", Example: "504"},
}

// NoAnswer is the value of the tag status of requests whose client received no answer.
const NoAnswer = "none"

// All returns the metrics in the order of messages and of the reference documentation.
func All() []Metric { return slices.Clone(registry) }

// Find returns the metric and the statistic of the given names, nil if there is no such one.
func Find(metric, statistic string) (*Metric, *Statistic) {
	for i := range registry {
		m := &registry[i]
		if m.Name != metric {
			continue
		}
		for j := range m.Statistics {
			if s := &m.Statistics[j]; s.Name == statistic {
				return m, s
			}
		}
	}
	return nil, nil
}

// Counts says in a few words what the metric counts; its name if it counts nothing.
func (m *Metric) Counts() string {
	for i := range m.Statistics {
		if s := &m.Statistics[i]; s.Name == "count" {
			return strings.TrimSuffix(strings.TrimPrefix(s.Help, "Number of "), ".")
		}
	}
	return m.Name
}

// Named returns the metric of a name, the first one if several have it; nil if there is none.
func Named(name string) *Metric {
	for i := range registry {
		if registry[i].Name == name {
			return &registry[i]
		}
	}
	return nil
}

// Text is what the glossary says of the metric.
func (m *Metric) Text() string { return joined(m.Help, m.Details) }

// Text is what the glossary says of the statistic.
func (s *Statistic) Text() string { return joined(s.Help, s.Details) }

func joined(help, details string) string {
	if details == "" {
		return help
	}
	return help + " " + details
}

// entryOf returns the entry that a statistic belongs to, or the first entry of the metric if it
// has no such statistic, and what messages call the entry. It is nil for an unknown metric.
func entryOf(metric, statistic string) (m *Metric, called string) {
	main := Named(metric)
	if m, _ = Find(metric, statistic); m == nil || m == main {
		return main, metric
	}
	return m, statistic + " of " + metric
}

// names are the names of the metrics, each once.
func names() []string {
	var all []string
	for i := range registry {
		all = append(all, registry[i].Name)
	}
	return slices.Compact(all) // entries of the same name follow each other
}

// statisticNames are the names of all statistics of a metric, p with its argument.
func statisticNames(metric string) []string {
	var all []string
	for i := range registry {
		if registry[i].Name != metric {
			continue
		}
		for _, s := range registry[i].Statistics {
			all = append(all, s.printed())
		}
	}
	return all
}

// printed is the name as the documentation has it.
func (s *Statistic) printed() string {
	if s.Name == "p" {
		return "p(N)"
	}
	return s.Name
}

// requiredExample is the metric with the tag that it requires.
func (m *Metric) requiredExample() string {
	return m.Name + "{" + m.Required + ":" + keyOf(m.Required).Example + "}"
}

// keyOf returns the tag of a name, nil if there is none.
func keyOf(name string) *Key {
	for i := range keys {
		if keys[i].Name == name {
			return &keys[i]
		}
	}
	return nil
}

// example returns an expression for a metric, or for the first one if it is unknown.
func example(metric string) string {
	if m := Named(metric); m != nil {
		return m.Example
	}
	return registry[0].Example
}
