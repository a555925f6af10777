//go:build k8s29

package driver

import (
	flowcontrolapi "k8s.io/api/flowcontrol/v1"
	"k8s.io/client-go/kubernetes/fake"
	flowcontrolclient "k8s.io/client-go/kubernetes/typed/flowcontrol/v1"
)

type (
	flowSchema    = flowcontrolapi.FlowSchema
	priorityLevel = flowcontrolapi.PriorityLevelConfiguration
)

const sharesField = "nominalConcurrencyShares"

func apiClient(c *fake.Clientset) flowcontrolclient.FlowcontrolV1Interface { return c.FlowcontrolV1() }
