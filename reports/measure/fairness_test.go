package measure

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// raised divides by raising a water level until the service is spent: slow, plainly right.
func raised(service float64, demands []float64) []float64 {
	at := func(level float64) (total float64, shares []float64) {
		for _, d := range demands {
			shares = append(shares, min(d, level))
			total += min(d, level)
		}
		return total, shares
	}
	low, high := 0.0, service+1
	for range 200 {
		if total, _ := at((low + high) / 2); total < service {
			low = (low + high) / 2
		} else {
			high = (low + high) / 2
		}
	}
	_, shares := at(high)
	return shares
}

func TestFairSharesAreMaxMinFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		demands := rapid.SliceOfN(rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 10), rapid.Float64Range(0, 1e6)), 1, 30).Draw(t, "demands")
		service := rapid.Float64Range(0, 1e6).Draw(t, "service")
		shares, slow := new(Divider).FairShares(service, demands), raised(service, demands)
		sum, wanted := 0.0, 0.0
		for i, share := range shares {
			sum += share
			wanted += demands[i]
			if share < 0 || share > demands[i] {
				t.Fatalf("share %v of a demand of %v", share, demands[i])
			}
			if math.Abs(share-slow[i]) > 1e-6*(1+service) {
				t.Fatalf("shares %v, the slow model says %v", shares, slow)
			}
			for j := range shares {
				// Who falls short has as much as anybody else.
				if share < demands[i]*(1-1e-9) && shares[j] > share*(1+1e-9)+1e-9 {
					t.Fatalf("%v of %v falls short, yet another has %v", share, demands[i], shares[j])
				}
			}
		}
		if want := min(service, wanted); math.Abs(sum-want) > 1e-9*(1+want) {
			t.Fatalf("shares sum to %v, want %v", sum, want)
		}
	})
}

// Jain, Chiu and Hawe: when k of n have the same and the others nothing, the index is k/n.
func TestJain(t *testing.T) {
	for _, c := range []struct {
		service, shares []float64
		want            float64
	}{
		{[]float64{5, 5, 5, 5}, []float64{5, 5, 5, 5}, 1},
		{[]float64{2, 6}, []float64{1, 3}, 1}, // all have twice their share
		{[]float64{4, 0, 0, 0}, []float64{1, 1, 1, 1}, 0.25},
		{[]float64{4, 4, 0, 0}, []float64{1, 1, 1, 1}, 0.5},
		{[]float64{4, 4, 9}, []float64{1, 1, 0}, 1}, // who asked for nothing does not count
	} {
		if got, ok := Jain(c.service, c.shares); !ok || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("jain(%v, %v) = %v, want %v", c.service, c.shares, got, c.want)
		}
	}
	for n := range 100 { // rounding does not make it more than 1
		service, shares := make([]float64, n+1), make([]float64, n+1)
		for i := range service {
			service[i], shares[i] = 1, 10
		}
		if got, _ := Jain(service, shares); got > 1 {
			t.Errorf("jain of %d alike = %v", n+1, got)
		}
	}
	for _, nothing := range [][]float64{nil, {0, 0}} {
		if _, ok := Jain(nothing, nothing); ok {
			t.Errorf("jain of %v has a value", nothing)
		}
	}
}
