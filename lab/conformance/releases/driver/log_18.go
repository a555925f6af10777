//go:build !k8s19

package driver

import (
	"flag"
	"io"

	"k8s.io/klog"
)

// The log is discarded.
func init() {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	klog.SetOutput(io.Discard)
}
