package sim

import (
	"context"
	"errors"
	"testing"
)

// A run notices that it is interrupted also where it has much to do before the first event, or between two.
func TestInterruptedBeforeTheFirstRequests(t *testing.T) {
	for name, arrivals := range map[string]string{
		"many clients":             "clients: 5000, arrivals: {poisson: {rate: 1/h}}",
		"many requests of one":     "arrivals: {closed: {concurrency: 5000, think: 1h}}",
		"long search for arrivals": "arrivals: {onOff: {rate: 1/h, on: 1ns, off: 0s}}",
	} {
		t.Run(name, func(t *testing.T) {
			sc := load(t, "  duration: 1s\n  workload:\n  - {name: w, as: {user: u}, request: {verb: get, resource: pods}, execution: 1ms, "+arrivals+"}\n")
			ctx, interrupt := context.WithCancel(t.Context())
			interrupt()
			if err := New(sc).Execute(ctx, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want that it is cancelled", err)
			}
		})
	}
}
