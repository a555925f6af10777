package catalogue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The catalogues that come with the program are valid, and name their sources. The figures of a server are those that the
// vendors publish for a cluster, where they do.
func TestPublished(t *testing.T) {
	for _, name := range Names() {
		c, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if c.Name != name || c.Source == "" || c.Date == "" {
			t.Errorf("%s: name %q, source %q, date %q", name, c.Name, c.Source, c.Date)
		}
	}
	eks, err := Load("eks")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{0, 1700, 3400, 6800, 13600} { // of a cluster, as AWS has it
		if got := eks.Sizes[i].Total(1); want > 0 && (got < want || got > want+2) {
			t.Errorf("%s: %d seats of all servers, want %d", eks.Sizes[i].Name, got, want)
		}
	}
}

const text = `apiVersion: apfsim/v1alpha1
kind: Catalogue
name: own
source: a test
date: 2026-11
currency: EUR
per: %s
sizes:
- {name: many, seats: 900, replicas: 3, price: 12.5}
- {name: as now, seats: 901, price: 5}
- {name: each, maxRequestsInflight: 100, maxMutatingRequestsInflight: 50, price: 5}
`

// Sizes come with the cheapest first, and of the same price those with fewer seats. Seats of all servers are divided equally.
func TestSizes(t *testing.T) {
	c, err := Parse("own.yaml", fmt.Appendf(nil, text, "month"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range c.Sizes {
		s := &c.Sizes[i]
		requests, mutating := s.Limits(2)
		got = append(got, fmt.Sprintf("%s: %d of %d+%d are %d", s.Name, s.Servers(2), requests, mutating, s.Total(2)))
	}
	want := []string{"each: 2 of 100+50 are 300", "as now: 2 of 300+150 are 900", "many: 3 of 200+100 are 900"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A price is written for its period, and for a year.
func TestPrices(t *testing.T) {
	for per, want := range map[string]string{"hour": "12.50 EUR/hour 109 500 EUR a year", "month": "12.50 EUR/month 150.00 EUR a year", "year": "12.50 EUR/year 12.50 EUR a year"} {
		c, err := Parse("own.yaml", fmt.Appendf(nil, text, per))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.ShortPrice(12.5) + " " + c.YearlyPrice(12.5); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A price that is not 0 is not written as if it was, and a difference of prices may have a rounding error.
func TestSmallPrices(t *testing.T) {
	for price, want := range map[float64]string{0: "0", 0.000001: "0.000001", 0.0125: "0.013", 0.05: "0.05", 0.0999: "0.10", 0.1 + 0.2: "0.30", 0.96: "0.96", 3e-9: "0.000000003", 1234: "1 234"} {
		if got := amount(price); got != want {
			t.Errorf("%v: got %s, want %s", price, got, want)
		}
	}
}

// Whatever a file has, the answer is a catalogue with sizes that have seats, or an error.
func FuzzParse(f *testing.F) {
	f.Add(fmt.Appendf(nil, text, "hour"))
	f.Add([]byte("kind: Catalogue\nsizes: [{seats: 1}, 2, {name: 3}]"))
	f.Add([]byte("[]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse("f.yaml", text)
		if (c == nil) == (err == nil) {
			t.Fatalf("got %v and %v", c, err)
		}
		if c == nil {
			return
		}
		for i := range c.Sizes {
			s := &c.Sizes[i]
			if s.Total(1) < 1 || s.Servers(7) < 1 || (s.Price != nil) != c.Priced() {
				t.Errorf("got %+v", s)
			}
		}
	})
}
