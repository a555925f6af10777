package trace

import (
	"strings"
	"testing"
)

// What the log of a server says of a request follows its record; what it does not say is left out.
func TestLinesOfALoggedRequest(t *testing.T) {
	record := Record{ID: 17, ArrivalNs: 100, User: "alice", Groups: []string{"g"}, Verb: "get", Resource: "pods", ExecutionNs: 7}
	const asks = `{"id":17,"arrivalNs":100,"user":"alice","groups":["g"],"verb":"get","apiGroup":"","resource":"pods","subresource":"",` +
		`"namespace":"","name":"","path":"","query":"","executionNs":7,"watchNs":0`
	for name, c := range map[string]struct {
		logged Logged
		want   string
	}{
		"executed": {Logged{FlowSchema: "s", PriorityLevel: "l", Outcome: Executed, DispatchNs: 130, FinishNs: 137, WaitNs: 30, Seats: 2, FinalSeats: 3, AdditionalLatencyNs: 9},
			`,"flowSchema":"s","priorityLevel":"l","outcome":"executed","dispatchNs":130,"finishNs":137,"waitNs":30,"seats":2,"finalSeats":3,"additionalLatencyNs":9}`},
		"rejected": {Logged{Outcome: Rejected, DispatchNs: -1, FinishNs: -1, WaitNs: 4, Seats: -1, FinalSeats: -1, AdditionalLatencyNs: -1},
			`,"outcome":"rejected","waitNs":4}`},
		"unknown": {Logged{DispatchNs: -1, FinishNs: -1, WaitNs: -1, Seats: -1, FinalSeats: -1, AdditionalLatencyNs: -1}, `}`},
	} {
		got := string(AppendLogged([]byte("x"), &record, &c.logged))
		if want := "x" + asks + c.want + "\n"; got != want {
			t.Errorf("%s:\n%swant\n%s", name, got, want)
		}
		if records, mistakes := readTrace(got[1:]); len(records) != 1 || len(mistakes) > 0 {
			t.Errorf("%s: read as %v, %v", name, records, mistakes)
		}
	}
}

// What was appended is read back by a reader that is asked for it, and mistakes have their places.
func TestReadingOfALoggedRequest(t *testing.T) {
	read := func(text string) (*Logged, error) {
		r := NewReader(strings.NewReader(text), "t.jsonl")
		r.Decided = true
		var a Arrival
		_, err := r.next(&a)
		return a.Logged, err
	}
	record := Record{ID: 1, User: "alice", Verb: "get", Resource: "pods", ExecutionNs: 7}
	for _, want := range []Logged{
		{FlowSchema: "s\"ß", PriorityLevel: "l", Outcome: Rejected, DispatchNs: 130, FinishNs: 137, WaitNs: 30, Seats: 2, FinalSeats: 3, AdditionalLatencyNs: 9},
		{DispatchNs: -1, FinishNs: -1, WaitNs: 0, Seats: -1, FinalSeats: -1, AdditionalLatencyNs: -1},
	} {
		if got, err := read(string(AppendLogged(nil, &record, &want))); err != nil || *got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
	const asks = `{"arrivalNs":0,"user":"u","verb":"get","resource":"pods","executionNs":1,`
	for more, want := range map[string]string{
		`"seats":-1}`:         `t.jsonl:1:82: seats: -1: want a whole number from 0 to 32767`,
		`"seats":99999}`:      `t.jsonl:1:82: seats: 99999: want a whole number from 0 to 32767`,
		`"waitNs":"long"}`:    `t.jsonl:1:83: waitNs: "long": want a whole number from 0 to `,
		`"outcome":"reject"}`: `t.jsonl:1:84: outcome: "reject" is not an outcome (did you mean "rejected"?)`,
		`"flowSchema":7}`:     `t.jsonl:1:87: flowSchema: `,
	} {
		if _, err := read(asks + more); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", more, err, want)
		}
	}
}
