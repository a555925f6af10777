// Package dealer deals each flow its hand: the few of a priority level's queues that the
// flow's requests may wait in. It also knows how likely it is that the hands of some
// flows cover the whole hand of another.
package dealer

import (
	"fmt"
	"math"
)

// MaxEntropyBits is how much of a 64-bit hash dealing may use up. The bits left over
// keep the hands nearly equally likely; see [Dealer.SampleCollisions].
const MaxEntropyBits = 60

// MaxHandSize is the most queues that a hand can have: 16 distinct ones of 16 would take
// 64 bits.
const MaxHandSize = 15

// maxQueues bounds the deck so that the estimate of EntropyBits holds.
const maxQueues = 1 << 26

// EntropyBits returns how many bits of hash it takes to deal handSize of queues:
// ceil(log2(queues)·handSize), in float64 as kube-apiserver validates it
// (k8s.io/apiserver/pkg/util/shufflesharding). It means something for
// 1 ≤ handSize ≤ queues ≤ 2^26.
func EntropyBits(queues, handSize int) int {
	return int(math.Ceil(math.Log2(float64(queues)) * float64(handSize)))
}

// Dealer deals hands of handSize distinct queues out of a deck of them.
type Dealer struct {
	queues, handSize int
}

// New returns a dealer of handSize out of queues, or an error that says why no hash can
// deal such hands.
func New(queues, handSize int) (*Dealer, error) {
	switch {
	case queues < 1:
		return nil, fmt.Errorf("queues: %d is not positive", queues)
	case handSize < 1:
		return nil, fmt.Errorf("handSize: %d is not positive", handSize)
	case handSize > queues:
		return nil, fmt.Errorf("handSize: %d exceeds queues (%d)", handSize, queues)
	case queues > maxQueues:
		return nil, fmt.Errorf("queues: %d exceeds %d", queues, maxQueues)
	}
	if bits := EntropyBits(queues, handSize); bits > MaxEntropyBits {
		return nil, fmt.Errorf("handSize: %d of %d queues takes %d bits of hash, want at most %d",
			handSize, queues, bits, MaxEntropyBits)
	}
	return &Dealer{queues: queues, handSize: handSize}, nil
}

// HandSize returns how many queues a hand has.
func (d *Dealer) HandSize() int { return d.handSize }

// Queues returns how many queues the deck has.
func (d *Dealer) Queues() int { return d.queues }

// Deal writes the hand that belongs to hash into hand, whose capacity must be at least
// HandSize, and returns it: distinct queues from 0 to Queues−1, in the order dealt.
//
// The hash is read as a number in mixed radix, its digits d0 to base Queues, d1 to base
// Queues−1 and so on; card i is the d_i-th of those that the cards before it left over.
func (d *Dealer) Deal(hash uint64, hand []int) []int {
	hand = hand[:d.handSize]
	for i := range hand {
		left := uint64(d.queues - i)
		hand[i] = int(hash % left)
		hash /= left
	}
	// Putting the earlier cards back one by one, the latest first, turns a position in
	// the shrunken deck into one in the whole deck. Going from the last card to the
	// first leaves the digits that are still needed in place.
	for i := len(hand) - 1; i > 0; i-- {
		card := hand[i]
		for j := i - 1; j >= 0; j-- {
			if card >= hand[j] {
				card++
			}
		}
		hand[i] = card
	}
	return hand
}
