package measure

import (
	"cmp"
	"math"
	"slices"
)

// McNemar returns the p value of McNemar's exact test: of pairs with two outcomes each, b differ in one way and c in the
// other. If both ways are equally likely, b has a binomial distribution with b+c trials, and p is twice the probability of
// so few pairs of the rarer kind (Q. McNemar, Psychometrika 12, 1947).
func McNemar(b, c int64) float64 {
	n, few := float64(b+c), float64(min(b, c))
	if b == c {
		return 1
	}
	of := func(k float64) float64 { l, _ := math.Lgamma(k + 1); return l }
	sum, term := 1.0, 1.0 // of the probabilities from few down to 0, as parts of that of few
	for k := few; k > 0 && term > sum*1e-17; k-- {
		term *= k / (n - k + 1)
		sum += term
	}
	return min(1, 2*sum*math.Exp(of(n)-of(few)-of(n-few)-n*math.Ln2))
}

// mostExact is the number of pairs up to which the distribution of their ranks is computed and not approximated.
const mostExact = 50

// SignedRanks returns the p value of Wilcoxon's signed-rank test: whether the differences of pairs are as often and as far
// above 0 as below. up and down are their absolute values, in histograms of one precision, whose buckets are ties; pairs
// without a difference are in neither. Of up to mostExact pairs the distribution is exact, else normal with the variance of
// the ties and a correction for continuity (F. Wilcoxon, Biometrics Bulletin 1, 1945).
func SignedRanks(up, down *Histogram) float64 {
	type tie struct{ leastNs, up, n int64 }
	var ties []tie
	up.Each(func(leastNs, _, n int64) { ties = append(ties, tie{leastNs, n, n}) })
	down.Each(func(leastNs, _, n int64) { ties = append(ties, tie{leastNs, 0, n}) })
	slices.SortStableFunc(ties, func(a, b tie) int { return cmp.Compare(a.leastNs, b.leastNs) })
	all := up.N + down.N
	var twice []int64 // of the ranks of few pairs, which are whole or halves
	below, sum, mean, variance := int64(0), 0.0, 0.0, 0.0
	for i := 0; i < len(ties); {
		t := ties[i]
		for i++; i < len(ties) && ties[i].leastNs == t.leastNs; i++ {
			t.up, t.n = t.up+ties[i].up, t.n+ties[i].n
		}
		rank := float64(below) + float64(t.n+1)/2
		below += t.n
		sum += rank * float64(t.up)
		mean += rank * float64(t.n) / 2
		variance += rank * rank * float64(t.n) / 4
		for range t.n {
			if all > mostExact {
				break
			}
			twice = append(twice, int64(2*rank))
		}
	}
	apart := math.Abs(sum - mean)
	switch {
	case apart == 0:
		return 1
	case all > mostExact:
		return math.Erfc(max(0, apart-0.5) / math.Sqrt(2*variance))
	}
	// chance[s] is the probability that twice the sum of the ranks with one sign is s.
	chance := make([]float64, all*(all+1)+1)
	chance[0] = 1
	for _, r := range twice {
		for s := int64(len(chance)) - 1; s >= 0; s-- {
			chance[s] /= 2
			if s >= r {
				chance[s] += chance[s-r] / 2
			}
		}
	}
	p := 0.0
	for s, c := range chance {
		if math.Abs(float64(s)-2*mean) >= 2*apart {
			p += c
		}
	}
	return min(1, p)
}
