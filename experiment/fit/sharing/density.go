package sharing

import (
	"math"
	"slices"
)

// density is the density of the logarithms of the demands of one kind, estimated by Gaussian kernels.
type density struct {
	counts  []float64
	smooth  []float64
	weights []float64
}

const (
	binsPerWidth = 4    // bins in a bandwidth
	reach        = 4    // of a kernel, in bandwidths
	leastWidth   = 0.01 // demands that differ by less than 1 % are equal for this purpose
	mostBins     = 1 << 16
)

// add adds to each of scores the logarithm of the density at the value with the same index, estimated from all
// values but this one with kernels of a bandwidth.
func (d *density) add(values []float64, width float64, scores []float64) {
	low, high := slices.Min(values), slices.Max(values)
	step := max(width/binsPerWidth, (high-low)/mostBins)
	bins := int((high-low)/step) + 3
	d.counts = append(d.counts[:0], make([]float64, bins)...)
	d.smooth = append(d.smooth[:0], make([]float64, bins)...)
	d.weights = d.weights[:0]
	for j := 0; j <= reach*binsPerWidth; j++ {
		x := float64(j) * step / width
		d.weights = append(d.weights, math.Exp(-x*x/2))
	}
	for _, x := range values {
		at, part := position(x, low, step, bins)
		d.counts[at] += 1 - part
		d.counts[at+1] += part
	}
	for i, c := range d.counts {
		if c == 0 {
			continue
		}
		d.smooth[i] += c * d.weights[0]
		for j := 1; j < len(d.weights); j++ {
			if i-j >= 0 {
				d.smooth[i-j] += c * d.weights[j]
			}
			if i+j < bins {
				d.smooth[i+j] += c * d.weights[j]
			}
		}
	}
	scale := 1 / (float64(len(values)-1) * width * math.Sqrt(2*math.Pi))
	for i, x := range values {
		at, part := position(x, low, step, bins)
		own := ((1-part)*(1-part)+part*part)*d.weights[0] + 2*part*(1-part)*d.weights[1]
		others := (1-part)*d.smooth[at] + part*d.smooth[at+1] - own
		scores[i] += math.Log(max(scale*others, 1e-9)) // far from all others
	}
}

// width returns the bandwidth of Silverman for the values ("Density Estimation for Statistics and Data
// Analysis", 1986, section 3.4).
func width(values []float64) float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	n := len(values)
	mean, sum2 := 0.0, 0.0
	for _, x := range values {
		mean += x / float64(n)
	}
	for _, x := range values {
		sum2 += (x - mean) * (x - mean)
	}
	spread := min(math.Sqrt(sum2/float64(n)), (sorted[3*n/4]-sorted[n/4])/1.34)
	return max(leastWidth, 0.9*spread*math.Pow(float64(n), -0.2))
}

// position returns the bin at or below x, and which part of the way to the next one x is.
func position(x, low, step float64, bins int) (at int, part float64) {
	p := (x - low) / step
	at = min(int(p), bins-2)
	return at, p - float64(at)
}
