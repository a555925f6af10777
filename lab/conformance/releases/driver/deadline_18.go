//go:build !k8s21

package driver

import (
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/server/filters"
)

// withDeadline returns the filter of timeouts. In these releases it is what ends requests that wait.
func withDeadline(h http.Handler, timeout time.Duration) http.Handler {
	return filters.WithTimeoutForNonLongRunningRequests(h, longRunning, timeout)
}
