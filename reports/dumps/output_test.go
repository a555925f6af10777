package dumps

import (
	"testing"

	"apfsim/core/estimate"
)

// The server writes seat-seconds with eight decimals.
func TestSeatSecondsInDumps(t *testing.T) {
	for s, want := range map[estimate.SeatSeconds]string{0: "0.00000000ss", 5: "0.00000005ss", 123_456_789: "1.23456789ss"} {
		if got := seatSeconds(s); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
