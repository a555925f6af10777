package advice

import (
	"strings"
	"testing"

	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/core/rules"
	"apfsim/sim/workload"
)

// A page of 100 of 600 pods takes the seats of a read of them all where the watch cache serves it. Whoever has an older etcd is
// told what it takes there.
func TestSeatsOfAListThatTheCacheServes(t *testing.T) {
	for _, c := range []struct {
		release string
		off     bool
		query   string
		seats   int
		note    string
	}{
		{"1.33", false, "limit=100", 6, "from etcd (before 3.4.31 or 3.5.13, or where ConsistentListFromCache is off), they are 2"},
		{"1.33", false, "limit=100&resourceVersion=0", 6, ""},
		{"1.33", true, "limit=100", 2, ""},
		{"1.29", false, "limit=100", 2, ""},
	} {
		r, err := rules.For(c.release)
		if err != nil {
			t.Fatal(err)
		}
		if c.off {
			if err := r.SetGate("ConsistentListFromCache", false); err != nil {
				t.Fatal(err)
			}
		}
		q, err := ParseQuestion(&QuestionInput{Arguments: []string{"list", "pods"}, Given: givenFlags("user"), Sender: workload.Identity{User: "jane"},
			Request: workload.Request{Query: c.query}, Stored: estimate.Stats{Objects: 600}})
		if err != nil {
			t.Fatal(err)
		}
		e, err := Explain(r, config.Suggested(r), 600, *q)
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(e.Notes, "\n"); e.Seats.InitialSeats != c.seats || !strings.Contains(notes, c.note) || (c.note == "") != (notes == "") {
			t.Errorf("%s, off %t, %s: %d seats, want %d; notes %q, want %q", c.release, c.off, c.query, e.Seats.InitialSeats, c.seats, notes, c.note)
		}
	}
}
