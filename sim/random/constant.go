package random

import (
	"fmt"
	"math/rand/v2"
)

// Constant is the distribution with one value.
type Constant struct{ ns int64 }

// NewConstant returns the distribution with the value ns, which must be from 0 to LongestNs.
func NewConstant(ns int64) (Constant, error) {
	if ns < 0 || ns > LongestNs {
		return Constant{}, fmt.Errorf("%v: want 0 or more", show(float64(ns)))
	}
	return Constant{ns}, nil
}

// Sample implements Distribution. It does not draw from the stream.
func (c Constant) Sample(*rand.Rand) int64 { return c.ns }

// MeanNs implements Distribution.
func (c Constant) MeanNs() float64 { return float64(c.ns) }
