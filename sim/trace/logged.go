package trace

// Logged is what the log of a real server says of a request, beside what is in its Record. Numbers
// that the log does not say are negative, and texts are empty.
type Logged struct {
	FlowSchema    string
	PriorityLevel string
	Outcome       Outcome

	DispatchNs int64
	FinishNs   int64
	WaitNs     int64

	Seats               int
	FinalSeats          int
	AdditionalLatencyNs int64
}

// AppendLogged appends the line of a request of a real server to b. Fields that the log does not say
// are left out.
func AppendLogged(b []byte, r *Record, l *Logged) []byte {
	b = AppendRecord(b, r)
	b = b[:len(b)-len("}\n")]
	for _, t := range []struct {
		field field
		value string
	}{{fieldFlowSchema, l.FlowSchema}, {fieldPriorityLevel, l.PriorityLevel}, {fieldOutcome, string(l.Outcome)}} {
		if t.value != "" {
			b = appendText(b, t.field, t.value)
		}
	}
	for _, n := range []struct {
		field field
		value int64
	}{
		{fieldDispatchNs, l.DispatchNs}, {fieldFinishNs, l.FinishNs}, {fieldWaitNs, l.WaitNs},
		{fieldSeats, int64(l.Seats)}, {fieldFinalSeats, int64(l.FinalSeats)}, {fieldAdditionalLatencyNs, l.AdditionalLatencyNs},
	} {
		if n.value >= 0 {
			b = appendNumber(b, n.field, n.value)
		}
	}
	return append(b, "}\n"...)
}
