//go:build k8s28 && !k8s28_0

package driver

import (
	"time"

	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// newControl returns a controller without a wait limit: the filter gives each request its own.
func newControl(f informers.SharedInformerFactory, c *fake.Clientset, seats int, _ time.Duration) flowcontrol.Interface {
	return flowcontrol.New(f, apiClient(c), seats)
}
