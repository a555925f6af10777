package estimate

// SeatSeconds is an amount of work in units of 1e-8 seat-seconds, a fixed-point number
// that sums without rounding. Negative amounts are held modulo 2^64 and work by
// wrap-around in sums.
type SeatSeconds uint64

// unitsPerSecond is how many units of SeatSeconds one seat takes in a second.
const unitsPerSecond = 1e8

// SeatsTimesDuration returns the work of so many seats for so many nanoseconds, rounded
// to the nearest unit, half away from zero (k8s.io/apiserver/pkg/util/flowcontrol/request,
// seat_seconds.go).
func SeatsTimesDuration(seats float64, durationNs int64) SeatSeconds {
	return SeatSeconds(round(seats * float64(durationNs) / (1e9 / unitsPerSecond)))
}

// round is int64(math.Round(x)), but faster. Beyond int64 both are what int64(x) is.
func round(x float64) int64 {
	whole := int64(x)
	if rest := x - float64(whole); -1 < rest && rest < 1 {
		whole += int64(2 * rest) // without a branch, which would be taken half of the time
	}
	return whole
}

// DurationPerSeat returns for how many nanoseconds so many seats do the work, rounded
// toward zero.
func (s SeatSeconds) DurationPerSeat(seats float64) int64 {
	return int64(float64(s) / seats * (1e9 / unitsPerSecond))
}
