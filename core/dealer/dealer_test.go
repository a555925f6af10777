package dealer

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// slowDeal is the definition of Deal, carried out literally: it removes the card at the
// position of each digit from a deck of the remaining cards.
func slowDeal(queues, handSize int, hash uint64) []int {
	var deck, hand []int
	for card := range queues {
		deck = append(deck, card)
	}
	for range handSize {
		remaining := uint64(len(deck))
		digit := int(hash % remaining)
		hash /= remaining
		hand = append(hand, deck[digit])
		deck = slices.Delete(deck, digit, digit+1)
	}
	return hand
}

// drawDealer draws a valid deck, with small decks as likely as large ones.
func drawDealer(t *rapid.T) *Dealer {
	queues := rapid.OneOf(rapid.IntRange(1, 16), rapid.IntRange(1, 1024)).Draw(t, "queues")
	most := min(queues, 16)
	for EntropyBits(queues, most) > MaxEntropyBits {
		most--
	}
	d, err := New(queues, rapid.IntRange(1, most).Draw(t, "handSize"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDealExample(t *testing.T) {
	d, err := New(4, 3)
	if err != nil {
		t.Fatal(err)
	}
	// 9 mod 4 is 1, which takes 1 out of 0 1 2 3. Then 2 mod 3 is 2, which takes 3 out of
	// 0 2 3. Then 0 mod 2 is 0, which takes 0 out of 0 2.
	if got, want := d.Deal(9, make([]int, 3)), []int{1, 3, 0}; !slices.Equal(got, want) {
		t.Errorf("Deal(9) = %v, want %v", got, want)
	}
}

func TestDealMatchesSlowDealer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDealer(t)
		hash := rapid.Uint64().Draw(t, "hash")
		got := d.Deal(hash, make([]int, 0, d.HandSize()))
		if want := slowDeal(d.Queues(), d.HandSize(), hash); !slices.Equal(got, want) {
			t.Errorf("%d of %d, hash %d: dealt %v, want %v", d.HandSize(), d.Queues(), hash, got, want)
		}
	})
}

func TestHandIsDistinctQueues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDealer(t)
		hand := d.Deal(rapid.Uint64().Draw(t, "hash"), make([]int, d.HandSize()))
		if len(hand) != d.HandSize() {
			t.Fatalf("%d cards, want %d", len(hand), d.HandSize())
		}
		for i, card := range hand {
			if card < 0 || card >= d.Queues() {
				t.Errorf("card %d is not one of %d queues", card, d.Queues())
			}
			if slices.Contains(hand[:i], card) {
				t.Errorf("card %d is dealt twice: %v", card, hand)
			}
		}
	})
}

// The hashes 0 to 4·3−1 deal every ordered hand of 2 out of 4 once.
func TestConsecutiveHashesDealDistinctHands(t *testing.T) {
	d, _ := New(4, 2)
	seen := map[[2]int]bool{}
	for hash := range uint64(12) {
		hand := d.Deal(hash, make([]int, 2))
		seen[[2]int(hand)] = true
	}
	if len(seen) != 12 {
		t.Errorf("%d different hands, want 12", len(seen))
	}
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		queues, handSize int
		want             string
	}{
		{0, 1, "queues: 0 is not positive"},
		{8, 0, "handSize: 0 is not positive"},
		{8, 9, "handSize: 9 exceeds queues (8)"},
		{64, 11, "handSize: 11 out of 64 queues needs 66 bits of a flow's hash; want at most 60"},
		{1<<26 + 1, 1, "queues: 67108865 exceeds 67108864"},
		{64, 10, ""}, // 60 bits exactly
		{1, 1, ""},
		{1 << 26, 2, ""},
	} {
		_, err := New(c.queues, c.handSize)
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("New(%d, %d): %v, want %q", c.queues, c.handSize, err, c.want)
		}
	}
}

func TestEntropyBits(t *testing.T) {
	for _, c := range []struct{ queues, handSize, want int }{
		{1, 1, 0}, {2, 2, 2}, {64, 10, 60}, {128, 6, 42}, {32, 12, 60}, {1024, 6, 60},
		{3, 1, 2}, {100, 9, 60}, {10, 3, 10}, // 59.8 and 9.97 bits, rounded up
	} {
		if got := EntropyBits(c.queues, c.handSize); got != c.want {
			t.Errorf("EntropyBits(%d, %d) = %d, want %d", c.queues, c.handSize, got, c.want)
		}
	}
}

// The bias of dealing is within the bounds that the comment of SampleCollisions states.
func TestHandsAreAlmostEquallyLikely(t *testing.T) {
	// bias returns the largest relative error of the probability of a hand.
	bias := func(queues, handSize int) float64 {
		hands := big.NewInt(1)
		for i := range handSize {
			hands.Mul(hands, big.NewInt(int64(queues-i)))
		}
		hashes := new(big.Int).Lsh(big.NewInt(1), 64)
		least := new(big.Int).Div(hashes, hands) // how many hashes deal the least likely hand
		fair, _ := new(big.Rat).SetFrac(hashes, hands).Float64()
		rounds, _ := new(big.Float).SetInt(least).Float64()
		return max(1-rounds/fair, (rounds+1)/fair-1)
	}
	worst := map[Deck]float64{{1024, 6}: 0.0471, {64, 10}: 0.0167}
	for _, deck := range PublishedDecks() {
		bound := 0.004
		if b, ok := worst[deck]; ok {
			bound = b
		}
		got := bias(deck.Queues, deck.HandSize)
		if got > bound || bound != 0.004 && got < bound-0.0001 {
			t.Errorf("%v: bias %.6f, want at most, and for the worst about, %.4f", deck, got, bound)
		}
	}
	for _, deck := range []Deck{{64, 6}, {128, 6}, {16, 4}} {
		if got := bias(deck.Queues, deck.HandSize); got > 1e-6 {
			t.Errorf("%v: bias %g, want below 1e-6", deck, got)
		}
	}
	for queues := 1; queues <= 1024; queues++ {
		for handSize := 1; handSize <= queues && EntropyBits(queues, handSize) <= MaxEntropyBits; handSize++ {
			if got := bias(queues, handSize); got >= 1.0/16 || math.IsNaN(got) {
				t.Errorf("%d of %d: bias %g, want below 1/16", handSize, queues, got)
			}
		}
	}
}

func TestDealDoesNotAllocate(t *testing.T) {
	d, _ := New(128, 6)
	hand, hash := make([]int, 6), uint64(0)
	if n := testing.AllocsPerRun(100, func() {
		hash += 0x9e3779b97f4a7c15
		d.Deal(hash, hand)
	}); n != 0 {
		t.Errorf("%v allocations a hand, want none", n)
	}
}

func BenchmarkDeal(b *testing.B) {
	d, _ := New(128, 6)
	hand, hash := make([]int, 6), uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		hash += 0x9e3779b97f4a7c15
		d.Deal(hash, hand)
	}
}

func TestMaxHandSize(t *testing.T) {
	most := 0
	for queues := 1; queues <= 64; queues++ {
		for handSize := 1; handSize <= queues; handSize++ {
			if _, err := New(queues, handSize); err == nil {
				most = max(most, handSize)
			}
		}
	}
	if most != MaxHandSize {
		t.Errorf("the largest hand of at most 64 queues has %d, want %d", most, MaxHandSize)
	}
}
