// Package catalogue reads lists of the sizes in which the servers of a cluster can be bought, with their prices. Those that are
// published come with the program.
package catalogue

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"apfsim/document"
	"apfsim/document/yaml"
	"apfsim/internal/input"
	"apfsim/sim/scenario"
)

// Kind is what a catalogue says it is. Its apiVersion is that of scenarios.
const Kind = "Catalogue"

// Catalogue is a list of sizes that can be bought. One that Load returns is valid.
type Catalogue struct {
	APIVersion string `json:"apiVersion" document:"required"`
	Kind       string `json:"kind" document:"required"`
	Name       string `json:"name" document:"required"`
	Source     string `json:"source" document:"required"` // where the figures are published
	Date       string `json:"date" document:"required"`   // on which they were read: 2026-04-15 or 2026-04
	Currency   string `json:"currency,omitempty"`         // such as USD
	Per        Period `json:"per,omitempty" document:"default=hour,enum=hour,enum=month,enum=year"`
	Note       string `json:"note,omitempty"`
	Sizes      []Size `json:"sizes" document:"required"` // the cheapest first; without prices, those with the fewest seats
}

// Period is the time that a price is for.
type Period string

// Size is one size of all servers of a cluster together.
type Size struct {
	Name                        string   `json:"name" document:"required"`
	MaxRequestsInflight         int      `json:"maxRequestsInflight,omitempty" document:"minimum=0,maximum=1073741823"` // of a server, as its flag
	MaxMutatingRequestsInflight int      `json:"maxMutatingRequestsInflight,omitempty" document:"minimum=0,maximum=1073741823"`
	Seats                       int      `json:"seats,omitempty" document:"minimum=1,maximum=1073741823"`    // of all servers, in the place of both
	Replicas                    int      `json:"replicas,omitempty" document:"minimum=1,maximum=100"`        // servers; 0: as many as there are now
	Price                       *float64 `json:"price,omitempty" document:"minimum=0,maximum=1000000000000"` // for the period of the catalogue; nil: not known
	Note                        string   `json:"note,omitempty"`

	Line int `json:"-"` // in the file
}

//go:embed *.yaml
var published embed.FS

// Names returns the names of the catalogues that come with the program, in alphabetical order.
func Names() (names []string) {
	files, err := fs.Glob(published, "*.yaml")
	if err != nil {
		panic(err) // the pattern is constant
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f, ".yaml"))
	}
	return names
}

// Load reads a catalogue: one that comes with the program, by its name, or a file. The error is document.Errors, with all
// errors of the file.
func Load(name string) (*Catalogue, error) {
	text, err := published.ReadFile(name + ".yaml")
	if err != nil {
		text, err = input.ReadFile(name, yaml.MaxBytes)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--catalogue: %q is neither a file nor one of the catalogues %s%s", name, strings.Join(Names(), ", "), document.Suggest(name, Names()))
	}
	if err != nil {
		return nil, err
	}
	return Parse(name, text)
}

