//go:build k8s22

package old

import (
	"context"
	"net/http"
	"time"

	endpointfilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// flowControl is the filter of flow control.
func flowControl(h http.Handler, control flowcontrol.Interface) http.Handler {
	return filters.WithPriorityAndFairness(h, longRunning, control, request.WidthEstimatorFunc(request.DefaultWidthEstimator))
}

// deadline is the filter that gives a request its deadline.
func deadline(h http.Handler, timeout time.Duration) http.Handler {
	return endpointfilters.WithRequestDeadline(h, nil, nil, longRunning, nil, timeout)
}

func watchInitialized(ctx context.Context) { flowcontrol.WatchInitialized(ctx) }
