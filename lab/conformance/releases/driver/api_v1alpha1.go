//go:build !k8s20

package driver

import (
	flowcontrolapi "k8s.io/api/flowcontrol/v1alpha1"
	"k8s.io/client-go/kubernetes/fake"
	flowcontrolclient "k8s.io/client-go/kubernetes/typed/flowcontrol/v1alpha1"
)

type (
	flowSchema    = flowcontrolapi.FlowSchema
	priorityLevel = flowcontrolapi.PriorityLevelConfiguration
)

const sharesField = "assuredConcurrencyShares"

func apiClient(c *fake.Clientset) flowcontrolclient.FlowcontrolV1alpha1Interface {
	return c.FlowcontrolV1alpha1()
}
