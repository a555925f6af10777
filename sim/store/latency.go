package store

import (
	"apfsim/sim/clock"
	"apfsim/sim/machine"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// latency is how long one kind of call to etcd takes, drawn from a stream of its own.
type latency struct {
	stream random.Stream
	drawn  quantity.Distribution // not given: no time
}

func (l *latency) open(seed uint64, purpose string, drawn quantity.Distribution) {
	l.stream.Open(seed, "", 0, "etcd "+purpose)
	l.drawn = drawn
}

func (l *latency) draw() int64 {
	if !l.drawn.IsSet() {
		return 0
	}
	return l.drawn.Sample(&l.stream.Rand)
}

// Read sends a read to etcd. The alarm rings when the server has the answer. Reads are linearizable: what is
// read is what the store has when it rings. With a capacity, reads that are in progress at the same time slow each other
// down.
func (s *Store) Read(nowNs int64, done clock.Alarm) {
	s.readFor(nowNs, s.reads.draw(), done)
}

// ReadOn goes on with a read for as long as etcd takes for the objects of a range, alone.
func (s *Store) ReadOn(nowNs, aloneNs int64, done clock.Alarm) { s.readFor(nowNs, aloneNs, done) }

func (s *Store) readFor(nowNs, aloneNs int64, done clock.Alarm) {
	if s.reading != nil {
		s.reading.begin(nowNs, aloneNs, done)
		return
	}
	s.alarms.Set(nowNs+aloneNs, done)
}

// Check is a Read for a health check of a server. The latency comes from the caller's stream, so that health checks do
// not change the latencies of requests.
func (s *Store) Check(nowNs int64, stream *random.Stream, done clock.Alarm) {
	s.readFor(nowNs, s.drawAside(stream), done)
}

// ReadAside is a Check that takes no part in the capacity of the store, for background reads of a server. The caller
// may cancel the alarm.
func (s *Store) ReadAside(nowNs int64, stream *random.Stream, done clock.Alarm) clock.AlarmID {
	return s.alarms.Set(nowNs+s.drawAside(stream), done)
}

func (s *Store) drawAside(stream *random.Stream) int64 {
	if !s.reads.drawn.IsSet() {
		return 0
	}
	return s.reads.drawn.Sample(&stream.Rand)
}

// Write sends a transaction to etcd. The alarm rings when the server has the answer, and its owner commits
// then. Grants of leases take as long. With a capacity, transactions that are in progress at the same time slow
// each other down.
func (s *Store) Write(nowNs int64, done clock.Alarm) {
	takesNs := s.writes.draw()
	if s.writing != nil {
		s.writing.begin(nowNs, takesNs, done)
		return
	}
	s.alarms.Set(nowNs+takesNs, done)
}

// sharing is the calls of one kind that are in progress at a store with a capacity for them.
type sharing struct {
	*machine.Machine
	alarms  *clock.Alarms
	done    []clock.Alarm // by the machine's slots
	slots   []call        // likewise
	spent   Times         // of those that have ended
	nextEnd clock.AlarmID // when the machine ends the next one
}

// newSharing returns the state of one kind of calls, of which none is in progress.
func newSharing(alarms *clock.Alarms, law *machine.Capacity) *sharing {
	c := &sharing{Machine: machine.New(law), alarms: alarms}
	for _, speed := range law.Speed {
		alarms.Set(int64(speed.At), &speedChange{c, speed.Factor})
	}
	return c
}

func (c *sharing) begin(nowNs, demandNs int64, done clock.Alarm) {
	slot := c.Begin(nowNs, demandNs)
	if int(slot) == len(c.done) {
		c.done, c.slots = append(c.done, nil), append(c.slots, call{})
	}
	c.done[slot], c.slots[slot] = done, call{nowNs, demandNs}
	c.moveEnd(nowNs)
}

// moveEnd sets the alarm for the next end, after each change.
func (c *sharing) moveEnd(nowNs int64) {
	c.alarms.Cancel(&c.nextEnd)
	if _, atNs, ok := c.Next(nowNs); ok {
		c.nextEnd = c.alarms.Set(atNs, c)
	}
}

// Ring ends the call that ends first.
func (c *sharing) Ring(nowNs int64) {
	c.nextEnd = clock.AlarmID{}
	slot, _, _ := c.Next(nowNs)
	done, ended := c.done[slot], c.slots[slot]
	c.done[slot] = nil
	c.spent.TookNs += nowNs - ended.beganNs
	c.spent.AloneNs += ended.demandNs
	c.End(nowNs, slot)
	c.moveEnd(nowNs)
	done.Ring(nowNs)
}

// call is one that is in progress.
type call struct{ beganNs, demandNs int64 }

// Times are times of calls that have ended, summed.
type Times struct {
	AloneNs int64 // that they would have taken if no others had been in progress
	TookNs  int64
}

// Transactions returns the times of all transactions so far, of a store with a capacity for them.
func (s *Store) Transactions() Times { return s.writing.times() }

// Reads returns the times of all reads so far, of a store with a capacity for them.
func (s *Store) Reads() Times { return s.reading.times() }

func (c *sharing) times() Times {
	if c == nil {
		return Times{}
	}
	return c.spent
}

// speedChange changes the speed of all calls of a kind.
type speedChange struct {
	calls  *sharing
	factor float64
}

// Ring changes it.
func (c *speedChange) Ring(nowNs int64) {
	c.calls.SetSpeed(nowNs, c.factor)
	c.calls.moveEnd(nowNs)
}
