//go:build k8s23

package driver

import "time"

// keep reports what is stored once a minute, as the storage of a server does. Without a report in the
// last three minutes, the estimator ignores it.
func keep(report func(resource string, stored stats), resources []resource, stop <-chan struct{}) {
	all := func() {
		for _, r := range resources {
			report(r.name(), r.stats())
		}
	}
	all()
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Minute):
				all()
			}
		}
	}()
}
