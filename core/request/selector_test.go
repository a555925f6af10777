package request

import (
	"slices"
	"strconv"
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
		{`a=b\,c,x=1`, "x", "1", true, true},
		{`a=b\=c\\`, "a", `b=c\`, true, true},
		{`a=b\n`, "a", "", false, false},
		{`a=b\`, "a", "", false, false},
		{"a=b=c", "a", "", false, false},
		{"a===b", "a", "", false, false},
		{"a!==b", "a", "", false, false},
		{"a", "a", "", false, false},
		{"a=b,c", "a", "", false, false},
	} {
		s, err := ParseSelector("", test.selector)
		if value, given := s.FieldValue(test.field); (err == nil) != test.ok || value != test.value || given != test.given {
			t.Errorf("%s: %s is %q, %v, error %v; want %q, %v, %v", test.selector, test.field, value, given, err, test.value, test.given, test.ok)
		}
	}
}

func TestLabelSelectors(t *testing.T) {
	long := strings.Repeat("x", 63)
	for _, good := range []string{
		"", " \t", "a", "!a", "! a", "a=b", "a==b", "a!=b", "a = b", "a=", "a!=,b", "a,b", "a , !b",
		"a in (b)", "a in (b,c)", "a notin (b,,c)", "a in ()", "a in (,)", "a in(,b,)", "a>1", "a < 2",
		"example.com/a-b_c.d=E_f", "a=0Z", "a=9z", "a=A1a", "in=b", "notin", "a=in", "in in (in)", long, "a=" + long,
		strings.Repeat("x", 253) + "/a",
	} {
		if _, err := ParseSelector(good, ""); err != nil {
			t.Errorf("%v, want it accepted", err)
		}
	}
	for _, bad := range []string{
		",", "a,", "a,,b", "=", "=b", "a===b", "a b", "a=b c", "a=(b)", "!a=b", "!!a", "a in", "a in b", "a in (b",
		"a in (b c)", "a in (-b)", "a in (b,c-)", "a in (b)c", "a in (=)", "a notin )", "a>b", "a<-2", "a<", "a>", "a>1.5", "a(", ")", "in (b)",
		"-a", "a-", "a=-b", "a=b.", "/a", "a/", "a/b/c", "A.com/b", "a..b/c", "-a/b", "a/-", "ä", "a=ä", "a\"",
		long + "x", "a=" + long + "x", strings.Repeat("x", 254) + "/a",
	} {
		if _, err := ParseSelector(bad, ""); err == nil || !strings.HasPrefix(err.Error(), "labelSelector "+strconv.Quote(bad)) {
			t.Errorf("%q: error %v, want it refused", bad, err)
		}
	}
}

// Each operator matches the values that it says, and an object without the label only where upstream does.
func TestRequirements(t *testing.T) {
	for _, c := range []struct {
		selector string
		matches  []string // of the values below; "-" is no label
	}{
		{"a=1", []string{"1"}},
		{"a==", []string{""}},
		{"a!=1", []string{"-", "", "5", "x"}},
		{"a in (1,x,)", []string{"", "1", "x"}},
		{"a in ()", []string{""}},
		{"a notin (1,,1)", []string{"-", "5", "x"}},
		{"a", []string{"", "1", "5", "x"}},
		{"!a", []string{"-"}},
		{"a>1", []string{"5"}},
		{"a<5", []string{"1"}},
	} {
		s, err := ParseSelector(c.selector, "")
		if err != nil {
			t.Fatal(err)
		}
		var matches []string
		for _, value := range []string{"-", "", "1", "5", "x"} {
			has := value != "-"
			if s.Labels[0].Matches(strings.TrimPrefix(value, "-"), has) {
				matches = append(matches, value)
			}
		}
		if !slices.Equal(matches, c.matches) {
			t.Errorf("%s matches %q, want %q", c.selector, matches, c.matches)
		}
	}
}

// Numbers are compared as decimal ones, and not as texts.
func TestRequirementsOfNumbers(t *testing.T) {
	s, err := ParseSelector("a>8,a<100", "x=1")
	if err != nil || len(s.Labels) != 2 || len(s.Fields) != 1 {
		t.Fatalf("%+v, %v; want two requirements of labels and one of a field", s, err)
	}
	for value, want := range map[string]bool{"8": false, "9": true, "19": true, "99": true, "100": false, "-9": false, "x": false} {
		if got := s.Labels[0].Matches(value, true) && s.Labels[1].Matches(value, true); got != want {
			t.Errorf("%s is between 8 and 100: %v, want %v", value, got, want)
		}
	}
	if one, err := ParseSelector("a", "b=c"); err != nil || one == nil {
		t.Errorf("a label and a field select %v, %v; want both", one, err)
	}
}

// A value is unchanged after it is escaped and parsed.
func TestFieldValuesSurviveEscaping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringOf(rapid.SampledFrom([]rune(`\,=!aä `))).Draw(t, "value")
		s, err := ParseSelector("", "x!=1,a="+EscapeFieldValue(value))
		if got, ok := s.FieldValue("a"); err != nil || !ok || got != value {
			t.Errorf("got %q, %v, %v, want %q", got, ok, err, value)
		}
	})
}

func FuzzSelectors(f *testing.F) {
	f.Add("a in (b, c),!d,e > 3", `a=b\,c,d!=e`)
	f.Fuzz(func(t *testing.T, labels, fields string) {
		s, err := ParseSelector(labels, fields)
		if err != nil {
			if s != nil {
				t.Errorf("%q, %q: %v, but a selector", labels, fields, err)
			}
			return
		}
		s.FieldValue("metadata.name")
	})
}
