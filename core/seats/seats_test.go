package seats

import (
	"math"
	"slices"
	"testing"

	"apfsim/core/rules"
	"pgregory.net/rapid"
)

// The suggested levels on a server with the default of 600 seats. The sum of the shares is 245,
// so that 100 shares are ⌈600·100/245⌉ = ⌈244.9⌉ = 245 seats.
func TestDefaultLevels(t *testing.T) {
	const server, allShares = 600, 245
	for _, c := range []struct {
		name             string
		shares, lendable int32
		want             Limits
		handSize, cap    int
	}{
		{"catch-all", 5, 0, Limits{13, 13, 613}, 0, 0},
		{"exempt", 0, 0, Limits{0, 0, 600}, 0, 0},
		{"global-default", 20, 50, Limits{49, 24, 649}, 6, 8},   // 24.5 rounds away from zero: lends 25; ⌈7.35⌉ = 8 = ⌊49/6⌋
		{"leader-election", 10, 0, Limits{25, 25, 625}, 4, 4},   // ⌈3.75⌉ = 4 < ⌊25/4⌋ = 6
		{"node-high", 40, 25, Limits{98, 73, 698}, 6, 15},       // ⌈14.7⌉ = 15 < 16
		{"system", 30, 33, Limits{74, 50, 674}, 6, 12},          // 24.42 lent; ⌈11.1⌉ = 12 = ⌊74/6⌋
		{"workload-high", 40, 50, Limits{98, 49, 698}, 6, 15},   // half is 49
		{"workload-low", 100, 90, Limits{245, 24, 845}, 6, 37},  // 220.5 rounds away from zero: lends 221; ⌈36.75⌉ < ⌊40.8⌋
		{"half a seat each", 5, 100, Limits{13, 0, 613}, 50, 1}, // ⌊13/50⌋ = 0: a cap is at least 1
	} {
		got := NewLimits(server, c.shares, allShares, c.lendable, 0, false)
		if got != c.want {
			t.Errorf("%s: limits %+v, want %+v", c.name, got, c.want)
		}
		if c.handSize > 0 && Cap(0.15, got.Nominal, c.handSize) != c.cap {
			t.Errorf("%s: seat cap %d, want %d", c.name, Cap(0.15, got.Nominal, c.handSize), c.cap)
		}
	}
	if got := NewLimits(server, 40, allShares, 0, 250, true); got.Max != 98+245 {
		t.Errorf("with a borrowing limit of 250%%: Max %d, want 343", got.Max)
	}
	if got := NewLimits(server, 0, 0, 0, 0, false); got != (Limits{0, 0, 600}) {
		t.Errorf("no level has shares: limits %+v, want none but what may be borrowed", got)
	}
	if got := NewLimits(server, 1, 1, 0, 0, false); got != (Limits{600, 600, 1200}) {
		t.Errorf("the only level with a share: limits %+v, want all 600 seats", got)
	}
}

// A demand of 2 seats for 1 s and of 6 for 3 s: average (2 + 18)/4 = 5, mean square
// (4 + 108)/4 = 28, deviation √(28 - 25) = √3.
func TestDemand(t *testing.T) {
	d := NewDemand(0)
	d.Set(0, 2)
	d.Set(1_000_000_000, 6)
	got := d.Take(4_000_000_000)
	want := DemandStatistics{Seconds: 4, Average: 5, Deviation: math.Sqrt(3), Max: 6}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	// The next period begins with the current demand, which is its maximum so far.
	if got := d.Take(4_000_000_000); got.Seconds != 0 || got.Max != 6 || !math.IsNaN(got.Average) || !math.IsNaN(got.Deviation) {
		t.Errorf("an empty period: %+v, want a maximum of 6 and no average", got)
	}
	d.Set(5_000_000_000, 0)
	d.Take(5_000_000_000)
	if got := d.Take(6_000_000_000); got != (DemandStatistics{Seconds: 1}) {
		t.Errorf("a period without demand: %+v", got)
	}
}

