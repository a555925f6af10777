//go:build k8s26_0

package recent

import (
	"k8s.io/apiserver/pkg/util/flowcontrol"
	workestimate "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

func newEstimator(control flowcontrol.Interface, resources []resource, _ <-chan struct{}) workestimate.WorkEstimatorFunc {
	counts := workestimate.NewStorageObjectCountTracker()
	for _, r := range resources {
		counts.Set(r.name(), r.stats())
	}
	return workestimate.NewWorkEstimator(counts.Get, control.GetInterestedWatchCount, workestimate.DefaultWorkEstimatorConfig())
}
