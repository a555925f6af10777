//go:build !k8s20

package old

import (
	flowcontrol "k8s.io/api/flowcontrol/v1alpha1"
	"k8s.io/client-go/kubernetes/fake"
	typed "k8s.io/client-go/kubernetes/typed/flowcontrol/v1alpha1"
)

type (
	flowSchema    = flowcontrol.FlowSchema
	priorityLevel = flowcontrol.PriorityLevelConfiguration
)

const exempt = flowcontrol.PriorityLevelEnablementExempt

func api(client *fake.Clientset) typed.FlowcontrolV1alpha1Interface {
	return client.FlowcontrolV1alpha1()
}
