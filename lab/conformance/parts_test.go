package conformance

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	upstreamcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	workestimate "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/apiserver/pkg/util/shufflesharding"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"apfsim/core/config"
	"apfsim/core/dealer"
	"apfsim/core/estimate"
	"apfsim/core/flowcontrol"
	"apfsim/core/rules"
	"apfsim/core/seats"
	"apfsim/lab/conformance/upstream"
)

// Upstream runs as 1.37 does by default.
func TestFeatures(t *testing.T) {
	for _, f := range []struct {
		name string
		on   bool
	}{
		{string(features.WatchList), utilfeature.DefaultFeatureGate.Enabled(features.WatchList)},
		{string(features.SizeBasedListCostEstimate), utilfeature.DefaultFeatureGate.Enabled(features.SizeBasedListCostEstimate)},
		{string(features.ListFromCacheSnapshot), utilfeature.DefaultFeatureGate.Enabled(features.ListFromCacheSnapshot)},
	} {
		if !f.on {
			t.Errorf("feature %s is off", f.name)
		}
	}
}

// The suggested and mandatory objects are the same.
func TestBootstrap(t *testing.T) {
	same := func(name string, ours, theirs any) {
		x, errX := json.Marshal(ours)
		y, errY := json.Marshal(theirs)
		if errX != nil || errY != nil || string(x) != string(y) {
			t.Errorf("%s: ours\n%s, upstream's\n%s (%v, %v)", name, x, y, errX, errY)
		}
	}
	objects, schemas, levels := config.Suggested(rules.Default()), 0, 0
	for _, all := range [][]*flowcontrolv1.FlowSchema{bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas} {
		for _, theirs := range all {
			schemas++
			if ours := objects.FlowSchema(theirs.Name); ours == nil {
				t.Errorf("there is no FlowSchema %s", theirs.Name)
			} else {
				same(theirs.Name, upstream.FlowSchema(ours).Spec, theirs.Spec)
			}
		}
	}
	for _, all := range [][]*flowcontrolv1.PriorityLevelConfiguration{
		bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations} {
		for _, theirs := range all {
			levels++
			if ours := objects.PriorityLevel(theirs.Name); ours == nil {
				t.Errorf("there is no level %s", theirs.Name)
			} else {
				same(theirs.Name, upstream.PriorityLevel(ours).Spec, theirs.Spec)
			}
		}
	}
	if len(objects.FlowSchemas) != schemas || len(objects.PriorityLevels) != levels {
		t.Errorf("%d FlowSchemas and %d levels, want %d and %d", len(objects.FlowSchemas), len(objects.PriorityLevels), schemas, levels)
	}
}

// Every deck and hand that upstream takes is dealt alike, and no other is taken.
func TestDealer(t *testing.T) {
	random := rand.New(rand.NewPCG(*seed, 2))
	buffer, hand := make([]int, 64), make([]int, 64)
	for deck := range 300 {
		for size := range 64 {
			theirs, errTheirs := shufflesharding.NewDealer(deck, size)
			ours, errOurs := dealer.New(deck, size)
			if deck > 0 && size > 0 && (errTheirs == nil) != (errOurs == nil) {
				t.Fatalf("deck of %d, hand of %d: ours %v, upstream's %v", deck, size, errOurs, errTheirs)
			}
			if errTheirs != nil || errOurs != nil {
				continue
			}
			for range 20 {
				hash := random.Uint64()
				want, got := theirs.DealIntoHand(hash, buffer), ours.Deal(hash, hand[:size])
				if fmt.Sprint(want) != fmt.Sprint(got) {
					t.Fatalf("deck of %d, hash %x: ours %v, upstream's %v", deck, hash, got, want)
				}
			}
		}
	}
}

func TestSeatSeconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Float64Range(0, 1e4).Draw(t, "seats")
		if rapid.Bool().Draw(t, "whole") {
			n = math.Floor(n)
		}
		ns := rapid.Int64Range(-1e15, 1e15).Draw(t, "ns")
		ours, theirs := estimate.SeatsTimesDuration(n, ns), workestimate.SeatsTimesDuration(n, time.Duration(ns))
		if uint64(ours) != uint64(theirs) {
			t.Fatalf("%v seats for %d ns: ours %d, upstream's %d", n, ns, ours, theirs)
		}
		per := float64(rapid.IntRange(1, 100).Draw(t, "per"))
		if x, y := ours.DurationPerSeat(per), theirs.DurationPerSeat(per); x != int64(y) && ns >= 0 {
			t.Fatalf("%d by %v seats: ours %d ns, upstream's %d", ours, per, x, y)
		}
	})
}

// The demand's moments are equal to the last bit.
func TestDemand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
		theirs := fairqueuing.NewNamedIntegrator(clock, "")
		ours := seats.NewDemand(0)
		now := int64(0)
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			now += rapid.Int64Range(0, 3e9).Draw(t, "ns")
			clock.SetTime(time.Unix(0, now))
			if rapid.IntRange(0, 9).Draw(t, "take") > 0 {
				n := rapid.IntRange(0, 1000).Draw(t, "seats")
				theirs.Set(float64(n))
				ours.Set(now, n)
				continue
			}
			want, got := theirs.Reset(), ours.Take(now)
			equal := func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }
			if got.Seconds != want.Duration || !equal(got.Average, want.Average) || !equal(got.Deviation, want.Deviation) || got.Max != want.Max {
				t.Fatalf("at %d: ours %+v, upstream's %+v", now, got, want)
			}
		}
	})
}

func TestRetryAfter(t *testing.T) {
	random := rand.New(rand.NewPCG(*seed, 3))
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			theirs := upstreamcontrol.NewDroppedRequestsTracker()
			ours := flowcontrol.NewRetryAfter(rules.Default())
			start := time.Now()
			mean := 10 * math.Exp(random.Float64()*9) // milliseconds
			for n := range 2000 {
				if random.IntN(100) == 0 {
					mean = 10 * math.Exp(random.Float64()*9)
				}
				time.Sleep(time.Duration(random.ExpFloat64() * mean * 1e6 / 10))
				now := int64(time.Since(start))
				theirs.RecordDroppedRequest("level")
				if got, want := ours.Drop(now), theirs.GetRetryAfter("level"); int64(got) != want {
					t.Fatalf("drop %d at %d: ours %d, upstream's %d", n, now, got, want)
				}
			}
		})
	}
}
