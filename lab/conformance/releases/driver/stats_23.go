//go:build k8s23 && !k8s34

package driver

type stats = int64

func (r *resource) stats() stats { return r.Objects }
