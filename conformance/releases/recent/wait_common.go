//go:build !k8s28 || k8s28_0

package recent

import (
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	workestimate "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// The controller has one wait limit for all requests.

func newControl(f informers.SharedInformerFactory, c *fake.Clientset, seats int, wait time.Duration) flowcontrol.Interface {
	return flowcontrol.New(f, apiClient(c), seats, wait)
}

func withPriorityAndFairness(h http.Handler, c flowcontrol.Interface, e workestimate.WorkEstimatorFunc, _ time.Duration) http.Handler {
	return noteDeadline(filters.WithPriorityAndFairness(h, longRunning, c, e))
}
