package rules

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// fieldsOf returns the values of all fields of rules, by their names.
func fieldsOf(v reflect.Value, prefix string) map[string]string {
	all := map[string]string{}
	for i := range v.NumField() {
		name := prefix + v.Type().Field(i).Name
		if v.Field(i).Kind() == reflect.Struct {
			for n, value := range fieldsOf(v.Field(i), name+".") {
				all[n] = value
			}
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
	for _, m := range minors {
		for patch := range m.patches + 1 {
			r, err := For(fmt.Sprintf("1.%d.%d", m.minor, patch))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
	}
	return all
}

// No rule can be added without a sentence: each field has one, and two releases that differ in the field have different
// sentences.
func TestEveryRuleHasASentence(t *testing.T) {
	releases := everyRelease(t)
	said := map[string]map[string]string{} // by field and value
	fields := fieldsOf(reflect.ValueOf(*Latest()), "")
	for _, s := range statements {
		if _, ok := fields[s.field]; !ok || said[s.field] != nil {
			t.Errorf("%s is not a field of the rules, or is there twice", s.field)
		}
		said[s.field] = map[string]string{}
		for _, r := range releases {
			value, sentence := fieldsOf(reflect.ValueOf(*r), "")[s.field], s.say(r)
			if before, ok := said[s.field][value]; ok && before != sentence {
				t.Errorf("%s %s: %q in %s, %q in another release", s.field, value, sentence, r.Version, before)
			}
			said[s.field][value] = sentence
			if !strings.HasSuffix(sentence, ".") {
				t.Errorf("%s %s: %q is not a sentence", s.field, value, sentence)
			}
		}
		sentences := map[string]string{}
		for value, sentence := range said[s.field] {
			if other, ok := sentences[sentence]; ok {
				t.Errorf("%s: %q is said of %s and of %s", s.field, sentence, value, other)
			}
			sentences[sentence] = value
		}
	}
	for name := range fields {
		if said[name] == nil {
			t.Errorf("no sentence says what the field %s changes", name)
		}
	}
}

// An upgrade names the rules that differ between its releases, each with the release that brought it, and not what a
// release in between took back.
func TestChanges(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"1.36", "1.37", ""},
		{"1.33", "1.34", "1.34 seats of a list; 1.34 most seats of a list; 1.34 lists of one object; 1.34 seats of a watch; 1.34 suggested objects"},
		{"1.31", "1.33", "1.32 oldest API version; 1.33 lists from the watch cache"}, // WatchList was on in 1.32 only
		{"1.34", "1.37", "1.35 seats of a watch"},
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
