package incident

// Source is a file of a diagnosis, and what it was taken for.
type Source struct {
	File      string   `json:"file"`
	Kind      Kind     `json:"kind"`
	From      string   `json:"from"`      // the first time that it is about, RFC 3339; "" if it does not say it
	To        string   `json:"to"`        // the last time
	Instances []string `json:"instances"` // the servers that it is about, if it names them
}

// Kind is what a file is, which its content shows.
type Kind string

// The kinds of files. The logs of servers are AuditLog and HTTPLog; a file with both is that of its first request.
const (
	AuditLog        Kind = "audit-log"
	HTTPLog         Kind = "httplog"
	Metrics         Kind = "metrics"         // the text of /metrics, of Prometheus or OpenMetrics
	QueryRange      Kind = "query-range"     // the answer of Prometheus to a range query, as JSON
	QueryInstant    Kind = "query-instant"   // the answer of Prometheus to an instant query, as JSON
	TSDBDump        Kind = "tsdb-dump"       // lines of promtool tsdb dump
	DumpLevels      Kind = "dump-levels"     // of /debug/api_priority_and_fairness/dump_priority_levels
	DumpQueues      Kind = "dump-queues"     // of dump_queues
	DumpRequests    Kind = "dump-requests"   // of dump_requests
	Objects         Kind = "objects"         // FlowSchemas and PriorityLevelConfigurations
	ClientLog       Kind = "client-log"      // of a client, which waited for its own rate limit or was told to wait
	APIRequestCount Kind = "apirequestcount" // objects of OpenShift
	Version         Kind = "version"         // what kubectl version prints, or /version serves
	Archive         Kind = "archive"         // a tar archive of such files
	Empty           Kind = "empty"
	Other           Kind = "unknown" // none of these
)

// SchemaUse is what the metrics of a server say of the requests of a FlowSchema at a priority level. What they do not say is null.
type SchemaUse struct {
	FlowSchema    string             `json:"flowSchema"`
	PriorityLevel string             `json:"priorityLevel"`
	Instance      string             `json:"instance,omitempty"` // of several servers
	Rate          *float64           `json:"rate"`               // requests per second that were dispatched or rejected
	Requests      *float64           `json:"requests"`           // that were dispatched or rejected
	Rejected      map[string]float64 `json:"rejected"`           // by reason
	WaitP99       *[2]*float64       `json:"waitP99"`            // seconds, the bounds of its bucket; the upper one is null in the last bucket
	Seats         *float64           `json:"seats"`              // in use, the mean of the samples
	OfUse         *float64           `json:"ofUse"`              // its part of the seats in use at the level
}

// LevelUse is what the metrics of a server say of a priority level. What they do not say is null.
type LevelUse struct {
	PriorityLevel string             `json:"priorityLevel"`
	Instance      string             `json:"instance,omitempty"` // of several servers
	Requests      *float64           `json:"requests"`           // that were dispatched or rejected
	Rejected      map[string]float64 `json:"rejected"`           // by reason
	WaitP99       *[2]*float64       `json:"waitP99"`            // as SchemaUse.WaitP99
	Used          *float64           `json:"used"`               // seats in use, of the current limit; the average over the time
	Full          *float64           `json:"full"`               // the part of the time in which all of them were in use
	Demand        *float64           `json:"demand"`             // seats in use and wanted, of the current limit; the average over the time
	Nominal       *float64           `json:"nominal"`            // seats
	Current       *[2]float64        `json:"current"`            // the lowest and the highest current limit at the samples
}
