package workload

import (
	"math"
	"slices"
	"testing"
	"time"

	"apfsim/sim/quantity"

	"pgregory.net/rapid"
)

// openLoops are arrivals that do not depend on responses.
func openLoops(t *testing.T) map[string]func() Arrivals {
	return map[string]func() Arrivals{
		"constant": func() Arrivals { return Arrivals{Constant: &SteadyArrivals{Rate: 3}} },
		"poisson":  func() Arrivals { return Arrivals{Poisson: &SteadyArrivals{Rate: 3}} },
		"ramping": func() Arrivals {
			return Arrivals{Ramping: &RampingArrivals{StartRate: 1, Stages: []Stage{{Duration: quantity.Duration(2000 * time.Second), Rate: 5}}}}
		},
		"onOff": func() Arrivals {
			return Arrivals{OnOff: &OnOffArrivals{Rate: 10, On: constant(t, 3*time.Second), Off: constant(t, 7*time.Second)}}
		},
		"burst": func() Arrivals {
			return Arrivals{Burst: &BurstArrivals{Requests: 30, Over: quantity.Duration(time.Second), Every: quantity.Duration(10 * time.Second)}}
		},
	}
}

// arrivals returns how many requests all clients of an open loop send within some seconds.
func arrivals(w *Workload, seconds float64) (n int) {
	for i := range w.Clients {
		p := newProcess(&w.Arrivals, i, w.Clients, open, int64(seconds*second), &poissonProcess{})
		for {
			at, sends := p.Next()
			if at >= seconds*second {
				break
			}
			if sends {
				n++
			}
		}
	}
	return n
}

// With a load of F, the clients of an open loop are as many as without, and send F times as many requests.
func TestLoadMultipliesOpenLoops(t *testing.T) {
	for name, make := range openLoops(t) {
		for _, load := range []float64{0.5, 1, 1.1, 2} {
			plain, loaded := Workload{Clients: 3, Arrivals: make()}, Workload{Clients: 3, Arrivals: make(), Load: load}
			plain.SetDefaults()
			loaded.SetDefaults()
			const seconds = 2000
			want, got := load*float64(arrivals(&plain, seconds)), float64(arrivals(&loaded, seconds))
			if loaded.Clients != 3 || math.Abs(got-want) > 5*math.Sqrt(want) {
				t.Errorf("%s, load %v: %v requests of %d clients, want %v of 3", name, load, got, loaded.Clients, want)
			}
			duration := quantity.Duration(seconds * second)
			if want, got := load*plain.ExpectedArrivals(duration), loaded.ExpectedArrivals(duration); name != "onOff" && math.Abs(got/want-1) > 1e-3 {
				t.Errorf("%s, load %v: expects %v requests, want %v", name, load, got, want)
			}
		}
	}
}

// The clients of a burst together send as many requests as the load says, to one, and each about as many as the others.
func TestLoadOfBurstsIsDividedEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clients, requests := rapid.IntRange(1, 100).Draw(t, "clients"), rapid.IntRange(1, 20).Draw(t, "requests")
		load := rapid.Float64Range(0.01, 10).Draw(t, "load")
		w := Workload{Clients: clients, Load: load, Arrivals: Arrivals{Burst: &BurstArrivals{Requests: requests}}}
		w.SetDefaults()
		var each []int
		for i := range clients {
			each = append(each, w.Arrivals.Burst.requestsOf(i, clients))
		}
		sum := 0
		for _, n := range each {
			sum += n
		}
		if want := max(1, math.Round(load*float64(clients*requests))); float64(sum) != want || slices.Max(each)-slices.Min(each) > 1 {
			t.Fatalf("%d clients send %v, %d together; want %v", clients, each, sum, want)
		}
		if got := arrivals(&w, 1); got != sum {
			t.Fatalf("%d requests arrive, want %d", got, sum)
		}
	})
}

// Closed loops and clients that behave are multiplied by their number, at least one.
func TestLoadMultipliesClients(t *testing.T) {
	for _, c := range []struct {
		clients int
		load    float64
		want    int
	}{{10, 2, 20}, {10, 0.25, 3}, {1, 0.1, 1}, {3, 1.5, 5}, {7, 0, 7}} {
		for name, w := range map[string]Workload{
			"closed loop": {Arrivals: Arrivals{Closed: &ClosedArrivals{Concurrency: 4}}},
			"kubelet":     {Behaviour: &Behaviour{Kubelet: &Kubelet{}}},
		} {
			w.Clients, w.Load = c.clients, c.load
			w.SetDefaults()
			if w.Clients != c.want || name == "closed loop" && w.Arrivals.Closed.Concurrency != 4 {
				t.Errorf("%s: %v times %d clients are %d, want %d", name, c.load, c.clients, w.Clients, c.want)
			}
		}
	}
}
