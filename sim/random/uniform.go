package random

import (
	"fmt"
	"math/rand/v2"
)

// Uniform is the discrete uniform distribution over the integers from min to max, in nanoseconds.
// Its mean is
//
//	(min + max) / 2
//
// (https://en.wikipedia.org/wiki/Discrete_uniform_distribution).
type Uniform struct{ min, max int64 }

// NewUniform returns the uniform distribution from min to max, 0 <= min <= max <= LongestNs.
func NewUniform(min, max int64) (Uniform, error) {
	if min < 0 || max < min || max > LongestNs {
		return Uniform{}, fmt.Errorf("min %v, max %v: want 0 <= min <= max",
			show(float64(min)), show(float64(max)))
	}
	return Uniform{min, max}, nil
}

// Sample implements Distribution.
func (u Uniform) Sample(r *rand.Rand) int64 { return u.min + r.Int64N(u.max-u.min+1) }

// MeanNs implements Distribution.
func (u Uniform) MeanNs() float64 { return (float64(u.min) + float64(u.max)) / 2 }
