//go:build k8s23 && !k8s25

package driver

import (
	"k8s.io/apiserver/pkg/util/flowcontrol"
	workestimate "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

func newEstimator(control flowcontrol.Interface, resources []resource, stop <-chan struct{}) workestimate.WorkEstimatorFunc {
	counts := workestimate.NewStorageObjectCountTracker(stop)
	keep(counts.Set, resources, stop)
	return workestimate.NewWorkEstimator(counts.Get, control.GetInterestedWatchCount)
}
