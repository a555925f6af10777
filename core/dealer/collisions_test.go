package dealer

import (
	"bufio"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// published reads the table of the Kubernetes documentation.
func published(t *testing.T) []TableRow {
	t.Helper()
	f, err := os.Open("testdata/collision-table.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []TableRow
	for lines := bufio.NewScanner(f); lines.Scan(); {
		row := TableRow{Probabilities: make([]float64, 3)}
		p := row.Probabilities
		n, _ := fmt.Sscanf(lines.Text(), "| %d | %d | %g | %g | %g |",
			&row.HandSize, &row.Queues, &p[0], &p[1], &p[2])
		if n == 5 {
			rows = append(rows, row)
		}
	}
	return rows
}

func TestPublishedTable(t *testing.T) {
	want := published(t)
	got := Table(PublishedDecks(), PublishedElephants())
	if len(want) != 11 || len(got) != len(want) {
		t.Fatalf("%d rows computed and %d read, want 11", len(got), len(want))
	}
	for i, row := range want {
		if got[i].Deck != row.Deck {
			t.Errorf("row %d: %v, want %v", i, got[i].Deck, row.Deck)
		}
		for j, p := range row.Probabilities {
			if math.Abs(got[i].Probabilities[j]-p) > 1e-15*p {
				t.Errorf("%v, %d elephants: %v, want %v", row.Deck, PublishedElephants()[j], got[i].Probabilities[j], p)
			}
		}
	}
}

// bruteForce enumerates all combinations of hands of the elephants. The mouse has the first
// handSize queues. A hand is a set of bits.
func bruteForce(queues, handSize, elephants int) *big.Rat {
	var hands []uint
	for set := range uint(1) << queues {
		if bits.OnesCount(set) == handSize {
			hands = append(hands, set)
		}
	}
	mouse := uint(1)<<handSize - 1
	games, hits := int64(0), int64(0)
	var play func(taken uint, left int)
	play = func(taken uint, left int) {
		if left == 0 {
			games++
			if taken&mouse == mouse {
				hits++
			}
			return
		}
		for _, hand := range hands {
			play(taken|hand, left-1)
		}
	}
	play(0, elephants)
	return big.NewRat(hits, games)
}

func TestCollisionProbabilityByBruteForce(t *testing.T) {
	for queues := 1; queues <= 6; queues++ {
		for handSize := 1; handSize <= queues; handSize++ {
			for elephants := 0; elephants <= 3; elephants++ {
				got, want := collisionProbability(queues, handSize, elephants), bruteForce(queues, handSize, elephants)
				if got.Cmp(want) != 0 {
					t.Errorf("%d of %d, %d elephants: %v, want %v", handSize, queues, elephants, got, want)
				}
			}
		}
	}
}

// One elephant must have exactly the mouse's hand: one chance in C(64, 8).
func TestOneElephant(t *testing.T) {
	if got, want := collisionProbability(64, 8, 1), big.NewRat(1, 4426165368); got.Cmp(want) != 0 {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCollisionProbabilityGrowsWithElephants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		queues := rapid.IntRange(1, 200).Draw(t, "queues")
		handSize := rapid.IntRange(1, min(queues, 12)).Draw(t, "handSize")
		elephants := rapid.IntRange(0, 40).Draw(t, "elephants")
		p, more := collisionProbability(queues, handSize, elephants), collisionProbability(queues, handSize, elephants+1)
		if p.Sign() < 0 || p.Cmp(more) > 0 || more.Cmp(big.NewRat(1, 1)) > 0 {
			t.Errorf("%v with %d elephants, then %v", p, elephants, more)
		}
	})
}

// A thousand elephants on the largest deck cover nearly all of it.
func TestManyElephants(t *testing.T) {
	if p := CollisionProbabilityFloat(1024, 12, 1000); p < 0.9999 || p > 0.99999 {
		t.Errorf("got %v, want 12·(1−12/1024)^1000 ≈ 9.1e-5 short of 1", p)
	}
}

func TestCollisionProbabilityPanicsOutOfRange(t *testing.T) {
	for _, c := range [][3]int{{8, 9, 1}, {8, 0, 1}, {8, 2, -1}} {
		func() {
			defer func() {
				if r := fmt.Sprint(recover()); !strings.HasPrefix(r, "dealer: ") {
					t.Errorf("%v: recovered %v, want a panic of the dealer", c, r)
				}
			}()
			collisionProbability(c[0], c[1], c[2])
		}()
	}
}

// With uniformly random hashes the share of hits is within five standard deviations of the
// exact probability.
func TestSampleCollisionsConverges(t *testing.T) {
	const deals = 20_000
	for _, c := range []struct {
		Deck
		elephants int
	}{{Deck{32, 12}, 4}, {Deck{64, 8}, 16}, {Deck{8, 3}, 2}} {
		d, err := New(c.Queues, c.HandSize)
		if err != nil {
			t.Fatal(err)
		}
		p := CollisionProbabilityFloat(c.Queues, c.HandSize, c.elephants)
		hits := d.SampleCollisions(c.elephants, deals, rand.New(rand.NewPCG(1, 2)).Uint64)
		got, deviation := float64(hits)/deals, math.Sqrt(p*(1-p)/deals)
		if math.Abs(got-p) > 5*deviation {
			t.Errorf("%v, %d elephants: a share of %v collides, want %v ± %v", c.Deck, c.elephants, got, p, 5*deviation)
		}
	}
}

// The first hashes of a deal are those of the elephants. Out of 4 queues, hash 0 deals queues
// 0 and 1, and hash 10 deals queues 2 and 3.
func TestSampleCollisionsDealByDeal(t *testing.T) {
	d, _ := New(4, 2)
	hashes := []uint64{
		0, 10, 0, // the two elephants have all queues: a collision
		0, 0, 10, // both elephants have 0 and 1, the mouse has 2 and 3
		10, 10, 10, // all hands are equal: a collision
		0, 0, 10, // the hands of the previous deal do not count
	}
	next := func() uint64 {
		h := hashes[0]
		hashes = hashes[1:]
		return h
	}
	if hits := d.SampleCollisions(2, 4, next); hits != 2 || len(hashes) != 0 {
		t.Errorf("%d hits and %d hashes left, want 2 and none", hits, len(hashes))
	}
}
