//go:build k8s26_0 || k8s28_0

package driver

import (
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	fqs "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// startingClock advances by a microsecond at each reading during the first five seconds, in which the
// controller starts. In these releases an adjustment makes the smoothed demand of a level NaN if no
// time has passed since the one before, which happens in a bubble but not in a server.
type startingClock struct {
	start    time.Time
	readings atomic.Int64
}

func (c *startingClock) Now() time.Time {
	now := time.Now()
	if now.Sub(c.start) < 5*time.Second {
		return now.Add(time.Duration(c.readings.Add(1)) * time.Microsecond)
	}
	return now
}

func (c *startingClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// newControl returns a controller as flowcontrol.New does, with another clock.
func newControl(f informers.SharedInformerFactory, c *fake.Clientset, seats int, wait time.Duration) flowcontrol.Interface {
	return flowcontrol.NewTestable(flowcontrol.TestableConfig{
		Name:                   "Controller",
		Clock:                  &startingClock{start: time.Now()},
		AsFieldManager:         flowcontrol.ConfigConsumerAsFieldManager,
		FoundToDangling:        func(found bool) bool { return !found },
		InformerFactory:        f,
		FlowcontrolClient:      apiClient(c),
		ServerConcurrencyLimit: seats,
		RequestWaitLimit:       wait,
		ReqsGaugeVec:           metrics.PriorityLevelConcurrencyGaugeVec,
		ExecSeatsGaugeVec:      metrics.PriorityLevelExecutionSeatsGaugeVec,
		QueueSetFactory:        fqs.NewQueueSetFactory(eventclock.Real{}),
	})
}
