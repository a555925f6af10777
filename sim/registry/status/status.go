// Package status makes answers Statuses, as kube-apiserver does.
package status

import "apfsim/sim/api"

// The reasons of a Status, besides None (k8s.io/apimachinery, pkg/apis/meta/v1/types.go).
const (
	None            = "" // of an error of the server's code that is no Status: 500
	BadRequest      = "BadRequest"
	NotFound        = "NotFound"
	Conflict        = "Conflict"
	AlreadyExists   = "AlreadyExists"
	Expired         = "Expired"
	Invalid         = "Invalid"
	TooManyRequests = "TooManyRequests"
	Timeout         = "Timeout"
)

// statusOf has the HTTP status of each reason.
var statusOf = map[string]int{
	BadRequest: 400, NotFound: 404, Conflict: 409, AlreadyExists: 409, Expired: 410,
	Invalid: 422, TooManyRequests: 429, Timeout: 504, None: 500,
}

// Refuse makes the answer a Status with a reason.
func Refuse(a *api.Answer, reason string) {
	rounds, source := a.Rounds, a.Source
	*a = api.Answer{Status: statusOf[reason], Reason: reason, Items: -1, Rounds: rounds, Source: source}
}

// InvalidField makes the answer one that says what is wrong with a parameter or field.
func InvalidField(a *api.Answer, cause, field string) {
	Refuse(a, Invalid)
	a.Causes = []api.Cause{{Reason: cause, Field: field}}
}

// TooLarge makes the answer that of a version that is ahead (storage.NewTooLargeResourceVersionError). A
// watch cache has waited for it, and says that the client may retry; etcd does not.
func TooLarge(a *api.Answer, fromCache bool) {
	Refuse(a, Timeout)
	a.Causes = []api.Cause{{Reason: "ResourceVersionTooLarge", Message: "Too large resource version"}}
	if fromCache {
		a.RetryAfterSeconds = 1
	}
}
