//go:build k8s28 && !k8s28_0

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

// The filter gives each request its own wait limit.

func newControl(f informers.SharedInformerFactory, c *fake.Clientset, seats int, _ time.Duration) flowcontrol.Interface {
	return flowcontrol.New(f, apiClient(c), seats)
}

func withPriorityAndFairness(h http.Handler, c flowcontrol.Interface, e workestimate.WorkEstimatorFunc, wait time.Duration) http.Handler {
	return noteDeadline(filters.WithPriorityAndFairness(h, longRunning, c, e, wait))
}
