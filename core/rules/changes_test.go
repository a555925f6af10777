package rules

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// fieldsOf returns the values of all fields of rules, by their names, without what no release has.
func fieldsOf(v reflect.Value, prefix string) map[string]string {
	all := map[string]string{}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name := prefix + field.Name
		if field.Type == reflect.TypeFor[WhatIf]() {
			continue
		}
		if field.Type.Kind() == reflect.Struct {
			prefix := name + "."
			if field.Anonymous {
				prefix = ""
			}
			maps.Copy(all, fieldsOf(v.Field(i), prefix))
			continue
		}
		all[name] = fmt.Sprint(v.Field(i).Interface())
	}
	delete(all, "Version")
	return all
}

// everyRelease returns the rules of all minor releases and of the patch releases that differ from them.
func everyRelease(t *testing.T) (all []*Rules) {
	t.Helper()
	for _, m := range releases {
		for patch := range max(1, m.patches+1) { // one that is not released has no patch releases, and is itself
			r, err := For(fmt.Sprintf("1.%d.%d", m.minor, patch))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
	}
	return all
}

// The rules of seats and of work are among those that have a sentence.
func TestRulesOfSeatsAndWorkAreRules(t *testing.T) {
	for _, rule := range slices.Concat(ofSeats, ofWork) {
		if !slices.ContainsFunc(statements, func(s statement) bool { return s.rule == rule }) {
			t.Errorf("there is no rule %q", rule)
		}
	}
}

// aboutOthers says whether a rule is not one of flow control or of what requests cost, or one that all releases have, and
// has no sentence.
func aboutOthers(name string) bool {
	if slices.Contains([]string{"Server.StreamedLists", "Server.CompressedWatches", "Server.PacedWatchEnds",
		"Storage.EventBookmarks", "Storage.CountedPages", "Storage.InitialByPrefix", "Storage.DrainedBeginnings"}, name) {
		return false
	}
	_, constant := reflect.TypeFor[SeatConstants]().FieldByName(name)
	return constant || strings.HasPrefix(name, "Server.") || strings.HasPrefix(name, "Storage.") || strings.HasPrefix(name, "Node.")
}

// No such rule can be added without a sentence: two releases that differ have different sentences, and as
// many of them as there are rules that differ.
func TestEveryRuleHasASentence(t *testing.T) {
	all := everyRelease(t)
	for i, a := range all {
		for _, s := range statements {
			if sentence := s.say(a); !strings.HasSuffix(sentence, ".") {
				t.Errorf("%s: %q is not a sentence", s.rule, sentence)
			}
		}
		for _, b := range []*Rules{all[0], all[max(i-1, 0)], Latest()} {
			said := 0
			for _, s := range statements {
				if s.say(a) != s.say(b) {
					said++
				}
			}
			differ := slices.DeleteFunc(differences(*a, *b), aboutOthers)
			if len(differ) != said {
				t.Errorf("%s and %s differ in %v, and %d sentences", a.Version, b.Version, differ, said)
			}
		}
	}
	fields := fieldsOf(reflect.ValueOf(Rules{}), "")
	maps.DeleteFunc(fields, func(name, _ string) bool { return aboutOthers(name) })
	if len(fields) != len(statements) {
		t.Errorf("%d rules and %d sentences", len(fields), len(statements))
	}
}

// The numbers of the estimate are the same in all releases, so that no sentence is needed for their changes.
func TestSeatConstantsAreThoseOfAllReleases(t *testing.T) {
	for _, r := range everyRelease(t) {
		if r.SeatConstants != Latest().SeatConstants {
			t.Errorf("%s: %+v, and not %+v", r.Version, r.SeatConstants, Latest().SeatConstants)
		}
	}
}

// No release does what is only proposed.
func TestNoReleaseHasAWhatIf(t *testing.T) {
	for _, r := range everyRelease(t) {
		if r.WhatIf != (WhatIf{}) {
			t.Errorf("%s: %+v", r.Version, r.WhatIf)
		}
	}
}

// An upgrade names the rules that differ between its releases, each with the release that brought it, and not what a
// release in between took back.
func TestChanges(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"1.36", "1.37", "1.37 compression of watches"},
		{"1.33", "1.34", "1.34 seats of a list; 1.34 most seats of a list; 1.34 lists of one object; 1.34 seats of a watch; 1.34 suggested objects"},
		{"1.31", "1.33", "1.32 oldest API version; 1.33 lists from the watch cache; 1.33 memory of lists"}, // WatchList was on in 1.32 only
		{"1.34", "1.37", "1.35 seats of a watch; 1.37 compression of watches"},
		{"1.37", "1.38", "1.38 pages from the watch cache; 1.38 initial events of a watch; 1.38 watches that are too slow at their beginning; 1.38 queue of the watch cache; 1.38 end of watches at a stop"},
		{"1.28.4", "1.28.5", "1.28.5 end of a wait; 1.28.5 wait limit"},
	} {
		from, _ := For(c.from)
		to, _ := For(c.to)
		var got []string
		for _, change := range Changes(from, to) {
			got = append(got, change.Release+" "+change.Rule)
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s to %s: %s; want %s", c.from, c.to, strings.Join(got, "; "), c.want)
		}
	}
}
