// Package collisions tabulates how probable it is that elephants occupy the whole hand of a
// mouse.
package collisions

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"apfsim/core/classify"
	"apfsim/core/dealer"
	"apfsim/reports/format"
	"apfsim/reports/result"
)

// Collisions is a shuffle-sharding collision table: for each deck, the probability that
// every queue of a mouse's hand is also in the hand of one of the elephants.
type Collisions struct {
	SchemaVersion string            `json:"schemaVersion"`
	Elephants     []int             `json:"elephants"` // a column each
	Deals         int               `json:"deals"`     // games dealt to each cell; 0 for none
	Rows          []dealer.TableRow `json:"rows"`
	Hits          [][]int           `json:"hits,omitempty"` // by row and column: games in which the mouse was covered
}

// dealsAtOnce is how many games are dealt from one report of progress to the next.
const dealsAtOnce = 1000

// New computes a collision table exactly and, unless deals is 0, deals so many
// games to each cell with the real flow hash and dealer. The error is that of ctx if it ends first.
func New(ctx context.Context, decks []dealer.Deck, elephants []int, deals int, progress format.Progress) (*Collisions, error) {
	c := &Collisions{SchemaVersion: result.SchemaVersion, Elephants: elephants, Deals: deals}
	for i, deck := range decks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.Rows = append(c.Rows, dealer.Table([]dealer.Deck{deck}, elephants)...)
		if deals == 0 { // else it is the deals that take long
			progress.Tell(i+1, len(decks))
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
				progress.Tell((len(c.Hits)*len(elephants)+i)*deals+dealt, len(decks)*len(elephants)*deals)
			}
		}
		c.Hits = append(c.Hits, hits)
	}
	return c, nil
}

// CollisionFormats are the formats that Write knows.
var CollisionFormats = []string{"markdown", "text", "csv", "json"}

// Write writes the table in one of CollisionFormats. Exact values have all their digits.
func (c *Collisions) Write(w io.Writer, as string) error {
	switch as {
	case "json":
		return format.WriteJSON(w, c)
	case "csv":
		cw := csv.NewWriter(w)
		if err := cw.WriteAll(c.cells("handSize", "queues", "elephants%d", "hits%d")); err != nil {
			return err
		}
		return cw.Error()
	case "text":
		t := &format.TextTable{Rows: c.cells("hand size", "queues", "%d elephants", "dealt")}
		return t.WritePlain(w)
	}
	var b strings.Builder
	for i, row := range c.cells("HandSize", "Queues", "%d elephants", "dealt") {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(row)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cells returns the head, from the given names, and the rows.
func (c *Collisions) cells(handSize, queues, elephants, hits string) [][]string {
	machine := strings.Contains(hits, "%d")
	head := []string{handSize, queues}
	for _, n := range c.Elephants {
		name := fmt.Sprintf(elephants, n)
		if n == 1 && !machine {
			name = strings.TrimSuffix(name, "s")
		}
		head = append(head, name)
		if c.Deals > 0 {
			if machine {
				hits = fmt.Sprintf("hits%d", n)
			}
			head = append(head, hits)
		}
	}
	cells := [][]string{head}
	for i, r := range c.Rows {
		row := []string{strconv.Itoa(r.HandSize), strconv.Itoa(r.Queues)}
		for j, p := range r.Probabilities {
			row = append(row, strconv.FormatFloat(p, 'g', -1, 64))
			switch {
			case c.Deals == 0:
			case machine:
				row = append(row, strconv.Itoa(c.Hits[i][j]))
			default:
				row = append(row, c.sampled(c.Hits[i][j]))
			}
		}
		cells = append(cells, row)
	}
	return cells
}

// sampled writes the part of the games that were hits, as many digits as it is worth.
func (c *Collisions) sampled(hits int) string {
	n := float64(c.Deals)
	if hits == 0 {
		// With a probability of 3/n, no hit in n games still happens one time in twenty.
		return "< " + strconv.FormatFloat(3/n, 'g', 1, 64)
	}
	return strconv.FormatFloat(float64(hits)/n, 'g', 4, 64)
}
