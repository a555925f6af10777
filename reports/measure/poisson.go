package measure

import "gonum.org/v1/gonum/stat/distuv"

// FewerP returns the p value of the hypothesis that two numbers of events come from Poisson processes of the same rate,
// against the alternative that the first rate is lower: given their sum, the first is binomial (Przyborowski and Wilenski,
// "Homogeneity of results in testing samples from Poisson series", Biometrika 31, 1940). The times are those in which they
// were counted, both more than 0.
func FewerP(n int64, time float64, other int64, otherTime float64) float64 {
	return distuv.Binomial{N: float64(n + other), P: time / (time + otherTime)}.CDF(float64(n))
}
