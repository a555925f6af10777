//go:build k8s26 && !k8s29

package driver

import (
	flowcontrolapi "k8s.io/api/flowcontrol/v1beta3"
	"k8s.io/client-go/kubernetes/fake"
	flowcontrolclient "k8s.io/client-go/kubernetes/typed/flowcontrol/v1beta3"
)

type (
	flowSchema    = flowcontrolapi.FlowSchema
	priorityLevel = flowcontrolapi.PriorityLevelConfiguration
)

const sharesField = "nominalConcurrencyShares"

func apiClient(c *fake.Clientset) flowcontrolclient.FlowcontrolV1beta3Interface {
	return c.FlowcontrolV1beta3()
}
