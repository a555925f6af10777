// Package dealer implements shuffle sharding: it deals each flow its hand, the small set of a
// priority level's queues in which the flow's requests may wait. It also computes the
// probability that the hands of some flows together contain the whole hand of another
// (k8s.io/apiserver/pkg/util/shufflesharding).
package dealer

import (
	"fmt"
	"math"
)

// MaxEntropyBits is how many bits of a 64-bit hash a deal may use. The remaining bits keep the
// hands almost equally likely; see [Dealer.SampleCollisions].
const MaxEntropyBits = 60

// MaxHandSize is the largest possible hand: a hand of 16 out of 16 queues would need 64 bits.
const MaxHandSize = 15

// maxQueues is the largest deck for which EntropyBits is a valid estimate.
const maxQueues = 1 << 26

// EntropyBits returns how many bits of a hash a deal of handSize out of queues uses:
// ceil(log2(queues)·handSize), computed in float64 as in the validation of kube-apiserver
// (k8s.io/apiserver/pkg/util/shufflesharding, RequiredEntropyBits). It is defined for
// 1 ≤ handSize ≤ queues ≤ 2^26.
func EntropyBits(queues, handSize int) int {
	return int(math.Ceil(math.Log2(float64(queues)) * float64(handSize)))
}

// Dealer deals hands of handSize distinct queues out of a deck of queues. It has no state, so
// that a flow's hand depends only on its hash.
type Dealer struct {
	queues, handSize int
}

// New returns a dealer of handSize out of queues. It returns an error if the numbers are out
// of range or if a 64-bit hash has not enough bits for such a hand.
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
		return nil, fmt.Errorf("handSize: %d out of %d queues needs %d bits of a flow's hash; want at most %d",
			handSize, queues, bits, MaxEntropyBits)
	}
	return &Dealer{queues: queues, handSize: handSize}, nil
}

// HandSize returns the number of queues in a hand.
func (d *Dealer) HandSize() int { return d.handSize }

// Queues returns the number of queues in the deck.
func (d *Dealer) Queues() int { return d.queues }

// Deal writes the hand that belongs to hash into hand, whose capacity must be at least
// HandSize, and returns it: distinct queues from 0 to Queues−1, in the order of dealing.
//
// The hash is a number in a mixed radix: its digit d_0 is in base Queues, d_1 in base Queues−1
// and so on. Card i is number d_i, from 0, of the cards that remain after cards 0 to i−1.
func (d *Dealer) Deal(hash uint64, hand []int) []int {
	hand = hand[:d.handSize]
	for i := range hand {
		remaining := uint64(d.queues - i)
		hand[i] = int(hash % remaining)
		hash /= remaining
	}
	// Each entry is now a position among the remaining cards. To make it a position in the
	// whole deck, put the earlier cards back one by one, the last dealt first: a card at or
	// after the returned one moves up by one. Working from the last card to the first keeps
	// the entries of earlier cards unchanged until they are needed.
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
