package writers

import (
	"math/rand/v2"
	_ "unsafe" // for linkname

	"apfsim/sim/random"
	"apfsim/sim/workload/workloadtest"

	_ "k8s.io/apimachinery/pkg/util/wait"
)

// jitterRand is where k8s.io/apimachinery/pkg/util/wait draws the jitter of all waits.
//
//go:linkname jitterRand k8s.io/apimachinery/pkg/util/wait.jitterRand
var jitterRand func() float64

// seedJitter makes client-go draw the jitter of its waits from a seeded stream, until restore is called.
func seedJitter(seed uint64) (restore func()) {
	before := jitterRand
	jitterRand = stream(seed).Float64
	return func() { jitterRand = before }
}

// stream returns a stream of random numbers; that of seed 0 always draws 0.5.
func stream(seed uint64) *rand.Rand {
	if seed == 0 {
		return rand.New(half{})
	}
	return rand.New(rand.NewPCG(seed, 0))
}

type half struct{}

// Uint64 implements rand.Source: Float64 takes the lowest 53 bits.
func (half) Uint64() uint64 { return 1 << 52 }

// Client is a client of apfsim whose streams are each the one that seedJitter gives to client-go.
type Client struct {
	*workloadtest.Client
	Seed uint64
}

// Stream implements workload.Client.
func (c Client) Stream(s *random.Stream, _ string) { s.Rand = *stream(c.Seed) }
