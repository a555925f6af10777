package writers

import "apfsim/sim/behaviour"

// timer does the same each time that it rings, unless the workload has ended. One that is set often is made once.
type timer struct {
	client behaviour.Client
	do     func(nowNs int64)
}

func newTimer(c behaviour.Client, do func(nowNs int64)) *timer { return &timer{c, do} }

// Ring implements clock.Alarm.
func (t *timer) Ring(nowNs int64) {
	if nowNs < t.client.EndNs() {
		t.do(nowNs)
	}
}

// in makes the timer ring after a wait.
func (t *timer) in(nowNs, waitNs int64) { t.client.Alarms().Set(nowNs+waitNs, t) }

// alarm is a clock.Alarm that calls a function, for those that are cancelled.
type alarm func(nowNs int64)

// Ring implements clock.Alarm.
func (a alarm) Ring(nowNs int64) { a(nowNs) }
