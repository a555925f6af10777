//go:build k8s28 && !k8s28_0

package driver

import (
	"net/http"

	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/flowcontrol"
)

// withFlowControl returns the filter of flow control with its estimator. It gives each request its own
// wait limit.
func (s *server) withFlowControl(h http.Handler, control flowcontrol.Interface, stop <-chan struct{}) http.Handler {
	return filters.WithPriorityAndFairness(h, longRunning, control,
		noteEstimates(newEstimator(control, s.trial.Resources, stop)), s.trial.waitLimit())
}
