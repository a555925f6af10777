package queueset

import (
	"math"
	"testing"

	"apfsim/core/estimate"
	"apfsim/core/rules"

	"pgregory.net/rapid"
)

// In float64, virtual times are in the order of their numbers, too, and sums are those of float64
// to the last bit.
func TestFloat64IsExactAndInOrder(t *testing.T) {
	a := arithmetic(rules.Float64)
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-1e9, 1e9).Draw(t, "x")
		y := rapid.Float64Range(-1e9, 1e9).Draw(t, "y")
		if got := ofSeconds(x).seconds(); got != x {
			t.Fatalf("%v becomes %v", x, got)
		}
		if x != 0 && y != 0 && (ofSeconds(x) < ofSeconds(y)) != (x < y) {
			t.Fatalf("%v and %v are not in order", x, y)
		}
		ns := rapid.Int64Range(0, 1e13).Draw(t, "ns")
		rate := rapid.Float64Range(0, 1000).Draw(t, "rate")
		seconds := float64(ns/1e9) + float64(ns%1e9)/1e9
		product := rate * seconds
		if got, want := a.advance(ofSeconds(x), rate, ns).seconds(), x+product; got != want {
			t.Fatalf("%v advanced by %v for %d ns is %v, want %v", x, rate, ns, got, want)
		}
		if got, want := a.correct(ofSeconds(x), 1, 60e9, ns).seconds(), x-(60-seconds); got != want {
			t.Fatalf("%v corrected for %d ns is %v, want %v", x, ns, got, want)
		}
		n := rapid.IntRange(0, 1000).Draw(t, "n")
		work := estimate.SeatsTimesDuration(float64(n), 60e9)
		if got, want := a.add(ofSeconds(x), work).seconds(), x+60*float64(n); got != want {
			t.Fatalf("%v and the guess for %d requests is %v, want %v", x, n, got, want)
		}
		if got, want := a.subtract(ofSeconds(x), work).seconds(), x-60*float64(n); got != want {
			t.Fatalf("%v less the guess for %d requests is %v, want %v", x, n, got, want)
		}
	})
	if ofSeconds(math.Inf(1)) >= never || a.zero().seconds() != 0 {
		t.Error("infinity comes after never, or zero is not 0")
	}
}

// Rounding makes ties: two virtual starts differ, but not when 60 is added to each. The queue of
// the latest dispatch is last then. The comparison without 60 would find the other queue first.
func TestFloat64Ties(t *testing.T) {
	a := arithmetic(rules.Float64)
	var h heads
	h.reset(2)
	guess := estimate.SeatSeconds(60e8)
	h.set(0, a.add(ofSeconds(0.1+tiny), guess))
	h.set(1, a.add(ofSeconds(0.1), guess))
	if got := h.first(0); got != 0 {
		t.Errorf("queue %d is first from 0 on, want 0", got)
	}
	if got := h.first(1); got != 1 {
		t.Errorf("queue %d is first from 1 on, want 1", got)
	}
}

// tiny is a difference that is lost when 60 is added.
const tiny = 1e-15
