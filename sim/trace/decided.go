package trace

import "apfsim/sim/quantity"

// DecidedByLog is the value of traffic.TraceArrivals.Decided.
const DecidedByLog = "Log"

// Server describes the server that logged a trace. A replay takes from the log only what the server
// would decide as well, see scenario.Decided.
type Server struct {
	KubernetesVersion string            `json:"kubernetesVersion,omitempty" jsonschema_description:"The release whose rules estimated the seats. If servers of another release estimate them differently, they do so in the replay."`
	Configuration     string            `json:"configuration,omitempty" jsonschema_description:"A digest of its flow-control objects. If the configuration is another one, it decides about FlowSchemas and priority levels in the replay."`
	CompleteUntil     quantity.Duration `json:"completeUntil,omitempty" jsonschema_description:"Requests that arrive later are not compared with the log, because others of that time had not ended when the log ended, and are not in it. 0s: all are compared."`
	Start             quantity.Instant  `json:"start,omitempty" jsonschema_description:"The time of day at which the trace begins. Reports have times of day then."`
	Unknown           []string          `json:"unknown,omitempty" jsonschema:"enum=limits,enum=adjustmentPhase,enum=executions,enum=seats,enum=users,enum=waits,enum=queues" jsonschema_description:"What the logs do not say of it, as reasons for a replay that differs from its log."`
}

// What a log may not say, see Server.
const (
	UnknownLimits     = "limits"          // of the priority levels
	UnknownPhase      = "adjustmentPhase" // when the server adjusted its limits
	UnknownExecutions = "executions"      // how long requests executed
	UnknownSeats      = "seats"           // of the requests
	UnknownUsers      = "users"           // or their groups
	UnknownWaits      = "waits"           // of the executed requests
	UnknownQueues     = "queues"          // what was in the queues when the log begins: they were full
)
