package report

import (
	"fmt"
	"math"

	"apfsim/core/dealer"
	"apfsim/reports/advice"
)

// minProbability is the least probability that the picture of a collision table shows.
const minProbability = 1e-16

// collisionPicture returns a line for each deck of a collision table: the probability of a collision over
// the number of elephants, from 1 to the largest number that the table has a column for.
func collisionPicture(c *advice.Collisions) *Picture {
	most := 2
	for _, n := range c.Elephants {
		most = max(most, n)
	}
	p := &Plot{Name: "collisions", Title: "Probability that elephants occupy the whole hand of a mouse",
		Caption: "For each hand size and number of queues, the probability that every queue of a mouse's hand is also in the hand of an elephant.",
		X:       Axis{Label: "elephants", Min: 1, Max: float64(most)}, Y: Axis{Label: "probability", Log: true, Max: 1}}
	for n := 1; n <= most; n += max(1, most/64) { // a line cannot show more than about 64 points
		p.At = append(p.At, float64(n))
	}
	least := 0.1
	for i, r := range c.Rows {
		line := Line{Name: fmt.Sprintf("%d of %d", r.HandSize, r.Queues), Kind: KindCategory, Index: i}
		for _, n := range p.At {
			y := max(minProbability, dealer.CollisionProbabilityFloat(r.Queues, r.HandSize, int(n)))
			line.Values = append(line.Values, y)
			least = min(least, y)
		}
		p.Lines = append(p.Lines, line)
	}
	p.Y.Min = math.Pow(10, math.Floor(math.Log10(least)))
	out := &Picture{Name: p.Name, Title: p.Title, Panels: []*Plot{p}}
	for _, l := range p.Lines {
		out.Legend = append(out.Legend, legendEntry{Name: l.Name, Kind: l.Kind, Index: l.Index})
	}
	return out
}
