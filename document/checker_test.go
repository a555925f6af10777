package document

import "testing"

func TestOneErrorIsReportedOfAValueAndItsParts(t *testing.T) {
	c := Checker{Document: &Document{File: "f", Root: object(1, 1, field("a", list(1, 5, number("1", 1, 6), number("2", 1, 9))))}}
	c.Fail("a[1]", "is %d", 2)
	c.Fail("a[1]", "is reported already")
	c.Fail("a", "has a part that is wrong")
	c.Fail("a[1].b", "is a part of what is wrong")
	c.Fail("a[0]", "is 1")
	c.Enum("b", "x", "x", "y")
	c.Enum("b", "xyy", "xyz", "y")
	c.Warn("a[1]", "is odd")
	want := `f:1:1: b: "xyy": want xyz, y (did you mean "xyz"?)` + "\nf:1:6: a[0]: is 1\nf:1:9: a[1]: is 2"
	if got := c.Errors.Error(); got != want {
		t.Errorf("errors\n%s\nwant\n%s", got, want)
	}
	if len(c.Warnings) != 1 || !c.Failed("a") || c.Failed("a[0].b") || c.Failed("c") {
		t.Errorf("warnings %v; a failed %v, a[0].b %v, c %v", c.Warnings, c.Failed("a"), c.Failed("a[0].b"), c.Failed("c"))
	}
}
