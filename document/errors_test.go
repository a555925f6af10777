package document

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSuggest(t *testing.T) {
	names := []string{"clients", "request", "requests", "arrivals", "as", "qps"}
	for misspelt, want := range map[string]string{
		"client":    ` (did you mean "clients"?)`,
		"Clients":   ` (did you mean "clients"?)`,
		"cleints":   ` (did you mean "clients"?)`,
		"requets":   ` (did you mean "request"?)`,
		"arivalls":  ` (did you mean "arrivals"?)`,
		"qsp":       ` (did you mean "qps"?)`,
		"zzz":       "",
		"telephone": "",
	} {
		if got := Suggest(misspelt, names); got != want {
			t.Errorf("%s: got %q, want %q", misspelt, got, want)
		}
	}
}

// editDistance agrees with the recursive definition of the distance.
func TestEditDistance(t *testing.T) {
	var fewest func(a, b string) int
	fewest = func(a, b string) int {
		if a == "" || b == "" {
			return len(a) + len(b)
		}
		if a[0] == b[0] {
			return fewest(a[1:], b[1:])
		}
		d := 1 + min(fewest(a[1:], b), fewest(a, b[1:]), fewest(a[1:], b[1:]))
		if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
			d = min(d, 1+fewest(a[2:], b[2:]))
		}
		return d
	}
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.StringMatching(`[abc]{0,6}`).Draw(t, "a")
		b := rapid.StringMatching(`[abc]{0,6}`).Draw(t, "b")
		limit := rapid.IntRange(1, 8).Draw(t, "limit")
		if got, want := editDistance(a, b, limit), min(fewest(a, b), limit); got != want {
			t.Fatalf("from %q to %q: %d, want %d (limit %d)", a, b, got, want, limit)
		}
	})
}
