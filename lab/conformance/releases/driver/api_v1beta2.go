//go:build k8s23 && !k8s26

package driver

import (
	flowcontrolapi "k8s.io/api/flowcontrol/v1beta2"
	"k8s.io/client-go/kubernetes/fake"
	flowcontrolclient "k8s.io/client-go/kubernetes/typed/flowcontrol/v1beta2"
)

type (
	flowSchema    = flowcontrolapi.FlowSchema
	priorityLevel = flowcontrolapi.PriorityLevelConfiguration
)

const sharesField = "assuredConcurrencyShares"

func apiClient(c *fake.Clientset) flowcontrolclient.FlowcontrolV1beta2Interface {
	return c.FlowcontrolV1beta2()
}
