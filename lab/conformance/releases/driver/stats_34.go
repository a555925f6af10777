//go:build k8s34

package driver

import "k8s.io/apiserver/pkg/storage"

type stats = storage.Stats

func (r *resource) stats() stats {
	return stats{ObjectCount: r.Objects, EstimatedAverageObjectSizeBytes: r.AverageBytes}
}
