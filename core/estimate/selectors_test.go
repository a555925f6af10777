package estimate

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFieldSelectors(t *testing.T) {
	for _, test := range []struct {
		selector, field string
		value           string
		given, ok       bool
	}{
		{"", "a", "", false, true},
		{"a=b", "a", "b", true, true},
		{"a==b", "a", "b", true, true},
		{"a=", "a", "", true, true},
		{"a!=b", "a", "", false, true},
		{"a!=b,a=c", "a", "c", true, true},
		{"a=c,a=b", "a", "b", true, true}, // the first in alphabetical order
		{"x=1,a=b,", "a", "b", true, true},
		{" a=b", "a", "", false, true}, // the space is part of the field's name
		{`a=b\,c`, "a", "b,c", true, true},
		{`a=b\=c\\`, "a", `b=c\`, true, true},
		{`a=b\n`, "a", "", false, false},
		{`a=b\`, "a", "", false, false},
		{"a=b=c", "a", "", false, false},
		{"a===b", "a", "", false, false},
		{"a!==b", "a", "", false, false},
		{"a", "a", "", false, false},
		{"a=b,c", "a", "", false, false},
	} {
		equal, ok := parseFieldSelector(test.selector)
		if got := equal[test.field]; ok != test.ok || got != (requirement{test.value, test.given}) {
			t.Errorf("%s: %s is %+v, %v; want %q, %v, %v", test.selector, test.field, got, ok, test.value, test.given, test.ok)
		}
	}
}

func TestLabelSelectors(t *testing.T) {
	long := strings.Repeat("x", 63)
	for _, good := range []string{
		"", " \t", "a", "!a", "! a", "a=b", "a==b", "a!=b", "a = b", "a=", "a!=,b", "a,b", "a , !b",
		"a in (b)", "a in (b,c)", "a notin (b,,c)", "a in ()", "a in (,)", "a in(,b,)", "a>1", "a < 2",
		"example.com/a-b_c.d=E_f", "in=b", "notin", "a=in", "in in (in)", long, "a=" + long,
		strings.Repeat("x", 253) + "/a",
	} {
		if !isLabelSelector(good) {
			t.Errorf("%q is refused, want it accepted", good)
		}
	}
	for _, bad := range []string{
		",", "a,", "a,,b", "=", "=b", "a===b", "a b", "a=b c", "a=(b)", "!a=b", "!!a", "a in", "a in b", "a in (b",
		"a in (b c)", "a in (b)c", "a in (=)", "a notin )", "a>b", "a<-2", "a<", "a>", "a>1.5", "a(", ")", "in (b)",
		"-a", "a-", "a=-b", "a=b.", "/a", "a/", "a/b/c", "A.com/b", "a..b/c", "-a/b", "a/-", "ä", "a=ä", "a\"",
		long + "x", "a=" + long + "x", strings.Repeat("x", 254) + "/a",
	} {
		if isLabelSelector(bad) {
			t.Errorf("%q is accepted, want it refused", bad)
		}
	}
}

// A value is unchanged after it is escaped and parsed.
func TestFieldValuesSurviveEscaping(t *testing.T) {
	escape := strings.NewReplacer(`\`, `\\`, `,`, `\,`, `=`, `\=`)
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringOf(rapid.SampledFrom([]rune(`\,=!aä `))).Draw(t, "value")
		equal, ok := parseFieldSelector("x!=1,a=" + escape.Replace(value))
		if got := equal["a"]; !ok || got != (requirement{value, true}) {
			t.Errorf("got %+v, %v, want %q", got, ok, value)
		}
	})
}

func FuzzSelectors(f *testing.F) {
	f.Add(`a=b\,c,d!=e`)
	f.Add("a in (b, c),!d,e > 3")
	f.Fuzz(func(t *testing.T, selector string) {
		equal, ok := parseFieldSelector(selector)
		if !ok && equal != nil {
			t.Errorf("%q is not a field selector, but requires %v", selector, equal)
		}
		isLabelSelector(selector)
	})
}
