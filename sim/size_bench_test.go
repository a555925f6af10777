package sim_test

import (
	"fmt"
	"testing"
)

// BenchmarkSize is what a request costs as one thing grows and all others are as in regime
// C. make bench-size turns it into lab/performance.md.
func BenchmarkSize(b *testing.B) {
	for _, axis := range []struct {
		name  string
		sizes []int
		set   func(l *oneLevel, size int)
	}{
		{"queues", []int{16, 32, 64, 128, 256, 512}, func(l *oneLevel, size int) { l.queues = size }},
		{"seats", []int{100, 300, 1000, 3000, 10_000, 30_000, 100_000}, func(l *oneLevel, size int) { l.seats = size }},
		{"flows", []int{10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000}, func(l *oneLevel, size int) { l.flows = size }},
		// At a level of 1000 seats, so that the widest do not run one by one.
		{"width", []int{1, 2, 5, 10, 20, 50, 100}, func(l *oneLevel, size int) { l.width, l.seats = size, 1000 }},
	} {
		if testing.Short() { // the largest take seconds to warm up
			axis.sizes = []int{axis.sizes[0], axis.sizes[len(axis.sizes)/2]}
		}
		for _, size := range axis.sizes {
			l := regimeC
			axis.set(&l, size)
			b.Run(fmt.Sprintf("%s=%d", axis.name, size), l.measure)
		}
	}
}
