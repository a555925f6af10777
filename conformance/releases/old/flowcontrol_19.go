//go:build k8s19

package old

import (
	"context"
	"flag"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/util/clock"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	basemetrics "k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
)

// Handle implements flowcontrol.Interface.
func (n noter) Handle(ctx context.Context, digest flowcontrol.RequestDigest,
	classified func(*flowSchema, *priorityLevel), queued fairqueuing.QueueNoteFn, execute func()) {
	n.Interface.Handle(ctx, digest, n.note(ctx, classified), queued, execute)
}

// fewSamples replaces the metrics of the levels that the release samples each millisecond, which
// would take most of the time of a trial, by one that is not registered.
func fewSamples() {
	none := &basemetrics.HistogramOpts{Name: "none"}
	metrics.PriorityLevelConcurrencyObserverPairGenerator =
		metrics.NewSampleAndWaterMarkHistogramsPairGenerator(clock.RealClock{}, time.Hour, none, none, []string{"priority_level"})
}

// logNothing discards the log: the sampled metrics complain about every request,
// because the time of a bubble is before the start of the program.
func logNothing() {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	klog.SetOutput(io.Discard)
}
