package main

import (
	"slices"
	"testing"

	"apfsim/core/dealer"
)

// Rows go by hand size, and then by queues.
func TestDecksOf(t *testing.T) {
	want := []dealer.Deck{{Queues: 8, HandSize: 2}, {Queues: 16, HandSize: 2}, {Queues: 8, HandSize: 4}, {Queues: 16, HandSize: 4}}
	if got, err := decksOf([]int{2, 4}, []int{8, 16}); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

func TestMostOfATableOfCollisions(t *testing.T) {
	for _, c := range []struct {
		elephants, deals int
		ok               bool
	}{{10_000, 100_000_000, true}, {10_001, 0, false}, {1, 100_000_001, false}} {
		if err := checkCollisions([]int{1, c.elephants}, c.deals, "text"); (err == nil) != c.ok {
			t.Errorf("%d elephants, %d deals: %v", c.elephants, c.deals, err)
		}
	}
}
