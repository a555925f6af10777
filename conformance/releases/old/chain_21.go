//go:build k8s21 && !k8s22

package old

import (
	"context"
	"net/http"
	"time"

	endpointfilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/flowcontrol"
)

// flowControl is the filter of flow control.
func flowControl(h http.Handler, control flowcontrol.Interface) http.Handler {
	return filters.WithPriorityAndFairness(h, longRunning, control)
}

// deadline is the filter that gives a request its deadline.
func deadline(h http.Handler, timeout time.Duration) http.Handler {
	return endpointfilters.WithRequestDeadline(h, nil, nil, longRunning, nil, timeout)
}

// watchInitialized does nothing: watches bypass flow control.
func watchInitialized(context.Context) {}
