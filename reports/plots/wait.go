package plots

import (
	"math"

	"apfsim/reports/result"
)

// waitScale is the range of waits in nanoseconds, and the least share of requests, that
// are drawn.
type waitScale struct{ Left, Right, Bottom float64 }

// WaitScaleOf is not ok when no request waited.
func WaitScaleOf(r *result.Result) (scale waitScale, ok bool) {
	least, most, requests := int64(math.MaxInt64), int64(0), int64(0)
	for i := range r.Waits {
		h := &r.Waits[i]
		requests = max(requests, h.N)
		h.Each(func(_, ns, n int64) {
			if ns > 0 {
				least = min(least, ns)
			}
		})
		most = max(most, h.MostNs)
	}
	if most == 0 {
		return waitScale{}, false
	}
	left := math.Pow(10, math.Floor(math.Log10(float64(min(max(least, 1_000), most)))))
	right := math.Pow(10, math.Ceil(math.Log10(float64(most))))
	if right <= left {
		right = left * 10
	}
	left = max(left, right/1e7) // the shortest waits say little
	bottom := math.Pow(10, math.Floor(math.Log10(1/float64(max(requests, 10)))))
	return waitScale{left, right, max(bottom, 1e-6)}, true
}

// places are times along the scale, equally far apart on it.
func (s waitScale) places() []float64 {
	const aDecade = 60
	from, to := math.Round(math.Log10(s.Left)*aDecade), math.Round(math.Log10(s.Right)*aDecade)
	var at []float64
	for e := from; e <= to; e++ {
		at = append(at, math.Pow(10, e/aDecade))
	}
	return at
}
