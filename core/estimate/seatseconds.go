package estimate

// SeatSeconds is an amount of work in units of 1e-8 seat-seconds. It is a fixed-point number,
// so that sums have no rounding errors. A negative amount is stored modulo 2^64; adding it
// gives the right sum by overflow.
type SeatSeconds uint64

// unitsPerSecond is the number of units of SeatSeconds in one seat-second.
const unitsPerSecond = 1e8

// SeatsTimesDuration returns the work of a number of seats during a number of nanoseconds,
// rounded to the nearest unit, with halves away from zero
// (k8s.io/apiserver/pkg/util/flowcontrol/request, seat_seconds.go).
func SeatsTimesDuration(seats float64, durationNs int64) SeatSeconds {
	return SeatSeconds(round(seats * float64(durationNs) / (1e9 / unitsPerSecond)))
}

// round returns int64(math.Round(x)) and is faster. Out of the range of int64, both return
// int64(x).
func round(x float64) int64 {
	whole := int64(x)
	if fraction := x - float64(whole); -1 < fraction && fraction < 1 {
		whole += int64(2 * fraction) // avoids a branch, which the processor could not predict
	}
	return whole
}

// DurationPerSeat returns the time in nanoseconds that this number of seats needs for the
// work, rounded toward zero.
func (s SeatSeconds) DurationPerSeat(seats float64) int64 {
	return int64(float64(s) / seats * (1e9 / unitsPerSecond))
}
