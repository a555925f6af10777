package server

import (
	"time"

	"apfsim/core/flowcontrol"
	"apfsim/document"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// AdjustmentPhase says when a server adjusts the limits of the levels: After the server's start and
// then once per period, or, if Random, from a time that each server draws for each seed. After is at least 0 and less than the period.
type AdjustmentPhase struct {
	Random bool
	After  quantity.Duration
}

// adjustmentPeriod is the time between two periodic adjustments.
const adjustmentPeriod = time.Duration(flowcontrol.AdjustmentPeriodNs)

// randomPhase is the word for a phase that is drawn.
const randomPhase = "random"

// UnmarshalDocument implements document.Unmarshaler.
func (p *AdjustmentPhase) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	const want = "a duration from 0s to less than 10s, or random"
	if n.Kind != document.String && n.Kind != document.Number {
		d.Fail(n, path, "is %v; use %s", n.Kind, want)
		return
	}
	if n.Text == randomPhase {
		p.Random = true
		return
	}
	after, err := time.ParseDuration(n.Text)
	switch {
	case n.Kind == document.Number && err != nil:
		d.Fail(n, path, "%s has no unit; use %s", n.Text, want)
	case err != nil:
		d.Fail(n, path, "%q is not supported; use %s%s", document.Abridge(n.Text), want,
			document.Suggest(n.Text, []string{randomPhase}))
	case after < 0 || after >= adjustmentPeriod:
		same := (after%adjustmentPeriod + adjustmentPeriod) % adjustmentPeriod
		d.Fail(n, path, "%s is not within one period of the adjustments; use %s (did you mean %q?)", n.Text, want, same)
	default:
		p.After = quantity.Duration(after)
	}
}

// AtNs returns the time from the start of a server to its first periodic adjustment; servers count from 0. A random phase
// is uniform over the period. It has a stream of its own, so that no other draw depends on whether there is one; no
// workload has an empty name.
func (p AdjustmentPhase) AtNs(seed uint64, server int) int64 {
	if !p.Random {
		return int64(p.After)
	}
	var stream random.Stream
	stream.Open(seed, "", server, "adjustment phase")
	return stream.Int64N(flowcontrol.AdjustmentPeriodNs)
}
