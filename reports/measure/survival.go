package measure

import (
	"cmp"
	"slices"
)

// Survival is the distribution of durations of which some are censored: they had not ended when they were last seen, so that
// they are only known to be at least as long. It is the product-limit estimate
//
//	S(t) = Π (1 − dᵢ/nᵢ) over all times tᵢ ≤ t
//
// where dᵢ durations ended at tᵢ, and nᵢ were at least as long (E. L. Kaplan and P. Meier, Nonparametric Estimation from
// Incomplete Observations, J. Amer. Statist. Assoc. 53, 1958). Without censored durations, 1 − S is the share of durations
// that are not longer than t.
//
// Durations can also be given up at a known time, as a wait that times out. The distribution is that of the others: of those
// that are censored, as many are expected to be given up as of those that are as long (the cumulative incidence; J. D.
// Kalbfleisch and R. L. Prentice, The Statistical Analysis of Failure Time Data, 1980, section 7.2).
//
// The estimate assumes that a censored duration would have ended like any other that is as long. Where the latest
// durations are also the longest, as the waits in a backlog that grows, it is below the truth, but less so than if the
// censored ones counted as ended.
type Survival struct {
	steps  []step // by time
	lastNs int64  // the longest duration, ended or censored
}

// step is a time at which durations ended, and the share of all that are longer.
type step struct {
	ns   int64
	left float64
}

// NewSurvival returns the distribution of the durations that ended, were censored and were given up. At least one has ended or
// is censored.
func NewSurvival(ended, censored, givenUp []int64) *Survival {
	type duration struct {
		ns          int64
		ends, gives int // 1 if it ended, or was given up
	}
	var all []duration
	for _, ns := range ended {
		all = append(all, duration{ns, 1, 0})
	}
	for _, ns := range censored {
		all = append(all, duration{ns, 0, 0})
	}
	for _, ns := range givenUp {
		all = append(all, duration{ns, 0, 1})
	}
	slices.SortFunc(all, func(a, b duration) int { return cmp.Compare(a.ns, b.ns) })
	s := &Survival{lastNs: slices.Max(slices.Concat(ended, censored))}
	left, incidence := 1.0, 0.0
	for i := 0; i < len(all); {
		atRisk, ns, ends, gives := float64(len(all)-i), all[i].ns, 0, 0
		for ; i < len(all) && all[i].ns == ns; i++ {
			ends, gives = ends+all[i].ends, gives+all[i].gives
		}
		if ends > 0 {
			incidence += left * float64(ends) / atRisk
			s.steps = append(s.steps, step{ns, incidence})
		}
		left *= 1 - float64(ends+gives)/atRisk
	}
	for i := range s.steps {
		s.steps[i].left = 1 - s.steps[i].left/(incidence+left)
	}
	if n := len(s.steps); n > 0 && left == 0 { // what is censored later would be given up
		s.lastNs = s.steps[n-1].ns
	}
	return s
}

// MeanNs returns the restricted mean: the area under S up to the longest duration. The mean is at least that if S is above 0
// there, because the longest duration is censored.
func (s *Survival) MeanNs() (ns float64, atLeast bool) {
	from, left := int64(0), 1.0
	for _, p := range s.steps {
		ns += left * float64(p.ns-from)
		from, left = p.ns, p.left
	}
	return ns + left*float64(s.lastNs-from), left > 0
}

// MaxNs returns the longest duration; the longest would be at least that if it is censored.
func (s *Survival) MaxNs() (ns int64, atLeast bool) {
	return s.lastNs, len(s.steps) == 0 || s.steps[len(s.steps)-1].left > 0
}

// PercentileNs returns the least time that at least p percent of the durations do not exceed. If S does not fall so far, the
// percentile is at least the longest duration.
func (s *Survival) PercentileNs(p float64) (ns int64, atLeast bool) {
	for _, at := range s.steps {
		if (1-at.left)*(1+1e-9) >= p/100 { // the factor makes up for the rounding of the products
			return at.ns, false
		}
	}
	return s.lastNs, true
}
