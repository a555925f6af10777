package result

import (
	"fmt"

	"apfsim/sim/metric"
	"apfsim/sim/server"
)

// Server has the statistics of one server. The requests are those that were sent to it.
type Server struct {
	Group
	KubernetesVersion string        `json:"kubernetesVersion"` // at the end of the run
	Stage             string        `json:"stage"`             // at the end of the run, see server.Stage
	ReadyShare        float64       `json:"readyShare"`        // share of the window in which it was ready
	Levels            []ServerLevel `json:"priorityLevels"`    // by name, those that it had in the window

	// ProcessorSeconds is the processor time that requests and events took, see server.ProcessorNs, and MostMemoryBytes the
	// most memory at one time, both within the window. They are omitted where the server has no such thing.
	ProcessorSeconds *float64 `json:"processorSeconds,omitempty"`
	MostMemoryBytes  *int64   `json:"mostMemoryBytes,omitempty"`

	Crashes int64 `json:"crashes,omitempty"` // within the window

	// Largest values in the window, at the ends of the intervals of the series; LeastSpeed is the smallest.
	// They are omitted where the server has no such gauge.
	MostInService   int     `json:"mostInService,omitempty"`
	LeastSpeed      float64 `json:"leastSpeed,omitempty"`
	MostConnections int     `json:"mostConnections,omitempty"`
	// MostConnectionsShare is the largest share that the server had of all connections, and when.
	MostConnectionsShare     float64 `json:"mostConnectionsShare,omitempty"`
	MostConnectionsShareAtNs int64   `json:"mostConnectionsShareAtNs,omitempty"`
	Connections              *int    `json:"connections,omitempty"` // when the run ended; omitted if there never was one

	SlowNs   int64     `json:"slowNs,omitempty"`   // of the window: the speed was below SlowSpeed and requests were in service
	Collapse *Collapse `json:"collapse,omitempty"` // omitted if there was none
}

// SlowSpeed is the speed of execution below which a server counts as slow.
const SlowSpeed = 0.5

// Collapse says that a server executed at least a quarter fewer requests per second while at least twice
// as many were in service as when its throughput had been highest before, though as many requests came or it was never
// idle. Both are means over some intervals, and differ significantly.
type Collapse struct {
	AtNs                  int64   `json:"atNs"` // the lower throughput
	ExecutedPerSecond     float64 `json:"executedPerSecond"`
	InService             float64 `json:"inService"`
	BestAtNs              int64   `json:"bestAtNs"` // the highest throughput before
	BestExecutedPerSecond float64 `json:"bestExecutedPerSecond"`
	BestInService         float64 `json:"bestInService"`
}

// ServerLevel has the statistics of a priority level at one server.
type ServerLevel struct {
	Name string `json:"name"`
	metric.Counts
	Limits             Limits       `json:"limits"`
	Utilisation        *Utilisation `json:"utilisation"` // null of an exempt level
	PeakSeats          int          `json:"peakSeats"`
	MeanWaiting        float64      `json:"meanWaiting"`
	ServiceSeatSeconds float64      `json:"serviceSeatSeconds"`
}

// Level returns the level with the fields that one has at a server.
func (l *ServerLevel) Level() Level {
	return Level{Group: Group{Name: l.Name, Counts: l.Counts}, Limits: l.Limits, Utilisation: l.Utilisation,
		PeakSeats: l.PeakSeats, MeanWaiting: l.MeanWaiting, ServiceSeatSeconds: l.ServiceSeatSeconds}
}

// Moment is something that happened to a server.
type Moment struct {
	AtNs   int64  `json:"atNs"`
	Server int    `json:"server"`          // AllServers for all
	What   string `json:"what"`            // one of the constants below, or what else was noted
	Lost   int64  `json:"lost,omitempty"`  // requests that were lost at this moment
	Stage  string `json:"stage,omitempty"` // of the server from then on; omitted if it did not change

	OutOfMemory bool    `json:"outOfMemory,omitempty"` // of Crashed: the server needed more memory than there is
	Factor      float64 `json:"-"`                     // of a change of the speed: that from then on; else 0
}

// AllServers is the index of a Moment that is about all servers.
const AllServers = -1

