package random

import "math/rand/v2"

// Scaled has Factor times the durations of another distribution. It draws the same numbers from the stream, so that two
// runs differ by the factor only.
type Scaled struct {
	Distribution
	Factor float64 // above 0
}

// Sample implements Distribution.
func (s Scaled) Sample(r *rand.Rand) int64 {
	return nanoseconds(s.Factor * float64(s.Distribution.Sample(r)))
}

// MeanNs implements Distribution.
func (s Scaled) MeanNs() float64 { return s.Factor * s.Distribution.MeanNs() }
