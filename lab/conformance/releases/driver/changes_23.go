//go:build k8s23

package driver

// change is not supported.
func (s *server) change(objects) { s.t.Error("the drivers of 1.23 and later do not support changes") }
