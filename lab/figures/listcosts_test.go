package main

import (
	"os"
	"strings"
	"testing"
)

// The page has what the scenarios give: of two rows, one of large objects and one of small ones, which are simulated again
// at all seats.
func TestListCostsAreThoseOfThePage(t *testing.T) {
	rows, err := os.ReadFile("list-costs.csv")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../list-costs.md")
	if err != nil {
		t.Fatal(err)
	}
	published, err := readListRows(string(rows))
	if err != nil || len(published) != 13 {
		t.Fatalf("%d rows, %v", len(published), err)
	}
	lines := strings.Split(string(rows), "\n")
	s, err := listCosts(strings.Join([]string{lines[0], lines[8], lines[13]}, "\n") + "\n")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(s.text) {
		if strings.HasPrefix(line, "| 10") {
			seen++
			if !strings.Contains(string(page), line) {
				t.Errorf("the page does not have %q; run 'make list-costs'", line)
			}
		}
	}
	if seen != 6 {
		t.Errorf("%d rows of the tables were compared, want 2 of each of 3", seen)
	}
	if !strings.Contains(string(page), "43 of 43 figures are inside.") {
		t.Error("not all figures of the page are inside")
	}
}

// A table that is not complete is an error, and changes nothing.
func TestListCostsWithoutRows(t *testing.T) {
	for _, input := range []string{"", "objects,bytes\n1,2\n", strings.Repeat("x,", 9) + "x\n" + strings.Repeat("y,", 9) + "y\n"} {
		if s, err := listCosts(input); err == nil {
			t.Errorf("%q: got %q, want an error", input, s.text)
		}
	}
}
