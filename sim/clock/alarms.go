package clock

// Alarm is called at the time for which its owner has set it.
type Alarm interface {
	Ring(nowNs int64)
}

// AlarmID identifies an alarm that has been set, until it rings or is cancelled. The zero value is that of
// none.
type AlarmID struct {
	event Handle
	slot  int32
}

// Pending says whether the alarm was set; it does not tell whether it has rung since.
func (id AlarmID) Pending() bool { return id.event != 0 }

// Alarms are the alarms of one class of events of a queue, which knows them by their slots, so that the
// events of a queue stay small.
type Alarms struct {
	schedule func(atNs int64, slot int32) Handle
	cancel   func(Handle)
	slots    []Alarm
	free     []int32
}

// NewAlarms returns alarms for a queue: schedule adds an event that must call Ring with the slot at its
// time, and cancel removes it.
func NewAlarms(schedule func(atNs int64, slot int32) Handle, cancel func(Handle)) *Alarms {
	return &Alarms{schedule: schedule, cancel: cancel}
}

// Set makes a ring at a time, now or later. Alarms of one time ring in the order in which they were set.
func (all *Alarms) Set(atNs int64, a Alarm) AlarmID {
	slot := int32(len(all.slots))
	if n := len(all.free); n > 0 {
		slot = all.free[n-1]
		all.free = all.free[:n-1]
		all.slots[slot] = a
	} else {
		all.slots = append(all.slots, a)
	}
	return AlarmID{all.schedule(atNs, slot), slot}
}

// Cancel makes an alarm not ring that is set and has not rung, and clears its ID. It does nothing if the ID
// is that of none: an owner clears its ID when the alarm rings.
func (all *Alarms) Cancel(id *AlarmID) {
	if id.event == 0 {
		return
	}
	all.cancel(id.event)
	all.release(id.slot)
	*id = AlarmID{}
}

// Ring carries out the event of a slot.
func (all *Alarms) Ring(nowNs int64, slot int32) {
	a := all.slots[slot]
	all.release(slot)
	a.Ring(nowNs)
}

func (all *Alarms) release(slot int32) {
	all.slots[slot] = nil
	all.free = append(all.free, slot)
}
