//go:build k8s21

package driver

import (
	"net/http"
	"time"

	endpointfilters "k8s.io/apiserver/pkg/endpoints/filters"
)

// withDeadline returns the filter that gives each request its deadline.
func withDeadline(h http.Handler, timeout time.Duration) http.Handler {
	return endpointfilters.WithRequestDeadline(h, nil, nil, longRunning, nil, timeout)
}
