package trace

import "testing"

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
