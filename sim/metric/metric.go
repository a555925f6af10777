// Package metric is the registry of what a run measures: each metric with its statistics, their
// units and tags. Thresholds, the names of statistics on the command line, error messages,
// suggestions, the lists of statistics, the glossary, the JSON Schema and the reference
// documentation all read it, so that a metric or a statistic is added by one entry here and one
// in package statistics, which says how it is read from the result of a run.
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
	Reasons    []string    // the values of the tag reason, instead of those of Key
	Example    string      // an expression of a threshold

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
	// Alias is the statistic of the same metric that this is another name of; "" if it is none.
	Alias string
}

// Unit is what a statistic is measured in.
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
	// Values are the values that there are in every run; nil if they depend on the scenario.
	Values []string
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

// TimedOutReason is the value of the tag reason for requests that timed out in the queue.
var TimedOutReason = queueset.TimedOut.String()

// keys are the tags in the order of the reference documentation.
var keys = []Key{
	{Name: TagWorkload, Help: "The workload of the scenario that sent the requests.", Example: "mice"},
	{Name: TagFlowSchema, Help: "The FlowSchema that the requests matched.", Example: "service-accounts", FlowControl: true},
	{Name: TagPriorityLevel, Help: "The priority level that the requests were assigned to.", Example: "workload-low", FlowControl: true},
	{Name: TagFlow, Help: "The flow: its FlowSchema and, after a slash, its distinguisher.",
		Example: "service-accounts/system:serviceaccount:team-1:default", FlowControl: true},
	{Name: TagServer, Help: "The server that the requests were sent to, by its index from 0.", Example: "1"},
	{Name: TagReason, Help: "Why the requests were rejected or, of the metric `refused`, refused.", Example: queueset.QueueFull.String(), Values: reasons()},
	{Name: TagStatus, Help: "The status of HTTP that the requests were answered with, " + NoAnswer + " where the client received no answer.", Example: "504"},
}

// NoAnswer is the value of the tag status of requests whose client received no answer.
const NoAnswer = "none"

// The reasons of refusals are those of sim/server.Refusal, which imports what imports this package.
var refusals = []string{"connection-refused", "connection-reset", "shutting-down", "not-ready"}

func reasons() []string {
	var all []string
	for r := queueset.Rejection(1); r < queueset.Rejections; r++ { // 0 is no rejection
		if r != queueset.Cancelled { // counts as TimedOut, see server.Request.AtDeadline
			all = append(all, r.String())
		}
	}
	return all
}

// All returns the metrics in the order of messages and of the reference documentation.
func All() []Metric { return slices.Clone(registry) }

// Keys returns the tags.
func Keys() []Key { return slices.Clone(keys) }

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

// Counts says in a few words what a count counts.
func (s *Statistic) Counts() string {
	return strings.TrimSuffix(strings.TrimPrefix(s.Help, "Number of "), ".")
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

// first returns the first entry of a name, nil if there is none.
func first(name string) *Metric {
	for i := range registry {
		if registry[i].Name == name {
			return &registry[i]
		}
	}
	return nil
}

// entryOf returns the entry that a statistic belongs to, or the first entry of the metric if it
// has no such statistic, and what messages call the entry. It is nil for an unknown metric.
func entryOf(metric, statistic string) (m *Metric, called string) {
	main := first(metric)
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
	if m := first(metric); m != nil {
		return m.Example
	}
	return registry[0].Example
}
