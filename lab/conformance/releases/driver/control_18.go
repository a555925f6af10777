//go:build !k8s28 && !k8s26_0

package driver

import (
	"time"

	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// newControl returns a controller with one wait limit for all requests.
func newControl(f informers.SharedInformerFactory, c *fake.Clientset, seats int, wait time.Duration) flowcontrol.Interface {
	return flowcontrol.New(f, apiClient(c), seats, wait)
}