// A demand begins when its level does, and a period of less than a second counts.
func TestDemandOfALateLevel(t *testing.T) {
	d := NewDemand(5_000_000_000)
	d.Set(5_000_000_000, 4)
	got := d.Take(5_500_000_000)
	if want := (DemandStatistics{Seconds: 0.5, Average: 4, Max: 4}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	var l Level
	l.Observe(rules.Latest(), got)
	if l.Smoothed != 4 {
		t.Errorf("smoothed %v, want 4", l.Smoothed)
	}
}

// steady is a demand of 7 seats over 10.3 s: rounding makes its variance -4e-13, and its deviation NaN.
func steady() DemandStatistics {
	d := NewDemand(0)
	d.Set(0, 7)
	for ns := int64(100_000_000); ns < 10_300_000_000; ns += 100_000_000 {
		d.Set(ns, 7)
	}
	return d.Take(10_300_000_000)
}

// The smoothed demand follows a rise at once and a fall by 2.3 % of the difference.
func TestSmoothedDemand(t *testing.T) {
	r := rules.Latest()
	var l Level
	l.Observe(r, DemandStatistics{Seconds: 10, Average: 90, Deviation: 10, Max: 130})
	if l.Smoothed != 100 || l.High != 130 {
		t.Errorf("after a rise: smoothed %v, high %d; want 100, 130", l.Smoothed, l.High)
	}
	l.Observe(r, DemandStatistics{Seconds: 10})
	if l.Smoothed != 97.7 || l.High != 0 {
		t.Errorf("after a fall: smoothed %v, high %d; want 97.7, 0", l.Smoothed, l.High)
	}
	if l.Average != 0 || l.Deviation != 0 {
		t.Errorf("after a fall: average %v, deviation %v; want none", l.Average, l.Deviation)
	}
	l.Observe(r, DemandStatistics{Seconds: 10, Average: 90, Deviation: 10, Max: 130})
	l.Observe(r, DemandStatistics{Seconds: 10, Average: 40, Deviation: 10, Max: 60})
	if math.Abs(l.Smoothed-98.85) > 1e-12 { // 100 - 0.023·(100 - 50)
		t.Errorf("after a fall to 50: smoothed %v, want 98.85", l.Smoothed)
	}
	l.Observe(r, DemandStatistics{Seconds: 10, Average: 90, Deviation: 10, Max: 130})
	l.Observe(r, DemandStatistics{Average: math.NaN(), Deviation: math.NaN(), Max: 7})
	if l.Smoothed != 100 || l.Average != 90 || l.Deviation != 10 || l.High != 7 {
		t.Errorf("after an empty period: %+v; want a high of 7, and the rest as before", l)
	}
	if d := steady(); !math.IsNaN(d.Deviation) {
		t.Fatalf("a steady demand: %+v; want a deviation that is NaN", d)
	}
	l = Level{}
	l.Observe(r, steady())
	if math.Abs(l.Smoothed-7) > 1e-9 || l.Deviation != 0 {
		t.Errorf("after a steady period: %+v; want a smoothed demand of 7 without deviation", l)
	}
}

// Before the correction, a steady demand or a period of length 0 makes the smoothed demand NaN, and
// no later demand makes it a number again.
func TestSmoothedDemandNaN(t *testing.T) {
	r := &rules.Rules{DemandNaN: true}
	for story, d := range map[string]DemandStatistics{
		"a steady demand": steady(),
		"an empty period": {Average: math.NaN(), Deviation: math.NaN(), Max: 3},
	} {
		var l Level
		l.Observe(r, DemandStatistics{Seconds: 10, Average: 90, Deviation: 10, Max: 130})
		if l.Smoothed != 100 {
			t.Errorf("%s: smoothed %v before it, want 100", story, l.Smoothed)
		}
		l.Observe(r, d)
		if l.High != int(d.Max) || !math.IsNaN(l.Deviation) || !math.IsNaN(l.Smoothed) || !math.IsNaN(l.Target()) {
			t.Errorf("%s: %+v; want a high of %v and the rest NaN", story, l, d.Max)
		}
		l.Observe(r, DemandStatistics{Seconds: 10, Average: 90, Deviation: 10, Max: 130})
		if l.High != 130 || l.Average != 90 || l.Deviation != 10 || !math.IsNaN(l.Smoothed) {
			t.Errorf("%s: %+v in the period after it; want its average, but a smoothed demand that is NaN", story, l)
		}
	}
}

func adjusted(r *rules.Rules, levels ...*Level) []int {
	Adjust(r, levels)
	current := make([]int, len(levels))
	for i, l := range levels {
		current[i] = l.Current
	}
	return current
}

func TestAdjust(t *testing.T) {
	level := func(nominal, lowest, most, high int, smoothed float64) *Level {
		return &Level{Limits: Limits{nominal, lowest, most}, High: high, Smoothed: smoothed}
	}
	exempt := func(high int) *Level { return &Level{Exempt: true, High: high} }
	for _, c := range []struct {
		story  string
		levels []*Level
		want   []int
		p      float64 // FairFraction of all levels
	}{
		{"a busy level borrows what an idle one lends: 10 to 190 is 1 to 19",
			[]*Level{level(100, 10, 700, 0, 0), level(100, 10, 700, 190, 190)}, []int{10, 190}, 1},
		{"a level borrows no more than its limit allows, and the idle level keeps the rest",
			[]*Level{level(100, 10, 700, 0, 0), level(100, 10, 150, 190, 190)}, []int{50, 150}, 5},
		{"an idle level that lends nothing keeps all its seats",
			[]*Level{level(100, 100, 700, 0, 0), level(100, 50, 700, 190, 190)}, []int{100, 100}, 0},
		{"demand within the nominal limit cannot be lent away",
			[]*Level{level(100, 10, 700, 80, 60), level(100, 10, 700, 500, 500)}, []int{80, 120}, 0.24},
		{"no level may borrow, and the fraction is the one at which the last level is at its bound: 100/50",
			[]*Level{level(100, 10, 100, 0, 50), level(100, 10, 100, 0, 400)}, []int{100, 100}, 2},
		{"one level is at its upper bound from 0.2 on, the other at its lower bound until 1: the fraction is the least that uses all seats",
			[]*Level{level(100, 10, 100, 10, 500), level(100, 100, 700, 100, 100)}, []int{100, 100}, 0.2},
		{"two idle levels divide the seats in proportion to what they cannot lend: 30 to 10",
			[]*Level{level(100, 30, 700, 0, 0), level(100, 10, 700, 0, 0)}, []int{150, 50}, 5},
		{"the exempt level's seats are subtracted to decide whether seats are short, but all 200 seats are divided",
			[]*Level{exempt(20), level(100, 10, 700, 100, 100), level(100, 10, 700, 0, 0)}, []int{20, 182, 18}, 200 / 110.},
		{"too few seats for the lower bounds: 90 seats remain, the sum of Min is 20 and that of the lower bounds 200: 10 + 90·70/180",
			[]*Level{exempt(110), level(100, 10, 700, 100, 100), level(100, 10, 700, 100, 100)}, []int{110, 45, 45}, 0},
		{"too few seats for more than Min of each level",
			[]*Level{exempt(190), level(100, 10, 700, 100, 100), level(100, 10, 700, 0, 0)}, []int{190, 10, 10}, 0},
	} {
		if got := adjusted(rules.Latest(), c.levels...); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.story, got, c.want)
		}
		for _, l := range c.levels {
			if math.Abs(l.FairFraction-c.p) > 1e-12 {
				t.Errorf("%s: the fair fraction is %v, want %v", c.story, l.FairFraction, c.p)
			}
		}
	}
}

