package dealer

import (
	"fmt"
	"math/big"
)

// collisionProbability returns the probability that every queue in the hand of a mouse is
// also in the hand of at least one elephant, if hands are independent and all hands are
// equally likely. An elephant is a flow that fills all queues of its hand; a mouse is a flow
// of few requests. By inclusion and exclusion over the queues of the mouse that are in the
// hand of no elephant,
//
//	P = Σ_k (−1)^k · C(h,k) · (C(q−k,h) / C(q,h))^n,  k = 0..h
//
// where h = handSize, q = queues and n = elephants. The last factor is the probability that
// n hands contain none of k given queues. It panics unless 1 ≤ handSize ≤ queues and
// elephants ≥ 0.
//
// The Kubernetes documentation has a table of these probabilities ("API Priority and
// Fairness", shuffle sharding).
func collisionProbability(queues, handSize, elephants int) *big.Rat {
	if handSize < 1 || handSize > queues || elephants < 0 {
		panic(fmt.Sprintf("dealer: hands of %d out of %d queues for %d elephants; want 1 ≤ handSize ≤ queues and elephants ≥ 0",
			handSize, queues, elephants))
	}
	n := big.NewInt(int64(elephants))
	numerator := new(big.Int)
	for k := range handSize + 1 {
		if queues-k < handSize && elephants > 0 {
			break // there is no hand without these k queues, so all further terms are 0
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

// CollisionProbabilityFloat returns collisionProbability, rounded to the nearest float64.
func CollisionProbabilityFloat(queues, handSize, elephants int) float64 {
	p, _ := collisionProbability(queues, handSize, elephants).Float64()
	return p
}

func binomial(n, k int) *big.Int { return new(big.Int).Binomial(int64(n), int64(k)) }

// Deck is a number of queues and the number of queues in a hand.
type Deck struct {
	Queues   int `json:"queues"`
	HandSize int `json:"handSize"`
}

// TableRow is a row of a collision table: the collision probabilities of a deck, one for each
// column, which is a number of elephants.
type TableRow struct {
	Deck
	Probabilities []float64 `json:"probabilities"`
}

// PublishedDecks returns the decks of the table in the Kubernetes documentation, in the order
// of its rows.
func PublishedDecks() []Deck {
	return []Deck{
		{32, 12}, {32, 10}, {64, 10}, {64, 9}, {64, 8}, {128, 8},
		{128, 7}, {256, 7}, {256, 6}, {512, 6}, {1024, 6},
	}
}

// PublishedElephants returns the numbers of elephants in the columns of the published table.
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

// SampleCollisions returns in how many of a number of deals the elephants had the mouse's
// whole hand. In each deal, it deals the hands of the elephants and then the hand of the mouse,
// from the hashes that next returns.
//
// The expectation divided by deals is collisionProbability, with two qualifications:
//
//   - The hands are not exactly equally likely. Deal numbers the N = q!/(q−h)! ordered hands
//     from 0 and deals hand number hash mod N. N does not divide 2^64, so some hands belong to
//     one hash more than others, and the probability of a hand differs from 1/N by a relative
//     error of less than N/2^64. MaxEntropyBits keeps this error below 1/16. It is 4.7 % for 6
//     of 1024 queues, 1.7 % for 10 of 64, at most 0.4 % for the other published decks, and
//     below 1e-6 for the suggested priority levels.
//   - Real flows keep their hands. A given mouse and given elephants collide either always or
//     never, so that the probability is that of a random choice of flows, not of a moment.
func (d *Dealer) SampleCollisions(elephants, deals int, next func() uint64) (hits int) {
	hand := make([]int, d.handSize)
	takenIn := make([]int, d.queues) // the last deal, from 1, in which an elephant had the queue
	for deal := 1; deal <= deals; deal++ {
		for range elephants {
			for _, queue := range d.Deal(next(), hand) {
				takenIn[queue] = deal
			}
		}
		hits++
		for _, queue := range d.Deal(next(), hand) {
			if takenIn[queue] != deal {
				hits--
				break
			}
		}
	}
	return hits
}
