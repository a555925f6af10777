package document

import (
	"strconv"
	"strings"
	"testing"
)

// span implements Unmarshaler: a number of seconds, such as 60s, or forever.
type span int64

func (s *span) UnmarshalDocument(d *Decoder, n *Node, path string) {
	seconds, err := strconv.ParseInt(strings.TrimSuffix(n.Text, "s"), 10, 64)
	if err != nil {
		d.Fail(n, path, "%q is not a span", n.Text)
		return
	}
	*s = span(seconds)
}

func (s span) String() string { return strconv.FormatInt(int64(s), 10) + "s" }

type pause struct {
	After  span     `json:"after" jsonschema:"default=60s,exclusiveMinimum=0s" document:"maximum=90s"`
	Kind   string   `json:"kind" jsonschema:"enum=Short,enum=Long,default=Short"`
	Exact  bool     `json:"exact" jsonschema:"default=true"`
	Labels []string `json:"labels" jsonschema:"enum=a,enum=b"`
}

type limited struct {
	Count  int      `json:"count" jsonschema:"default=1,minimum=1,maximum=100"`
	Least  *int64   `json:"least" jsonschema:"minimum=0"`
	Factor float64  `json:"factor" document:"required,maximum=1e6" jsonschema:"exclusiveMinimum=0" message:"{value}: want {want}; or stop"`
	Share  float64  `json:"share" document:"maximum=1"`
	Pause  pause    `json:"pause"`
	Pauses []*pause `json:"pauses"`
	Whole  *span    `json:"whole" jsonschema:"default=5s"`
}

func TestDefaultsOfTags(t *testing.T) {
	short := pause{After: 60, Kind: "Short", Exact: true}
	var alone limited
	SetDefaults(&alone)
	decoded := limited{Share: 0.5}
	var d Decoder
	d.Decode(object(1, 1, field("factor", number("2", 1, 1)), field("count", &Node{Kind: Null}),
		field("pauses", list(1, 1, object(1, 1), object(1, 1, field("exact", &Node{Kind: Bool, Text: "false"}))))), "", &decoded)
	if d.Errors != nil {
		t.Fatal(d.Errors)
	}
	for _, l := range []limited{alone, decoded} {
		if l.Count != 1 || l.Pause.After != short.After || l.Pause.Kind != short.Kind || !l.Pause.Exact || *l.Whole != 5 {
			t.Errorf("got %+v", l)
		}
	}
	if decoded.Share != 0.5 {
		t.Error("a field without a default has changed")
	}
	if p := decoded.Pauses; p[0].After != 60 || !p[0].Exact || p[1].Exact || p[1].Kind != "Short" {
		t.Errorf("got %+v and %+v", p[0], p[1])
	}
}

func TestLimitsOfTags(t *testing.T) {
	var l limited
	d := Decoder{File: "f"}
	d.Decode(object(1, 1,
		field("count", number("101", 1, 1)),
		field("least", number("-1", 2, 1)),
		field("factor", number("0", 3, 1)),
		field("share", number("1.5", 4, 1)),
		field("pause", object(5, 1, field("after", text("0s", 5, 1)), field("kind", text("Shot", 6, 1)),
			field("labels", list(7, 1, text("a", 7, 1), text("c", 7, 3))))),
		field("pauses", list(8, 1, object(8, 1, field("after", text("91s", 8, 1))), object(9, 1, field("kind", number("1", 9, 1))))),
		field("whole", text("many", 10, 1))), "", &l)
	want := `f:1:1: count: 101: want 1 to 100
f:2:1: least: -1: want 0 or more
f:3:1: factor: 0: want more than 0 and at most 1e6; or stop
f:4:1: share: 1.5: want at most 1
f:5:1: pause.after: want more than 0s and at most 90s
f:6:1: pause.kind: "Shot": want Short, Long (did you mean "Short"?)
f:7:3: pause.labels[1]: "c": want a, b (did you mean "a"?)
f:8:1: pauses[0].after: 91s: want more than 0s and at most 90s
f:9:1: pauses[1].kind: 1 is a number; want a string: put it in quotes
f:10:1: whole: "many" is not a span`
	if got := d.Errors.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A tag that a document of its type could not say is a programmer's error.
func TestTagsOfAnotherType(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("want a panic")
		}
	}()
	SetDefaults(&struct {
		Count int `json:"count" jsonschema:"default=many"`
	}{})
}