// With weights, the levels share the seats above their lower bounds by weight and deficit.
func TestAdjustByWeight(t *testing.T) {
	weighted := rules.Latest()
	weighted.WhatIf.BorrowingWeights = rules.NewWeights(nil)
	level := func(weight float64, nominal, lowest, most, high int, smoothed float64) *Level {
		return &Level{Weight: weight, Limits: Limits{nominal, lowest, most}, High: high, Smoothed: smoothed}
	}
	exempt := func(high int) *Level { return &Level{Weight: 1, Exempt: true, High: high} }
	for _, c := range []struct {
		story  string
		levels []*Level
		want   []int
		p      float64
	}{
		{"200 seats above lower bounds of 100 each, deficits of 300 each: 3 to 1",
			[]*Level{level(3, 200, 20, 900, 100, 400), level(1, 200, 20, 900, 100, 400)}, []int{250, 150}, 0},
		{"equal weights share by deficit alone: 300 seats above 50 and 50 for deficits of 350 and 50 are too few by a quarter",
			[]*Level{level(2, 200, 50, 900, 10, 400), level(2, 200, 50, 900, 10, 100)}, []int{313, 88}, 0},
		{"no level gets more than its deficit, and the other has the rest: 40 of 200, and 160",
			[]*Level{level(100, 200, 20, 900, 100, 140), level(1, 200, 20, 900, 100, 400)}, []int{140, 260}, 0},
		{"nor more than Max: 50 of 200, and 150",
			[]*Level{level(100, 200, 20, 150, 100, 400), level(1, 200, 20, 900, 100, 400)}, []int{150, 250}, 0},
		{"an idle level gets nothing of what others lack, whatever its weight",
			[]*Level{level(1000, 200, 20, 900, 0, 0), level(1, 200, 20, 900, 200, 400)}, []int{20, 380}, 0},
		{"more seats than all levels aim at: 400 for targets of 50 and 150 are divided as without weights",
			[]*Level{level(9, 200, 20, 900, 50, 50), level(1, 200, 20, 900, 150, 150)}, []int{100, 300}, 2},
		{"too few for the lower bounds: 90 remain, 70 above Min, deficits of 90 each: 3 to 1 is 52.5 and 17.5",
			[]*Level{exempt(110), level(3, 100, 10, 700, 100, 100), level(1, 100, 10, 700, 100, 100)}, []int{110, 63, 28}, 0},
		{"too few for the lower bounds, and none gets more than its own: 100 remain, 80 above Min, 9 to 1 would be 72 and 8 for deficits of 30 and 90",
			[]*Level{exempt(100), level(27, 100, 10, 700, 40, 100), level(1, 100, 10, 700, 100, 100)}, []int{100, 40, 60}, 0},
		{"too few for more than Min of each level",
			[]*Level{exempt(190), level(9, 100, 10, 700, 100, 100), level(1, 100, 10, 700, 0, 0)}, []int{190, 10, 10}, 0},
	} {
		if got := adjusted(weighted, c.levels...); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.story, got, c.want)
		}
		for _, l := range c.levels {
			if math.Abs(l.FairFraction-c.p) > 1e-12 {
				t.Errorf("%s: the fair fraction is %v, want %v", c.story, l.FairFraction, c.p)
			}
		}
	}
	stuck := level(2, 100, 10, 700, 0, math.NaN())
	stuck.Current = 55
	if got := adjusted(weighted, stuck, level(1, 100, 10, 700, 150, 300)); got[0] != 55 {
		t.Errorf("a demand that is NaN changes a limit to %d, want 55 as before", got[0])
	}
}

