package document

import "testing"

func TestExactlyOneOfTheFieldsIsGiven(t *testing.T) {
	type choice struct {
		A *int64 `json:"a,omitempty"`
		B *int64 `json:"b,omitempty"`
	}
	one := func(name string) Field { return field(name, number("1", 1, 5)) }
	for _, c := range []struct {
		root *Node
		want string
	}{
		{object(1, 1, one("a")), ""},
		{object(1, 1, one("a"), field("b", &Node{Kind: Null, Line: 1, Column: 9})), ""},
		{object(1, 1, one("a"), one("b")), "has a and b: want one of them"},
		{object(1, 1), "want one of a, b"},
		{object(1, 1, one("c")), `unknown field (did you mean "a"?)`},
		{text("x", 1, 1), `"x" is a string; want an object`},
	} {
		var d Decoder
		d.DecodeOneOf(c.root, "x", []string{"a", "b"}, new(choice))
		got := ""
		for _, err := range d.Errors {
			got += err.Message
		}
		if got != c.want {
			t.Errorf("%+v: errors %q, want %q", c.root, got, c.want)
		}
	}
}
