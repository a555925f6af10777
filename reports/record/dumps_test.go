package record

import (
	"strings"
	"testing"

	"apfsim/core/estimate"
	"apfsim/core/rules"
)

// The server writes seat-seconds with eight decimals.
func TestSeatSecondsInDumps(t *testing.T) {
	for s, want := range map[estimate.SeatSeconds]string{0: "0.00000000ss", 5: "0.00000005ss", 123_456_789: "1.23456789ss"} {
		if got := seatSeconds(s); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A server of 1.19 to 1.22 writes the virtual start of a queue, in seconds, with four digits after the
// decimal point (rowForQueue in apf_controller_debug.go).
func TestVirtualStart(t *testing.T) {
	for value, want := range map[estimate.SeatSeconds]string{0: "0.0000", 123_456_789: "1.2346", 6_000_000_000: "60.0000"} {
		if got := virtualSeconds(value); got != want {
			t.Errorf("%d: %s, want %s", value, got, want)
		}
	}
}

// The columns are those of each release's apf_controller_debug.go.
func TestColumnsOfEachRelease(t *testing.T) {
	const short = "PriorityLevelName ActiveQueues IsIdle IsQuiescing WaitingRequests ExecutingRequests"
	for version, want := range map[string][3]string{
		"1.22": {short, "PriorityLevelName Index PendingRequests ExecutingRequests VirtualStart",
			"PriorityLevelName FlowSchemaName QueueIndex RequestIndexInQueue FlowDistingsher ArriveTime"},
		"1.23": {short, "PriorityLevelName Index PendingRequests ExecutingRequests SeatsInUse NextDispatchR InitialSeatsSum MaxSeatsSum TotalWorkSum",
			"PriorityLevelName FlowSchemaName QueueIndex RequestIndexInQueue FlowDistingsher ArriveTime InitialSeats FinalSeats AdditionalLatency"},
		"1.27": {short + " DispatchedRequests RejectedRequests TimedoutRequests CancelledRequests",
			"PriorityLevelName Index PendingRequests ExecutingRequests SeatsInUse NextDispatchR InitialSeatsSum MaxSeatsSum TotalWorkSum",
			"PriorityLevelName FlowSchemaName QueueIndex RequestIndexInQueue FlowDistingsher ArriveTime InitialSeats FinalSeats AdditionalLatency"},
		"1.28": {short + " DispatchedRequests RejectedRequests TimedoutRequests CancelledRequests",
			"PriorityLevelName Index PendingRequests ExecutingRequests SeatsInUse NextDispatchR InitialSeatsSum MaxSeatsSum TotalWorkSum",
			"PriorityLevelName FlowSchemaName QueueIndex RequestIndexInQueue FlowDistingsher ArriveTime InitialSeats FinalSeats AdditionalLatency StartTime"},
	} {
		r, err := rules.For(version)
		if err != nil {
			t.Fatal(err)
		}
		for i := range DumpKinds {
			columns := dumpColumns(r, [][]string{DumpKinds[i].Columns})[0]
			if got := strings.Join(columns, " "); got != want[i] || !IsDumpHead(i, columns) {
				t.Errorf("%s, %s: %s, want %s", version, DumpKinds[i].Name, got, want[i])
			}
		}
	}
}
