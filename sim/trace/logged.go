package trace

import (
	"math"
	"slices"
	"strconv"

	"apfsim/document"
	"apfsim/sim/random"
)

// Logged holds what the log of a real server contains about a request in addition to its Record.
// Numbers that the log does not say are negative, and texts are empty.
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

// parseLogged decodes what the line says of the request beside its Record. The line may have a problem then.
func (l *line) parseLogged() *Logged {
	g := &Logged{
		FlowSchema: l.loggedText(fieldFlowSchema), PriorityLevel: l.loggedText(fieldPriorityLevel), Outcome: Outcome(l.loggedText(fieldOutcome)),
		DispatchNs: l.loggedNumber(fieldDispatchNs, random.LongestNs), FinishNs: l.loggedNumber(fieldFinishNs, random.LongestNs),
		WaitNs: l.loggedNumber(fieldWaitNs, random.LongestNs), AdditionalLatencyNs: l.loggedNumber(fieldAdditionalLatencyNs, random.LongestNs),
		Seats: int(l.loggedNumber(fieldSeats, math.MaxInt16)), FinalSeats: int(l.loggedNumber(fieldFinalSeats, math.MaxInt16)),
	}
	if l.ok() && g.Outcome != "" && !slices.Contains(outcomes, string(g.Outcome)) {
		l.at, l.field = int(l.logged[fieldOutcome-traceFields].from), names[fieldOutcome]
		l.fail("%q is not an outcome%s", document.Abridge(string(g.Outcome)), document.Suggest(string(g.Outcome), outcomes))
	}
	return g
}

// loggedText returns the value of a field of a log, "" if the line does not have it.
func (l *line) loggedText(f field) (text string) {
	at := l.logged[f-traceFields]
	if at.to == 0 || !l.ok() {
		return ""
	}
	l.at, l.field = int(at.from), names[f]
	if value := l.parseBytes(); l.ok() {
		text, l.field = l.texts.String(value), ""
	}
	return text
}

// loggedNumber returns the value of a field of a log, -1 if the line does not have it.
func (l *line) loggedNumber(f field, maxValue int64) int64 {
	at := l.logged[f-traceFields]
	if at.to == 0 || !l.ok() {
		return -1
	}
	n, err := strconv.ParseInt(string(l.text[at.from:at.to]), 10, 64)
	if err != nil || n < 0 || n > maxValue {
		l.at, l.field = int(at.from), names[f]
		l.fail("%s: want a whole number from 0 to %d", document.Abridge(string(l.text[at.from:at.to])), maxValue)
	}
	return n
}

// outcomes are the values of outcome.
var outcomes = []string{string(Waiting), string(Executing), string(Executed), string(Rejected), string(Refused), string(Lost)}
