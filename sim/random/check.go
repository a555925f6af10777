package random

import (
	"fmt"
	"math"
	"time"
)

// checkMean returns an error unless mean is a positive number of nanoseconds of at most LongestNs.
func checkMean(mean float64) error {
	if !(mean > 0 && mean <= LongestNs) {
		return fmt.Errorf("mean %v: want more than 0", show(mean))
	}
	return nil
}

// checkParameter returns an error unless least < value <= most. NaN is an error too.
func checkParameter(name string, value, least, most float64) error {
	if !(value > least && value <= most) {
		return fmt.Errorf("%s %v: want more than %v and at most %v", name, value, least, most)
	}
	return nil
}

// show returns a number of nanoseconds for an error message, as a duration if it is in the range
// of one.
func show(ns float64) string {
	if math.Abs(ns) <= LongestNs {
		return time.Duration(ns).String()
	}
	return fmt.Sprintf("%v ns", ns)
}
