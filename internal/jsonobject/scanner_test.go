package jsonobject

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// read returns the value as encoding/json represents it, read with all methods of the scanner.
func read(s *Scanner) any {
	switch s.Kind() {
	case '{':
		object := map[string]any{}
		for open := s.Object(); open && s.Key(); {
			name := string(s.Name)
			object[name] = read(s)
		}
		return object
	case '[':
		array := []any{}
		for open := s.Array(); open && s.Element(); {
			array = append(array, read(s))
		}
		return array
	case '"':
		return string(s.Text())
	}
	var v any
	json.Unmarshal(s.Raw(), &v)
	return v
}

// members are an object whose members are of all kinds.
const members = ` { "a" : "x\u0026y" , "b\n": [1, -2.5e+3 , []], "c":{"d":{}, "e":null} ,"f" : true, "n":"` + "é" + `" } `

func TestMembers(t *testing.T) {
	var s Scanner
	s.Reset([]byte(members))
	got := map[string]string{}
	for open := s.Object(); open && s.Key(); {
		switch name := string(s.Name); name {
		case "a", "n":
			got[name] = string(s.Text())
		case "b\n":
			for open := s.Array(); open && s.Element(); {
				got[name] += string(s.Raw()) + ";"
			}
		case "f":
			if s.Object() { // skips true
				t.Error("true is an object")
			}
		default:
			s.Skip()
		}
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(map[string]string{"a": "x&y", "b\n": "1;-2.5e+3;[];", "n": "é"}, got); d != "" {
		t.Error(d)
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                        "at byte 1: the text ends where a value must follow",
		`{`:                       "the text ends where the name of a member must follow",
		`{"a"}`:                   `at byte 5: '}' where ":" must follow`,
		`{"a":1,}`:                "where the name of a member must follow",
		`{"a":1 "b":2}`:           `where "," or "}" must follow`,
		`{"a":tru}`:               "where true must follow",
		`{"a":01}`:                `'1' where "," or "}" must follow`,
		`{"a":1.}`:                "where a digit must follow",
		`{"a":"` + "\n":           `the character '\n' in a string without an escape`,
		`{"a":"\x"}`:              "an escape that is not valid",
		`{"a":"\u12"}`:            "an escape that is not valid",
		`{"a":"b`:                 "the text ends within a string",
		`{"a":1} {`:               "at byte 9: '{' after the value",
		`{"a":[1,]}`:              "where a value must follow",
		`[[`:                      "the text ends where a value must follow",
		strings.Repeat("[", 2000): "more than 1000 levels of brackets",
	} {
		var s Scanner
		s.Reset([]byte(text))
		read(&s)
		if err := s.End(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: got %v, want %s", text, err, want)
		}
		s.Reset([]byte(text))
		s.Skip()
		if err := s.End(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s skipped: got %v, want %s", text, err, want)
		}
	}
}

// The scanner accepts what encoding/json accepts, and gives the same values.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{members, `[]`, `{"a":"\ud83d\ude00"}`, `-0.0e-1`, `"\ud800"`, `{"a":{"a":1,"b":[true,false]}}`, `{"a":1,}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) || strings.Count(string(text), "[")+strings.Count(string(text), "{") > 500 {
			return
		}
		var s Scanner
		s.Reset(text)
		got := read(&s)
		err := s.End()
		var want any
		errWant := json.Unmarshal(text, &want)
		if _, outOfRange := errWant.(*json.UnmarshalTypeError); outOfRange {
			return // a number that is too large for a float64
		}
		if (err == nil) != (errWant == nil) {
			t.Fatalf("%s: error %v, encoding/json %v", text, err, errWant)
		}
		if err == nil {
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: encoding/json (-), scanner (+):\n%s", text, d)
			}
		}
		s.Reset(text)
		s.Skip()
		if errSkip := s.End(); (errSkip == nil) != (err == nil) {
			t.Errorf("%s: read %v, skipped %v", text, err, errSkip)
		}
	})
}
