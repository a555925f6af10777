//go:build k8s19 && !k8s25

package driver

import (
	"time"

	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	basemetrics "k8s.io/component-base/metrics"
)

// The metrics of the levels that the release samples each millisecond would take most of the time of a
// trial. They are replaced by metrics that are not registered and are sampled once an hour.
func init() {
	metrics.PriorityLevelConcurrencyObserverPairGenerator =
		metrics.NewSampleAndWaterMarkHistogramsPairGenerator(clock{}, time.Hour, unregistered, unregistered, levelLabel)
}

var (
	// A metric that is not registered does not count anything.
	unregistered = &basemetrics.HistogramOpts{Name: "unregistered"}
	levelLabel   = []string{"priority_level"}
)

// clock is the clock of the bubble. The releases have the interface of a clock in different packages.
type clock struct{}

func (clock) Now() time.Time                  { return time.Now() }
func (clock) Since(t time.Time) time.Duration { return time.Since(t) }