// Failure is a time in which requests were rejected, refused or lost. A pause of FailurePauseNs or more
// ends it. It covers the whole run, including the warm-up.
type Failure struct {
	FromNs   int64 `json:"fromNs"` // the first of the requests
	ToNs     int64 `json:"toNs"`   // the last
	Rejected int64 `json:"rejected"`
	Refused  int64 `json:"refused"`
	Lost     int64 `json:"lost"`
}

// FailurePauseNs is the length of a pause that ends a Failure, in a run of this length.
func FailurePauseNs(durationNs int64) int64 { return max(5_000_000_000, durationNs/100) }

// The moments of the life of a server.
const (
	Stopped      = "stopped"       // it was told to stop
	NotAccepting = "not accepting" // it answers new requests 429, or has closed its listener
	Drained      = "drained"       // what was in flight is over
	Gone         = "gone"          // the process has ended after it had stopped
	Crashed      = "crashed"       // the process has ended, or its node is gone, before it was told to stop
	Started      = "started"       // the process has started
	BecameReady  = "ready"

	NoticedDown = "the load balancer has noticed that it is not ready"
	NoticedUp   = "the load balancer has noticed that it is ready"

	Unlisted = "the Service kubernetes no longer lists it"
	Listed   = "the Service kubernetes lists it"
)

// NewMoment returns the change of a server from one stage to another.
func NewMoment(atNs int64, index int, from, to server.Stage) Moment {
	what := map[server.Stage]string{
		server.Starting: Started, server.Ready: BecameReady, server.Stopping: Stopped,
		server.NotAccepting: NotAccepting, server.Draining: Drained, server.Off: Gone,
	}[to]
	if to == server.Off && from <= server.Ready {
		what = Crashed
	}
	return Moment{AtNs: atNs, Server: index, What: what, Stage: to.String()}
}

// ServerSeries are the statistics of one server over time, in intervals of equal length. They cover
// the whole run, including the warm-up.
type ServerSeries struct {
	Server int
	Points []ServerPoint
	Levels []*Series // of its priority levels, without Jain's index and lengths of queues
}

// ServerPoint is one interval of a ServerSeries. Seats and requests are time-weighted means over the
// interval, the others are counts; stage and gauges are those at its end.
type ServerPoint struct {
	StartNs, EndNs int64
	Stage          server.Stage
	server.Gauges

	SeatsInUse        float64 // of levels with a limit
	Limit             float64 // their current limits
	WaitingRequests   float64
	ExecutingRequests float64 // of all levels
	Arrived           int64   // at flow control
	Executed          int64
	Rejected          int64
	Refused, Lost     int64

	// Of a run with a store: the events that were sent to watches, without the initial ones, and how long after
	// their commits those of the interval have reached the watch caches, on average.
	WatchEvents int64
	StalenessNs int64
}

// Seconds returns the length of the interval.
func (p *ServerPoint) Seconds() float64 { return float64(p.EndNs-p.StartNs) / 1e9 }

// Text writes what happened and to whom, as "server 1 stopped".
func (m *Moment) Text() string {
	who := "all servers"
	if m.Server != AllServers {
		who = fmt.Sprintf("server %d", m.Server)
	}
	text := who + ": " + m.What
	if m.Lost > 0 {
		text += ", " + RequestCount(m.Lost) + " lost"
	}
	return text
}

// seen says whether the moment is not what happens to a server, but when others know of it.
func (m *Moment) seen() bool {
	return m.What == NoticedDown || m.What == NoticedUp || m.What == Listed || m.What == Unlisted
}

// TimelineMarks returns the marks of what happened to servers. What happens to one server at the same
// time has one mark. The marks of servers that stop, end or become ready, and of speeds, are Events.
func TimelineMarks(timeline []Moment) (marks []Mark) {
	for i := range timeline {
		m := &timeline[i]
		event := m.Stage == "" && !m.seen() || m.What == Stopped || m.What == Gone || m.What == Crashed || m.What == BecameReady
		if i > 0 && m.AtNs == timeline[i-1].AtNs && m.Server == timeline[i-1].Server {
			last := &marks[len(marks)-1]
			last.Text += ", " + m.What
			last.Event = last.Event || event
			continue
		}
		marks = append(marks, Mark{AtNs: m.AtNs, Event: event, Text: m.Text()})
	}
	return marks
}
