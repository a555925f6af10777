package machine

import "testing"

// The least capacity of an interval has the least cores and the most contention, and the greatest one the opposite. Without an upper bound of the
// cores, there is no greatest one on a server on which the events of watches take cores: they would cost nothing.
func TestBounds(t *testing.T) {
	high, most := 3.0, 0.2
	c := &Capacity{Cores: 2, Contention: 0.1, Interval: &Interval{Cores: &Bounds{Low: 1.5, High: &high}, Contention: &Bounds{Low: 0.05, High: &most}}}
	least, greatest := c.Bounds()
	if least.Cores != 1.5 || least.Contention != 0.2 || greatest.Cores != 3 || greatest.Contention != 0.05 || least.Interval != nil || greatest.Interval != nil {
		t.Errorf("%+v, %+v", least, greatest)
	}
	if c.Cores != 2 || c.Contention != 0.1 {
		t.Error("the capacity itself has changed")
	}
	c = &Capacity{Cores: 2, WatchEvent: 1000, Interval: &Interval{Cores: &Bounds{Low: 1.5}}}
	if least, greatest = c.Bounds(); least == nil || least.Cores != 1.5 || greatest != nil {
		t.Errorf("%+v, %+v", least, greatest)
	}
	c.Interval = nil
	if least, greatest = c.Bounds(); least != nil || greatest != nil {
		t.Errorf("without an interval there are %+v and %+v", least, greatest)
	}
}
