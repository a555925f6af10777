package measure

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// The p value of McNemar's test is the sum of the probabilities of all outcomes that are at most as likely, as exact
// fractions.
func TestMcNemarIsTheSumOfBinomialProbabilities(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		b, c := r.Int64N(80), r.Int64N(80)
		n, sum := b+c, new(big.Int)
		found := new(big.Int).Binomial(n, b)
		for k := range n + 1 {
			if ways := new(big.Int).Binomial(n, k); ways.Cmp(found) <= 0 {
				sum.Add(sum, ways)
			}
		}
		want, _ := new(big.Rat).SetFrac(sum, new(big.Int).Lsh(big.NewInt(1), uint(n))).Float64()
		if got := McNemar(b, c); math.Abs(got-want) > 1e-10*want {
			t.Fatalf("%d and %d differ: p is %v, want %v", b, c, got, want)
		}
	}
	if p := McNemar(16, 0); math.Abs(p-2.0/65536) > 1e-15 {
		t.Errorf("of 16 pairs that all differ one way p is %v", p)
	}
	for _, million := range []int64{1_000_000, 40_000_000} { // as the normal distribution has it: 3 standard deviations
		apart := int64(3 * math.Sqrt(2*float64(million)) / 2)
		if p := McNemar(million-apart, million+apart); math.Abs(p-0.0027) > 0.00002 {
			t.Errorf("%d pairs: p is %v", 2*million, p)
		}
	}
}

// The p value of the signed-rank test is the part of all 2ⁿ choices of signs whose rank sum is as far from the middle.
// With more pairs it is that of the normal distribution, which is nearly the same.
func TestSignedRanksCountChoicesOfSigns(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		up, down := &Histogram{Precision: FinePrecision}, &Histogram{Precision: FinePrecision}
		n := 1 + r.IntN(10)
		values, signs := make([]float64, n), make([]bool, n)
		for i := range values {
			ns := 1 + r.Int64N(12) // with ties
			values[i], signs[i] = float64(ns), r.IntN(3) > 0
			if signs[i] {
				up.Record(ns)
			} else {
				down.Record(ns)
			}
		}
		ranks := ranksOf(values)
		apart := func(chosen func(i int) bool) float64 {
			sum := 0.0
			for i, rank := range ranks {
				if chosen(i) {
					sum += rank
				}
			}
			return math.Abs(sum - float64(n*(n+1))/4)
		}
		found, as := apart(func(i int) bool { return signs[i] }), 0
		for choice := range 1 << n {
			if apart(func(i int) bool { return choice&(1<<i) != 0 }) >= found {
				as++
			}
		}
		if got, want := SignedRanks(up, down), float64(as)/float64(int(1)<<n); math.Abs(got-want) > 1e-12 {
			t.Fatalf("%v %v: p is %v, want %v", values, signs, got, want)
		}
	}
	// 50 pairs are exact and 51 are not.
	p := func(ups, downs int64) float64 {
		up, down := &Histogram{Precision: FinePrecision}, &Histogram{Precision: FinePrecision}
		for i := range ups + downs {
			if i%2 == 0 && i/2 < downs {
				down.Record(1000 + i)
			} else {
				up.Record(1000 + i)
			}
		}
		return SignedRanks(up, down)
	}
	if exact, normal := p(34, 16), p(35, 16); math.Abs(normal/exact-1) > 0.1 {
		t.Errorf("p is %v of 50 pairs, and %v of 51", exact, normal)
	}
	if none := SignedRanks(&Histogram{Precision: FinePrecision}, &Histogram{Precision: FinePrecision}); none != 1 {
		t.Errorf("without differences p is %v", none)
	}
}
