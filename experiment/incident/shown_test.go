package incident

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// The neighbours of a client are those with the most common queues, and of these the ones that asked for the most. Only the most
// harmed clients have neighbours, so that the time for them does not grow with the square of the clients.
func TestNeighbours(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []*LoggedClient
	for i := range mostWithNeighbours + 50 {
		all = append(all, &LoggedClient{User: fmt.Sprint("user-", i), FlowSchema: "s", PriorityLevel: "l", Hand: random.Perm(32)[:4], SeatSeconds: float64(random.IntN(9))})
	}
	shareQueues(all)
	for i, c := range all {
		common := map[*LoggedClient]int{}
		var others []*LoggedClient
		for _, o := range all {
			for _, q := range o.Hand {
				if o != c && slices.Contains(c.Hand, q) {
					common[o]++
				}
			}
			if common[o] > 0 {
				others = append(others, o)
			}
		}
		slices.SortStableFunc(others, func(a, b *LoggedClient) int {
			return cmp.Or(common[b]-common[a], cmp.Compare(b.SeatSeconds, a.SeatSeconds))
		})
		var want []string
		for _, o := range others[:mostNeighbours] {
			want = append(want, o.User)
		}
		if i >= mostWithNeighbours {
			want = nil
		}
		if !slices.Equal(c.SharedQueuesWith, want) {
			t.Fatalf("client %d shares queues with %v, want %v", i, c.SharedQueuesWith, want)
		}
	}
}
