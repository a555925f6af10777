//go:build k8s26_0

package driver

import (
	"k8s.io/apiserver/pkg/util/flowcontrol"
	workestimate "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

func newEstimator(control flowcontrol.Interface, resources []resource, stop <-chan struct{}) workestimate.WorkEstimatorFunc {
	counts := workestimate.NewStorageObjectCountTracker()
	keep(counts.Set, resources, stop)
	return workestimate.NewWorkEstimator(counts.Get, control.GetInterestedWatchCount, workestimate.DefaultWorkEstimatorConfig())
}
