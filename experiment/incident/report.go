package incident

import (
	"slices"

	"apfsim/core/request"
	"apfsim/core/rules"
	"apfsim/reports/result"
	"apfsim/sim/trace/requests"
)

// Report says what an import has read, derived, drawn and not found, in numbers.
type Report struct {
	SchemaVersion     string `json:"schemaVersion"`
	KubernetesVersion string `json:"kubernetesVersion"` // the release of the servers of the scenario
	VersionFrom       string `json:"versionFrom"`       // where it comes from: one of the constants
	// VersionNote says that the server has another release, which is taken as this one.
	VersionNote string `json:"versionNote,omitempty"`

	Files   []requests.File  `json:"files"`
	Entries requests.Entries `json:"entries"`
	Servers []Server         `json:"servers"` // whose requests are in the logs
	Server  string           `json:"server"`  // whose requests are in the trace; empty if the logs name no server

	Start      string `json:"start"` // time 0 of the trace, RFC 3339
	DurationNs int64  `json:"durationNs"`
	// AdjustmentPhaseNs is when the server first adjusted its limits after the start; nil if the log
	// does not say it.
	AdjustmentPhaseNs *int64 `json:"adjustmentPhaseNs"`

	Requests Requests       `json:"requests"`
	Logs     requests.Logs  `json:"logs"`
	Verbs    []Count        `json:"verbs"`  // in the trace
	Levels   []LevelCounts  `json:"levels"` // in the trace, as the log says it
	Outcomes Outcomes       `json:"outcomes"`
	Times    ExecutionTimes `json:"executionTimes"`
	Drawn    Drawn          `json:"drawn"`
	Waits    Waits          `json:"waits"`
	Watches  Watches        `json:"watches"`
	Users    Users          `json:"users"`
	// CompleteUntilNs is the time of the trace up to which every request that arrived has ended in the log, as far as its
	// waits show. Others that arrived later may not be in the log.
	CompleteUntilNs int64 `json:"completeUntilNs"`
	// QueuesFull says that queues were already full when the trace begins, with requests that are not in it.
	QueuesFull bool `json:"queuesFull"`
	// Stamps is why the times of the logs do not say how long requests took: StampsEqual or StampsSeconds; "" if they do.
	Stamps string `json:"stamps,omitempty"`
	// SeatsUnknown are the requests under flow control whose seats the log does not have.
	SeatsUnknown int64     `json:"seatsUnknown"`
	Check        Check     `json:"check"`
	Settings     []Setting `json:"settings"` // of the scenario
	// Replay compares a run of the scenario with the logs.
	Replay *result.Replay `json:"replay"`

	// What a diagnosis is made of.
	sources    []Source
	clients    []*LoggedClient
	executions map[string]*executions // by priority level
	rules      *rules.Rules
	result     *result.Result // of the run that Replay is of
	startNs    int64          // time 0 of the trace, since 1970
	intervalNs int64          // of what clients sent over time
	gapFromNs  int64          // from when to when no request arrived that some should have; 0 if there is no such time
	gapToNs    int64
	configured bool // the objects of the server were given
	limits     bool // the limits of the server are known
	stored     bool // the numbers of objects are known
}

// Server is a server whose requests are in the logs.
type Server struct {
	Name     string `json:"name"`
	Requests int64  `json:"requests"`
}

// Requests are numbers of requests. Total is the sum of InTrace and of all that is left out.
type Requests struct {
	Total   int64   `json:"total"`
	InTrace int64   `json:"inTrace"`
	LeftOut []Count `json:"leftOut"` // by reason
}

// leaveOut counts a request that is not in the trace.
func (r *Requests) leaveOut(reason string) { r.LeftOut = addCount(r.LeftOut, reason) }

// Count is a number of requests.
type Count struct {
	Of       string `json:"of"`
	Requests int64  `json:"requests"`
}

// addCount adds one to the count with a name.
func addCount(all []Count, name string) []Count {
	i := slices.IndexFunc(all, func(c Count) bool { return c.Of == name })
	if i < 0 {
		i, all = len(all), append(all, Count{Of: name})
	}
	all[i].Requests++
	return all
}

// LevelCounts are the requests of a priority level, as the log says it.
type LevelCounts struct {
	PriorityLevel string `json:"priorityLevel"`
	Dispatched    int64  `json:"dispatched"`
	Rejected      int64  `json:"rejected"`
}

