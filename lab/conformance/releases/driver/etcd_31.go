//go:build k8s31

package driver

import (
	"k8s.io/apiserver/pkg/storage"
	etcdfeature "k8s.io/apiserver/pkg/storage/feature"
)

// etcd declares what every etcd since 3.4.31 and 3.5.13 can do: report its progress. With this, the
// watch cache serves reads without a resourceVersion.
type etcd struct {
	etcdfeature.FeatureSupportChecker
}

func (etcd) Supports(f storage.Feature) bool { return f == storage.RequestWatchProgress }

func init() { etcdfeature.DefaultFeatureSupportChecker = etcd{} }
