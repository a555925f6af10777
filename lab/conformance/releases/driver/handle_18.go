//go:build !k8s19

package driver

import (
	"context"

	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/flowcontrol"
)

// Handle implements flowcontrol.Interface.
func (n noter) Handle(ctx context.Context, digest flowcontrol.RequestDigest,
	classified func(*flowSchema, *priorityLevel), execute func()) {
	n.Interface.Handle(ctx, digest, n.note(ctx, classified), execute)
}

// The first filter starts a goroutine that does not end. It must not be in the bubble of a trial.
func init() { filters.WithPriorityAndFairness(nil, longRunning, noter{}) }
