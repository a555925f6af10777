//go:build !k8s19

package old

import (
	"context"
	"flag"
	"io"

	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/klog"
)

// Handle implements flowcontrol.Interface.
func (n noter) Handle(ctx context.Context, digest flowcontrol.RequestDigest,
	classified func(*flowSchema, *priorityLevel), execute func()) {
	n.Interface.Handle(ctx, digest, n.note(ctx, classified), execute)
}

// fewSamples does nothing: the release has no metrics that are sampled.
func fewSamples() {}

// logNothing discards the log.
func logNothing() {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	klog.SetOutput(io.Discard)
}
