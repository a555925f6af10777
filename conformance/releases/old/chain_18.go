//go:build !k8s21

package old

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/flowcontrol"
)

// flowControl is the filter of flow control.
func flowControl(h http.Handler, control flowcontrol.Interface) http.Handler {
	return filters.WithPriorityAndFairness(h, longRunning, control)
}

// deadline is the filter that ends a request after the time-out of the server.
func deadline(h http.Handler, timeout time.Duration) http.Handler {
	return filters.WithTimeoutForNonLongRunningRequests(h, longRunning, timeout)
}

// watchInitialized does nothing: watches bypass flow control.
func watchInitialized(context.Context) {}
