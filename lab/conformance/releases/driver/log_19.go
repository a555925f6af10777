//go:build k8s19

package driver

import (
	"flag"
	"io"

	"k8s.io/klog/v2"
)

// The log is discarded. Up to 1.24, it has an error for each request, because the sampled metrics
// begin before the time of a bubble.
func init() {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	klog.SetOutput(io.Discard)
}
