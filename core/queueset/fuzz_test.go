package queueset

import (
	"testing"
)

// FuzzOperations reads bytes as where R stands at first and what is done to the set, and
// wants all in order and all as the model does.
func FuzzOperations(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {
		l := newLedger(t, 0)
		if len(text) > 0 {
			// 0, or that many hundredths of a seat-second below the high mark.
			if text[0] > 0 {
				l.set.r = highMark - 1_000_000*virtual(text[0])
			}
			text = text[1:]
		}
		m := newModel(uint64(l.set.r), firstConfig, firstLimit)
		for len(text) >= operationBytes && l.arrived < 200 {
			o := newOperation(text[:operationBytes])
			text = text[operationBytes:]
			if out, done := l.doInOrder(o); done {
				m.do(l, o, out)
				m.compare(l)
			}
		}
		l.drain()
	})
}
