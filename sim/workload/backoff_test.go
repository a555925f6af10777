package workload

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The waits double from 0.8 s to 30 s, each up to twice as long by chance.
func TestReflectorBackoff(t *testing.T) {
	b := newReflectorBackoff(0, false)
	now := int64(0)
	for i, want := range []time.Duration{800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000} {
		got := b.Next(now, chance(0.25))
		if want := int64(want*time.Millisecond) * 5 / 4; got != want {
			t.Errorf("wait %d is %v, want %v", i, time.Duration(got), time.Duration(want))
		}
		now += got
		if now > reflectorResetNs {
			break
		}
	}
	// More than 2 min after the waits have begun, they begin anew, also if nothing was quiet in between.
	if now <= reflectorResetNs {
		t.Fatalf("the waits end at %v", time.Duration(now))
	}
	if got := b.Next(now, chance(0)); got != reflectorInitialNs {
		t.Errorf("the wait after 2 min is %v", time.Duration(got))
	}
	if got := b.Next(now+reflectorInitialNs, chance(0.5)); got != 3*reflectorInitialNs {
		t.Errorf("the one after it is %v", time.Duration(got))
	}
}

// Watches of one client that fail together wait the same time but for chance, and not the longer the more they are.
func TestReflectorsFailTogether(t *testing.T) {
	b := newReflectorBackoff(0, false)
	for range 100 {
		if got := b.Next(5, chance(0)); got != reflectorInitialNs {
			t.Fatalf("waits %v", time.Duration(got))
		}
	}
	if got := b.Next(5+reflectorInitialNs, chance(0)); got != 2*reflectorInitialNs {
		t.Errorf("after the first wait, waits %v", time.Duration(got))
	}
}

// chance returns a source of which all random numbers from 0 to 1 are the same.
func chance(x float64) *rand.Rand { return rand.New(always(x * (1 << 53))) }

type always uint64

// Uint64 implements rand.Source: Float64 takes the lowest 53 bits.
func (a always) Uint64() uint64 { return uint64(a) }