// Limits by weight are a division of all seats within the bounds of the levels. A level gets no less for a greater
// weight. Where there are enough seats for all, weights change nothing.
func TestLimitsByWeight(t *testing.T) {
	weighted := rules.Latest()
	weighted.WhatIf.BorrowingWeights = rules.NewWeights(nil)
	rapid.Check(t, func(t *rapid.T) {
		var levels []*Level
		nominal, low, aims, targets := 0, 0, 0.0, 0.0
		for range rapid.IntRange(1, 8).Draw(t, "levels") {
			seats := rapid.IntRange(1, 300).Draw(t, "nominal")
			l := &Level{Limits: Limits{seats, rapid.IntRange(0, seats).Draw(t, "min"), seats + rapid.IntRange(0, 600).Draw(t, "borrowing")},
				Weight: rapid.Float64Range(0.01, 1000).Draw(t, "weight"), High: rapid.IntRange(0, 600).Draw(t, "high"), Smoothed: rapid.Float64Range(0, 600).Draw(t, "smoothed")}
			levels = append(levels, l)
			nominal, low, aims, targets = nominal+seats, low+l.low(), aims+min(l.Target(), float64(l.Max)), targets+l.Target()
		}
		copies := func() (all []*Level) {
			for _, l := range levels {
				c := *l
				all = append(all, &c)
			}
			return all
		}
		limits := adjusted(weighted, copies()...)
		sum := 0
		for i, l := range levels {
			if limits[i] < l.low() || limits[i] > l.Max {
				t.Fatalf("level %d has a limit of %d, want %d to %d", i, limits[i], l.low(), l.Max)
			}
			if short := aims >= float64(nominal); short && float64(limits[i]) > math.Ceil(min(l.Target(), float64(l.Max)))+0.5 {
				t.Fatalf("level %d has a limit of %d above its target %v, which not all reach", i, limits[i], l.Target())
			}
			sum += limits[i]
		}
		if rounding := (len(levels) + 1) / 2; sum < nominal-rounding || sum > nominal+rounding {
			t.Fatalf("the limits %v sum to %d, want %d", limits, sum, nominal)
		}
		if without := adjusted(rules.Latest(), copies()...); aims < float64(nominal)-1e-6 && !slices.Equal(limits, without) {
			t.Fatalf("there are seats enough, and the limits are %v, want %v as without weights", limits, without)
		}
		more := copies()
		more[0].Weight *= 10
		if got := adjusted(weighted, more...); got[0] < limits[0] {
			t.Fatalf("with ten times its weight, the first level has a limit of %d instead of %d", got[0], limits[0])
		}
	})
}

