//go:build !k8s25

package recent

import (
	"k8s.io/apiserver/pkg/util/flowcontrol"
	workestimate "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

func newEstimator(control flowcontrol.Interface, resources []resource, stop <-chan struct{}) workestimate.WorkEstimatorFunc {
	counts := workestimate.NewStorageObjectCountTracker(stop)
	for _, r := range resources {
		counts.Set(r.name(), r.stats())
	}
	return workestimate.NewWorkEstimator(counts.Get, control.GetInterestedWatchCount)
}
