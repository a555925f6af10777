//go:build k8s20 && !k8s23

package driver

import (
	flowcontrolapi "k8s.io/api/flowcontrol/v1beta1"
	"k8s.io/client-go/kubernetes/fake"
	flowcontrolclient "k8s.io/client-go/kubernetes/typed/flowcontrol/v1beta1"
)

type (
	flowSchema    = flowcontrolapi.FlowSchema
	priorityLevel = flowcontrolapi.PriorityLevelConfiguration
)

const sharesField = "assuredConcurrencyShares"

func apiClient(c *fake.Clientset) flowcontrolclient.FlowcontrolV1beta1Interface {
	return c.FlowcontrolV1beta1()
}
