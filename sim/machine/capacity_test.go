package machine

import (
	"testing"

	"apfsim/sim/quantity"
)

// The least capacity of an interval has the longest turn and the longest collections, and the greatest one the shortest. The other corners have the turn
// of the other, because turns make short requests slower and others faster.
func TestCorners(t *testing.T) {
	high := 3.0
	c := &Capacity{Cores: 2, Collection: &Collection{Every: 500 * ms, Lasts: 100 * ms}, Interval: &Interval{
		Cores: &Bounds{Low: 1.5, High: &high}, Turn: &Durations{High: 10 * ms}, Collection: &Durations{Low: 80 * ms, High: 150 * ms}}}
	type corner struct {
		cores       float64
		turn, lasts quantity.Duration
	}
	want := []corner{{1.5, 10 * ms, 150 * ms}, {3, 0, 80 * ms}, {1.5, 0, 150 * ms}, {3, 10 * ms, 80 * ms}}
	got := c.Corners()
	if len(got) != len(want) {
		t.Fatalf("%d corners, want %d", len(got), len(want))
	}
	for i, c := range got {
		if x := (corner{c.Cores, c.Turn, c.Collection.Lasts}); x != want[i] || c.Interval != nil || c.Collection.Every != 500*ms {
			t.Errorf("corner %d is %+v, want %+v", i, *c, want[i])
		}
	}
	if c.Collection.Lasts != 100*ms {
		t.Error("the capacity itself has changed")
	}
	c.Interval.Turn = nil
	if got := c.Corners(); len(got) != 2 {
		t.Errorf("without turns there are %d corners", len(got))
	}
	if c.Interval = nil; c.Corners() != nil {
		t.Error("without an interval there are corners")
	}
}

// Without an upper bound of the cores, there is no greatest capacity of a server on which the events of watches take cores: they would cost nothing.
func TestNoGreatestCapacityBesideEvents(t *testing.T) {
	c := &Capacity{Cores: 2, WatchEvent: 1000, Interval: &Interval{Cores: &Bounds{Low: 1.5}}}
	if least, greatest := c.Ends(); least == nil || least.Cores != 1.5 || greatest != nil {
		t.Errorf("%+v, %+v", least, greatest)
	}
	if got := c.Corners(); len(got) != 1 || got[0].Cores != 1.5 {
		t.Errorf("%d corners", len(got))
	}
}
