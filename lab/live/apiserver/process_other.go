//go:build !linux

package apiserver

import "syscall"

// endWithParent does nothing: only Linux can do it.
func endWithParent() *syscall.SysProcAttr { return nil }
