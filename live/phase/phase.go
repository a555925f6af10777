// Package phase finds when a server adjusts the limits of its priority levels, by looking at its metrics a few
// times in each period.
package phase

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"apfsim/core/flowcontrol"
	"apfsim/lint/metrics"
)

// Range is between which times of each period the adjustments are. One that ends after the period contains
// the beginning of the next.
type Range struct {
	FromNs int64 `json:"fromNs"`
	ToNs   int64 `json:"toNs"`
}

// Middle returns the middle of the range, to 10 ms and less than the period.
func (r Range) Middle() time.Duration {
	return time.Duration((r.FromNs+r.ToNs)/2).Round(10*time.Millisecond) % period
}

// period is the time between two adjustments.
const period = time.Duration(flowcontrol.AdjustmentPeriodNs)

// looks is how often a period is looked at.
const looks = 4

// Narrow is the width at which a range is narrow enough.
const Narrow = 200 * time.Millisecond

// Look is one look at the metrics.
type Look struct {
	Began, Ended time.Duration // since the start
	State        State
}

// State identifies a server and its last adjustment.
type State struct {
	Server string // when it started
	Last   uint64 // of the values that an adjustment sets
}

// Errors of a search.
var (
	ErrServers  = errors.New("several servers answer, and each adjusts its limits at its own times")
	ErrNoChange = errors.New("no adjustment was seen")
)

// Find looks at the metrics of a server until it knows the phase of the adjustments to [Narrow], or the context
// ends. look returns what is seen now; sleep returns at a time since the start, or with an error when the context
// ends. In each period, the range in which the adjustment must be is divided by four.
//
// Between two looks with different states, there was an adjustment after the first began and before the second
// ended.
func Find(ctx context.Context, look func() (Look, error), sleep func(until time.Duration) error) (found Range, err error) {
	found = Range{0, int64(period)}
	seen, server := false, ""
	for base := int64(0); time.Duration(found.ToNs-found.FromNs) > Narrow; base += int64(period) {
		narrowed, changed := found, false
		var before Look
		for i := int64(0); i <= looks && !changed; i++ {
			err := sleep(time.Duration(base + found.FromNs + i*(found.ToNs-found.FromNs)/looks))
			var now Look
			if err == nil {
				now, err = look()
			}
			switch {
			case ctx.Err() != nil && !seen:
				return Range{}, ErrNoChange
			case ctx.Err() != nil:
				return found, nil
			case err != nil:
				return Range{}, err
			case server == "":
				server = now.State.Server
			case now.State.Server != server:
				return Range{}, ErrServers
			}
			if i > 0 && now.State != before.State {
				narrowed = Range{max(found.FromNs, int64(before.Began)-base), int64(now.Ended) - base}
				if seen {
					narrowed.ToNs = min(narrowed.ToNs, found.ToNs)
				}
				changed = true
			}
			before = now
		}
		if seen && (!changed || narrowed.ToNs-narrowed.FromNs >= found.ToNs-found.FromNs || narrowed.ToNs <= narrowed.FromNs) {
			break // the looks take too long to narrow the range any more
		}
		found, seen = narrowed, seen || changed
	}
	return found, nil
}

// set are the gauges that only an adjustment sets.
var set = []string{
	metrics.FlowControl + "current_limit_seats", metrics.FlowControl + "target_seats",
	metrics.FlowControl + "demand_seats_high_watermark", metrics.FlowControl + "demand_seats_average",
	metrics.FlowControl + "demand_seats_stdev", metrics.FlowControl + "demand_seats_smoothed",
}

const processStart = "process_start_time_seconds"

// StateOf reads the state from what a server serves under /metrics.
func StateOf(text []byte) (State, error) {
	samples, err := metrics.Read(bytes.NewReader(text), append([]string{processStart}, set...)...)
	if err != nil {
		return State{}, fmt.Errorf("the answer %w", err)
	}
	var s State
	for _, start := range samples.ByName[processStart] {
		s.Server = fmt.Sprint(start.Value)
	}
	h := fnv.New64a()
	found := false
	for _, name := range set {
		for _, sample := range samples.ByName[name] {
			found = true
			fmt.Fprintln(h, name, sample.Key(), sample.Value)
		}
	}
	if !found {
		return State{}, errors.New("the metrics do not have the limits of priority levels")
	}
	s.Last = h.Sum64()
	return s, nil
}
