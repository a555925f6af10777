package random

import (
	"math"
	"math/rand/v2"
)

// Pareto is the Pareto distribution of type I, which has a heavy tail. Its distribution function
// and its mean are
//
//	F(x) = 1 - (min/x)^shape, x >= min
//	mean = min·shape/(shape-1)
//
// (https://en.wikipedia.org/wiki/Pareto_distribution).
type Pareto struct{ mean, min, inverse float64 } // inverse is 1/shape

// NewPareto returns the Pareto distribution with a mean in nanoseconds and a shape,
// 1 < shape <= 1e6. With a shape of 1 or less the mean is infinite.
func NewPareto(meanNs, shape float64) (Pareto, error) {
	if err := checkMean(meanNs); err != nil {
		return Pareto{}, err
	}
	return Pareto{meanNs, meanNs * (shape - 1) / shape, 1 / shape}, checkParameter("shape", shape, 1, 1e6)
}

// Sample implements Distribution. The logarithm of x/min is exponential with mean 1/shape.
func (p Pareto) Sample(r *rand.Rand) int64 {
	return nanoseconds(p.min * math.Exp(r.ExpFloat64()*p.inverse))
}

// MeanNs implements Distribution.
func (p Pareto) MeanNs() float64 { return p.mean }
