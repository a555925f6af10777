//go:build !k8s34

package recent

func (r *resource) stats() int64 { return r.Objects }
