package api

// The reasons of a Status, besides NoReason (k8s.io/apimachinery, pkg/apis/meta/v1/types.go).
const (
	NoReason        = "" // of an error of the server's code that is no Status: 500
	BadRequest      = "BadRequest"
	NotFound        = "NotFound"
	Conflict        = "Conflict"
	AlreadyExists   = "AlreadyExists"
	Expired         = "Expired"
	Invalid         = "Invalid"
	TooManyRequests = "TooManyRequests"
	Timeout         = "Timeout"
)

// statusOfReason has the HTTP status of each reason.
var statusOfReason = map[string]int{
	BadRequest: 400, NotFound: 404, Conflict: 409, AlreadyExists: 409, Expired: 410,
	Invalid: 422, TooManyRequests: 429, Timeout: 504, NoReason: 500,
}

// Refuse makes the answer a Status with a reason, as kube-apiserver does.
func (a *Answer) Refuse(reason string) {
	rounds, source := a.Rounds, a.Source
	*a = Answer{Status: statusOfReason[reason], Reason: reason, Items: -1, Rounds: rounds, Source: source}
}

// RefuseField makes the answer one that says what is wrong with a parameter or field.
func (a *Answer) RefuseField(cause, field string) {
	a.Refuse(Invalid)
	a.Causes = []Cause{{Reason: cause, Field: field}}
}

// RefuseTooLarge makes the answer that of a version that is ahead (storage.NewTooLargeResourceVersionError). A
// watch cache has waited for it, and says that the client may retry; etcd does not.
func (a *Answer) RefuseTooLarge(fromCache bool) {
	a.Refuse(Timeout)
	a.Causes = []Cause{{Reason: "ResourceVersionTooLarge", Message: "Too large resource version"}}
	if fromCache {
		a.RetryAfterSeconds = 1
	}
}
