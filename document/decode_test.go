package document

import (
	"reflect"
	"strings"
	"testing"
)

type timing struct {
	Start float64 `json:"start"`
	Stop  *int32  `json:"stop,omitempty"`
}

type client struct {
	Name   string            `json:"name" document:"required"`
	Count  int32             `json:"count"`
	Seed   uint64            `json:"seed"`
	Exact  bool              `json:"exact"`
	Verbs  []string          `json:"verbs"`
	Labels map[string]string `json:"labels"`
	Color  color             `json:"color"`
	Hidden int               `json:"-"`
	timing
}

// color implements Unmarshaler.
type color string

func (c *color) UnmarshalDocument(d *Decoder, n *Node, path string) {
	if n.Text != "red" && n.Text != "green" {
		d.Fail(n, path, "%q is not a color", n.Text)
		return
	}
	*c = color(strings.ToUpper(n.Text))
}

func decodeClient(root *Node) (client, Errors) {
	d := Decoder{File: "f"}
	var c client
	d.Decode(root, "", &c)
	return c, d.Errors
}

func TestDecodeReadsEveryKind(t *testing.T) {
	c, errs := decodeClient(object(1, 1,
		field("name", text("mice", 1, 11)),
		field("count", number("3", 2, 11)),
		field("seed", number("18446744073709551615", 3, 11)),
		field("exact", &Node{Kind: Bool, Text: "true"}),
		field("verbs", list(5, 11, text("get", 5, 12), text("list", 5, 17))),
		field("labels", object(6, 11, field("a", text("b", 6, 15)))),
		field("color", text("red", 7, 11)),
		field("start", number("1.5e3", 8, 11)),
		field("stop", number("7", 9, 11))))
	if errs != nil {
		t.Fatal(errs)
	}
	seven := int32(7)
	want := client{Name: "mice", Count: 3, Seed: 1<<64 - 1, Exact: true, Verbs: []string{"get", "list"},
		Labels: map[string]string{"a": "b"}, Color: "RED", timing: timing{1500, &seven}}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v\nwant %+v", c, want)
	}
}

func TestDecodeReportsAllErrorsInTheOrderOfTheText(t *testing.T) {
	_, errs := decodeClient(object(1, 1,
		field("stop", number("3000000000", 10, 11)),
		field("Hidden", number("1", 9, 11)),
		field("count", number("1.5", 2, 11)),
		field("count", number("2", 3, 11)),
		field("seed", number("-1", 4, 11)),
		field("exact", text("yes", 5, 11)),
		field("verbs", list(6, 11, number("1", 6, 12), &Node{Kind: Null, Line: 6, Column: 14}, list(6, 15))),
		field("labels", object(7, 11, field("a", text("b", 7, 15)), field("a", text("c", 7, 25)))),
		field("color", text("blue", 8, 11)),
		field("start", number(".inf", 11, 11)),
		field("nmae", text("mice", 12, 11))))
	want := `f:1:1: name: is missing
f:2:11: count: 1.5 is not a whole number of 32 bits
f:3:1: count: duplicate field, first defined on line 2
f:4:11: seed: -1 is not a whole number from 0 to 2^64-1
f:5:11: exact: "yes" is a string; want a boolean
f:6:12: verbs[0]: 1 is a number; want a string: put it in quotes
f:6:14: verbs[1]: is empty
f:6:15: verbs[2]: is a list; want a string
f:7:15: labels.a: duplicate field, first defined on line 7
f:8:11: color: "blue" is not a color
f:9:1: Hidden: unknown field; want one of name, count, seed, exact, verbs, labels, color, start, stop
f:10:11: stop: 3000000000 is not a whole number of 32 bits
f:11:11: start: .inf is not a finite number
f:12:1: nmae: unknown field (did you mean "name"?)`
	if got := errs.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if errs.Err() == nil || Errors(nil).Err() != nil {
		t.Error("want Err to be nil only without errors")
	}
}

func TestNullMeansAbsent(t *testing.T) {
	null := &Node{Kind: Null, Line: 2, Column: 11}
	c, errs := decodeClient(object(1, 1, field("name", null), field("stop", null), field("verbs", null)))
	if got := errs.Error(); got != "f:1:1: name: is missing" {
		t.Errorf("got %q", got)
	}
	if !reflect.DeepEqual(c, client{}) {
		t.Errorf("null changed something: %+v", c)
	}
}

func TestMessagesAbridgeLongValues(t *testing.T) {
	for _, n := range []*Node{number(strings.Repeat("9", 1000), 1, 1), text(strings.Repeat("é", 1000), 1, 1)} {
		var count int32
		d := Decoder{File: "f"}
		d.Decode(n, "count", &count)
		if got := d.Errors.Error(); len(got) > 250 || !strings.Contains(got, "…") {
			t.Errorf("the message is %d bytes long: %s", len(got), got)
		}
	}
}

// A word that people use for a field, whatever its case and dashes, and a field of a part are found.
func TestFieldPath(t *testing.T) {
	type cores struct {
		Cores int `json:"cores"`
	}
	type servers struct {
		Version  string `json:"kubernetesVersion" also:"version,release"`
		Capacity *cores `json:"capacity"`
	}
	type spec struct {
		Servers servers   `json:"servers"`
		Several []servers `json:"several"`
		Cores   int       `json:"maxCores"`
	}
	for word, want := range map[string]string{
		"servers": "servers", "release": "servers.kubernetesVersion", "kubernetes-version": "servers.kubernetesVersion",
		"KubernetesVersion": "servers.kubernetesVersion", "cores": "servers.capacity.cores", "max_cores": "maxCores", "versions": "", "": "",
	} {
		if got := FieldPath(reflect.TypeFor[spec](), word); got != want {
			t.Errorf("%q is %q, want %q", word, got, want)
		}
	}
}
