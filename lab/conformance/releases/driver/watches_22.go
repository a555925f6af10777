//go:build k8s22

package driver

import (
	"context"

	"k8s.io/apiserver/pkg/util/flowcontrol"
)

// watchInitialized tells flow control that the server has initialized a watch.
func watchInitialized(ctx context.Context) { flowcontrol.WatchInitialized(ctx) }
