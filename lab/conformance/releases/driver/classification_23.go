//go:build k8s23

package driver

import (
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/request"
	workestimate "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// noteEstimates returns an estimator that also records the estimate and the classification of each
// request.
func noteEstimates(estimate workestimate.WorkEstimatorFunc) workestimate.WorkEstimatorFunc {
	return func(r *http.Request, schema, level string) workestimate.WorkEstimate {
		work := estimate(r, schema, level)
		d := pendingFrom(r.Context()).decision
		d.FlowSchema, d.PriorityLevel = schema, level
		d.Seats, d.FinalSeats, d.AdditionalNs = int(work.InitialSeats), int(work.FinalSeats), int64(work.AdditionalLatency)
		return work
	}
}

// noteClassification records the classification of a request that was not estimated, by the header of
// its response. The UIDs of the objects are their names.
func (s *server) noteClassification(r *http.Request, header http.Header) {
	p := pendingFrom(r.Context())
	d := p.decision
	schema, level := header.Get("X-Kubernetes-PF-FlowSchema-UID"), header.Get("X-Kubernetes-PF-PriorityLevel-UID")
	switch info, _ := request.RequestInfoFrom(r.Context()); {
	case d.PriorityLevel != "": // it was estimated
		if schema != d.FlowSchema || level != d.PriorityLevel {
			s.t.Errorf("request %d: the response has FlowSchema %q and level %q, the estimate %q and %q",
				p.record.ID, schema, level, d.FlowSchema, d.PriorityLevel)
		}
	case level != "": // it is exempt
		d.FlowSchema, d.PriorityLevel = schema, level
	case info.Verb == "watch" || !longRunning(r, info): // it is exempt, in a release that sets no header
		d.PriorityLevel = "exempt"
	}
}
