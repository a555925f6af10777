package conformance

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"apfsim/core/request"
)

// The pieces of which random selectors are made: tokens, values at the edges of what is valid, and what has to be
// escaped.
var selectorPieces = []string{"a", "a", "b", "x.y/a", "X/a", "a/", "metadata.name", "spec.nodeName", "=", "=", "==", "!=", "!", ",", ",", "(", ")",
	" in ", " in (", " notin (", "notin", "in", ">", "<", " ", "\t", "1", "5", "-1", "9999999999999999999", "a-", "_", ".", `\`, `\,`, `\=`, `\\`, "ä",
	strings.Repeat("x", 63), strings.Repeat("x", 64)}

// selector returns the text of a label or field selector, valid or not.
func (c classification) selector() (text string) {
	if c.IntN(2) == 0 {
		text = c.one("a", "b", "metadata.name") + c.one("=", "==", "!=", " in (", " notin (", ">", "<", " = ")
	}
	for range c.IntN(7) {
		text += c.one(selectorPieces...)
	}
	if c.IntN(4) == 0 {
		text += ")"
	}
	return text
}

// What is a selector, and which objects it selects, is the same as upstream.
func TestSelectors(t *testing.T) {
	random := classification{newRandom(12)}
	var valid, selected int
	for range 300_000 {
		text := random.selector()
		object := map[string]string{}
		for _, key := range []string{"a", "b", "x.y/a", "metadata.name", "spec.nodeName", ""} {
			if random.IntN(3) > 0 {
				object[key] = random.one("", "", "a", "b", "1", "3", "7", "a,b", `a\`, "x", "in")
			}
		}

		theirs, errTheirs := labels.Parse(text)
		ours, errOurs := request.ParseSelector(text, "")
		if (errTheirs == nil) != (errOurs == nil) {
			t.Fatalf("label selector %q: ours %v, upstream's %v", text, errOurs, errTheirs)
		}
		if errOurs == nil {
			valid++
			got := true
			if ours != nil {
				for i := range ours.Labels {
					value, has := object[ours.Labels[i].Key]
					got = got && ours.Labels[i].Matches(value, has)
				}
			}
			if want := theirs.Matches(labels.Set(object)); got != want {
				t.Fatalf("label selector %q matches %v: %v, upstream's %v", text, object, got, want)
			} else if got {
				selected++
			}
		}

		their, errTheirs := fields.ParseSelector(text)
		ours, errOurs = request.ParseSelector("", text)
		if (errTheirs == nil) != (errOurs == nil) {
			t.Fatalf("field selector %q: ours %v, upstream's %v", text, errOurs, errTheirs)
		}
		if errOurs != nil {
			continue
		}
		valid++
		got := true
		if ours != nil {
			for i := range ours.Fields {
				got = got && ours.Fields[i].Matches(object[ours.Fields[i].Key], true)
			}
		}
		if want := their.Matches(fields.Set(object)); got != want {
			t.Fatalf("field selector %q matches %v: %v, upstream's %v", text, object, got, want)
		} else if got {
			selected++
		}
		for _, field := range []string{"metadata.name", "a"} {
			value, ok := ours.FieldValue(field)
			if want, found := their.RequiresExactMatch(field); value != want || ok != found {
				t.Fatalf("field selector %q requires of %s: %q, %v; upstream's %q, %v", text, field, value, ok, want, found)
			}
		}
	}
	if valid < 50_000 || selected < 20_000 {
		t.Errorf("%d selectors are valid and %d select the object: too few to compare", valid, selected)
	}
}

// A value that is escaped is the one that upstream reads.
func TestEscapedFieldValues(t *testing.T) {
	for _, value := range []string{"", "a", "a,b", "a=b", `a\`, `\,=`, "ä"} {
		if got, want := request.EscapeFieldValue(value), fields.EscapeValue(value); got != want {
			t.Errorf("%q is escaped as %q, upstream's %q", value, got, want)
		}
	}
}
