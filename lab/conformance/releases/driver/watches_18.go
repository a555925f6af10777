//go:build !k8s22

package driver

import "context"

// watchInitialized does nothing, because watches bypass flow control.
func watchInitialized(context.Context) {}
