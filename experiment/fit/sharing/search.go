package sharing

import "math"

// point is a law as the search moves it: 1/c and σ.
type point [2]float64

// greatest are the upper bounds of the coordinates of a point.
var greatest = point{1, 3}

// search finds the law with the greatest likelihood.
type search struct {
	model *model
	tried map[point]*trial
	order []point  // of trying
	alone [2]point // the best ones in which one coordinate is not the least
	lower point    // the least values of a point. Cores for all executions at a time are as good as no bound
	least point    // differences that matter with as many executions at a time
}

func newSearch(m *model) *search {
	n := float64(m.mostAtOnce)
	s := &search{model: m, lower: point{1 / n}, least: point{0.01 / n, 0.01 / n}}
	s.smooth(s.lower)
	return s
}

// law returns the law of a point.
func (s *search) law(p point) Law {
	return Law{Cores: s.cores(p[0]), Contention: p[1]}
}

// cores returns the cores of the first coordinate of a point, +Inf if they are no bound.
func (s *search) cores(x float64) float64 {
	if x <= s.lower[0] {
		return math.Inf(1)
	}
	return 1 / x
}

// smooth sets the bandwidths of the kernel densities from the demands under the law of a point. All laws are then
// compared with the same bandwidths.
func (s *search) smooth(p point) {
	s.model.setWidths(s.law(p))
	s.tried, s.order = map[point]*trial{}, nil
}

func (s *search) trialAt(p point) *trial {
	if r := s.tried[p]; r != nil {
		return r
	}
	r := s.model.try(s.law(p))
	s.tried[p] = r
	s.order = append(s.order, p)
	return r
}

// climb moves the free coordinates of a point one at a time, by steps that grow with success and shrink without,
// until they are small in comparison with the values.
func (s *search) climb(p point, finest float64, free ...int) point {
	var steps point
	for _, k := range free {
		steps[k] = max(p[k]/8, 8*s.least[k])
	}
	best := s.trialAt(p).total
	for range 100 {
		moving := false
		for _, k := range free {
			moved := false
			for _, sign := range []float64{1, -1} {
				q := p
				q[k] = min(greatest[k], max(s.lower[k], p[k]+sign*steps[k]))
				if q == p {
					continue
				}
				if x := s.trialAt(q).total; x > best {
					p, best, moved = q, x, true
					break
				}
			}
			if moved {
				steps[k] *= 1.7
			} else {
				steps[k] /= 3
			}
			moving = moving || steps[k] > max(finest*p[k], s.least[k])
		}
		if !moving {
			break
		}
	}
	return p
}

// start returns the best point with only coordinate k above its lower bound, among values on a geometric scale.
func (s *search) start(k int) point {
	best := s.lower
	for x := greatest[k]; x > max(s.lower[k], s.least[k]); x /= 1.5 {
		p := s.lower
		if p[k] = x; s.trialAt(p).total > s.trialAt(best).total {
			best = p
		}
	}
	return best
}

// profileMaximum returns the point with the greatest likelihood among those whose coordinate k is that of p. It climbs from p
// and from the best point with the other coordinate alone, because there can be two local maxima.
func (s *search) profileMaximum(p point, k int) point {
	other := 1 - k
	best := s.climb(p, coarse, other)
	q := p
	q[other] = s.alone[other][other]
	if q = s.climb(q, coarse, other); s.trialAt(q).total > s.trialAt(best).total {
		best = q
	}
	return best
}

// bound returns the point at which a coordinate, between that of the best point and a limit, is such that the greatest
// log-likelihood over the other coordinates is less than the top by fall. It returns that at the limit if there is
// none. The fall grows like the square of the distance, as long as that is small. First is a distance to begin with.
func (s *search) bound(best point, k int, limit, first, top, fall float64) point {
	sign := 1.0
	if limit < best[k] {
		sign = -1
	}
	whole := math.Abs(limit - best[k])
	inside, outside := 0.0, math.Inf(1) // distances
	distance := min(first, whole)
	p := best
	for range 15 {
		p[k] = best[k] + sign*distance
		if distance == whole {
			p[k] = limit
		}
		p = s.profileMaximum(p, k)
		fell := top - s.trialAt(p).total
		if math.Abs(fell-fall) < fall/10 || fell < fall && distance == whole {
			break
		}
		if fell < fall {
			inside = distance
		} else {
			outside = distance
		}
		next := distance * min(4, max(0.25, math.Sqrt(fall/max(fell, 1e-3))))
		if next <= inside || next >= outside {
			next = (inside + min(outside, whole)) / 2
		}
		distance = min(next, whole)
	}
	return p
}
