package shufflesharding

import (
	"fmt"

	"apfsim/core/dealer"
)

// DealerFields is added to upstream's Dealer.
type DealerFields struct{ ours *dealer.Dealer }

// RequiredEntropyBits is core's.
func RequiredEntropyBits(deckSize, handSize int) int { return dealer.EntropyBits(deckSize, handSize) }

// NewDealer takes what core takes. The tests compare the messages of errors, which are upstream's.
func NewDealer(deckSize, handSize int) (*Dealer, error) {
	ours, err := dealer.New(deckSize, handSize)
	d, upstream := upstreamNewDealer(deckSize, handSize)
	switch {
	case (err == nil) != (upstream == nil):
		return nil, fmt.Errorf("core says %v, upstream says %v", err, upstream)
	case err != nil:
		return nil, upstream
	}
	d.ours = ours
	return d, nil
}

// Deal gives the cards that core deals.
func (d *Dealer) Deal(hashValue uint64, pick func(int)) {
	for _, card := range d.ours.Deal(hashValue, make([]int, d.handSize)) {
		pick(card)
	}
}