// From 1.28 to 1.30, the exempt level takes part in the division as the other levels do, and before
// 1.28 it is not there. The seats are always divided in proportion to targets.
func TestAdjustWithExemptAlike(t *testing.T) {
	level := func(nominal, lowest, most, high int, smoothed float64) *Level {
		return &Level{Limits: Limits{nominal, lowest, most}, High: high, Smoothed: smoothed}
	}
	for _, c := range []struct {
		story  string
		levels []*Level
		want   []int
		p      float64
	}{
		{"exempt has no nominal limit, so that only its smoothed demand counts: 30 to 60 to 60 of 300",
			[]*Level{level(0, 0, 600, 200, 30), level(150, 10, 700, 40, 60), level(150, 10, 700, 40, 60)}, []int{60, 120, 120}, 2},
		{"an exempt level with a nominal limit keeps what it uses of it",
			[]*Level{level(50, 0, 650, 200, 0), level(100, 10, 700, 0, 100)}, []int{50, 100}, 1},
		{"what exempt takes is taken from the others: the lower bounds of 80 hold, and of 100 seats 20 are left for exempt",
			[]*Level{level(0, 0, 600, 500, 500), level(100, 10, 700, 80, 60)}, []int{20, 80}, 0.04},
		{"levels that need all seats keep theirs, and the fraction is the one at which the first would get more: 100/200",
			[]*Level{level(100, 100, 700, 0, 200), level(100, 100, 700, 0, 50)}, []int{100, 100}, 0.5},
		{"levels that lend nothing keep their seats, and the least proportion is shown",
			[]*Level{level(0, 0, 600, 500, 500), level(100, 100, 700, 0, 200)}, []int{0, 100}, 0},
	} {
		for _, release := range []string{"1.26", "1.28", "1.30"} {
			r, err := rules.For(release)
			if err != nil {
				t.Fatal(err)
			}
			if got := adjusted(r, c.levels...); !slices.Equal(got, c.want) {
				t.Errorf("%s: %s: got %v, want %v", release, c.story, got, c.want)
			}
			for _, l := range c.levels {
				if math.Abs(l.FairFraction-c.p) > 1e-12 {
					t.Errorf("%s: %s: the fair fraction is %v, want %v", release, c.story, l.FairFraction, c.p)
				}
			}
		}
	}
	// The same seats with the rule of 1.31: 500 seats are not there, and the other level gets Min.
	if got := adjusted(rules.Latest(), &Level{Exempt: true, High: 500}, level(100, 10, 700, 80, 60)); !slices.Equal(got, []int{500, 10}) {
		t.Errorf("1.31: got %v, want 500 for exempt and Min of the other level", got)
	}
}

