package trace

// field is one of the fields of a line.
type field uint8

// The fields of a trace, in the order in which they are written, and then those that a request
// log adds.
const (
	fieldID field = iota
	fieldArrivalNs
	fieldUser
	fieldGroups
	fieldVerb
	fieldAPIGroup
	fieldResource
	fieldSubresource
	fieldNamespace
	fieldName
	fieldPath
	fieldQuery
	fieldExecutionNs
	fieldWatchNs
	fieldServer
	fieldBodyResourceVersion
	fieldBodyUID
	fieldFinalizers
	fieldDryRun
	fieldFieldManager
	fieldFields
	fieldPreconditions
	fieldPatchType

	fieldWorkload
	fieldClient
	fieldFlowSchema
	fieldPriorityLevel
	fieldFlow
	fieldQueue
	fieldOutcome
	fieldReason
	fieldAttempt
	fieldDispatchNs
	fieldFinishNs
	fieldWaitNs
	fieldSeats
	fieldFinalSeats
	fieldAdditionalLatencyNs
	fieldRetryAfterSeconds
	fieldAnsweredNs
	fieldStatus
	fieldStatusReason
	fieldResourceVersion
	fieldItems
	fieldContinue
	fieldServedFrom
	fieldRounds
	fieldWrote
	fieldParent

	allFields
	traceFields = fieldWorkload // the number of fields of a trace
)

// names is the one list of the fields: the reader and the writer both use it.
var names = [allFields]string{
	fieldID:          "id",
	fieldArrivalNs:   "arrivalNs",
	fieldUser:        "user",
	fieldGroups:      "groups",
	fieldVerb:        "verb",
	fieldAPIGroup:    "apiGroup",
	fieldResource:    "resource",
	fieldSubresource: "subresource",
	fieldNamespace:   "namespace",
	fieldName:        "name",
	fieldPath:        "path",
	fieldQuery:       "query",
	fieldExecutionNs: "executionNs",
	fieldWatchNs:     "watchNs",
	fieldServer:      "server",

	fieldBodyResourceVersion: "bodyResourceVersion",
	fieldBodyUID:             "bodyUID",
	fieldFinalizers:          "finalizers",
	fieldDryRun:              "dryRun",
	fieldFieldManager:        "fieldManager",
	fieldFields:              "fields",
	fieldPreconditions:       "preconditions",
	fieldPatchType:           "patchType",

	fieldWorkload:            "workload",
	fieldClient:              "client",
	fieldFlowSchema:          "flowSchema",
	fieldPriorityLevel:       "priorityLevel",
	fieldFlow:                "flow",
	fieldQueue:               "queue",
	fieldOutcome:             "outcome",
	fieldReason:              "reason",
	fieldAttempt:             "attempt",
	fieldDispatchNs:          "dispatchNs",
	fieldFinishNs:            "finishNs",
	fieldWaitNs:              "waitNs",
	fieldSeats:               "seats",
	fieldFinalSeats:          "finalSeats",
	fieldAdditionalLatencyNs: "additionalLatencyNs",
	fieldRetryAfterSeconds:   "retryAfterSeconds",
	fieldAnsweredNs:          "answeredNs",
	fieldStatus:              "status",
	fieldStatusReason:        "statusReason",
	fieldResourceVersion:     "resourceVersion",
	fieldItems:               "items",
	fieldContinue:            "continue",
	fieldServedFrom:          "servedFrom",
	fieldRounds:              "rounds",
	fieldWrote:               "wrote",
	fieldParent:              "parent",
}

// starts is what a line has before each value: the comma or brace, the name and the colon.
var starts = func() (all [allFields]string) {
	for f, name := range names {
		all[f] = `,"` + name + `":`
	}
	all[fieldID] = `{"` + names[fieldID] + `":`
	return all
}()

// members is how a member of each field begins: with its name and the colon.
var members = func() (all [allFields]string) {
	for f, name := range names {
		all[f] = `"` + name + `":`
	}
	return all
}()

// find returns the field of a name, allFields if there is none.
func find(name []byte) field {
	for f := range allFields {
		if names[f] == string(name) {
			return f
		}
	}
	return allFields
}

// kindFields has a bit for each field that makes up a Kind.
const kindFields uint32 = 1<<(fieldQuery+1) - 1<<fieldUser

// askedFields has a bit for each field that makes up an Asked.
const askedFields uint32 = 1<<(fieldPatchType+1) - 1<<fieldBodyResourceVersion

// ofAsked says whether the field is one of those that make up an Asked.
func (f field) ofAsked() bool { return f >= fieldBodyResourceVersion && f <= fieldPatchType }

// ofKind says whether the field is one of those that make up a Kind.
func (f field) ofKind() bool { return f >= fieldUser && f <= fieldQuery }
