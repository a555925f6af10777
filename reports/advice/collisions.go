package advice

import (
	"context"
	"strconv"

	"apfsim/core/classify"
	"apfsim/core/dealer"
	"apfsim/reports/format"
	"apfsim/reports/result"
)

// Collisions is a shuffle-sharding collision table: for each deck, the probability that
// every queue of a mouse's hand is also in the hand of an elephant.
type Collisions struct {
	SchemaVersion string            `json:"schemaVersion"`
	Elephants     []int             `json:"elephants"` // their number, in each column
	Deals         int               `json:"deals"`     // games dealt for each row and column; 0 for none
	Rows          []dealer.TableRow `json:"rows"`
	Hits          [][]int           `json:"hits,omitempty"` // by row and column: games in which the mouse's whole hand was occupied
}

// dealsAtOnce is how many games are dealt between two reports of progress.
const dealsAtOnce = 1000

// NewCollisions computes a collision table exactly and, unless deals is 0, deals that many games for each row
// and column. The error is that of ctx if ctx is done first, or says what is wrong with a deck.
func NewCollisions(ctx context.Context, decks []dealer.Deck, elephants []int, deals int, progress format.Progress) (*Collisions, error) {
	c := &Collisions{SchemaVersion: result.SchemaVersion, Elephants: elephants, Deals: deals}
	for i, deck := range decks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.Rows = append(c.Rows, dealer.Table([]dealer.Deck{deck}, elephants)...)
		if deals == 0 { // otherwise dealing takes most of the time, and reports progress
			progress.Report(i+1, len(decks))
		}
	}
	if deals == 0 {
		return c, nil
	}
	flow := 0
	hash := func() uint64 {
		flow++
		return classify.FlowHash("elephants-and-mice", "flow-"+strconv.Itoa(flow))
	}
	for _, deck := range decks {
		d, err := dealer.New(deck.Queues, deck.HandSize)
		if err != nil {
			return nil, err
		}
		hits := make([]int, len(elephants))
		for i, n := range elephants {
			for dealt := 0; dealt < deals; dealt += dealsAtOnce {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				hits[i] += d.SampleCollisions(n, min(dealsAtOnce, deals-dealt), hash)
				progress.Report((len(c.Hits)*len(elephants)+i)*deals+dealt, len(decks)*len(elephants)*deals)
			}
		}
		c.Hits = append(c.Hits, hits)
	}
	return c, nil
}
