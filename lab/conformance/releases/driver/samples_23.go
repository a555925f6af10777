//go:build k8s23 && !k8s25

package driver

import (
	"time"

	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
)

// The seats in use are sampled, too.
func init() {
	metrics.PriorityLevelExecutionSeatsObserverGenerator =
		metrics.NewSampleAndWaterMarkHistogramsGenerator(clock{}, time.Hour, unregistered, unregistered, levelLabel)
}
