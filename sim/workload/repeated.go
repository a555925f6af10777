package workload

import (
	"apfsim/sim/clock"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// repeated runs a command again and again.
type repeated struct {
	client Client
	every  quantity.Distribution
	chance random.Stream
	begin  func(nowNs int64) // the command
	wake   clock.AlarmID
}

func (r *repeated) open(c Client, every quantity.Distribution, begin func(nowNs int64)) {
	r.client, r.every, r.begin = c, every, begin
	c.Stream(&r.chance, "every")
}

// interval draws the time between two commands.
func (r *repeated) interval() int64 { return r.every.Sample(&r.chance.Rand) }

// Start implements Machine. The first command begins anywhere within the first interval.
func (r *repeated) Start(nowNs int64) {
	r.scheduleAt(nowNs + int64(r.chance.Float64()*float64(r.interval())))
}

// scheduleAt begins the command at a time, unless the workload has ended by then.
func (r *repeated) scheduleAt(atNs int64) {
	if atNs < r.client.EndNs() {
		r.wake = r.client.Alarms().Set(atNs, r)
	}
}

// Ring implements clock.Alarm.
func (r *repeated) Ring(nowNs int64) {
	r.wake = clock.AlarmID{}
	r.begin(nowNs)
}
