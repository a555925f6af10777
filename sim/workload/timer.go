package workload

// Units of time, in nanoseconds.
const (
	millisecond = int64(1e6)
	second      = 1e9
)

// timer does the same each time that it rings, unless the workload has ended. One that is set often is made once.
type timer struct {
	client Client
	do     func(nowNs int64)
}

func newTimer(c Client, do func(nowNs int64)) *timer { return &timer{c, do} }

// Ring implements clock.Alarm.
func (t *timer) Ring(nowNs int64) {
	if nowNs < t.client.EndNs() {
		t.do(nowNs)
	}
}

// in makes the timer ring after a wait.
func (t *timer) in(nowNs, waitNs int64) { t.client.Alarms().Set(nowNs+waitNs, t) }
