package estimate

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestSeatsTimesDuration(t *testing.T) {
	for _, test := range []struct {
		seats      float64
		durationNs int64
		want       SeatSeconds
	}{
		{1, 1_000_000_000, 100_000_000},
		{3, 5_000_000, 1_500_000},
		{0.5, 10, 1}, // half a unit is rounded away from zero
		{1, 4, 0},
		{1, 5, 1},
		{1, 14, 1},
		{1, 15, 2},
		{1, -5, math.MaxUint64}, // −1
		{2, -1_000_000_000, 1<<64 - 200_000_000},
		{0, 1_000_000_000, 0},
	} {
		if got := SeatsTimesDuration(test.seats, test.durationNs); got != test.want {
			t.Errorf("%v seats × %d ns: %d, want %d", test.seats, test.durationNs, got, test.want)
		}
	}
}

func TestRoundIsMathRound(t *testing.T) {
	check := func(t interface{ Errorf(string, ...any) }, x float64) {
		if got, want := round(x), int64(math.Round(x)); got != want {
			t.Errorf("round(%v) is %d, want %d", x, got, want)
		}
	}
	for _, x := range []float64{0, 0.5, -0.5, 0.49999999999999994, -0.49999999999999994, 1.5, 2.5, -2.5,
		1<<52 + 0.5, 1<<53 - 1, 1 << 62, 1 << 63, -1 << 63, 1e300, -1e300, math.Inf(1), math.Inf(-1), math.NaN()} {
		check(t, x)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.Float64().Draw(t, "x"))
		check(t, float64(rapid.Int64().Draw(t, "halves"))/2)
	})
}

func TestDurationPerSeat(t *testing.T) {
	for _, test := range []struct {
		work  SeatSeconds
		seats float64
		want  int64
	}{
		{100_000_000, 1, 1_000_000_000},
		{100_000_000, 4, 250_000_000},
		{50_000_000, 3, 166_666_666},
		{0, 3, 0},
		{1, 1, 10},
	} {
		if got := test.work.DurationPerSeat(test.seats); got != test.want {
			t.Errorf("%d over %v seats: %d ns, want %d", test.work, test.seats, got, test.want)
		}
	}
}

// The sum of a positive amount and the equal negative amount is 0, by overflow.
func TestNegativeWorkCancels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seats := float64(rapid.IntRange(0, 1000).Draw(t, "seats"))
		durationNs := rapid.Int64Range(0, 3_600_000_000_000).Draw(t, "ns")
		if sum := SeatsTimesDuration(seats, durationNs) + SeatsTimesDuration(seats, -durationNs); sum != 0 {
			t.Errorf("%v seats × ±%d ns: the sum is %d, want 0", seats, durationNs, sum)
		}
	})
}
