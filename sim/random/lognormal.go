package random

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// z99 is the 99th percentile of the standard normal distribution.
const z99 = 2.3263478740408408

// mostP99ToMean is the largest ratio of the 99th percentile to the mean that a lognormal
// distribution can have, exp(z99²/2) = 14.968..., rounded up to two decimals.
const mostP99ToMean = 14.97

// Lognormal is the lognormal distribution: that of exp(mu + sigma·Z) for a standard normal Z.
// Its mean is
//
//	exp(mu + sigma²/2)
//
// (https://en.wikipedia.org/wiki/Log-normal_distribution).
type Lognormal struct{ mu, sigma float64 }

// NewLognormal returns the lognormal distribution with a mean in nanoseconds and with the
// standard deviation sigma of its logarithm, 0 < sigma <= 10.
func NewLognormal(meanNs, sigma float64) (Lognormal, error) {
	if err := checkMean(meanNs); err != nil {
		return Lognormal{}, err
	}
	if err := checkParameter("sigma", sigma, 0, 10); err != nil {
		return Lognormal{}, err
	}
	return Lognormal{math.Log(meanNs) - sigma*sigma/2, sigma}, nil
}

// NewLognormalP99 returns the lognormal distribution with a mean and a 99th percentile in
// nanoseconds. If z is the 99th percentile of the standard normal distribution, sigma is a
// root of
//
//	ln(p99/mean) = z·sigma - sigma²/2
//
// The equation has two roots for 1 < p99/mean < exp(z²/2) = 14.968..., and none for a larger
// ratio. The result has the smaller root, z - sqrt(z² - 2·ln(p99/mean)): with the larger one,
// almost the whole mean would come from the one percent of the samples above the 99th
// percentile. For a ratio between 14.968 and the bound of 14.97, the result has sigma = z, and
// its 99th percentile is too low by at most 0.02 %.
func NewLognormalP99(meanNs, p99Ns float64) (Lognormal, error) {
	if err := checkMean(meanNs); err != nil {
		return Lognormal{}, err
	}
	ratio := p99Ns / meanNs
	if !(ratio > 1 && ratio <= mostP99ToMean) {
		return Lognormal{}, fmt.Errorf("mean %v, p99 %v: p99 is %.5g times the mean; want more than 1 and at most %v times",
			show(meanNs), show(p99Ns), ratio, mostP99ToMean)
	}
	sigma := z99 - math.Sqrt(max(0, z99*z99-2*math.Log(ratio)))
	return Lognormal{math.Log(meanNs) - sigma*sigma/2, sigma}, nil
}

// Sample implements Distribution.
func (l Lognormal) Sample(r *rand.Rand) int64 {
	return nanoseconds(math.Exp(l.mu + l.sigma*r.NormFloat64()))
}

// MeanNs implements Distribution.
func (l Lognormal) MeanNs() float64 { return math.Exp(l.mu + l.sigma*l.sigma/2) }