// A single level whose smoothed demand is NaN keeps the limits of all levels as they are, except
// where the bounds determine them.
func TestAdjustNaN(t *testing.T) {
	r := &rules.Rules{DemandNaN: true}
	level := func(nominal, lowest, most, high, current int, smoothed float64) *Level {
		return &Level{Limits: Limits{nominal, lowest, most}, High: high, Smoothed: smoothed, Current: current, FairFraction: 3}
	}
	stuck, other := level(100, 10, 700, 0, 55, math.NaN()), level(100, 10, 700, 190, 145, 190)
	if got := adjusted(r, stuck, other); !slices.Equal(got, []int{55, 145}) || stuck.FairFraction != 0 || other.FairFraction != 0 {
		t.Errorf("got %v with fractions %v and %v, want the limits 55 and 145 as before and no fractions", got, stuck.FairFraction, other.FairFraction)
	}
	atLow := []*Level{level(100, 10, 700, 100, 55, math.NaN()), level(100, 10, 700, 190, 145, 190)}
	if got := adjusted(r, atLow...); !slices.Equal(got, []int{100, 100}) {
		t.Errorf("both levels need their nominal limits: got %v, want 100 each", got)
	}
	atMost := []*Level{level(100, 10, 100, 0, 55, math.NaN()), level(100, 10, 100, 0, 145, 0)}
	if got := adjusted(r, atMost...); !slices.Equal(got, []int{100, 100}) {
		t.Errorf("no level may borrow: got %v, want 100 each", got)
	}
}

// If no level has shares, no seats are divided, and each level's limit becomes 0.
func TestAdjustWithoutSeats(t *testing.T) {
	for _, release := range []string{"1.26", "1.31"} {
		r, err := rules.For(release)
		if err != nil {
			t.Fatal(err)
		}
		l := &Level{Limits: Limits{Max: 600}, Current: 7, High: 3, Smoothed: 3}
		if got := adjusted(r, l); !slices.Equal(got, []int{0}) || l.FairFraction != 0 {
			t.Errorf("%s: got %v with fraction %v, want 0 and 0", release, got, l.FairFraction)
		}
	}
}

// Where no bound matters, the fraction is the quotient of the seats and the targets, without another rounding.
func TestFairFractionIsTheQuotient(t *testing.T) {
	for nominal := 5; nominal <= 300; nominal++ {
		one := &Level{Limits: Limits{Nominal: nominal, Min: 1, Max: 10_000}, Smoothed: 7}
		other := &Level{Limits: Limits{Nominal: nominal, Min: 1, Max: 10_000}, Smoothed: 0.3 + float64(nominal)}
		Adjust(rules.Latest(), []*Level{one, other})
		if want := float64(2*nominal) / (7 + (0.3 + float64(nominal))); one.FairFraction != want {
			t.Errorf("%d seats: the fraction is %v, want %v", 2*nominal, one.FairFraction, want)
		}
	}
}

// When even the upper bounds do not add up to all seats, the limits stay as they were.
func TestAdjustWithoutSolution(t *testing.T) {
	l := &Level{Limits: Limits{Nominal: 100, Min: 50, Max: 100}, High: 10, Current: 77, FairFraction: 2}
	e := &Level{Exempt: true, Limits: Limits{Nominal: 50, Min: 50}}
	if got := adjusted(rules.Latest(), e, l); !slices.Equal(got, []int{50, 77}) {
		t.Errorf("got %v, want the limited level's 77 unchanged", got)
	}
	if e.FairFraction != 0 || l.FairFraction != 0 {
		t.Errorf("fair fractions %v and %v, want 0", e.FairFraction, l.FairFraction)
	}
}

// divide finds the same proportion as a bisection on p.
func TestDivideFindsTheProportion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var demands []demand
		var low, high float64
		for range rapid.IntRange(1, 8).Draw(t, "levels") {
			least := float64(rapid.IntRange(0, 100).Draw(t, "low"))
			d := demand{
				low:    least,
				high:   least + float64(rapid.IntRange(0, 300).Draw(t, "room")),
				target: max(least, rapid.Float64Range(0, 400).Draw(t, "target")),
			}
			demands = append(demands, d)
			low += d.low
			high += d.high
		}
		whole := float64(rapid.IntRange(0, int(high)+10).Draw(t, "whole"))
		parts, p, ok := divide(whole, slices.Clone(demands))
		if feasible := low <= whole && whole <= high; ok != feasible {
			t.Fatalf("ok is %v with whole %v and bounds from %v to %v", ok, whole, low, high)
		}
		if !ok || whole == 0 {
			return
		}
		sumAt := func(p float64) (sum float64) {
			for _, d := range demands {
				sum += max(d.low, min(d.high, p*max(d.target, leastTarget)))
			}
			return sum
		}
		from, to := 0.0, 1e9
		for range 200 {
			if p := (from + to) / 2; sumAt(p) < whole {
				from = p
			} else {
				to = p
			}
		}
		if sum := sumAt(p); math.Abs(sum-whole) > 1e-6 {
			t.Fatalf("p is %v, which makes the sum of the parts %v, want %v", p, sum, whole)
		}
		for i, d := range demands {
			want := max(d.low, min(d.high, to*max(d.target, leastTarget)))
			if math.Abs(parts[i]-want) > 1e-3 {
				t.Fatalf("part %d is %v, want %v (p = %v)", i, parts[i], want, to)
			}
		}
	})
}

