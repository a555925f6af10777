//go:build !k8s23

package driver

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/util/flowcontrol"
)

// noter is flow control that notes the classification of each request. Before 1.21, the response to a
// rejected request does not contain it.
type noter struct{ flowcontrol.Interface }

// note returns a function that notes a classification and then calls the next one.
func (noter) note(ctx context.Context, next func(*flowSchema, *priorityLevel)) func(*flowSchema, *priorityLevel) {
	return func(s *flowSchema, l *priorityLevel) {
		d := pendingFrom(ctx).decision
		d.FlowSchema, d.PriorityLevel = s.Name, l.Name
		if l.Spec.Type != "Exempt" {
			d.Seats = 1
		}
		next(s, l)
	}
}

// noteClassification does nothing, because noter does it.
func (s *server) noteClassification(*http.Request, http.Header) {}
