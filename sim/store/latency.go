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
	if !l.drawn.Given() {
		return 0
	}
	return l.drawn.Sample(&l.stream.Rand)
}

// Read sends a read to etcd. The alarm rings when the server has the answer. Reads are linearizable: what is
// read is what the store has when it rings.
func (s *Store) Read(nowNs int64, done clock.Alarm) {
	s.alarms.Set(nowNs+s.reads.draw(), done)
}

// ReadAside is Read for what a server does besides its requests. It draws the latency from a stream of the caller, so
// that those of the requests do not depend on it. The caller may cancel the alarm.
func (s *Store) ReadAside(nowNs int64, stream *random.Stream, done clock.Alarm) clock.AlarmID {
	ns := int64(0)
	if s.reads.drawn.Given() {
		ns = s.reads.drawn.Sample(&stream.Rand)
	}
	return s.alarms.Set(nowNs+ns, done)
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

// writing is the transactions in progress of a store with a capacity.
type writing struct {
	*machine.Machine
	alarms  *clock.Alarms
	done    []clock.Alarm // by the machine's slots
	slots   []transaction // likewise
	spent   Transactions  // those that have ended
	nextEnd clock.AlarmID // when the machine ends the next one
}

// newWriting returns the transactions of a new store.
func newWriting(alarms *clock.Alarms, law *machine.Capacity) *writing {
	w := &writing{Machine: machine.New(law), alarms: alarms}
	for _, speed := range law.Speed {
		alarms.Set(int64(speed.At), &speedChange{w, speed.Factor})
	}
	return w
}

func (w *writing) begin(nowNs, demandNs int64, done clock.Alarm) {
	slot := w.Begin(nowNs, demandNs)
	if int(slot) == len(w.done) {
		w.done, w.slots = append(w.done, nil), append(w.slots, transaction{})
	}
	w.done[slot], w.slots[slot] = done, transaction{nowNs, demandNs}
	w.moveEnd(nowNs)
}

// moveEnd sets the alarm for the next end, after each change.
func (w *writing) moveEnd(nowNs int64) {
	w.alarms.Cancel(&w.nextEnd)
	if _, atNs, ok := w.Next(nowNs); ok {
		w.nextEnd = w.alarms.Set(atNs, w)
	}
}

// Ring ends the transaction that ends first.
func (w *writing) Ring(nowNs int64) {
	w.nextEnd = clock.AlarmID{}
	slot, _, _ := w.Next(nowNs)
	done, t := w.done[slot], w.slots[slot]
	w.done[slot] = nil
	w.spent.TookNs += nowNs - t.beganNs
	w.spent.AloneNs += t.demandNs
	w.End(nowNs, slot)
	w.moveEnd(nowNs)
	done.Ring(nowNs)
}

// transaction is one that is in progress.
type transaction struct{ beganNs, demandNs int64 }

// Transactions are times of transactions that have ended, summed.
type Transactions struct {
	AloneNs int64 // that they would have taken if no others had been in progress
	TookNs  int64
}

// Transactions returns the times of all transactions so far, of a store with a capacity.
func (s *Store) Transactions() Transactions {
	if s.writing == nil {
		return Transactions{}
	}
	return s.writing.spent
}

// speedChange changes the speed of all transactions.
type speedChange struct {
	writing *writing
	factor  float64
}

// Ring changes it.
func (c *speedChange) Ring(nowNs int64) {
	c.writing.SetSpeed(nowNs, c.factor)
	c.writing.moveEnd(nowNs)
}