// What a level can reach of the suggested levels of 600 seats: its own, and the 25, 25, 24, 49 and 221 that
// global-default, node-high, system, workload-high and workload-low lend: 344 in all.
func TestReachable(t *testing.T) {
	level := func(nominal, lowest, most int) *Level { return &Level{Limits: Limits{nominal, lowest, most}} }
	exempt := func(nominal int) *Level { return &Level{Exempt: true, Limits: Limits{nominal, nominal, 700}} }
	suggested := []*Level{level(13, 13, 613), exempt(0), level(49, 24, 649), level(25, 25, 625), level(98, 73, 698), level(74, 50, 674), level(98, 49, 698), level(245, 24, 845)}
	for _, c := range []struct {
		story  string
		levels []*Level
		of     int
		want   int
	}{
		{"catch-all, which lends nothing: 13 + 344", suggested, 0, 357},
		{"workload-low, whose own 221 are among the 344: 245 + 344 - 221", suggested, 7, 368},
		{"a limit on borrowing below what the others lend", []*Level{level(100, 10, 150), level(100, 10, 700)}, 0, 150},
		{"a limit on borrowing above it has no effect", []*Level{level(100, 10, 195), level(100, 10, 700)}, 0, 190},
		{"nobody lends", []*Level{level(100, 100, 700), level(100, 100, 700)}, 0, 100},
		{"a level that lends all its seats gets them back", []*Level{level(100, 0, 100), level(100, 10, 700)}, 0, 100},
		{"the seats of the exempt level are divided among the others too", []*Level{exempt(50), level(100, 10, 700), level(100, 10, 700)}, 1, 240},
		{"nobody may borrow, so that limits cannot add up to all seats: the nominal limit is reached when exempt takes the rest",
			[]*Level{exempt(50), level(100, 10, 100), level(100, 10, 100)}, 1, 100},
	} {
		if got := Reachable(rules.Latest(), c.levels, c.of); got != c.want {
			t.Errorf("%s: got %d, want %d", c.story, got, c.want)
		}
	}
}

// No adjustment gives a level more than it can reach, whatever the demands, and some demand reaches it.
func TestReachableIsTheMost(t *testing.T) {
	var all []*rules.Rules
	for _, release := range []string{"1.26", "1.28", "1.37"} {
		r, err := rules.For(release)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom(all).Draw(t, "rules")
		var levels []*Level
		for i := range rapid.IntRange(2, 5).Draw(t, "levels") {
			nominal := rapid.IntRange(0, 60).Draw(t, "nominal")
			l := &Level{
				Limits: Limits{Nominal: nominal, Min: nominal - rapid.IntRange(0, nominal).Draw(t, "lends"), Max: nominal + rapid.IntRange(0, 200).Draw(t, "borrows")},
				Exempt: i == 0 && r.Exempt == rules.ExemptFirst, High: rapid.IntRange(0, 300).Draw(t, "high"),
				Smoothed: rapid.Float64Range(0, 1000).Draw(t, "smoothed"),
			}
			l.Current = l.Nominal - (l.Nominal-l.Min)/2
			levels = append(levels, l)
		}
		Adjust(r, levels)
		for i, l := range levels {
			if l.Exempt {
				continue
			}
			most := Reachable(r, levels, i)
			if l.Current > most || most > l.Max {
				t.Fatalf("%s: level %d has %d seats and can reach %d, with the upper limit %d: %+v", r.Version, i, l.Current, most, l.Max, l)
			}
		}
	})
}
