//go:build k8s19 && !k8s23

package driver

import (
	"context"

	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
)

// Handle implements flowcontrol.Interface.
func (n noter) Handle(ctx context.Context, digest flowcontrol.RequestDigest,
	classified func(*flowSchema, *priorityLevel), queued fairqueuing.QueueNoteFn, execute func()) {
	n.Interface.Handle(ctx, digest, n.note(ctx, classified), queued, execute)
}
