package clock

import (
	"slices"
	"testing"
)

// bell notes when it rings, and may set another alarm then.
type bell struct {
	name string
	rung *[]string
	next func(nowNs int64)
}

func (b *bell) Ring(nowNs int64) {
	*b.rung = append(*b.rung, b.name)
	if b.next != nil {
		b.next(nowNs)
	}
}

// Alarms ring at their times, those of one time in the order in which they were set, and one that is
// cancelled does not.
func TestAlarms(t *testing.T) {
	var q Queue[int32]
	alarms := NewAlarms(func(atNs int64, slot int32) Handle { return q.Schedule(atNs, 3, slot) }, q.Cancel)
	var rung []string
	a := func(name string) *bell { return &bell{name: name, rung: &rung} }
	first := a("first")
	first.next = func(nowNs int64) { alarms.Set(nowNs+1, a("set by first")) }
	alarms.Set(20, a("second"))
	alarms.Set(10, first)
	gone := alarms.Set(10, a("cancelled"))
	alarms.Set(20, a("third"))
	if !gone.Pending() {
		t.Error("an alarm that was set is not pending")
	}
	alarms.Cancel(&gone)
	alarms.Cancel(&gone)
	if gone.Pending() {
		t.Error("a cancelled alarm is pending")
	}
	for {
		slot, ok := q.Next()
		if !ok {
			break
		}
		alarms.Ring(q.NowNs(), slot)
	}
	if want := []string{"first", "set by first", "second", "third"}; !slices.Equal(rung, want) {
		t.Errorf("rang %q, want %q", rung, want)
	}
}
