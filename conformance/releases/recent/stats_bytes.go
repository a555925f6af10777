//go:build k8s34

package recent

import "k8s.io/apiserver/pkg/storage"

func (r *resource) stats() storage.Stats {
	return storage.Stats{ObjectCount: r.Objects, EstimatedAverageObjectSizeBytes: r.AverageBytes}
}
