package queueset

import (
	"math"
	"time"

	"apfsim/core/estimate"
	"apfsim/core/rules"
)

// virtual is a virtual time: R, or the R at which a request is to start or to finish. Virtual times
// are in the order of their numbers, whatever the arithmetic; all else depends on it:
//
//	FixedPoint  estimate.SeatSeconds, modulo 2⁶⁴
//	Float64     a float64, in seconds, whose bits are arranged so that the order is right: the
//	            sign bit is inverted, and all other bits are if the number is negative
type virtual uint64

// arithmetic computes virtual times in the representation of a release. Sums and products of
// float64 are rounded one by one, as on amd64: the conversions forbid Go to fuse a product and a
// sum, which it does on some other processors.
type arithmetic rules.Arithmetic

func (a arithmetic) float() bool { return rules.Arithmetic(a) == rules.Float64 }

// zero is the time at which R begins.
func (a arithmetic) zero() virtual {
	if a.float() {
		return ofSeconds(0)
	}
	return 0
}

// advance returns R after a real time in which it progressed at a rate, in seat-seconds per second.
func (a arithmetic) advance(r virtual, rate float64, elapsedNs int64) virtual {
	if a.float() {
		return ofSeconds(r.seconds() + float64(time.Duration(elapsedNs).Seconds()*rate))
	}
	return r + virtual(estimate.SeatsTimesDuration(rate, elapsedNs))
}

// add returns the virtual time after a queue has been charged for some work.
func (a arithmetic) add(v virtual, work estimate.SeatSeconds) virtual {
	if a.float() {
		return addSeconds(v, work)
	}
	return v + virtual(work)
}

// addSeconds is add in float64, apart so that add is inlined.
func addSeconds(v virtual, work estimate.SeatSeconds) virtual {
	return ofSeconds(v.seconds() + workSeconds(work))
}

// subtract is the reverse of add, apart from rounding.
func (a arithmetic) subtract(v virtual, work estimate.SeatSeconds) virtual {
	if a.float() {
		return ofSeconds(v.seconds() - workSeconds(work))
	}
	return v - virtual(work)
}

// correct returns the virtual time of a queue that was charged guessNs for the execution of a
// request on some seats, which has taken tookNs.
func (a arithmetic) correct(v virtual, seats int, guessNs, tookNs int64) virtual {
	if a.float() { // every request counts as one seat
		return ofSeconds(v.seconds() - (time.Duration(guessNs).Seconds() - time.Duration(tookNs).Seconds()))
	}
	return v - virtual(estimate.SeatsTimesDuration(float64(seats), guessNs-tookNs))
}

// between returns the work from one virtual time to a later one.
func (a arithmetic) between(from, to virtual) estimate.SeatSeconds {
	if a.float() {
		return estimate.SeatsTimesDuration(1, int64((to.seconds()-from.seconds())*1e9))
	}
	return estimate.SeatSeconds(to - from)
}

// seatSeconds returns a virtual time as all arithmetics can show it, to the nearest 1e-8 seconds.
func (a arithmetic) seatSeconds(v virtual) estimate.SeatSeconds {
	if a.float() {
		return estimate.SeatSeconds(int64(math.Round(v.seconds() * 1e8)))
	}
	return estimate.SeatSeconds(v)
}

// workSeconds returns some work as seconds. It is exact for the work of whole seconds, which all
// work is in the releases that compute with float64.
func workSeconds(work estimate.SeatSeconds) float64 { return float64(work) / 1e8 }

const signBit = 1 << 63

// ofSeconds returns the virtual time of a float64.
func ofSeconds(seconds float64) virtual {
	bits := math.Float64bits(seconds)
	if bits&signBit != 0 {
		return virtual(^bits)
	}
	return virtual(bits | signBit)
}

// seconds returns the float64 of a virtual time.
func (v virtual) seconds() float64 {
	if v&signBit == 0 {
		return math.Float64frombits(uint64(^v))
	}
	return math.Float64frombits(uint64(v &^ signBit))
}