// Parse reads the text of a catalogue. The error is document.Errors.
func Parse(file string, text []byte) (*Catalogue, error) {
	docs, wrong := yaml.Parse(file, text)
	if len(docs) > 1 {
		wrong.Add(document.Position{File: file}, "", "contains %d documents; want one catalogue", len(docs))
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	c := &Catalogue{}
	document.SetDefaults(c)
	check := document.Checker{Document: &docs[0]}
	if docs[0].Root.Kind != document.Object {
		check.Fail("", "is %v; want an object with kind %s", docs[0].Root.Kind, Kind)
		return nil, check.Errors
	}
	if kind := docs[0].Root.Get("kind"); kind != nil && kind.Text != Kind { // nothing in it would make sense
		check.Fail("kind", "%q: want %s", document.Abridge(kind.Text), Kind)
		return nil, check.Errors
	}
	d := document.Decoder{File: file}
	d.Decode(docs[0].Root, "", c)
	check.Errors = d.Errors
	c.check(&check)
	if len(check.Errors) > 0 {
		return nil, check.Errors.Sorted()
	}
	slices.SortStableFunc(c.Sizes, func(a, b Size) int {
		return cmp.Or(cmp.Compare(a.price(), b.price()), cmp.Compare(a.Total(1), b.Total(1)))
	})
	return c, nil
}

// check adds the errors that depend on several fields.
func (c *Catalogue) check(to *document.Checker) {
	to.Enum("apiVersion", c.APIVersion, scenario.APIVersion)
	_, noDay := time.Parse(time.DateOnly, c.Date)
	if _, noMonth := time.Parse("2006-01", c.Date); noDay != nil && noMonth != nil {
		to.Fail("date", "%q: want the day or the month in which the figures were read, such as 2026-04-15 or 2026-04", document.Abridge(c.Date))
	}
	priced, lines := 0, map[string]int{}
	for i := range c.Sizes {
		s := &c.Sizes[i]
		path := document.Index("sizes", i)
		s.Line = to.Document.Position(path).Line
		name := document.Join(path, "name")
		if first := lines[s.Name]; first > 0 {
			to.Fail(name, "duplicate name %q (first on line %d)", document.Abridge(s.Name), first)
		} else if s.Name == "" {
			to.Fail(name, "is empty; want the name of the size")
		} else {
			lines[s.Name] = s.Line
		}
		limits := s.MaxRequestsInflight + s.MaxMutatingRequestsInflight
		switch {
		case s.Seats > 0 && limits > 0:
			to.Fail(document.Join(path, "seats"), "has no meaning beside maxRequestsInflight and maxMutatingRequestsInflight; want one or the other")
		case s.Seats == 0 && limits == 0:
			to.Fail(path, "has no seats; want maxRequestsInflight and maxMutatingRequestsInflight of a server, or seats of all servers")
		}
		if s.Price != nil {
			priced++
		}
	}
	for i := range c.Sizes {
		if priced > 0 && c.Sizes[i].Price == nil {
			to.Fail(document.Index("sizes", i), "has no price, and others have one; want a price for each size, or none")
		}
	}
	if len(c.Sizes) == 0 {
		to.Fail("sizes", "is empty; want one size or more")
	}
	if priced > 0 && c.Currency == "" {
		to.Fail("currency", "is missing; want that of the prices, such as USD")
	}
}

// price returns the price, 0 without one.
func (s *Size) price() float64 {
	if s.Price == nil {
		return 0
	}
	return *s.Price
}

// Priced says whether the sizes have prices.
func (c *Catalogue) Priced() bool { return c.Sizes[0].Price != nil }

// Servers returns how many servers a size has, if the cluster has so many now.
func (s *Size) Servers(now int) int { return cmp.Or(s.Replicas, now) }

// Limits returns max-requests-inflight and max-mutating-requests-inflight of each server, if the cluster has so many servers
// now. Of seats that are given for all servers, each server has an equal part, and a third of it is for mutating requests:
// with API Priority and Fairness only the sum counts.
func (s *Size) Limits(now int) (requests, mutating int) {
	if s.Seats == 0 {
		return s.MaxRequestsInflight, s.MaxMutatingRequestsInflight
	}
	each := max(1, s.Seats/s.Servers(now))
	return each - each/3, each / 3
}

// Total returns the seats of all servers together, if the cluster has so many servers now.
func (s *Size) Total(now int) int {
	requests, mutating := s.Limits(now)
	return (requests + mutating) * s.Servers(now)
}

// hours is how many hours the periods have.
var hours = map[Period]float64{"hour": 1, "month": 730, "year": 8760}

// ShortPrice writes a price, or a difference of prices, of the catalogue: 1.65 USD/hour.
func (c *Catalogue) ShortPrice(p float64) string {
	return amount(p) + " " + c.Currency + "/" + string(c.Per)
}

// YearlyPrice writes the price for a year, from 1000 on in whole units: 14 454 USD a year.
func (c *Catalogue) YearlyPrice(p float64) string {
	if p *= hours["year"] / hours[c.Per]; p >= 1000 {
		p = math.Round(p)
	}
	return amount(p) + " " + c.Currency + " a year"
}

// amount writes an amount of money with two digits behind the point, none of 0 and of a whole number of 1000 or more, and
// two that are not 0 of less than 0.1.
func amount(p float64) string {
	if p == math.Trunc(p) && (p == 0 || p >= 1000) {
		return grouped(fmt.Sprintf("%.0f", p))
	}
	digits := 2
	if p > 0 && p < 0.1 {
		digits = max(digits, 1-int(math.Floor(math.Log10(p))))
	}
	text := strconv.FormatFloat(p, 'f', digits, 64)
	for digits > 2 && strings.HasSuffix(text, "0") {
		text, digits = text[:len(text)-1], digits-1
	}
	return text
}

// grouped puts a space before each group of three digits.
func grouped(digits string) string {
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + " " + digits[at:]
	}
	return digits
}
