package server

// Spent divides the time that the execution of a request has taken so far. Its server writes it.
type Spent struct {
	CallsNs    int64 // it waited for what the server has called
	ServedNs   int64 // the machine worked for it
	SlowNs     int64 // of ServedNs: what it took longer than alone on an idle machine of speed 1
	SentNs     int64 // its answer was sent
	SlowSentNs int64 // of SentNs: what it took longer than with the network alone

	sinceNs  int64 // when the present step began, if that is one of those
	demandNs int64 // of the machine or the network, in the present step
}

// begin records the start of a step and its demand of the machine or the network.
func (s *Spent) begin(nowNs, demandNs int64) { s.sinceNs, s.demandNs = nowNs, demandNs }

// end adds the time of the step that ends or is stopped.
func (s *Spent) end(nowNs int64, now step) {
	ns := nowNs - s.sinceNs
	switch now {
	case inCalls:
		s.CallsNs += ns
	case inDemand, inService:
		s.ServedNs += ns
		s.SlowNs += max(0, ns-s.demandNs)
	case inSending:
		s.SentNs += ns
		s.SlowSentNs += max(0, ns-s.demandNs)
	}
}

// Spent returns how the execution of a request has used its time up to now, which must not be after its end. It is all
// zero for a request without Details.
func (r *Request) Spent(nowNs int64) Spent {
	if r.Details == nil || r.DispatchNs < 0 {
		return Spent{}
	}
	s := r.Details.Spent
	if r.FinishNs < 0 {
		s.end(nowNs, r.Details.step)
	}
	return s
}