// Outcomes are the numbers of requests in the trace by what became of them.
type Outcomes struct {
	Executed   int64 `json:"executed"`
	Rejected   int64 `json:"rejected"` // by flow control
	WithoutEnd int64 `json:"withoutEnd"`
	// OtherTooManyRequests are executed requests whose handler responded 429.
	OtherTooManyRequests int64 `json:"otherTooManyRequests"`
}

// ExecutionTimes are the numbers of requests in the trace by the source of their execution time.
type ExecutionTimes struct {
	Drawn         int64 `json:"drawn"`
	Measured      int64 `json:"measured"`
	TotalLessWait int64 `json:"totalLessWait"`
	TotalWithWait int64 `json:"totalWithWait"`
	UntilStarted  int64 `json:"untilResponseStarted"`
	Lifetime      int64 `json:"lifetime"`
	OpenBefore    int64 `json:"openBefore"`
}

// Drawn are the numbers of requests whose execution time is drawn from those of other requests.
type Drawn struct {
	Rejected   int64 `json:"rejected"`
	WithoutEnd int64 `json:"withoutEnd"`
	Watches    int64 `json:"watches"`

	FromUser     int64 `json:"fromUserVerbResource"`
	FromResource int64 `json:"fromVerbResource"`
	FromVerb     int64 `json:"fromVerb"`
	FromAny      int64 `json:"fromAny"`
	None         int64 `json:"none"` // without any other request, the execution time is 0
}

// Waits are the numbers of executed requests in the trace whose wait is known or not.
type Waits struct {
	Known         int64 `json:"known"`
	UnknownShort  int64 `json:"unknownUpTo500ms"` // an audit log does not have the waits of such requests
	UnknownLonger int64 `json:"unknownLonger"`
}

// Watches are numbers of watches in the trace.
type Watches struct {
	Total      int64 `json:"total"`
	OpenBefore int64 `json:"openBefore"` // at time 0
	WithoutEnd int64 `json:"withoutEnd"`
}

// Users are numbers of requests in the trace by what is known of their users.
type Users struct {
	Known         int64 `json:"known"`
	Learned       int64 `json:"learned"` // from address and user agent
	Unknown       int64 `json:"unknown"`
	GroupsUnknown int64 `json:"groupsUnknown"` // of those that are known
}

// Check compares what flow control decides here with what the server logged.
type Check struct {
	Requests      int64        `json:"requests"`    // with a line that says what was decided
	WithoutUser   int64        `json:"withoutUser"` // such requests that cannot be compared
	FlowSchema    Agreement    `json:"flowSchema"`
	PriorityLevel Agreement    `json:"priorityLevel"`
	Seats         Agreement    `json:"seats"`
	FinalSeats    Agreement    `json:"finalSeats"`
	Differences   []Difference `json:"differences"` // the first ones
}

// Agreement says how often a decision was the same.
type Agreement struct {
	Compared int64 `json:"compared"`
	Equal    int64 `json:"equal"`
}

// Difference is a decision that differs.
type Difference struct {
	At      string `json:"at"` // file:line
	Field   string `json:"field"`
	Logged  string `json:"logged"`
	Decided string `json:"decided"`
}

// Setting is a setting of the scenario and where it comes from.
type Setting struct {
	Field  string `json:"field"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// newReport returns a report without empty lists, which JSON would show as null.
func newReport() *Report {
	return &Report{SchemaVersion: result.SchemaVersion, Files: []requests.File{}, Servers: []Server{}, Requests: Requests{LeftOut: []Count{}},
		Verbs: verbCounts(), Levels: []LevelCounts{}, Check: Check{Differences: []Difference{}}, Settings: []Setting{}}
}

// verbCounts returns a count of 0 for each verb of resources: a verb that an audit policy leaves out
// remains 0.
func verbCounts() (all []Count) {
	for _, v := range request.Verbs {
		all = append(all, Count{Of: v})
	}
	return append(all, Count{Of: otherVerbs})
}

// otherVerbs are those of requests that are not for a resource.
const otherVerbs = "not for a resource"

// missingVerbs returns the verbs of which no request is in the trace.
func (r *Report) missingVerbs() (missing []string) {
	for _, v := range r.Verbs {
		if v.Requests == 0 && v.Of != otherVerbs {
			missing = append(missing, v.Of)
		}
	}
	return missing
}
