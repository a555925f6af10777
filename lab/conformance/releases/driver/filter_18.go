//go:build !k8s22

package driver

import (
	"net/http"

	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/flowcontrol"
)

// withFlowControl returns the filter of flow control. Each request takes one seat.
func (s *server) withFlowControl(h http.Handler, control flowcontrol.Interface, _ <-chan struct{}) http.Handler {
	return filters.WithPriorityAndFairness(h, longRunning, noter{control})
}
