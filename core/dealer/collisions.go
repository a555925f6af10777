package dealer

import (
	"fmt"
	"math/big"
)

// CollisionProbability returns the probability that every queue in a mouse's hand is
// also in the hand of one of the elephants, with fair dice and independent hands. By
// inclusion and exclusion over the queues of the mouse that no elephant has,
//
//	P = Σ_k (−1)^k · C(h,k) · (C(q−k,h) / C(q,h))^n,  k = 0..h
//
// for h = handSize, q = queues and n = elephants: the last factor is the probability
// that n hands avoid k given queues. It panics unless 1 ≤ handSize ≤ queues and
// elephants ≥ 0.
//
// This is what the Kubernetes documentation publishes a table of ("API Priority and
// Fairness", shuffle sharding).
func CollisionProbability(queues, handSize, elephants int) *big.Rat {
	if handSize < 1 || handSize > queues || elephants < 0 {
		panic(fmt.Sprintf("dealer: no %d hands of %d out of %d queues", elephants, handSize, queues))
	}
	n := big.NewInt(int64(elephants))
	numerator := new(big.Int)
	for k := range handSize + 1 {
		if queues-k < handSize && elephants > 0 {
			break // no hand avoids that many queues
		}
		term := binomial(queues-k, handSize)
		term.Exp(term, n, nil)
		term.Mul(term, binomial(handSize, k))
		if k%2 == 1 {
			term.Neg(term)
		}
		numerator.Add(numerator, term)
	}
	denominator := binomial(queues, handSize)
	return new(big.Rat).SetFrac(numerator, denominator.Exp(denominator, n, nil))
}

// CollisionProbabilityFloat returns CollisionProbability as the nearest float64.
func CollisionProbabilityFloat(queues, handSize, elephants int) float64 {
	p, _ := CollisionProbability(queues, handSize, elephants).Float64()
	return p
}

func binomial(n, k int) *big.Int { return new(big.Int).Binomial(int64(n), int64(k)) }

// Deck is a number of queues and how many of them make a hand.
type Deck struct {
	Queues   int `json:"queues"`
	HandSize int `json:"handSize"`
}

// TableRow is a line of a collision table: the collision probabilities of a deck, one
// for each number of elephants that the table has a column for.
type TableRow struct {
	Deck
	Probabilities []float64 `json:"probabilities"`
}

// PublishedDecks returns the decks of the table in the Kubernetes documentation, in its
// order.
func PublishedDecks() []Deck {
	return []Deck{
		{32, 12}, {32, 10}, {64, 10}, {64, 9}, {64, 8}, {128, 8},
		{128, 7}, {256, 7}, {256, 6}, {512, 6}, {1024, 6},
	}
}

// PublishedElephants returns the numbers of elephants that the published table has
// columns for.
func PublishedElephants() []int { return []int{1, 4, 16} }

// Table computes the collision table of the given decks and numbers of elephants.
func Table(decks []Deck, elephants []int) []TableRow {
	rows := make([]TableRow, len(decks))
	for i, deck := range decks {
		rows[i] = TableRow{Deck: deck, Probabilities: make([]float64, len(elephants))}
		for j, n := range elephants {
			rows[i].Probabilities[j] = CollisionProbabilityFloat(deck.Queues, deck.HandSize, n)
		}
	}
	return rows
}

// SampleCollisions deals, for each of deals games, the hands of the elephants and that of
// a mouse from the hashes that next supplies, in this order, and returns in how many of
// the games the elephants had the mouse's whole hand.
//
// The expectation is CollisionProbability, but for two things. Dealing numbers the
// N = q!/(q−h)! ordered hands from 0 and deals hand hash mod N, and N does not divide
// 2^64: the last 2^64 mod N of a round are missing, so that a hand is more or less likely
// than 1/N by less than N/2^64 relatively. MaxEntropyBits keeps that below 1/16; at worst
// it is 4.7 % (6 of 1024 queues), 1.7 % (10 of 64) and 0.4 % or less for the other
// published decks, and below 1e-6 for the suggested priority levels. And real flows keep
// their hands: with hashes of fixed flows, each pair of a mouse and its elephants always
// collides or never does, so what is sampled is flows, not time.
func (d *Dealer) SampleCollisions(elephants, deals int, next func() uint64) (hits int) {
	hand := make([]int, d.handSize)
	takenIn := make([]int, d.queues) // the last game, from 1, in which an elephant had the queue
	for game := 1; game <= deals; game++ {
		for range elephants {
			for _, queue := range d.Deal(next(), hand) {
				takenIn[queue] = game
			}
		}
		hits++
		for _, queue := range d.Deal(next(), hand) {
			if takenIn[queue] != game {
				hits--
				break
			}
		}
	}
	return hits
}
