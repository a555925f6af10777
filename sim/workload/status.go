package workload

import (
	"slices"

	"apfsim/sim/api"
)

// The statuses that reflectors know.
const (
	statusOK              = 200
	statusGone            = 410
	statusTooManyRequests = 429
)

// tooLarge says whether a version was newer than what the server has (tools/cache/reflector.go,
// isTooLargeResourceVersionError).
func tooLarge(a *api.Answer) bool {
	return slices.ContainsFunc(a.Causes, func(c api.Cause) bool { return c.Reason == "ResourceVersionTooLarge" })
}
